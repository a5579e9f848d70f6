//! The head of the screen: what the whole machine does.

use super::{Page, percent};
use crate::snapshot::{Machine, Short, Snapshot};
use crate::view::View;
use coretwin_base::account::Span;
use ratatui::style::Color;
use ratatui::text::{Line, Span as Words};

/// Share of the capacity above which it is shown as scarce.
const SCARCE: f64 = 0.9;

pub(super) fn draw(page: &mut Page<'_>, snapshot: &Snapshot, view: &View) {
    title(page, snapshot, view);
    let Machine { capacity_share, clash_cores, .. } = &snapshot.machine;
    let machine = &snapshot.machine;
    let max = |value: fn(&Short) -> f64| match &snapshot.short {
        Some(short) => format!(" (max {:.0})", value(short) * 100.0),
        None => String::new(),
    };
    page.line(Line::raw(format!(
        "logical {}{}  core-busy {}{}  all busy {}  steal {}",
        percent(machine.logical_share),
        max(|short| short.logical_share),
        percent(machine.core_busy_share.value),
        max(|short| short.core_busy_share),
        percent(machine.all_busy_share.value),
        percent(machine.steal_share),
    )));
    let scarce = match capacity_share.value > SCARCE {
        true => page.coloured(Color::Red),
        false => page.coloured(Color::Green),
    };
    let capacity = format!(
        "{} [{}]{}",
        percent(capacity_share.value),
        range(capacity_share, 100.0, 1),
        max(|short| short.capacity_share)
    );
    let heads = ["capacity ", "  headroom "];
    let used = heads.concat().len() + capacity.len();
    page.line(Line::from(vec![
        Words::styled(heads[0], page.bold()),
        Words::styled(capacity, scarce),
        Words::styled(heads[1], page.bold()),
        Words::raw(headroom(machine, page.width().saturating_sub(used))),
    ]));
    if machine.threads_per_core_max > 1 {
        let s = &snapshot.core_yield;
        page.line(Line::raw(format!(
            "yield s={:.2} [{}] {}",
            s.all_busy.value,
            range(&s.all_busy, 1.0, 2),
            s.origin.words()
        )));
    } else {
        page.line(Line::raw("no CPU here is known to have a sibling: capacity is CPU time"));
    }
    let most = match &snapshot.short {
        Some(short) => format!(" (max {:.1})", short.clash_cores),
        None => String::new(),
    };
    let at_most = if clash_cores.seen || clash_cores.value == 0.0 { "" } else { "at most " };
    let clash = format!("{at_most}{:.2} cores{most}", clash_cores.value);
    let style = page.coloured(if clash_cores.value >= 0.5 { Color::Red } else { Color::Reset });
    page.line(Line::from(vec![
        Words::raw("clash "),
        Words::styled(clash, style),
        Words::raw(pressure(snapshot)),
        Words::raw(format!("  irq {}", percent(machine.interrupts_share))),
    ]));
    if let Some(first) = snapshot.warnings.first() {
        let more = match snapshot.warnings.len() {
            1 => "note (4 for all of it)".to_owned(),
            count => format!("first of {count} notes (4 for all)"),
        };
        let yellow = page.coloured(Color::Yellow);
        page.line(Line::styled(format!("! {more}: {}", first.text), yellow));
    }
}

fn title(page: &mut Page<'_>, snapshot: &Snapshot, view: &View) {
    let machine = &snapshot.machine;
    let offline = match snapshot.offline.is_empty() {
        true => String::new(),
        false => format!(", offline {}", snapshot.offline),
    };
    let paused = if view.paused { "  PAUSED" } else { "" };
    let filter = match (&view.cgroup, view.filter.as_str()) {
        (None, "") => String::new(),
        (None, filter) => format!("  filter '{filter}'"),
        (Some(cgroup), "") => format!("  in {}", super::clean(cgroup)),
        (Some(cgroup), filter) => format!("  in {}, filter '{filter}'", super::clean(cgroup)),
    };
    let line = format!(
        "{paused}{filter}  {} CPUs, {} cores{offline}  {} {:.1} s  {} UTC",
        machine.cpus,
        machine.cores,
        snapshot.method.name(),
        snapshot.elapsed_s,
        clock(snapshot.time_unix_s),
    );
    page.heading("coretwin top", line);
}

/// What is left; as a multiple of the load too, where that fits.
fn headroom(machine: &Machine, width: usize) -> String {
    let Machine { headroom_cores: left, headroom_times: times, cores, .. } = machine;
    let plural = if *cores == 1 { "core" } else { "cores" };
    let text = format!("{:.1} of {cores} {plural} [{}]", left.value, range(left, 1.0, 1));
    match times {
        Some(times) if times.value < 100.0 => {
            let longer = format!("{text} {:.1}x the load", times.value);
            if longer.len() <= width { longer } else { text }
        }
        _ => text,
    }
}

fn pressure(snapshot: &Snapshot) -> String {
    let Some(pressure) = &snapshot.pressure else { return "  PSI off".to_owned() };
    let share = |name: &str, share: Option<f64>| match share {
        Some(share) => format!(" {name} {}", percent(share)),
        None => String::new(),
    };
    [
        "  PSI".to_owned(),
        share("cpu", pressure.cpu_some_share),
        share("mem", pressure.memory_some_share),
        share("io", pressure.io_some_share),
    ]
    .concat()
}

/// The range of a number: `35.0-41.2`.
fn range(span: &Span, times: f64, decimals: usize) -> String {
    format!("{:.decimals$}-{:.decimals$}", span.low * times, span.high * times)
}

/// `12:00:05` of a moment in seconds since 1970.
fn clock(time_unix_s: f64) -> String {
    let second = (time_unix_s.max(0.0) as u64) % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}
