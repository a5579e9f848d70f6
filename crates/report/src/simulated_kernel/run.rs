//! Runs of the simulated kernel for a terminal: a line a policy, then what is particular to each.

use crate::number;
use crate::words::{clean, columns, fill};
use coretwin_base::simulation::kernel_run::{SchedLatency, SchedRun};
use std::fmt::Write;

/// The runs of one scenario, machine and length: policies in their order, each with all its seeds.
/// Several policies give a table; a single one is shown in full. Tables are cut at `page` columns.
pub fn sched_runs_text(runs: &[SchedRun], page: usize) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let groups: Vec<&[SchedRun]> = runs.chunk_by(|a, b| a.policy == b.policy).collect();
    let seeds = groups[0].len() as u64;
    let mut out = format!(
        "{} on {}, speeds {}, {} from {}\n\n",
        clean(&first.workload),
        clean(&first.topology),
        clean(&first.preset),
        number::count(seeds, "seed"),
        first.seed,
    );
    out.push_str(&comparison(&groups, page));
    if seeds > 1 {
        out.push_str("\nnumbers are means over the seeds; in brackets the least and the most\n");
    }
    if let [only] = groups[..] {
        out.push_str(&in_full(&only[0], page));
    }
    out.push('\n');
    for (term, meaning) in [
        ("clash    ", "a core ran two tasks while another idled"),
        ("moved    ", "tasks that went on on a sibling (in core), on another core (across)"),
        ("wake-up  ", "from waking to running"),
        ("fairness ", "Jain's index of CPU time; 1 is even"),
        ("hash     ", "equal where the same happened"),
    ] {
        fill(&mut out, meaning.split(' '), page, term, "         ");
    }
    out
}

fn comparison(groups: &[&[SchedRun]], page: usize) -> String {
    let unit = groups[0][0].unit.as_str();
    let same_unit = groups.iter().all(|group| group[0].unit == unit);
    let unit = if same_unit { clean(unit) } else { "result".to_owned() };
    let mut rows = vec![
        row("||clash|CPUs|task|moved|moved|wake-up|wake-up|longest|fairness|trace"),
        row("policy||% time|busy %|switches|in core|across|median µs|99 % µs|wait ms|to 1|hash"),
    ];
    rows[1][1] = unit;
    for group in groups {
        let of = |value: fn(&SchedRun) -> f64| mean(group, value);
        let first = &group[0];
        let own_unit = if same_unit { String::new() } else { format!(" {}", clean(&first.unit)) };
        let fair: Vec<f64> = group.iter().filter_map(|run| run.fairness).collect();
        rows.push(vec![
            clean(&first.policy),
            spread(group, |run| run.value) + &own_unit,
            format!("{:.1}", of(|run| run.clash_s * 100.0 / run.measured_s.max(1e-12))),
            format!("{:.1}", of(|run| run.utilisation * 100.0)),
            number::whole(of(|run| run.switches as f64) as u64),
            number::whole(of(|run| run.migrations.same_core as f64) as u64),
            number::whole(of(|run| run.migrations.cross_core as f64) as u64),
            microseconds(group, |latency| latency.p50_us),
            microseconds(group, |latency| latency.p99_us),
            number::value(round(of(|run| run.wait_longest_s * 1e3))),
            match fair.is_empty() {
                true => number::NONE.to_owned(),
                false => format!("{:.3}", fair.iter().sum::<f64>() / fair.len() as f64),
            },
            clean(&first.trace_hash).chars().take(8).collect(),
        ]);
    }
    columns(&rows, page)
}

/// Three decimals are enough for ms and µs.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn mean(runs: &[SchedRun], value: impl Fn(&SchedRun) -> f64) -> f64 {
    runs.iter().map(value).sum::<f64>() / runs.len().max(1) as f64
}

fn spread(runs: &[SchedRun], value: impl Fn(&SchedRun) -> f64) -> String {
    let ends = number::ends(runs.iter().map(&value)).filter(|_| runs.len() > 1);
    let mean = number::value(mean(runs, value));
    ends.map_or_else(
        || mean.clone(),
        |(low, high)| format!("{mean} ({}–{})", number::value(low), number::value(high)),
    )
}

