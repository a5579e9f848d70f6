//! Every metric there is: what the exporter, the dashboard's test and the documentation go by.

use super::totals::{Group, Totals};
use crate::snapshot::Snapshot;
use coretwin_base::account::Span;
use coretwin_base::openmetrics::{Family, Samples};

type Write = fn(&Totals, &Snapshot, &mut Samples);

pub struct Metric {
    pub family: Family<'static>,
    pub write: Write,
}

const fn gauge(name: &'static str, help: &'static str, write: Write) -> Metric {
    Metric { family: Family { name, counter: false, unit: "", help }, write }
}

const fn ratio(name: &'static str, help: &'static str, write: Write) -> Metric {
    Metric { family: Family { name, counter: false, unit: "ratio", help }, write }
}

const fn counter(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    write: Write,
) -> Metric {
    Metric { family: Family { name, counter: true, unit, help }, write }
}

const fn seconds(name: &'static str, help: &'static str, write: Write) -> Metric {
    counter(name, "seconds", help, write)
}

/// Every metric, by what it is about.
pub const METRICS: &[Metric] = &[
    gauge("coretwin_method", "How it is known who ran beside whom.", |_, snapshot, out| {
        out.add(&[("method", snapshot.method.name())], 1.0);
    }),
    gauge("coretwin_cpus", "Logical CPUs, by state.", |_, snapshot, out| {
        out.add(&[("state", "online")], f64::from(snapshot.machine.cpus));
        out.add(&[("state", "offline")], snapshot.offline.len() as f64);
    }),
    gauge("coretwin_cores", "Cores with a CPU online.", |_, snapshot, out| {
        out.add(&[], f64::from(snapshot.machine.cores));
    }),
    ratio("coretwin_logical_ratio", "Busy CPUs of all, last window.", |_, snapshot, out| {
        out.add(&[], snapshot.machine.logical_share);
    }),
    ratio("coretwin_core_busy_ratio", "Cores with a CPU busy, of all.", |_, snapshot, out| {
        range(out, &snapshot.machine.core_busy_share);
    }),
    ratio("coretwin_all_busy_ratio", "Cores with all CPUs busy, of all.", |_, snapshot, out| {
        range(out, &snapshot.machine.all_busy_share);
    }),
    ratio("coretwin_capacity_ratio", "Capacity in use, of all cores'.", |_, snapshot, out| {
        range(out, &snapshot.machine.capacity_share);
    }),
    gauge("coretwin_headroom_cores", "Capacity left, in whole cores.", |_, snapshot, out| {
        range(out, &snapshot.machine.headroom_cores);
    }),
    gauge(
        "coretwin_core_capacity_used",
        "Capacity of a core in use, last window; 1 is the whole core.",
        |_, snapshot, out| capacity(snapshot, out, |used| used),
    ),
    gauge("coretwin_core_capacity_left", "The rest of it.", |_, snapshot, out| {
        capacity(snapshot, out, |used| Span {
            value: 1.0 - used.value,
            low: 1.0 - used.high,
            high: 1.0 - used.low,
        });
    }),
    gauge(
        "coretwin_cgroup_core_capacity_used",
        "Whole cores that a cgroup used, last window.",
        |totals, _, out| {
            for (path, group) in &totals.cgroups {
                bounds(out, &[("cgroup", path)], &group.cores_used);
            }
        },
    ),
    gauge(
        "coretwin_cgroup_core_capacity_left",
        "Whole cores that a cgroup may still use, by its CPUs and its quota.",
        |totals, _, out| {
            for (path, group) in &totals.cgroups {
                group.cores_left.iter().for_each(|left| bounds(out, &[("cgroup", path)], left));
            }
        },
    ),
    gauge("coretwin_clash_cores", "Cores that share while others idle.", |_, snapshot, out| {
        out.add(&[], snapshot.machine.clash_cores.value);
    }),
    ratio("coretwin_short_max_ratio", "Largest short look of the window.", |_, snapshot, out| {
        let Some(short) = &snapshot.short else { return };
        out.add(&[("of", "logical")], short.logical_share);
        out.add(&[("of", "core_busy")], short.core_busy_share);
        out.add(&[("of", "capacity")], short.capacity_share);
    }),
    gauge(
        "coretwin_yield",
        "Throughput of a full core over that of one CPU.",
        |_, snapshot, out| {
            range(out, &snapshot.core_yield.all_busy);
        },
    ),
    gauge("coretwin_slowdown", "Time of a task in a full core over alone.", |_, snapshot, out| {
        range(out, &snapshot.slowdown.all_busy);
    }),
    ratio("coretwin_pressure_ratio", "Time with somebody waiting, of 10 s.", |_, snapshot, out| {
        let Some(pressure) = &snapshot.pressure else { return };
        let shares = [
            ("cpu", "some", pressure.cpu_some_share),
            ("memory", "some", pressure.memory_some_share),
            ("memory", "full", pressure.memory_full_share),
            ("io", "some", pressure.io_some_share),
            ("io", "full", pressure.io_full_share),
        ];
        for (resource, kind, share) in shares {
            if let Some(share) = share {
                out.add(&[("resource", resource), ("kind", kind)], share);
            }
        }
    }),
    gauge("coretwin_notes", "Notes that the screen shows, by kind.", |_, snapshot, out| {
        let mut kinds: Vec<&str> =
            snapshot.warnings.iter().map(|note| note.kind.as_str()).collect();
        kinds.sort_unstable();
        for kind in kinds.chunk_by(|a, b| a == b) {
            out.add(&[("kind", kind[0])], kind.len() as f64);
        }
    }),
    counter("coretwin_windows", "", "Windows measured.", |totals, _, out| {
        out.add(&[], totals.windows as f64);
    }),
    seconds("coretwin_measured_seconds", "Time measured.", |totals, _, out| {
        out.add(&[], totals.elapsed_s);
    }),
    seconds("coretwin_cpu_seconds", "CPU time of all CPUs, raw.", |totals, _, out| {
        out.add(&[("state", "busy")], totals.busy_s);
        out.add(&[("state", "interrupts")], totals.interrupts_s);
        out.add(&[("state", "steal")], totals.steal_s);
    }),
    seconds("coretwin_capacity_seconds", "Capacity used, of whole cores.", |totals, _, out| {
        out.add(&[], totals.capacity_s);
    }),
    seconds("coretwin_clash_seconds", "Shared cores while others idled.", |totals, _, out| {
        out.add(&[], totals.clash_s);
    }),
    seconds("coretwin_core_seconds", "Time of a core with so many busy.", |totals, _, out| {
        for (cpus, (package, by_busy)) in &totals.cores {
            let package = package.to_string();
            for (k, seconds) in by_busy.iter().enumerate() {
                let labels =
                    [("cpus", cpus.as_str()), ("package", &package), ("busy", &k.to_string())];
                out.add(&labels, *seconds);
            }
        }
    }),
    seconds("coretwin_cgroup_raw_seconds", "Run time, as charged.", |totals, _, out| {
        groups(totals, out, |group| group.worth.raw_s);
    }),
    seconds("coretwin_cgroup_shared_seconds", "Of it beside a busy sibling.", |totals, _, out| {
        groups(totals, out, |group| group.worth.shared_s);
    }),
    seconds(
        "coretwin_cgroup_capacity_seconds",
        "Capacity used, of whole cores.",
        |totals, _, out| {
            groups(totals, out, |group| group.worth.capacity_s.value);
        },
    ),
    seconds("coretwin_cgroup_alone_seconds", "The same work, never shared.", |totals, _, out| {
        groups(totals, out, |group| group.worth.alone_equivalent_s.value);
    }),
];

fn range(out: &mut Samples, span: &Span) {
    bounds(out, &[], span);
}

fn bounds(out: &mut Samples, labels: &[(&str, &str)], span: &Span) {
    for (bound, value) in [("value", span.value), ("low", span.low), ("high", span.high)] {
        let labels: Vec<_> = labels.iter().copied().chain([("bound", bound)]).collect();
        out.add(&labels, value);
    }
}

fn capacity(snapshot: &Snapshot, out: &mut Samples, of: fn(Span) -> Span) {
    for core in &snapshot.cores {
        let (cpus, package) = (core.cpus.to_string(), core.package.to_string());
        bounds(out, &[("cpus", &cpus), ("package", &package)], &of(core.capacity_share));
    }
}

fn groups(totals: &Totals, out: &mut Samples, value: fn(&Group) -> f64) {
    for (path, group) in &totals.cgroups {
        out.add(&[("cgroup", path)], value(group));
    }
}
