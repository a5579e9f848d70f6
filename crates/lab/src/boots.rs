//! Studies that compare boots: which visit comes next, whether this boot may be used for it, and what
//! to boot if not.
//!
//! One boot is one arm change. Runs of one boot share the placement of everything in memory, so every
//! block needs a fresh boot of every arm, and a boot that has served once is refused. Which boot
//! served what is kept in `environment.json`; the plan is never rewritten.

use crate::run_order;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::boot::{Boot, BootFacts, Promise};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub block: u32,
    pub arm: usize,
    /// Boots still to come for the whole study, this one included.
    pub boots_left: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootVisit {
    pub block: u32,
    pub arm: usize,
    /// Number of the arm change: every boot has its own.
    pub switch: u32,
    /// Readings of this visit that were taken already, earlier in this boot.
    pub done: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThisBoot {
    pub boot_id: String,
    pub found: BootFacts,
}

/// Finds the visit that comes next; `None` if the study is done.
pub fn due(plan: &Plan, boots: &[Boot], readings: &[Reading]) -> Option<Due> {
    let mut next: Option<Due> = None;
    for block in 0..plan.blocks_max() {
        for arm in run_order::arm_order(plan, Phase::Study, block) {
            let label = plan.arms[arm].label.as_str();
            let served = last(boots, label, block);
            let taken = served.map_or(0, |boot| taken(readings, label, boot));
            if taken < run_order::cells_in_visit(plan, block, arm) {
                let due = next.get_or_insert(Due { block, arm, boots_left: 0 });
                due.boots_left += 1;
            }
        }
    }
    next
}

fn last<'a>(boots: &'a [Boot], label: &str, block: u32) -> Option<&'a Boot> {
    boots.iter().rfind(|boot| boot.arm == label && boot.block == block)
}

fn taken(readings: &[Reading], label: &str, boot: &Boot) -> usize {
    let of_visit = |reading: &&Reading| {
        reading.phase == Phase::Study
            && reading.arm == label
            && (reading.block, reading.switch) == (boot.block, boot.switch)
    };
    readings.iter().filter(of_visit).count()
}

pub fn name(plan: &Plan, due: Due) -> &str {
    match &plan.arms[due.arm].state {
        ArmState::Boot(name) => name,
        _ => &plan.arms[due.arm].label,
    }
}

/// Lets this boot be used for the visit that is due, and keeps a record of it among the boots. A
/// visit that was broken off goes on in the same boot, and starts over in another one.
///
/// `said` is what the user says that was booted: the name of the boot, or the label of its arm.
/// Errors: a sentence: why this boot is not the one that is due.
pub fn admit(
    plan: &Plan,
    due: Due,
    boots: &mut Vec<Boot>,
    readings: &[Reading],
    this: &ThisBoot,
    said: Option<&str>,
) -> Result<BootVisit, String> {
    let Due { block, arm, .. } = due;
    let label = plan.arms[arm].label.as_str();
    let name = name(plan, due);
    if let Some(said) = said.filter(|said| *said != name && *said != label) {
        return Err(format!("boot {name} is due in block {}, not {said}", block + 1));
    }
    let served = |boot: &&Boot| boot.boot_id == this.boot_id;
    if let Some(used) = boots.iter().find(served)
        && (used.arm.as_str(), used.block) != (label, block)
    {
        return Err(format!(
            "this boot has served already, in block {} of arm {}; runs of one boot share where they \
             lie in memory, so block {} of arm {label} needs a boot of its own",
            used.block + 1,
            used.arm,
            block + 1
        ));
    }
    let promise = Promise::of(name);
    this.found.keep(&promise).map_err(|why| format!("this boot is not {name}: {why}"))?;
    match boots.iter().find(|boot| boot.arm == label) {
        Some(first) => this
            .found
            .equal(&first.found)
            .map_err(|why| format!("this boot is not like the first of arm {label}: {why}"))?,
        None if said.is_none() && !promise.can_be_checked() => {
            return Err(format!(
                "only you know whether this boot is what you call {name}; say so with --boot {name}"
            ));
        }
        None => {}
    }
    if said.is_none()
        && !promise.can_be_checked()
        && let Some(twin) = boots.iter().find(|boot| boot.arm != label && boot.found == this.found)
    {
        return Err(format!(
            "this boot looks like those of arm {}, so only you know whether it is {name}; say so \
             with --boot {name}",
            twin.arm
        ));
    }
    if let Some(boot) = last(boots, label, block).filter(served) {
        return Ok(BootVisit {
            block,
            arm,
            switch: boot.switch,
            done: taken(readings, label, boot),
        });
    }
    let switch = readings.last().map_or(0, |reading| reading.switch + 1);
    boots.push(Boot {
        arm: label.to_owned(),
        block,
        switch,
        boot_id: this.boot_id.clone(),
        found: this.found.clone(),
    });
    Ok(BootVisit { block, arm, switch, done: 0 })
}
