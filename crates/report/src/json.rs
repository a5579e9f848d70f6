//! The summary as JSON, as in `summary.json`.

use crate::Study;

/// The summary of the study, one JSON document.
#[must_use]
pub fn json(study: &Study<'_>) -> String {
    let mut text = serde_json::to_string_pretty(study.summary)
        .expect("a summary has only text keys, so it is always JSON");
    text.push('\n');
    text
}
