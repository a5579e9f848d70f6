//! The screen at three sizes, and of a machine of hundreds of CPUs.

use super::{LEGEND, draw};
use crate::assemble::{Seen, snapshot};
use crate::snapshot::{Short, Snapshot};
use crate::view::{Act, Grain, KEYS, Panel, View};
use coretwin_account::model::Valuation;
use coretwin_base::account::{
    CoreUse, CpuUse, MethodName, PairUse, Run, Siblings, Span, TaskUse, Window,
};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::Topology;
use coretwin_base::warning::Warning;
use coretwin_host::pressure::Pressure;
use expect_test::{Expect, expect};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
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
    terminal.draw(|frame| _ = draw(frame, snapshot, &mut view.clone())).expect("drawn");
    terminal
}

fn text(width: u16, height: u16, snapshot: Option<&Snapshot>, view: &View) -> String {
    let terminal = drawn(width, height, snapshot, view);
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

fn check(width: u16, height: u16, cores: u32, view: &View, expected: &Expect) {
    let text = text(width, height, Some(&made(cores)), view);
    assert!(text.is_ascii(), "{text}");
    expected.assert_eq(&text);
}

#[test]
fn at_80_by_24() {
    check(
        80,
        24,
        8,
        &View::default(),
        &expect![[r#"
            coretwin top  15 CPUs, 8 cores, offline 15  sampled 1.0 s  22:13:20 UTC
            logical 27.3% (max 62)  core-busy 33.5% (max 71)  all busy 17.6%  steal 0.1%
            capacity 30.3% [28.2-33.5] (max 66)  headroom 5.6 of 8 cores [5.3-5.7]
            yield s=1.25 [1.00-1.50] default, from published numbers of other machines
            clash at most 1.41 cores (max 2.0)  PSI cpu 12.5% mem 0.0% io 1.0%  irq 0.4%
            ! note (4 for all of it): method ebpf needs CAP_BPF and CAP_PERFMON; this one lo
            CORES  # all CPUs busy  = one  . idle
              0-1 |####################|    8-9 |....................|
              2-3 |########==========..|  10-11 |....................|
              4-5 |===============.....|  12-13 |....................|
              6-7 |=...................|     14 |....................|
            TASKS 5 by shared    keys:  2 cgroups  3 pairs  4 notes
                TID  CPU   RAW s SHARED s       CAPACITY        ALONE s       NAME
                 10    0   1.000    1.000          0.500          0.625+-0.12 gzip
                 11    1   1.000    1.000          0.500          0.625+-0.12 cc1plus
                 21    2   0.700    0.400+-0.10    0.440+-.083    0.550+-.088 postgres
                 22    3   0.600    0.350          0.375+-.042    0.469+-.044 a?[2Jb?c
                 31    4   0.750    0.000          0.600+-0.12    0.750       python3





            q quit  Tab panel  s sort  / filter  p pause  h help
        "#]],
    );
}

#[test]
fn at_132_by_40() {
    check(
        132,
        40,
        8,
        &View::default(),
        &expect![[r#"
            coretwin top  15 CPUs, 8 cores, offline 15  sampled 1.0 s  22:13:20 UTC
            logical 27.3% (max 62)  core-busy 33.5% (max 71)  all busy 17.6%  steal 0.1%
            capacity 30.3% [28.2-33.5] (max 66)  headroom 5.6 of 8 cores [5.3-5.7] 3.3x the load
            yield s=1.25 [1.00-1.50] default, from published numbers of other machines
            clash at most 1.41 cores (max 2.0)  PSI cpu 12.5% mem 0.0% io 1.0%  irq 0.4%
            ! note (4 for all of it): method ebpf needs CAP_BPF and CAP_PERFMON; this one looks now and then
            CORES  # all CPUs busy  = one  . idle
              0-1 |####################|    4-5 |===============.....|    8-9 |....................|  12-13 |....................|
              2-3 |########==========..|    6-7 |=...................|  10-11 |....................|     14 |....................|
            TASKS 5 by shared    keys:  2 cgroups  3 pairs  4 notes
                PID     TID  CPU   RAW s SHARED s       CAPACITY        ALONE s       NAME
                 10      10    0   1.000    1.000          0.500          0.625+-0.12 gzip             /build/a
                 10      11    1   1.000    1.000          0.500          0.625+-0.12 cc1plus          /build/b
                 20      21    2   0.700    0.400+-0.10    0.440+-.083    0.550+-.088 postgres         /db
                 20      22    3   0.600    0.350          0.375+-.042    0.469+-.044 a?[2Jb?c         /db
                 30      31    4   0.750    0.000          0.600+-0.12    0.750       python3























            q quit  Tab panel  s sort  r turn  / filter  p pause  g group  c cores  [ ] scroll  h help
        "#]],
    );
}

#[test]
fn at_60_by_14() {
    let view = View { panel: Panel::Cgroups, ..View::default() };
    check(
        60,
        14,
        8,
        &view,
        &expect![[r#"
            coretwin top  15 CPUs, 8 cores, offline 15  sampled 1.0 s  2
            logical 27.3% (max 62)  core-busy 33.5% (max 71)  all busy 1
            capacity 30.3% [28.2-33.5] (max 66)  headroom 5.6 of 8 cores
            yield s=1.25 [1.00-1.50] default, from published numbers of
            clash at most 1.41 cores (max 2.0)  PSI cpu 12.5% mem 0.0% i
            ! note (4 for all of it): method ebpf needs CAP_BPF and CAP_
            CORES  # all CPUs busy  = one  . idle
              0-1 |##########|    6-7 |=.........|  12-13 |..........|
              2-3 |####=====.|    8-9 |..........|     14 |..........|
              4-5 |========..|  10-11 |..........|
            CGROUPS 4 by shared    keys:  1 tasks  3 pairs  4 notes
            TASKS   RAW s SHARED s       CAPACITY        ALONE s       P
                1   1.000    1.000          0.500          0.625+-0.12 /
            q quit  Tab panel  s sort  / filter  p pause  h help
        "#]],
    );
}

#[test]
fn hundreds_of_cores_at_80_by_24() {
    check(
        80,
        24,
        128,
        &View::default(),
        &expect![[r#"
            coretwin top  255 CPUs, 128 cores, offline 255  sampled 1.0 s  22:13:20 UTC
            logical 1.6% (max 62)  core-busy 2.1% (max 71)  all busy 1.1%  steal 0.1%
            capacity 1.9% [1.8-2.1] (max 66)  headroom 125.6 of 128 cores [125.3-125.7]
            yield s=1.25 [1.00-1.50] default, from published numbers of other machines
            clash at most 1.41 cores (max 2.0)  PSI cpu 12.5% mem 0.0% io 1.0%  irq 0.4%
            ! note (4 for all of it): method ebpf needs CAP_BPF and CAP_PERFMON; this one lo
            CORES by package  # all CPUs busy  = one  . idle
            package 0 |=...............| any   4.2% all   2.2% cap   3.8%
            #==.............................................................
            package 1 |................| any   0.0% all   0.0% cap   0.0%
            ................................................................
            TASKS 5 by shared    keys:  2 cgroups  3 pairs  4 notes
                TID  CPU   RAW s SHARED s       CAPACITY        ALONE s       NAME
                 10    0   1.000    1.000          0.500          0.625+-0.12 gzip
                 11    1   1.000    1.000          0.500          0.625+-0.12 cc1plus
                 21    2   0.700    0.400+-0.10    0.440+-.083    0.550+-.088 postgres
                 22    3   0.600    0.350          0.375+-.042    0.469+-.044 a?[2Jb?c
                 31    4   0.750    0.000          0.600+-0.12    0.750       python3





            q quit  Tab panel  s sort  / filter  p pause  h help
        "#]],
    );
}

#[test]
fn hundreds_of_cores_each_by_itself() {
    let view = View { grain: Grain::Core, cores_large: true, cores_from: 4, ..View::default() };
    check(
        80,
        24,
        128,
        &view,
        &expect![[r#"
        coretwin top  255 CPUs, 128 cores, offline 255  sampled 1.0 s  22:13:20 UTC
        logical 1.6% (max 62)  core-busy 2.1% (max 71)  all busy 1.1%  steal 0.1%
        capacity 1.9% [1.8-2.1] (max 66)  headroom 125.6 of 128 cores [125.3-125.7]
        yield s=1.25 [1.00-1.50] default, from published numbers of other machines
        clash at most 1.41 cores (max 2.0)  PSI cpu 12.5% mem 0.0% io 1.0%  irq 0.4%
        ! note (4 for all of it): method ebpf needs CAP_BPF and CAP_PERFMON; this one lo
        CORES  # all CPUs busy  = one  . idle  rows 5-20 of 32 ([ ])
            8-9 |.....|    72-73 |.....|  136-137 |.....|  200-201 |.....|
          10-11 |.....|    74-75 |.....|  138-139 |.....|  202-203 |.....|
          12-13 |.....|    76-77 |.....|  140-141 |.....|  204-205 |.....|
          14-15 |.....|    78-79 |.....|  142-143 |.....|  206-207 |.....|
          16-17 |.....|    80-81 |.....|  144-145 |.....|  208-209 |.....|
          18-19 |.....|    82-83 |.....|  146-147 |.....|  210-211 |.....|
          20-21 |.....|    84-85 |.....|  148-149 |.....|  212-213 |.....|
          22-23 |.....|    86-87 |.....|  150-151 |.....|  214-215 |.....|
          24-25 |.....|    88-89 |.....|  152-153 |.....|  216-217 |.....|
          26-27 |.....|    90-91 |.....|  154-155 |.....|  218-219 |.....|
          28-29 |.....|    92-93 |.....|  156-157 |.....|  220-221 |.....|
          30-31 |.....|    94-95 |.....|  158-159 |.....|  222-223 |.....|
          32-33 |.....|    96-97 |.....|  160-161 |.....|  224-225 |.....|
          34-35 |.....|    98-99 |.....|  162-163 |.....|  226-227 |.....|
          36-37 |.....|  100-101 |.....|  164-165 |.....|  228-229 |.....|
          38-39 |.....|  102-103 |.....|  166-167 |.....|  230-231 |.....|
        q quit  Tab panel  s sort  / filter  p pause  h help
    "#]],
    );
}

#[test]
fn pairs_and_notes() {
    let view = View { panel: Panel::Pairs, ..View::default() };
    check(
        80,
        18,
        8,
        &view,
        &expect![[r#"
            coretwin top  15 CPUs, 8 cores, offline 15  sampled 1.0 s  22:13:20 UTC
            logical 27.3% (max 62)  core-busy 33.5% (max 71)  all busy 17.6%  steal 0.1%
            capacity 30.3% [28.2-33.5] (max 66)  headroom 5.6 of 8 cores [5.3-5.7]
            yield s=1.25 [1.00-1.50] default, from published numbers of other machines
            clash at most 1.41 cores (max 2.0)  PSI cpu 12.5% mem 0.0% io 1.0%  irq 0.4%
            ! note (4 for all of it): method ebpf needs CAP_BPF and CAP_PERFMON; this one lo
            CORES  # all CPUs busy  = one  . idle
              0-1 |####################|    8-9 |....................|
              2-3 |########==========..|  10-11 |....................|
              4-5 |===============.....|  12-13 |....................|
              6-7 |=...................|     14 |....................|
            PAIRS 1    keys:  1 tasks  2 cgroups  4 notes
                  TOGETHER s EACH LOST s     WHO
                 1.000+-.035    0.375+-0.13  10 gzip and 11 cc1plus



            q quit  Tab panel  s sort  / filter  p pause  h help
        "#]],
    );
    let view = View { panel: Panel::Notes, paused: true, ..View::default() };
    check(
        70,
        18,
        8,
        &view,
        &expect![[r#"
        coretwin top  PAUSED  15 CPUs, 8 cores, offline 15  sampled 1.0 s  22:
        logical 27.3% (max 62)  core-busy 33.5% (max 71)  all busy 17.6%  stea
        capacity 30.3% [28.2-33.5] (max 66)  headroom 5.6 of 8 cores [5.3-5.7]
        yield s=1.25 [1.00-1.50] default, from published numbers of other mach
        clash at most 1.41 cores (max 2.0)  PSI cpu 12.5% mem 0.0% io 1.0%  ir
        ! note (4 for all of it): method ebpf needs CAP_BPF and CAP_PERFMON; t
        CORES  # all CPUs busy  = one  . idle
          0-1 |####################|    8-9 |....................|
          2-3 |########==========..|  10-11 |....................|
          4-5 |===============.....|  12-13 |....................|
          6-7 |=...................|     14 |....................|
        NOTES 1    keys:  1 tasks  2 cgroups  3 pairs
        ! method ebpf needs CAP_BPF and CAP_PERFMON; this one looks now and
          then
          run it by sudo


        q quit  Tab panel  s sort  / filter  p pause  h help
    "#]],
    );
}

#[test]
fn the_help_is_whole_at_80_by_24() {
    let view = View { help: true, ..View::default() };
    let shown = text(80, 24, None, &view);
    for line in KEYS.iter().map(|(_, what)| *what).chain(LEGEND) {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    // Narrower, it is broken into more lines, not cut.
    let narrow = text(50, 60, None, &view);
    assert!(narrow.trim_end().ends_with("r"), "{narrow}");
}

#[test]
fn every_note_has_its_turn_on_the_line_above() {
    let mut snapshot = made(8);
    snapshot.warnings.push(Warning::new("steal", "much was stolen", ""));
    let view = View::default();
    let lines: Vec<String> = [0.0, 4.0, 8.0]
        .iter()
        .map(|later_s| {
            let now = Snapshot { time_unix_s: 1_700_000_000.0 + later_s, ..snapshot.clone() };
            let shown = text(80, 24, Some(&now), &view);
            shown.lines().find(|line| line.starts_with("! ")).unwrap_or_default().to_owned()
        })
        .collect();
    assert!(lines[0].starts_with("! note 1 of 2 (4 for all): method"), "{lines:?}");
    assert_eq!(lines[1], "! note 2 of 2 (4 for all): much was stolen");
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
    let of =
        |half: f64| super::tables::number(Span { value: 1.0, low: 1.0 - half, high: 1.0 + half });
    for (half, told) in [(0.0004, ""), (0.004, "+-.004"), (0.0994, "+-.099"), (0.0996, "+-0.10")] {
        assert_eq!(of(half).trim(), format!("1.000{told}"));
        assert_eq!(of(half).len(), 14);
    }
    assert_eq!(of(12.34).trim(), "1.000+-12.3");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let colours = |colour| {
        let view = View { colour, ..View::default() };
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
                    let view = View { panel, help, from: 90, cores_from: 900, ..View::default() };
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
        terminal.draw(|frame| _ = draw(frame, Some(&snapshot), &mut view)).expect("drawn");
        assert_eq!(view.from, last, "{panel:?}");
        assert!(view.cores_from < 128, "{}", view.cores_from);
        view.key(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE), 10, Some(&snapshot));
        assert_eq!(view.from, last.saturating_sub(1), "{panel:?}: one key, one line");
    }
}

#[test]
fn keys_change_what_is_seen() {
    let snapshot = made(8);
    let mut view = View::default();
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
    press(&mut view, "+++++");
    assert_eq!(view.interval_tenths, 20);
    assert_eq!(press(&mut view, "q"), Act::Quit);
    let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    assert_eq!(view.key(control('c'), 10, None), Act::Quit);
    assert_eq!(view.key(control('z'), 10, None), Act::Suspend);
}
