//! Starting a guard, and knowing that it stands.

use super::identity::Identity;
use super::lock::{LockFile, Looked, Record};
use super::{GuardError, Guardian};
use crate::process::pid;
use crate::root::Root;
use crate::smt::capture;
use crate::smt::saved::{self, Slot, Stored};
use coretwin_base::caps;
use rustix::process::{child_subreaper, set_child_subreaper, test_kill_process};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a guard may take to stand: two starts of a small program. Generous, because emulated
/// machines are slow and no harm is done by waiting.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long an understudy may take to take over.
const TAKEOVER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// Where a systemd that runs the machine shows itself (sd_booted(3)).
const SYSTEMD: &str = "run/systemd/system";
/// This program, also when its file was replaced since it started.
pub(super) const OURSELVES: &str = "/proc/self/exe";

/// The guard of a real machine: a program that knows `smt guard`, in processes of its own.
#[derive(Debug)]
pub struct Launch {
    program: PathBuf,
    warnings: Vec<String>,
}

impl Launch {
    /// A guard that is started from that program, which must understand
    /// `smt guard --slot SLOT --holder IDENTITY [--detach|--unit|--understudy]`.
    pub fn new(program: PathBuf) -> Self {
        Self { program, warnings: Vec::new() }
    }

    pub fn ourselves() -> Self {
        Self::new(PathBuf::from(OURSELVES))
    }

