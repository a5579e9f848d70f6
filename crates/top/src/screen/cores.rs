//! Bars of cores: each by itself where there is room, else by last-level cache or by package, with a
//! character for every core.

use super::{Glyphs, Page, percent};
use crate::snapshot::{Core, Snapshot};
use crate::view::{Grain, View};
use coretwin_base::machine::cpu_set::CpuSet;
use ratatui::style::Color;
use ratatui::text::{Line, Span as Words};

const BARS: [usize; 4] = [20, 10, 8, 5];
const GROUP_BAR: usize = 16;
/// Characters between two cores of a row.
const GAP: usize = 2;

struct Group<'a> {
    name: String,
    cores: Vec<&'a Core>,
}

/// Draws the heading and at most `room - 1` rows.
pub(super) fn draw(page: &mut Page<'_>, snapshot: &Snapshot, view: &mut View, room: usize) {
    let room = room.saturating_sub(1);
    let cores: Vec<&Core> = snapshot.cores.iter().collect();
    let (grain, groups) = choose(&cores, view.grain, page.width(), room);
    let lines = match grain {
        Grain::Core => single_lines(page, &groups, room),
        _ => group_lines(page, &groups, room),
    };
    let first = view.cores_from.min(lines.len().saturating_sub(room));
    view.cores_from = first;
    let [all, several, one, _, idle] = page.glyphs.busy;
    let some = match snapshot.machine.threads_per_core_max {
        3.. => format!("  {several} several"),
        _ => String::new(),
    };
    let shown = match lines.len() > room {
        true => format!("rows {}-{} of {} ([ ])", first + 1, first + room, lines.len()),
        false => String::new(),
    };
    let name = match grain {
        Grain::Cache => "CORES by last-level cache",
        Grain::Package => "CORES by package",
        _ => "CORES",
    };
    page.heading(name, &[format!("{all} all CPUs busy{some}  {one} one  {idle} idle"), shown]);
    for line in lines.into_iter().skip(first).take(room) {
        page.line(line);
    }
}

/// The groups to show: those asked for, or the finest that fit; if none fit, the coarsest.
fn choose<'a>(
    cores: &[&'a Core],
    grain: Grain,
    width: usize,
    room: usize,
) -> (Grain, Vec<Group<'a>>) {
    if grain != Grain::Fit {
        return (grain, grouped(cores, grain));
    }
    let single = grouped(cores, Grain::Core);
    if rows(single.len(), label_width(&single), BARS[BARS.len() - 1], width) <= room {
        return (Grain::Core, single);
    }
    let caches = grouped(cores, Grain::Cache);
    let known = cores.iter().all(|core| core.llc.is_some());
    if known && caches.len() <= room {
        return (Grain::Cache, caches);
    }
    (Grain::Package, grouped(cores, Grain::Package))
}

fn grouped<'a>(cores: &[&'a Core], grain: Grain) -> Vec<Group<'a>> {
    let name = |core: &Core| match grain {
        Grain::Cache => match core.llc {
            Some(llc) => format!("cache {llc}"),
            None => "no cache".to_owned(),
        },
        Grain::Package => format!("package {}", core.package),
        _ => label(&core.cpus),
    };
    let mut groups: Vec<Group<'a>> = Vec::new();
    for core in cores {
        let name = name(core);
        match groups.iter_mut().find(|group| grain != Grain::Core && group.name == name) {
            Some(group) => group.cores.push(core),
            None => groups.push(Group { name, cores: vec![core] }),
        }
    }
    groups
}

/// The CPUs of a core, as short as can be told apart.
fn label(cpus: &CpuSet) -> String {
    let text = cpus.to_string();
    match cpus.first() {
        Some(first) if text.len() > 9 => format!("{first},.."),
        _ => text,
    }
}

fn label_width(groups: &[Group<'_>]) -> usize {
    groups.iter().map(|group| group.name.len()).max().unwrap_or(0)
}

fn per_row(label: usize, bar: usize, width: usize) -> usize {
    ((width + GAP) / (label + 2 + bar + 1 + GAP)).max(1)
}

fn rows(cores: usize, label: usize, bar: usize, width: usize) -> usize {
    cores.div_ceil(per_row(label, bar, width))
}

/// Rows of several cores each, filled from top to bottom, with the longest bars for which all fit.
fn single_lines(page: &Page<'_>, groups: &[Group<'_>], room: usize) -> Vec<Line<'static>> {
    let (width, label) = (page.width(), label_width(groups));
    let fits = |bar: &usize| rows(groups.len(), label, *bar, width) <= room;
    let bar = BARS.into_iter().find(fits).unwrap_or(BARS[BARS.len() - 1]);
    let height = rows(groups.len(), label, bar, width);
    let line = |row: usize| {
        let mut words = Vec::new();
        for group in groups.iter().skip(row).step_by(height.max(1)) {
            let side = page.glyphs.side;
            words.push(Words::raw(format!("{:>label$} {side}", group.name)));
            words.extend(bar_of(page, &group.cores, bar));
            words.push(Words::raw(format!("{side}{:GAP$}", "")));
        }
        Line::from(words)
    };
    (0..height).map(line).collect()
}

