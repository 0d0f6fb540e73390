//! The example as the table of examples has it, and the program of docs/wasmtime.md. `cargo xtask test examples` builds the guests.

use std::path::Path;
use std::process::Command;

#[test]
fn guests_in_two_languages_see_each_others_writes_and_the_next_run_sees_both() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| here.join("../../target"), Into::into);
    let rust = target.join("wasm32-wasip2/release/twindex_example_guest.wasm");
    let javascript = here.join("javascript/visits.wasm");
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("visits.twx");
    let said = |guests: &[&Path]| {
        let mut host = Command::new(env!("CARGO_BIN_EXE_twindex-example-wasmtime"));
        let output = host.arg(&store).args(guests).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        said(&[&rust, &javascript]),
        "Rust: ada was here 1 times, all together 1 times; before: nobody\n\
         Rust: bob was here 1 times, all together 2 times; before: ada\n\
         JavaScript: ada was here 2 times, all together 3 times; before: bob\n\
         JavaScript: bob was here 2 times, all together 4 times; before: ada\n"
    );
    assert_eq!(
        said(&[&rust]),
        "Rust: ada was here 3 times, all together 5 times; before: bob\n\
         Rust: bob was here 3 times, all together 6 times; before: ada\n"
    );
}

mod page {
    include!(concat!(env!("OUT_DIR"), "/page.rs"));

    #[test]
    fn the_program_of_the_page_runs_a_guest_beside_its_store() {
        let folder = tempfile::tempdir().unwrap();
        std::env::set_current_dir(&folder).unwrap();
        // A component without anything in it.
        std::fs::write("guest.wasm", b"\0asm\x0d\0\x01\0").unwrap();
        main().unwrap();
        assert!(folder.path().join("app.twx").exists());
    }
}
