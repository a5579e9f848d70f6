//! What a file of another benchmark holds, before it is made a study.

use coretwin_base::study::reading::Better;

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) program: &'static str,
    pub(super) series: Vec<Series>,
}

#[derive(Debug)]
pub(super) struct Series {
    pub(super) arm: String,
    pub(super) row: String,
    pub(super) unit: String,
    pub(super) better: Better,
    pub(super) values: Vec<f64>,
    /// User and system seconds of all runs together, where the file tells.
    pub(super) cpu_s: [f64; 2],
}
