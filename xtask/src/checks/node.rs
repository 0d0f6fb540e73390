//! bindings/node/ and examples/node/, whose programs the package's tests run

use std::path::Path;

use crate::bench::Host;
use crate::checks::rust::smoke;
use crate::checks::suite::Suite;
use crate::setup::{Runtime, npm, npm_ci};
use crate::steps::{Job, Steps};
use crate::workspace::Workspace;

/// The tests of what other runtimes with Node-API do alike; the vectors take Deno a minute.
const ANYWHERE: [&str; 4] =
    ["./test/codecs.test.js", "./test/iteration.test.js", "./test/map.test.js", "./test/store.test.js"];

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    vec![Box::new(|steps| {
        suite.node(steps)?;
        test(suite.workspace(), steps);
        Ok(())
    })]
}

fn test(workspace: &Workspace, steps: &mut Steps) {
    let folder = &workspace.path("bindings/node");
    scripts("node", folder, &["lint", "types", "test"], steps);
    let suite = &folder.join("test/suites/keyv");
    steps.check("node: Keyv's suite", |log| {
        npm_ci(suite, log)?;
        log.run(&mut npm(suite, &["test"]))
    });
    for runtime in Runtime::BESIDE_NODE {
        steps.check(&format!("node: the module in {}", runtime.name()), |log| {
            let mut tests = runtime.tests(folder, workspace, log)?;
            log.run(tests.args(ANYWHERE))
        });
    }
    smoke("node", Host::Node, workspace, steps);
}

/// Runs scripts of a package, none of which rests on another.
pub(super) fn scripts(room: &str, folder: &Path, names: &[&str], steps: &mut Steps) {
    for name in names {
        steps.check(&format!("{room}: npm run {name}"), |log| log.run(&mut npm(folder, &["run", name])));
    }
}
