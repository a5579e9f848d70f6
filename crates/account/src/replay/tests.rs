//! Bounds on drawn blocks, whose truth is known moment by moment.

use super::*;
use crate::model::valuation::Known;
use coretwin_base::account::recording::{RecordedGroup, RecordingHead, Waiting};
use coretwin_base::account::{Siblings, SiblingsOrigin};
use coretwin_base::machine::cpu_set::CpuSet;
use proptest::prelude::*;

fn head(cores: usize, threads: usize) -> RecordingHead {
    let core = |at: usize| -> CpuSet {
        CpuSet::parse(&format!("{}-{}", at * threads, (at + 1) * threads - 1)).expect("set")
    };
    RecordingHead {
        schema: SCHEMA,
        origin: Origin::Measured,
        started: 0,
        every_s: 60.0,
        method: MethodName::Ebpf,
        siblings: Siblings {
            origin: SiblingsOrigin::Kernel,
            cores: (0..cores).map(core).collect(),
        },
        cpu_model: None,
    }
}

/// A block of one minute; `times` are those of cores with 1, 2, … busy, over all of them.
fn block(from: i64, cores: usize, times: &[f64], waited_s: Option<f64>) -> RecordingBlock {
    let idle_s = 60.0 * cores as f64 - times.iter().sum::<f64>();
    RecordingBlock {
        from,
        elapsed_s: 60.0,
        busy: std::iter::once(&idle_s).chain(times).map(|time| Span::exact(*time)).collect(),
        cores: vec![vec![0; times.len()]; cores],
        names: [(1, "/a".to_owned()), (2, "/b".to_owned())].into(),
        groups: vec![RecordedGroup(1, 6_000, 3_000, None), RecordedGroup(2, 0, 1_000, Some(5))],
        unseen: 0,
        waiting: Waiting { low_s: waited_s.unwrap_or(0.0), high_s: waited_s },
    }
}

fn valuation(text: &str) -> Valuation {
    let known = Known::parse(text, "yield").expect("factor");
    Valuation::new(Some(&known), None, 2).expect("valuation")
}

fn sessions(blocks: Vec<RecordingBlock>, threads: usize) -> Vec<Session> {
    let cores = blocks[0].cores.len();
    vec![Session { head: head(cores, threads), blocks }]
}

/// What does not fit is counted in minutes, however long a block is.
#[test]
fn blocks_of_two_seconds_are_no_minutes() {
    let over = |count: i64| {
        let blocks = (0..count).map(|at| RecordingBlock {
            elapsed_s: 2.0,
            ..block(at * 2, 4, &[0.5, 7.5], Some(1.0))
        });
        let sessions = sessions(blocks.collect(), 2);
        let replay = replay(&sessions, ReplaySmt::Off, &valuation("1.1..1.4")).expect("blocks");
        replay.by_hour[0].over
    };
    assert_eq!((over(3), over(90)), (1, 3));
}

#[test]
fn a_day_with_one_full_hour_says_so_in_hours_minutes_and_bounds() {
    // Four cores; 20 s of each both busy, but for the hour from 14:00: 55 s, and tasks wait.
    let blocks = (0..1440).map(|minute| match minute / 60 {
        14 => block(minute * 60, 4, &[16.0, 220.0], Some(30.0)),
        _ => block(minute * 60, 4, &[60.0, 80.0], Some(0.0)),
    });
    let sessions = sessions(blocks.collect(), 2);
    let replay = replay(&sessions, ReplaySmt::Off, &valuation("1.1..1.4")).expect("blocks");
    assert!((replay.hours - 24.0).abs() < 1e-9);
    assert!(
        (replay.fits_high_h - 23.0).abs() < 1e-9
            && replay.fits_low_h.is_some_and(|h| (h - 23.0).abs() < 1e-9)
    );
    // (16 + 1.1 x 220) / 240; (16 + 440 + 30) / 240.
    let worst = replay.worst.expect("an hour");
    assert_eq!((worst.from, worst.until), (14 * 3600, 15 * 3600));
    assert!((worst.low - 1.075).abs() < 1e-9 && (worst.high.expect("known") - 2.025).abs() < 1e-9);
    let hour = replay.by_hour[14];
    assert_eq!((hour.over, hour.doubtful, replay.by_hour[13].over), (60, 0, 0));
    // 60 x 18 s of work over 4 cores at least. At most 60 x (16 + 1.4 x 220 − 240), and what siblings did
    // beyond one core, 0.4 x 80 s, at the end of the minute before and in the one after.
    assert!((replay.wait_low_s - 270.0).abs() < 1e-6, "{}", replay.wait_low_s);
    assert!(
        (replay.wait_high_s - (84.0 * 60.0 + 64.0) / 4.0).abs() < 1e-6,
        "{}",
        replay.wait_high_s
    );
    // Half of the CPUs' time is in use in the quiet hours: the rule has them right.
    assert!((replay.rule_fits_h - 23.0).abs() < 1e-9);
    let quiet = replay.minutes[0];
    assert!((quiet.capacity_used.value - (60.0 / 1.25 + 80.0) / 60.0).abs() < 1e-9, "{quiet:?}");
    assert!(
        (quiet.demand_low - 148.0 / 60.0).abs() < 1e-9 && quiet.demand_high == Some(220.0 / 60.0)
    );
}

