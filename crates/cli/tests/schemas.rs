//! Plans, journals and study files that the program writes keep to the schemas in docs/reference, and
//! broken ones do not.

mod common;

use common::{coretwin, host, journal};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::path::Path;

fn schema(name: &str) -> Validator {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let text = std::fs::read_to_string(folder.join(name)).expect(name);
    let schema: Value = serde_json::from_str(&text).expect(name);
    jsonschema::validator_for(&schema).expect(name)
}

fn holds(schema: &Validator, record: &Value, what: &str) {
    let errors: Vec<String> = schema
        .iter_errors(record)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:?}");
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("json")
}

/// Studies of every kind that needs neither siblings nor root.
const STUDIES: [&[&str]; 5] = [
    &["--arm=a=cpus:0", "--arm=b=cpus:0", "--blocks=2", "--metric=n:s=([0-9]+)", "--", "echo", "7"],
    &["--variant=old=true {n}", "--variant=new=false {n}", "-L", "n", "1,2", "--aa", "--blocks=2"],
    &[
        "--arm=cpus:0",
        "--arm=b=cpus:0",
        "--until=verdict",
        "--quick",
        "--threads=1,2",
        "--",
        "sh",
        "-c",
        "sleep 0.0{threads}",
    ],
    &[
        "dbench:clients={threads}",
        "--machine=xeon-mp-2-socket",
        "--arm=off@linux-2.5.32",
        "--arm=on@linux-2.5.32",
        "--split=smt,threads",
        "--blocks=2",
    ],
    &[
        "chat:rooms=2,messages=20",
        "--machine=xeon-mp-foster",
        "--arm=off@linux-2.4.19",
        "--arm=on@linux-2.4.19",
        "--blocks=2",
    ],
];

#[test]
fn what_studies_write_keeps_to_its_schema_and_what_is_broken_does_not() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let (plans, lines) = (schema("plan.schema.json"), schema("journal-line.schema.json"));
    let mut last = (Value::Null, Value::Null);
    for (place, words) in STUDIES.iter().enumerate() {
        let name = format!("s{place}");
        let free: &[&str] = if words.iter().any(|word| word.starts_with("--machine")) {
            &[]
        } else {
            &["--others-limit=100%", "--steal-limit=100%"]
        };
        let ran = coretwin(folder.path(), &[&["study", "--out", &name], free, words].concat());
        assert!(ran.status < 2, "{words:?}: {}", ran.err);
        let plan = read(&folder.path().join(&name).join("plan.json"));
        holds(&plans, &plan, &format!("plan of {words:?}"));
        let readings = journal(&folder.path().join(&name));
        assert!(!readings.is_empty());
        for line in &readings {
            holds(&lines, line, &format!("journal of {words:?}"));
        }
        last = (plan, readings[0].clone());
    }
    let (plan, line) = last;
    for (pointer, value) in [
        ("/arms/0/cpus", json!("0-3")),
        ("/rules/looks", json!(8)),
        ("/rules/until", json!("width-and-verdict")),
        ("/rows/0/better", json!("more")),
        ("/seed", json!(-1)),
    ] {
        let mut broken = plan.clone();
        *broken.pointer_mut(pointer).expect(pointer) = value;
        assert!(!plans.is_valid(&broken), "{pointer}");
    }
    for (field, value) in [
        ("status", json!("fine")),
        ("block", json!("1")),
        ("value", json!("fast")),
        ("checksum", json!("1A2B")),
        ("params", json!({"rooms": 1.5})),
    ] {
        let mut broken = line.clone();
        broken[field] = value;
        assert!(!lines.is_valid(&broken), "{field}");
    }
    for record in [&plan, &line] {
        let mut short = record.clone();
        short.as_object_mut().expect("an object").remove("schema");
        assert!(!plans.is_valid(&short) && !lines.is_valid(&short));
    }
}

#[test]
fn a_written_study_file_keeps_to_its_schema_and_a_broken_one_does_not() {
    let folder = tempfile::tempdir().expect("folder");
    let files = schema("study-file.schema.json");
    for words in STUDIES {
        let ran = coretwin(folder.path(), &[&["study", "--write", "s.toml"], words].concat());
        assert_eq!(ran.status, 0, "{}", ran.err);
        let text = std::fs::read_to_string(folder.path().join("s.toml")).expect("a file");
        let table: toml::Table = text.parse().expect("toml");
        let mut file = serde_json::to_value(table).expect("json");
        holds(&files, &file, &text);
        file["blokcs"] = json!(4);
        assert!(!files.is_valid(&file), "{file}");
    }
}
