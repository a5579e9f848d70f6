//! Records as JSON; that of a study is its summary, as in `summary.json`.

use crate::Study;
use serde::Serialize;

pub fn json(study: &Study<'_>) -> String {
    pretty(study.summary)
}

/// A record, one JSON document that ends its line.
pub(crate) fn pretty<T: Serialize + ?Sized>(record: &T) -> String {
    serde_json::to_string_pretty(record)
        .expect("records have only text keys, so they are always JSON")
        + "\n"
}
