//! bindings/python/ and examples/python/

use crate::bench::Host;
use crate::checks::rust::smoke;
use crate::setup::Venv;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("bindings/python");
    let venv = Venv::of_tests(workspace);
    steps.must("python: virtual environment", |log| {
        venv.make(log)?;
        venv.install(folder, &["-r", "requirements-dev.txt"], log)
    })?;
    steps.must("python: pip install ./bindings/python", |log| venv.install_package(workspace, log))?;
    for (name, module, arguments) in [
        ("ruff", "ruff", ["check", ".", "../../examples/python"].as_slice()),
        ("ruff format", "ruff", &["format", "--check", ".", "../../examples/python"]),
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
    smoke("python", Host::Python, workspace, steps);
    Ok(())
}
