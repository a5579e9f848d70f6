//! What CPU time was and is worth, as text. The raw time comes first.

use crate::brief::Brief;
use crate::number;
use crate::topology;
use crate::words::{clean, shorten};
use coretwin_base::account::{
    AccountSummary, Balance, Factor, MethodName, NO_SIBLINGS, SiblingsOrigin, Span, Worth,
};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::units::human_seconds;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Display;

/// Rows of a table; the rest stands in the JSON.
const ROWS_MAX: usize = 20;
/// Room for names, in characters.
const NAME_MAX: usize = 48;

pub fn account_text(summary: &AccountSummary) -> String {
    let has_siblings = summary.siblings.threads_per_core_max() > 1;
    let mut out = topology::labelled(&facts(summary), topology::COLUMNS);
    let row = |worth: Worth, id: &dyn Display, comm: &str, ended: bool| {
        let comm = clean(comm);
        Row { worth, name: format!("{id} {comm}"), ended, comm }
    };
    let processes = summary.processes.iter();
    let processes = processes.map(|it| row(it.worth, &it.name, &it.comm, it.ended));
    out += &table("process", has_siblings, together(processes));
    if summary.processes.len() < summary.tasks.len() {
        let tasks = summary.tasks.iter();
        let tasks = tasks.map(|it| row(it.worth, &it.tid, &it.comm, it.ended));
        out += &table("thread", has_siblings, together(tasks));
    }
    if summary.cgroups.len() > 1 {
        let rows = summary.cgroups.iter().map(|group| (group.worth, clean(&group.name)));
        out += &table("cgroup", has_siblings, rows.collect());
    }
    out + &warnings(summary)
}

pub fn account_brief(summary: &AccountSummary) -> Brief {
    let worth = &summary.worth;
    let word = summary.origin.mark().unwrap_or_default();
    let lead = if word.is_empty() { String::new() } else { format!("{word}: ") };
    let raw = seconds(worth.raw_s);
    let facts: BTreeMap<String, String> = facts(summary).into_iter().collect();
    let said = |label: &str| facts.get(label).cloned().unwrap_or_default();
    let brief = match summary.siblings.threads_per_core_max() {
        0 | 1 => Brief::new(
            word,
            format!(
                "{lead}{raw} of CPU time; no siblings are shown: every second counts in full, unless \
                 some are hidden (coretwin topology)."
            ),
        ),
        _ => {
            let share = 100.0 * worth.shared_s / worth.raw_s.max(f64::MIN_POSITIVE);
            let alone = seconds(worth.alone_equivalent_s.value);
            let answer = format!(
                "{lead}{raw} of CPU time were worth {alone} alone: {share:.1} % ran beside a busy sibling."
            );
            let capacity = format!("capacity {}", ranged(worth.capacity_s));
            let alone = format!("if alone {}", ranged(worth.alone_equivalent_s));
            Brief::new(word, answer).line("interval", [capacity, alone, said("  shared")])
        }
    };
    let command = said("command");
    let interrupted = if summary.interrupted { "interrupted".to_owned() } else { String::new() };
    let elapsed = format!("{} elapsed", human_seconds(summary.elapsed_s));
    brief
        .line("of", [shorten(&clean(&summary.target), NAME_MAX), elapsed, command, interrupted])
        .line("method", [method(summary)])
        .line("CPUs", [said("CPUs")])
        .warnings(summary.warnings.iter().filter(|warning| warning.kind != NO_SIBLINGS))
}

