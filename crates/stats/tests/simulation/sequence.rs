//! What `--until verdict` does: wrong declarations at every stop, blocks and power, beside other
//! sequences, the width rule and a fixed number of blocks. The tables are `docs/evidence/until-verdict.md`;
//! `UPDATE_EXPECT=1` writes it.

use crate::noise::{
    BIMODAL, MODELS, Noise, PLAIN, PURE_DRIFT, STICKY, STICKY_MODE, WALK, differences, full_trials,
    percent, trials,
};
use coretwin_base::study::summary::Verdict;
use coretwin_stats::sequence::{self, BLOCKS_MAX};
use coretwin_stats::{stopping, student};
use std::fmt::Write as _;

const SIGMAS: [f64; 6] = [0.004, 0.007, 0.01, 0.014, 0.02, 0.03];
const EFFECTS: [f64; 7] = [0.0, 0.01, 0.02, 0.03, 0.05, 0.10, 0.25];
const MARGIN: f64 = 0.02;
/// Blocks of a set of orders of two arms.
const SET: u32 = 4;
const FIXED: u32 = 20;
/// With what the page goes on behind this test's tables.
const LONGER: &str = "\n## With 20,000 studies a cell\n";

/// The width of block differences beside a given one of runs: two runs make one.
const OF_DIFFERENCES: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Half-widths by number of blocks and deviation.
struct Rule {
    name: &'static str,
    first: u32,
    /// `None` is betting, which has no half-width.
    half: Option<Box<dyn Fn(u32, f64) -> f64>>,
}

/// The asymptotic sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, *Time-uniform central
/// limit theory and asymptotic confidence sequences* (Annals of Statistics 2024), equation 14.
fn asymptotic(blocks: u32, deviation: f64) -> f64 {
    let (n, rho) = (f64::from(blocks), 0.3);
    let grown = n * rho + 1.0;
    deviation * libm::sqrt(2.0 * grown / (n * n * rho) * libm::log(libm::sqrt(grown) / 0.05))
}

fn mixture() -> Rule {
    let critical: Vec<f64> = (0..=BLOCKS_MAX).map(|n| sequence::critical(n, 0.05)).collect();
    let half = move |n: u32, s: f64| critical[n as usize] * s / libm::sqrt(f64::from(n));
    Rule { name: "mixture of t (chosen)", first: SET, half: Some(Box::new(half)) }
}

fn rules() -> Vec<Rule> {
    let critical: Vec<f64> =
        (0..=BLOCKS_MAX).map(|n| student::critical(0.95, f64::from(n.max(2) - 1))).collect();
    let plain = move |n: u32, s: f64| critical[n as usize] * s / libm::sqrt(f64::from(n));
    vec![
        mixture(),
        Rule { name: "asymptotic, from 4 blocks", first: SET, half: Some(Box::new(asymptotic)) },
        Rule { name: "asymptotic, from 20 blocks", first: 20, half: Some(Box::new(asymptotic)) },
        Rule {
            name: "betting, block differences within ÷2 and ×2 (seqbench)",
            first: SET,
            half: None,
        },
        Rule {
            name: "plain t, looked at again and again",
            first: SET,
            half: Some(Box::new(plain)),
        },
    ]
}

/// Some trials of one effect.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    wrong: u32,
    decided: u32,
    blocks: u64,
}

fn is_wrong(said: Verdict, effect: f64) -> bool {
    match said {
        Verdict::Helps => effect <= MARGIN,
        Verdict::Hurts => true,
        Verdict::NoMaterialDifference => effect >= MARGIN,
        Verdict::Inconclusive => false,
    }
}

/// The hedged capital of Waudby-Smith and Ramdas, *Estimating means of bounded random variables by
/// betting* (JRSS B 2024), theorem 3, which `seqbench` has as its default: log capitals of the bets that
/// the mean lies above (first) and below a point.
struct Capital {
    point: f64,
    logs: [f64; 2],
}

impl Capital {
    fn is_lost(&self, side: usize) -> bool {
        self.logs[side] >= libm::log(2.0 / 0.05)
    }

    fn bet(&mut self, value: f64, stake: f64) {
        let away = value - self.point;
        let stakes = [stake.min(0.5 / self.point), stake.min(0.5 / (1.0 - self.point))];
        for (side, (log, sign)) in self.logs.iter_mut().zip([1.0, -1.0]).enumerate() {
            // What was reached once stays excluded.
            if *log < libm::log(2.0 / 0.05) {
                *log += libm::log1p(sign * stakes[side] * away);
            }
        }
    }
}

