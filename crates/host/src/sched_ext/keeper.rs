//! The process that holds a loaded scheduler: `coretwin sched keep`. Here it is started and ended by
//! others; what it does itself is written where the program is.
//!
//! It says in one line on its standard output whether it loaded. One that belongs to a study holds the
//! study's life line, its standard input: when that closes, for whatever reason, it unloads and ends.

use super::State;
use super::record::{self, Record};
use crate::process::{Group, pid};
use crate::root::Root;
use crate::smt::capture;
use crate::smt::guard::Life;
use crate::smt::saved::Holder;
use coretwin_base::simulation::live::Options;
use coretwin_base::study::arm::KERNEL;
use rustix::io::Errno;
use rustix::process::{Signal, kill_process, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long loading may take: the kernel verifies the program, which takes a second on an emulated
/// machine that is idle.
const LOADING: Duration = Duration::from_secs(60);
/// How long unloading may take before it is killed: the kernel moves every task to another class.
const UNLOADING: Duration = Duration::from_secs(20);
/// How long the kernel may take to finish after the process is gone.
const SETTLING: Duration = Duration::from_secs(20);
const GLANCE: Duration = Duration::from_millis(5);
/// Longest message of a keeper, in bytes.
const ANSWER_MAX: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Loaded,
    Refused(String),
}

#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("{0}")]
    Start(crate::Error),
    #[error("{0}")]
    Refused(String),
    #[error(
        "the process that loads the scheduler gave no answer within {} s ({said}); look in the kernel log \
         (dmesg)",
        LOADING.as_secs()
    )]
    Silent {
        /// What it wrote on standard error.
        said: String,
    },
    #[error(
        "{scheduler} is still in charge though its process ended; look in the kernel log (dmesg), and \
         write S to /proc/sysrq-trigger to have the kernel unload it"
    )]
    Stays { scheduler: String },
    #[error(
        "process {process}, which holds the scheduler, cannot be ended: {cause}; try it as root"
    )]
    Signal { process: u32, cause: std::io::Error },
}

/// A keeper that belongs to this process. Dropping it unloads.
#[derive(Debug)]
pub struct Keeper {
    group: Group,
    life: Option<ChildStdin>,
    /// Where it complains; kept open, for nobody may write where nobody can read.
    complaints: ChildStderr,
}

/// The command of a keeper: for the study of that process id, or for nobody in particular.
pub fn command(program: &Path, options: &Options, study: Option<u32>) -> Command {
    let mut command = Command::new(program);
    command.args(["sched", "keep"]);
    if let Some(study) = study {
        command.args(["--study", &study.to_string()]);
    }
    if options.policy().name != Options::default().policy().name {
        command.args(["--policy", options.policy().name]);
    }
    for pair in options.changed() {
        command.args(["--set", &pair]);
    }
    command
}

impl Keeper {
    /// Starts a keeper and waits until the scheduler is in charge. Errors: [`KeeperError::Start`],
    /// [`KeeperError::Refused`] or [`KeeperError::Silent`]; then nothing is loaded.
    pub fn start(command: &mut Command) -> Result<Self, KeeperError> {
        let (group, pipes) = Group::start(command).map_err(KeeperError::Start)?;
        let mut keeper = Self { group, life: Some(pipes.stdin), complaints: pipes.stderr };
        match answer(pipes.stdout) {
            Some(Answer::Loaded) => Ok(keeper),
            Some(Answer::Refused(why)) => Err(KeeperError::Refused(why)),
            None => {
                keeper.end();
                let mut said = String::new();
                let _ = (&mut keeper.complaints).take(4096).read_to_string(&mut said);
                Err(KeeperError::Silent { said: said.trim().to_owned() })
            }
        }
    }

    pub fn process(&self) -> u32 {
        self.group.id()
    }

    /// Unloads, and waits until the kernel's own scheduler is in charge.
    pub fn unload(mut self, root: &Root) -> Result<(), KeeperError> {
        self.end();
        settle(root)
    }

