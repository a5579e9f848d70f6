//! Work beside rulers: its signature, and pairs of commands predicted from signatures beside what was
//! measured.
//!
//! A pair is predicted from the other pairs alone, by three rules: signatures (a resource that one fights
//! for counts as far as the other takes it, on the scale of the ruler beside itself; one factor for all of
//! them is fitted), the product of mean slowdowns, and the mean of all.

use super::{View, estimate, rate};
use crate::confidence::CONFIDENCE;
use crate::paired::Paired;
use coretwin_base::account::cputime::pairs::Pairs;
use coretwin_base::account::cputime::result::Estimate;
use coretwin_base::account::cputime::rulers::{
    BesideRuler, Predicted, Predictions, RULERS, Rulers, Scale, Signature,
};
use coretwin_base::account::cputime::{Condition, SpinnerKind};

/// A ruler that slows itself by less fills nothing.
const FILLS_MIN: f64 = 0.05;
/// Two leave no other pair to learn from.
const COMMANDS_MIN: usize = 3;

/// `None` for an experiment without rulers.
pub(super) fn rulers(view: &View<'_>, pairs: Option<&Pairs>) -> Option<Rulers> {
    if !view.experiment.has_rulers() {
        return None;
    }
    let commands = &view.experiment.commands;
    let works: Vec<(Option<usize>, &str)> = match commands.is_empty() {
        true => vec![(None, view.experiment.work.as_str())],
        false => commands.iter().enumerate().map(|(at, it)| (Some(at), it.name.as_str())).collect(),
    };
    let signature = |(work, name): (Option<usize>, &str)| Signature {
        work: name.to_owned(),
        beside: RULERS.iter().filter_map(|(ruler, _)| beside(view, work, *ruler)).collect(),
    };
    let signatures: Vec<Signature> = works.into_iter().map(signature).collect();
    let scales: Vec<Scale> = RULERS.iter().filter_map(|(ruler, _)| scale(view, *ruler)).collect();
    let predictions = pairs.and_then(|pairs| predictions(pairs, &signatures, &scales));
    Some(Rulers { scales, signatures, predictions })
}

fn find<'a>(view: &View<'a>, is_it: impl Fn(&Condition) -> bool) -> Option<&'a Condition> {
    view.experiment.conditions.iter().find(|condition| is_it(condition))
}

fn beside(view: &View<'_>, work: Option<usize>, ruler: SpinnerKind) -> Option<BesideRuler> {
    let condition = find(view, |it| it.has_work && it.work == work && it.ruler == Some(ruler))?;
    let ratios: Vec<_> =
        view.blocks.iter().filter_map(|block| view.ratios(condition, block)).collect();
    Some(BesideRuler {
        ruler,
        slowdown: estimate(ratios.iter().map(|ratios| Some(ratios.real)))?,
        ruler_slowdown: estimate(ratios.iter().map(|ratios| ratios.spinners.first().copied())),
    })
}

/// Mean progress of two of a ruler against that of one.
fn scale(view: &View<'_>, ruler: SpinnerKind) -> Option<Scale> {
    let twice = find(view, |it| it.spinners == 2 && it.ruler == Some(ruler))?;
    let once = find(view, |it| super::is_spinner(it) && it.ruler == Some(ruler))?;
    let ratios = view.blocks.iter().filter_map(|block| {
        let here = block.get(&*twice.name)?;
        // In a short window one may have had no turn.
        let sum = [0, 1].into_iter().filter_map(|at| rate(here, at)).sum::<f64>();
        let alone = rate(block.get(&*once.name)?, 0)?;
        (sum > 0.0).then_some(Some(2.0 * alone / sum))
    });
    Some(Scale { ruler, slowdown: estimate(ratios)? })
}

/// A measured side of a pair: how much `work` is slowed by `beside`, and what both share by signature.
struct Side {
    work: usize,
    beside: usize,
    log: f64,
    shared: f64,
}

