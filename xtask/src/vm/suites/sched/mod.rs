//! Schedulers of ours on real kernels: core-queue, each of its behaviours in counters and gone when it is
//! switched off, the simulated kernel's scenarios held against the simulated policy, everything that a
//! machine does to a scheduler, and kernels that have no sched_ext; and the article's, each by its own behaviours.
//!
//! Compared are numbers of decisions, never times: the CPUs of a guest take turns.

mod article;
mod behaviours;
pub(crate) mod bounds;
mod conformance;
pub(crate) mod cost;
pub(crate) mod counts;
mod floors;
mod load;
pub(crate) mod peers;
mod rough;
mod stress;
mod without;

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::Guest;
use crate::vm::kernel::Kernel;
use crate::vm::qemu::{Clock, Topology};
use anyhow::{Result, bail};
use std::time::Duration;

pub(crate) const SUITE: Suite = Suite {
    name: "sched",
    about: "core-queue: behaviours, scenarios, hotplug, SMT, ejection; the article's schedulers",
    machines,
    guest,
};

pub(crate) const COST: Suite = Suite {
    name: "schedcost",
    about: "core-queue beside the kernel's own and others, and what each scheduler counts in benchmarks",
    machines: costs,
    guest,
};

const TWO_CORES: Topology = Topology::new(1, 2, 2);
const ONE_CORE: Topology = Topology::new(1, 1, 2);
const FOUR_CORES: Topology = Topology::new(1, 4, 1);
const TWO_PACKAGES: Topology = Topology::new(2, 2, 2);
const FOUR_THREADS: Topology = Topology::new(1, 2, 4);
/// The boot of a kernel without sched_ext. Those before 6.2 do not always start by instructions.
const WITHOUT: &str = "without";
/// Ends what hangs, even on a machine where others compile.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The same where little is done.
const TIMEOUT_FAST: Duration = Duration::from_secs(8 * 60);
/// Kernels before this release have no sched_ext.
const FIRST_MAJOR: u32 = 6;
const FIRST_MINOR: u32 = 12;

/// A boot with cores of one CPU: when one goes offline, no sibling serves its queue.
const HOTPLUG: &str = "hotplug";

/// CPUs that go and come under chat for half an hour, for those alone who ask for it.
const HOTPLUG_STORM: &str = "hotplugstorm";

fn machines(wanted: &Wanted) -> Vec<Machine> {
    of_each_kernel(wanted, |release| {
        let mut boots: Vec<(&'static str, Topology)> = match (may_have(release), wanted.fast) {
            (false, _) => return vec![(WITHOUT, TWO_CORES)],
            (true, true) => {
                return vec![
                    ("fast", TWO_CORES),
                    (article::LINUX_2_4_19, TWO_CORES),
                    (article::LINUX_2_5_32, TWO_CORES),
                    (article::LINUX_2_5_32_A9, TWO_CORES),
                ];
            }
            (true, false) => vec![
                ("scenarios", TWO_CORES),
                ("reloads", TWO_CORES),
                ("rough", TWO_CORES),
                ("scenarios", ONE_CORE),
                ("behaviours", TWO_CORES),
                ("floors", TWO_CORES),
                (article::LINUX_2_4_19, TWO_CORES),
                (article::LINUX_2_5_32, TWO_CORES),
                (article::LINUX_2_5_32_A9, TWO_CORES),
                (article::TABLE_7, TWO_CORES),
                ("rough", FOUR_THREADS),
                ("rough", TWO_PACKAGES),
                (HOTPLUG, FOUR_CORES),
                (stress::BOOT, TWO_CORES),
                (stress::BOOT, TWO_PACKAGES),
            ],
        };
        let same = conformance::ARTICLE.iter().map(|(name, _)| *name);
        boots.extend(same.flat_map(|name| [(name, TWO_CORES), (name, ONE_CORE)]));
        boots.extend(bounds::BOUNDS.iter().map(|it| (it.boot, TWO_CORES)));
        for (rough, reloads, _) in article::ROUGH {
            boots.extend([(*rough, TWO_CORES), (*rough, TWO_PACKAGES), (*reloads, TWO_CORES)]);
        }
        boots.extend(wanted.names(HOTPLUG_STORM).then_some((HOTPLUG_STORM, TWO_PACKAGES)));
        boots
    })
}

