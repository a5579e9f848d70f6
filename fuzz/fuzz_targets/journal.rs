//! Lines of a journal: what is read can be written and read again.

#![no_main]

use coretwin_base::schema::SCHEMA;
use coretwin_store::parse_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    if let Ok(reading) = parse_line(line) {
        assert!(reading.schema <= SCHEMA);
        let written = serde_json::to_vec(&reading).expect("a reading can be written");
        let again = parse_line(&written).expect("what was written can be read");
        assert_eq!((again.seq, again.arm, again.row), (reading.seq, reading.arm, reading.row));
        assert_eq!((again.cpus_ran, again.checks), (reading.cpus_ran, reading.checks));
    }
});
