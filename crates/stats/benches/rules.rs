//! Runs and false differences of Coretwin's two rules beside those of other tools, by kind of noise:
//! `cargo bench -p coretwin-stats --bench rules`. The clock is simulated, so the figures are the same on
//! every host. `UPDATE_EXPECT=1` writes `docs/evidence/other-tools.md`.

#![expect(clippy::print_stdout, reason = "it prints its table")]

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/simulation/noise.rs"]
mod noise;

use coretwin_base::study::summary::Verdict;
use coretwin_stats::paired::Paired;
use coretwin_stats::sequence;
use coretwin_stats::stopping::{LOOKS, widening};
use coretwin_stats::student;
use noise::{
    BIMODAL, Noise, PLAIN, PURE_DRIFT, Runs, STANDARD, STICKY, STICKY_MODE, WALK, differences,
};
use std::fmt::Write as _;

const TRIALS: u64 = 4000;
/// Most runs an arm gets.
const RUNS_MAX: u32 = 200;
const TARGET: f64 = 0.01;
const MARGIN: f64 = 0.02;

/// What a study of equal arms came to.
struct Came {
    runs: u32,
    /// Of the log of the ratio.
    error: f64,
    is_false: bool,
}

/// Welch's interval of the difference of two samples, as mean and half-width.
fn welch(samples: [&[f64]; 2]) -> (f64, f64) {
    let [a, b] = samples.map(|sample| Paired::new(sample).expect("runs"));
    let [va, vb] = [a, b].map(|one| one.standard_error() * one.standard_error());
    let degrees = (va + vb) * (va + vb) / (va * va / a.degrees + vb * vb / b.degrees);
    (a.mean - b.mean, student::critical(0.95, degrees) * libm::sqrt(va + vb))
}

fn runs(noise: &mut Runs, count: u32) -> Vec<f64> {
    (0..count).map(|_| noise.next()).collect()
}

fn by_width(noise: Noise, trial: u64) -> Came {
    let values = differences(noise, trial, RUNS_MAX as usize);
    let at = |look: u32| {
        let effect = Paired::new(&values[..look as usize]).expect("blocks");
        (effect, effect.half_width(0.95, widening(&LOOKS, look)).expect("a width"))
    };
    let looks = LOOKS.into_iter().map(at);
    let last = at(RUNS_MAX);
    let (effect, half) = { looks }.find(|(_, half)| *half <= libm::log1p(TARGET)).unwrap_or(last);
    Came { runs: effect.blocks, error: effect.mean, is_false: libm::fabs(effect.mean) > half }
}

fn by_verdict(noise: Noise, trial: u64) -> Came {
    let values = differences(noise, trial, RUNS_MAX as usize);
    let at = |look: u32| {
        let effect = Paired::new(&values[..look as usize]).expect("blocks");
        let ends = sequence::interval(&effect, 0.05).expect("an interval");
        (effect, sequence::verdict(ends, libm::log1p(MARGIN)))
    };
    let mut looks = sequence::looks(2).into_iter().filter(|look| *look <= RUNS_MAX).map(at);
    let decided = looks.find(|(_, said)| *said != Verdict::Inconclusive);
    let (effect, said) = decided.unwrap_or_else(|| at(RUNS_MAX));
    let is_false = matches!(said, Verdict::Helps | Verdict::Hurts);
    Came { runs: effect.blocks, error: effect.mean, is_false }
}

/// Ten runs of each, one after the other, and Welch's test.
fn hyperfine(noise: Noise, trial: u64) -> Came {
    let mut noise = Runs::new(noise, trial);
    let [a, b] = [10, 10].map(|count| runs(&mut noise, count));
    let (error, half) = welch([&a, &b]);
    Came { runs: 10, error, is_false: libm::fabs(error) > half }
}

