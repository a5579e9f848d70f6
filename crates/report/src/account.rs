//! What CPU time was and is worth, as text. The raw time comes first.

use crate::number;
use crate::words::{clean, shorten};
use coretwin_base::account::{
    AccountSummary, Factor, Group, MethodName, SiblingsOrigin, Span, Worth,
};
use coretwin_base::cpu_set::CpuSet;
use coretwin_base::units::human_seconds;

/// Rows of a table; the rest stands in the JSON.
const ROWS_MAX: usize = 20;
/// Room for names, in characters.
const NAME_MAX: usize = 48;

/// The whole result.
#[must_use]
pub fn account_text(summary: &AccountSummary) -> String {
    let mut out = crate::topology::labelled(&facts(summary));
    out += &table("process", &summary.processes, |group| {
        format!("{} {}", group.name, clean(&group.comm))
    });
    if summary.processes.len() < summary.tasks.len() {
        let rows: Vec<(Worth, String)> = summary
            .tasks
            .iter()
            .map(|task| (task.worth, format!("{} {}", task.tid, clean(&task.comm))))
            .collect();
        out += &rows_text("thread", &rows);
    }
    if summary.cgroups.len() > 1 {
        out += &table("cgroup", &summary.cgroups, |group| clean(&group.name));
    }
    out + &warnings(summary)
}

fn facts(summary: &AccountSummary) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |label: &str, text: String| facts.push((label.to_owned(), text));
    let worth = &summary.worth;
    let raw_s = worth.raw_s;
    fact("raw", format!("{} CPU time, as the kernel counts it", seconds(raw_s)));
    let alone = Span {
        value: worth.alone_s,
        low: raw_s - worth.shared_high_s,
        high: raw_s - worth.shared_low_s,
    };
    let shared = Span { value: worth.shared_s, low: worth.shared_low_s, high: worth.shared_high_s };
    fact("  alone", format!("{}{}", ranged(alone), of_raw(alone.value, raw_s)));
    fact(
        "  shared",
        format!("{}{} beside a busy sibling", ranged(shared), of_raw(shared.value, raw_s)),
    );
    fact("capacity", format!("{} of a whole core", ranged(worth.capacity_s)));
    fact(
        "if alone",
        format!("{} alone-equivalent: had no sibling been busy", ranged(worth.alone_equivalent_s)),
    );
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
    let sets = if sets.is_empty() { "none".to_owned() } else { sets.join(" ") };
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

fn table(what: &str, groups: &[Group], name: impl Fn(&Group) -> String) -> String {
    let rows: Vec<(Worth, String)> =
        groups.iter().map(|group| (group.worth, name(group))).collect();
    rows_text(what, &rows)
}

fn rows_text(what: &str, rows: &[(Worth, String)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n{:>11}  {:>11}  {:>11}  {:>16}  {what}\n",
        "raw", "shared", "capacity", "alone-equivalent"
    );
    for (worth, name) in rows.iter().take(ROWS_MAX) {
        out += &format!(
            "{:>11}  {:>11}  {:>11}  {:>16}  {}\n",
            seconds(worth.raw_s),
            seconds(worth.shared_s),
            seconds(worth.capacity_s.value),
            seconds(worth.alone_equivalent_s.value),
            shorten(name, NAME_MAX),
        );
    }
    if rows.len() > ROWS_MAX {
        out += &format!("and {} more, see --json\n", rows.len() - ROWS_MAX);
    }
    out
}

fn warnings(summary: &AccountSummary) -> String {
    let mut out = String::new();
    for warning in &summary.warnings {
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