#[test]
fn what_waited_is_not_known_means_no_upper_bound_and_a_warning() {
    let sessions = sessions(vec![block(0, 4, &[60.0, 80.0], None)], 2);
    let replay = replay(&sessions, ReplaySmt::Off, &valuation("1.25")).expect("blocks");
    assert_eq!(
        (replay.fits_low_h, replay.throughput_high, replay.minutes[0].demand_high),
        (None, None, None)
    );
    assert_eq!(replay.warnings[0].kind, "waiting-unknown");
    assert!(replay.fits_high_h > 0.0);
}

#[test]
fn a_recording_without_siblings_says_what_they_would_add() {
    // One core's work waits on each of two full cores.
    let sessions = sessions(vec![block(0, 2, &[120.0], Some(60.0))], 1);
    let yields = valuation("1.2..1.5");
    let on = replay(&sessions, ReplaySmt::On, &yields).expect("blocks");
    let minute = on.minutes[0];
    assert_eq!((minute.demand_low, minute.demand_high), (2.0, Some(3.0)));
    assert!((minute.capacity - 2.4).abs() < 1e-9 && (minute.capacity_high - 3.0).abs() < 1e-9);
    assert!((on.throughput_high.expect("known") - 1.5).abs() < 1e-9 && on.throughput_low < 1.0);
    let off = replay(&sessions, ReplaySmt::Off, &yields).expect("blocks");
    assert_eq!((off.throughput_low, off.wait_high_s), (1.0, 0.0));
}

#[test]
fn requests_of_groups_shrink_by_what_they_ran_beside_others() {
    let sessions = sessions(vec![block(0, 4, &[60.0, 80.0], Some(0.0))], 2);
    let replay = replay(&sessions, ReplaySmt::Off, &valuation("1.25")).expect("blocks");
    let group = &replay.groups[0];
    // r = 2 / 1.25 = 1.6: (6 + 3 / 1.6) / 9.
    assert_eq!((group.name.as_str(), group.alone_s, group.beside_s), ("/a", 6.0, 3.0));
    assert!((group.request.value - 7.875 / 9.0).abs() < 1e-9, "{group:?}");
    assert_eq!(replay.groups[1].waiting_s, Some(0.005));
}

