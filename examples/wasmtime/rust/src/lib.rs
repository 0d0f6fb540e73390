//! Counts visits in a bucket of its host: for everybody, and for each visitor.

use bindings::wasi::keyvalue::store::{Error, open};
use bindings::wasi::keyvalue::{atomics::increment, batch::get_many};

#[expect(clippy::pedantic, reason = "written by a generator")]
mod bindings {
    wit_bindgen::generate!({ world: "visits", path: "../wit", generate_all });
    export!(Visits);

    use super::Visits;
}

/// What exports `visit`.
struct Visits;

impl bindings::Guest for Visits {
    fn visit(name: String) -> String {
        visit(&name).unwrap_or_else(|error| format!("{error:?}"))
    }
}

fn visit(name: &str) -> Result<String, Error> {
    let bucket = open("visits")?;
    let mine = increment(&bucket, name, 1)?;
    let all = increment(&bucket, "all", 1)?;
    let last = get_many(&bucket, &["last".into()])?.into_iter().find_map(|(_, value)| value);
    bucket.set("last", name.as_bytes())?;
    let last = last.map_or("nobody".into(), |last| String::from_utf8_lossy(&last).into_owned());
    Ok(format!("Rust: {name} was here {mine} times, all together {all} times; before: {last}"))
}
