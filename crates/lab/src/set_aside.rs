//! Why a run may be set aside: exogenous causes, fixed before the study starts. A reading is
//! never dropped for its value.

use crate::machine::Measured;
use coretwin_base::machine::environment::Moment;
use coretwin_base::study::disturbance;
use coretwin_base::study::plan::Rules;

/// CPU time below this is within the 10 ms tick of `/proc/stat`, whatever its share, in seconds.
const TICKS_S: f64 = 0.05;

pub(crate) fn cause(
    rules: &Rules,
    measured: &Measured,
    before: Option<&Moment>,
    now: &Moment,
) -> Option<String> {
    let share = |seconds: f64| {
        if measured.capacity_s > 0.0 { seconds / measured.capacity_s } else { 0.0 }
    };
    // A limit of 100 % switches the cause off: ticks can make a short run look busier than that.
    let over =
        |seconds: f64, limit: f64| limit < 1.0 && seconds > TICKS_S && share(seconds) > limit;
    if over(measured.steal_s, rules.steal_share_max) {
        return Some(disturbance::steal(share(measured.steal_s), rules.steal_share_max));
    }
    if over(measured.others_s, rules.others_share_max) {
        return Some(disturbance::others(share(measured.others_s), rules.others_share_max));
    }
    let generator =
        measured.outcome.latency.as_ref().and_then(|latency| latency.generator.as_ref());
    if let Some(generator) = generator.filter(|generator| generator.spoils()) {
        return Some(disturbance::late(generator.late_p99_s));
    }
    before.and_then(|before| capped(before, now))
}

/// Whether somebody lowered the permitted frequency of a CPU since the study began.
fn capped(before: &Moment, now: &Moment) -> Option<String> {
    now.mhz_permitted.iter().find_map(|(cpu, mhz)| {
        let first = *before.mhz_permitted.get(cpu)?;
        (*mhz < first * 0.99).then(|| {
            format!(
                "frequency: CPU {cpu} is capped at {mhz:.0} MHz, {first:.0} when the study began"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::study::job::Outcome;
    use coretwin_base::study::latency::{Generator, Latency};
    use coretwin_base::study::plan::{Protocol, Rule};
    use coretwin_base::study::reading::Better;

    fn rules() -> Rules {
        Rules {
            protocol: Protocol::Modern,
            looks: vec![8],
            target: 0.01,
            margin: 0.02,
            budget_s: None,
            steal_share_max: 0.05,
            others_share_max: 0.05,
            retries_max: 2,
            warmup: false,
            warmup_runs: 1,
            settle_s: 0.0,
            repeats: 1,
            until: Rule::Width,
        }
    }

    fn moment(mhz: f64) -> Moment {
        Moment {
            facts: String::new(),
            arm: "on".to_owned(),
            at_utc: String::new(),
            load_1min: 0.0,
            mhz: [].into(),
            mhz_permitted: [("0".to_owned(), mhz)].into(),
            idle_us: [].into(),
        }
    }

    fn measured(steal_s: f64, others_s: f64) -> Measured {
        let outcome = Outcome::failed("", "s", Better::Lower);
        Measured { outcome, steal_s, others_s, capacity_s: 10.0 }
    }

    #[test]
    fn only_what_lies_outside_the_work_sets_a_run_aside() {
        let check = |measured, mhz| cause(&rules(), &measured, Some(&moment(3000.0)), &moment(mhz));
        assert_eq!(check(measured(0.4, 0.4), 3000.0), None);
        assert!(check(measured(0.6, 0.0), 3000.0).is_some_and(|c| c.starts_with("steal")));
        assert!(check(measured(0.0, 0.6), 3000.0).is_some_and(|c| c.starts_with("others")));
        assert!(check(measured(0.0, 0.0), 2000.0).is_some_and(|c| c.starts_with("frequency")));
    }

    #[test]
    fn a_generator_that_was_late_on_a_cpu_of_its_own_sets_a_run_aside() {
        let late = |late_p99_s, own_cpu| {
            let mut measured = measured(0.0, 0.0);
            let generator = Some(Generator { late_p99_s, late_max_s: 1.0, own_cpu });
            measured.outcome.latency = Some(Latency { generator, ..Latency::default() });
            cause(&rules(), &measured, None, &moment(1.0))
        };
        let told = "generator: 1 % of its requests left more than 300 µs late (limit 200 µs)";
        assert_eq!(late(300e-6, true).as_deref(), Some(told));
        assert_eq!((late(300e-6, false), late(199e-6, true)), (None, None));
    }

    #[test]
    fn a_limit_of_everything_sets_nothing_aside() {
        let off = Rules { steal_share_max: 1.0, others_share_max: 1.0, ..rules() };
        assert_eq!(cause(&off, &measured(20.0, 20.0), None, &moment(1.0)), None);
    }

    #[test]
    fn a_few_ticks_are_not_a_cause_however_short_the_run() {
        let short = Measured { capacity_s: 0.1, ..measured(0.02, 0.03) };
        assert_eq!(cause(&rules(), &short, None, &moment(1.0)), None);
    }
}