    /// Lets go of it; one that does not end by itself is killed.
    fn end(&mut self) {
        drop(self.life.take());
        // Also when the system refuses to wait: dropping the group kills it.
        let _ = self.group.wait(UNLOADING);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts a keeper that outlives this process, and gives its id once the scheduler is in charge.
pub fn detach(command: &mut Command) -> Result<u32, KeeperError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = command.spawn();
    let mut child =
        started.map_err(|cause| KeeperError::Start(crate::Error::Start { program, cause }))?;
    let said = child.stdout.take().and_then(answer);
    match said {
        Some(Answer::Loaded) => Ok(child.id()),
        Some(Answer::Refused(why)) => {
            let _ = child.wait();
            Err(KeeperError::Refused(why))
        }
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(KeeperError::Silent { said: String::new() })
        }
    }
}

/// The line in which a keeper tells; none if it does not come. Read in a thread, which ends with the
/// keeper at the latest.
fn answer(output: impl Read + Send + 'static) -> Option<Answer> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(output.take(ANSWER_MAX)).read_line(&mut line);
        let _ = sender.send(line);
    });
    serde_json::from_str(&receiver.recv_timeout(LOADING).ok()?).ok()
}

/// Ends the keeper of a record, and waits until the kernel's own scheduler is in charge: first
/// asked, then killed.
pub fn stop(root: &Root, record: &Record) -> Result<(), KeeperError> {
    end(root, &record.keeper, Life::of, &[Signal::TERM, Signal::KILL])?;
    settle(root)
}

/// Ends the keeper that a study left behind, if there is one: what a guard does before it puts the
/// machine back. Its life line ends it anyway; this is for one that does not listen.
pub(crate) fn end_of_study(root: &Root, study: &Holder) {
    let Ok(Some(record)) = record::read(root) else { return };
    let is_its = |holder: &Holder| {
        (holder.process, holder.started_ticks) == (study.process, study.started_ticks)
    };
    if record.study.as_ref().is_some_and(is_its) && record.is_kept(root) {
        let _ = end(root, &record.keeper, Life::of, &[Signal::KILL]);
        let _ = settle(root);
    }
}

/// Sends one signal after the other until the process has ended. Where the kernel gives no descriptor
/// of it, its number is signalled, just after `life` has compared its start.
fn end(
    root: &Root,
    keeper: &Holder,
    life: fn(&Root, &Holder) -> Life,
    signals: &[Signal],
) -> Result<(), KeeperError> {
    let process = keeper.process;
    let pid = pid(process).ok_or(Errno::SRCH);
    for signal in signals {
        let sent = match life(root, keeper) {
            Life::Ended => break,
            Life::Watched(descriptor) => pidfd_send_signal(descriptor, *signal),
            Life::Unwatched => pid.and_then(|pid| kill_process(pid, *signal)),
        };
        match sent {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => return Err(KeeperError::Signal { process, cause: errno.into() }),
        }
        let sent = Instant::now();
        while capture::is_alive(root, keeper) && sent.elapsed() < UNLOADING {
            std::thread::sleep(GLANCE);
        }
    }
    Ok(())
}

