//! Datasets: DuckDB and pandas find our figures in them, with the right types; a folder that is not ours
//! is left alone.

#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use crate::common::{CORETWIN, coretwin};
use crate::study;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Names of everything in a folder, below it.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("folder") {
            let path = entry.expect("entry").path();
            let name = path.strip_prefix(folder).expect("below").display().to_string();
            if path.is_dir() { open.push(path) } else { found.push(name) }
        }
    }
    found.sort();
    found
}

#[test]
fn a_dataset_appears_whole_and_nothing_else_is_touched() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    study(folder, "s");
    let export = |out: &str| coretwin(folder, &["report", "s", "--format=parquet", "--out", out]);
    let ran = coretwin(folder, &["report", "s", "--format=parquet"]);
    assert!(ran.status == 2 && ran.err.contains("--out DIR"), "{ran:?}");
    let ran = export("t");
    assert!(ran.status == 0 && ran.err.contains("readings: 16 rows in 1 files"), "{ran:?}");
    // Suites are under the workload `all`.
    let files = ["effects:all", "effects:chat", "metrics:chat", "readings:chat"].map(|part| {
        let (table, workload) = part.split_once(':').expect("two words");
        format!("{table}/machine=xeon-mp-foster/workload={workload}/part-0.parquet")
    });
    assert_eq!(tree(&folder.join("t")), [&["dataset.json".to_owned()][..], &files[..]].concat());

    // Again, into the same folder: replaced, with nothing left of what was there.
    let before = fs::read(folder.join("t").join(&files[0])).expect("file");
    assert_eq!(export("t").status, 0);
    assert_eq!(fs::read(folder.join("t").join(&files[0])).expect("file"), before, "equal bytes");
    assert_eq!(tree(&folder.join("t")).len(), 5);

    // Somebody else's file beside it, and one that only has the name of ours: nothing is touched.
    for (folder_of, file) in
        [("t", "t/stray"), ("t", "t/effects/stray"), ("own", "own/dataset.json")]
    {
        fs::create_dir_all(folder.join(folder_of)).expect("folder");
        fs::write(folder.join(file), "x").expect("file");
        let ran = export(folder_of);
        assert!(ran.status == 2 && ran.err.contains("holds no dataset of ours"), "{file}: {ran:?}");
        assert_eq!(fs::read(folder.join(file)).expect(file), b"x");
        fs::remove_file(folder.join(file)).expect(file);
    }
    // Somebody else's folder, a file, a folder that cannot be made.
    fs::create_dir(folder.join("mine")).expect("folder");
    fs::write(folder.join("mine/precious"), "x").expect("file");
    let ran = export("mine");
    assert!(ran.status == 2 && ran.err.contains("holds no dataset of ours"), "{ran:?}");
    assert_eq!(tree(&folder.join("mine")), ["precious"]);
    let ran = export("mine/precious");
    assert!(ran.status == 3 && ran.err.contains("mine/precious"), "{ran:?}");
    let ran = export("mine/precious/below");
    assert!(ran.status == 3 && ran.err.contains("mine/precious"), "{ran:?}");
    fs::create_dir(folder.join("empty")).expect("folder");
    assert_eq!(export("empty").status, 0);
    let hidden = fs::read_dir(folder).expect("folder").flatten();
    let hidden = hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0, "nothing is left beside");
}

/// Needs `target/python`, which `cargo xtask python` makes.
#[test]
fn duckdb_and_pandas_find_our_figures() {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("python/bin/python");
    if !python.exists() {
        println!("skipped: there is no {}; cargo xtask python makes it", python.display());
        return;
    }
    let scratch = tempfile::tempdir().expect("folder");
    let programs = Path::new(CORETWIN).parent().expect("folder").display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let page = root().join("docs/export.md");
    let text = fs::read_to_string(&page).expect("page");
    let (_, rest) = text.split_once("```sh\n").expect("commands");
    let (block, _) = rest.split_once("```").expect("their end");
    let mut commands: Vec<String> = block.lines().map(str::to_owned).collect();
    assert!(commands.len() > 5, "{commands:?}");
    commands.push("coretwin fleet report mine --format json --out fleet.json".to_owned());
    commands.push("coretwin report one --format json --out one.json".to_owned());
    for command in commands {
        let ran = Command::new("/bin/sh")
            .args(["-c", &command])
            .current_dir(scratch.path())
            .env("PATH", &path)
            .output()
            .expect("a shell");
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    let ran = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/read.py"))
        .arg(&page)
        .current_dir(scratch.path())
        .output()
        .expect("starts");
    let [out, err] =
        [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(ran.status.success(), "{out}\n{err}");
    println!("\n{}", out.lines().last().unwrap_or_default());
}