fn facts(summary: &AccountSummary) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |label: &str, text: String| facts.push((label.to_owned(), text));
    let worth = &summary.worth;
    let has_siblings = summary.siblings.threads_per_core_max() > 1;
    fact("raw", format!("{} CPU time, as the kernel counts it", seconds(worth.raw_s)));
    if has_siblings {
        for (label, text) in worths(worth) {
            fact(label, text);
        }
    }
    fact("of", clean(&summary.target));
    fact("elapsed", human_seconds(summary.elapsed_s));
    if let Some(end) = &summary.command {
        let text = match (end.exit_status, end.signal) {
            (Some(status), _) => format!("exit status {status}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "still runs".to_owned(),
        };
        fact("command", text);
    }
    if let Some(balance) = &summary.balance {
        fact("CPUs", cpus(balance));
        fact("/proc/stat", stat(balance));
    }
    fact("method", method(summary));
    if !summary.method_why.is_empty() {
        fact("", clean(&summary.method_why));
    }
    fact("siblings", siblings(summary));
    if !summary.not_usable.is_empty() {
        fact(
            "",
            format!(
                "not usable by this program: {}; of tasks there, only the busy time of /proc/stat \
                 is sure to be seen",
                summary.not_usable
            ),
        );
    }
    if summary.core_yield.by_busy.len() > 1 {
        fact("yield s", factor(&summary.core_yield));
        fact("slowdown r", factor(&summary.slowdown));
    }
    if summary.unattributed_s > 0.0 {
        let text = "within the raw time, of tasks that were not seen";
        fact("unattributed", format!("{} {text}", seconds(summary.unattributed_s)));
    }
    if summary.interrupted {
        fact("interrupted", "what was measured up to then".to_owned());
    }
    facts
}

