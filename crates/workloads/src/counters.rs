//! Counters of the processor around a run, by perf_event_open(2): at what clock it ran, and how many
//! instructions a cycle it got.
//!
//! The worker opens them for itself before it becomes the user, and every process that it starts
//! inherits them, as under `perf stat`; its own waiting is in them and too little to be seen. One event
//! each, for the kernel hands no group on to children. Where the processor has fewer counters than
//! events, the kernel counts them in turn, and the value is scaled by the time that it counted.

use crate::workload::{Outcome, Telling};
use coretwin_base::study::reading::counter::{self, Event};
use perf_event::events::{Dynamic, Hardware};
use perf_event::{Builder, Counter};
use std::io;
use std::time::Duration;

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Those that are counted, each with its event, and with the one of the kernel's `msr` events that counts
/// the same where that is not there: many of AMD's processors have no reference cycles. What
/// `llc_misses` counts is the processor's to say.
pub(crate) const EVENTS: [(Event, Hardware, Option<&str>); 4] = [
    (counter::CYCLES, Hardware::CPU_CYCLES, Some("aperf")),
    (counter::INSTRUCTIONS, Hardware::INSTRUCTIONS, None),
    (counter::REFERENCE_CYCLES, Hardware::REF_CPU_CYCLES, Some("mperf")),
    (counter::LLC_MISSES, Hardware::CACHE_MISSES, None),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Hardware(Hardware),
    /// By its name in `/sys/bus/event_source/devices/msr/events`.
    Msr(&'static str),
}

/// What is counted: time in the kernel too, or user mode alone, which is all that ordinary users may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    User,
}

pub(crate) struct Counters(Vec<(&'static str, &'static str, Counter)>);

impl Counters {
    /// Opens what this machine has, disabled. The error is a sentence why there is none.
    pub(crate) fn open() -> Result<Self, String> {
        let (scope, open) = open_all(build)?;
        let named =
            open.into_iter().map(|(event, counter)| (name(&event, scope), event.unit, counter));
        Ok(Self(named.collect()))
    }

    pub(crate) fn start(&mut self) {
        // What cannot be enabled stays at zero time, and gives no value.
        self.0.iter_mut().for_each(|(.., counter)| drop(counter.enable()));
    }

    /// What was counted since the start, of the worker and of all that it started.
    pub(crate) fn tell(&mut self, outcome: &mut Outcome) {
        for (name, unit, counter) in &mut self.0 {
            let Ok(data) = counter.read_full() else { continue };
            let (enabled, running) = (data.time_enabled(), data.time_running());
            if let Some(value) = scaled(data.count(), enabled, running) {
                outcome.lower(name, value, unit);
            }
        }
    }
}

/// One line for the record of the machine: what is counted around every run, or why nothing is.
pub fn about() -> String {
    match open_all(build) {
        Ok((scope, open)) => {
            let names: Vec<&str> = open.iter().map(|(event, _)| name(event, scope)).collect();
            names.join(" ")
        }
        Err(why) => format!("{}{why}", counter::NONE),
    }
}

fn name(event: &Event, scope: Scope) -> &'static str {
    match scope {
        Scope::All => event.name,
        Scope::User => event.user_name,
    }
}

fn build(kind: Kind, scope: Scope) -> io::Result<Counter> {
    let mut builder = match kind {
        Kind::Hardware(event) => Builder::new(event),
        Kind::Msr(name) => {
            let event = Dynamic::builder("msr")?.event(name)?.build().map_err(io::Error::other)?;
            let mut builder = Builder::new(event);
            builder.include_hv();
            builder
        }
    };
    builder.observe_self().any_cpu().inherit(true).exclude_kernel(scope == Scope::User).build()
}

/// Opens all events in the widest scope that is allowed. One that this processor lacks is left out.
fn open_all<C>(
    build: impl Fn(Kind, Scope) -> io::Result<C>,
) -> Result<(Scope, Vec<(Event, C)>), String> {
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let scope = match build(Kind::Hardware(EVENTS[0].1), Scope::All) {
        Err(error) if refused(&error) => Scope::User,
        _ => Scope::All,
    };
    let mut open = Vec::new();
    let mut why = None;
    for (event, hardware, msr) in EVENTS {
        // Those count the kernel's time always, which user mode alone has not.
        let msr = msr.filter(|_| scope == Scope::All).map(Kind::Msr);
        let other = |error| msr.and_then(|msr| build(msr, scope).ok()).ok_or(error);
        match build(Kind::Hardware(hardware), scope).or_else(other) {
            Ok(counter) => open.push((event, counter)),
            Err(error) => drop(why.get_or_insert(error)),
        }
    }
    match why {
        Some(why) if open.is_empty() => Err(reason(&why)),
        _ => Ok((scope, open)),
    }
}

/// Why there are no counters, and what would help.
fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "the kernel shows no counters of this processor, as in most virtual machines".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => {
            let level = std::fs::read_to_string(PARANOID).unwrap_or_default();
            format!(
                "they are not permitted: kernel.perf_event_paranoid is {}, and it takes root or 2 at \
                 most; a container's seccomp profile can forbid them too",
                level.trim().parse::<i32>().map_or("unknown".to_owned(), |level| level.to_string())
            )
        }
        Some(libc::ENOSYS) => "this kernel has no perf events".to_owned(),
        _ => format!("perf_event_open failed: {error}"),
    }
}