/// One study by betting; differences are declared to lie within ±ln 2.
fn betting(noise: &[f64], effect: f64, seen: &mut Seen) {
    let bound = std::f64::consts::LN_2;
    let scaled = |value: f64| ((value + bound) / (2.0 * bound)).clamp(0.0, 1.0);
    let mut ends = [-1.0, 1.0]
        .map(|sign| Capital { point: scaled(sign * libm::log1p(MARGIN)), logs: [0.0; 2] });
    let (mut sum, mut squares) = (0.5, 0.25);
    for (difference, blocks) in noise.iter().zip(1u32..) {
        let n = f64::from(blocks);
        let stake = libm::sqrt(2.0 * libm::log(2.0 / 0.05) / (squares / n * n * libm::log1p(n)));
        let value = scaled(difference + libm::log1p(effect));
        ends.iter_mut().for_each(|end| end.bet(value, stake));
        sum += value;
        let mean = sum / (n + 1.0);
        squares += (value - mean) * (value - mean);
        let said = match ends.each_ref().map(|end| [end.is_lost(0), end.is_lost(1)]) {
            [_, [true, _]] => Verdict::Helps,
            [[_, true], _] => Verdict::Hurts,
            [[true, _], [_, true]] => Verdict::NoMaterialDifference,
            _ => continue,
        };
        if blocks % SET == 0 {
            seen.blocks += u64::from(blocks);
            seen.decided += 1;
            seen.wrong += u32::from(is_wrong(said, effect));
            return;
        }
    }
    seen.blocks += u64::from(BLOCKS_MAX);
}

/// One study by this rule; the differences are those of equal arms.
fn study(rule: &Rule, noise: &[f64], effect: f64, seen: &mut Seen) {
    let Some(half_width) = &rule.half else { return betting(noise, effect, seen) };
    let (margin, shift) = (libm::log1p(MARGIN), libm::log1p(effect));
    let (mut sum, mut squares, mut stopped) = (0.0, 0.0, None);
    for (difference, blocks) in noise.iter().zip(1u32..) {
        // About the truth, where sums of squares lose nothing.
        sum += difference;
        squares += difference * difference;
        if blocks < rule.first || blocks % SET != 0 {
            continue;
        }
        let n = f64::from(blocks);
        let deviation = libm::sqrt(f64::max(squares - sum * sum / n, 0.0) / (n - 1.0));
        let (mean, half) = (sum / n + shift, half_width(blocks, deviation));
        let said = sequence::verdict((mean - half, mean + half), margin);
        if said != Verdict::Inconclusive {
            stopped = Some((blocks, is_wrong(said, effect)));
            break;
        }
    }
    let (blocks, wrong) = stopped.unwrap_or((BLOCKS_MAX, false));
    seen.blocks += u64::from(blocks);
    seen.wrong += u32::from(wrong);
    seen.decided += u32::from(stopped.is_some());
}

/// Every effect, on the same noise.
fn measure(rule: &Rule, noise: Noise, count: u64) -> [Seen; EFFECTS.len()] {
    let mut seen = [Seen::default(); EFFECTS.len()];
    for trial in 0..count {
        let values = differences(noise, trial, BLOCKS_MAX as usize);
        for (effect, seen) in EFFECTS.into_iter().zip(&mut seen) {
            study(rule, &values, effect, seen);
        }
    }
    seen
}

fn models() -> impl Iterator<Item = Noise> {
    MODELS.into_iter().chain([STICKY, STICKY_MODE, WALK, PURE_DRIFT, BIMODAL])
}

/// The most wrong declarations of a rule over all spreads and effects, in percent.
fn most_wrong(rule: &Rule, noise: Noise, count: u64) -> f64 {
    let all = SIGMAS.into_iter().flat_map(|sigma| measure(rule, Noise { sigma, ..noise }, count));
    all.map(|seen| percent(seen.wrong, count)).fold(0.0, f64::max)
}

fn wrong_table(count: u64) -> String {
    let rule = mixture();
    let mut text = "| noise | most wrong, % |\n|---|---|\n".to_owned();
    for noise in models() {
        let wrong = most_wrong(&rule, noise, count);
        writeln!(text, "| {} | {wrong:.1} |", noise.name).expect("text");
        let limit = if noise.name == PLAIN.name { 2.5 } else { 5.0 };
        assert!(wrong <= limit, "{}: {wrong}", noise.name);
    }
    text
}

fn rules_table(count: u64) -> String {
    let mut text =
        "| sequence | most wrong, % | noise | blocks at 0, 5, 10 % |\n|---|---|---|---|\n"
            .to_owned();
    for rule in rules() {
        let worst = [PLAIN, STICKY, BIMODAL]
            .map(|noise| (most_wrong(&rule, noise, count), noise.name))
            .into_iter()
            .reduce(|a, b| if b.0 > a.0 { b } else { a })
            .expect("three");
        let seen = measure(&rule, Noise { sigma: 0.03 * OF_DIFFERENCES, ..PLAIN }, count);
        let blocks = [0, 4, 5].map(|at: usize| seen[at].blocks as f64 / count as f64);
        let [none, five, ten] = blocks;
        writeln!(
            text,
            "| {} | {:.1} | {} | {none:.0}, {five:.0}, {ten:.0} |",
            rule.name, worst.0, worst.1
        )
        .expect("text");
    }
    text
}

