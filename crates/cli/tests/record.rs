//! `coretwin account --record` and `--replay` on this machine, whatever it is and however busy.

mod common;

use common::{CORETWIN, coretwin};
use coretwin_base::account::recording::{RecordedGroup, RecordingBlock, RecordingHead, Waiting};
use coretwin_base::account::replay::{FleetReplay, Replay};
use coretwin_base::account::{MethodName, Siblings, SiblingsOrigin, Span};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::origin::Origin;
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;
use coretwin_store::recording::{Recording, read};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const SHORT: [&str; 6] = ["account", "--record", "a.rec", "--every", "200ms", "--method"];

fn recorded(folder: &Path, method: &str, more: &[&str]) {
    let ran = coretwin(folder, &[&SHORT[..], &[method, "--for", "1100ms"], more].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("a block every 0.2 s"), "{}", ran.err);
    assert!(ran.out.contains("account --replay a.rec --smt off"), "{}", ran.out);
}

/// CPUs 0 and 1 as if they shared a core, where there are two.
fn siblings() -> &'static [&'static str] {
    match std::thread::available_parallelism().map_or(1, usize::from) {
        1 => &[],
        _ => &["--siblings", "0+1"],
    }
}

#[test]
fn a_recording_adds_up_and_is_taken_up_again() {
    let folder = tempfile::tempdir().expect("folder");
    for round in 1..=2 {
        recorded(folder.path(), "sampled", siblings());
        let recorded = read(&folder.path().join("a.rec")).expect("reads");
        assert_eq!((recorded.sessions.len(), recorded.torn_bytes), (round, 0));
        for session in &recorded.sessions {
            assert!((3..=7).contains(&session.blocks.len()), "{}", session.blocks.len());
            for block in &session.blocks {
                let cores = session.head.siblings.cores.len() as f64 * block.elapsed_s;
                let busy: f64 = block.busy.iter().map(|span| span.value).sum();
                assert!((busy / cores - 1.0).abs() < 0.01, "{block:?}");
                let by_core: u32 = block.cores.iter().flatten().sum();
                let from_1: f64 = block.busy.iter().skip(1).map(|span| span.value).sum();
                // Times by core are whole milliseconds, of which a last block may have few.
                let rounding = 0.0005 * block.cores.iter().flatten().count() as f64;
                let apart = (f64::from(by_core) / 1e3 - from_1).abs();
                assert!(apart < 0.01 * cores + rounding, "{block:?}");
            }
        }
    }
}

/// Exact where programs in the kernel are allowed: what ran in groups and what ran on cores is the same time.
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn by_ebpf_cores_and_groups_agree_to_a_hundredth() {
    let folder = tempfile::tempdir().expect("folder");
    let args = [&SHORT[..], &["ebpf", "--for", "2100ms"], siblings()].concat();
    let ran = coretwin(folder.path(), &args);
    if ran.status != 0 {
        eprintln!("not checked: {}", ran.err);
        return;
    }
    let recorded = read(&folder.path().join("a.rec")).expect("reads");
    let blocks = recorded.sessions.iter().flat_map(|session| &session.blocks);
    let (mut on_cores, mut in_groups, mut cpus) = (0.0, 0.0, 0.0);
    for block in blocks {
        on_cores += (1..).zip(&block.busy[1..]).map(|(k, it)| f64::from(k) * it.value).sum::<f64>();
        let groups: u64 = block.groups.iter().map(|group| group.1 + group.2).sum();
        in_groups += (groups + block.unseen) as f64 / 1e3;
        cpus += block.elapsed_s * block.cores.iter().map(Vec::len).sum::<usize>() as f64;
    }
    assert!((on_cores - in_groups).abs() < 0.01 * cpus + 0.02, "{on_cores} {in_groups} of {cpus}");
}

