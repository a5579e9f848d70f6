//! Studies and guards killed at random moments. Every time the machine must be found as it was.

use super::hand::{change, refused, restored};
use super::state::{Arranged, wait_until};
use super::studies::{ENDLESS, SAVED, log, start};
use crate::random::Random;
use crate::vm::guest::{Guest, json_of, output, read};
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// The process that gets SIGKILL.
#[derive(Debug, Clone, Copy)]
enum Victim {
    /// The guard restores.
    Study,
    /// One of the two processes of the guard, or both; the study ends a little later, one way or
    /// another.
    Guard,
    /// The study, and one or both of the guard's processes at the same moment. Where none is left
    /// the undo is by hand.
    Both,
}

const VICTIMS: &[(Victim, &str)] = &[
    (Victim::Study, "the study"),
    (Victim::Guard, "the guard"),
    (Victim::Both, "study and guard at once"),
];

pub(super) fn run(guest: &mut Guest, kills: u32) -> Result<()> {
    run_on(guest, &Arranged::new()?, kills)
}

/// Kills of each kind where version 1 of the CPU sets has something to lose: the kernel brings back
/// nothing of those by itself.
const KILLS_OLD_CPUSETS: u32 = 5;

/// Version 1 of the CPU sets forgets CPUs that go, and moves tasks that have none left.
pub(super) fn run_old_cpusets(guest: &mut Guest) -> Result<()> {
    let Some(mut machine) = Arranged::with_old_cpusets()? else {
        // Nothing to lose here.
        guest.check("this kernel has no CPU sets of version 1", || Ok(()))?;
        return Ok(());
    };
    guest.check("CPU sets of version 1 are put back", || {
        change("off", &["smt", "off", "--yes", "--json"])?;
        let changed = machine.changed()?.join("; ");
        ensure!(changed.contains("inner"), "off took nothing from the groups: {changed}");
        restored(&machine)
    })?;
    run_on(guest, &machine, KILLS_OLD_CPUSETS)?;
    guest.check("a task that would lose its group stands in the way", || {
        machine.move_task()?;
        refused(&machine, &output("coretwin", &["smt", "off", "--yes"])?, 3, "lone")
    })?;
    Ok(())
}

/// The same on a machine that was arranged in another way.
pub(super) fn run_on(guest: &mut Guest, machine: &Arranged, kills: u32) -> Result<()> {
    let mut random = Random(guest.seed);
    let spans = Spans::measure(machine)?;
    for &(victim, name) in VICTIMS {
        let title = format!("{name}, killed {kills} times, seed {}: all is put back", guest.seed);
        guest.check_told(&title, || {
            let mut met = Met::default();
            for number in 1..=kills {
                let moment = spans.draw(number, &mut random);
                kill(victim, moment, &mut random, machine, &mut met)
                    .with_context(|| format!("kill {number}, {moment:?}"))?;
            }
            let Met { saved, off, by_hand } = met;
            let by_hand = match victim {
                Victim::Both => format!(", {by_hand} put back by hand"),
                _ => String::new(),
            };
            Ok(format!("{saved} with the state saved, {off} with SMT off{by_hand}"))
        })?;
    }
    Ok(())
}

/// What kills met: how often the state was saved, how often SMT was off; how often none was left.
#[derive(Default)]
struct Met {
    saved: u32,
    off: u32,
    by_hand: u32,
}

impl Met {
    /// Looks, just before a kill.
    fn look(&mut self) -> Result<()> {
        self.saved += u32::from(Path::new(SAVED).exists());
        self.off += u32::from(!is_active()?);
        Ok(())
    }
}

fn is_active() -> Result<bool> {
    Ok(read("/sys/devices/system/cpu/smt/active")? == "1")
}

/// How long a study takes to save the state, and from there to move the switch a few times: the times
/// in which the random moments lie.
struct Spans {
    to_save: Duration,
    to_switch: Duration,
}

/// When to kill.
#[derive(Debug, Clone, Copy)]
enum Moment {
    AfterStart(Duration),
    AfterSave(Duration),
}

impl Spans {
    fn measure(machine: &Arranged) -> Result<Self> {
        let folder = Path::new("/tmp/span");
        let started = Instant::now();
        let mut study = start(folder, ENDLESS)?;
        let moved =
            |way: bool| wait_until("the study moves the switch", || Ok(is_active()? == way));
        let measure = || -> Result<Self> {
            is_saved()?;
            let to_save = started.elapsed();
            for way in [false, true, false] {
                moved(way)?;
            }
            Ok(Self { to_save, to_switch: started.elapsed() - to_save })
        };
        let spans = measure();
        study.kill()?;
        study.wait()?;
        let spans = spans.with_context(|| log(folder))?;
        settle(machine).context("after the first study")?;
        Ok(spans)
    }

    /// Most moments lie where there is something to lose.
    fn draw(&self, number: u32, random: &mut Random) -> Moment {
        match number % 5 {
            0 => Moment::AfterStart(self.to_save.mul_f64(random.unit())),
            _ => Moment::AfterSave(self.to_switch.mul_f64(random.unit())),
        }
    }
}

fn is_saved() -> Result<()> {
    wait_until("the study saves the state", || Ok(Path::new(SAVED).exists()))
}

