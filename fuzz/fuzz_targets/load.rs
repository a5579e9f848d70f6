//! A load file, as a user gives it to dbench.
#![no_main]

#[path = "../../crates/workloads/tests/common/load_text.rs"]
mod load_text;

use coretwin_workloads::dbench::load::parser::parse;
use coretwin_workloads::dbench::load::{HANDLES_MAX, SIZE_MAX};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(load) = parse("load", text) {
        assert!(load.handles_max <= HANDLES_MAX && load.size_max <= SIZE_MAX);
        assert!(load.paths.iter().all(|path| !path.split('/').any(|part| part == "..")));
        // What is written is read again.
        if let Some(text) = load_text::text_of(&load) {
            let again = parse("again", text.as_bytes()).expect("read again");
            assert_eq!(again.operations.len(), load.operations.len());
            assert_eq!(again.bytes(), load.bytes());
        }
    }
});
