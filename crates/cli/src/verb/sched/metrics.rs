//! The status as OpenMetrics, for a textfile collector or a scraper.

use super::live::counter;
use super::status::Status;
use coretwin_bpf::core_queue::Kind;
use std::fmt::Write;

/// What names begin with.
const PREFIX: &str = "coretwin_sched";

/// The whole text, with its end mark.
pub(super) fn write(status: &Status) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, about: &str, labels: &str, value: u64| {
        let _ = writeln!(
            text,
            "# TYPE {PREFIX}_{name} gauge\n# HELP {PREFIX}_{name} {about}\n{PREFIX}_{name}{labels} {value}"
        );
    };
    gauge(
        "supported",
        "whether the kernel has sched_ext",
        "",
        u64::from(status.sched_ext.is_some()),
    );
    let label = format!("{{scheduler=\"{}\"}}", escaped(&status.scheduler));
    gauge("in_charge", "the scheduler in charge", &label, 1);
    let ejected = status.gone.as_ref().is_some_and(|record| record.ending.is_some());
    gauge(
        "ejected",
        "whether the kernel ejected core-queue since it was loaded last",
        "",
        ejected.into(),
    );
    let Some(record) = &status.loaded else {
        text.push_str("# EOF\n");
        return text;
    };
    let sum = |number: fn(&coretwin_host::sched_ext::record::Core) -> u32| -> u64 {
        record.cores.iter().map(|core| u64::from(number(core))).sum()
    };
    gauge("cpus_running", "CPUs that run a task", "", sum(|core| core.running));
    gauge("tasks_waiting", "tasks that wait for a CPU", "", sum(|core| core.queued));
    for (name, value) in &record.counters {
        let Some(counter) = counter(name) else { continue };
        let about = escaped(counter.about);
        let (kind, suffix) = match counter.kind {
            Kind::Sum => ("counter", "_total"),
            Kind::Largest => ("gauge", ""),
        };
        let _ = writeln!(
            text,
            "# TYPE {PREFIX}_{name} {kind}\n# HELP {PREFIX}_{name} {about}\n{PREFIX}_{name}{suffix} {value}"
        );
    }
    text.push_str("# EOF\n");
    text
}

/// A text between quotes, or a help line, as OpenMetrics wants it.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_cannot_break_a_line() {
        assert_eq!(escaped("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
    }
}
