//! What the documentation says is so: every command in it is run, or at least understood; the
//! reference is what the program would write; every field of a record is explained.

#[path = "docs/page.rs"]
mod page;

use coretwin_host::fake;
use page::{Typed, commands, missing};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CORETWIN: &str = env!("CARGO_BIN_EXE_coretwin");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Every page for people, the reference left out, in order of name.
fn pages() -> Vec<PathBuf> {
    let of = |folder: PathBuf| {
        let entries = fs::read_dir(&folder).expect("a folder of pages");
        let paths = entries.map(|entry| entry.expect("entry").path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "md")).collect::<Vec<_>>()
    };
    let folders = ["", "docs", "docs/method"].map(|folder| of(root().join(folder)));
    let mut pages = folders.concat();
    pages.sort();
    pages
}

/// Programs that are never run by the test, only their spelling is looked at by the shell.
const STANDING_IN: &[&str] = &[
    "apt-get",
    "cp",
    "dmesg",
    "docker",
    "dpkg",
    "grubby",
    "initdb",
    "install",
    "kubectl",
    "perf",
    "make",
    "pg_ctl",
    "pgbench",
    "podman",
    "qemu-system-x86_64",
    "reboot",
    "rm",
    "rustup",
    "sbatch",
    "srun",
    "systemctl",
    "tee",
    "update-grub",
    "virsh",
];

/// Writes a script.
fn script(path: &Path, text: &str) {
    fake::program(path, &format!("#!/bin/sh\n{text}\n")).expect("script");
}

