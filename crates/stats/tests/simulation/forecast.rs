//! Does the number of blocks that "would decide" decide, four times in five?

use crate::noise::{Normal, percent};
use crate::quoted;
use coretwin_base::study::plan::Rule;
use coretwin_base::study::summary::Verdict;
use coretwin_stats::confidence;
use coretwin_stats::paired::Paired;
use coretwin_stats::{stopping, verdict};

const TRIALS: u64 = 2000;
const MARGIN: f64 = 0.019_802_627_296_179_712;

#[test]
fn the_forecast_number_of_blocks_decides_four_times_in_five() {
    println!("forecast: effect %, spread %, looks -> blocks, decided then %");
    let (mut least, mut most) = (100.0f64, 0.0f64);
    for (name, looks) in [("fixed", &[8][..]), ("default", &stopping::LOOKS[..])] {
        for mean in [0.0, 0.005, 0.010, 0.015, 0.03, 0.05, 0.10] {
            for deviation in [0.02, 0.05, 0.15] {
                let effect =
                    Paired { mean, deviation, ..Paired::new(&[0.0, 0.0, 0.0]).expect("three") };
                let widening = |blocks: u32| stopping::widening(looks, blocks);
                let forecast = verdict::blocks_needed(
                    &effect,
                    MARGIN,
                    confidence::LEVEL,
                    Rule::Width,
                    widening,
                );
                let blocks = forecast.expect("a forecast");
                if !(5..2500).contains(&blocks) {
                    continue;
                }
                let mut decided = 0;
                for trial in 0..TRIALS.min(400_000 / u64::from(blocks)) {
                    let mut normal = Normal::new("forecast", trial);
                    let values: Vec<f64> =
                        (0..blocks).map(|_| mean + deviation * normal.draw()).collect();
                    let then = Paired::new(&values).expect("blocks");
                    let said = verdict::decide(&then, MARGIN, widening(blocks));
                    decided += u32::from(said != Some(Verdict::Inconclusive));
                }
                let decided = percent(decided, TRIALS.min(400_000 / u64::from(blocks)));
                println!(
                    "  {:.1}, {:.0}, {name} -> {blocks}, {decided:.1}",
                    mean * 100.0,
                    deviation * 100.0
                );
                (least, most) = (least.min(decided), most.max(decided));
            }
        }
    }
    quoted(&format!("decided in {least:.0} to {most:.0} % of studies"));
    assert!(least >= 74.0 && most <= 93.0, "{least} {most}");
}
