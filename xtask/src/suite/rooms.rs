//! The steps of each room, as jobs that can run beside each other.

use std::process::Command;

use anyhow::{Result, ensure};

use super::shared::{Suite, only_file};
use super::{Room, install};
use crate::bench::{WASMTIME, make_guest, smoke};
use crate::run::Log;
use crate::setup::{
    COMPONENTS, Interpreter, Runtime, Sanitizer, Tool, Venv, miri, need, npm, npm_ci, output, require_wasi,
};
use crate::steps::{Failed, Job, NotRun, Steps, checks};
use crate::workspace::Workspace;

/// Constants so small that every few writes split, merge or close something.
const TINY: &str = "--cfg twindex_tiny";
/// The same, with the checker of all structures compiled in.
pub(crate) const TINY_CHECKED: &str = "--cfg twindex_tiny --cfg twindex_check";

/// Miri's emulation of weak memory fails where a word is an atomic again that was plain bytes in between. The models know weak
/// memory.
const MIRI: &str = "MIRIFLAGS=-Zmiri-disable-weak-memory-emulation";

/// How much of their work the slow instruments do: `cargo xtask soak` does the rest.
const PART: &str = "TWINDEX_STRESS=0.3";

pub(super) fn jobs(room: Room, suite: &Suite) -> Vec<Job<'_>> {
    match room {
        Room::Tree => tree_jobs(suite),
        Room::Engine => engine(suite),
        Room::Cache => cache(suite),
        Room::Codec => cargo_test("codec", suite).into_iter().collect(),
        Room::Durable => {
            ["format", "durable"].into_iter().filter_map(|room| cargo_test(room, suite)).collect()
        }
        Room::Cluster => cluster(suite),
        Room::Cli => cli(suite),
        Room::Benches => benches(suite),
        Room::Wasm => wasm(suite),
        Room::Python => python(suite),
        Room::Docs => vec![Box::new(|steps| site(suite, steps))],
        Room::Node => node(suite),
        Room::Examples => examples(suite),
        Room::Dist => install::jobs(suite),
        Room::Xtask => xtask(suite),
    }
}

/// All crates at once, those over WebAssembly's modules among them. Some need Redis.
pub(super) fn all_crates(suite: &Suite) -> Job<'_> {
    Box::new(|steps| {
        // Even where the modules cannot be built the other crates can be tested.
        let built = suite.wasm(steps);
        steps.check("all crates: cargo test", |log| {
            log.run(suite.cargo_test().arg("--no-fail-fast"))?;
            Tool::Redis
                .missing()
                .map_or(Ok(()), |line| Err(NotRun(format!("all but clusters passed. {line}")).into()))
        });
        built
    })
}

/// The tests of one crate, where it is tested by itself.
fn cargo_test<'s>(room: &'static str, suite: &'s Suite) -> Option<Job<'s>> {
    let package = match room {
        "engine" => "twindex".to_owned(),
        "xtask" => room.to_owned(),
        _ => format!("twindex-{room}"),
    };
    let line = format!("cargo test --package={package}");
    let test = checks(move |steps| steps.lines(&format!("{room}: cargo test"), suite, "", &[&line]));
    (!suite.is_whole()).then_some(test)
}

/// Conflicts, carriage returns and open work; and of lock files download addresses, and packages outside the registry.
const FORBIDDEN: [&str; 4] = [
    "sh -c '! git grep -nIE \"^(<<<<<<<|>>>>>>>) |TO[D]O|FIX[M]E\"'",
    "sh -c '! git grep -lIP \"\\r$\"'",
    "sh -c '! git grep -n \"resolved.: .http\" -- \"*package-lock.json\"'",
    "sh -c '! git grep -n \"source = .git+\" -- \"*Cargo.lock\"'",
];

const LICENCES: &str = "sh -c 'for package in engine cache codec format durable cluster cli wasm/npm bindings/python bindings/node wasm/host \
     bindings/python-cluster bindings/node-cluster; do for licence in LICENSE-MIT LICENSE-APACHE; do \
     cmp $licence $package/$licence || exit 1; done; done'";

