//! The head of the screen: what the whole machine does.

use super::tables::WIDE;
use super::{Page, percent};
use crate::snapshot::{Machine, Short, Snapshot};
use crate::view::{Panel, View};
use coretwin_base::account::Span;
use ratatui::style::Color;
use ratatui::text::{Line, Span as Words};

/// Share of the capacity above which it is shown as scarce.
const SCARCE: f64 = 0.9;
/// How long a warning stays before the next one is shown.
const WARNING_FOR_S: f64 = 4.0;

pub(super) fn draw(page: &mut Page<'_>, snapshot: &Snapshot, view: &View) {
    let has_siblings = snapshot.machine.threads_per_core_max > 1;
    title(page, snapshot, view);
    let busy = busy(snapshot, has_siblings);
    page.parts(busy);
    let capacity = capacity(page, snapshot);
    page.parts(capacity);
    let s = &snapshot.core_yield;
    let basis = match has_siblings {
        true => [
            format!("yield s={:.2}x [{}x]", s.all_busy.value, range(&s.all_busy, 1.0, 2)),
            s.origin.words().to_owned(),
        ],
        false => [
            "no CPU here is known to have a sibling:".to_owned(),
            "all time is alone, capacity is CPU time".to_owned(),
        ],
    };
    page.parts(basis.map(|part| vec![Words::raw(part)]).to_vec());
    let waits = waits(page, snapshot, has_siblings);
    page.parts(waits);
    // The panel of warnings has all of them.
    if view.panel != Panel::Warnings {
        warning(page, snapshot);
    }
}

/// The largest of the short looks, in percent.
fn largest(snapshot: &Snapshot, value: fn(&Short) -> f64) -> String {
    let short = snapshot.short.as_ref();
    short.map_or_else(String::new, |short| format!(" (max {:.0}%)", value(short) * 100.0))
}

fn busy(snapshot: &Snapshot, has_siblings: bool) -> Vec<Vec<Words<'static>>> {
    let machine = &snapshot.machine;
    let share = |name: &str, share: f64, most: String| {
        vec![Words::raw(format!("{name} {}{most}", percent(share)))]
    };
    let logical = largest(snapshot, |short| short.logical_share);
    let core_busy = largest(snapshot, |short| short.core_busy_share);
    let mut parts = vec![
        share("logical", machine.logical_share, logical),
        share("core-busy", machine.core_busy_share.value, core_busy),
    ];
    if has_siblings {
        parts.push(share("all busy", machine.all_busy_share.value, String::new()));
    }
    parts.push(share("steal", machine.steal_share, String::new()));
    parts
}

/// Capacity in use, and what is left of it; as a multiple of the load too, where there is room.
fn capacity(page: &Page<'_>, snapshot: &Snapshot) -> Vec<Vec<Words<'static>>> {
    let Machine { capacity_share: share, headroom_cores: left, cores, .. } = &snapshot.machine;
    let used = format!(
        "{} [{}%]{}",
        percent(share.value),
        range(share, 100.0, 1),
        largest(snapshot, |short| short.capacity_share)
    );
    let scarce = page.coloured(if share.value > SCARCE { Color::Red } else { Color::Green });
    let left =
        format!("{:.1} of {} [{}]", left.value, counted(*cores, "core"), range(left, 1.0, 1));
    let mut parts = vec![
        vec![Words::styled("capacity ", page.bold()), Words::styled(used, scarce)],
        vec![Words::styled("headroom ", page.bold()), Words::raw(left)],
    ];
    match snapshot.machine.headroom_times {
        Some(times) if times.value < 100.0 && page.width() >= WIDE => {
            parts.push(vec![Words::raw(format!("{:.1}x the load", times.value))]);
        }
        _ => {}
    }
    parts
}

/// What is waited for: cores that share while others idle, pressure, interrupts.
fn waits(page: &Page<'_>, snapshot: &Snapshot, has_siblings: bool) -> Vec<Vec<Words<'static>>> {
    let clash = snapshot.machine.clash_cores;
    let most = match &snapshot.short {
        Some(short) => format!(" (max {:.1})", short.clash_cores),
        None => String::new(),
    };
    let at_most = if clash.seen || clash.value == 0.0 { "" } else { "at most " };
    let text = format!("{at_most}{:.2} cores{most}", clash.value);
    let style = page.coloured(if clash.value >= 0.5 { Color::Red } else { Color::Reset });
    let mut parts = match has_siblings {
        true => vec![vec![Words::raw("clash "), Words::styled(text, style)]],
        false => Vec::new(),
    };
    parts.push(vec![Words::raw(pressure(snapshot))]);
    parts.push(vec![Words::raw(format!("irq {}", percent(snapshot.machine.interrupts_share)))]);
    parts
}

/// One of the warnings; every few seconds the next, so that none is hidden by the first.
fn warning(page: &mut Page<'_>, snapshot: &Snapshot) {
    let count = snapshot.warnings.len();
    let turn = (snapshot.time_unix_s.max(0.0) / WARNING_FOR_S) as usize % count.max(1);
    let Some(warning) = snapshot.warnings.get(turn) else { return };
    let which = match count {
        1 => "warning (4 for all of it)".to_owned(),
        _ => format!("warning {} of {count} (4 for all)", turn + 1),
    };
    let text = super::cut(&format!("! {which}: {}", warning.text), page.width(), page.glyphs);
    page.line(Line::styled(page.clean(&text), page.coloured(Color::Yellow)));
}

fn title(page: &mut Page<'_>, snapshot: &Snapshot, view: &View) {
    let machine = &snapshot.machine;
    let offline = match snapshot.offline.is_empty() {
        true => String::new(),
        false => format!(", offline {}", snapshot.offline),
    };
    let cgroup = view.cgroup.as_deref().map(|cgroup| format!("in {}", page.clean(cgroup)));
    let filter = match view.filter.as_str() {
        "" => String::new(),
        filter => format!("filter '{filter}'"),
    };
    let short = |text: &str| super::cut(text, page.width() / 3, page.glyphs);
    let parts = [
        if view.paused { "PAUSED".to_owned() } else { String::new() },
        short(&cgroup.unwrap_or_default()),
        short(&filter),
        format!("{}, {}{offline}", counted(machine.cpus, "CPU"), counted(machine.cores, "core")),
        format!("{} {:.1} s", snapshot.method.name(), snapshot.elapsed_s),
        format!("{} UTC", clock(snapshot.time_unix_s)),
    ];
    page.heading("coretwin top", &parts);
}

fn counted(count: u32, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

fn pressure(snapshot: &Snapshot) -> String {
    let Some(pressure) = &snapshot.pressure else { return "PSI off".to_owned() };
    let share = |name: &str, share: Option<f64>| match share {
        Some(share) => format!(" {name} {}", percent(share)),
        None => String::new(),
    };
    [
        "PSI".to_owned(),
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