/// One study, one kill.
fn kill(
    victim: Victim,
    moment: Moment,
    random: &mut Random,
    machine: &Arranged,
    met: &mut Met,
) -> Result<()> {
    let folder = PathBuf::from("/tmp/killed");
    fs::remove_dir_all(&folder).ok();
    let mut study = start(&folder, ENDLESS)?;
    let (ready, delay) = match moment {
        Moment::AfterStart(delay) => (Ok(()), delay),
        Moment::AfterSave(delay) => (is_saved(), delay),
    };
    let stands = ready.and_then(|()| match victim {
        Victim::Guard => two_guards(&mut study),
        _ => Ok(Vec::new()),
    });
    std::thread::sleep(delay);
    let outcome = stands.and_then(|guards| match victim {
        Victim::Study => met.look().and_then(|()| Ok(study.kill()?)).map(|()| false),
        Victim::Guard => kill_guard(&mut study, &guards, random, met).map(|()| false),
        Victim::Both => kill_both(&mut study, random, met),
    });
    let ended = study.kill().and_then(|()| study.wait());
    let nobody_left = outcome.with_context(|| log(&folder))?;
    ended?;
    if nobody_left {
        met.by_hand += u32::from(restore_by_hand()?);
    }
    settle(machine).with_context(|| log(&folder))
}

/// Kills one or both of the guard's processes, if they are there yet, and the study; whether none
/// may be left.
fn kill_both(study: &mut Child, random: &mut Random, met: &mut Met) -> Result<bool> {
    let guards = guards()?;
    let which = random.below(3);
    met.look()?;
    for (_, guard) in guards.iter().enumerate().filter(|(at, _)| which == 2 || which == *at) {
        kill_one(*guard)?;
    }
    study.kill()?;
    Ok(which == 2)
}

/// Once no guard is left, does what it would have done; whether that was needed.
fn restore_by_hand() -> Result<bool> {
    let is_saved = || Path::new(SAVED).exists();
    wait_until("a guard restores, or is gone", || Ok(!is_saved() || guards()?.is_empty()))?;
    if is_saved() {
        let done = json_of("coretwin", &["smt", "restore", "--json"])?;
        ensure!(done["left_to_do"] == json!([]), "left to do: {}", done["left_to_do"]);
        return Ok(true);
    }
    Ok(false)
}

/// Waits until both processes of the guard are there.
fn two_guards(study: &mut Child) -> Result<Vec<u32>> {
    wait_until("there is a guard", || Ok(guards()?.len() == 2 || study.try_wait()?.is_some()))
        .with_context(describe_guards)?;
    let guards = guards()?;
    ensure!(guards.len() == 2, "the study ended by itself");
    Ok(guards)
}

/// Kills one or both of the guard's processes; the study then ends by a signal or is killed too, as
/// soon as a guard stands again.
fn kill_guard(
    study: &mut Child,
    victims: &[u32],
    random: &mut Random,
    met: &mut Met,
) -> Result<()> {
    let which = random.below(3);
    met.look()?;
    for (_, guard) in victims.iter().enumerate().filter(|(at, _)| which == 2 || which == *at) {
        kill_one(*guard)?;
    }
    if random.below(2) == 0 {
        let stands = || {
            let guards = guards()?;
            Ok(guards.len() == 2 && guards != victims)
        };
        wait_until("a guard stands again", stands).with_context(describe_guards)?;
        study.kill()?;
    } else {
        let pid = i32::try_from(study.id()).ok().and_then(Pid::from_raw).context("a process id")?;
        kill_process(pid, Signal::INT)?;
        wait_until("the study ends", || Ok(study.try_wait()?.is_some()))?;
    }
    Ok(())
}

fn kill_one(process: u32) -> Result<()> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).context("a process id")?;
    match kill_process(pid, Signal::KILL) {
        Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("killing {process}")),
    }
}

/// Waits until nothing of the study is left; then the machine must be as it was.
fn settle(machine: &Arranged) -> Result<()> {
    wait_until("the state is restored and gone", || Ok(!Path::new(SAVED).exists()))
        .with_context(|| machine.changed().unwrap_or_default().join("; "))?;
    wait_until("the guard ends", || Ok(guards()?.is_empty())).with_context(describe_guards)?;
    machine.is_as_before()
}

/// The guard's processes.
fn guards() -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // It may end while one looks; a zombie has no command line.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        if words.contains(&&b"guard"[..]) && !words.contains(&&b"--detach"[..]) {
            found.push(process);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// What is known of them, for a message.
fn describe_guards() -> String {
    let text = |path: String| fs::read_to_string(path).unwrap_or_default().replace('\0', " ");
    let describe = |process: &u32| {
        let status = text(format!("/proc/{process}/status"));
        let facts =
            status.lines().filter(|line| line.starts_with("State") || line.starts_with("PPid"));
        let facts: Vec<&str> = facts.collect();
        let waits = text(format!("/proc/{process}/wchan"));
        let line = text(format!("/proc/{process}/cmdline"));
        format!("{process} ({line}; {}; waits in {waits})", facts.join(", "))
    };
    let guards: Vec<String> = guards().unwrap_or_default().iter().map(describe).collect();
    let lock = text("/run/coretwin/smt-study.guard".to_owned());
    format!("guards: {}; their lock: {lock}", guards.join(", "))
}