/// What is compared and counted; beside schedulers of others for those alone who ask for it.
fn costs(wanted: &Wanted) -> Vec<Machine> {
    of_each_kernel(wanted, |release| {
        if wanted.fast || !may_have(release) {
            return Vec::new();
        }
        let costs = cost::ROWS.iter().map(|row| (row.boot, TWO_CORES));
        let counted = counts::BOOTS.iter();
        let counted = counted.map(|(name, cpus)| (*name, Topology::new(1, *cpus, 1)));
        let others = peers::BOOTS.iter().filter(|(name, _)| wanted.names(name));
        costs.chain(counted).chain(others.map(|(name, _)| (*name, TWO_CORES))).collect()
    })
}

fn of_each_kernel(
    wanted: &Wanted,
    boots: impl Fn(&str) -> Vec<(&'static str, Topology)>,
) -> Vec<Machine> {
    let timeout = |name: &str| match name {
        _ if name == HOTPLUG_STORM || peers::load_of(name).is_some() => peers::TIMEOUT,
        _ if wanted.fast => TIMEOUT_FAST,
        _ => TIMEOUT,
    };
    let machine = |kernel: &Kernel, name, topology| Machine {
        kernel: kernel.clone(),
        topology,
        boots: vec![Boot {
            name,
            kernel: None,
            command_line: "",
            timeout: timeout(name),
            // What else the host does must not show.
            clock: if name == WITHOUT { Clock::Host } else { Clock::Instructions },
        }],
    };
    let all = wanted.kernels.iter().flat_map(|kernel| {
        let boots = boots(&kernel.release);
        boots.into_iter().map(|(name, topology)| machine(kernel, name, topology))
    });
    all.collect()
}

/// Programs of this machine that a boot is brought with their libraries, and the packages of Debian that have them.
pub(crate) fn brings(boot: &str) -> (&'static [&'static str], &'static str) {
    match boot {
        stress::BOOT => (stress::PROGRAMS, "stress-ng and util-linux"),
        _ if cost::runs(boot, cost::HACKBENCH) => (&[cost::HACKBENCH], "rt-tests"),
        _ => (&[], ""),
    }
}

fn may_have(release: &str) -> bool {
    let mut numbers = release.split(['.', '-', '+']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (FIRST_MAJOR, FIRST_MINOR)
}

fn guest(guest: &mut Guest) -> Result<()> {
    match guest.boot.as_str() {
        "fast" => {
            behaviours::run_one(guest)?;
            rough::run_quick(guest, &rough::CORE_QUEUE)
        }
        article::LINUX_2_4_19 => article::linux_2_4_19(guest),
        article::LINUX_2_5_32 => article::linux_2_5_32(guest),
        article::LINUX_2_5_32_A9 => article::linux_2_5_32_a9(guest),
        article::TABLE_7 => article::table_7(guest),
        "behaviours" => behaviours::run(guest),
        "floors" => floors::run(guest),
        "scenarios" => conformance::run(guest, &conformance::CORE_QUEUE),
        "rough" => {
            rough::run_quick(guest, &rough::CORE_QUEUE)?;
            rough::run(guest, &rough::CORE_QUEUE)
        }
        "reloads" => rough::run_reloads(guest, rough::CORE_QUEUE.policy),
        HOTPLUG => rough::run_hotplug(guest, &[rough::CORE_QUEUE.policy, article::POLICY_2_5_32]),
        HOTPLUG_STORM => rough::run_storm(guest),
        stress::BOOT => stress::run(guest),
        WITHOUT => without::run(guest),
        other => {
            if let Some((.., rough)) = article::ROUGH.iter().find(|(boot, ..)| *boot == other) {
                if rough.policy == article::POLICY_2_5_32_A9 {
                    article::switches(guest)?;
                }
                rough::run_quick(guest, rough)?;
                return rough::run(guest, rough);
            }
            if let Some(bounds) = bounds::BOUNDS.iter().find(|it| it.boot == other) {
                return bounds::run(guest, bounds);
            }
            if let Some(row) = peers::load_of(other) {
                return peers::run(guest, row);
            }
            if let Some((_, cpus)) = counts::BOOTS.iter().find(|(boot, _)| *boot == other) {
                return counts::run(guest, *cpus);
            }
            let reloads = article::ROUGH.iter().find(|(_, boot, _)| *boot == other);
            let same = conformance::ARTICLE.iter().find(|(boot, _)| *boot == other);
            match (reloads, same, cost::ROWS.iter().find(|row| row.boot == other)) {
                (Some((.., rough)), ..) => rough::run_reloads(guest, rough.policy),
                (_, Some((_, held)), _) => conformance::run(guest, held),
                (.., Some(row)) => cost::run(guest, row),
                _ => bail!("there is no boot '{other}'"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_are_not_asked_for_sched_ext() {
        assert!(!may_have("6.1.0-50") && !may_have("5.15"));
        assert!(may_have("6.12.95+deb12") && may_have("7.3.4+deb13"));
    }
}
