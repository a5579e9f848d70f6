//! What every verb answers on terminals of 60, 80, 120 and 200 columns: at most seven lines, none wider
//! than the terminal. `UPDATE_EXPECT=1 cargo test` writes the screens anew.

mod common;
#[path = "../../report/tests/support/mod.rs"]
mod support;
#[path = "common/terminal.rs"]
mod terminal;

use common::{CORETWIN, coretwin, host};
use coretwin_base::account::AccountSummary;
use coretwin_base::account::cputime::Place;
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::account::probe::Probe;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_report::{Brief, Cputime, LINES_MAX};
use coretwin_store::{Bundle, ENVIRONMENT, SUMMARY};
use expect_test::expect_file;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::Records;
use terminal::Session;

const WIDTHS: [u16; 4] = [60, 80, 120, 200];

/// Every verb that answers from records, with what is typed; each has a file of its screens. The
/// folders are those of [`stored`].
const VERBS: [(&str, &str); 15] = [
    ("report-smt", "report chat"),
    ("report-stand-in", "report stand-in"),
    ("report-no-siblings", "report no-siblings"),
    ("report-command", "report command"),
    ("report-many", "report many"),
    ("report-interim", "report interim"),
    ("report-empty", "report empty"),
    ("report-2003", "report chat-2003"),
    ("report-predicted", "report simulated"),
    ("report-article", "report article"),
    ("compare", "compare chat slower"),
    ("compare-several", "compare chat slower chat-2003"),
    ("compare-predicted", "compare simulated again"),
    ("audit", "audit"),
    ("audit-table", "audit table.csv"),
];

/// Verbs that print pages, and a study as it is made. Their lines fit; how many there are is free.
const PAGES: [(&str, &str); 6] = [
    ("topology", "topology --root machine"),
    ("list", "list machines"),
    ("list-row", "list chat"),
    (
        "simulate-core",
        "simulate core --preset zen4 --thread sieve --thread spin-pause --uops 20000",
    ),
    (
        "simulate-sched",
        "simulate sched --scenario two-on-siblings --policy fair --policy linux-2.5.32 --slowdown 1.5",
    ),
    (
        "study",
        "study chat:rooms=2,messages=20 --machine vm-1 --arm off@fair --arm on@fair --seed 1 --out new",
    ),
];

/// Pages whose words depend on the machine and the build.
const PAGES_HERE: [&str; 4] =
    ["sched doctor --root machine", "smt status", "sched status", "fleet status nothing-here"];

/// Verbs that measure: their answers, from records as they would be made.
fn measured() -> Vec<(&'static str, Brief)> {
    let environment = Environment::default();
    let cputime = |summary: &CputimeSummary| {
        coretwin_report::cputime_brief(&Cputime { summary, environment: &environment })
    };
    let siblings: CputimeSummary = record(CPUTIME);
    let mut apart = siblings.clone();
    // CPUs of which nobody knows whether they share a core: a pair, and no factors.
    apart.factors = None;
    apart.conditions.iter_mut().for_each(|condition| condition.placement = Place::Pair);
    let account: AccountSummary = record(ACCOUNT);
    let mut alone = account.clone();
    alone.siblings.cores.clear();
    let probe: Probe = record(PROBE);
    let mut failed = support::chat().readings[0].clone();
    failed.value = None;
    failed.status = coretwin_base::study::reading::Status::Failed;
    failed.cause = Some("connect: Cannot assign requested address".into());
    vec![
        // No such study is read from a folder: its labels are refused.
        ("hostile", coretwin_report::study_brief(&support::hostile().study())),
        ("cputime", cputime(&siblings)),
        ("cputime-no-siblings", cputime(&apart)),
        ("account", coretwin_report::account_brief(&account)),
        ("account-no-siblings", coretwin_report::account_brief(&alone)),
        ("probe", coretwin_report::probe::brief(&probe)),
        ("run", coretwin_report::run_brief(&support::chat().readings[0])),
        ("run-failed", coretwin_report::run_brief(&failed)),
    ]
}

fn record<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).expect("a record")
}

