//! `coretwin sched keep`: the process that holds the scheduler for others, and what any holder does
//! while it is loaded: writes the record that everybody reads, and watches for the end.

use super::{INTERVAL, doctor, view};
use crate::exit::{CELLS_FAILED, DONE};
use crate::switching::OURSELVES;
use crate::{out, signals};
use anyhow::{Result, anyhow};
use coretwin_bpf::scheduler::{CoreNow, End, Scheduler, Trial, Wish};
use coretwin_host::lock;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::keeper;
use coretwin_host::sched_ext::keeper::Answer;
use coretwin_host::sched_ext::record::{self, Core, Ending, Record};
use coretwin_lab::host_machine::now_utc;
use coretwin_lab::machine::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a scheduler is loaded again that CPUs have made to go.
const RELOADS_MAX: u32 = 100;

pub(super) fn run(root: &Root, wish: &Result<Wish>, study: Option<u32>) -> Result<u8> {
    let stop = signals::stop_flag()?;
    match study {
        // The life line ends it; this is for a holder that is stopped when the study dies.
        Some(_) => set_parent_process_death_signal(Some(Signal::KILL))?,
        // Not a child of a terminal's session that may end.
        None => drop(setsid()),
    }
    let held = match (doctor::refusal(root), wish) {
        (Some(why), _) => Err(why),
        (None, Ok(wish)) => Held::load(root, wish, study).map_err(|error| format!("{error:#}")),
        (None, Err(why)) => Err(format!("{why:#}")),
    };
    let held = match held {
        Ok(held) => held,
        Err(why) => {
            answer(&Answer::Refused(why))?;
            return Ok(crate::exit::NOT_POSSIBLE);
        }
    };
    answer(&Answer::Loaded)?;
    held.serve(&mut |time| nap(time, study.is_some(), &stop), &mut |_| Ok(()))
}

fn answer(answer: &Answer) -> Result<()> {
    out::text(&(serde_json::to_string(answer)? + "\n"))
}

/// Sleeps; whether to go on afterwards: not once the life line is closed or a signal came.
fn nap(time: Duration, has_life_line: bool, stop: &Stop) -> bool {
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    let timeout = Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(1), ..timeout };
    let input = rustix::stdio::stdin();
    let watched = &mut [PollFd::new(&input, PollFlags::IN)];
    let watched = if has_life_line { &mut watched[..] } else { &mut watched[..0] };
    // A signal ends the sleep with an error; nothing is ever written into the life line.
    let closed = poll(watched, Some(&timeout)).is_ok_and(|ready| ready > 0);
    !closed && !stop.raised()
}

/// Holds the scheduler until `nap` says to let go, or the kernel has ended it; how, in that case. Each
/// interval the record is written, and `tell` told.
fn hold(
    root: &Root,
    live: &dyn Live,
    record: &mut Record,
    nap: &mut dyn FnMut(Duration) -> bool,
    tell: &mut dyn FnMut(&Record) -> Result<()>,
) -> Result<Option<Ending>> {
    loop {
        let next = Instant::now() + INTERVAL;
        live.count(record)?;
        record.counted_utc = now_utc();
        record.ending = live.ending()?;
        if let Some(ending) = &mut record.ending {
            // What cannot be kept of it must not keep the ending itself from being told.
            match live.dump().and_then(|dump| Ok(record::write_dump(root, &dump)?)) {
                Ok(path) => ending.dump = path,
                Err(error) => out::news(&format!("the kernel's dump is lost: {error:#}")),
            }
        }
        record::write(root, record)?;
        tell(record)?;
        if record.ending.is_some() {
            return Ok(record.ending.clone());
        }
        if !nap(next.saturating_duration_since(Instant::now())) {
            return Ok(None);
        }
    }
}

pub(super) struct Held<'a> {
    root: &'a Root,
    wish: &'a Wish,
    study: Option<u32>,
    scheduler: Scheduler,
    record: Record,
}

impl<'a> Held<'a> {
    pub(super) fn load(root: &'a Root, wish: &'a Wish, study: Option<u32>) -> Result<Self> {
        let trial = Trial { silent: study.is_some(), ..wish.trial.clone() };
        let scheduler = Scheduler::load(&Wish { trial, ..wish.clone() })?;
        let mut record = Record::new(root, wish.options.clone(), study, now_utc());
        record.partners = wish.partners.names().to_vec();
        record::write(root, &record)?;
        Ok(Self { root, wish, study, scheduler, record })
    }

    /// Holds it until `nap` says to let go or the kernel has ejected it, which is told. One that was
    /// ejected because CPUs came that it could not know is loaded again.
    pub(super) fn serve(
        mut self,
        nap: &mut dyn FnMut(Duration) -> bool,
        tell: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<u8> {
        for again in 0.. {
            match hold(self.root, &self.scheduler, &mut self.record, nap, tell)? {
                None => return self.close(),
                Some(ending) => {
                    let name = self.wish.options.policy().name;
                    out::news(&format!("{name} is no longer in charge: {}", ending.story()));
                    let ended = self.scheduler.poll_end()?;
                    if again == RELOADS_MAX || !ended.is_some_and(|end| end.wants_restart()) {
                        break;
                    }
                }
            }
            let Self { root, wish, study, scheduler, .. } = self;
            // The kernel takes the next one only when this one is gone.
            scheduler.stop()?;
            self = Self::load(root, wish, study)?;
            out::news(&format!("{} was loaded again", wish.options.policy().name));
        }
        Ok(CELLS_FAILED)
    }

    /// Lets go of it. Of one that was unloaded in good order nothing remains to be told; how another
    /// ended stays in the record.
    fn close(self) -> Result<u8> {
        let (_, end) = self.scheduler.stop()?;
        if end.is_wished() {
            record::remove(self.root)?;
            return Ok(DONE);
        }
        // It was ejected in that very moment.
        let ending = Some(ending_of(&end));
        record::write(self.root, &Record { ending, ..self.record })?;
        Ok(CELLS_FAILED)
    }
}

trait Live {
    fn count(&self, record: &mut Record) -> Result<()>;

