//! The loaded scheduler, as this program uses it.

use anyhow::Result;
use coretwin_bpf::core_queue::{COUNTERS, End, Scheduler};
use coretwin_host::sched_ext::record::{Core, Ending, Record};

pub(super) fn cannot_load() -> Option<String> {
    (!cfg!(feature = "bpf")).then(|| coretwin_bpf::Error::NotBuilt.to_string())
}

pub(super) trait Live {
    fn count(&self, record: &mut Record) -> Result<()>;

    /// How it ended; `None` while it is in charge.
    fn ending(&self) -> Result<Option<Ending>>;
}

impl Live for Scheduler {
    fn count(&self, record: &mut Record) -> Result<()> {
        let statistics = self.statistics()?;
        record.counters = statistics
            .counters()
            .map(|(counter, value)| (counter.name.to_owned(), value))
            .collect();
        let core = |core: &coretwin_bpf::core_queue::CoreNow| Core {
            online: core.online,
            running: core.running,
            queued: core.queued,
        };
        record.cores = statistics.cores.iter().map(core).collect();
        Ok(())
    }

    fn ending(&self) -> Result<Option<Ending>> {
        Ok(self.poll_end()?.as_ref().map(ending))
    }
}

pub(super) fn ending(end: &End) -> Ending {
    Ending {
        kind: end.kind,
        code: end.code,
        reason: end.reason.clone(),
        message: end.message.clone(),
        explanation: end.explain(),
    }
}

/// A counter's meaning; `None` for one of another version.
pub(super) fn counter(name: &str) -> Option<&'static coretwin_bpf::core_queue::Counter> {
    COUNTERS.iter().find(|counter| counter.name == name)
}
