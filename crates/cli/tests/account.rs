//! `coretwin account` on this machine, whatever it is and however busy.

mod common;

use common::{CORETWIN, Ran, coretwin};
use coretwin_base::account::{AccountSummary, MethodName, SiblingsOrigin};
use coretwin_base::machine::cpu_set::CpuSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Some two CPUs of this machine; none, with the reason printed, if there is only one.
#[expect(clippy::print_stderr, reason = "why a test checks nothing")]
fn two_cpus() -> Option<(u32, u32)> {
    let root = coretwin_host::root::Root::system();
    let topology = coretwin_host::topology::read(&root).expect("topology");
    let two: Vec<u32> = topology.allowed.iter().take(2).map(|cpu| cpu.0).collect();
    if two.len() < 2 {
        eprintln!("skipped: two CPUs are needed, this process may use {}", topology.allowed);
        return None;
    }
    Some((two[0], two[1]))
}

fn run(args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("folder");
    coretwin(folder.path(), &[&["account"][..], args].concat())
}

fn account(args: &[&str]) -> AccountSummary {
    let ran = run(&[&["--json"][..], args].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("a record")
}

/// A shell that uses up a CPU until it is dropped.
struct Spinner(Child);

impl Spinner {
    /// It runs when this returns.
    fn on(cpu: u32) -> Self {
        let mut shell = Command::new("taskset");
        shell.args(["-c", &cpu.to_string(), "sh", "-c", "echo up; while :; do :; done"]);
        let mut child = shell.stdout(Stdio::piped()).spawn().expect("taskset starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        Self(child)
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Some tenths of a second of a shell's time on a CPU.
fn work_on(cpu: u32, rounds: u32) -> Vec<String> {
    let script = format!("i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done");
    ["taskset", "-c", &cpu.to_string(), "sh", "-c", &script].map(str::to_owned).to_vec()
}

/// Whatever else holds, on any machine.
fn check(summary: &AccountSummary) {
    let worth = &summary.worth;
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(1.0);
    assert!(near(worth.alone_s + worth.shared_s, worth.raw_s), "{worth:?}");
    assert!(worth.shared_low_s <= worth.shared_s + 1e-9, "{worth:?}");
    assert!(worth.shared_s <= worth.shared_high_s + 1e-9, "{worth:?}");
    assert!(worth.shared_high_s <= worth.raw_s + 1e-6, "{worth:?}");
    for span in [worth.capacity_s, worth.alone_equivalent_s] {
        assert!(span.low <= span.value + 1e-9 && span.value <= span.high + 1e-9, "{worth:?}");
        assert!(span.low >= 0.0 && span.high <= worth.raw_s * 1.001 + 1e-6, "{worth:?}");
    }
    let of = |times: Vec<f64>| times.into_iter().sum::<f64>() + summary.unattributed_s;
    assert!(near(of(summary.tasks.iter().map(|task| task.worth.raw_s).collect()), worth.raw_s));
    assert!(near(of(summary.processes.iter().map(|one| one.worth.raw_s).collect()), worth.raw_s));
    for core in &summary.cores {
        let together: f64 = core.by_busy_s.iter().map(|span| span.value).sum();
        assert!(
            (together / summary.elapsed_s - 1.0).abs() < 0.05,
            "{core:?} {}",
            summary.elapsed_s
        );
    }
}

#[test]
fn beside_a_sibling_that_is_always_busy_all_time_is_shared() {
    let Some((a, b)) = two_cpus() else { return };
    let siblings = format!("{a}+{b}");
    let _neighbour = Spinner::on(b);
    let work = work_on(a, 400_000);
    for method in [MethodName::Sampled, MethodName::Bounds] {
        let mut args =
            vec!["--method", method.name(), "--siblings", &siblings, "--yield", "1.3", "--"];
        args.extend(work.iter().map(String::as_str));
        let summary = account(&args);
        check(&summary);
        let worth = &summary.worth;
        assert_eq!((summary.method, summary.siblings.origin), (method, SiblingsOrigin::Given));
        assert!(worth.raw_s > 0.05, "{worth:?}");
        // The truth is all of it, but for the moments before the work is on its CPU.
        assert!(worth.shared_high_s > 0.99 * worth.raw_s, "{method:?} {worth:?}");
        // Half of a core for all the time.
        let half_s = worth.raw_s / 2.0;
        assert!(
            worth.capacity_s.low <= half_s * 1.01 && half_s <= worth.capacity_s.high,
            "{worth:?}"
        );
        assert_eq!(summary.command.expect("a command").exit_status, Some(0));
    }
}

#[test]
fn a_process_is_watched_with_its_descendants_and_by_cgroup() {
    let Some((a, b)) = two_cpus() else { return };
    let siblings = format!("{a}+{b}");
    let (mine, _neighbour) = (Spinner::on(a), Spinner::on(b));
    for method in ["sampled", "bounds"] {
        let summary = account(&[
            "--method",
            method,
            "--siblings",
            &siblings,
            "--pid",
            &mine.id(),
            "--for",
            "2s",
        ]);
        check(&summary);
        assert_eq!(summary.processes.len(), 1, "{:?}", summary.processes);
        assert_eq!(summary.processes[0].name, mine.id());
        let worth = summary.worth;
        assert!(worth.raw_s > 0.05, "{worth:?}");
        assert!(worth.shared_high_s > 0.99 * worth.raw_s, "{method} {worth:?}");
        assert!(!summary.interrupted && summary.command.is_none());
    }
    let all = account(&["--method", "sampled", "--siblings", &siblings, "--all", "--for", "1s"]);
    check(&all);
    assert!(all.processes.iter().any(|one| one.name == mine.id()));
    // A process that ended before its group was read is in the whole and in none of the groups.
    let groups_s: f64 = all.cgroups.iter().map(|group| group.worth.raw_s).sum();
    let of_none = all.tasks.iter().filter(|task| task.cgroup.is_none());
    let told_s = groups_s + of_none.map(|task| task.worth.raw_s).sum::<f64>() + all.unattributed_s;
    assert!(groups_s > 0.05, "{:?}", all.cgroups);
    assert!((told_s - all.worth.raw_s).abs() < 1e-6, "{told_s} {:?} {:?}", all.worth, all.cgroups);
}

#[test]
fn how_a_command_ended_is_told_and_its_children_count() {
    let ran = run(&["--method", "sampled", "--json", "--", "sh", "-c", "sh -c ':' & wait; exit 7"]);
    assert_eq!(ran.status, 7, "{}", ran.err);
    assert!(ran.out.contains("\"origin\": \"measured\""), "{}", ran.out);
    let summary: AccountSummary = serde_json::from_str(&ran.out).expect("a record");
    assert_eq!(summary.command.expect("a command").exit_status, Some(7));
    let ran = run(&["--method", "bounds", "--full", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(ran.status, 128 + 9, "{}", ran.err);
    assert!(ran.out.contains("ended by signal 9"), "{}", ran.out);
    assert!(ran.out.starts_with("raw "), "raw time comes first: {}", ran.out);
    // Work of a grandchild that outlives its parent and is waited for by nobody else.
    let script = "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done) & sleep 1";
    let summary = account(&["--method", "sampled", "--", "sh", "-c", script]);
    assert!(summary.worth.raw_s > 0.02, "{:?}", summary.worth);
}

#[test]
fn a_process_that_ends_is_no_error() {
    let mut child = Command::new("sleep").arg("1").spawn().expect("sleep");
    let pid = child.id().to_string();
    // The reaper: until somebody waits, a process that has ended is still there.
    let reaper = std::thread::spawn(move || child.wait());
    let ran = run(&["--method", "sampled", "--pid", &pid, "--for", "10m"]);
    reaper.join().expect("reaper").expect("wait");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("has ended; this is its time up to then"), "{}", ran.err);
}

#[test]
fn an_interruption_prints_what_was_measured() {
    for (signal, args) in [
        ("-INT", &["--all", "--for", "10m"][..]),
        ("-TERM", &["--", "sh", "-c", "while :; do :; done"][..]),
    ] {
        let mut child = Command::new(CORETWIN)
            .args(["account", "--method", "sampled", "--json"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        // Until it measures: then it reads the run times of others.
        std::thread::sleep(std::time::Duration::from_secs(2));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        let summary: AccountSummary =
            serde_json::from_reader(child.stdout.take().expect("piped")).expect("a record");
        let status = child.wait().expect("wait").code();
        assert!(summary.interrupted && summary.elapsed_s > 0.0);
        match summary.command {
            None => assert_eq!(status, Some(130)),
            Some(end) => {
                assert_eq!(end.signal, Some(15), "the command does not stay behind");
                assert_eq!(status, Some(128 + 15), "its end is ours");
            }
        }
    }
}

#[test]
fn a_signal_reaches_every_process_of_the_command_and_the_report_is_printed() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().to_str().expect("path");
    // An orphan in a session of its own, and the command: both end by themselves when told, and say so.
    let script =
        "trap \"echo told > $0/$1; exit 3\" INT; echo up > $0/up-$1; while :; do sleep 0.1; done";
    let command =
        format!("setsid -f sh -c '{script}' {path} child; exec sh -c '{script}' {path} own");
    let until_all = |names: [&str; 2]| {
        let began = std::time::Instant::now();
        while !names.iter().all(|name| folder.path().join(name).exists()) {
            assert!(began.elapsed().as_secs() < 120, "not all of {names:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let mut child = Command::new(CORETWIN)
        .args(["account", "--method", "sampled", "--json", "--", "sh", "-c", &command])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    until_all(["up-own", "up-child"]);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    let summary: AccountSummary =
        serde_json::from_reader(child.stdout.take().expect("piped")).expect("a record");
    assert_eq!(child.wait().expect("wait").code(), Some(3));
    assert!(summary.interrupted && summary.elapsed_s > 0.0);
    // The orphan may be slower than the command, whose end is ours.
    until_all(["own", "child"]);
}

#[test]
fn everything_is_balanced_beside_what_proc_stat_says() {
    let ran = run(&["--method", "sampled", "--all", "--for", "500ms", "--full"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    for words in ["CPUs", "idle", "charged to no task", "/proc/stat", "by ticks: busy", "steal"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let one = account(&["--method", "sampled", "--", "true"]);
    assert_eq!(one.balance, None, "of a part nobody knows");
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let absent = u32::MAX.to_string();
    for (status, args, part) in [
        (3, vec!["--pid", absent.as_str()], "there is no process 4294967295"),
        (3, vec!["--cgroup", "/no/such/group"], "there is no cgroup /no/such/group"),
        (2, vec!["--siblings", "0+0", "--all"], "CPU 0 is in two places"),
        (2, vec!["--siblings", "0+60000", "--all"], "CPU 60000, which is not online here"),
        (2, vec!["--siblings", "0+a", "--all"], "'a' is not a number"),
        (2, vec!["--yield", "fast", "--all"], "'fast' is not a number"),
        (2, vec!["--slowdown", "1.5:2-3", "--all"], "1.5 does not lie between 2 and 3"),
        (2, vec!["--method", "sample", "--all"], "sampled"),
        (2, vec!["--factors", "no such work", "--all"], "cputime has"),
        (2, vec!["--pid", "1", "--all"], "cannot be used with"),
        (2, vec![], "required"),
        (2, vec!["--for", "0s", "--all"], "in no time there is nothing to see"),
        (2, vec!["--for", "5", "--all"], "'5' has no unit: write 5s for seconds, 5m for minutes"),
        (2, vec!["--for", "soon", "--all"], "soon"),
        (127, vec!["--", "/no/such/program"], "cannot start /no/such/program"),
        (126, vec!["--", "/etc/passwd"], "cannot start /etc/passwd"),
        (125, vec!["--siblings", "0+60000", "--", "true"], "CPU 60000, which is not online here"),
    ] {
        let ran = run(&args);
        assert_eq!(ran.status, status, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty(), "{args:?}");
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "why a test checks nothing")]
fn it_works_for_an_ordinary_user_in_a_part_of_the_cpus() {
    let Some((a, b)) = two_cpus() else { return };
    let folder = tempfile::tempdir().expect("folder");
    let mut command = Command::new("taskset");
    command.args(["-c", &a.to_string(), CORETWIN, "account", "--json", "--siblings"]);
    command.arg(format!("{a}+{b}")).args([
        "--",
        "sh",
        "-c",
        "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done",
    ]);
    command.current_dir("/").env("HOME", folder.path()).env("XDG_STATE_HOME", folder.path());
    if rustix::process::geteuid().is_root() {
        // Nobody.
        command.uid(65_534).gid(65_534);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: the program cannot be run as another user here: {error}");
            return;
        }
    };
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if err.contains("Permission denied") && !Path::new(CORETWIN).starts_with("/usr") {
        eprintln!("skipped: the folder of the program is closed to other users");
        return;
    }
    assert!(output.status.success(), "{err}");
    let summary: AccountSummary = serde_json::from_slice(&output.stdout).expect("a record");
    check(&summary);
    assert_eq!(summary.method, MethodName::Sampled);
    assert!(summary.method_why.contains("ebpf is not possible here"), "{}", summary.method_why);
    assert_eq!(summary.not_usable, CpuSet::parse(&b.to_string()).expect("set"));
}