/// Groups: of each its bar, its numbers, and a character for each of its cores; where those do not
/// fit into the rest of the line, and there is room, in lines of their own.
fn group_lines(page: &Page<'_>, groups: &[Group<'_>], room: usize) -> Vec<Line<'static>> {
    let (width, label) = (page.width(), label_width(groups));
    let mut lines = Vec::new();
    let own_lines: usize = groups.iter().map(|group| 1 + group.cores.len().div_ceil(width)).sum();
    for group in groups {
        let head = group_head(page, group, label);
        let used: usize = head.iter().map(Words::width).sum();
        let letters: Vec<&str> = group.cores.iter().map(|core| letter(core, page.glyphs)).collect();
        let style = page.coloured(Color::Cyan);
        if used + letters.len() > width && own_lines <= room {
            lines.push(Line::from(head));
            let rows = letters.chunks(width.max(1)).map(<[&str]>::concat);
            lines.extend(rows.map(|row| Line::styled(row, style)));
            continue;
        }
        let text = super::cut(&letters.concat(), width.saturating_sub(used), page.glyphs);
        lines.push(Line::from([head, vec![Words::styled(text, style)]].concat()));
    }
    lines
}

fn group_head(page: &Page<'_>, group: &Group<'_>, label: usize) -> Vec<Words<'static>> {
    let count = group.cores.len() as f64;
    let mean = |value: &dyn Fn(&Core) -> f64| {
        percent(group.cores.iter().map(|core| value(core)).sum::<f64>() / count)
    };
    let side = page.glyphs.side;
    let mut words = vec![Words::raw(format!("{:<label$} {side}", group.name))];
    words.extend(bar_of(page, &group.cores, GROUP_BAR));
    words.push(Words::raw(format!(
        "{side} any {:>6} all {:>6} cap {:>6} ",
        mean(&|core| core.at_least(1)),
        mean(&|core| core.at_least(core.cpus.len().max(2))),
        mean(&|core| core.capacity_share.value),
    )));
    words
}

/// A character for a core, by what it did most.
fn letter(core: &Core, glyphs: &Glyphs) -> &'static str {
    let [all, several, one, little, idle] = glyphs.busy;
    let full = if core.cpus.len() > 1 { core.at_least(core.cpus.len()) } else { 0.0 };
    match () {
        () if full >= 0.5 => all,
        () if core.at_least(2) >= 0.5 => several,
        () if core.at_least(1) >= 0.5 => one,
        () if core.at_least(1) >= 0.05 => little,
        () => idle,
    }
}

/// A bar in parts: all busy, several, one, idle.
fn bar_of(page: &Page<'_>, cores: &[&Core], length: usize) -> Vec<Words<'static>> {
    let count = (cores.len() as f64).max(1.0);
    let mean = |value: &dyn Fn(&Core) -> f64| -> f64 {
        cores.iter().map(|core| value(core)).sum::<f64>() / count
    };
    // A core of one CPU that is busy is busy with one.
    let all = mean(&|core| core.at_least(core.cpus.len().max(2)));
    let several = mean(&|core| core.at_least(2));
    let any = mean(&|core| core.at_least(1));
    // Ends are rounded, not lengths, so that the parts fill the bar; a part that is there shows.
    let end = |share: f64| ((share * length as f64).round() as usize).min(length);
    let (all, several) = (end(all), end(several));
    let any = end(any).max(usize::from(any >= 0.02)).max(several);
    let part = |kind: usize, count: usize, colour: Color| {
        Words::styled(page.glyphs.busy[kind].repeat(count), page.coloured(colour))
    };
    vec![
        part(0, all, Color::Red),
        part(1, several.saturating_sub(all), Color::Yellow),
        part(2, any.saturating_sub(several.max(all)), Color::Green),
        part(4, length - any.max(several).max(all), Color::Reset),
    ]
}