fn tree_jobs(suite: &Suite) -> Vec<Job<'_>> {
    let files = checks(|steps| {
        for folder in [".", "format/fuzz", "engine/models", "cache/models", "benches/peers"] {
            steps.lines(&format!("tree: rustfmt {folder}"), suite, folder, &["cargo fmt --all --check"]);
        }
        steps.check("tree: Cargo.lock", |log| {
            log.read(&mut suite.command("", "cargo metadata --locked --format-version=1")).map(drop)
        });
        steps.lines("tree: files", suite, "", &FORBIDDEN);
        // They are copies, because npm leaves links out.
        steps.lines("tree: licences", suite, "", &[LICENCES]);
        steps.lines("tree: deliberate faults", suite, "", &["python3 xtask/faults.py --check"]);
    });
    let lints: Job<'_> = Box::new(|steps| {
        let clippy = "cargo clippy --workspace --all-targets -- --deny=warnings";
        steps.lines("tree: clippy", suite, "", &[clippy]);
        let doc = "RUSTDOCFLAGS=--deny=warnings cargo doc --workspace --no-deps";
        steps.lines("tree: rustdoc", suite, "", &[doc]);
        suite.wasm_target(steps)?;
        let packages = "--package=twindex-wasm --package=twindex-cache";
        let clippy =
            format!("cargo clippy {packages} --target=wasm32-unknown-unknown --lib -- --deny=warnings");
        steps.lines("tree: clippy for WebAssembly", suite, "", &[&clippy]);
        Ok(())
    });
    vec![files, lints]
}

fn engine(suite: &Suite) -> Vec<Job<'_>> {
    let instruments = [
        // Miri, the longest of them, keeps one core busy.
        checks(|steps| {
            steps.check("engine: Miri", |log| {
                for tests in [
                    "--test=threads -- contended cursors",
                    "--test=all -- snapshots::cursors snapshots::last transactions::g",
                ] {
                    let line = format!("{MIRI} cargo miri test");
                    let mut cargo = built_apart(suite, ENGINE, "miri", TINY, &line);
                    miri(&mut cargo, log)?;
                    log.run(cargo.args(tests.split(' ')))?;
                }
                Ok(())
            });
        }),
        checks(|steps| {
            steps.check("engine: thread sanitizer", |log| {
                // It knows no system call that is a fence.
                let flags = format!("{TINY} --cfg twindex_plain_fences");
                for tests in
                    ["--test=threads", "--test=all -- snapshots:: transactions:: --skip=snapshots_of"]
                {
                    let line = format!("{PART} cargo test");
                    let mut cargo = built_apart(suite, ENGINE, "tsan", &flags, &line);
                    Sanitizer::Thread.apply(&mut cargo, log)?;
                    log.run(cargo.args(tests.split(' ')))?;
                }
                Ok(())
            });
        }),
        checks(|steps| {
            steps.check("engine: tiny constants, address sanitizer", |log| {
                // The examples in the documentation do not depend on the constants.
                let tests = "cargo test --lib --tests";
                let mut cargo = built_apart(suite, ENGINE, "asan", TINY_CHECKED, tests);
                let asan = Sanitizer::Address.apply(&mut cargo, log);
                log.run(&mut cargo)?;
                asan
            });
            let clippy = "cargo clippy --all-targets";
            steps.check("engine: clippy of the checker", |log| {
                let mut cargo = built_apart(suite, ENGINE, "tiny", TINY_CHECKED, clippy);
                log.run(cargo.args(["--", "--deny=warnings"]))
            });
        }),
        checks(|steps| {
            let build = "CARGO_TARGET_DIR={target}";
            let clippy = format!("{build} cargo clippy --locked --all-targets -- --deny=warnings");
            let test = format!("{build} {PART} cargo test --locked");
            steps.lines("engine: models of interleavings", suite, "engine/models", &[&test]);
            steps.lines("engine: clippy of the models", suite, "engine/models", &[&clippy]);
            // Linting links nothing, so the fuzzer's library, which would take a C++ compiler, need not be built.
            let fuzz = format!("CUSTOM_LIBFUZZER_PATH=none/libfuzzer.a {clippy}");
            steps.lines("engine: clippy of the fuzz targets", suite, "format/fuzz", &[&fuzz]);
        }),
    ];
    cargo_test("engine", suite).into_iter().chain(instruments).collect()
}

