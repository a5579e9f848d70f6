//! What is counted up from window to window, for counters. Bounded: cores that are gone are
//! forgotten, and of cgroups so many are kept that their number does not grow for ever.

use crate::snapshot::Snapshot;
use coretwin_account::model::capacity_shares;
use coretwin_base::account::{Span, Worth};
use coretwin_host::cgroup::Limits;
use std::collections::BTreeMap;

/// Under which name tasks are counted whose cgroup is not known.
const NOT_KNOWN: &str = "(not known)";
/// Most cgroups that are kept apart.
pub const CGROUPS_MAX: usize = 200;
/// Label of those that are not.
pub const OTHERS: &str = "(others)";
/// A cgroup that did not run for so long makes room for another, in seconds.
const FORGET_AFTER_S: f64 = 600.0;

#[derive(Debug, Default, Clone)]
pub struct Totals {
    pub windows: u64,
    /// Their length.
    pub elapsed_s: f64,
    pub busy_s: f64,
    pub interrupts_s: f64,
    /// CPU time given to others by the hypervisor.
    pub steal_s: f64,
    /// Seconds of whole cores' capacity.
    pub capacity_s: f64,
    /// Core-seconds that shared while others idled.
    pub clash_s: f64,
    /// By the list of a core's CPUs: its package, and seconds with k busy, for k = 0 to n.
    pub cores: BTreeMap<String, (u32, Vec<f64>)>,
    pub cgroups: BTreeMap<String, Group>,
}

/// The sums of a cgroup.
#[derive(Debug, Default, Clone)]
pub struct Group {
    pub worth: Worth,
    /// Whole cores that it used in the last window.
    pub cores_used: Span,
    /// Whole cores that it may still use; `None` if more than one group is counted here.
    pub cores_left: Option<Span>,
    limits: Option<Limits>,
    last_s: f64,
}

/// Whole cores that a group may still use: what its CPUs' cores have left, and no more than its quota. A CPU
/// second of a quota is worth most where the siblings idle and least where all are busy; the value has
/// the worth of those that the group used, or of one alone.
fn left(limits: &Limits, used: &Worth, snapshot: &Snapshot) -> Span {
    let mut cores = Span::default();
    for core in &snapshot.cores {
        if limits.cpus.as_ref().is_none_or(|cpus| !cpus.intersection(&core.cpus).is_empty()) {
            let Span { value, low, high } = core.capacity_share;
            let [value, low, high] = [value, high, low].map(|used| (1.0 - used).max(0.0));
            cores = cores.plus(Span { value, low, high });
        }
    }
    let Some(quota) = limits.quota_cpus else { return cores };
    let left = (quota - used.raw_s / snapshot.elapsed_s).max(0.0);
    let shares = capacity_shares(&snapshot.core_yield.by_busy);
    let worth = || (1..).zip(&shares).map(|(k, share): (u32, _)| (f64::from(k), share));
    let low = worth().map(|(k, share)| share.low / k).fold(1.0, f64::min);
    let high = worth().map(|(k, share)| share.high / k).fold(0.0, f64::max);
    let alone = shares.first().map_or(1.0, |share| share.value);
    let value = if used.raw_s > 0.0 { used.capacity_s.value / used.raw_s } else { alone };
    Span {
        value: cores.value.min(left * value.clamp(low, high)),
        low: cores.low.min(left * low),
        high: cores.high.min(left * high),
    }
}

impl Totals {
    pub fn add(&mut self, snapshot: &Snapshot) {
        let machine = &snapshot.machine;
        let elapsed_s = snapshot.elapsed_s;
        let cpu_s = f64::from(machine.cpus) * elapsed_s;
        self.windows += 1;
        self.elapsed_s += elapsed_s;
        self.busy_s += machine.logical_share * cpu_s;
        self.interrupts_s += machine.interrupts_share * cpu_s;
        self.steal_s += machine.steal_share * cpu_s;
        self.capacity_s += machine.capacity_share.value * f64::from(machine.cores) * elapsed_s;
        self.clash_s += machine.clash_cores.value * elapsed_s;
        self.add_cores(snapshot);
        for group in self.cgroups.values_mut() {
            group.cores_used = Span::default();
            // What does not run has all of its limits left.
            group.cores_left =
                group.limits.as_ref().map(|it| left(it, &Worth::default(), snapshot));
        }
        for group in &snapshot.cgroups {
            let path = self.kept(group.path.as_deref().unwrap_or(NOT_KNOWN));
            let is_one = group.path.as_ref() == Some(&path);
            let kept = self.cgroups.entry(path).or_default();
            kept.limits = is_one.then(|| group.limits.clone());
            kept.cores_left = is_one.then(|| left(&group.limits, &group.worth, snapshot));
            kept.worth.include(&group.worth);
            let Span { value, low, high } = group.worth.capacity_s;
            let [value, low, high] = [value, low, high].map(|seconds| seconds / elapsed_s);
            kept.cores_used = kept.cores_used.plus(Span { value, low, high });
            kept.last_s = self.elapsed_s;
        }
    }

    fn add_cores(&mut self, snapshot: &Snapshot) {
        let mut earlier = std::mem::take(&mut self.cores);
        for core in &snapshot.cores {
            let name = core.cpus.to_string();
            let none = || (core.package, vec![0.0; core.by_busy_share.len()]);
            let mut sums = earlier.remove(&name).unwrap_or_else(none);
            for (sum, share) in sums.1.iter_mut().zip(&core.by_busy_share) {
                *sum += share.value * snapshot.elapsed_s;
            }
            self.cores.insert(name, sums);
        }
    }

    /// Under which name a cgroup is counted.
    fn kept(&mut self, path: &str) -> String {
        if !self.cgroups.contains_key(path) && self.cgroups.len() >= CGROUPS_MAX {
            let oldest = self
                .cgroups
                .iter()
                .filter(|(name, _)| *name != OTHERS)
                .min_by(|a, b| a.1.last_s.total_cmp(&b.1.last_s));
            match oldest {
                Some((name, group)) if self.elapsed_s - group.last_s > FORGET_AFTER_S => {
                    let name = name.clone();
                    self.cgroups.remove(&name);
                }
                _ => return OTHERS.to_owned(),
            }
        }
        path.to_owned()
    }
}
