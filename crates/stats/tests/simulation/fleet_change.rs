//! Do the intervals of the change between two fleets hold the truth?
//!
//! A machine's true effect is drawn around the mean of all and stays with it; the change on each machine
//! is drawn around the mean change. Both fleets measure each of their machines with blocks of its own
//! spread. All deviations are given over the typical standard error of a machine.

use crate::fleet::SIGMA;
use crate::noise::{Normal, ends, percent};
use crate::quoted;
use coretwin_stats::fleet::comparison::mean_change;
use coretwin_stats::fleet::{Found, moderated};
use coretwin_stats::paired::Paired;

const TRIALS: u64 = 500;
const CHANGE: f64 = -0.03;

#[derive(Debug, Clone, Copy)]
struct Case {
    /// Machines in both, in the first alone, in the second alone.
    machines: [usize; 3],
    blocks: usize,
    /// Deviation of true effects between machines.
    between: f64,
    /// Deviation of true changes between machines.
    changes: f64,
    uneven: bool,
}

impl Case {
    fn unit(self) -> f64 {
        SIGMA / libm::sqrt(self.blocks as f64)
    }

    /// What machines of these true effects and spreads find in one fleet.
    fn found(self, machines: &[(f64, f64)], normal: &mut Normal) -> Vec<Found> {
        let measured: Vec<Paired> = machines
            .iter()
            .map(|&(truth, spread)| {
                let block = |_| truth + spread * normal.draw();
                Paired::new(&(0..self.blocks).map(block).collect::<Vec<_>>()).expect("blocks")
            })
            .collect();
        let spreads: Vec<(f64, f64)> = measured
            .iter()
            .map(|paired| (paired.deviation * paired.deviation, (self.blocks - 1) as f64))
            .collect();
        let found = |(paired, (spread, degrees)): (&Paired, (f64, f64))| Found {
            mean: paired.mean,
            variance: spread / self.blocks as f64,
            degrees,
        };
        measured.iter().zip(moderated(&spreads)).map(found).collect()
    }

    /// Percent of intervals that hold the mean change.
    fn measure(self) -> f64 {
        let [both, first_only, second_only] = self.machines;
        let mut covered = 0;
        for trial in 0..TRIALS {
            let mut normal = Normal::new("fleet change", trial);
            let machine = |normal: &mut Normal| {
                let own =
                    if self.uneven { libm::exp(0.7 * normal.draw().clamp(-1.0, 1.0)) } else { 1.0 };
                let truth = self.between * self.unit() * normal.draw();
                let change = CHANGE + self.changes * self.unit() * normal.draw();
                ((truth, SIGMA * own), (truth + change, SIGMA * own))
            };
            let all: Vec<_> =
                (0..both + first_only + second_only).map(|_| machine(&mut normal)).collect();
            let first: Vec<_> = all[..both + first_only].iter().map(|pair| pair.0).collect();
            let second: Vec<_> =
                all[..both].iter().chain(&all[both + first_only..]).map(|pair| pair.1).collect();
            let first = self.found(&first, &mut normal);
            let second = self.found(&second, &mut normal);
            let pairs: Vec<[Found; 2]> =
                first.iter().zip(&second).take(both).map(|(a, b)| [*a, *b]).collect();
            let change = mean_change(&pairs, [&first[both..], &second[both..]]).expect("machines");
            let (low, high) = change.estimate.interval(0.95).expect("an interval");
            covered += u32::from(low <= CHANGE && CHANGE <= high);
        }
        percent(covered, TRIALS)
    }
}

#[test]
fn the_change_between_fleets_is_covered() {
    println!("fleet change: both, first, second; blocks, between, changes, uneven -> %");
    let mut all = Vec::new();
    let machines =
        [[3, 0, 0], [5, 0, 0], [12, 0, 0], [0, 5, 5], [0, 12, 6], [5, 5, 5], [12, 4, 4], [4, 0, 6]];
    for machines in machines {
        for (between, changes, uneven) in [
            (1.0, 0.0, false),
            (3.0, 0.0, false),
            (3.0, 1.0, false),
            (10.0, 3.0, false),
            (3.0, 1.0, true),
        ] {
            let case = Case { machines, blocks: 8, between, changes, uneven };
            let covered = case.measure();
            let [both, first, second] = machines;
            println!(
                "  {both}, {first}, {second}; 8, {between}, {changes}, {uneven} -> {covered:.1}"
            );
            all.push(covered);
            assert!((91.0..99.0).contains(&covered), "{case:?}: {covered}");
        }
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let [least, most] = ends(&all);
    quoted(&format!("{least:.1} to {most:.1} %, {mean:.1} % over all cases"));
    assert!((94.0..96.5).contains(&mean), "{mean}");
}