fn cache(suite: &Suite) -> Vec<Job<'_>> {
    let instruments = checks(|steps| {
        let target = "CARGO_TARGET_DIR={target}";
        steps.check("cache: tiny constants, address sanitizer", |log| {
            let mut cargo = built_apart(suite, CACHE, "asan", TINY_CHECKED, "cargo test --tests");
            let asan = Sanitizer::Address.apply(&mut cargo, log);
            log.run(&mut cargo)?;
            asan
        });
        steps.check("cache: thread sanitizer", |log| {
            let flags = format!("{TINY} --cfg twindex_plain_fences");
            let mut cargo = built_apart(suite, CACHE, "tsan", &flags, "cargo test --test=all");
            Sanitizer::Thread.apply(&mut cargo, log)?;
            log.run(cargo.args(["--", "threads::"]))
        });
        steps.check("cache: Miri", |log| {
            let line = format!("{MIRI} cargo miri test --test=all");
            let mut cargo = built_apart(suite, CACHE, "miri", TINY, &line);
            miri(&mut cargo, log)?;
            log.run(cargo.args(["--", "threads::"]))
        });
        let test = format!("{target} cargo test --locked");
        let clippy = format!("{target} cargo clippy --locked --all-targets -- --deny=warnings");
        steps.lines("cache: models of interleavings", suite, "cache/models", &[&test, &clippy]);
    });
    cargo_test("cache", suite).into_iter().chain([instruments]).collect()
}

pub(crate) const ENGINE: &str = "--package=twindex";
pub(crate) const CACHE: &str = "--package=twindex-cache";

/// A cargo command on a crate compiled with these flags, in a build folder of its own, as nothing can be shared.
pub(crate) fn built_apart(
    workspace: &Workspace,
    package: &str,
    folder: &str,
    flags: &str,
    line: &str,
) -> Command {
    let mut cargo = workspace.command("", line);
    cargo.args(["--locked", package]);
    cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", workspace.target(folder));
    cargo
}

fn cluster(suite: &Suite) -> Vec<Job<'_>> {
    let crates = (!suite.is_whole()).then(|| {
        checks(|steps| {
            steps.check("cluster: cargo test", |log| {
                need(Tool::Redis)?;
                log.run(&mut suite.command("", "cargo test --package=twindex-cluster"))?;
                let transfers = "cargo test --package=twindex-cli --features=cluster --test=transfer";
                log.run(&mut suite.command("", transfers))
            });
        })
    });
    let python: Job<'_> = Box::new(|steps| {
        suite.python(steps)?;
        let folder = "bindings/python-cluster";
        steps.must("cluster: Python package", |log| {
            let made = suite.empty_folder("cluster-python")?;
            let line = "CARGO_TARGET_DIR={target} venv:maturin build --profile=dev --out";
            log.run(suite.command(folder, line).arg(&made))?;
            Venv::of_tests(suite).reinstall(&only_file(&made, "whl")?, log)
        })?;
        steps.lines("cluster: ruff", suite, folder, &["venv:ruff check .", "venv:ruff format --check ."]);
        steps.lines("cluster: mypy", suite, folder, &["venv:mypy --strict"]);
        with_servers("cluster: pytest", folder, "venv:python -m pytest --quiet", suite, steps);
        Ok(())
    });
    let node: Job<'_> = Box::new(|steps| {
        let folder = "bindings/node-cluster";
        steps.must("cluster: Node package", |log| {
            log.run(
                &mut suite.command(folder, "CARGO_TARGET_DIR={target} node ../node/scripts/build.js --dev ."),
            )
        })?;
        with_servers("cluster: npm test", folder, "npm test", suite, steps);
        // The linter and the compiler are the other package's.
        suite.node(steps)?;
        let biome =
            "{root}/bindings/node/node_modules/.bin/biome check --error-on-warnings --config-path=. .";
        let tsc = "{root}/bindings/node/node_modules/.bin/tsc -p .";
        let bundled = format!("{tsc} --module esnext --moduleResolution bundler");
        steps.lines("cluster: npm types", suite, folder, &[tsc, &bundled]);
        steps.lines("cluster: npm lint", suite, folder, &[biome]);
        Ok(())
    });
    let valkey = checks(|steps| {
        steps.check("cluster: Valkey", |log| {
            need(Tool::Valkey)?;
            let tests = "cargo test --package=twindex-cluster --test=vectors --test=tables --test=near";
            log.run(&mut suite.command("", &format!("TWINDEX_SERVER=valkey {tests}")))
        });
    });
    crates.into_iter().chain([python, node, valkey]).collect()
}