fn settle(root: &Root) -> Result<(), KeeperError> {
    let started = Instant::now();
    loop {
        let scheduler = State::in_charge(root);
        if scheduler == KERNEL {
            return Ok(());
        }
        if started.elapsed() > SETTLING {
            return Err(KeeperError::Stays { scheduler });
        }
        std::thread::sleep(GLANCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::simulation::core_queue::OPS_NAME;

    /// A machine with sched_ext, and a shell script that loads and unloads on it as a keeper does.
    fn machine() -> (tempfile::TempDir, Root) {
        let (folder, root) = crate::fake::written("vm-adjacent");
        crate::fake::sched_ext::install(&root, "disabled", Some(OPS_NAME)).expect("written");
        (folder, root)
    }

    fn script(root: &Root, answer: &str, stubborn: bool) -> Command {
        let state = root.path("sys/kernel/sched_ext/state");
        let state = state.display();
        // One that is stubborn does not look at its life line; its scheduler goes with it all the same.
        let life = if stubborn { "trap '' TERM; exec sleep 600" } else { "cat" };
        let mut command = Command::new("sh");
        let script = format!(
            "echo enabled > {state}; echo '{answer}'; {life}; echo disabled > {state}; sleep 0"
        );
        command.args(["-c", &script]);
        command
    }

    #[test]
    fn a_keeper_loads_and_unloads_with_its_life_line() {
        let (_folder, root) = machine();
        let keeper = Keeper::start(&mut script(&root, "\"loaded\"", false)).expect("loaded");
        assert_eq!(State::in_charge(&root), "core-queue");
        keeper.unload(&root).expect("unloaded");
        assert_eq!(State::in_charge(&root), "kernel");
    }

    #[test]
    fn a_refusal_is_told_and_silence_too() {
        let (_folder, root) = machine();
        let mut refuses = script(&root, "{\"refused\":\"no BTF; boot another kernel\"}", false);
        let error = Keeper::start(&mut refuses).expect_err("refused").to_string();
        assert_eq!(error, "no BTF; boot another kernel");
        let mut dies = Command::new("sh");
        let error = Keeper::start(dies.args(["-c", "echo broken >&2"])).expect_err("silent");
        assert!(error.to_string().contains("(broken)"), "{error}");
        let error = Keeper::start(&mut Command::new("/no/such/program")).expect_err("missing");
        assert!(error.to_string().contains("/no/such/program"), "{error}");
    }

    #[test]
    fn the_command_names_study_and_options() {
        let mut options = Options::default();
        options.set("active", "off").expect("known");
        let command = command(Path::new("coretwin"), &options, Some(7));
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words, ["sched", "keep", "--study", "7", "--set", "active=off"]);
        let options = Options::of_scheduler("linux-2.4.19[ht_rule=off]").expect("known");
        let command = super::command(Path::new("coretwin"), &options.expect("ours"), None);
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        let expected = ["sched", "keep", "--policy", "linux-2.4.19", "--set", "ht_rule=off"];
        assert_eq!(words, expected);
    }

    /// A process that sleeps, and shows in the machine's /proc.
    fn sleeper(root: &Root) -> (std::process::Child, Holder) {
        let child = Command::new("sleep").arg("600").spawn().expect("sleep");
        let own = format!("proc/{}", child.id());
        std::os::unix::fs::symlink(format!("/{own}"), root.path(&own)).expect("linked");
        let holder = capture::holder(&Root::system(), child.id());
        (child, holder)
    }

    #[test]
    fn what_a_dead_study_left_is_killed_and_what_others_loaded_is_not() {
        let (_folder, root) = machine();
        let (mut child, keeper) = sleeper(&root);
        let study = Holder { process: 77, started_ticks: 5, command_line: String::new() };
        let record = Record {
            keeper,
            study: Some(study.clone()),
            ..Record::new(&root, Options::default(), None, "now".to_owned())
        };
        record::write(&root, &record).expect("written");
        end_of_study(&root, &Holder { started_ticks: 6, ..study.clone() });
        assert_eq!(child.try_wait().expect("asked"), None, "an earlier process of that number");
        end_of_study(&root, &study);
        assert!(!child.wait().expect("ended").success());
    }

    #[test]
    fn a_keeper_ends_also_where_no_descriptor_is_left() {
        let (_folder, root) = machine();
        let (mut child, keeper) = sleeper(&root);
        let life: fn(&Root, &Holder) -> Life =
            |root, keeper| Life::by(root, keeper, Err(Errno::MFILE));
        let earlier = Holder { started_ticks: keeper.started_ticks - 1, ..keeper.clone() };
        end(&root, &earlier, life, &[Signal::KILL]).expect("nobody to signal");
        assert_eq!(child.try_wait().expect("asked"), None, "an earlier process of that number");
        end(&root, &keeper, life, &[Signal::TERM, Signal::KILL]).expect("signalled");
        let ended = child.try_wait().expect("asked");
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert!(ended.is_some(), "a process without a descriptor was taken for ended");
    }
}
