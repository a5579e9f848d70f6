//! At what clock each arm ran, and how many instructions a cycle it got, from the counters in readings.

use super::blocks::Labels;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::counter::{
    CYCLES, Event, INSTRUCTIONS, LLC_MISSES, REFERENCE_CYCLES,
};
use coretwin_base::study::reading::{Phase, Reading, Status};

/// What was counted in an arm's good runs, all together. A ratio is of those runs that have both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    pub runs: u64,
    /// Cycles per second of CPU time, in GHz; none where time in the kernel was not counted.
    pub ghz: Option<f64>,
    /// Clock as a multiple of the base clock, which is that of the time-stamp counter.
    pub of_base: Option<f64>,
    pub instructions_per_cycle: Option<f64>,
    /// Misses of the last-level cache per thousand instructions.
    pub misses_per_thousand: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ratio {
    above: f64,
    below: f64,
}

impl Ratio {
    fn add(&mut self, above: Option<f64>, below: Option<f64>) {
        if let (Some(above), Some(below)) = (above, below) {
            self.above += above;
            self.below += below;
        }
    }

    fn value(self) -> Option<f64> {
        (self.below > 0.0).then(|| self.above / self.below)
    }
}

/// By arm of the plan. Where nothing was counted, every arm has no run.
pub fn counted(plan: &Plan, readings: &[Reading]) -> Vec<Counted> {
    let labels = Labels::new(plan);
    let mut runs = vec![0; plan.arms.len()];
    let mut ratios = vec![[Ratio::default(); 4]; plan.arms.len()];
    let good = |reading: &&Reading| reading.phase == Phase::Study && reading.status == Status::Ok;
    for reading in readings.iter().filter(good) {
        let Some((arm, _)) = labels.find(reading) else { continue };
        let arm = usize::from(arm);
        let value = |name: &str| reading.metrics.get(name).map(|metric| metric.value);
        let any = |event: Event| value(event.name).or_else(|| value(event.user_name));
        let Some(cycles) = any(CYCLES) else { continue };
        runs[arm] += 1;
        let [ghz, of_base, instructions, misses] = &mut ratios[arm];
        ghz.add(
            value(CYCLES.name).map(|cycles| cycles / 1e9),
            Some(reading.user_s + reading.system_s),
        );
        of_base.add(Some(cycles), any(REFERENCE_CYCLES));
        instructions.add(any(INSTRUCTIONS), Some(cycles));
        misses.add(any(LLC_MISSES).map(|misses| misses * 1e3), any(INSTRUCTIONS));
    }
    let of_arm = |(runs, ratios): (u64, [Ratio; 4])| {
        let [ghz, of_base, instructions_per_cycle, misses_per_thousand] = ratios.map(Ratio::value);
        Counted { runs, ghz, of_base, instructions_per_cycle, misses_per_thousand }
    };
    runs.into_iter().zip(ratios).map(of_arm).collect()
}

/// Arms of slowest and fastest clock, and how much faster it was, if that is more than the margin.
pub(super) fn clocks_apart(plan: &Plan, readings: &[Reading]) -> Option<(usize, usize, f64)> {
    let counted = counted(plan, readings);
    // CPU time is a coarser yardstick than the base clock.
    let yardsticks = [|arm: &Counted| arm.of_base, |arm: &Counted| arm.ghz];
    let clocks: Vec<f64> =
        yardsticks.iter().find_map(|clock| counted.iter().map(clock).collect::<Option<_>>())?;
    let by_clock = |a: &usize, b: &usize| clocks[*a].total_cmp(&clocks[*b]);
    let slow = (0..clocks.len()).min_by(by_clock)?;
    let fast = (0..clocks.len()).max_by(by_clock)?;
    let faster = clocks[fast] / clocks[slow] - 1.0;
    (faster > plan.rules.margin).then_some((slow, fast, faster))
}