const CPUTIME: &str = r#"{"schema":1,"work":"gzip -9","spinner":"native","cpus":{"work":0,"neighbour":4,
    "relation":"siblings"},"control":1,"topology_trust":"reported","meaning":[],"conditions":[{"name":"siblings-1",
    "placement":"siblings","spinners":1,"work_cpus":[0],"spinner_cpus":[4],"real_s":1.5,"user_s":1.4,"system_s":0.1,
    "slowdown":1.49,"low":1.47,"high":1.51,"cpu_slowdown":{"value":1.48,"low":1.46,"high":1.5},
    "spinner_slowdown":null,"stp":null,"antt":null,"blocks":8,"failed":0,"failure":null}],"spinners_alone":[],
    "factors":{"slowdown":{"value":1.49,"low":1.47,"high":1.51},"neighbour_slowdown":null,
    "core_yield":{"value":1.34,"low":1.32,"high":1.36}},"blocks":8,"blocks_set_aside":1,"seed":1,
    "stopped_because":"blocks","too_busy":null,"warnings":[{"kind":"steal","text":
    "the hypervisor took 1.2 % of the CPU time","remedy":"ask for CPUs of your own"}]}"#;

const ACCOUNT: &str = r#"{"schema":1,"target":"make -j8","elapsed_s":3.2,"raw_s":12.34,"alone_s":4.81,
    "shared_s":7.53,"shared_low_s":7.4,"shared_high_s":7.7,"capacity_s":{"value":9.6,"low":9.4,"high":9.8},
    "alone_equivalent_s":{"value":9.82,"low":9.6,"high":10.1},"yield":{"value":1.3,"low":1.2,"high":1.4,"by_busy":[],
    "origin":{"kind":"default"}},"slowdown":{"value":1.5,"low":1.4,"high":1.6,"by_busy":[],"origin":{"kind":"default"}},
    "method":"sampled","method_why":"","coverage":0.95,"siblings":{"origin":"kernel","cores":[[0,4],[1,5]]},
    "cores":[],"tasks":[],"processes":[],"cgroups":[],"unattributed_s":0.0,"unseen":{"busy_s":0.0,"lost":0,
    "notes":[]},"command":{"exit_status":0,"signal":null},"interrupted":false,"warnings":[]}"#;

const PROBE: &str = r#"{"schema":1,"cpus":[0,1,2,3],"pairs":[],"groups":[[0,2],[1,3]],"alone":[],"undecided":[],
    "shared":[],"confidence":0.99,"reported":[],"agrees_with_reported":null,"foreign":[],"rounds":120,
    "rounds_disturbed":4,"elapsed_s":9.0,"budget_s":60.0,"out_of_time":false,"exclusive":false,
    "valid_from_utc":"2026-11-20T09:00:00Z","valid_until_utc":"2026-11-20T09:00:09Z","boot_id":"","seed":1}"#;

/// Writes studies as folders, and a table to audit.
fn stored(folder: &Path) {
    let mut studies = support::all();
    let mut slower = support::chat();
    for reading in slower.readings.iter_mut().filter(|reading| reading.arm == "on") {
        reading.value = reading.value.map(|value| value * 0.9);
    }
    slower.plan.seed += 1;
    let mut again = support::simulated::simulated();
    again.plan.seed += 1;
    studies.push(("again", again));
    studies.push(("slower", slower.analysed(StoppedBecause::Target)));
    studies.retain(|(name, _)| *name != "hostile");
    for (name, Records { mut plan, readings, environment, summary }) in studies {
        if plan.orders.is_empty() {
            let blocks = plan.rules.looks.last().copied().unwrap_or(8);
            plan.orders = vec![(0..plan.arms.len() as u16).collect(); blocks as usize];
        }
        let bundle = Bundle::create(&folder.join(name), &plan, None).expect(name);
        let (mut journal, _) = bundle.journal(&plan).expect(name);
        for (seq, reading) in (0..).zip(readings) {
            let reading = coretwin_base::study::reading::Reading { seq, ..reading };
            journal.append(&reading).expect(name);
        }
        journal.sync().expect(name);
        bundle.write_json(ENVIRONMENT, &environment).expect(name);
        bundle.write_json(SUMMARY, &summary).expect(name);
    }
    let table = "rooms,rate_off,rate_on,gain_pct\n20,100,125,25\n30,100,120,2\n";
    fs::write(folder.join("table.csv"), table).expect("table");
}

