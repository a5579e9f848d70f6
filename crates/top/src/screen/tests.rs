//! The screen at three sizes, and of a machine of hundreds of CPUs.

use super::{ASCII, UTF8, broken, draw, legend};
use crate::assemble::{Seen, snapshot};
use crate::snapshot::{Short, Snapshot};
use crate::view::{Act, Grain, KEYS, Order, Panel, View};
use coretwin_account::model::Valuation;
use coretwin_base::account::{
    CoreUse, CpuUse, MethodName, PairUse, Run, Siblings, Span, TaskUse, Window,
};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::Topology;
use coretwin_base::warning::Warning;
use coretwin_host::cgroup::Limits;
use coretwin_host::pressure::Pressure;
use expect_test::expect_file;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::style::Color;

/// What a core of two CPUs does: seconds with none, one and both busy, of one second.
fn core(cpus: &CpuSet, times: &[f64]) -> CoreUse {
    let busy_s: f64 = (0..).zip(times).map(|(k, time)| f64::from(k) * time).sum();
    let cpu = |cpu| CpuUse {
        cpu,
        busy_s: busy_s / cpus.len() as f64,
        interrupts_s: 0.004,
        steal_s: 0.001,
    };
    CoreUse {
        cpus: cpus.clone(),
        by_busy_s: times.iter().copied().map(Span::exact).collect(),
        by_cpu: cpus.iter().map(cpu).collect(),
    }
}

fn task(tid: u32, name: &str, cgroup: &str, cpu: u32, times: [f64; 2]) -> TaskUse {
    TaskUse {
        pid: tid / 10 * 10,
        tid,
        parent: None,
        started_s: 1.0,
        comm: name.to_owned(),
        cgroup: (!cgroup.is_empty()).then(|| cgroup.to_owned()),
        last_cpu: Some(CpuId(cpu)),
        ended: false,
        raw_s: times.iter().sum(),
        runs: vec![Run { by_busy_s: times.map(Span::exact).to_vec() }],
    }
}

/// A machine of that many cores of two CPUs, of which the first four are at work, and of two packages
/// if there are more than sixteen.
pub(crate) fn window(cores: u32) -> (Window, Topology) {
    let packages = if cores > 16 { 2 } else { 1 };
    let mut topology = Topology::regular(packages, cores / packages, 2);
    let last = topology.cpus.len() - 1;
    topology.cpus[last].online = false;
    topology.online = (0..cores * 2 - 1).map(CpuId).collect();
    let siblings = Siblings::of_kernel(&topology);
    let work = [[0.0, 0.0, 1.0], [0.1, 0.5, 0.4], [0.25, 0.75, 0.0], [0.97, 0.02, 0.01]];
    let idle = [1.0, 0.0, 0.0];
    let uses = siblings.cores.iter().enumerate().map(|(index, cpus)| {
        let times = work.get(index).unwrap_or(&idle);
        core(cpus, &times[..=cpus.len()])
    });
    let mut vague = task(21, "postgres", "/db", 2, [0.3, 0.4]);
    vague.runs[0].by_busy_s[0] = Span { value: 0.3, low: 0.2, high: 0.4 };
    vague.runs[0].by_busy_s[1] = Span { value: 0.4, low: 0.3, high: 0.5 };
    let window = Window {
        method: MethodName::Sampled,
        elapsed_s: 1.0,
        cores: uses.collect(),
        siblings,
        tasks: vec![
            task(10, "gzip", "/build/a", 0, [0.0, 1.0]),
            task(11, "cc1plus", "/build/b", 1, [0.0, 1.0]),
            vague,
            task(22, "a\u{1b}[2Jb\nc", "/db", 3, [0.25, 0.35]),
            task(31, "python3", "", 4, [0.75, 0.0]),
        ],
        pairs: vec![PairUse {
            a: 10,
            b: 11,
            together_s: Span { value: 1.0, low: 0.93, high: 1.0 },
        }],
        clash_s: None,
        unseen: coretwin_base::account::Unseen::default(),
        balance: coretwin_base::account::Balance::default(),
        looks: 50,
    };
    (window, topology)
}

