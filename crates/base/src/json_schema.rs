//! JSON Schemas of what other programs read: made from the types that write it.

use crate::study::plan::Plan;
use crate::study::reading::Reading;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

/// Of `plan.json`.
pub fn plan() -> Value {
    titled::<Plan>("plan.json: what a study of Coretwin will run, drawn before its first run")
}

/// Of one line of `journal.jsonl`, which has a checksum beside the reading's own fields.
pub fn journal_line() -> Value {
    let mut schema = titled::<Reading>("A line of journal.jsonl: one run of a study of Coretwin");
    schema["properties"]["checksum"] = json!({
        "description": "CRC-32 of everything before it in the line; older journals have none",
        "type": "string",
        "pattern": "^[0-9a-f]{8}$",
    });
    schema
}

fn titled<T: JsonSchema>(title: &str) -> Value {
    let mut schema = schema_for!(T).to_value();
    schema["title"] = title.into();
    schema
}
