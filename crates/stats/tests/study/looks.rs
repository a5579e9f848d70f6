//! Looks at a running study.

use crate::fixture::{plan, readings, row};
use coretwin_base::random::Stream;
use coretwin_base::study::plan::{Rule, Scale};
use coretwin_base::study::reading::Status;
use coretwin_base::study::summary::{StoppedBecause, Verdict};
use coretwin_stats::sequence;
use coretwin_stats::study::{analyse, look};

/// A spread of the differences of about `2 * size`, whatever the number of blocks.
fn noisy(size: f64) -> impl FnMut(u32, usize, usize) -> f64 {
    move |block, arm, row| {
        let sign = if (block / 2 + arm as u32 + row as u32).is_multiple_of(2) { 1.0 } else { -1.0 };
        10.0 * (sign * size).exp()
    }
}

#[test]
fn narrow_intervals_satisfy_and_only_at_planned_looks() {
    let plan = plan(&[row("a", "f"), row("b", "f")]);
    for (blocks, due) in [(7, false), (8, true), (9, false), (12, true)] {
        let quiet = look(&plan, &readings(&plan, blocks, noisy(0.001)));
        assert_eq!((quiet.blocks_complete, quiet.satisfied, quiet.due), (blocks, true, due));
        assert!(quiet.cells.iter().all(|cell| cell.half_width.is_some_and(|half| half < 0.01)));
    }
    let one = look(&plan, &readings(&plan, 1, noisy(0.001)));
    assert!(!one.satisfied && one.blocks_needed.is_none());
    assert!(!look(&plan, &[]).satisfied);
}

#[test]
fn the_widest_row_decides_and_the_forecast_is_a_planned_look() {
    let plan = plan(&[row("quiet", "f"), row("loud", "f")]);
    let value = |block, arm, row| noisy([0.001, 0.012][row])(block, arm, row);
    let now = look(&plan, &readings(&plan, 8, value));
    assert!(!now.satisfied);
    let needed = now.blocks_needed.expect("a forecast");
    assert!(plan.rules.looks.contains(&needed) && needed > 8, "{needed}");
    let then = look(&plan, &readings(&plan, needed, value));
    assert!(then.satisfied && then.due, "{then:?}");
    // Nothing is forecast beyond the last look.
    let hopeless = look(&plan, &readings(&plan, 8, noisy(0.5)));
    assert_eq!(hopeless.blocks_needed, Some(200));
}

#[test]
fn rows_that_fail_or_are_raw_do_not_hold_the_study_up() {
    let mut plan = plan(&[row("good", "f"), row("failing", "f"), row("raw", "f")]);
    plan.rows[2].scale = Scale::Raw;
    let value = |block, arm, row| {
        if row == 2 { noisy(2.0)(block, arm, row) } else { noisy(0.001)(block, arm, row) }
    };
    let mut all = readings(&plan, 8, value);
    for reading in all.iter_mut().filter(|r| r.row == "failing" && r.arm == "on") {
        reading.status = Status::Failed;
        reading.value = None;
    }
    let now = look(&plan, &all);
    assert!(now.satisfied);
    assert_eq!(now.cells[1].ratio, None);
    assert!(now.cells[2].half_width.is_some_and(|half| half > 1.0));
}

/// Times in ticks of 1.2 % that drift over four, of arms that differ by one and a half: a block shows one
/// tick or two, and one set of four in sixteen two in all of its blocks, almost without spread.
#[test]
fn ticks_that_agree_by_chance_declare_nothing() {
    const TICK: f64 = 0.012;
    let mut plan = plan(&[row("a", "f")]);
    plan.rules.until = Rule::Verdict;
    plan.rules.looks = sequence::looks(2);
    let mut wrong = 0;
    for study in 0..400 {
        let mut stream = Stream::new(5, "ticks", study);
        let levels: Vec<f64> = (0..8).map(|_| 1.0 + 4.0 * TICK * stream.unit()).collect();
        let all = readings(&plan, 8, |block, arm, _| {
            let gain = if arm == 1 { TICK * 1.5 } else { 0.0 };
            ((levels[block as usize] - gain) / TICK).round() * TICK
        });
        let declared = [4, 8].map(|blocks| {
            let so_far: Vec<_> = all.iter().filter(|one| one.block < blocks).cloned().collect();
            analyse(&plan, &so_far, StoppedBecause::Verdict).suites[0].verdict
        });
        wrong += u32::from(declared.contains(&Some(Verdict::Helps)));
    }
    assert!(wrong <= 8, "{wrong} of 400 declare an effect of 1.8 % to lie above 2 %");
}