fn worths(worth: &Worth) -> [(&'static str, String); 4] {
    let raw_s = worth.raw_s;
    let alone = Span {
        value: worth.alone_s,
        low: raw_s - worth.shared_high_s,
        high: raw_s - worth.shared_low_s,
    };
    let shared = Span { value: worth.shared_s, low: worth.shared_low_s, high: worth.shared_high_s };
    let beside = "beside a busy sibling";
    let equivalent = "alone-equivalent: had no sibling been busy";
    [
        ("  alone", format!("{}{}", ranged(alone), of_raw(alone.value, raw_s))),
        ("  shared", format!("{}{} {beside}", ranged(shared), of_raw(shared.value, raw_s))),
        ("capacity", format!("{} of a whole core", ranged(worth.capacity_s))),
        ("if alone", format!("{} {equivalent}", ranged(worth.alone_equivalent_s))),
    ]
}

/// Whether the time of all CPUs adds up.
fn cpus(balance: &Balance) -> String {
    let count = f64::from(balance.cpus.max(1));
    let offline = match balance.offline_s {
        offline_s if offline_s > 0.0 => format!(", offline {}", seconds(offline_s)),
        _ => String::new(),
    };
    format!(
        "tasks {} + idle {} + charged to no task {}{offline} = {}; {} x {} = {}: {:.2} %",
        seconds(balance.tasks_s),
        seconds(balance.idle_s),
        seconds(balance.uncharged_s),
        seconds(balance.sum_s()),
        balance.cpus,
        seconds(balance.cpus_s / count),
        seconds(balance.cpus_s),
        100.0 * balance.sum_s() / balance.cpus_s.max(f64::MIN_POSITIVE),
    )
}

fn stat(balance: &Balance) -> String {
    let stat = &balance.stat;
    format!(
        "beside it, by ticks: busy {}, interrupts {}, steal {}, idle {}",
        seconds(stat.busy_s),
        seconds(stat.interrupts_s),
        seconds(stat.steal_s),
        seconds(stat.idle_s),
    )
}

fn method(summary: &AccountSummary) -> String {
    match summary.method {
        MethodName::Ebpf => "ebpf: every switch that the kernel shows".to_owned(),
        MethodName::Sampled => format!(
            "sampled: ranges hold the truth at a rate of {} or more",
            number::share(summary.coverage)
        ),
        MethodName::Bounds => {
            "bounds: ranges that must hold the truth; the values take busy CPUs for independent"
                .to_owned()
        }
    }
}

fn siblings(summary: &AccountSummary) -> String {
    let groups: Vec<&CpuSet> =
        summary.siblings.cores.iter().filter(|core| core.len() > 1).collect();
    let mut sets: Vec<String> = groups.iter().take(8).map(|core| format!("{{{core}}}")).collect();
    if groups.len() > sets.len() {
        sets.push(format!("and {} more", groups.len() - sets.len()));
    }
    if sets.is_empty() {
        return "none here as far as is known, so all time is alone, and capacity is CPU time; coretwin \
                probe finds those that a hypervisor hides, --siblings 0+1 names some"
            .to_owned();
    }
    let sets = sets.join(" ");
    match summary.siblings.origin {
        SiblingsOrigin::Kernel => format!("{sets}, as the kernel reports them"),
        SiblingsOrigin::Probed => format!("{sets}, found by probe"),
        SiblingsOrigin::Given => {
            format!("{sets}, as given: what the time would be worth if they shared a core")
        }
    }
}

fn factor(factor: &Factor) -> String {
    let span = factor.all_busy;
    let range = match span.high > span.low {
        true => format!(" ({:.2} to {:.2})", span.low, span.high),
        false => String::new(),
    };
    format!("{:.2}{range}, {}", span.value, clean(&factor.origin.words()))
}

struct Row {
    worth: Worth,
    name: String,
    comm: String,
    ended: bool,
}

/// Those that ended and have the same name in one row, the most raw time first.
fn together(rows: impl Iterator<Item = Row>) -> Vec<(Worth, String)> {
    let mut kept = Vec::new();
    let mut ended: BTreeMap<String, (u64, Row)> = BTreeMap::new();
    for row in rows {
        match ended.entry(row.comm.clone()) {
            _ if !row.ended => kept.push((row.worth, row.name)),
            Entry::Occupied(mut same) => {
                same.get_mut().0 += 1;
                same.get_mut().1.worth.include(&row.worth);
            }
            Entry::Vacant(first) => _ = first.insert((1, row)),
        }
    }
    kept.extend(ended.into_iter().map(|(comm, (count, row))| match count {
        1 => (row.worth, row.name),
        _ => (row.worth, format!("{count} ended: {comm}")),
    }));
    kept.sort_by(|(a, _), (b, _)| b.raw_s.total_cmp(&a.raw_s));
    kept
}

/// Without siblings all of a time is the same, and only the raw one is shown.
fn table(what: &str, has_siblings: bool, rows: Vec<(Worth, String)>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |raw: &str, more: [&str; 3], name: &str| match (has_siblings, more) {
        (false, _) => format!("{raw:>11}  {name}\n"),
        (true, [a, b, c]) => format!("{raw:>11}  {a:>11}  {b:>11}  {c:>16}  {name}\n"),
    };
    let mut out = format!("\n{}", line("raw", ["shared", "capacity", "alone-equivalent"], what));
    for (worth, name) in rows.iter().take(ROWS_MAX) {
        let more = [worth.shared_s, worth.capacity_s.value, worth.alone_equivalent_s.value];
        let [a, b, c] = &more.map(seconds);
        out += &line(&seconds(worth.raw_s), [a, b, c], &shorten(name, NAME_MAX));
    }
    if rows.len() > ROWS_MAX {
        out += &format!("and {} more, see --json\n", rows.len() - ROWS_MAX);
    }
    out
}

fn warnings(summary: &AccountSummary) -> String {
    let mut out = String::new();
    // Of siblings that are not there the facts speak.
    for warning in summary.warnings.iter().filter(|warning| warning.kind != NO_SIBLINGS) {
        out += &format!("\n{}: {}.\n", clean(&warning.text), clean(&warning.remedy));
    }
    for note in &summary.unseen.notes {
        out += &format!("\n{}\n", clean(note));
    }
    out
}

fn of_raw(part_s: f64, raw_s: f64) -> String {
    if raw_s > 0.0 { format!(", {:.1} %", 100.0 * part_s / raw_s) } else { String::new() }
}

fn ranged(span: Span) -> String {
    if span.high - span.low < 5e-4 * span.value.max(1.0) {
        return seconds(span.value);
    }
    format!("{} ({} to {})", seconds(span.value), plain(span.low), plain(span.high))
}

fn seconds(time_s: f64) -> String {
    format!("{} s", plain(time_s))
}

/// As many digits as matter for CPU time: a millisecond, or one in ten thousand.
fn plain(time_s: f64) -> String {
    match time_s.abs() {
        time if time < 10.0 => format!("{time_s:.3}"),
        time if time < 1000.0 => format!("{time_s:.2}"),
        _ => format!("{time_s:.0}"),
    }
}