/// A window of such a machine, put together.
pub(crate) fn made(cores: u32) -> Snapshot {
    let (window, topology) = window(cores);
    let valuation = Valuation::new(None, None, 2).expect("valuation");
    let short = Short {
        length_s: 0.1,
        looks: 10,
        logical_share: 0.62,
        core_busy_share: 0.71,
        capacity_share: 0.66,
        clash_cores: 2.0,
    };
    let pressure = Pressure {
        cpu_some_share: Some(0.125),
        memory_some_share: Some(0.0),
        io_some_share: Some(0.01),
        ..Pressure::default()
    };
    let text = "method ebpf needs CAP_BPF and CAP_PERFMON; this one looks now and then";
    snapshot(Seen {
        window: &window,
        topology: &topology,
        valuation: &valuation,
        short: Some((short, vec![1.0; window.cores.len()])),
        limits: &mut |_| Limits::default(),
        pressure: Some(pressure),
        time_unix_s: 1_700_000_000.0,
        warnings: vec![Warning::new("method", text, "run it by sudo")],
    })
}

fn drawn(
    width: u16,
    height: u16,
    snapshot: Option<&Snapshot>,
    view: &View,
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("terminal");
    let view = &mut view.clone();
    terminal.draw(|frame| _ = draw(frame, snapshot, view, &mut command)).expect("drawn");
    terminal
}

/// As a process may choose it.
fn command(process: u32) -> String {
    let rest = "-quiet -D_REENTRANT \u{1b}[31m src/a/long/path/of/a/source.cc -o /tmp/cc.s -O2";
    format!("/usr/libexec/gcc/x86_64/12/cc1plus --pid={process} {rest}")
}