/// Blocks of the width rule, and how often its interval, and that of a fixed number of blocks, lies
/// beyond the margin or inside.
fn by_others(noise: Noise, effect: f64, count: u64) -> (f64, f64, f64) {
    let (margin, shift) = (libm::log1p(MARGIN), libm::log1p(effect));
    let (mut blocks, mut beyond, mut fixed) = (0u64, 0, 0);
    for trial in 0..count {
        let values = differences(noise, trial, BLOCKS_MAX as usize);
        let ends = |n: u32, widening: f64| {
            let paired = coretwin_stats::paired::Paired::new(&values[..n as usize])?;
            let (low, high) = paired.interval(0.95, widening)?;
            Some((low + shift, high + shift))
        };
        let decides = |ends: Option<(f64, f64)>| {
            ends.is_some_and(|ends| sequence::verdict(ends, margin) != Verdict::Inconclusive)
        };
        let narrow = |&look: &u32| {
            let widening = stopping::widening(&stopping::LOOKS, look);
            ends(look, widening).is_some_and(|(low, high)| high - low <= 2.0 * libm::log1p(0.01))
        };
        let stop = stopping::LOOKS.into_iter().find(narrow).unwrap_or(200);
        blocks += u64::from(stop);
        beyond += u32::from(decides(ends(stop, stopping::widening(&stopping::LOOKS, stop))));
        fixed += u32::from(decides(ends(FIXED, 1.0)));
    }
    (blocks as f64 / count as f64, percent(beyond, count), percent(fixed, count))
}

fn power_table(count: u64) -> String {
    let mut text = format!(
        "| spread of block differences | effect | decided, % | blocks | width rule: blocks | its interval beyond or inside, % | {FIXED} blocks: beyond or inside, % |\n|---|---|---|---|---|---|---|\n"
    );
    let rule = mixture();
    for sigma in [0.01, 0.03] {
        let noise = Noise { sigma: sigma * OF_DIFFERENCES, ..PLAIN };
        for (effect, seen) in EFFECTS.into_iter().zip(measure(&rule, noise, count)) {
            let (width, beyond, fixed) = by_others(noise, effect, count);
            let (decided, blocks) =
                (percent(seen.decided, count), seen.blocks as f64 / count as f64);
            writeln!(
                text,
                "| {:.0} % | {:.0} % | {decided:.0} | {blocks:.1} | {width:.0} | {beyond:.0} | {fixed:.0} |",
                sigma * 100.0,
                effect * 100.0
            )
            .expect("text");
            let most = match effect {
                _ if sigma < 0.03 || effect < 0.05 => 240.0,
                0.05 => 18.0,
                _ => 8.0,
            };
            assert!(blocks <= most, "{effect}: {blocks}");
        }
    }
    text
}

#[test]
fn verdicts_are_rarely_wrong_at_any_stop_and_come_early() {
    let count = trials(1000);
    let text = format!(
        "# `--until verdict`: what was measured\n\n\
         Written by `UPDATE_EXPECT=1 cargo test -p coretwin-stats --test simulation sequence`, {count} studies a cell, fixed seeds.\n\
         Margin 2 %. Spreads of a run 0.4, 0.7, 1, 1.4, 2, 3 %; effects 0, 1, 2, 3, 5, 10, 25 %; at most {BLOCKS_MAX} blocks.\n\
         Wrong is HELPS or HURTS of an effect inside the margin or on it, NO MATERIAL DIFFERENCE of one beyond or on it, and the wrong direction.\nA study that is stopped between two looks shows the last one.\n\n\
         ## Wrong declarations\n\n{}\n\
         ## Beside other sequences\n\nIndependent noise, AR 0.8 and bimodal; blocks where block differences have a spread of 3 %.\n\n{}\n\
         ## Blocks and power\n\nIndependent noise.\n\n{}",
        wrong_table(count),
        rules_table(count),
        power_table(count)
    );
    println!("{text}");
    if full_trials().is_some() {
        return;
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evidence/until-verdict.md");
    let whole = std::fs::read_to_string(file).unwrap_or_default();
    // What follows was measured otherwise, and is kept.
    let kept = whole.find(LONGER).map_or("", |at| &whole[at..]);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(file, format!("{text}{kept}")).expect("docs/evidence");
    }
    let written = whole.strip_suffix(kept).unwrap_or_default();
    assert!(written == text, "docs/evidence/until-verdict.md is of another measurement");
}
