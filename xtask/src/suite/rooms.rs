//! The steps of each room, as jobs that can run beside each other.

use std::process::Command;

use anyhow::Result;

use super::shared::{Suite, only_file};
use super::{Room, install};
use crate::bench::{GUEST, smoke};
use crate::run::Log;
use crate::setup::{Interpreter, Runtime, Venv, missing};
use crate::steps::{Failed, Job, NotRun, Steps, checks};
use crate::workspace::Workspace;

pub(super) fn jobs(room: Room, suite: &Suite) -> Vec<Job<'_>> {
    let (tests, own) = match room {
        Room::Tree => ("", tree(suite)),
        Room::Engine => ("twindex", tables(ENGINE, suite)),
        Room::Cache => ("twindex-cache", tables(CACHE, suite)),
        Room::Codec => ("twindex-codec", Vec::new()),
        Room::Durable => ("twindex-format --package=twindex-durable", Vec::new()),
        Room::Cluster => ("", cluster(suite)),
        Room::Cli => ("twindex-cli", cli(suite)),
        Room::Benches => ("twindex-benches", tables(BENCHES, suite)),
        Room::Wasm => ("", wasm(suite)),
        Room::Python => ("", python(suite)),
        Room::Docs => ("", vec![Box::new(|steps: &mut Steps| site(suite, steps)) as Job<'_>]),
        Room::Node => ("", node(suite)),
        Room::Examples => ("twindex-examples", examples(suite)),
        Room::Dist => ("", install::jobs(suite)),
        Room::Xtask => ("xtask", tables(XTASK, suite)),
    };
    // The whole suite tests all crates by one command.
    let test = (!suite.is_whole() && !tests.is_empty()).then(|| {
        let name = format!("{room:?}").to_lowercase();
        let table = format!("{name}: cargo test | . | cargo test --package={tests}");
        checks(move |steps| steps.rows(suite, &table))
    });
    test.into_iter().chain(own).collect()
}

/// All crates at once, those over WebAssembly's modules among them. Some need Redis.
pub(super) fn all_crates(suite: &Suite) -> Job<'_> {
    Box::new(|steps| {
        // Even where the modules cannot be built the other crates can be tested.
        let built = suite.wasm(steps);
        steps.check("all crates: cargo test", |log| {
            log.run(&mut suite.command("", "cargo test {crates} --no-fail-fast"))?;
            missing("redis-server")
                .map_or(Ok(()), |line| Err(NotRun(format!("all but clusters passed. {line}")).into()))
        });
        built
    })
}

/// Jobs that are tables of steps, with an empty line between them.
fn tables<'s>(tables: &'static str, suite: &'s Suite) -> Vec<Job<'s>> {
    let job = |table| -> Job<'s> { checks(move |steps| steps.rows(suite, table)) };
    tables.split("\n\n").map(job).collect()
}

/// Of lock files: download addresses, and packages outside the registry. Licences are copies, because npm leaves links out.
const FILES: &str = "
tree: rustfmt | . | cargo fmt --all --check
tree: rustfmt format/fuzz | format/fuzz | cargo fmt --all --check
tree: rustfmt engine/models | engine/models | cargo fmt --all --check
tree: rustfmt cache/models | cache/models | cargo fmt --all --check
tree: rustfmt benches/peers | benches/peers | cargo fmt --all --check
tree: Cargo.lock | . | cargo metadata --locked --format-version=1
tree: conflicts and open work | . | sh -c '! git grep -nIE \"^(<<<<<<<|>>>>>>>) |TO[D]O|FIX[M]E\"'
tree: carriage returns | . | sh -c '! git grep -lIP \"\\r$\"'
tree: lock files | . | sh -c '! git grep -n \"resolved.: .http\" -- \"*package-lock.json\"' && sh -c '! git grep -n \"source \
     = .git+\" -- \"*Cargo.lock\"'
tree: licences | . | sh -c 'for package in engine cache codec format durable cluster cli wasm/npm wasm/host bindings/python \
     bindings/node bindings/python-cluster bindings/node-cluster; do for licence in LICENSE-MIT LICENSE-APACHE; do cmp \
     $licence $package/$licence || exit 1; done; done'
