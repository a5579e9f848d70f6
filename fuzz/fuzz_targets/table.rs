//! Published tables: any text gives a report that adds up, or an error that names the table.

#![no_main]

use coretwin_article::audit::audit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match audit("fuzzed", text) {
        Ok(report) => {
            let checked = report.checked;
            let sum = checked.by_rounding + checked.by_truncation + checked.broken;
            assert_eq!(sum, checked.figures);
            let broken: usize = report.findings.iter().map(|finding| finding.broken.len()).sum();
            assert_eq!(broken, checked.broken);
            let lines = text.lines().count() as u64 + text.matches('\r').count() as u64;
            assert!(report.findings.iter().all(|finding| (2..=lines).contains(&finding.line)));
        }
        Err(error) => assert!(error.to_string().starts_with("audit fuzzed: ")),
    }
});
