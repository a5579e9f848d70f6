//! Killed at any moment: whoever switches or restores dies at a write or in between, the kernel
//! refuses now and then, and in the end the machine is as it was, or the report says exactly what
//! is left to do.
//!
//! The fake kernel lives in the test's own process, as a real one outlives its processes: what a
//! killed process asked for before it died is done. The processes are this program again, told by
//! their environment what to be.
//!
//! `CORETWIN_KILLS` sets how many (100 by default, 500 in `make check-all`), `CORETWIN_SEED` the
//! seed.

use crate::machine::{Machine, Nobody, assert_exact, changed};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::random::Stream;
use coretwin_host::fake::kernel::{Fault, Release};
use coretwin_host::root::Root;
use coretwin_host::smt::hand;
use coretwin_host::smt::kernel::Kernel;
use coretwin_host::smt::restore::restore_slot;
use coretwin_host::smt::saved::Slot;
use coretwin_host::smt::session::Session;
use coretwin_host::smt::target::Target;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

const ROLE: &str = "CORETWIN_TEST_ROLE";
const DEATH: &str = "CORETWIN_TEST_DEATH";
const FOLDER: &str = "CORETWIN_TEST_FOLDER";
const SOCKET: &str = "kernel.socket";

/// A kernel in another process. Its owner can be made to die at one of its writes.
struct Remote {
    stream: Mutex<BufReader<UnixStream>>,
    death: Option<Death>,
}

/// At the n-th write, before it is asked for or once it is (the answer is not waited for).
#[derive(Clone, Copy)]
struct Death {
    write: u64,
    asked: bool,
}

impl Remote {
    fn connect(root: &Root) -> Self {
        let stream = UnixStream::connect(root.path(SOCKET)).expect("kernel");
        let word = std::env::var(DEATH).unwrap_or_default();
        let death = word.split_once(' ').map(|(write, when)| Death {
            write: write.parse().expect("number"),
            asked: when == "asked",
        });
        Self { stream: Mutex::new(BufReader::new(stream)), death }
    }

    fn ask(&self, path: &str, text: &str) -> io::Result<()> {
        let mut stream = self.stream.lock().expect("lock");
        let number = WRITES.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let death = self.death.filter(|death| death.write == number);
        if death.is_some_and(|death| !death.asked) {
            std::process::abort();
        }
        stream.get_mut().write_all(format!("{path}\t{text}\n").as_bytes())?;
        if death.is_some() {
            std::process::abort();
        }
        let mut answer = String::new();
        stream.read_line(&mut answer)?;
        match answer.trim().parse() {
            Ok(0) => Ok(()),
            Ok(errno) => Err(io::Error::from_raw_os_error(errno)),
            Err(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

static WRITES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

impl Kernel for Remote {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.ask(path, text.trim())
    }

    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        self.ask(&format!("affinity/{task}"), &cpus.to_string())
    }
}

/// Answers one process until it closes its end or dies; what it asked for last is still done.
fn serve(machine: &Machine, stream: UnixStream) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
        let Some((path, text)) = line.trim_end_matches('\n').split_once('\t') else { return };
        let done = match path.strip_prefix("affinity/") {
            Some(task) => {
                let cpus = CpuSet::parse(text).expect("list");
                machine.kernel.set_affinity(task.parse().expect("task"), &cpus)
            }
            None => machine.kernel.write(path, text),
        };
        let errno = done.err().map_or(0, |error| error.raw_os_error().expect("errno"));
        let _ = reader.get_mut().write_all(format!("{errno}\n").as_bytes());
        line.clear();
    }
}

/// What a child is; a test that does nothing unless its environment says so.
#[test]
fn a_child_of_the_kill_test() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let root = Root::at(std::env::var(FOLDER).expect("folder"));
    let kernel = Remote::connect(&root);
    match role.as_str() {
        "study" => {
            let mut session =
                Session::open(&root, Box::new(kernel), Box::new(Nobody)).expect("opened");
            for target in [Target::Off, Target::On, Target::Off] {
                let _ = session.apply(target);
            }
            let _ = session.as_found();
            let _ = session.apply(Target::Off);
            let _ = session.close();
        }
        "hand" => {
            for target in [Target::Off, Target::On, Target::Off] {
                let _ = hand::change(&root, &kernel, &mut Nobody, target);
            }
        }
        "guard" => {
            for slot in Slot::ALL {
                let _ = restore_slot(&root, &kernel, slot);
            }
        }
        other => panic!("there is no role {other}"),
    }
}

/// How a child ends, if not by itself.
#[derive(Debug, Clone, Copy)]
enum End {
    AtWrite(u64, &'static str),
    Killed(Duration),
}

fn draw_end(stream: &mut Stream, writes: u64) -> End {
    match stream.below(3) {
        0 => End::AtWrite(stream.below(writes), "before"),
        1 => End::AtWrite(stream.below(writes), "asked"),
        _ => End::Killed(Duration::from_micros(stream.below(30_000))),
    }
}

/// Runs a child to its end, which is sudden, and lets the kernel finish what it was asked for.
/// Whether it was killed.
fn run(machine: &Machine, listener: &UnixListener, role: &str, end: End) -> bool {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "kills::a_child_of_the_kill_test", "--nocapture"])
        .env(ROLE, role)
        .env(FOLDER, machine.root.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let End::AtWrite(write, when) = end {
        command.env(DEATH, format!("{write} {when}"));
    }
    let mut child: Child = command.spawn().expect("starts");
    let (stream, _) = listener.accept().expect("it connects first");
    std::thread::scope(|scope| {
        let kernel = scope.spawn(|| serve(machine, stream));
        if let End::Killed(after) = end {
            std::thread::sleep(after);
            let _ = child.kill();
        }
        let status = child.wait().expect("ends");
        kernel.join().expect("served");
        assert!(status.success() || status.signal().is_some(), "{role} {end:?}: {status}");
        status.signal().is_some()
    })
}

