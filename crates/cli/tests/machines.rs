//! Simulated machines other than the article's, by the real program: a file of one's own, what is wrong
//! with one, and what the report says of machines that nobody measured.

mod common;

use common::{coretwin, journal};
use std::path::Path;

/// The file of a built-in machine under a name of one's own, with something changed in it.
fn mine(folder: &Path, from: &str, to: &str) {
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/machines/vm-1.toml");
    let text = std::fs::read_to_string(built_in).expect("vm-1.toml");
    let text = text.replacen("name = \"vm-1\"", "name = \"mine\"", 1);
    assert!(text.contains(from), "{from}");
    std::fs::write(folder.join("mine.toml"), text.replacen(from, to, 1)).expect("mine.toml");
}

const SMALL: [&str; 8] = [
    "study",
    "chat:rooms=1,messages=10",
    "--machine=./mine.toml",
    "--arm=on@fair",
    "--arm=on@core-queue",
    "--blocks=2",
    "--seed=3",
    "--out=a",
];

#[test]
fn a_machine_of_a_file_is_studied_and_goes_on_as_it_was() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    mine(folder, "cores = 1,", "cores = 3,");
    let ran = coretwin(folder, &[&SMALL[..], &["--full"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    // Lines are broken for the terminal.
    let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "PREDICTED: every figure is a prediction of models; nothing was measured.",
        "none of the article's figures stand beside",
        "Nothing was fitted",
        "What is simulated, and what the seed moves. chat: the whole load",
    ] {
        assert!(told.contains(part), "{part}\n{}", ran.out);
    }
    assert!(!told.contains("Article noht"), "{}", ran.out);
    let plan = std::fs::read_to_string(folder.join("a/plan.json")).expect("plan.json");
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("json");
    assert_eq!(plan["machine"], "mine");
    assert_eq!(plan["arms"][0]["threads"], 6);
    // The plan has the machine: its file is not needed any more.
    std::fs::remove_file(folder.join("mine.toml")).expect("removed");
    let kept = std::fs::read_to_string(folder.join("a/journal.jsonl")).expect("journal");
    let half: String = kept.lines().take(2).map(|line| line.to_owned() + "\n").collect();
    std::fs::write(folder.join("a/journal.jsonl"), half).expect("journal");
    let ran = coretwin(folder, &["study", "--resume=a"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let values = |text: &str| -> Vec<serde_json::Value> {
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("a reading"));
        lines.map(|line: serde_json::Value| line["value"].clone()).collect()
    };
    let again = std::fs::read_to_string(folder.join("a/journal.jsonl")).expect("journal");
    assert_eq!((values(&again), journal(&folder.join("a")).len()), (values(&kept), 4));
}

#[test]
fn a_file_that_describes_no_machine_is_refused_with_its_line() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    for (from, to, parts) in [
        ("[memory]", "[memori]", ["./mine.toml:", "did you mean 'memory'"]),
        ("wake_halted", "wake_haltet", ["./mine.toml:", "did you mean 'wake_halted'"]),
        ("preset = \"skylake-sp\"", "preset = \"skylake\"", ["./mine.toml:6", "skylake-sp"]),
        ("cores = 1,", "cores = 0,", ["./mine.toml:7", "processor.topology.cores"]),
        ("cores = 1,", "cores = 100000,", ["./mine.toml:7", "processor.topology.cores"]),
        ("caches = 1, cores = 1,", "caches = 1000, cores = 100,", ["./mine.toml:7", "4096"]),
        ("ns = 1000", "ns = -1", ["./mine.toml:", "-1"]),
    ] {
        mine(folder, from, to);
        let ran = coretwin(folder, &SMALL);
        assert_eq!(ran.status, 2, "{to}: {}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{to}: {part}: {}", ran.err);
        }
    }
    let ran = coretwin(folder, &["study", "chat:rooms=1", "--machine=./none.toml"]);
    assert!(ran.status == 2 && ran.err.contains("./none.toml"), "{}", ran.err);
    let ran = coretwin(folder, &["study", "chat:rooms=1", "--machine=mine"]);
    assert!(ran.status == 2 && ran.err.contains("./mine.toml"), "{}", ran.err);
    let rows = ["study", "lmbench/simple-read", "--machine=vm-1"];
    let ran = coretwin(folder, &rows);
    assert!(ran.status == 2 && ran.err.contains("fitted to published figures"), "{}", ran.err);
}