/// A folder of programs for commands that are only checked: ours reads its options up to `--` and
/// ends at `--help`, cargo knows its chores, all others do nothing.
fn checkers(folder: &Path) -> PathBuf {
    let folder = folder.join("checked");
    fs::create_dir(&folder).expect("folder");
    script(
        &folder.join("coretwin"),
        &format!(
            "n=$#; help=--help\n\
             while [ $n -gt 0 ]; do\n\
               a=$1; shift; n=$((n - 1))\n\
               if [ \"$a\" = -- ]; then set -- \"$@\" $help; help=; fi\n\
               set -- \"$@\" \"$a\"\n\
             done\n\
             exec '{CORETWIN}' \"$@\" $help > /dev/null"
        ),
    );
    script(&folder.join("sudo"), "exec \"$@\"");
    let chores = fs::read_to_string(root().join("xtask/src/main.rs")).expect("chores");
    let chores: BTreeSet<&str> = chores
        .split("Some(\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"').map(|(name, _)| name))
        .collect();
    let chores = chores.into_iter().collect::<Vec<_>>().join("|");
    script(
        &folder.join("cargo"),
        &format!(
            "case \"$1\" in install|bench|build|test) exit 0;; xtask) ;; *) exit 2;; esac\n\
             case \"$2\" in {chores}) ;; *) echo \"no chore $2\"; exit 2;; esac"
        ),
    );
    for name in STANDING_IN {
        script(&folder.join(name), "exit 0");
    }
    script(&folder.join("git"), "/bin/mkdir -p coretwin");
    folder
}

/// Runs or checks a command; what is wrong, if anything is.
fn wrong(typed: &Typed, folder: &Path, checkers: &Path, cache: &Path) -> Option<String> {
    let programs = Path::new(CORETWIN).parent().expect("folder").display();
    let path = match typed.checked_only {
        Some(_) => checkers.display().to_string(),
        None => format!("{programs}:{}", std::env::var("PATH").unwrap_or_default()),
    };
    let run = || {
        let output = Command::new("/bin/sh")
            .args(["-c", &format!("exec 2>&1\n{}", typed.command)])
            .current_dir(folder)
            .env("PATH", &path)
            .env("HOME", folder)
            .env("XDG_CACHE_HOME", cache)
            .env_remove("XDG_STATE_HOME")
            .env_remove("NO_COLOR")
            .output()
            .expect("a shell");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, output) = loop {
        let ran = run();
        // Somebody else's study.
        if !ran.1.contains("measures on this host") {
            break ran;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    let expected = if typed.checked_only.is_some() { 0 } else { typed.status };
    // What a study says beside so many others, as other tests are: it ran as written.
    if status == Some(5) && expected == 0 && output.contains("\nTOO BUSY to say") {
        return None;
    }
    if status != Some(expected) {
        return Some(format!("ended with {status:?}, not {expected}:\n{}", end_of(&output)));
    }
    if typed.checked_only.is_some() {
        return None;
    }
    missing(&typed.shown, &output)
        .map(|line| format!("does not show '{line}':\n{}", end_of(&output)))
}

/// The last lines of an output.
fn end_of(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// What is typed as `./name` is there: a script that does nothing.
fn stand_in(typed: &Typed, folder: &Path) {
    let words = typed.command.split(|c: char| c.is_whitespace() || "'\"".contains(c));
    for name in words.filter_map(|word| word.strip_prefix("./")) {
        let path = folder.join(name);
        if !name.contains(['/', '.']) && !path.exists() {
            script(&path, "exit 0");
        }
    }
}

#[test]
fn every_command_of_the_documentation_works_as_written() {
    let (mut run, mut checked, mut findings) = (0, 0, Vec::new());
    // Runs of the simulated core are kept from page to page.
    let cache = tempfile::tempdir().expect("folder");
    for page in pages() {
        let name = page.strip_prefix(root()).expect("inside").display().to_string();
        let folder = tempfile::tempdir().expect("folder");
        let checkers = checkers(folder.path());
        // Some commands are typed in the clone.
        std::os::unix::fs::symlink(root().join("crates"), folder.path().join("crates"))
            .expect("link");
        for typed in commands(&fs::read_to_string(&page).expect("page")) {
            stand_in(&typed, folder.path());
            match typed.checked_only {
                Some(_) => checked += 1,
                None => run += 1,
            }
            if let Some(why) = wrong(&typed, folder.path(), &checkers, cache.path()) {
                findings.push(format!("{name}:{}: {} {why}", typed.line, typed.command));
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert!(run > 0 && checked > 0, "{run} commands run, {checked} checked");
}

#[test]
fn the_reference_is_what_the_program_writes() {
    let folder = tempfile::tempdir().expect("folder");
    let status = Command::new(CORETWIN)
        .args(["generate", "reference"])
        .arg(folder.path())
        .env("COLUMNS", "40")
        .status();
    assert!(status.expect("starts").success());
    for entry in fs::read_dir(folder.path()).expect("pages") {
        let path = entry.expect("entry").path();
        let name = path.file_name().expect("name");
        let kept = fs::read_to_string(root().join("docs/reference").join(name)).unwrap_or_default();
        let written = fs::read_to_string(&path).expect("page");
        assert!(kept == written, "docs/reference/{} is old; run cargo xtask docs", name.display());
    }
}

/// The anchors of a page's headings.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(page).expect("page");
    let prose = text.split("```").step_by(2).flat_map(str::lines);
    let headings = prose.filter(|line| line.starts_with("# ") || line.starts_with("##"));
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    let letter = |c: char| if c == ' ' { '-' } else { c.to_ascii_lowercase() };
    headings
        .map(|line| line.trim_start_matches('#').trim().chars().filter(kept).map(letter).collect())
        .collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let reference = fs::read_dir(root().join("docs/reference")).expect("a folder of pages");
    let reference = reference.map(|entry| entry.expect("entry").path());
    let reference = reference.filter(|path| path.extension().is_some_and(|end| end == "md"));
    for page in pages().into_iter().chain(reference) {
        let text = fs::read_to_string(&page).expect("page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") {
                continue;
            }
            let target = match file {
                "" => page.clone(),
                file => page.parent().expect("folder").join(file),
            };
            assert!(target.exists(), "{}: no {link}", page.display());
            let is_there = anchor.is_empty() || anchors(&target).contains(anchor);
            assert!(is_there, "{}: no heading for {link}", page.display());
        }
    }
}

/// The fields of a record in a page of the reference, by its heading.
fn explained(page: &str, heading: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("docs/reference").join(page)).expect("a page");
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect(heading);
    let section = section.split("\n#").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
}

#[test]
fn every_field_of_a_record_is_in_its_table() {
    let folder = tempfile::tempdir().expect("folder");
    let run = |words: &str| {
        let ran = Command::new(CORETWIN)
            .args(words.split_whitespace())
            .current_dir(folder.path())
            .env("XDG_STATE_HOME", folder.path())
            .output()
            .expect("starts");
        assert!(ran.status.success(), "{words}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("text")
    };
    run("study chat:rooms=20 --machine vm-1 --blocks 1 --out s");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("record");
    let lines = |name: &str| read(name).lines().next().expect("a line").to_owned();
    for (page, heading, text) in [
        ("format-study.md", "`plan.json`", read("s/plan.json")),
        (
            "format-study.md",
            "A line of `journal.jsonl`, and `run --json`",
            lines("s/journal.jsonl"),
        ),
        ("format-study.md", "`environment.json`", read("s/environment.json")),
        ("format-study.md", "`summary.json`", read("s/summary.json")),
        ("format-study.md", "`compare --format json`", run("compare s s --format json")),
        ("format-machine.md", "`topology --json`", run("topology --json")),
        ("format-machine.md", "`smt status --json`", run("smt status --json")),
        ("format-machine.md", "`sched status --json`", run("sched status --json")),
        ("format-machine.md", "`list --json`", run("list --json")),
    ] {
        let record: serde_json::Value = serde_json::from_str(&text).expect("json");
        let fields = explained(page, heading);
        for field in record.as_object().expect("an object").keys() {
            // Of a journal's line the words above its table tell.
            let told = field == "checksum" || fields.contains(field);
            assert!(told, "{heading}: {page} says nothing of '{field}'");
        }
    }
}

#[test]
fn what_is_left_in_a_home_goes_as_the_page_says() {
    let home = tempfile::tempdir().expect("folder");
    let run = |line: &str| {
        let ran = Command::new("/bin/sh")
            .args(["-c", line])
            .current_dir(home.path())
            .env("HOME", home.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CACHE_HOME")
            .output()
            .expect("a shell");
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    let left = || -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![home.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("entry").path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found
    };
    run(&format!(
        "'{CORETWIN}' simulate core --preset zen4 --thread gzip --thread perl-loop --matrix"
    ));
    assert!(!left().is_empty(), "nothing was kept, so that nothing is tried");
    let page = fs::read_to_string(root().join("docs/installing.md")).expect("the page");
    let (_, page) = page.split_once("## Removing every trace").expect("its section");
    page.lines().filter(|line| line.starts_with("rm ")).for_each(run);
    assert_eq!(left(), Vec::<PathBuf>::new());
}

#[cfg(feature = "fleet")]
#[test]
fn the_readme_counts_the_machines_that_are_there() {
    let table = Command::new(CORETWIN)
        .args(["generate", "machines"])
        .arg(root().join("data/machines"))
        .output()
        .expect("starts");
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let table = String::from_utf8_lossy(&table.stdout);
    let written = format!("<!-- machines -->\n{table}<!-- /machines -->");
    assert!(readme.contains(&written), "old; run cargo xtask docs:\n{table}");
}

#[test]
fn every_shell_gets_completions_and_every_verb_a_man_page() {
    let folder = tempfile::tempdir().expect("folder");
    for (shell, check) in [("bash", "bash"), ("zsh", "zsh"), ("fish", "fish")] {
        let ran = Command::new(CORETWIN).args(["generate", "completions", shell]).output();
        let script = ran.expect("starts").stdout;
        let text = String::from_utf8_lossy(&script);
        assert!(text.contains("study") && text.contains("dry-run"), "{shell}");
        let path = folder.path().join(shell);
        fs::write(&path, &script).expect("script");
        // Where the shell is there, it reads its script.
        if let Ok(read) = Command::new(check).arg("-n").arg(&path).output() {
            assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        }
    }
    let man = folder.path().join("man");
    let ran = Command::new(CORETWIN).args(["generate", "man"]).arg(&man).status();
    assert!(ran.expect("starts").success());
    for (page, part) in [
        ("coretwin.1", "coretwin\\-study"),
        ("coretwin-study.1", "one\\-per\\-core"),
        ("coretwin-simulate-core.1", "preset"),
    ] {
        let text = fs::read_to_string(man.join(page)).expect(page);
        assert!(text.contains(".TH") && text.contains(part), "{page}");
    }
}
