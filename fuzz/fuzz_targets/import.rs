//! Results of hyperfine and of the Phoronix Test Suite: what is read is a study, each cell of which is there once.

#![no_main]

use coretwin_store::import::import;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let ending = if bytes.starts_with(b"<") { "xml" } else { "json" };
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/target"));
    let path = folder.join(format!("import-{}.{ending}", std::process::id()));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, bytes)).expect("written");
    match import(&path) {
        Ok(found) => {
            let cells = found.plan.arms.len() * found.plan.rows.len();
            assert!(cells > 0 && found.readings.len() % cells == 0);
            let values = found.readings.iter().filter_map(|reading| reading.value);
            assert!(values.clone().all(|value| value.is_finite() && value > 0.0));
            assert!(values.count() > 0);
        }
        Err(error) => assert!(error.to_string().contains("import-")),
    }
    std::fs::remove_file(&path).expect("removed");
});