fn text(width: u16, height: u16, snapshot: Option<&Snapshot>, view: &View) -> String {
    let terminal = drawn(width, height, snapshot, view);
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

#[test]
fn screens() {
    let utf8 = View::default;
    let ascii = || View { ascii: true, ..View::default() };
    let each = View {
        grain: Grain::Core,
        cores_large: true,
        cores_from: 4,
        ascii: true,
        ..View::default()
    };
    for (name, (width, height), cores, view) in [
        ("60x24", (60, 24), 8, utf8()),
        ("80x24", (80, 24), 8, utf8()),
        ("120x30", (120, 30), 8, utf8()),
        ("200x40", (200, 40), 8, utf8()),
        ("80x24-ascii", (80, 24), 8, ascii()),
        ("60x14-cgroups-ascii", (60, 14), 8, View { panel: Panel::Cgroups, ..ascii() }),
        ("80x24-128-cores", (80, 24), 128, utf8()),
        ("80x24-128-cores-each-ascii", (80, 24), 128, each),
        ("80x18-pairs", (80, 18), 8, View { panel: Panel::Pairs, ..utf8() }),
        ("60x18-warnings", (60, 18), 8, View { panel: Panel::Warnings, paused: true, ..utf8() }),
    ] {
        let shown = text(width, height, Some(&made(cores)), &view);
        assert_eq!(shown.is_ascii(), view.ascii, "{shown}");
        expect_file![format!("snapshots/{name}.txt")].assert_eq(&shown);
    }
}

#[test]
fn the_help_is_whole_at_80_by_24_and_scrolls_where_it_is_not() {
    for glyphs in [&ASCII, &UTF8] {
        let view = View { help: true, ascii: std::ptr::eq(glyphs, &ASCII), ..View::default() };
        let shown = text(80, 24, None, &view);
        let legend = legend(glyphs);
        for line in KEYS.iter().map(|(_, what)| *what).chain(legend.iter().map(String::as_str)) {
            assert!(shown.contains(line), "{line} is not in\n{shown}");
        }
        let narrow = |from| text(60, 24, None, &View { from, ..view.clone() });
        assert!(!narrow(0).contains("slowdown r") && narrow(90).contains("slowdown r"));
    }
}

#[test]
fn what_is_broken_into_lines_is_whole() {
    let text = "a warning with /a/path/that/is/longer/than/any/line/may/be and its end";
    for width in [12, 20, 60] {
        let lines = broken(text, width);
        assert!(lines.iter().all(|line| line.trim_end().len() <= width), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }
}

#[test]
fn every_warning_has_its_turn_on_the_line_above() {
    let mut snapshot = made(8);
    snapshot.warnings.push(Warning::new("steal", "much was stolen", ""));
    let view = View { ascii: true, ..View::default() };
    let lines: Vec<String> = [0.0, 4.0, 8.0]
        .iter()
        .map(|later_s| {
            let now = Snapshot { time_unix_s: 1_700_000_000.0 + later_s, ..snapshot.clone() };
            let shown = text(80, 24, Some(&now), &view);
            shown.lines().find(|line| line.starts_with("|! ")).unwrap_or_default().to_owned()
        })
        .collect();
    assert!(lines[0].starts_with("|! warning 1 of 2 (4 for all): method"), "{lines:?}");
    assert!(lines[1].starts_with("|! warning 2 of 2 (4 for all): much was stolen "), "{lines:?}");
    assert_eq!(lines[0], lines[2]);
}

#[test]
fn where_nobody_has_siblings_nothing_is_said_of_them_but_that() {
    let mut snapshot = made(1);
    snapshot.machine.threads_per_core_max = 1;
    snapshot.machine.cpus = 1;
    for panel in Panel::ALL {
        let shown = text(80, 24, Some(&snapshot), &View { panel, ..View::default() });
        assert!(shown.contains("1 CPU, 1 core,") && shown.contains("all time is alone"), "{shown}");
        for word in ["SHARED", "ALONE s", "CAPACITY", "yield", "clash", "all busy", "by shared"] {
            assert!(!shown.contains(word), "{word} in\n{shown}");
        }
    }
}

#[test]
fn half_a_range_is_told_if_there_is_one() {
    let of = |half: f64, glyphs| {
        let span = Span { value: 1.0, low: 1.0 - half, high: 1.0 + half };
        super::tables::number(span, glyphs)
    };
    for (half, told) in [(0.0004, ""), (0.004, "+-.004"), (0.0994, "+-.099"), (0.0996, "+-0.10")] {
        let (ascii, utf8) = (of(half, &ASCII), of(half, &UTF8));
        assert_eq!((ascii.trim(), ascii.len()), (&*format!("1.000{told}"), 13));
        assert_eq!((utf8.replace('±', "+-").trim(), utf8.chars().count()), (ascii.trim(), 13));
    }
    assert_eq!(of(12.34, &ASCII).trim(), "1.000+-12.3");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let colours = |colour: bool| {
        let view = View { plain: !colour, ..View::default() };
        let terminal = drawn(80, 24, Some(&made(8)), &view);
        let content = terminal.backend().buffer().content().to_vec();
        content.iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert!(colours(true) > 20);
    assert_eq!(colours(false), 0);
}

#[test]
fn any_size_any_panel_and_no_window_yet_can_be_drawn() {
    for cores in [1, 8, 128] {
        let snapshot = made(cores);
        for (width, height) in [(1, 1), (39, 8), (40, 8), (40, 9), (80, 7), (81, 25), (300, 100)] {
            for panel in Panel::ALL {
                for help in [false, true] {
                    let ascii = height == 8;
                    let view =
                        View { panel, help, ascii, from: 90, cores_from: 900, ..View::default() };
                    drawn(width, height, Some(&snapshot), &view);
                    drawn(width, height, None, &view);
                }
            }
        }
    }
}

#[test]
fn who_scrolls_beyond_the_end_is_at_the_end() {
    let snapshot = made(128);
    for (panel, last) in [(Panel::Tasks, 4), (Panel::Cgroups, 3), (Panel::Pairs, 0)] {
        let mut view = View { panel, from: 90, cores_from: 900, ..View::default() };
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("terminal");
        let shown = Some(&snapshot);
        terminal.draw(|frame| _ = draw(frame, shown, &mut view, &mut command)).expect("drawn");
        assert_eq!(view.from, last, "{panel:?}");
        assert!(view.cores_from < 128, "{}", view.cores_from);
        view.key(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE), 10, Some(&snapshot));
        assert_eq!(view.from, last.saturating_sub(1), "{panel:?}: one key, one line");
    }
}

#[test]
fn the_wheel_scrolls_and_a_click_on_a_heading_sorts() {
    let event = |kind, column, row| MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
    for (width, ascii) in [(60, true), (80, false), (200, false)] {
        let mut view = View { ascii, ..View::default() };
        let mut terminal = Terminal::new(TestBackend::new(width, 24)).expect("terminal");
        let snapshot = made(8);
        terminal
            .draw(|frame| _ = draw(frame, Some(&snapshot), &mut view, &mut command))
            .expect("drawn");
        let heading = |word: &str| {
            let buffer = terminal.backend().buffer();
            let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect();
            let rows = (0..24).map(|y| (y, row(y))).collect::<Vec<(u16, Vec<String>)>>();
            let (y, row) = rows.iter().find(|(_, row)| row.concat().contains("SHARED s"))?;
            let x = (0..row.len()).find(|x| row[*x..].concat().starts_with(word))?;
            Some((x as u16 + 1, *y))
        };
        let click = MouseEventKind::Down(MouseButton::Left);
        for (word, order) in
            [("NAME", Order::Name), ("%CPU", Order::Raw), ("ALONE s", Order::Alone)]
        {
            let (x, y) = heading(word).expect(word);
            assert!(view.mouse(event(click, x, y)));
            assert_eq!((view.order, view.reversed), (order, false), "{width}: {word}");
            view.mouse(event(click, x, y));
            assert_eq!((view.order, view.reversed), (order, true), "{width}: {word}");
            assert!(!view.mouse(event(click, x, y + 1)), "a row is no heading");
        }
        let (_, y) = heading("NAME").expect("a heading");
        view.mouse(event(MouseEventKind::ScrollDown, 5, y + 2));
        assert_eq!((view.from, view.cores_from), (3, 0), "{width}: tasks");
        view.mouse(event(MouseEventKind::ScrollUp, 5, y + 2));
        view.mouse(event(MouseEventKind::ScrollDown, 5, 8));
        assert_eq!((view.from, view.cores_from), (0, 1), "{width}: cores");
        assert!(!view.mouse(event(MouseEventKind::Moved, 5, 8)));
    }
}

#[test]
fn keys_change_what_is_seen() {
    let snapshot = made(8);
    let mut view = View { interval_tenths: 10, ..View::default() };
    let press = |view: &mut View, keys: &str| {
        let mut last = Act::Draw;
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\u{1b}' => KeyCode::Esc,
                key => KeyCode::Char(key),
            };
            last = view.key(KeyEvent::new(code, KeyModifiers::NONE), 10, Some(&snapshot));
        }
        last
    };
    let tids = |view: &View| view.tasks(&snapshot).iter().map(|task| task.tid).collect::<Vec<_>>();
    assert_eq!(tids(&view), [10, 11, 21, 22, 31], "shared first");
    press(&mut view, "ssssr");
    assert_eq!(tids(&view), [31, 22, 21, 11, 10], "number, turned round");
    press(&mut view, "r/post\n");
    assert_eq!(tids(&view), [21]);
    press(&mut view, "q");
    press(&mut view, "/q");
    assert_eq!(
        (view.filter.as_str(), view.typing),
        ("postq", true),
        "keys are letters while typing"
    );
    press(&mut view, "\u{1b}\tss\n");
    assert_eq!(view.cgroup.as_deref(), Some("/build/a"), "the cgroup with the most shared time");
    assert_eq!(tids(&view), [10]);
    press(&mut view, "\u{1b}/22\n");
    assert_eq!(tids(&view), [22], "a number");
    assert_eq!(press(&mut view, "p"), Act::Draw);
    assert!(view.paused);
    press(&mut view, "-----");
    assert_eq!(view.interval_tenths, 2);
    press(&mut view, "m");
    assert!(view.no_mouse);
    press(&mut view, "+++++");
    assert_eq!(view.interval_tenths, 20);
    assert_eq!(press(&mut view, "q"), Act::Quit);
    let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    assert_eq!(view.key(control('c'), 10, None), Act::Quit);
    assert_eq!(view.key(control('z'), 10, None), Act::Suspend);
}
