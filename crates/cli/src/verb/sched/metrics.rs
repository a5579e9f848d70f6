//! The status as OpenMetrics, for a textfile collector or a scraper.

use super::facts::Status;
use super::live::counter;
use coretwin_base::openmetrics::{Dialect, Exposition, Family};
use coretwin_bpf::core_queue::Kind;
use coretwin_host::sched_ext::record::Core;

pub(super) fn write(status: &Status) -> String {
    let mut text = Exposition::new(Dialect::OpenMetrics);
    let mut add = |name: &str, counter: bool, help: &str, labels: &[(&str, &str)], value: u64| {
        let name = &format!("coretwin_sched_{name}");
        let family = Family { name, counter, unit: "", help };
        let mut samples = family.samples();
        samples.count(labels, value);
        text.add(&family, &samples);
    };
    let supported = status.sched_ext.is_some().into();
    add("supported", false, "whether the kernel has sched_ext", &[], supported);
    let scheduler = [("scheduler", status.scheduler.as_str())];
    add("in_charge", false, "the scheduler in charge", &scheduler, 1);
    let ejected = status.gone.as_ref().is_some_and(|record| record.ending.is_some());
    let about = "whether the kernel ejected core-queue since it was loaded last";
    add("ejected", false, about, &[], ejected.into());
    if let Some(record) = &status.loaded {
        let sum = |number: fn(&Core) -> u32| -> u64 {
            record.cores.iter().map(|core| u64::from(number(core))).sum()
        };
        add("cpus_running", false, "CPUs that run a task", &[], sum(|core| core.running));
        add("tasks_waiting", false, "tasks that wait for a CPU", &[], sum(|core| core.queued));
        for (name, value) in &record.counters {
            let Some(counter) = counter(name) else { continue };
            add(name, matches!(counter.kind, Kind::Sum), counter.about, &[], *value);
        }
    }
    text.finish()
}
