//! What others do on the CPUs of a study before its first block, and waiting until they rest.

use crate::error::Error;
use crate::machine::{MachineError, Stop};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::study::plan::{Plan, Rules};
use coretwin_base::units::human_seconds;
use coretwin_host::observe::{self, CpuTimes};
use coretwin_host::root::Root;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_secs(1);
/// Looks in a row that must find the machine quiet before a wait is over.
const QUIET_LOOKS: u64 = 5;

/// Looks at the CPUs of a plan's arms, while nothing of the study runs.
#[derive(Debug)]
pub struct Lookout<'a> {
    root: &'a Root,
    rules: &'a Rules,
    arms: Vec<&'a CpuSet>,
}

impl<'a> Lookout<'a> {
    /// A lookout for a plan; `None` if its limits let others do what they like.
    pub fn new(root: &'a Root, plan: &'a Plan) -> Option<Self> {
        let rules = &plan.rules;
        let has_limit = rules.steal_share_max < 1.0 || rules.others_share_max < 1.0;
        let arms = plan.arms.iter().map(|arm| &arm.cpus).collect();
        has_limit.then_some(Self { root, rules, arms })
    }

    /// Looks for a second. What would have a run set aside, in words: "others use 97 % of CPUs 0-1
    /// (limit 5 %)"; `None` if the machine is quiet. Errors: [`MachineError::Stopped`] if `stop`
    /// was raised; `/proc/stat` does not read.
    pub fn look(&self, stop: &Stop) -> Result<Option<String>, MachineError> {
        let times = || {
            observe::cpu_times(self.root).map_err(|error| MachineError::Refused(error.to_string()))
        };
        let (before, from) = (times()?, Instant::now());
        if !stop.lets_sleep(LOOK) {
            return Err(MachineError::Stopped);
        }
        Ok(self.disturbance(&before, &times()?, from.elapsed().as_secs_f64()))
    }

    fn disturbance(&self, before: &CpuTimes, after: &CpuTimes, elapsed_s: f64) -> Option<String> {
        let shares = self.arms.iter().flat_map(|cpus| {
            let observed = after.since(before, cpus);
            let share = |seconds: f64| seconds / (elapsed_s * cpus.len() as f64).max(1e-3);
            [
                (share(observed.busy_s), self.rules.others_share_max, "others use", cpus),
                (share(observed.steal_s), self.rules.steal_share_max, "the hypervisor takes", cpus),
            ]
        });
        let above = shares.filter(|(share, limit, ..)| *limit < 1.0 && share > limit);
        let (share, limit, who, cpus) = above.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))?;
        let (share, limit) = (share.min(1.0) * 100.0, limit * 100.0);
        let cpu = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        Some(format!("{who} {share:.0} % of {cpu} {cpus} (limit {limit:.1} %)"))
    }
}

/// Waits until so many looks in a row find the machine quiet that it is not quiet by chance.
/// `progress` hears who disturbs, and how many seconds are left to wait. Errors: [`Error::TooBusy`]
/// once `patience` is over; whatever a look ends with.
pub fn wait(
    patience: Duration,
    look: &mut dyn FnMut() -> Result<Option<String>, MachineError>,
    progress: &mut dyn FnMut(Option<&str>, f64),
) -> Result<(), Error> {
    let looks = patience.as_secs().max(QUIET_LOOKS);
    let (mut quiet, mut latest) = (0, None);
    for done in 0..looks {
        let found = look()?;
        quiet = if found.is_none() { quiet + 1 } else { 0 };
        if quiet >= QUIET_LOOKS {
            return Ok(());
        }
        progress(found.as_deref(), (looks - done - 1) as f64 * LOOK.as_secs_f64());
        latest = found.or(latest);
    }
    Err(Error::TooBusy(format!(
        "this machine is too busy to say: after {} of waiting {}",
        human_seconds(looks as f64),
        latest.unwrap_or_else(|| "it was quiet for moments only".to_owned())
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::machine::cpu_set::CpuId;
    use coretwin_host::observe::Ticks;

    fn rules(steal_share_max: f64, others_share_max: f64) -> Rules {
        let rules = serde_json::json!({
            "protocol": "modern", "looks": [8], "target": 0.01, "margin": 0.02, "budget_s": null,
            "steal_share_max": steal_share_max, "others_share_max": others_share_max,
            "retries_max": 2, "warmup": true, "settle_s": 0.0, "repeats": 1,
        });
        serde_json::from_value(rules).expect("rules")
    }

    fn times(user: [u64; 2], steal: u64) -> CpuTimes {
        let ticks = |user| Ticks { user, steal, ..Ticks::default() };
        let cpus = [(CpuId(0), ticks(user[0])), (CpuId(1), ticks(user[1]))];
        CpuTimes { cpus: cpus.into(), hertz: 100 }
    }

    #[test]
    fn the_busiest_arm_is_told_and_a_limit_of_everything_looks_at_nothing() {
        let [one, both] = ["1", "0-1"].map(|list| CpuSet::parse(list).expect("list"));
        let (root, rules_5) = (Root::system(), rules(0.05, 0.05));
        let said = |rules: &Rules, user, steal| {
            let lookout = Lookout { root: &root, rules, arms: vec![&one, &both] };
            lookout.disturbance(&times([0, 0], 0), &times(user, steal), 1.0)
        };
        assert_eq!(said(&rules_5, [4, 4], 4), None);
        let busy = said(&rules_5, [0, 60], 0).expect("CPU 1 is busy");
        assert_eq!(busy, "others use 60 % of CPU 1 (limit 5.0 %)");
        let stolen = said(&rules_5, [6, 6], 50).expect("stolen");
        assert_eq!(stolen, "the hypervisor takes 50 % of CPUs 0-1 (limit 5.0 %)");
        assert_eq!(said(&rules(0.05, 1.0), [100, 100], 0), None);
    }

    /// What a wait comes to where the machine is busy at these looks, and how many there were.
    fn waited(patience_s: u64, is_busy: impl Fn(u64) -> bool) -> (Result<(), Error>, u64) {
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            Ok(is_busy(looks).then(|| "others use 90 % of CPUs 0-1 (limit 5.0 %)".to_owned()))
        };
        let waited = wait(Duration::from_secs(patience_s), &mut look, &mut |_, _| {});
        (waited, looks)
    }

    #[test]
    fn a_wait_ends_when_it_is_quiet_for_a_while_or_when_its_time_is_over() {
        let (waited_for, looks) = waited(60, |look| look <= 7 || look == 10);
        waited_for.expect("quiet at last");
        assert_eq!(looks, 10 + QUIET_LOOKS);
        let (error, looks) = waited(20, |look| look % 3 == 0);
        assert_eq!(looks, 20);
        let error = error.expect_err("never quiet for long");
        assert!(matches!(error, Error::TooBusy(_)), "{error}");
        assert!(error.to_string().contains("others use 90 % of CPUs 0-1"), "{error}");
        waited(0, |_| false).0.expect("a quiet machine needs no patience");
        let mut look = || Err(MachineError::Stopped);
        let stopped = wait(Duration::from_secs(9), &mut look, &mut |_, _| {});
        assert!(matches!(stopped, Err(Error::Machine(MachineError::Stopped))));
    }
}