#[test]
fn licences_are_worth_what_the_work_over_their_number_is() {
    // 240 s of cores. Work: 16 + 1.1 x 220 = 258 to 16 + 1.4 x 220 = 324. Asked for: 16 + 440 + 30 = 486.
    let full = || block(0, 4, &[16.0, 220.0], Some(30.0));
    let yields = valuation("1.1..1.4");
    let near = |replay: &Replay, low: f64, high: f64, by: f64| {
        let high_is =
            |found: Option<f64>, high: f64| found.is_some_and(|it| (it - high).abs() < 1e-9);
        assert!((replay.throughput_low - low).abs() < 1e-9, "{} {low}", replay.throughput_low);
        assert!(high_is(replay.throughput_high, high), "{:?} {high}", replay.throughput_high);
        assert!((replay.per_thread_low - low * by).abs() < 1e-9, "{}", replay.per_thread_low);
        assert!(high_is(replay.per_thread_high, high * by), "{:?}", replay.per_thread_high);
    };
    let on = sessions(vec![full()], 2);
    // At least: all of 0.4 x 220 s came last, and is behind. At most: 240 s are full.
    let off = replay(&on, ReplaySmt::Off, &yields).expect("blocks");
    near(&off, 1.0 - 88.0 / 258.0, 240.0 / 258.0, 2.0);
    near(&replay(&on, ReplaySmt::On, &yields).expect("blocks"), 1.0, 1.0, 1.0);
    // What waited is not known, and it is the same machine.
    let unknown = sessions(vec![block(0, 4, &[16.0, 220.0], None)], 2);
    near(&replay(&unknown, ReplaySmt::On, &yields).expect("blocks"), 1.0, 1.0, 1.0);
    // Without siblings it had half as many threads as with, whether groups may share cores or not.
    let alone = sessions(vec![block(0, 2, &[120.0], Some(60.0))], 1);
    near(&replay(&alone, ReplaySmt::Off, &yields).expect("blocks"), 1.0, 1.0, 1.0);
    for smt in [ReplaySmt::On, ReplaySmt::CoreSched] {
        let found = replay(&alone, smt, &yields).expect("blocks");
        let (low, high) = (found.throughput_low, found.throughput_high.expect("known"));
        assert!((high - 168.0 / 120.0).abs() < 1e-9, "{smt:?} {high}");
        near(&found, low, high, 0.5);
    }
    // Four cores, one of them with a sibling: five threads become four.
    let mut mixed = sessions(vec![block(0, 4, &[60.0, 10.0], Some(0.0))], 2);
    let set = |text: &str| CpuSet::parse(text).expect("set");
    mixed[0].head.siblings.cores = ["0-1", "2", "3", "4"].map(set).to_vec();
    let off = replay(&mixed, ReplaySmt::Off, &yields).expect("blocks");
    assert!((off.per_thread_low / off.throughput_low - 1.25).abs() < 1e-9, "{off:?}");
}

#[test]
fn what_is_left_can_be_done_in_time_that_is_not_recorded_and_clocks_set_back_are_told() {
    let full = |from| block(from, 4, &[16.0, 220.0], Some(0.0));
    let yields = valuation("1.25");
    // 16 + 1.25 x 220 = 291 s of work on 240 s: 51 are left, and 51 more.
    let kinds = |replay: &Replay| -> Vec<String> {
        replay.warnings.iter().map(|warning| warning.kind.clone()).collect()
    };
    for (second, wait_s, warned) in [
        (60, 102.0 / 4.0, &[][..]),
        (61, 102.0 / 4.0, &[]),
        (600, 51.0 / 4.0, &[]),
        (0, 102.0 / 4.0, &["clock-went-back"]),
    ] {
        let sessions = sessions(vec![full(0), full(second)], 2);
        let replay = replay(&sessions, ReplaySmt::Off, &yields).expect("blocks");
        assert!((replay.wait_low_s - wait_s).abs() < 1e-9, "{second}: {}", replay.wait_low_s);
        assert_eq!(kinds(&replay), warned, "{second}");
    }
    let mut two = sessions(vec![full(0)], 2);
    let mut other = sessions(vec![full(60)], 2);
    other[0].head.cpu_model = Some("another".to_owned());
    two.append(&mut other);
    let replay = replay(&two, ReplaySmt::Off, &yields).expect("blocks");
    assert_eq!(kinds(&replay), ["recording-changed"]);
}

#[test]
fn nothing_recorded_is_no_replay() {
    let none = [Session { head: head(2, 2), blocks: Vec::new() }];
    assert!(replay(&none, ReplaySmt::Off, &valuation("1.25")).is_none());
}

/// Moments of a core: how long, how many busy, how much it did for a second with one busy.
fn moments() -> impl Strategy<Value = Vec<(f64, usize, f64)>> {
    prop::collection::vec((0.0..1.0, 0usize..=2, 1.1..1.5f64), 1..40)
}