/// The count as if it had counted all the time. `None` if it never did.
fn scaled(count: u64, enabled: Option<Duration>, running: Option<Duration>) -> Option<f64> {
    let (enabled, running) = (enabled?.as_secs_f64(), running?.as_secs_f64());
    (running > 0.0).then(|| count as f64 * (enabled / running))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;

    /// A kernel that answers these errors, by event and scope.
    fn opened(
        error: impl Fn(Kind, Scope) -> Option<i32>,
    ) -> Result<(Scope, Vec<&'static str>), String> {
        let build = |event, scope| match error(event, scope) {
            Some(code) => Err(io::Error::from_raw_os_error(code)),
            None => Ok(()),
        };
        open_all(build).map(|(scope, open)| {
            (scope, open.iter().map(|(event, ())| name(event, scope)).collect())
        })
    }

    #[test]
    fn what_the_kernel_allows_is_counted_and_every_refusal_has_its_sentence() {
        let all = ["cycles", "instructions", "reference_cycles", "llc_misses"];
        assert_eq!(opened(|_, _| None), Ok((Scope::All, all.to_vec())));
        // An ordinary user, with kernel.perf_event_paranoid at 2.
        let user = opened(|_, scope| (scope == Scope::All).then_some(libc::EACCES));
        let names =
            ["user_cycles", "user_instructions", "user_reference_cycles", "user_llc_misses"];
        assert_eq!(user, Ok((Scope::User, names.to_vec())));
        // AMD's processors have no reference cycles.
        let none = Kind::Hardware(Hardware::REF_CPU_CYCLES);
        let lacks = |kind| none == kind || kind == Kind::Msr("mperf");
        let fewer = opened(|kind, _| lacks(kind).then_some(libc::ENOENT));
        assert_eq!(fewer, Ok((Scope::All, vec!["cycles", "instructions", "llc_misses"])));
        // Where MPERF can be read they are counted by that, but not of user mode alone.
        let by_mperf = opened(|kind, _| (kind == none).then_some(libc::ENOENT));
        assert_eq!(by_mperf, Ok((Scope::All, all.to_vec())));
        let user = opened(|kind, scope| match kind {
            _ if scope == Scope::All => Some(libc::EACCES),
            kind => (kind == none).then_some(libc::ENOENT),
        });
        assert_eq!(user, Ok((Scope::User, vec![names[0], names[1], names[3]])));
        // No counters of the processor at all, but the two that the clock is told by.
        let clock = opened(|kind, _| matches!(kind, Kind::Hardware(_)).then_some(libc::ENOENT));
        assert_eq!(clock, Ok((Scope::All, vec!["cycles", "reference_cycles"])));
        for (code, part) in [
            (libc::ENOENT, "as in most virtual machines"),
            (libc::EOPNOTSUPP, "shows no counters"),
            (libc::EACCES, "kernel.perf_event_paranoid is "),
            (libc::EPERM, "seccomp"),
            (libc::ENOSYS, "no perf events"),
            (libc::EMFILE, "Too many open files"),
        ] {
            let why = opened(|_, _| Some(code)).expect_err("refused");
            assert!(why.contains(part), "{code}: {why}");
        }
    }

    #[test]
    fn a_counter_that_took_turns_is_scaled_and_one_that_never_counted_has_no_value() {
        let time = |ms| Some(Duration::from_millis(ms));
        assert_eq!(scaled(300, time(100), time(100)), Some(300.0));
        assert_eq!(scaled(300, time(100), time(25)), Some(1200.0));
        assert_eq!(scaled(0, time(100), time(0)), None);
        assert_eq!(scaled(300, None, None), None);
    }

    /// By the one such event that every x86 has.
    #[test]
    fn events_of_the_msr_device_are_opened_by_name() {
        if let Ok(mut counter) = build(Kind::Msr("tsc"), Scope::All) {
            counter.enable().expect("enabled");
            let until = std::time::Instant::now() + Duration::from_millis(20);
            while std::time::Instant::now() < until {}
            assert!(counter.read().expect("a count") > 1_000_000);
        }
        let Err(none) = build(Kind::Msr("no-such-event"), Scope::All) else {
            panic!("it is there")
        };
        assert!(none.kind() == io::ErrorKind::NotFound, "{none}");
    }

    /// With an event of the kernel's own, for this may run where there is no counter of a processor.
    #[test]
    fn what_children_and_their_children_do_is_counted_before_and_after_their_end() {
        let mut builder = Builder::new(Software::TASK_CLOCK);
        let counter = match builder.observe_self().any_cpu().inherit(true).build() {
            Ok(counter) => counter,
            Err(error) => {
                // Where perf events are forbidden, the rest is shown above; nothing else excuses.
                let code = error.raw_os_error();
                let forbidden = [libc::EACCES, libc::EPERM, libc::ENOSYS].map(Some);
                assert!(forbidden.contains(&code), "perf_event_open: {error}");
                return;
            }
        };
        let mut counters = Counters(vec![("clock", "ns", counter)]);
        counters.start();
        let line = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; times";
        let ran = std::process::Command::new("sh").args(["-c", line]).output().expect("sh");
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        // The line of the children: minutes and seconds of user and system time.
        let seconds = |time: &str| -> f64 {
            let (minutes, seconds) = time.trim_end_matches('s').split_once('m').expect("a time");
            minutes.parse::<f64>().expect("minutes") * 60.0
                + seconds.parse::<f64>().expect("seconds")
        };
        let spent: f64 = text.lines().last().expect("times").split(' ').map(seconds).sum();
        let mut outcome = Outcome::failed("", "", coretwin_base::study::reading::Better::Lower);
        counters.tell(&mut outcome);
        let counted = outcome.metrics["clock"].value / 1e9;
        assert!(spent > 0.02 && counted > spent * 0.8, "{counted} s counted, {spent} s by {text}");
    }
}
