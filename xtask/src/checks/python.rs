//! bindings/python/ and examples/python/

use std::process::Command;

use anyhow::Result;

use crate::bench::Host;
use crate::checks::circles;
use crate::checks::made::python::{Package, WHEEL, install, only_file};
use crate::checks::rust::{DENY, smoke};
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Interpreter, Venv};
use crate::steps::{Job, Steps, checks};
use crate::workspace::Workspace;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let workspace = suite.workspace();
    // The soak takes those between the first and the newest too.
    let newest = Interpreter::others().pop();
    let first: Job<'_> = Box::new(|steps| {
        let package = suite.python(steps)?;
        test(package, workspace, steps);
        Ok(())
    });
    let newest = newest.map(|interpreter| -> Job<'_> {
        Box::new(move |steps| {
            suite.python(steps)?;
            test_under(&interpreter, workspace, steps);
            Ok(())
        })
    });
    let free_threaded = checks(|steps| {
        steps.check("python: clippy for free-threaded Python", |log| log.run(&mut free_threaded(workspace)?));
    });
    [first, free_threaded].into_iter().chain(newest).collect()
}

/// What the compiler says of the packages as an interpreter without a global lock has them. It needs no such interpreter, but
/// what it makes of the dependencies is of no use to others.
fn free_threaded(workspace: &Workspace) -> Result<Command> {
    const INTERPRETER: &str = "implementation=CPython\nversion=3.14\nbuild_flags=Py_GIL_DISABLED\n";
    let folder = workspace.target("free-threaded");
    std::fs::create_dir_all(&folder)?;
    let described = folder.join("interpreter.txt");
    std::fs::write(&described, INTERPRETER)?;
    let mut cargo = command("cargo", workspace.root());
    cargo.args(["clippy", "--locked", "--package=twindex-python", "--package=twindex-cluster-python"]);
    cargo.args(["--features=twindex-python/free-threaded,twindex-cluster-python/free-threaded"]);
    cargo.args(DENY).env("PYO3_CONFIG_FILE", described).env("CARGO_TARGET_DIR", folder);
    Ok(cargo)
}

fn test(package: &Package, workspace: &Workspace, steps: &mut Steps) {
    let Package { venv, sources, wheel } = package;
    let folder = &workspace.path("bindings/python");
    for (name, module, arguments) in [
        ("ruff", "ruff", ["check", ".", "../../examples/python", "../../docs"].as_slice()),
        ("ruff format", "ruff", &["format", "--check", ".", "../../examples/python", "../../docs"]),
        ("mypy", "mypy", &["--strict"]),
        ("stubtest", "mypy.stubtest", &["twindex", "--mypy-config-file", "pyproject.toml"]),
        ("pytest", "pytest", &["--quiet"]),
        (
            "pytest of the examples",
            "pytest",
            &["--quiet", "--config-file=pyproject.toml", "../../examples/python"],
        ),
    ] {
        steps.check(&format!("python: {name}"), |log| log.run(venv.module(module, folder).args(arguments)));
    }
    steps.check("python: no circles of modules", |log| circles::python(folder, venv, log));
    smoke("python", Host::Python, workspace, steps);
    steps.check("python: what is in the distributions", |log| {
        log.run(
            venv.module("pytest", folder)
                .args(["--quiet", "tests/distributions.py"])
                .envs([("TWINDEX_SOURCES", sources), ("TWINDEX_WHEEL", wheel)]),
        )
    });
}

/// What the other versions of Python are spared: it takes a minute and is about the native code. The soak has them run it.
const FOR_ONE_PYTHON: [&str; 3] = [
    "--ignore=tests/test_attacks.py",
    "--ignore=tests/test_interrupts.py",
    "--ignore=tests/test_large_results.py",
];

/// The wheel under another version of Python that there is here, or where there is none under the same.
fn test_under(interpreter: &Interpreter, workspace: &Workspace, steps: &mut Steps) {
    steps.check(&format!("python: pytest of the wheel under {}", interpreter.version), |log| {
        let mut pytest = pytest_under(interpreter, workspace, log)?;
        log.run(pytest.args(FOR_ONE_PYTHON))
    });
}

/// All tests but the bench's, in an environment of the interpreter with the wheel that was built.
pub(super) fn pytest_under(
    interpreter: &Interpreter,
    workspace: &Workspace,
    log: &mut Log,
) -> Result<Command> {
    let folder = &workspace.path("bindings/python");
    let venv = Venv::of_interpreter(workspace, interpreter);
    venv.make(log)?;
    let needed = [
        "--constraint=requirements-dev.txt",
        "cachetools",
        "django",
        "dogpile.cache",
        "flask",
        "hypothesis",
        "msgpack",
        "pytest",
        "sortedcontainers",
    ];
    venv.install(folder, &needed, log)?;
    install(&only_file(&workspace.target(WHEEL), "whl")?, &venv, folder, log)?;
    let mut pytest = venv.module("pytest", folder);
    pytest.args(["--quiet", "--ignore=tests/test_bench.py"]);
    Ok(pytest)
}
