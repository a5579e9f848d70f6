//! A calibration's file: what reads has finite errors and counts what it holds.

#![no_main]

use coretwin_sim::calibrate::Fit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(fit) = Fit::read("fuzzed", text) {
        assert!(fit.residuals.iter().all(|residual| residual.error_percent().is_finite()));
        assert!(fit.services.values().all(|service| service.is_finite()));
    }
});