tree: deliberate faults | . | python3 xtask/faults.py --check
";

const LINTS: &str = "
tree: clippy | . | cargo clippy --workspace --all-targets -- --deny=warnings
tree: rustdoc | . | RUSTDOCFLAGS=--deny=warnings cargo doc --workspace --no-deps
";

const WASM_LINTS: &str = "
tree: clippy for WebAssembly | . | cargo clippy --package=twindex-wasm --package=twindex-cache \
     --target=wasm32-unknown-unknown --lib -- --deny=warnings
";

fn tree(suite: &Suite) -> Vec<Job<'_>> {
    let lints: Job<'_> = Box::new(|steps| {
        steps.rows(suite, LINTS);
        suite.wasm_target(steps)?;
        steps.rows(suite, WASM_LINTS);
        Ok(())
    });
    tables(FILES, suite).into_iter().chain([lints]).collect()
}

/// Constants are so small that every few writes split, merge or close something; with `twindex_check` a checker of all structures is
/// compiled in. Miri, the longest, is first. The thread sanitizer knows no system call that is a fence. Examples in the
/// documentation do not depend on constants. Linting links nothing, so the fuzzer's library, which would take a C++ compiler, is not
/// built. `cargo xtask soak` does what the slow instruments leave out.
const ENGINE: &str = "
engine: Miri, threads | . | RUSTFLAGS='--cfg twindex_tiny' miri:cargo miri test --locked --package=twindex --test=threads -- \
     contended::inserts contended::increments cursors::a_cursor_sees_a_clear
engine: Miri, snapshots and transactions | . | RUSTFLAGS='--cfg twindex_tiny' miri:cargo miri test --locked --package=twindex \
     --test=all -- snapshots::cursors snapshots::last transactions::g

engine: thread sanitizer | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_plain_fences' TWINDEX_STRESS=0.3 tsan:cargo test \
     --locked --package=twindex --test=threads
engine: thread sanitizer, snapshots | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_plain_fences' TWINDEX_STRESS=0.3 \
     tsan:cargo test --locked --package=twindex --test=all -- snapshots:: transactions:: --skip=snapshots_of

engine: tiny constants, address sanitizer | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_check' asan:cargo test --locked \
     --package=twindex --lib --tests
engine: clippy of the checker | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_check' CARGO_TARGET_DIR={target}/tiny cargo \
     clippy --locked --package=twindex --all-targets -- --deny=warnings

engine: models of interleavings | engine/models | CARGO_TARGET_DIR={target} TWINDEX_STRESS=0.3 cargo test --locked
engine: clippy of the models | engine/models | CARGO_TARGET_DIR={target} cargo clippy --locked --all-targets -- --deny=warnings
engine: clippy of the fuzz targets | format/fuzz | CUSTOM_LIBFUZZER_PATH=none/libfuzzer.a CARGO_TARGET_DIR={target} cargo \
     clippy --locked --all-targets -- --deny=warnings
";

const CACHE: &str = "
cache: tiny constants, address sanitizer | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_check' asan:cargo test --locked \
     --package=twindex-cache --tests
cache: thread sanitizer | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_plain_fences' tsan:cargo test --locked \
     --package=twindex-cache --test=all -- threads::
cache: Miri | . | RUSTFLAGS='--cfg twindex_tiny' miri:cargo miri test --locked --package=twindex-cache --test=all -- \
     threads::readers threads::computation_that_panics threads::future threads::write_beside
cache: models of interleavings | cache/models | CARGO_TARGET_DIR={target} cargo test --locked
cache: clippy of the models | cache/models | CARGO_TARGET_DIR={target} cargo clippy --locked --all-targets -- --deny=warnings
";

const BENCHES: &str = "
benches: cargo test of the peers | benches/peers | need redis-server && CARGO_TARGET_DIR={target} cargo test --locked
";

const XTASK: &str = "
xtask: workflows | . | need actionlint && actionlint -color=false
";

