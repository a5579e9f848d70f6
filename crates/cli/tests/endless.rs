//! Whatever this program reads from outside may have no end: each reader is given zeros, lines and a
//! file of holes without end, in 512 MiB of memory, and refuses, or takes what it is to take, in words.

#![expect(clippy::print_stdout, reason = "the table of all readers")]

mod common;

use common::{CORETWIN, coretwin, host, patiently};
use coretwin_base::caps::{self, Cap, size};
use coretwin_host::fake;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What each process may have of address space, in KiB.
const LIMIT_KIB: u64 = 512 << 10;
/// More than that, and no more than a journal may have.
const HOLES: u64 = 3 << 30;

/// An input without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endless {
    Zeros,
    Lines,
    Holes,
}

/// A pipe that is always full.
struct Feeder {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Feeder {
    fn new(path: &Path) -> Self {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).expect("a pipe");
        let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        // Open for reading, too, so that it goes on without a reader.
        let pipe = options.read(true).write(true).custom_flags(nonblock).open(path);
        let mut pipe = pipe.expect("the pipe");
        let done = Arc::new(AtomicBool::new(false));
        let stop = done.clone();
        let lines = b"y\n".repeat(2048);
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if pipe.write(&lines).is_err() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Self { done, thread: Some(thread) }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Endless {
    const ALL: [Self; 3] = [Self::Zeros, Self::Lines, Self::Holes];

    /// Puts it where a file is to be.
    fn put(self, path: &Path) -> Option<Feeder> {
        let _ = fs::remove_file(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        match self {
            Self::Zeros => symlink("/dev/zero", path).expect("link"),
            Self::Lines => return Some(Feeder::new(path)),
            Self::Holes => File::create(path).and_then(|f| f.set_len(HOLES)).expect("holes"),
        }
        None
    }
}

/// What must be said.
#[derive(Clone, Copy)]
enum Expect {
    /// What there is too much of, or that it does not read: never more.
    Refused(&'static Cap),
    /// It is taken for what it is, or left out.
    Taken(&'static Cap),
}

/// A command whose address space is limited. Arenas of threads count there with 64 MiB each, held or
/// not, and how many are made depends on which threads meet; so there is one.
fn limited(folder: &Path, args: &[&str]) -> Command {
    let script = format!("ulimit -v {LIMIT_KIB}; exec timeout 100 \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).args(args).current_dir(folder);
    command.env("PATH", format!("{}:{}", folder.join("bin").display(), env!("PATH")));
    command.env("MALLOC_ARENA_MAX", "1");
    command
}

/// Looks at what came of it: no signal, no panic, no memory that was not to be had; and the words.
/// Prints a line of the table of all readers.
fn judge(what: &str, file: &str, expect: Expect, output: &Output) -> Result<(), String> {
    // A run that fails is a result, and says so on standard output.
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let shown = said.chars().take(2000).collect::<String>();
    let status = output.status.code();
    println!("{what} | {status:?} | {}", shown.lines().last().unwrap_or("-"));
    let bad = ["panicked", "memory allocation", "out of memory", "Cannot allocate"];
    let ended = status.is_some_and(|code| code < 100) && !bad.iter().any(|bad| said.contains(bad));
    let refused = |cap: &Cap| {
        let folder = file.split('/').next().unwrap_or(file);
        let named = said.contains(file) || said.contains(&format!("{folder} holds"));
        let too_much = said.contains(&format!("more than {}", size(cap.bytes)));
        // Lines may be wrong before they are too many.
        let wrong = ["line 1", "not", "no "].iter().any(|word| said.contains(word));
        let wrong = what.ends_with("Lines") && wrong;
        status != Some(0) && named && (too_much || wrong)
    };
    let right = match expect {
        Expect::Taken(_) => ended,
        Expect::Refused(cap) => ended && refused(cap),
    };
    if right { Ok(()) } else { Err(format!("{what}: {status:?}: {shown}")) }
}

/// Files, what reads them, and the cap. A name in the arguments is the file's.
const FILES: &[(&str, &[&str], Expect)] = &[
    ("s/journal.jsonl", &["report", "s"], Expect::Refused(&caps::LINE)),
    ("s/journal.jsonl", &["compare", "s", "good"], Expect::Refused(&caps::LINE)),
    ("s/plan.json", &["report", "s"], Expect::Refused(&caps::RECORD)),
    ("s/environment.json", &["report", "s"], Expect::Refused(&caps::RECORD)),
    // Without a summary it is not known why the study ended; the report is made anew.
    ("s/summary.json", &["report", "s"], Expect::Taken(&caps::RECORD)),
    ("f/fleet.json", &["fleet", "status", "f"], Expect::Refused(&caps::RECORD)),
    ("f/bundles/x.tar.gz", &["fleet", "status", "f"], Expect::Taken(&caps::MANIFEST)),
    ("f/bundles/x.tar.gz", &["fleet", "merge", "f"], Expect::Taken(&caps::MANIFEST)),
    // What was merged is merged again.
    ("f/merged/stamp", &["fleet", "report", "f"], Expect::Taken(&caps::STATE)),
    (
        "w/sweep.json",
        &["simulate", "sweep", "ablation", "--out", "w"],
        Expect::Refused(&caps::RECORD),
    ),
    ("p.json", &["sched", "start", "--partners=p.json"], Expect::Refused(&caps::RECORD)),
    ("a.json", &["compare", "a.json", "good.json"], Expect::Refused(&caps::IMPORT)),
    ("a.xml", &["compare", "a.xml", "good.json"], Expect::Refused(&caps::IMPORT)),
    ("t.csv", &["audit", "t.csv"], Expect::Refused(&caps::TABLE)),
    ("a.rec", &["account", "--replay", "a.rec", "--smt", "off"], Expect::Refused(&caps::RECORDING)),
    (
        "./p.toml",
        &["simulate", "core", "--preset=./p.toml", "--thread=gzip"],
        Expect::Refused(&caps::MODEL),
    ),
    (
        "./p.toml",
        &["simulate", "core", "--preset=xeon-mp-foster", "--thread=./p.toml"],
        Expect::Refused(&caps::MODEL),
    ),
    (
        "./p.toml",
        &["simulate", "sched", "--topology=1x2", "--scenario=./p.toml"],
        Expect::Refused(&caps::MODEL),
    ),
    ("./p.toml", &["simulate", "sweep", "./p.toml", "--out=v"], Expect::Refused(&caps::MODEL)),
    ("./p.toml", &["study", "-f", "./p.toml"], Expect::Refused(&caps::MODEL)),
    ("./p.toml", &["study", "chat", "--machine", "./p.toml"], Expect::Refused(&caps::MODEL)),
    (
        "./p.toml",
        &["study", "chat", "--machine", "vm-1", "--fit", "./p.toml"],
        Expect::Refused(&caps::MODEL),
    ),
    ("p.txt", &["simulate", "import", "p.txt"], Expect::Refused(&caps::MODEL)),
    ("./p.toml", &["simulate", "calibrate", "--from", "./p.toml"], Expect::Refused(&caps::MODEL)),
    ("./p.toml", &["simulate", "calibrate", "--machine=./p.toml"], Expect::Refused(&caps::MODEL)),
    (
        "./r.json",
        &["simulate", "sched", "--topology=1x2", "--scenario=./r.json"],
        Expect::Refused(&caps::RT_APP),
    ),
    (
        "hosts",
        &["fleet", "plan", "g", "--engine=ssh", "--hosts=hosts", "--", "study", "chat"],
        Expect::Refused(&caps::HOSTS),
    ),
    ("l.txt", &["run", "dbench:loadfile={folder}/l.txt"], Expect::Refused(&caps::LOAD)),
    ("root/proc/cpuinfo", &["topology", "--root", "root"], Expect::Taken(&caps::MACHINE)),
    (
        "root/sys/devices/system/cpu/possible",
        &["topology", "--root", "root"],
        Expect::Taken(&caps::MACHINE),
    ),
];

const STUDY: [&str; 6] =
    ["study", "chat:rooms=1,messages=1", "--machine=vm-1", "--blocks=2", "--seed=1", "--out"];

/// A folder with a study, a fleet, and a file of hyperfine's, all good.
fn world() -> tempfile::TempDir {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("folder");
    let folder = scratch.path();
    fs::create_dir(folder.join("bin")).expect("bin");
    stand_in(&folder.join("bin/ssh"), "exit 255");
    assert_eq!(coretwin(folder, &[&STUDY[..], &["good"]].concat()).status, 0);
    fs::write(folder.join("names"), "one\n").expect("hosts");
    for (fleet, engine) in [
        ("ssh", &["--engine=ssh", "--hosts=names"][..]),
        ("pods", &["--engine=kubernetes", "--image=i", "--tasks=1"]),
        ("slurm", &["--engine=slurm", "--tasks=1"]),
    ] {
        let study = ["--", "study", "chat:rooms=1,messages=1", "--machine=vm-1"];
        let ran = coretwin(folder, &[&["fleet", "plan", fleet], engine, &study].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
    }
    let runs = r#"{"results":[{"command":"a","times":[1.0,1.1,1.2]}]}"#;
    fs::write(folder.join("good.json"), runs).expect("runs");
    fs::create_dir_all(folder.join("root/sys/devices/system/cpu")).expect("root");
    scratch
}

/// What is damaged there is a copy of what is good.
fn renew(folder: &Path) {
    for (from, to) in [("good", "s"), ("ssh", "f")] {
        let _ = fs::remove_dir_all(folder.join(to));
        let copied = Command::new("cp").args(["-r", from, to]).current_dir(folder).status();
        assert!(copied.is_ok_and(|status| status.success()));
    }
    let _ = fs::remove_dir_all(folder.join("w"));
    fs::create_dir_all(folder.join("f/merged")).expect("merged");
    fs::create_dir_all(folder.join("root/proc")).expect("root");
}

#[test]
fn files_without_end_are_refused() {
    let _host = host();
    let world = world();
    let folder = world.path();
    let mut wrong = Vec::new();
    for (file, args, expect) in FILES {
        for endless in Endless::ALL {
            renew(folder);
            let feeder = endless.put(&folder.join(file));
            let here = folder.display().to_string();
            let words: Vec<String> =
                args.iter().map(|arg| arg.replace("{folder}", &here)).collect();
            let words = words.iter().map(String::as_str);
            let words: Vec<&str> = std::iter::once(CORETWIN).chain(words).collect();
            let output = patiently(&mut limited(folder, &words));
            drop(feeder);
            let _ = fs::remove_file(folder.join(file));
            let what = format!("{} | {file} | {endless:?}", args.join(" "));
            wrong.extend(judge(&what, file, *expect, &output).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A journal that is written to is no link and no pipe, and a torn line is no longer than a line.
    renew(folder);
    let holes = File::create(folder.join("s/journal.jsonl"));
    holes.and_then(|file| file.set_len(caps::JOURNAL.bytes + 1)).expect("holes");
    let output = patiently(&mut limited(folder, &[CORETWIN, "study", "--resume", "s"]));
    judge("--resume", "s/journal.jsonl", Expect::Refused(&caps::JOURNAL), &output)
        .expect("in words");
    // Standard input.
    for args in [[CORETWIN, "audit", "-"].as_slice(), &[&worker()]] {
        let zeros = File::open("/dev/zero").expect("zeros");
        let output = limited(folder, args).stdin(zeros).output().expect("starts");
        let said = [output.stdout.as_slice(), &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.code().is_some() && said.contains("more than 16 MiB"), "{said}");
    }
}

fn worker() -> String {
    let beside = Path::new(CORETWIN).with_file_name("coretwin-worker");
    beside.display().to_string()
}

/// Zeros that are small when they are compressed, behind what begins them.
fn bomb(path: &Path, begin: &[u8], zeros: u64) {
    let mut file = GzEncoder::new(File::create(path).expect("file"), Compression::fast());
    file.write_all(begin).expect("begin");
    io::copy(&mut io::repeat(0).take(zeros), &mut file).expect("zeros");
    file.finish().expect("written");
}

/// The header of an entry of an archive.
fn header(name: &str, kind: u8, bytes: u64) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(format!("{bytes:011o} ").as_bytes());
    header[148..156].fill(b' ');
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

#[test]
fn what_is_small_when_it_is_compressed_is_refused() {
    let _host = host();
    let world = world();
    let folder = world.path();
    renew(folder);
    let zeros = 1 << 30;
    for (name, kind) in [("manifest.json", b'0'), ("././@LongLink", b'L'), ("pax", b'x')] {
        let path = folder.join(format!("f/bundles/m-{}.tar.gz", kind as char));
        bomb(&path, &header(name, kind, zeros), zeros);
    }
    let output = limited(folder, &[CORETWIN, "fleet", "merge", "f"]).output().expect("starts");
    judge("bombs", "bundles", Expect::Taken(&caps::MANIFEST), &output).expect("in words");
    let refused = fs::read_to_string(folder.join("f/merged/refused.jsonl")).unwrap_or_default();
    let said = format!("{refused}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(refused.matches("the most that is read of a manifest").count(), 3, "{said}");
    bomb(&folder.join("l.gz"), b"", zeros);
    let load = format!("dbench:loadfile={}/l.gz", folder.display());
    let output = patiently(&mut limited(folder, &[CORETWIN, "run", &load]));
    judge("a load file", "l.gz", Expect::Refused(&caps::LOAD), &output).expect("in words");
}

/// A program that stands in for one of the system.
fn stand_in(path: &Path, script: &str) {
    fake::program(path, &format!("#!/bin/sh\n{script}\n")).expect("script");
}

#[test]
fn programs_that_talk_without_end_are_heard_no_longer() {
    let _host = host();
    let world = world();
    let folder = world.path();
    let bundle = "m-0123456789abcdef.tar.gz";
    let fetched = format!(
        "case \"$*\" in *--apart*) echo bundle: bundles/{bundle};; *'cat > '*) cat > /dev/null;; \
         *'; cat '*|*'c '*cat*) exec cat /dev/zero;; esac"
    );
    let pods = r#"{"items":[{"metadata":{"name":"p","labels":{"batch.kubernetes.io/job-completion-index":"0"}},"spec":{"containers":[{"name":"c","env":[{"name":"CORETWIN_TASKS","value":"0"}]}]},"status":{"phase":"Succeeded"}}]}"#;
    let logs = format!("case \"$*\" in *logs*) exec cat /dev/zero;; *get*) echo '{pods}';; esac");
    for (program, script, args, expect) in [
        ("ssh", "exec cat /dev/zero", &["fleet", "run", "ssh"][..], &caps::ANSWER),
        ("ssh", &fetched, &["fleet", "run", "ssh"], &caps::BUNDLE),
        ("kubectl", "exec cat /dev/zero", &["fleet", "status", "pods"], &caps::ANSWER),
        ("kubectl", &logs, &["fleet", "status", "pods"], &caps::LINE),
        ("squeue", "exec cat /dev/zero", &["fleet", "status", "slurm"], &caps::ANSWER),
    ] {
        stand_in(&folder.join("bin").join(program), script);
        let output = limited(folder, &[&[CORETWIN], args].concat()).output().expect("starts");
        let said = [output.stdout.as_slice(), &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let words = format!("more than {}", size(expect.bytes));
        println!("{program}: {} | {script} | {words}", args.join(" "));
        assert!(said.contains(&words) && !said.contains("panicked"), "{program} {args:?}: {said}");
        assert!(output.status.code().is_some(), "{program}: {:?}", output.status);
    }
    // Complaints are heard to their end, of which the last counts.
    stand_in(&folder.join("bin/ssh"), "head -c 1G /dev/zero >&2; echo the last >&2; exit 1");
    let output = limited(folder, &[CORETWIN, "fleet", "run", "ssh"]).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some() && said.contains("the last"), "{}", said.len());
    // A user's command may say what it likes.
    for to in ["1", "2"] {
        let script = format!("head -c 1G /dev/zero >&{to}");
        let args = [CORETWIN, "run", "--metric", "n=(\\d+)x", "--", "sh", "-c", &script];
        let output = patiently(limited(folder, &args).stdout(Stdio::piped()));
        judge(&script, "", Expect::Taken(&caps::OUTPUT), &output).expect("in words");
    }
    // A worker that is none.
    let own = folder.join("coretwin");
    fs::hard_link(CORETWIN, &own).or_else(|_| fs::copy(CORETWIN, &own).map(drop)).expect("a copy");
    stand_in(&folder.join("coretwin-worker"), "exec cat /dev/zero");
    let own = own.display().to_string();
    let output = patiently(&mut limited(folder, &[&own, "run", "--", "true"]));
    judge("a worker", "coretwin-worker", Expect::Refused(&caps::LINE), &output).expect("in words");
}

#[test]
fn every_cap_is_tried() {
    let files = FILES.iter().map(|(_, _, expect)| match expect {
        Expect::Refused(cap) | Expect::Taken(cap) => cap.of,
    });
    // The other tests of this file, and of what the program reads where only root writes: `request`,
    // openmetrics/endpoint/tests.rs, and what a load has written: workloads, service/latencies.rs.
    let others = [
        &caps::JOURNAL,
        &caps::ANSWER,
        &caps::BUNDLE,
        &caps::OUTPUT,
        &caps::REQUEST,
        &caps::LATENCIES,
    ];
    let tried: BTreeSet<&str> = files.chain(others.map(|cap| cap.of)).collect();
    assert_eq!(tried, caps::ALL.iter().map(|cap| cap.of).collect());
}