/// Tests that find a cluster, and servers that speak TLS, by variables.
fn with_servers(name: &str, folder: &str, line: &str, suite: &Suite, steps: &mut Steps) {
    steps.check(name, |log| {
        need(Tool::Redis)?;
        log.run(&mut suite.command("", "cargo build --package=twindex-servers"))?;
        let tests = suite.command(folder, line);
        let mut servers = suite.command(folder, "{target}/debug/twindex-servers --");
        servers.arg(tests.get_program()).args(tests.get_args());
        servers.envs(tests.get_envs().filter_map(|(name, value)| Some((name, value?))));
        log.run(&mut servers)
    });
}

fn cli(suite: &Suite) -> Vec<Job<'_>> {
    let under_wasi: Job<'_> = Box::new(|steps| {
        let tool = suite.wasi_tool(steps)?;
        steps.check("cli: tests under WASI", |log| {
            let mut node = suite.command("cli/tests", "node --no-warnings --test wasi.mjs");
            log.run(node.env("TWINDEX_WASI", tool))
        });
        Ok(())
    });
    cargo_test("cli", suite).into_iter().chain([under_wasi]).collect()
}

fn benches(suite: &Suite) -> Vec<Job<'_>> {
    let peers = checks(|steps| {
        let build = "CARGO_TARGET_DIR={target} cargo";
        let clippy = format!("{build} clippy --locked --all-targets -- --deny=warnings");
        steps.check("benches: cargo test of the peers", |log| {
            need(Tool::Redis)?;
            log.run(&mut suite.command("benches/peers", &format!("{build} test --locked")))
        });
        steps.lines("benches: clippy of the peers", suite, "benches/peers", &[&clippy]);
    });
    cargo_test("benches", suite).into_iter().chain([peers]).collect()
}

fn wasm(suite: &Suite) -> Vec<Job<'_>> {
    let module: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        if !suite.is_whole() {
            steps.check("wasm: cargo test", |log| {
                log.run(suite.cargo_test().args(["--test=abi", "--test=component", "--test=guests"]))
            });
        }
        steps.check("wasm: tests of the fast module", |log| {
            // Both modules do the same where memory ends, which takes longest. The soak tests the fast one too.
            let words = ["--test=abi", "--", "--skip=memory::"];
            log.run(
                suite.cargo_test().args(words).env("TWINDEX_WASM", suite.path("wasm/npm/twindex.fast.wasm")),
            )
        });
        smoke("wasm", "wasmtime", suite, steps);
        Ok(())
    });
    let javascript: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        npm_scripts("wasm", "wasm/npm", &["lint", "types", "test"], suite, steps);
        let folder = &suite.path("wasm/npm");
        steps.check("wasm: npm run test:browser", |log| {
            need(Tool::Browser)?;
            log.run(&mut npm(folder, &["run", "test:browser"]))
        });
        steps.check("wasm: workerd for the tests of the package", |log| {
            Runtime::Workerd.find(suite, log).map(drop)
        });
        steps.check("wasm: npm run test:package", |log| {
            npm_ci(&folder.join("test/package"), log)?;
            log.run(&mut npm(folder, &["run", "test:package"]))
        });
        smoke("wasm", "wasm-node", suite, steps);
        steps.must("wasm: program for the bench", |log| make_guest(suite, log))?;
        smoke("wasm", "inside", suite, steps);
        for runtime in Runtime::BESIDE_NODE {
            let name = runtime.name();
            steps.check(&format!("wasm: tests in {name}"), |log| {
                runtime.find(suite, log)?;
                log.run(&mut npm(folder, &["run", &format!("test:{name}")]))
            });
        }
        let tool = suite.wasi_tool(steps)?;
        steps.check("wasm: the tool for WASI in Deno", |log| {
            let mut tests = Runtime::Deno.tests(&suite.path("cli/tests"), suite, log)?;
            log.run(tests.arg("wasi.mjs").env("TWINDEX_WASI", tool))
        });
        steps.check("wasm: tests in Python's wasmtime", |log| {
            log.run(&mut suite.command("", "cargo build --package=twindex-cli"))?;
            let venv = Venv::of_wasmtime(suite);
            venv.make(log)?;
            venv.install(suite.root(), &[WASMTIME], log)?;
            let component = "{target}/wasm32-unknown-unknown/release/twindex_component.wasm";
            let tests = "venv-wasm:python wasm/tests/python/hosts.py wasm/npm/twindex.wasm";
            let mut tests = suite.command("", &format!("{tests} {component}"));
            log.run(tests.arg(tool).arg(suite.target("debug/twindex")))
        });
        Ok(())
    });
    vec![module, javascript]
}