const CLUSTER: &str = "
cluster: Valkey | . | need valkey-server && TWINDEX_SERVER=valkey cargo test --package=twindex-cluster --test=vectors \
     --test=tables --test=near
";

const CLUSTER_CRATES: &str = "
cluster: cargo test | . | need redis-server && cargo test --package=twindex-cluster && cargo test --package=twindex-cli \
     --features=cluster --test=transfer
";

/// The tests find a cluster, and servers that speak TLS, by variables.
const CLUSTER_PYTHON: &str = "
cluster: ruff | bindings/python-cluster | venv:ruff check . && venv:ruff format --check .
cluster: mypy | bindings/python-cluster | venv:mypy --strict
cluster: pytest | bindings/python-cluster | need redis-server && cargo build --package=twindex-servers && \
     {target}/debug/twindex-servers -- {target}/venv/bin/python -m pytest --quiet
";

const CLUSTER_NODE: &str = "
cluster: npm test | bindings/node-cluster | need redis-server && cargo build --package=twindex-servers && \
     {target}/debug/twindex-servers -- npm test
";

/// The linter and the compiler are the other package's.
const CLUSTER_TYPES: &str = "
cluster: npm types | bindings/node-cluster | {root}/bindings/node/node_modules/.bin/tsc -p . && \
     {root}/bindings/node/node_modules/.bin/tsc -p . --module esnext --moduleResolution bundler
cluster: npm lint | bindings/node-cluster | {root}/bindings/node/node_modules/.bin/biome check --error-on-warnings \
     --config-path=. .
";

fn cluster(suite: &Suite) -> Vec<Job<'_>> {
    let crates = (!suite.is_whole()).then(|| tables(CLUSTER_CRATES, suite));
    let python: Job<'_> = Box::new(|steps| {
        suite.python(steps)?;
        steps.must("cluster: Python package", |log| {
            let made = suite.empty_folder("cluster-python")?;
            let line = "CARGO_TARGET_DIR={target} venv:maturin build --profile=dev --out";
            log.run(suite.command("bindings/python-cluster", line).arg(&made))?;
            Venv::of_tests(suite).reinstall(&only_file(&made, "whl")?, log)
        })?;
        steps.rows(suite, CLUSTER_PYTHON);
        Ok(())
    });
    let node: Job<'_> = Box::new(|steps| {
        let build = "CARGO_TARGET_DIR={target} node ../node/scripts/build.js --dev .";
        steps.must("cluster: Node package", |log| {
            log.run(&mut suite.command("bindings/node-cluster", build))
        })?;
        steps.rows(suite, CLUSTER_NODE);
        suite.node(steps)?;
        steps.rows(suite, CLUSTER_TYPES);
        Ok(())
    });
    let valkey = tables(CLUSTER, suite);
    crates.into_iter().flatten().chain([python, node]).chain(valkey).collect()
}

fn cli(suite: &Suite) -> Vec<Job<'_>> {
    vec![Box::new(|steps| {
        let tool = suite.wasi_tool(steps)?;
        steps.check("cli: tests under WASI", |log| {
            let mut node = suite.command("cli/tests", "node --no-warnings --test wasi.mjs");
            log.run(node.env("TWINDEX_WASI", tool))
        });
        Ok(())
    })]
}

const WASM_CRATES: &str = "
wasm: cargo test | . | cargo test {crates} --test=abi --test=component --test=guests
";

/// Both modules do the same where memory ends, which takes longest. The soak tests the fast one too.
const WASM_FAST: &str = "
wasm: tests of the fast module | . | TWINDEX_WASM={root}/wasm/npm/twindex.fast.wasm cargo test {crates} --test=abi -- \
     --skip=memory::
";

const WASM_NPM: &str = "
wasm: npm run lint | wasm/npm | npm run lint
wasm: npm run types | wasm/npm | npm run types
wasm: npm run test | wasm/npm | npm run test
wasm: npm run test:browser | wasm/npm | need chromium && npm run test:browser
";

const WASM_PACKAGE: &str = "
wasm: npm ci of the test of the package | wasm/npm/test/package | npm ci
wasm: npm run test:package | wasm/npm | npm run test:package
";

