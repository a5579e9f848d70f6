//! What each machine weighs in the mean of its model, row and arm: for those who take the means
//! themselves, with tools of their own.

use super::groups::{self, Key};
use super::random_effects::RandomEffects;
use crate::confidence::CONFIDENCE;
use crate::study::rows::from_scale;
use crate::welch::Estimate;
use coretwin_base::fleet::{Effect, Fleet, Member};
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Weights<'a> {
    machines: Vec<&'a Member>,
    /// By group: machine, its weight, blocks of all its studies.
    groups: BTreeMap<Key<'a>, Vec<(u32, f64, u32)>>,
}

impl<'a> Weights<'a> {
    pub fn new(fleet: &'a Fleet) -> Self {
        let machines = groups::machines(fleet);
        let weighed = groups::by_model(fleet, &machines).into_iter().map(|(key, ones)| {
            let found = groups::found(&ones, key.scale);
            let between = RandomEffects::new(&found).map(|all| all.between);
            let weights: Vec<f64> = match between {
                Some(between) => found.iter().map(|one| 1.0 / (one.variance + between)).collect(),
                None => vec![1.0; found.len()],
            };
            let sum: f64 = weights.iter().sum();
            let shares = ones.iter().zip(weights);
            (key, shares.map(|(one, weight)| (one.machine, weight / sum, one.blocks)).collect())
        });
        let groups = weighed.collect();
        Self { machines, groups }
    }

    /// The share that an effect has in the mean over the machines of its model, from 0 to 1; all
    /// of one group add up to 1. `None` for one that is no number. Several studies of one machine share
    /// its weight by their blocks.
    pub fn share(&self, member: &Member, effect: &Effect) -> Option<f64> {
        let by_id = |known: &&Member| known.machine.cmp(&member.machine);
        let machine = self.machines.binary_search_by(by_id).ok()?;
        let group = self.groups.get(&groups::key(self.machines[machine], effect))?;
        let at = group.binary_search_by_key(&(machine as u32), |(machine, ..)| *machine).ok()?;
        let (_, weight, blocks) = group[at];
        Some(weight * f64::from(effect.blocks) / f64::from(blocks.max(1)))
    }
}

/// An effect as its study shows it, with the ends of the study's interval where it has one: a ratio,
/// or a difference in its unit.
pub fn shown(effect: &Effect) -> (f64, Option<(f64, f64)>) {
    let scale = |value: f64| from_scale(value, effect.scale);
    let Effect { mean, standard_error, degrees, .. } = *effect;
    let estimate = (degrees >= 1.0).then(|| Estimate::new(mean, standard_error, degrees));
    let interval = estimate.and_then(|estimate| estimate.interval(CONFIDENCE));
    (scale(mean), interval.map(|(low, high)| (scale(low), scale(high))))
}