fn python(suite: &Suite) -> Vec<Job<'_>> {
    let folder = "bindings/python";
    let first: Job<'_> = Box::new(move |steps| {
        let wheel = suite.python(steps)?;
        let others = ". ../../examples/python ../../docs";
        let ruff = [format!("venv:ruff check {others}"), format!("venv:ruff format --check {others}")];
        steps.lines("python: ruff", suite, folder, &[&ruff[0], &ruff[1]]);
        let stubs = "venv:python -m mypy.stubtest twindex --mypy-config-file pyproject.toml \
                     --allowlist tests/stubtest.txt";
        steps.lines("python: mypy", suite, folder, &["venv:mypy --strict", stubs]);
        steps.lines("python: pytest", suite, folder, &["venv:python -m pytest --quiet"]);
        let examples = "venv:python -m pytest --quiet --config-file=pyproject.toml ../../examples/python";
        steps.lines("python: pytest of the examples", suite, folder, &[examples]);
        steps.check("python: no import cycles", |log| {
            let ruff = "venv:ruff analyze graph --preview --no-type-checking-imports python/twindex";
            let graph = log.read(&mut suite.command(folder, ruff))?;
            ensure!(graph.contains("__init__.py"), "ruff found no modules");
            // It raises an error that names the cycle.
            let sort =
                "import graphlib, json, sys; graphlib.TopologicalSorter(json.loads(sys.argv[1])).prepare()";
            log.run(suite.command(folder, "venv:python -c").arg(sort).arg(graph))
        });
        smoke("python", "python", suite, steps);
        steps.check("python: distributions", |log| {
            let mut tests = suite.command(folder, "venv:python -m pytest --quiet tests/distributions.py");
            log.run(tests.env("TWINDEX_SOURCES", suite.sources()).env("TWINDEX_WHEEL", wheel))
        });
        Ok(())
    });
    // The compiler's view of the packages without a global lock needs no such interpreter.
    let free_threaded = checks(|steps| {
        steps.check("python: clippy for free-threaded Python", |log| {
            let folder = suite.target("free-threaded");
            std::fs::create_dir_all(&folder)?;
            let described = "implementation=CPython\nversion=3.14\nbuild_flags=Py_GIL_DISABLED\n";
            std::fs::write(folder.join("interpreter.txt"), described)?;
            let line = "PYO3_CONFIG_FILE={target}/free-threaded/interpreter.txt CARGO_TARGET_DIR={target}/free-threaded \
                        cargo clippy --locked --package=twindex-python --package=twindex-cluster-python \
                        -- --deny=warnings";
            log.run(&mut suite.command("", line))
        });
    });
    // The newest Python is spared what is about native code and takes a minute. The soak takes all versions.
    let newest = Interpreter::others().pop().map(|interpreter| -> Job<'_> {
        Box::new(move |steps| {
            suite.python(steps)?;
            steps.check(&format!("python: pytest of the wheel under {}", interpreter.version), |log| {
                let spared = ["attacks", "interrupts", "large_results"];
                let spared = spared.map(|name| format!("--ignore=tests/test_{name}.py"));
                let mut pytest = pytest_under(&interpreter, suite, log)?;
                log.run(pytest.args(spared))
            });
            Ok(())
        })
    });
    [first, free_threaded].into_iter().chain(newest).collect()
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