const WASM_JCO: &str = "
wasm: npm ci of jco | wasm/tests/node | npm ci
wasm: the component through jco in Node | wasm/tests/node | \
     TWINDEX_COMPONENT={target}/wasm32-unknown-unknown/release/twindex_component.wasm node --test
";

fn wasm(suite: &Suite) -> Vec<Job<'_>> {
    let module: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        if !suite.is_whole() {
            steps.rows(suite, WASM_CRATES);
        }
        steps.rows(suite, WASM_FAST);
        smoke("wasm", "wasmtime", suite, steps);
        Ok(())
    });
    let javascript: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        steps.rows(suite, WASM_NPM);
        steps.check("wasm: workerd for the tests of the package", |log| {
            Runtime::Workerd.find(suite, log).map(drop)
        });
        steps.rows(suite, WASM_PACKAGE);
        smoke("wasm", "wasm-node", suite, steps);
        steps.must("wasm: program for the bench", |log| suite.run("", GUEST, &[], log))?;
        smoke("wasm", "inside", suite, steps);
        Ok(())
    });
    let hosts: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        for runtime in Runtime::BESIDE_NODE {
            let name = runtime.name();
            steps.check(&format!("wasm: tests in {name}"), |log| {
                runtime.find(suite, log)?;
                log.run(&mut suite.command("wasm/npm", &format!("npm run test:{name}")))
            });
        }
        let tool = suite.wasi_tool(steps)?;
        steps.check("wasm: the tool for WASI in Deno", |log| {
            let mut tests = Runtime::Deno.tests(&suite.path("cli/tests"), suite, log)?;
            log.run(tests.arg("wasi.mjs").env("TWINDEX_WASI", tool))
        });
        steps.check("wasm: tests in Python's wasmtime", |log| {
            let line = "cargo build --package=twindex-cli && venv-wasm:python -m pip install wasmtime==50.0.1 && \
                        venv-wasm:python wasm/tests/python/hosts.py wasm/npm/twindex.wasm \
                        {target}/wasm32-unknown-unknown/release/twindex_component.wasm";
            suite.run("", &format!("{line} {} {{target}}/debug/twindex", tool.display()), &[], log)
        });
        steps.rows(suite, WASM_JCO);
        Ok(())
    });
    vec![module, javascript, hosts]
}

/// `graphlib` raises an error that names the cycle.
const PYTHON: &str = "
python: ruff | bindings/python | venv:ruff check . ../../examples/python ../../docs && venv:ruff format --check . \
     ../../examples/python ../../docs
python: mypy | bindings/python | venv:mypy --strict && venv:python -m mypy.stubtest twindex --mypy-config-file pyproject.toml \
     --allowlist tests/stubtest.txt
python: pytest | bindings/python | venv:python -m pytest --quiet
python: pytest of the examples | bindings/python | venv:python -m pytest --quiet --config-file=pyproject.toml \
     ../../examples/python
python: no import cycles | bindings/python | venv:python -c 'import graphlib, json, subprocess; graph = \
     json.loads(subprocess.check_output(\"ruff analyze graph --preview --no-type-checking-imports python/twindex\".split())); \
     assert len(graph) > 9; graphlib.TopologicalSorter(graph).prepare()'
";

/// The compiler's view of the package without a global lock needs no such interpreter.
const FREE_THREADED: &str = "
python: clippy for free-threaded Python | . | PYO3_CONFIG_FILE={root}/xtask/free-threaded.txt \
     CARGO_TARGET_DIR={target}/free-threaded cargo clippy --locked --package=twindex-python \
     -- --deny=warnings
";