    /// Waits until a guard stands; `None` if there is none at all, or it died.
    fn stands(
        root: &Root,
        slot: Slot,
        holder: Identity,
        patience: Duration,
        started: bool,
    ) -> Result<Option<Record>, GuardError> {
        let fail = |cause| GuardError::Lock { path: root.path(&slot.guard_lock()), cause };
        let start = Instant::now();
        let mut leader = None;
        loop {
            match LockFile::look(root, slot).map_err(fail)? {
                Looked::Led(Some(record)) if record.stands_for(holder) => return Ok(Some(record)),
                Looked::Led(record) => {
                    let strange = record.filter(|record| record.holder != holder.to_string());
                    leader = strange.map(|record| record.leader);
                }
                // A guard that was just started creates the file and locks it in two steps.
                Looked::Abandoned(_) | Looked::Nobody if started => {}
                Looked::Abandoned(mut lock) => {
                    let waits = lock.record().is_some_and(|record| has_understudy(&record));
                    if !waits || start.elapsed() > TAKEOVER {
                        lock.remove();
                        return Ok(None);
                    }
                    // Let go: the understudy is about to take over.
                }
                Looked::Nobody => return Ok(None),
            }
            if start.elapsed() > patience {
                let seconds = patience.as_secs();
                let late = GuardError::NotReady { seconds };
                return Err(leader.map_or(late, |leader| GuardError::Busy { leader }));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Guardian for Launch {
    fn ensure(&mut self, root: &Root, slot: Slot) -> Result<(), GuardError> {
        let holder = Identity::own(root);
        let mut record = Self::stands(root, slot, holder, PATIENCE, false)?;
        let mut refusal = None;
        if record.is_none() && root.is_system() && root.exists(SYSTEMD) {
            match start_unit(&self.program, slot, holder) {
                // In another mount namespace it would stand where we cannot see it.
                Ok(()) => {
                    record = Self::stands(root, slot, holder, PATIENCE / 4, true).unwrap_or(None);
                }
                Err(why) => refusal = Some(why),
            }
        }
        let record = match record {
            Some(record) => record,
            None => {
                start_detached(&self.program, slot, holder)?;
                let late = GuardError::NotReady { seconds: PATIENCE.as_secs() };
                Self::stands(root, slot, holder, PATIENCE, true)?.ok_or(late)?
            }
        };
        self.warnings = record.warnings;
        self.warnings.extend(refusal);
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

/// Waits while a guard puts back what a dead holder has left, but not for ever.
pub(in crate::smt) fn wait_for_undo(root: &Root, slot: Slot) {
    let start = Instant::now();
    let is_left = |stored: &Stored| !stored.kept && !capture::is_alive(root, &stored.holder);
    let is_at_work = || match LockFile::look(root, slot) {
        Ok(Looked::Led(_)) => true,
        Ok(Looked::Abandoned(mut lock)) => lock.record().is_some_and(|led| has_understudy(&led)),
        _ => false,
    };
    while start.elapsed() < PATIENCE
        && saved::read(root, slot).is_ok_and(|stored| stored.as_ref().is_some_and(is_left))
        && is_at_work()
    {
        std::thread::sleep(PAUSE);
    }
}

/// Whether the understudy of a dead leader lives, or another process of its number.
fn has_understudy(record: &Record) -> bool {
    pid(record.understudy).is_some_and(|process| test_kill_process(process).is_ok())
}

pub(super) fn arguments(slot: Slot, holder: Identity) -> [String; 6] {
    let words = ["smt", "guard", "--slot", slot.name(), "--holder", &holder.to_string()];
    words.map(str::to_owned)
}

/// A command for a process that has nothing in common with ours.
pub(super) fn command(program: &Path, slot: Slot, holder: Identity) -> Command {
    let mut command = Command::new(program);
    command
        .arg0("coretwin")
        .args(arguments(slot, holder))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Starts it in two steps: the process that we start takes a session of its own, starts the guard
/// and ends, so that the guard is nobody's child. Not ours either: a study takes in the orphans among
/// its descendants, and ends them all when a worker dies without a word.
fn start_detached(program: &Path, slot: Slot, holder: Identity) -> Result<(), GuardError> {
    let fail = |cause| GuardError::Start { program: program.to_owned(), cause };
    let adopting = child_subreaper().ok().flatten();
    if adopting.is_some() {
        set_child_subreaper(None).map_err(|errno| fail(errno.into()))?;
    }
    let status = command(program, slot, holder).arg("--detach").status();
    if adopting.is_some() {
        set_child_subreaper(adopting).map_err(|errno| fail(errno.into()))?;
    }
    let status = status.map_err(fail)?;
    if status.success() {
        return Ok(());
    }
    Err(fail(io::Error::other(format!("its first step ended with {status}"))))
}

/// The first step: `coretwin smt guard … --detach`.
pub(super) fn detach(slot: Slot, holder: Identity) -> Result<(), GuardError> {
    let program = Path::new(OURSELVES);
    let _ = rustix::process::setsid();
    let fail = |cause| GuardError::Start { program: program.to_owned(), cause };
    command(program, slot, holder).spawn().map_err(fail)?;
    Ok(())
}

/// Has systemd start it as a unit of its own, which it starts again when it is killed
/// (systemd-run(1), systemd.service(5), systemd.kill(5)).
fn start_unit(program: &Path, slot: Slot, holder: Identity) -> Result<(), String> {
    let because = |why: &str| format!("systemd does not look after the guard: {why}");
    let file = std::fs::canonicalize(program)
        .map_err(|error| because(&format!("the file of this program is gone ({error})")))?;
    let (status, said) = complaint(unit_command(&file, slot, holder))
        .map_err(|error| because(&format!("systemd-run cannot be asked ({error})")))?;
    if status.success() {
        return Ok(());
    }
    Err(because(&format!("systemd-run says: {}", said.trim().replace('\n', " "))))
}

/// How a program ended and what it said on standard error, which has a cap.
fn complaint(mut command: Command) -> io::Result<(ExitStatus, String)> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let said = child.stderr.take().map(|said| caps::ANSWER.read(said)).transpose();
    if said.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    Ok((status, String::from_utf8_lossy(&said?.unwrap_or_default()).into_owned()))
}

fn unit_command(file: &Path, slot: Slot, holder: Identity) -> Command {
    let number = holder.to_string().replace(':', "-");
    let mut command = Command::new("systemd-run");
    command
        .args(["--quiet", "--collect", "--service-type=exec"])
        .arg(format!("--unit=coretwin-smt-guard-{}-{number}", slot.name()))
        .arg("--description=puts the SMT switch back when a coretwin study dies");
    for property in [
        "Restart=on-failure",
        "OOMScoreAdjust=-1000",
        // The understudy takes over at once; systemd must not end it when it ends the leader's
        // unit.
        "KillMode=process",
        "TimeoutStopSec=10",
    ] {
        command.arg(format!("--property={property}"));
    }
    command.arg("--").arg(file).args(arguments(slot, holder)).arg("--unit").stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<String> {
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_unit_is_started_again_and_its_understudy_is_spared() {
        let holder = Identity::own(&Root::system());
        let command = unit_command(Path::new("/usr/bin/coretwin"), Slot::Study, holder);
        let words = words(&command);
        for word in [
            "--property=Restart=on-failure",
            "--property=OOMScoreAdjust=-1000",
            "--property=KillMode=process",
        ] {
            assert!(words.iter().any(|found| found == word), "{word} in {words:?}");
        }
        let at = words.iter().position(|word| word == "--").expect("the program");
        let expected = [
            &["/usr/bin/coretwin".to_owned()][..],
            &arguments(Slot::Study, holder),
            &["--unit".to_owned()],
        ]
        .concat();
        assert_eq!(words[at + 1..], expected);
    }

    #[test]
    fn no_more_of_a_complaint_is_held_than_its_cap() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            complaint(command)
        };
        let (status, said) = shell("echo no bus >&2; exit 3").expect("ran");
        assert_eq!((status.code(), said.as_str()), (Some(3), "no bus\n"));
        let told = shell("exec cat /dev/zero >&2").expect_err("too much").to_string();
        assert!(told.contains("more than 64 MiB"), "{told}");
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let (_folder, root) = crate::fake::of_files(&[]);
        let mut launch = Launch::new(PathBuf::from("/no/such/program"));
        let error = launch.ensure(&root, Slot::Study).expect_err("missing").to_string();
        assert!(error.starts_with("/no/such/program cannot be started: "), "{error}");
        let mut launch = Launch::new(PathBuf::from("false"));
        let error = launch.ensure(&root, Slot::Study).expect_err("fails").to_string();
        assert!(error.contains("first step ended with exit status: 1"), "{error}");
    }
}