/// The same with half as many runs more, again and again, until Welch's interval is narrow enough.
fn hyperfine_grown(noise: Noise, trial: u64) -> Came {
    let mut noise = Runs::new(noise, trial);
    let mut count = 10;
    loop {
        let [a, b] = [count, count].map(|count| runs(&mut noise, count));
        let (error, half) = welch([&a, &b]);
        if half <= libm::log1p(TARGET) || count == RUNS_MAX {
            return Came { runs: count, error, is_false: libm::fabs(error) > half };
        }
        count = (count + count / 2).min(RUNS_MAX);
    }
}

/// Three runs, up to fifteen while their deviation is above 3.5 %; a difference is one whose bars of
/// one standard error do not meet.
fn phoronix(noise: Noise, trial: u64) -> Came {
    let mut noise = Runs::new(noise, trial);
    let [a, b] = [(); 2].map(|()| {
        let mut sample = runs(&mut noise, 3);
        while sample.len() < 15 && Paired::new(&sample).is_some_and(|all| all.deviation > 0.035) {
            sample.push(noise.next());
        }
        Paired::new(&sample).expect("runs")
    });
    let error = a.mean - b.mean;
    let is_false = libm::fabs(error) > a.standard_error() + b.standard_error();
    Came { runs: a.blocks.midpoint(b.blocks), error, is_false }
}

type Rule = fn(Noise, u64) -> Came;

const RULES: [(&str, Rule); 5] = [
    ("Coretwin, width ±1 %", by_width),
    ("Coretwin, `--until verdict`", by_verdict),
    ("hyperfine, 10 + 10", hyperfine),
    ("hyperfine, grown to ±1 %", hyperfine_grown),
    ("Phoronix, 3.5 %", phoronix),
];

/// Mean runs of an arm, 95th percentile of the error in points, false differences in percent.
fn measure(rule: Rule, noise: Noise) -> [f64; 3] {
    let came: Vec<Came> = (0..TRIALS).map(|trial| rule(noise, trial)).collect();
    let mut errors: Vec<f64> = came.iter().map(|one| libm::fabs(one.error) * 100.0).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let mean = came.iter().map(|one| f64::from(one.runs)).sum::<f64>() / TRIALS as f64;
    let wrong = came.iter().filter(|one| one.is_false).count() as f64 * 100.0 / TRIALS as f64;
    [mean, errors[errors.len() * 95 / 100], wrong]
}

fn main() {
    let mut text = format!(
        "# Beside other tools: equal programs, spread of a run 1 %\n\n\
         Written by `UPDATE_EXPECT=1 cargo bench -p coretwin-stats --bench rules`: {TRIALS} studies a cell on a simulated clock, fixed seeds, at most {RUNS_MAX} runs of each program.\n\
         A cell is runs of each program · 95th percentile of the error in points · false differences in %. \
         False are: an interval without 0 (width, hyperfine by Welch's test), HELPS or HURTS at a margin of 2 % (verdict), bars of one standard error that do not meet (Phoronix, which calls no test).\n\n| noise |"
    );
    RULES.iter().for_each(|(name, _)| text += &format!(" {name} |"));
    text += &format!("\n|{}\n", "---|".repeat(RULES.len() + 1));
    let mut behind = Vec::new();
    for noise in [PLAIN, STANDARD, STICKY, PURE_DRIFT, WALK, STICKY_MODE, BIMODAL] {
        let cells = RULES.map(|(_, rule)| measure(rule, noise));
        write!(text, "| {} |", noise.name).expect("text");
        for [runs, error, wrong] in cells {
            write!(text, " {runs:.1} · {error:.1} · {wrong:.1} |").expect("text");
        }
        text.push('\n');
        let [width, _, _, grown, _] = cells;
        if width[0] > grown[0] {
            let more = width[0] / grown[0];
            behind.push(format!(
                "{} ({more:.1} times its runs, {:.0} % of its studies false)",
                noise.name, grown[2]
            ));
        }
    }
    writeln!(
        text,
        "\nWhere Coretwin's width rule takes more runs than hyperfine grown to the same width: {}.",
        behind.join(", ")
    )
    .expect("text");
    println!("{text}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evidence/other-tools.md");
        std::fs::write(file, &text).expect("docs/evidence");
    }
}