/// `None` where a pair or a signature is missing.
fn predictions(pairs: &Pairs, signatures: &[Signature], scales: &[Scale]) -> Option<Predictions> {
    let count = pairs.commands.len();
    if count < COMMANDS_MIN || pairs.pairs.len() < count * (count - 1) / 2 {
        return None;
    }
    let mut sides = Vec::new();
    for it in &pairs.pairs {
        for (work, beside, slowdown) in [(it.a, it.b, it.slowdown_a), (it.b, it.a, it.slowdown_b)] {
            let shared = shared(&signatures[work], &signatures[beside], scales)?;
            sides.push(Side { work, beside, log: libm::log(slowdown), shared });
        }
    }
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for pair in sides.chunks_exact(2) {
        let of_both: Vec<(Predicted, [f64; 3])> =
            pair.iter().map(|side| predicted(side, &sides)).collect::<Option<_>>()?;
        errors.push([0, 1, 2].map(|rule| of_both.iter().map(|it| it.1[rule]).sum::<f64>() / 2.0));
        found.extend(of_both.into_iter().map(|(side, _)| side));
    }
    let mean = |rule: usize| errors.iter().map(|of| of[rule]).sum::<f64>() / errors.len() as f64;
    let differences: Vec<f64> = errors.iter().map(|of| of[0] - of[1]).collect();
    let paired = Paired::new(&differences)?;
    let interval = paired.interval(CONFIDENCE, 1.0);
    Some(Predictions {
        sides: found,
        error_rulers: mean(0),
        error_means: mean(1),
        error_constant: mean(2),
        difference: Estimate {
            value: paired.mean,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
        },
    })
}

/// What the work loses to each ruler, as far as the other slows that ruler, over what the ruler loses to
/// itself; summed over rulers that fill anything.
fn shared(work: &Signature, other: &Signature, scales: &[Scale]) -> Option<f64> {
    let of = |signature: &Signature, ruler| {
        signature.beside.iter().find(|it| it.ruler == ruler).copied()
    };
    let mut sum = 0.0;
    for scale in scales.iter().filter(|scale| scale.slowdown.value > 1.0 + FILLS_MIN) {
        let loses = of(work, scale.ruler)?.slowdown.value - 1.0;
        let takes = of(other, scale.ruler)?.ruler_slowdown?.value - 1.0;
        sum += loses * takes / (scale.slowdown.value - 1.0);
    }
    Some(sum)
}

/// A side as the three rules say it from the other pairs, and the error of each.
fn predicted(side: &Side, all: &[Side]) -> Option<(Predicted, [f64; 3])> {
    let pair = |it: &Side| (it.work.min(it.beside), it.work.max(it.beside));
    let others: Vec<&Side> = all.iter().filter(|it| pair(it) != pair(side)).collect();
    let mean = |is_it: &dyn Fn(&Side) -> bool| {
        let logs: Vec<f64> = others.iter().filter(|it| is_it(it)).map(|it| it.log).collect();
        (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
    };
    let grand = mean(&|_| true)?;
    let of_work = mean(&|it| it.work == side.work)?;
    let of_other = mean(&|it| it.beside == side.beside)?;
    let squares: f64 = others.iter().map(|it| it.shared * it.shared).sum();
    let products: f64 = others.iter().map(|it| it.shared * (libm::exp(it.log) - 1.0)).sum();
    let factor = if squares > 0.0 { products / squares } else { 0.0 };
    // No command makes another several times as fast.
    let by_rulers = libm::log((1.0 + factor * side.shared).max(0.1));
    let by_means = of_work + of_other - grand;
    let said = Predicted {
        work: side.work,
        beside: side.beside,
        measured: libm::exp(side.log),
        by_rulers: libm::exp(by_rulers),
        by_means: libm::exp(by_means),
    };
    Some((said, [by_rulers, by_means, grand].map(|rule| (rule - side.log).abs())))
}
