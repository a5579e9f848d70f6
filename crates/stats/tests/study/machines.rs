//! What a machine brings into a fleet is what its own study says.

use crate::fixture::{plan, readings, row};
use coretwin_base::study::plan::{Protocol, Scale};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::confidence::CONFIDENCE;
use coretwin_stats::student;
use coretwin_stats::study::{analyse, machine_effects};

#[test]
fn mean_and_error_give_the_studys_own_interval() {
    let mut plan = plan(&[row("job", "command"), row("overhead", "lmbench")]);
    plan.rows[1].scale = Scale::Raw;
    let all = readings(&plan, 12, |block, arm, row| {
        let ripple = f64::from((block * 5 + arm as u32 * 3 + row as u32 * 2) % 7) / 100.0;
        5.0 + ripple - 0.5 * arm as f64
    });
    let summary = analyse(&plan, &all, StoppedBecause::Blocks);
    let found = machine_effects(&plan, &all);
    assert_eq!((found.effects.len(), found.uncompared.len()), (2, 0));
    for (effect, row) in found.effects.iter().zip(&summary.rows) {
        let shown = |value: f64| match effect.scale {
            Scale::Ratio => value.exp(),
            Scale::Raw => value,
        };
        let half = student::critical(CONFIDENCE, effect.degrees) * effect.standard_error;
        assert_eq!((&*effect.row, &*effect.arm), (row.row.as_str(), row.arm.as_str()));
        for (ours, theirs) in [(0.0, row.ratio), (-half, row.low), (half, row.high)]
            .map(|(d, t)| (effect.mean + d, t))
        {
            assert!((shown(ours) - theirs.expect("shown")).abs() < 1e-12, "{effect:?} {row:?}");
        }
        assert_eq!(Some(effect.value_arm), row.value_arm);
    }
}

#[test]
fn what_cannot_be_compared_is_named() {
    let mut plan = plan(&[row("a", "f"), row("b", "f"), row("off", "f")]);
    plan.rows[2].arms = vec!["on".to_owned()];
    let all = readings(&plan, 8, |_, _, row| if row == 1 { -1.0 } else { 2.123_456_789 });
    let found = machine_effects(&plan, &all);
    assert_eq!(found.effects.len(), 1);
    assert_eq!(found.effects[0].standard_error, 0.0);
    assert_eq!(found.uncompared, [("b".into(), "on".into())]);
    plan.rules.protocol = Protocol::Article2003;
    assert_eq!(machine_effects(&plan, &all).effects.len(), 0);
}