#[test]
fn killed_fifty_times_it_reads_to_the_last_block() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("a.rec");
    let mut draws = Stream::new(31, "kills", 0);
    let mut before = Vec::new();
    for round in 0..50 {
        let mut recorder = Command::new(CORETWIN)
            .args(["account", "--record", "a.rec", "--every", "10ms", "--method", "sampled"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        std::thread::sleep(Duration::from_millis(draws.below(400)));
        recorder.kill().expect("killed");
        recorder.wait().expect("ends");
        let bytes = fs::read(&path).unwrap_or_default();
        if bytes.is_empty() {
            continue; // Killed before there was a file.
        }
        let recorded = read(&path).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let whole: usize = recorded.sessions.iter().map(|session| 1 + session.blocks.len()).sum();
        assert_eq!(whole, bytes.iter().filter(|byte| **byte == b'\n').count(), "round {round}");
        assert!(bytes.starts_with(&before), "round {round}: what was written stays");
        before = bytes[..bytes.len() - recorded.torn_bytes as usize].to_vec();
    }
    let blocks: usize =
        read(&path).expect("reads").sessions.iter().map(|session| session.blocks.len()).sum();
    assert!(blocks > 50, "{blocks} blocks in 50 rounds");
}

#[test]
fn a_replay_answers_in_seven_lines_in_json_and_as_a_figure() {
    let folder = tempfile::tempdir().expect("folder");
    recorded(folder.path(), "sampled", siblings());
    let replay = |more: &[&str]| {
        let args = [&["account", "--replay", "a.rec", "--yield", "1.1..1.4"], more].concat();
        let ran = coretwin(folder.path(), &args);
        assert_eq!(ran.status, 0, "{more:?}: {}", ran.err);
        ran.out
    };
    for state in ["off", "on", "core-sched"] {
        let brief = replay(&["--smt", state]);
        assert!(brief.lines().count() <= 7 && brief.contains(" fit"), "{brief}");
        // The model and the trivial rule stand beside the bounds.
        for part in ["1.25 (1.10 to 1.40)", "work waits", "model ", "'a busy CPU is a busy core'"] {
            assert!(brief.contains(part), "{part}: {brief}");
        }
        let full = replay(&["--smt", state, "--full"]);
        assert!(full.contains("HOURS (UTC)") && full.contains("GROUPS"), "{full}");
        let record: Replay =
            serde_json::from_str(&replay(&["--smt", state, "--json"])).expect("record");
        assert_eq!(record.smt.name(), state);
        assert!(record.fits_high_h <= record.hours && record.minutes.len() >= 3);
        for minute in &record.minutes {
            assert!(minute.demand_high.is_none_or(|high| high >= minute.demand_low), "{minute:?}");
            assert!(
                minute.model_low <= minute.model_high && minute.capacity <= minute.capacity_high
            );
        }
    }
    replay(&["--smt", "off", "--svg", "day.svg"]);
    let figure = fs::read_to_string(folder.path().join("day.svg")).expect("figure");
    assert!(figure.starts_with("<svg") && figure.contains("class=\"capacity\""), "{figure}");
}

/// A minute of four cores of two siblings; a group has the name.
fn minute(from: i64, name: &str) -> RecordingBlock {
    RecordingBlock {
        from,
        elapsed_s: 60.0,
        busy: [4.0, 16.0, 220.0].map(Span::exact).to_vec(),
        cores: vec![vec![4000, 55_000]; 4],
        names: [(1, name.to_owned())].into(),
        groups: vec![RecordedGroup(1, 16_000, 440_000, None)],
        unseen: 0,
        waiting: Waiting { low_s: 30.0, high_s: Some(30.0) },
    }
}

#[test]
fn a_recording_made_by_hand_gives_the_licences_of_it_and_prints_no_name_raw() {
    let folder = tempfile::tempdir().expect("folder");
    let (mut file, _) = Recording::open(&folder.path().join("a.rec")).expect("open");
    let set = |core: usize| CpuSet::parse(&format!("{}-{}", 2 * core, 2 * core + 1)).expect("set");
    let siblings = Siblings { origin: SiblingsOrigin::Kernel, cores: (0..4).map(set).collect() };
    let head = RecordingHead {
        schema: SCHEMA,
        origin: Origin::Measured,
        started: 0,
        every_s: 60.0,
        method: MethodName::Ebpf,
        siblings,
        cpu_model: Some("a\u{1b}[31m processor".to_owned()),
    };
    file.head(&head).expect("head");
    file.block(minute(0, "/a\u{1b}[2J\u{7}\r\u{9b}")).expect("block");
    let replay = |more: &[&str]| {
        let args = ["account", "--replay", "a.rec", "--yield", "1.1..1.4", "--smt", "off"];
        let ran = coretwin(folder.path(), &[&args[..], more].concat());
        assert_eq!(ran.status, 0, "{more:?}: {}", ran.err);
        let is_raw = |letter: char| letter.is_control() && letter != '\n';
        assert!(!ran.out.contains(is_raw) && !ran.err.contains(is_raw), "{more:?}: {ran:?}");
        ran.out
    };
    // 1 − 88 / 258 and 240 / 258; two threads of a core become one.
    let full = replay(&["--full"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(full.contains("work for each is 0.659 to 0.930 of what it was."), "{full}");
    assert!(full.contains("one a core without siblings: 1.318 to 1.860."), "{full}");
    let record: Replay = serde_json::from_str(&replay(&["--json"])).expect("record");
    assert!((record.per_thread_low - 2.0 * (1.0 - 88.0 / 258.0)).abs() < 1e-9, "{record:?}");
    assert!((record.per_thread_high.expect("known") - 480.0 / 258.0).abs() < 1e-9, "{record:?}");
    replay(&["--svg", "a.svg"]);
    file.block(minute(7, "/b")).expect("block");
    assert!(replay(&["--full"]).contains("1 block begins before"), "the clock is told");
    file.block(minute(253_402_200_000, "/b")).expect("block");
    file.head(&RecordingHead { cpu_model: None, ..head }).expect("head");
    file.block(minute(0, "/b")).expect("block");
    let full = replay(&["--full", "--svg", "a.svg"]);
    assert!(full.contains("9999-12-30 20") && full.contains("the machine changed"), "{full}");
}

#[test]
fn slips_are_told_before_anything_is_recorded() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("letter.txt"), "dear reader\n").expect("write");
    for (args, status, part) in [
        (&["account", "--replay", "a.rec"][..], 2, "--smt"),
        (&["account", "--replay", "a.rec", "--smt", "of"], 2, "off"),
        (&["account", "--replay", "a.rec", "--smt", "off"], 3, "a.rec"),
        (&["account", "--replay", "letter.txt", "--smt", "off"], 2, "made by account --record"),
        (&["account", "--record", "letter.txt", "--for", "1s"], 2, "made by account --record"),
        (&["account", "--record", "a.rec", "--all", "--json"], 2, "--json"),
        (&["account", "--every", "1s", "--all"], 2, "--record"),
    ] {
        let ran = coretwin(folder.path(), args);
        assert!(
            ran.status == status && ran.err.contains(part),
            "{args:?}: {} {}",
            ran.status,
            ran.err
        );
    }
    let text = fs::read_to_string(folder.path().join("letter.txt")).expect("read");
    assert_eq!(text, "dear reader\n");
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_unit_records_a_file_of_the_day() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let path = path.join("coretwin-record.service");
    let unit = fs::read_to_string(&path).expect("unit");
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/bin/sh -c '"));
    let command = command.and_then(|line| line.strip_suffix('\'')).expect("a shell line");
    // As systemd would read it (systemd.service(5)).
    let command =
        command.replace("$$", "$").replace("%%", "%").replace("/usr/bin/coretwin", CORETWIN);
    let folder = tempfile::tempdir().expect("folder");
    let mut recorder = Command::new("sh")
        .args(["-c", &format!("{command} --every 50ms --method sampled")])
        .env("STATE_DIRECTORY", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let blocks = || -> Option<usize> {
        let file = fs::read_dir(folder.path()).ok()?.next()?.ok()?.path();
        let recorded = read(&file).ok()?;
        file.to_string_lossy().ends_with(".rec").then_some(recorded.sessions.first()?.blocks.len())
    };
    let found = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        blocks().is_some_and(|blocks| blocks > 1)
    });
    recorder.kill().expect("killed");
    recorder.wait().expect("ends");
    assert!(found, "{command}");
    match Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output() {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr).into_owned();
            assert!(verified.status.success() && !said.contains(".service:"), "{said}");
        }
        Err(missing) => eprintln!("not checked: systemd-analyze is not here: {missing}"),
    }
}