proptest! {
    /// Whatever the mix of moments: work that was done lies in its range, and so does what ran, for ranges
    /// of overlap of any width.
    #[test]
    fn the_truth_lies_within(core in moments(), blur in 0.0..0.3f64) {
        let mut times = [0.0; 3];
        let (mut work, mut running) = (0.0, 0.0);
        for (length, busy, joint) in &core {
            times[*busy] += length;
            work += length * [0.0, 1.0, *joint][*busy];
            running += length * *busy as f64;
        }
        let elapsed_s: f64 = times.iter().sum();
        let mut block = block(0, 1, &[0.0, 0.0], Some(0.0));
        block.elapsed_s = elapsed_s;
        let blurred = |time: f64| {
            let (low, high) = ((time - blur).max(0.0), (time + blur).min(elapsed_s));
            Span { value: time, low, high }
        };
        block.busy = times.map(blurred).to_vec();
        let yields = [Span::exact(1.0), Span { value: 1.25, low: 1.1, high: 1.5 }];
        let near = 1e-9;
        let off = demand(&block, &yields, ReplaySmt::Off);
        prop_assert!(off.low_s <= work + near && work <= off.work.high + near);
        prop_assert!(off.high_s.expect("known") + near >= running);
        prop_assert!(off.model_low_s <= work + near && work <= off.model_high_s + near);
        prop_assert!(off.excess_s + near >= work - (times[1] + times[2]));
        // At worst groups that may not share a core leave every sibling idle.
        let shared = demand(&block, &yields, ReplaySmt::CoreSched);
        prop_assert!(shared.capacity_low_s <= off.cores_s + near);
        prop_assert!(shared.capacity_high_s + near >= off.cores_s * 1.5);
    }

    /// However the shared moments are given out to pairs of groups, those of two groups are no larger a
    /// share than is said.
    #[test]
    fn shares_of_two_groups_are_bounded(pairs in prop::collection::vec((0usize..4, 0usize..4, 1u64..1000), 1..20)) {
        let mut beside = [0; 4];
        let (mut apart, mut all) = (0, 0);
        for (a, b, length) in pairs {
            beside[a] += length;
            beside[b] += length;
            all += length;
            apart += if a == b { 0 } else { length };
        }
        let groups: Vec<RecordedGroup> =
            (0..4).map(|at| RecordedGroup(at as u32, 0, beside[at], None)).collect();
        let most = demand::apart_share(&groups);
        prop_assert!(apart as f64 <= most * all as f64 + 1e-9);
        prop_assert!((0.0..=1.0).contains(&most));
    }

    /// A fluid that comes unevenly is behind by no more than is said, and by no less than if it came evenly.
    #[test]
    fn what_is_left_is_bounded(pieces in prop::collection::vec(prop::collection::vec((0.0..1.6f64, 0.0..1.0f64), 5), 1..12)) {
        let length = 0.2;
        // One core of yield 1.6: beyond 1 a second, siblings were at work, and nothing waited.
        let mut left = 0.0f64;
        let mut lefts = Vec::new();
        let demands: Vec<Demand> = pieces.iter().map(|pieces| {
            let (mut alone, mut both) = (0.0, 0.0);
            for (rate, share) in pieces {
                // A mix of both busy and one busy that does as much.
                let shared = if *rate > 1.0 { (rate - 1.0) / 0.6 } else { share * rate / 1.6 };
                let shared = shared.min(1.0);
                both += shared * length;
                alone += (rate - 1.6 * shared).max(0.0) * length;
                left = (left + rate * length - length).max(0.0);
            }
            lefts.push(left);
            let mut block = block(0, 1, &[alone, both], Some(0.0));
            block.elapsed_s = length * pieces.len() as f64;
            block.busy[0] = Span::exact((block.elapsed_s - alone - both).max(0.0));
            demand(&block, &[Span::exact(1.0), Span { value: 1.6, low: 1.5, high: 1.7 }], ReplaySmt::Off)
        }).collect();
        let least: Vec<f64> = left_s(demands.iter().map(|it| (it.low_s, it.capacity_high_s))).collect();
        let most: Vec<(f64, f64)> = behind_s(&demands).collect();
        for (at, left) in lefts.iter().enumerate() {
            prop_assert!(least[at] <= left + 1e-9, "{at}: {} {left}", least[at]);
            prop_assert!(*left <= most[at].1 + 1e-9, "{at}: {left} {}", most[at].1);
            prop_assert!(most[at].1 <= most[at].0 + 1e-9);
        }
    }
}
