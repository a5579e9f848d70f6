//! Guards and what they guard, killed at random moments: the machine is put back every time, and no
//! guard stays behind.
//!
//! A fake kernel runs in this process; holders and guards are processes of this same program, which
//! write to it through a socket, so that the kernel outlives whoever writes. `CORETWIN_KILLS` sets
//! the number of rounds, `CORETWIN_SEED` the seed of their moments and victims.

#![expect(clippy::print_stdout, reason = "a test without a harness says itself what it did")]

use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::random::Stream;
use coretwin_host::fake::kernel::{FakeKernel, Release};
use coretwin_host::fake::machine;
use coretwin_host::process::{adopt_orphans, descendants};
use coretwin_host::root::Root;
use coretwin_host::smt::guard::{self, Launch, Start};
use coretwin_host::smt::kernel::Kernel;
use coretwin_host::smt::restore;
use coretwin_host::smt::saved::Slot;
use coretwin_host::smt::session::Session;
use coretwin_host::smt::target::Target;
use coretwin_host::smt::writer;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The root of the fake machine, for processes started here; they are also known by it.
const ROOT: &str = "CORETWIN_TEST_ROOT";
/// How long guards may take to end; generous, the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rounds unless asked otherwise.
const ROUNDS: u64 = 18;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["smt", "guard", "--slot", slot, "--holder", holder, ref how @ ..] => {
            be_guard(slot, holder, how);
        }
        ["holder"] => be_holder(),
        ["one-change-by-hand"] => be_hand(),
        _ => test(),
    }
    ExitCode::SUCCESS
}

fn root() -> Root {
    Root::at(std::env::var_os(ROOT).expect("the root is in the environment"))
}

fn be_guard(slot: &str, holder: &str, how: &[&str]) {
    let start = match how {
        ["--detach"] => Start::Detach,
        ["--understudy"] => Start::Understudy,
        _ => Start::Plain,
    };
    let (slot, holder) = (Slot::named(slot).expect("slot"), holder.parse().expect("holder"));
    let root = root();
    let _ = guard::run(&root, &Remote::new(&root), slot, holder, start);
}

/// The fake machine shows this process as the real one does.
fn show_ourselves(root: &Root) {
    let own = format!("proc/{}", std::process::id());
    std::os::unix::fs::symlink(format!("/{own}"), root.path(&own)).expect("link");
}

/// Switches until it is killed.
fn be_holder() {
    let root = root();
    show_ourselves(&root);
    let kernel = Box::new(Remote::new(&root));
    let mut session =
        Session::open(&root, kernel, Box::new(Launch::ourselves())).expect("a session");
    // As a study does.
    adopt_orphans().expect("a reaper");
    for target in [Target::Off, Target::On].into_iter().cycle() {
        session.apply(target).expect("switched");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Switches by hand, once.
fn be_hand() {
    let root = root();
    show_ourselves(&root);
    let changed = coretwin_host::smt::hand::change(
        &root,
        &Remote::new(&root),
        &mut Launch::ourselves(),
        Target::Off,
    );
    changed.expect("switched");
}

/// A kernel in another process.
struct Remote {
    socket: std::path::PathBuf,
}

impl Remote {
    fn new(root: &Root) -> Self {
        Self { socket: root.path("kernel") }
    }

    fn ask(&self, request: &str) -> io::Result<()> {
        let mut stream = UnixStream::connect(&self.socket)?;
        writeln!(stream, "{}\t{request}", std::process::id())?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        match answer.trim().parse() {
            Ok(0) => Ok(()),
            Ok(errno) => Err(io::Error::from_raw_os_error(errno)),
            Err(_) => Err(io::Error::other("the kernel is gone")),
        }
    }
}

impl Kernel for Remote {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.ask(&format!("write\t{path}\t{}", text.trim()))
    }

    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        self.ask(&format!("affinity\t{task}\t{cpus}"))
    }
}