/// The screen after a command line, and whether it has colours.
fn screen(
    folder: &Path,
    typed: &str,
    columns: u16,
    environment: &[(&str, &str)],
) -> (String, bool) {
    let line = format!("cd '{}' && exec '{CORETWIN}' {typed}", folder.display());
    let args = ["-c".to_owned(), line];
    let mut session = Session::start("/bin/sh", &args, 100, columns, environment);
    session.end();
    let rows = session.until("its screen", |_| true);
    let rows: Vec<&str> = rows.lines().map(str::trim_end).collect();
    (rows.join("\n").trim_end().to_owned() + "\n", session.has_colours())
}

fn check(name: &str, columns: u16, text: &str) {
    assert!(text.lines().count() <= LINES_MAX, "{name} at {columns}:\n{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= usize::from(columns), "{name} at {columns}: {line}");
    }
}

#[test]
fn no_answer_has_more_than_seven_lines_at_any_width() {
    let folder = tempfile::tempdir().expect("folder");
    stored(folder.path());
    let environment = [("TERM", "xterm"), ("NO_COLOR", "1")];
    for (name, typed) in VERBS {
        let mut golden = String::new();
        for columns in WIDTHS {
            let (text, _) = screen(folder.path(), typed, columns, &environment);
            check(name, columns, &text);
            write!(golden, "== {columns} columns: coretwin {typed}\n{text}").expect("text");
        }
        expect_file![format!("{}/tests/screens/{name}.txt", env!("CARGO_MANIFEST_DIR"))]
            .assert_eq(&golden);
    }
    // README's first answer is one of these.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let answer =
        fs::read_to_string(root.join("tests/screens/report-stand-in.txt")).expect("screens");
    let answer = answer.split("== ").nth(2).expect("80 columns").split_once('\n').expect("lines").1;
    let readme = fs::read_to_string(root.join("../../README.md")).expect("README.md");
    assert!(readme.contains(&answer.replace("report stand-in", "report chat-study")), "{answer}");
    for (name, brief) in measured() {
        let mut golden = String::new();
        for columns in WIDTHS {
            let text = brief.render(columns.into(), false);
            check(name, columns, &text);
            write!(golden, "== {columns} columns: {name}\n{text}").expect("text");
        }
        expect_file![format!("{}/tests/screens/{name}.txt", env!("CARGO_MANIFEST_DIR"))]
            .assert_eq(&golden);
    }
}

#[test]
fn pages_fit_the_terminal_at_any_width() {
    let environment = [("TERM", "xterm"), ("NO_COLOR", "1")];
    let page = |typed: &str, columns: u16| {
        let folder = tempfile::tempdir().expect("folder");
        let machine = coretwin_host::fake::machine("article-xeon").expect("machine");
        fs::create_dir(folder.path().join("machine")).expect("folder");
        machine.write(&folder.path().join("machine")).expect("written");
        let (text, _) = screen(folder.path(), typed, columns, &environment);
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= usize::from(columns), "{typed} at {columns}: {line}");
        }
        format!("== {columns} columns: coretwin {typed}\n{text}")
    };
    for (name, typed) in PAGES {
        let golden = WIDTHS.map(|columns| page(typed, columns)).concat();
        expect_file![format!("{}/tests/screens/{name}.txt", env!("CARGO_MANIFEST_DIR"))]
            .assert_eq(&golden);
    }
    for (typed, columns) in PAGES_HERE.iter().flat_map(|typed| WIDTHS.map(|c| (typed, c))) {
        page(typed, columns);
    }
}