fn node(suite: &Suite) -> Vec<Job<'_>> {
    vec![Box::new(|steps| {
        suite.node(steps)?;
        npm_scripts("node", "bindings/node", &["lint", "types", "test"], suite, steps);
        let folder = &suite.path("bindings/node");
        steps.check("node: Keyv's suite", |log| {
            npm_ci(&folder.join("test/suites/keyv"), log)?;
            log.run(&mut npm(&folder.join("test/suites/keyv"), &["test"]))
        });
        for runtime in Runtime::BESIDE_NODE {
            steps.check(&format!("node: the module in {}", runtime.name()), |log| {
                // The vectors take Deno a minute.
                let tests =
                    ["codecs", "iteration", "map", "store"].map(|name| format!("./test/{name}.test.js"));
                let mut runner = runtime.tests(folder, suite, log)?;
                log.run(runner.args(tests))
            });
        }
        smoke("node", "node", suite, steps);
        Ok(())
    })]
}

/// Runs scripts of a package, none of which rests on another.
fn npm_scripts(room: &str, folder: &str, names: &[&str], suite: &Suite, steps: &mut Steps) {
    for name in names {
        let name = format!("npm run {name}");
        steps.lines(&format!("{room}: {name}"), suite, folder, &[&name]);
    }
}

/// Go and Java have no binding: they call the WebAssembly module.
fn examples(suite: &Suite) -> Vec<Job<'_>> {
    let over_the_module: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        steps.check("examples: Go", |log| {
            need(Tool::Go)?;
            let unformatted = log.read(&mut suite.command("examples/go", "gofmt -l ."))?;
            ensure!(unformatted.is_empty(), "gofmt would change {unformatted}");
            log.run(&mut suite.command("examples/go", "go vet ./..."))?;
            log.run(&mut suite.command("examples/go", "go test -count=1 ./..."))
        });
        steps.check("examples: Java", |log| {
            need(Tool::Maven)?;
            log.run(&mut suite.command("examples/java", "mvn --batch-mode --no-transfer-progress test"))
        });
        Ok(())
    });
    let components = checks(|steps| {
        steps.check("examples: components in wasmtime", |log| {
            require_wasi(COMPONENTS, log)?;
            let build = "cargo build --release --package=twindex-example-guest --target=wasm32-wasip2";
            log.run(&mut suite.command("", build))?;
            let javascript = suite.path("examples/wasmtime/javascript");
            npm_ci(&javascript, log)?;
            log.run(&mut npm(&javascript, &["run", "build"]))?;
            log.run(suite.cargo_test().arg("--test=visits"))
        });
    });
    cargo_test("examples", suite).into_iter().chain([over_the_module, components]).collect()
}

fn xtask(suite: &Suite) -> Vec<Job<'_>> {
    let workflows = checks(|steps| {
        steps.check("xtask: workflows", |log| {
            let home = output("go", &["env", "GOPATH"]).unwrap_or_default();
            let installed = format!("{}/bin/actionlint", home.trim());
            let found =
                ["actionlint", &installed].into_iter().find(|name| output(name, &["--version"]).is_some());
            let Some(actionlint) = found else {
                let install = "go install github.com/rhysd/actionlint/cmd/actionlint@latest";
                return Err(NotRun(format!("actionlint is missing: {install}")).into());
            };
            log.run(&mut suite.command("", &format!("{actionlint} -color=false")))
        });
    });
    cargo_test("xtask", suite).into_iter().chain([workflows]).collect()
}