/// Who was killed. Held while a write is done and while somebody is killed: a real kernel finishes a
/// write that was begun before the process that asked for it is seen to be dead, and what a killed
/// process had not begun never happens.
static KILLED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Answers writes until the test ends.
fn serve(kernel: &Arc<FakeKernel>) {
    let listener = UnixListener::bind(kernel.root().path("kernel")).expect("socket");
    let kernel = Arc::clone(kernel);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut request = String::new();
            let Ok(_) = BufReader::new(&stream).read_line(&mut request) else { continue };
            let words: Vec<&str> = request.trim_end().split('\t').collect();
            let [asker, words @ ..] = &words[..] else { continue };
            let killed = KILLED.lock().expect("killed");
            if killed.iter().any(|process| process.to_string() == **asker) {
                continue;
            }
            let done = match words[..] {
                ["write", path, text] => kernel.write(path, text),
                ["write", path] => kernel.write(path, ""),
                ["affinity", task, cpus] => kernel
                    .set_affinity(task.parse().expect("task"), &CpuSet::parse(cpus).expect("CPUs")),
                _ => continue,
            };
            drop(killed);
            // Real CPUs take their time as well; kills meet it.
            std::thread::sleep(Duration::from_millis(1));
            let errno = done.map_or_else(|error| error.raw_os_error().unwrap_or(5), |()| 0);
            let _ = writeln!(&stream, "{errno}");
        }
    });
}

/// A machine with everything that a switch disturbs.
fn boot(folder: &std::path::Path, release: Release) -> Arc<FakeKernel> {
    let fake = machine("offline-by-hand").expect("machine");
    let kernel = FakeKernel::boot(fake, release, folder).expect("boots");
    kernel.add_interrupt(24, "nvme0q3", "6", true).expect("interrupt");
    kernel.add_interrupt(25, "eth0", "4,6", false).expect("interrupt");
    kernel.add_group("jobs", "1-2,4,6", None).expect("group");
    kernel.add_group("jobs/a", "4", None).expect("group");
    let kernel = Arc::new(kernel);
    serve(&kernel);
    kernel
}

fn start(root: &Root, role: &str) -> Child {
    Command::new(std::env::current_exe().expect("own program"))
        .arg(role)
        .env(ROOT, root.folder())
        .stdin(Stdio::null())
        .spawn()
        .expect("starts")
}

