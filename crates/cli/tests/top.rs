//! `coretwin top` as its user has it: in a pseudo-terminal, in a pipe, as a service.

mod common;
#[path = "common/terminal.rs"]
mod terminal;

use common::{CORETWIN, coretwin};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_host::fake::{self, crowd::Crowd};
use coretwin_host::root::Root;
use coretwin_top::snapshot::Snapshot;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use terminal::Session;

/// A machine of four cores with eight CPUs on which tasks 0 to 4 run: two on one core (CPUs 0 and 1),
/// two on CPUs of their own, one that moves.
struct Machine {
    folder: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Machine {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let root = fake::machine("vm-adjacent").expect("machine").write(folder.path());
        let root = root.expect("written");
        let stop = Arc::new(AtomicBool::new(false));
        let mut crowd = crowd(&root, "0-7", 40);
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut turn = 0;
            while !stopped.load(Ordering::Relaxed) {
                let began = std::time::Instant::now();
                std::thread::sleep(Duration::from_millis(20));
                turn += 1;
                let moves = CpuId(5 + turn % 2);
                let at = [(0, CpuId(0)), (1, CpuId(1)), (2, CpuId(2)), (3, CpuId(4)), (8, moves)];
                crowd.run(began.elapsed(), &at).expect("run");
            }
        });
        Self { folder, stop, thread: Some(thread) }
    }

    fn root(&self) -> &str {
        self.folder.path().to_str().expect("path")
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.folder.path().join(path), text).expect(path);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))) || std::thread::panicking());
    }
}

fn crowd(root: &Root, cpus: &str, tasks: u32) -> Crowd {
    Crowd::new(root, &CpuSet::parse(cpus).expect("list"), tasks).expect("crowd")
}

fn top(machine: &Machine, more: &[&str]) -> Vec<String> {
    let args = ["top", "--root", machine.root(), "--method", "sampled"];
    let interval: &[&str] =
        if more.contains(&"--interval") { &[] } else { &["--interval", "400ms"] };
    args.iter().chain(interval).chain(more).map(|arg| (*arg).to_owned()).collect()
}

fn session(machine: &Machine, rows: u16, columns: u16, more: &[&str]) -> Session {
    let environment = [("TERM", "xterm-256color"), ("LC_ALL", "C")];
    Session::start(CORETWIN, &top(machine, more), rows, columns, &environment)
}