const ERRNOS: [Errno; 4] = [Errno::PERM, Errno::BUSY, Errno::INVAL, Errno::NODEV];

/// Something for the kernel to refuse: the `round`-th errno at the `round`-th write, and in every
/// third round for good.
fn draw_fault(stream: &mut Stream, round: u64, machine: &Machine) -> Vec<Fault> {
    let errno = ERRNOS[(round % 4) as usize];
    let once = Fault::Write(round / 4 % 40, errno);
    let paths = [
        "sys/devices/system/cpu/smt/control",
        "sys/devices/system/cpu/cpu",
        "sys/fs/cgroup",
        "proc/irq/24",
        "affinity",
    ];
    match round % 3 {
        0 if stream.below(2) == 0 => {
            let online: Vec<CpuId> = machine.online().iter().collect();
            let stuck = online[stream.below(online.len() as u64) as usize];
            vec![once, Fault::Stuck(stuck, errno)]
        }
        0 => vec![once, Fault::Path(paths[stream.below(5) as usize].to_owned(), errno)],
        _ => vec![once],
    }
}

fn kill_once(seed: u64, round: u64) -> Round {
    let mut stream = Stream::new(seed, "switch kills", round);
    let names = ["offline-by-hand", "vm-adjacent", "smt-off", "power-smt4-sparse", "article-xeon"];
    let name = names[stream.below(names.len() as u64) as usize];
    let release = Release::ALL[stream.below(4) as usize];
    let machine = Machine::furnished(name, release);
    let before = machine.facts();
    let listener = UnixListener::bind(machine.root.path(SOCKET)).expect("socket");
    let faults = draw_fault(&mut stream, round, &machine);
    for fault in &faults {
        machine.kernel.add_fault(fault.clone());
    }
    let role = if stream.below(4) == 0 { "hand" } else { "study" };
    let mut kills = 0;
    let mut story = format!("seed {seed}, round {round}: {name} {release:?}, {faults:?}");
    let end = draw_end(&mut stream, 30);
    kills += u64::from(run(&machine, &listener, role, end));
    story.push_str(&format!(", {role} {end:?}"));
    // Guards die too, one after the other.
    for _ in 0..stream.below(3) {
        let end = draw_end(&mut stream, 12);
        kills += u64::from(run(&machine, &listener, "guard", end));
        story.push_str(&format!(", guard {end:?}"));
    }

    // The guard that lives, or the user, with a kernel that still refuses what it refuses.
    let half_way = !changed(&before, &machine.facts()).is_empty();
    let (mut complete, mut managed) = (true, BTreeSet::new());
    for slot in Slot::ALL {
        let restored = restore_slot(&machine.root, &*machine.kernel, slot);
        let restored = restored.unwrap_or_else(|error| panic!("{story}: {error}"));
        if let Some(restored) = restored {
            assert_exact(&before, &machine.facts(), &restored, &story);
            complete &= restored.is_complete();
            let fixed = restored.differences.into_iter().filter(|difference| difference.managed);
            managed.extend(fixed.map(|difference| difference.what));
        }
        assert_eq!(machine.root.exists(&slot.file()), !complete, "{story}");
        if !complete {
            break;
        }
    }
    if complete {
        let left = changed(&before, &machine.facts());
        // A kernel that forbids it says that it places the interrupt itself; a guard that died
        // later may have taken note of that already.
        if faults.contains(&Fault::Path("proc/irq/24".to_owned(), Errno::PERM)) {
            managed.insert("interrupt 24".to_owned());
        }
        assert!(left.is_subset(&managed), "{story}: {left:?}");
    } else {
        machine.kernel.clear_faults();
        for slot in Slot::ALL {
            let later = restore_slot(&machine.root, &*machine.kernel, slot).expect("restored");
            assert!(later.is_none_or(|later| later.is_complete()), "{story}");
        }
        let left = changed(&before, &machine.facts());
        assert!(left.is_empty(), "{story}, once nothing was refused: {left:?}");
    }
    Round { kills, half_way }
}

/// What a round gave.
struct Round {
    kills: u64,
    /// Whether the machine was not as it should be when the last killed process was dead.
    half_way: bool,
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn killed_at_any_moment_all_is_put_back_or_reported() {
    let seed = setting("CORETWIN_SEED", 1);
    let wanted = setting("CORETWIN_KILLS", 100);
    let (mut kills, mut half_way, mut round) = (0, 0, 0);
    while kills < wanted {
        let done = kill_once(seed, round);
        kills += done.kills;
        half_way += u64::from(done.half_way);
        round += 1;
    }
    let count = format!("{kills} kills in {round} rounds, seed {seed}, {half_way} half-way");
    let _ = writeln!(io::stderr(), "{count}");
    let _ = writeln!(io::stdout(), "\ndid: {kills} kills of switches");
    assert!(half_way * 5 > round, "the moments are not where they hurt: {count}");
}