fn python(suite: &Suite) -> Vec<Job<'_>> {
    let first: Job<'_> = Box::new(move |steps| {
        let wheel = suite.python(steps)?;
        steps.rows(suite, PYTHON);
        smoke("python", "python", suite, steps);
        steps.check("python: distributions", |log| {
            let tests = "venv:python -m pytest --quiet tests/distributions.py";
            let mut tests = suite.command("bindings/python", tests);
            log.run(tests.env("TWINDEX_SOURCES", suite.sources()).env("TWINDEX_WHEEL", wheel))
        });
        Ok(())
    });
    // The newest Python is spared what no interpreter does otherwise. The soak runs all tests under each version.
    let newest = Interpreter::others().pop().map(|interpreter| -> Job<'_> {
        Box::new(move |steps| {
            suite.python(steps)?;
            steps.check(&format!("python: pytest of the wheel under {}", interpreter.version), |log| {
                let spared = "alter arrow attacks cache cache_vectors changes codec_vectors command_line docs expiring \
                              file follow format interrupts large_results order remembered_codecs snapshots store \
                              transactions vectors view watch whole_files";
                let spared = spared.split(' ').map(|name| format!("--ignore=tests/test_{name}.py"));
                let mut pytest = pytest_under(&interpreter, suite, log)?;
                log.run(pytest.args(spared))
            });
            Ok(())
        })
    });
    [first].into_iter().chain(tables(FREE_THREADED, suite)).chain(newest).collect()
}

/// All tests but the bench's, in an environment of the interpreter with the wheel that was built.
pub(crate) fn pytest_under(
    interpreter: &Interpreter,
    workspace: &Workspace,
    log: &mut Log,
) -> Result<Command> {
    let folder = &workspace.path("bindings/python");
    let name = format!("venv-{}", interpreter.version);
    let venv = Venv::with(interpreter, workspace.target(&name));
    venv.make(log)?;
    let needed = "--constraint=requirements-dev.txt cachetools django dogpile.cache flask greenlet hypothesis msgpack pandas polars pyarrow pytest sortedcontainers";
    venv.install(folder, &needed.split(' ').collect::<Vec<_>>(), log)?;
    venv.reinstall(&only_file(&workspace.target("python-dist/wheel"), "whl")?, log)?;
    let line = format!("{name}:python -m pytest --quiet --ignore=tests/test_bench.py");
    Ok(workspace.command("bindings/python", &line))
}

/// Builds the site; a warning is an error.
pub(super) fn site(suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    suite.python(steps)?;
    steps.must("docs: site", |log| {
        let zensical = "venv:python -m zensical build --strict --clean --config-file mkdocs.yml";
        log.run(&mut suite.command("", zensical))
    })
}

const NODE: &str = "
node: npm run lint | bindings/node | npm run lint
node: npm run types | bindings/node | npm run types
node: npm run test | bindings/node | npm run test
node: Keyv's suite | bindings/node/test/suites/keyv | npm ci && npm test
";

fn node(suite: &Suite) -> Vec<Job<'_>> {
    vec![Box::new(|steps| {
        suite.node(steps)?;
        steps.rows(suite, NODE);
        for runtime in Runtime::BESIDE_NODE {
            steps.check(&format!("node: the module in {}", runtime.name()), |log| {
                // The vectors take Deno a minute.
                let tests =
                    ["codecs", "iteration", "map", "store"].map(|name| format!("./test/{name}.test.js"));
                let mut runner = runtime.tests(&suite.path("bindings/node"), suite, log)?;
                log.run(runner.args(tests))
            });
        }
        smoke("node", "node", suite, steps);
        Ok(())
    })]
}

/// They call the WebAssembly module, as Go and Java have no binding.
const OVER_THE_MODULE: &str = "
examples: Go | examples/go | need go && sh -c 'gofmt -l .; test -z \"$(gofmt -l .)\"' && go vet ./... && go test -count=1 ./...
examples: Java | examples/java | need mvn && mvn --batch-mode --no-transfer-progress test
";

const COMPONENTS: &str = "
examples: components in wasmtime | examples/wasmtime/javascript | need wasm32-wasip2 && cargo build --release \
     --package=twindex-example-guest --target=wasm32-wasip2 && npm ci && npm run build && cargo test {crates} --test=visits
";

fn examples(suite: &Suite) -> Vec<Job<'_>> {
    let over_the_module: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        steps.rows(suite, OVER_THE_MODULE);
        Ok(())
    });
    std::iter::once(over_the_module).chain(tables(COMPONENTS, suite)).collect()
}