fn microseconds(runs: &[SchedRun], of: fn(&SchedLatency) -> f64) -> String {
    match runs.iter().all(|run| run.wake_latency.count == 0) {
        true => number::NONE.to_owned(),
        false => number::value(round(mean(runs, |run| of(&run.wake_latency)))),
    }
}

fn in_full(run: &SchedRun, page: usize) -> String {
    let mut out = String::new();
    let ended = if run.finished { "all work ended" } else { "the time was up" };
    let _ = writeln!(
        out,
        "\n{} s simulated, {} s of it measured: {ended}; {}, {}; policy's own work {} s of CPU",
        number::value(run.simulated_s),
        number::value(run.measured_s),
        number::count(run.events, "event"),
        number::count(run.pulls, "pull"),
        number::value(run.policy_s),
    );
    let _ = writeln!(
        out,
        "idle while a task waited that may run anywhere: CPUs {} s, whole cores {} s",
        number::value(run.wasted_cpu_s),
        number::value(run.wasted_core_s),
    );
    let of_core: Vec<String> = run
        .core_throughput
        .iter()
        .enumerate()
        .filter_map(|(busy, found)| {
            Some(format!("{} with {} busy", number::value((*found)?), busy + 1))
        })
        .collect();
    let _ = writeln!(out, "throughput of a core over one busy: {}", of_core.join(", "));
    if !run.operations.is_empty() {
        out.push('\n');
        out.push_str(&operations(run, page));
    }
    out.push('\n');
    out.push_str(&programs(run, page));
    out.push('\n');
    out.push_str(&cpus(run, page));
    out
}

fn operations(run: &SchedRun, page: usize) -> String {
    let mut rows = vec![row("operation|count|a second|µs median|90 %|99 %|99.9 %|longest")];
    for one in &run.operations {
        let of = &one.latency;
        let times = [of.p50_us, of.p90_us, of.p99_us, of.p999_us, of.most_us];
        let mut cells = vec![clean(&one.name), number::whole(one.count), number::value(one.per_s)];
        cells.extend(times.map(|us| number::value(round(us))));
        rows.push(cells);
    }
    columns(&rows, page)
}

fn programs(run: &SchedRun, page: usize) -> String {
    let mut rows = vec![
        row("|||CPU s|with|beside|in the|would be|of core|wake µs|lifetime"),
        row("program|tasks|ended||core alone|sibling|kernel|alone|capacity|99 %|mean ms"),
    ];
    for one in &run.programs {
        let seconds =
            [one.raw_s, one.alone_s, one.shared_s, one.system_s, one.work_alone_s, one.capacity_s];
        let mut cells = vec![clean(&one.name), number::whole(one.tasks), number::whole(one.ended)];
        cells.extend(seconds.map(|seconds| format!("{seconds:.3}")));
        cells.push(if_any(&one.wake_latency, one.wake_latency.p99_us));
        cells.push(if_any(&one.lifetime, one.lifetime.mean_us / 1e3));
        rows.push(cells);
    }
    columns(&rows, page)
}

fn if_any(latency: &SchedLatency, value: f64) -> String {
    if latency.count == 0 { number::NONE.to_owned() } else { number::value(round(value)) }
}

const CPUS_MAX: usize = 16;

fn cpus(run: &SchedRun, page: usize) -> String {
    let mut rows = vec![row("cpu|core|user s|kernel s|idle s|offline s|switches")];
    for one in run.cpus.iter().take(CPUS_MAX) {
        let seconds = [one.user_s, one.system_s, one.idle_s, one.offline_s];
        let mut cells = vec![format!("cpu{}", one.cpu), one.core.to_string()];
        cells.extend(seconds.map(|seconds| format!("{seconds:.3}")));
        cells.push(number::whole(one.switches));
        rows.push(cells);
    }
    let mut out = columns(&rows, page);
    if run.cpus.len() > CPUS_MAX {
        let _ = writeln!(out, "and {} more CPUs (all with --json)", run.cpus.len() - CPUS_MAX);
    }
    out
}

/// A row of cells with `|` between them.
fn row(cells: &str) -> Vec<String> {
    cells.split('|').map(str::to_owned).collect()
}