/// A fleet of one task, whose recording is made here.
#[cfg(feature = "fleet")]
#[test]
fn a_fleet_records_and_its_recordings_are_replayed_by_machine() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    fs::write(folder.join("hosts.txt"), "a\n").expect("hosts");
    let plan = |name: &str, words: &[&str]| {
        let head = ["fleet", "plan", name, "--engine=ssh", "--hosts=hosts.txt", "--seed=1", "--"];
        coretwin(folder, &[&head[..], words].concat())
    };
    for (words, part) in [
        (&["account"][..], "needs an end"),
        (&["account", "--for=1h", "--json"], "cannot be used with"),
        (&["account", "--for=1h", "--pid=1"], "cannot be used with"),
    ] {
        let ran = plan("no", words);
        assert!(ran.status == 2 && ran.err.contains(part), "{words:?}: {ran:?}");
        assert!(!folder.join("no").exists(), "{words:?}");
    }
    let words = ["account", "--for=4s", "--every=500ms", "--method=sampled"];
    assert_eq!(plan("f", &[&words[..], siblings()].concat()).status, 0);
    // Told to stop in the middle, it has a partial bundle; the next try records the rest.
    let mut running = Command::new(CORETWIN)
        .args(["fleet", "run", "f", "--here"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let work = folder.join("f/work");
    let recording = || {
        let tasks = fs::read_dir(&work).ok()?.flatten();
        tasks.map(|task| task.path().join("study/recording.jsonl")).find(|path| path.exists())
    };
    let blocks = || {
        let read = recording().and_then(|path| read(&path).ok());
        read.map_or(0, |read| read.sessions.iter().map(|it| it.blocks.len()).sum::<usize>())
    };
    while blocks() < 2 {
        assert!(running.try_wait().expect("a status").is_none(), "it ended before a block");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_raw(running.id() as i32).expect("pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told to stop");
    assert_eq!(running.wait().expect("ends").code(), Some(130));
    let status = coretwin(folder, &["fleet", "status", "f", "--json"]);
    assert!(status.out.contains("\"partial\""), "{status:?}");
    let ran = coretwin(folder, &["fleet", "run", "f", "--here"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let again = coretwin(folder, &["fleet", "run", "f", "--here"]);
    assert!(again.err.contains("it is done already"), "{again:?}");
    let status = coretwin(folder, &["fleet", "status", "f"]);
    assert!(status.out.contains("next: coretwin account --replay f --smt off"), "{status:?}");
    replayed_by_machine(folder);
}

#[cfg(feature = "fleet")]
fn replayed_by_machine(folder: &Path) {
    let asked = ["account", "--replay", "f", "--smt", "off", "--svg", "f.svg"];
    let ran = coretwin(folder, &[&asked[..], &["--json"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let fleet: FleetReplay = serde_json::from_str(&ran.out).expect("json");
    let [machine] = &fleet.machines[..] else { panic!("{fleet:?}") };
    let recorded_s = machine.replay.hours * 3600.0;
    assert!((3.5..6.0).contains(&recorded_s), "both tries, 4 s in all: {recorded_s}");
    assert!(fs::read_to_string(folder.join("f.svg")).expect("svg").contains(&machine.name));
    let text = coretwin(folder, &["account", "--replay", "f", "--smt", "off", "--full"]);
    assert!(text.out.contains("BY HOUR OF THE DAY"), "{text:?}");
    // A damaged bundle beside the good one is named, and is no part of it.
    fs::write(folder.join("f/bundles/x-0123456789abcdef.tar.gz"), "no bundle").expect("bundle");
    let ran = coretwin(folder, &["account", "--replay", "f", "--smt", "off"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.err.contains("does not count: bundles/x-"), "{ran:?}");
    for verb in ["merge", "report"] {
        let ran = coretwin(folder, &["fleet", verb, "f"]);
        assert!(ran.status == 2 && ran.err.contains("account --replay f"), "{ran:?}");
    }
    let none = coretwin(folder, &["account", "--replay", "f"]);
    assert!(none.status == 2 && none.err.contains("--smt"), "{none:?}");
    let tables = coretwin(folder, &["account", "--replay", "f", "--parquet", "t"]);
    if cfg!(feature = "parquet") {
        assert!(tables.status == 1 && tables.err.contains("groups: "), "{tables:?}");
        assert!(folder.join("t/cores").is_dir());
    } else {
        assert!(tables.status == 3 && !folder.join("t").exists(), "{tables:?}");
    }
}