    /// How it ended; `None` while it is in charge.
    fn ending(&self) -> Result<Option<Ending>>;

    /// What the kernel says of that moment.
    fn dump(&self) -> Result<String>;
}

impl Live for Scheduler {
    fn count(&self, record: &mut Record) -> Result<()> {
        let statistics = self.statistics()?;
        record.counters = statistics
            .counters()
            // A study's is not to count.
            .filter(|_| record.study.is_none())
            .map(|(counter, value)| (counter.name.to_owned(), value))
            .collect();
        let core = |core: &CoreNow| Core {
            online: core.online,
            running: core.running,
            queued: core.queued,
        };
        record.cores = statistics.cores.iter().map(core).collect();
        Ok(())
    }

    fn ending(&self) -> Result<Option<Ending>> {
        Ok(self.poll_end()?.as_ref().map(ending_of))
    }

    fn dump(&self) -> Result<String> {
        Ok(self.dump()?)
    }
}

fn ending_of(end: &End) -> Ending {
    Ending {
        kind: end.kind,
        code: end.code,
        reason: end.reason.clone(),
        message: end.message.clone(),
        explanation: end.explain(),
        dump: None,
    }
}

/// Loads it, and stays with it; with arguments, a process of its own that gets them does.
pub(super) fn start(root: &Root, wish: &Wish, detached: Option<Vec<OsString>>) -> Result<u8> {
    let name = wish.options.policy().name;
    if let Some(why) = doctor::refusal(root) {
        return Err(anyhow!("{name} is not loaded: {why}"));
    }
    // A study that runs would measure the change; one that begins later finds it and says so.
    drop(lock::acquire(root)?);
    if let Some(arguments) = detached {
        let mut command = keeper::command(Path::new(OURSELVES), &wish.options, None);
        let process = keeper::detach(command.args(arguments))?;
        out::text(&format!(
            "{name} is in charge, held by process {process}; coretwin sched status tells what it \
             does, coretwin sched stop unloads it\n"
        ))?;
        return Ok(DONE);
    }
    let stop = signals::stop_flag()?;
    let held = Held::load(root, wish, None)?;
    out::news(&format!("{name} is in charge until Ctrl-C"));
    let mut shown = view::Shown::new(out::redraws(&std::io::stdout()));
    let status = held.serve(&mut |time| stop.lets_sleep(time), &mut |record| shown.show(record))?;
    out::news("the kernel's own scheduler is in charge");
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::simulation::live::Options;
    use std::cell::Cell;

    /// A scheduler that the kernel ejects when its counters are read for the third time.
    #[derive(Default)]
    struct Ejected(Cell<u64>);

    impl Live for Ejected {
        fn count(&self, record: &mut Record) -> Result<()> {
            self.0.set(self.0.get() + 1);
            record.counters.insert("picked".to_owned(), self.0.get());
            Ok(())
        }

        fn ending(&self) -> Result<Option<Ending>> {
            let (reason, explanation) = ("runnable task stall".to_owned(), "it stalled".to_owned());
            let message = String::new();
            let ending = Ending { kind: 1026, code: 0, reason, message, explanation, dump: None };
            Ok((self.0.get() == 3).then_some(ending))
        }

        fn dump(&self) -> Result<String> {
            Ok("CPU 0: nr_run=1\n  R a\u{1b}[2J[7] -31000ms\n".to_owned())
        }
    }

    /// Holds it for at most that many intervals; how it ended, and the counters that were told.
    fn held_for(intervals: u32, root: &Root) -> (Option<Ending>, Vec<u64>) {
        let mut record = Record::new(root, Options::default(), None, "T".to_owned());
        let (mut told, mut naps) = (Vec::new(), 0);
        let mut nap = |_: Duration| {
            naps += 1;
            naps < intervals
        };
        let mut tell = |record: &Record| {
            let stored = record::read(root)?.expect("written before it is told");
            assert_eq!(&stored, record);
            told.push(record.counters["picked"]);
            Ok(())
        };
        let ending = hold(root, &Ejected::default(), &mut record, &mut nap, &mut tell);
        (ending.expect("held"), told)
    }

    #[test]
    fn an_ejection_is_noticed_written_and_told() {
        let folder = tempfile::tempdir().expect("folder");
        let root = Root::at(folder.path());
        let (ending, told) = held_for(9, &root);
        let ending = ending.expect("ejected");
        assert_eq!((ending.kind, told), (1026, vec![1, 2, 3]));
        let path = root.path(record::DUMP);
        assert_eq!(
            ending.story(),
            format!("it stalled; what ran and waited then: {}", path.display())
        );
        let dump = std::fs::read_to_string(path).expect("the kernel's dump");
        assert_eq!(dump, "CPU 0: nr_run=1\n  R a\\u001b[2J[7] -31000ms\n");
        assert_eq!(held_for(2, &root), (None, vec![1, 2]), "let go of before");
    }
}