#[test]
fn keys_are_heeded_and_the_screen_follows_the_size() {
    let machine = Machine::start();
    let mut session = session(&machine, 24, 80, &[]);
    let screen = session.until("five tasks", |screen| screen.contains("TASKS 5 by shared"));
    assert!(screen.contains("8 CPUs, 4 cores"), "{screen}");
    session.until("a core with both CPUs busy", |screen| screen.contains("0-1 |##########"));
    session.until("a core with one CPU busy", |screen| screen.contains("2-3 |======"));
    assert!(
        screen.contains("the sibling map may be wrong") || screen.contains("warnings"),
        "{screen}"
    );
    session.send("h");
    session.until("help", |screen| screen.contains("turn the order round"));
    session.send("h");
    session.send("ssss");
    session.until("by number", |screen| screen.contains("TASKS 5 by number"));
    session.send("/worker-2\r");
    session.until("a filter", |screen| {
        screen.contains("filter 'worker-2'") && screen.contains("TASKS 1 by")
    });
    session.send("\u{1b}");
    session.until("no filter", |screen| screen.contains("TASKS 5 by"));
    session.send("\t");
    session
        .until("cgroups", |screen| screen.contains("CGROUPS 2") && screen.contains("/service-0"));
    session.send("3");
    let pairs = session.until("pairs", |screen| screen.contains("1000 worker-0 and 1001 worker-1"));
    assert!(pairs.contains("EACH LOST"), "{pairs}");
    session.send("p");
    session.until("a pause", |screen| screen.contains("PAUSED"));
    session.send("p");
    session.resize(40, 132);
    session.until("40 rows", |screen| {
        screen.lines().nth(39).is_some_and(|line| line.contains("g group  c cores"))
    });
    session.resize(10, 60);
    session.until("10 rows", |screen| {
        screen.lines().nth(9).is_some_and(|line| line.starts_with("q quit"))
    });
    session.send("q");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn the_terminal_is_given_back_whatever_ends_it() {
    let machine = Machine::start();
    for how in ["q", "\u{3}", "\u{4}", "TERM", "INT", "HUP", "count"] {
        let more: &[&str] = if how == "count" { &["--count", "2"] } else { &[] };
        let mut session = session(&machine, 24, 80, more);
        session.until("a screen", |screen| screen.contains("coretwin top"));
        assert!(session.is_taken() && session.has_mouse(), "{how}");
        match how {
            "TERM" | "INT" | "HUP" => session.signal(how),
            "count" => {}
            keys => session.send(keys),
        }
        assert_eq!(session.end(), Some(0), "{how}");
        assert!(session.is_given_back(), "{how}");
    }
}

#[test]
fn the_mouse_sorts_and_scrolls_and_can_be_left_alone() {
    let machine = Machine::start();
    let mut session = session(&machine, 24, 80, &[]);
    let screen = session.until("a screen", |screen| screen.contains("TASKS 5 by shared"));
    let (row, line) =
        screen.lines().enumerate().find(|(_, line)| line.contains("SHARED s")).expect("headings");
    let column = line.find("%CPU").expect("a heading");
    // As a terminal tells of the left button, and of the wheel (SGR 1006): counted from 1.
    let click =
        format!("\u{1b}[<0;{};{}M\u{1b}[<0;{};{}m", column + 1, row + 1, column + 1, row + 1);
    session.send(&click);
    session.until("by raw time", |screen| screen.contains("TASKS 5 by raw"));
    session.send(&click);
    session.until("turned", |screen| screen.contains("TASKS 5 by raw, turned"));
    session.send("h");
    session.until("help", |screen| screen.contains("off: select text"));
    session.send("hm");
    session.until("the tasks", |screen| screen.contains("TASKS 5"));
    let began = std::time::Instant::now();
    while session.has_mouse() {
        assert!(began.elapsed() < Duration::from_secs(30), "m leaves it to the terminal");
        std::thread::sleep(Duration::from_millis(10));
    }
    session.send("q");
    assert_eq!(session.end(), Some(0));
    let mut session = self::session(&machine, 24, 80, &["--no-mouse"]);
    session.until("a screen", |screen| screen.contains("TASKS 5"));
    assert!(!session.has_mouse());
}

#[test]
fn boxes_follow_the_locale_and_wide_screens_have_the_command_line() {
    let machine = Machine::start();
    machine.write("proc/1000/cmdline", "/opt/worker\0--name\0\u{1b}[2Jx\0");
    for (locale, more, utf8) in
        [("C.UTF-8", &[][..], true), ("C", &[], false), ("C.UTF-8", &["--ascii"], false)]
    {
        let environment = [("TERM", "xterm-256color"), ("LC_ALL", locale)];
        let mut session = Session::start(CORETWIN, &top(&machine, more), 30, 200, &environment);
        // A busy machine paints heads before rows.
        let screen = session.until("a command", |screen| {
            screen.contains("TASKS 5 by shared") && screen.contains("/opt/worker --name  [2Jx")
        });
        assert!(screen.contains("COMMAND"), "{screen}");
        assert_eq!((screen.contains("├─ TASKS"), screen.is_ascii()), (utf8, !utf8), "{screen}");
        session.send("q");
        assert_eq!(session.end(), Some(0));
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let machine = Machine::start();
    let mut session = session(&machine, 24, 80, &[]);
    session.until("a screen", |screen| screen.contains("coretwin top"));
    session.hang_up();
    assert_ne!(session.end(), Some(101), "no panic either");
}

#[test]
fn a_panic_gives_the_terminal_back_and_its_message_is_seen() {
    let own = std::env::current_exe().expect("this test");
    let args = ["--ignored", "--exact", "panics_with_a_screen", "--nocapture"].map(str::to_owned);
    let mut session = Session::start(&own.to_string_lossy(), &args, 24, 80, &[("TERM", "xterm")]);
    assert_eq!(session.end(), Some(101));
    assert!(session.is_given_back());
    assert!(session.text().contains("something went wrong"), "{}", session.text());
}

#[test]
#[ignore = "is the program of the test above"]
fn panics_with_a_screen() {
    let _screen = coretwin_top::terminal::Screen::enter(true).expect("a terminal");
    panic!("something went wrong");
}

#[test]
fn job_control_stops_and_continues_it() {
    let machine = Machine::start();
    let shell = ["-i".to_owned()];
    let environment = [("TERM", "xterm"), ("PS1", "ready> "), ("ENV", "")];
    let mut session = Session::start("sh", &shell, 24, 80, &environment);
    session.until("a prompt", |screen| screen.contains("ready>"));
    session.send(&format!("{CORETWIN} {}\r", top(&machine, &[]).join(" ")));
    session.until("a screen", |screen| screen.contains("TASKS"));
    session.send("\u{1a}");
    session.until("the shell", |screen| screen.contains("Stopped") && !screen.contains("TASKS"));
    session.send("echo a''live; stty -a | tr ' ' '\\n' | grep -x icanon\r");
    session.until("a cooked terminal", |screen| {
        screen.contains("alive") && screen.lines().any(|line| line.trim() == "icanon")
    });
    session.send("fg\r");
    session.until("the screen again", |screen| screen.contains("TASKS 5"));
    session.send("q");
    session.until("the shell again", |screen| screen.trim_end().ends_with("ready>"));
    session.send("exit\r");
    session.end();
}

#[test]
fn no_color_is_heeded_and_windows_cost_few_bytes() {
    let machine = Machine::start();
    for (environment, coloured) in [(("NO_COLOR", ""), true), (("NO_COLOR", "1"), false)] {
        let environment = [("TERM", "xterm"), environment];
        let mut session = Session::start(CORETWIN, &top(&machine, &[]), 24, 80, &environment);
        session.until("a screen", |screen| screen.contains("TASKS 5"));
        assert_eq!(session.has_colours(), coloured, "{environment:?}");
        session.send("q");
        session.end();
    }
    // The first drawing is the whole screen; then only what changes is sent.
    let mut session = session(&machine, 24, 80, &["--count", "11"]);
    assert_eq!(session.end(), Some(0));
    let a_window = session.bytes / 11;
    assert!(a_window < 1500, "{a_window} bytes a window of 24 rows of 80");
}

#[test]
fn where_there_is_no_terminal_to_draw_on_it_says_so() {
    let folder = tempfile::tempdir().expect("folder");
    let ran = coretwin(folder.path(), &["top"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.err.contains("is no terminal") && ran.err.contains("--json"), "{}", ran.err);
    for term in ["dumb", ""] {
        let mut session = Session::start(CORETWIN, &["top".to_owned()], 24, 80, &[("TERM", term)]);
        assert_eq!(session.end(), Some(3));
        let text = session.text();
        assert!(text.contains("TERM is") && text.contains("--json"), "{text}");
        assert!(!session.is_taken());
    }
}

#[test]
fn json_lines_are_whole_conserve_time_and_end_when_told() {
    let machine = Machine::start();
    let args = top(&machine, &["--json", "--count", "3", "--siblings", "0+1,2+3,4+5,6+7"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = coretwin(machine.folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.lines().all(|line| line.contains("\"origin\":\"measured\"")), "{}", ran.out);
    let windows: Vec<Snapshot> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("a snapshot")).collect();
    assert_eq!(windows.len(), 3);
    for window in &windows {
        assert_eq!((window.machine.cpus, window.machine.cores), (8, 4));
        for core in &window.cores {
            let sum: f64 = core.by_busy_share.iter().map(|share| share.value).sum();
            assert!((sum - 1.0).abs() < 1e-6, "core {}: {sum}", core.core);
        }
    }
    let last = &windows[2];
    assert!(last.short.is_some() && last.tasks.len() >= 5, "{last:?}");
    let together = last.pairs.iter().find(|pair| (pair.a_tid, pair.b_tid) == (1000, 1001));
    assert!(together.is_some_and(|pair| pair.seen && pair.lost_s.high > 0.0), "{:?}", last.pairs);
    // A reader that leaves is no error.
    let line = format!("{CORETWIN} {} | head -n 1", top(&machine, &["--json"]).join(" "));
    let ran = Command::new("sh").args(["-c", &line]).output().expect("sh");
    assert_eq!(ran.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert!(ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn cpus_that_go_offline_are_followed() {
    let machine = Machine::start();
    let mut session = session(&machine, 24, 80, &[]);
    session.until("a screen", |screen| screen.contains("8 CPUs, 4 cores"));
    let cpus = "sys/devices/system/cpu";
    machine.write(&format!("{cpus}/cpu7/online"), "0\n");
    std::fs::remove_dir_all(machine.folder.path().join(format!("{cpus}/cpu7/topology")))
        .expect("x");
    machine.write(&format!("{cpus}/cpu6/topology/core_cpus_list"), "6\n");
    machine.write(&format!("{cpus}/cpu6/topology/thread_siblings_list"), "6\n");
    machine.write(&format!("{cpus}/offline"), "7\n");
    machine.write(&format!("{cpus}/online"), "0-6\n");
    session.until("seven CPUs", |screen| screen.contains("7 CPUs, 4 cores, offline 7"));
    session.send("q");
    assert_eq!(session.end(), Some(0));
}

/// A program that runs, ended when dropped.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_endpoint_serves_what_a_parser_reads_and_ends_by_a_signal() {
    use std::io::{BufRead, BufReader, Read, Write};
    let machine = Machine::start();
    let mut child = Command::new(CORETWIN)
        .args(top(&machine, &["--openmetrics", "127.0.0.1:0"]))
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut news = String::new();
    let stderr = child.stderr.take().expect("piped");
    let mut running = Running(child);
    BufReader::new(stderr).read_line(&mut news).expect("news");
    let address = news.trim().strip_prefix("serving http://").expect("address");
    let address = address.strip_suffix("/metrics").expect("path");
    let asked = || {
        let mut stream = std::net::TcpStream::connect(address).expect("connected");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answer");
        answer
    };
    let mut answer = asked();
    while !answer.contains("coretwin_windows_total 2") {
        assert!(answer.contains("200 OK") || answer.contains("503 "), "{answer}");
        std::thread::sleep(Duration::from_millis(50));
        answer = asked();
    }
    let (_, body) = answer.split_once("\r\n\r\n").expect("body");
    openmetrics_parser::openmetrics::parse_openmetrics(body).expect("OpenMetrics");
    assert!(body.contains("coretwin_core_seconds_total{cpus=\"0-1\",package=\"0\",busy=\"2\"}"));
    let id = rustix::process::Pid::from_child(&running.0);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("signal");
    assert_eq!(running.0.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_textfile_is_written_and_slips_are_refused_with_a_sentence() {
    let machine = Machine::start();
    let path = machine.folder.path().join("coretwin.prom");
    let run = |more: &[&str]| {
        let args = top(&machine, more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        coretwin(machine.folder.path(), &args)
    };
    let ran = run(&["--openmetrics", path.to_str().expect("path"), "--count", "1"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{}", ran.err);
    let text = std::fs::read_to_string(&path).expect("file");
    openmetrics_parser::prometheus::parse_prometheus(&text).expect("Prometheus text");
    for (args, status, part) in [
        (vec!["--openmetrics", "0.0.0.0:9741"], 2, "--allow-remote"),
        (vec!["--openmetrics", "db1:9741"], 2, "neither a file nor an address"),
        (
            vec!["--openmetrics", "/no/such/folder/x.prom", "--count", "1"],
            3,
            "/no/such/folder/x.prom",
        ),
        (vec!["--openmetrics", "203.0.113.1:1", "--allow-remote"], 3, "203.0.113.1:1"),
        (vec!["--json", "--interval", "1ms"], 2, "0.2s to 10m"),
        (vec!["--json", "--sort", "shard"], 2, "shared"),
        (vec!["--json", "--siblings", "0+99"], 2, "CPU 99"),
    ] {
        let ran = run(&args);
        assert_eq!(ran.status, status, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

fn packaging(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    std::fs::read_to_string(&path).expect(name)
}

#[test]
fn the_dashboard_asks_for_metrics_that_are_exported() {
    let text = packaging("grafana-dashboard.json");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let mut asked: Vec<&str> =
        targets.map(|target| target["expr"].as_str().expect("expr")).collect();
    assert!(asked.len() >= 20);
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    asked.extend(variables.iter().filter_map(|variable| variable["definition"].as_str()));
    let exported: Vec<String> = coretwin_top::openmetrics::metrics::METRICS
        .iter()
        .map(|metric| {
            let total = if metric.family.counter { "_total" } else { "" };
            format!("{}{total}", metric.family.name)
        })
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for expression in asked {
        let words =
            expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        names.extend(words.filter(|word| word.starts_with("coretwin_")));
    }
    for name in &names {
        assert!(exported.iter().any(|known| known == name), "{name} is not exported");
    }
    let shown = exported.iter().filter(|name| names.contains(&name.as_str())).count();
    assert!(shown + 5 >= exported.len(), "{shown} of {} are shown", exported.len());
}

#[test]
fn the_unit_is_sound_and_its_command_line_is_accepted() {
    let unit = packaging("coretwin-top.service");
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("command");
    let (program, rest) = command.split_once(' ').expect("arguments");
    // Another port, so that it runs beside one that is installed.
    let args: Vec<&str> = rest.split(' ').map(|arg| arg.trim_end_matches("9741")).collect();
    let last = format!("{}0", args.last().expect("an address"));
    let machine = Machine::start();
    let mut line = args[..args.len() - 1].to_vec();
    line.extend([last.as_str(), "--count", "1", "--root", machine.root()]);
    let ran = coretwin(machine.folder.path(), &line);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("coretwin-top.service");
    std::fs::write(&path, unit.replace(program, CORETWIN)).expect("unit");
    // Machines without manual pages have no proc(5) to refer to.
    match Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output() {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr).into_owned();
            assert!(verified.status.success() && !said.contains(".service:"), "{said}");
        }
        Err(missing) => skipped(&format!("systemd-analyze is not here: {missing}")),
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn skipped(why: &str) {
    eprintln!("not checked: {why}");
}