#[test]
fn answers_have_at_most_twenty_words() {
    let folder = tempfile::tempdir().expect("folder");
    stored(folder.path());
    let words = |answer: &str| answer.split_whitespace().count();
    for (_, brief) in measured().iter().filter(|(name, _)| *name != "hostile") {
        assert!(words(&brief.answer) <= coretwin_stats::study::WORDS_MAX, "{}", brief.answer);
    }
    for (name, typed) in VERBS {
        let ran = coretwin(folder.path(), &typed.split(' ').collect::<Vec<_>>());
        let labels = ["interval", "because", "ended", "misprints", "others"];
        let is_answer = |line: &&str| !labels.iter().any(|label| line.starts_with(label));
        let answer: Vec<&str> = ran.out.lines().take_while(is_answer).collect();
        assert!(words(&answer.join(" ")) <= coretwin_stats::study::WORDS_MAX, "{name}: {answer:?}");
    }
}

#[test]
fn what_measures_here_answers_in_seven_lines_too() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let environment = [("TERM", "xterm"), ("NO_COLOR", "1")];
    for typed in ["account -- true", "run -- true", "study"] {
        let (text, _) = screen(folder.path(), typed, 80, &environment);
        assert!(text.lines().count() <= LINES_MAX, "{typed}:\n{text}");
    }
    let ran = coretwin(folder.path(), &["study"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.out.contains("coretwin study chat --quick"), "{}", ran.out);
    assert!(fs::read_dir(folder.path()).expect("folder").next().is_none(), "nothing is begun");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let folder = tempfile::tempdir().expect("folder");
    stored(folder.path());
    for (environment, wanted) in [
        ([("TERM", "xterm"), ("NO_COLOR", "")], true),
        ([("TERM", "xterm"), ("NO_COLOR", "1")], false),
        ([("TERM", "dumb"), ("NO_COLOR", "")], false),
    ] {
        let (text, has_colours) = screen(folder.path(), "report chat", 80, &environment);
        assert_eq!(has_colours, wanted, "{environment:?}: {text}");
    }
    let piped = coretwin(folder.path(), &["report", "chat"]);
    assert!(!piped.out.contains('\x1b') && piped.out.starts_with("HELPS"), "{}", piped.out);
}

#[test]
fn the_full_form_is_the_text_form() {
    let folder = tempfile::tempdir().expect("folder");
    stored(folder.path());
    for name in ["chat", "simulated"] {
        let [full, text] =
            [vec!["report", name, "--full"], vec!["report", name, "--format", "text"]]
                .map(|args| coretwin(folder.path(), &args).out);
        assert_eq!(full, text);
        assert!(full.lines().count() > 50 && full.contains("HOW TO REPRODUCE"), "{full}");
    }
}

/// Verbs, and verbs of verbs, as `--help` lists them.
fn verbs(of: &[String]) -> Vec<Vec<String>> {
    let help = help(of, 100);
    let listed =
        help.split("Commands:\n").nth(1).map_or("", |rest| rest.split("\n\n").next().unwrap_or(""));
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = listed.lines().filter(is_name).filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    let below: Vec<Vec<String>> = names.map(|name| [of, &[name.to_owned()]].concat()).collect();
    below.into_iter().flat_map(|verb| [vec![verb.clone()], verbs(&verb)].concat()).collect()
}

fn help(verb: &[String], columns: u16) -> String {
    let output = Command::new(CORETWIN)
        .args(verb)
        .arg("--help")
        .env("COLUMNS", columns.to_string())
        .output()
        .expect("help");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A paragraph that was wrapped by hand and again by the terminal has stumps between its lines.
#[test]
fn help_is_wrapped_once() {
    let all = verbs(&[]);
    assert!(all.len() > 20, "{all:?}");
    for (verb, columns) in all.iter().flat_map(|verb| [60, 80, 120].map(|columns| (verb, columns)))
    {
        let help = help(verb, columns);
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let is_text = |line: &str| line.starts_with(|c: char| c.is_alphabetic());
            let first = pair[1].split_whitespace().next().unwrap_or_default();
            let room = usize::from(columns.min(100)).saturating_sub(pair[0].chars().count() + 1);
            let is_stump = is_text(pair[0]) && is_text(pair[1]) && !pair[0].ends_with(':');
            assert!(
                !is_stump || room < first.chars().count() + 1,
                "{verb:?} at {columns}:\n{}\n{}",
                pair[0],
                pair[1]
            );
        }
    }
}