/// Every process of this machine's guards and holders that lives.
fn processes(root: &Root) -> Vec<u32> {
    let mark = format!("{ROOT}={}", root.folder().display());
    let all = std::fs::read_dir("/proc").expect("proc").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let marked = |process: &u32| {
        // That of a zombie is empty.
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    numbers.filter(marked).collect()
}

/// Leader and understudy, once they stand.
fn guards(root: &Root) -> Option<[u32; 2]> {
    let text = root.text(&Slot::Study.guard_lock()).ok()?;
    let record: serde_json::Value = serde_json::from_str(&text).ok()?;
    let number = |name: &str| u32::try_from(record[name].as_u64()?).ok().filter(|n| *n > 0);
    record["ready"].as_bool()?.then_some([number("leader")?, number("understudy")?])
}

fn kill(process: u32) {
    let mut killed = KILLED.lock().expect("killed");
    send(process, Signal::KILL);
    killed.push(process);
}

fn send(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process");
    let _ = kill_process(pid, signal);
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "it took too long until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Who is killed, in which order; at the end the holder always is.
const VICTIMS: [&[Role]; 9] = [
    &[Role::Holder],
    &[Role::Leader],
    &[Role::Understudy],
    &[Role::Holder, Role::Leader],
    &[Role::Leader, Role::Holder],
    &[Role::Understudy, Role::Holder],
    &[Role::Leader, Role::Understudy],
    &[Role::Understudy, Role::Leader],
    &[Role::Holder, Role::Leader, Role::Understudy],
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Holder,
    Leader,
    Understudy,
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn test() {
    let (rounds, seed) = (setting("CORETWIN_KILLS", ROUNDS), setting("CORETWIN_SEED", 1));
    let mut stream = Stream::new(seed, "guard", 0);
    for round in 0..rounds {
        let victims = VICTIMS[(round % VICTIMS.len() as u64) as usize];
        kill_once(&format!("seed {seed}, round {round}, {victims:?}"), victims, &mut stream);
    }
    for round in 0..rounds.div_ceil(3) {
        kill_by_hand(&format!("seed {seed}, by hand, round {round}"), &mut stream);
    }
    by_hand_is_kept();
    a_torn_record_and_a_slow_understudy();
    the_next_waits_for_the_undo_of_the_last();
    one_that_cannot_stand_says_why();
    println!("{rounds} rounds of a study and {} by hand: restored", rounds.div_ceil(3));
}

fn kill_once(what: &str, victims: &[Role], stream: &mut Stream) {
    let folder = tempfile::tempdir().expect("folder");
    let release = Release::ALL[stream.below(4) as usize];
    let kernel = boot(folder.path(), release);
    let root = kernel.root().clone();
    let found = kernel.facts();
    let mut holder = start(&root, "holder");
    // Only the holder can be killed before a guard stands.
    let early = victims == [Role::Holder] && stream.below(2) == 0;
    if !early {
        wait_until("a guard stands", || guards(&root).is_some());
    }
    std::thread::sleep(Duration::from_micros(stream.below(60_000)));
    let known = guards(&root);
    for victim in victims {
        match (victim, known) {
            (Role::Holder, _) => kill(holder.id()),
            (Role::Leader, Some([leader, _])) => kill(leader),
            (Role::Understudy, Some([_, understudy])) => kill(understudy),
            (_, None) => {}
        }
        if stream.below(2) == 0 {
            std::thread::sleep(Duration::from_micros(stream.below(3_000)));
        }
    }
    if !victims.contains(&Role::Holder) {
        let replaced =
            |now: [u32; 2]| known.is_none_or(|known| now[0] != known[0] && now[1] != known[1]);
        if victims.len() == 2 {
            wait_until(&format!("the guard is replaced: {what}"), || {
                guards(&root).is_some_and(replaced)
            });
            // A study ends its descendants when a worker fails.
            let inherited = descendants(&Root::system(), holder.id());
            let [leader, understudy] = guards(&root).expect("guards");
            assert!(!inherited.contains(&leader) && !inherited.contains(&understudy), "{what}");
            std::thread::sleep(Duration::from_micros(stream.below(20_000)));
        }
        kill(holder.id());
    }
    holder.wait().expect("reaped");
    wait_until(&format!("all guards are gone: {what}"), || processes(&root).is_empty());
    if victims.len() < 3 {
        assert!(!root.exists(&Slot::Study.guard_lock()), "a lock is left: {what}");
    }
    if root.exists(&Slot::Study.file()) {
        assert_eq!(victims.len(), 3, "not restored: {what}");
        let restored = restore::restore_slot(&root, &*kernel, Slot::Study).expect("restored");
        assert!(restored.expect("a state").is_complete(), "{what}");
    }
    assert_eq!(kernel.facts(), found, "{what} on {}", release.name);
}

/// A change by hand, killed half way or just after: as it was found, or off and kept.
fn kill_by_hand(what: &str, stream: &mut Stream) {
    let folder = tempfile::tempdir().expect("folder");
    let kernel = boot(folder.path(), Release::ALL[stream.below(4) as usize]);
    let root = kernel.root().clone();
    let found = kernel.facts();
    let mut holder = start(&root, "one-change-by-hand");
    std::thread::sleep(Duration::from_micros(stream.below(60_000)));
    kill(holder.id());
    holder.wait().expect("reaped");
    wait_until(&format!("all guards are gone: {what}"), || processes(&root).is_empty());
    if root.exists(&Slot::Hand.file()) {
        assert_eq!(kernel.facts()["smt/control"], "off", "{what}");
        let restored = restore::restore_slot(&root, &*kernel, Slot::Hand).expect("restored");
        assert!(restored.expect("a state").is_complete(), "{what}");
    }
    assert_eq!(kernel.facts(), found, "{what}");
}

/// An understudy takes over whatever its leader was about when it died, however long it takes.
fn a_torn_record_and_a_slow_understudy() {
    let folder = tempfile::tempdir().expect("folder");
    let kernel = boot(folder.path(), Release::ALL[3]);
    let root = kernel.root().clone();
    let found = kernel.facts();
    let mut holder = start(&root, "holder");
    for torn in [true, false] {
        wait_until("a guard stands", || guards(&root).is_some());
        let [leader, understudy] = guards(&root).expect("guards");
        send(if torn { holder.id() } else { understudy }, Signal::STOP);
        if torn {
            std::fs::write(root.path(&Slot::Study.guard_lock()), "{").expect("torn");
        }
        kill(leader);
        if torn {
            wait_until("the understudy leads", || guards(&root).is_some());
        } else {
            // The holder looks for its guard meanwhile.
            std::thread::sleep(Duration::from_millis(100));
        }
        send(if torn { holder.id() } else { understudy }, Signal::CONT);
        wait_until("another leads", || guards(&root).is_some_and(|now| now[0] != leader));
        assert_eq!(guards(&root).expect("guards")[0], understudy, "torn: {torn}");
    }
    kill(holder.id());
    holder.wait().expect("reaped");
    wait_until("all guards are gone", || processes(&root).is_empty());
    assert_eq!(kernel.facts(), found);
}

/// A study that is started while the guard of one that was killed is still at work.
fn the_next_waits_for_the_undo_of_the_last() {
    let folder = tempfile::tempdir().expect("folder");
    let kernel = boot(folder.path(), Release::ALL[3]);
    let root = kernel.root().clone();
    let found = kernel.facts();
    let mut first = start(&root, "holder");
    wait_until("a guard stands", || guards(&root).is_some());
    let [leader, _] = guards(&root).expect("guards");
    send(leader, Signal::STOP);
    kill(first.id());
    first.wait().expect("reaped");
    let mut second = start(&root, "holder");
    std::thread::sleep(Duration::from_millis(100));
    send(leader, Signal::CONT);
    wait_until("another guard stands", || guards(&root).is_some_and(|now| now[0] != leader));
    assert!(second.try_wait().expect("asked").is_none(), "it was refused");
    kill(second.id());
    second.wait().expect("reaped");
    wait_until("all guards are gone", || processes(&root).is_empty());
    assert_eq!(kernel.facts(), found);
}

/// Nobody sees what a guard prints, so it tells the log.
fn one_that_cannot_stand_says_why() {
    let folder = tempfile::tempdir().expect("folder");
    let root = Root::at(folder.path());
    std::fs::create_dir_all(root.path(&Slot::Study.guard_lock())).expect("in its way");
    let ended = Command::new(std::env::current_exe().expect("own program"))
        .args(["smt", "guard", "--slot", "study", "--holder", "1:2:0"])
        .env(ROOT, root.folder())
        .status();
    ended.expect("ends");
    let log = root.text("run/coretwin/smt-guard.log").expect("a log");
    assert!(log.contains("process 1 cannot stand") && log.contains("smt-study.guard"), "{log}");
}

/// A change by hand that is not disturbed outlives its process, and its guard goes, even while
/// somebody else writes who waits for its end.
fn by_hand_is_kept() {
    let folder = tempfile::tempdir().expect("folder");
    let kernel = boot(folder.path(), Release::ALL[3]);
    let root = kernel.root().clone();
    let found = kernel.facts();
    let mut holder = start(&root, "one-change-by-hand");
    wait_until("the state is saved", || root.exists(&Slot::Hand.file()));
    let writer = writer::wait(&root).expect("after the change");
    assert!(holder.wait().expect("ends").success());
    wait_until("all guards are gone", || processes(&root).is_empty());
    drop(writer);
    assert_eq!(kernel.facts()["smt/control"], "off");
    assert!(root.exists(&Slot::Hand.file()));
    let restored = restore::restore_slot(&root, &*kernel, Slot::Hand).expect("restored");
    assert!(restored.expect("a state").is_complete());
    assert_eq!(kernel.facts(), found);
}
