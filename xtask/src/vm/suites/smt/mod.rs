//! The SMT switch on real kernels: by hand, by studies, by studies and guards that are killed, and
//! across boots. Whatever happens, the machine is found as it was before.

mod across;
mod hand;
mod kills;
mod refusals;
mod state;
mod studies;

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::Guest;
use crate::vm::kernel::Kernel;
use crate::vm::qemu::{Clock, Topology};
use anyhow::{Result, bail};
use std::cmp::Reverse;
use std::time::Duration;

pub(crate) const SUITE: Suite = Suite {
    name: "smt",
    about: "the SMT switch, its undo, studies and guards killed at random, boots compared",
    machines,
    guest,
};

const TWO_CORES: Topology = Topology::new(1, 2, 2);
const FOUR_THREADS: Topology = Topology::new(1, 2, 4);
const NO_SMT: Topology = Topology::new(1, 2, 1);

/// The boot of many kills.
const KILLING: &str = "kills";
/// Ends what hangs, even on a machine where others compile.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Kills of each kind in a boot: in two boots of each kernel make 30 on every kernel.
const KILLS: u32 = 15;
/// In a hurry.
const KILLS_FAST: u32 = 2;

fn machines(wanted: &Wanted) -> Vec<Machine> {
    let mut machines: Vec<Machine> =
        wanted.kernels.iter().flat_map(|kernel| of_kernel(kernel, wanted.fast)).collect();
    // What takes longest begins first, so that no lane is idle at the end.
    machines.sort_by_key(|machine| {
        let kills = machine.boots.iter().any(|boot| boot.name == KILLING);
        Reverse(if kills { machine.topology.cpus() } else { 0 })
    });
    machines
}

fn of_kernel(kernel: &Kernel, fast: bool) -> Vec<Machine> {
    let machine = |topology, boots: &[Boot]| Machine {
        kernel: kernel.clone(),
        topology,
        boots: boots.to_vec(),
    };
    let boot = |name, command_line| Boot {
        name,
        kernel: None,
        command_line,
        timeout: TIMEOUT,
        clock: Clock::Host,
    };
    let mut machines = vec![machine(TWO_CORES, &[boot(if fast { "fast" } else { "hand" }, "")])];
    if !fast {
        machines.extend([
            machine(TWO_CORES, &[boot(KILLING, "")]),
            machine(FOUR_THREADS, &[boot(KILLING, "")]),
            machine(TWO_CORES, &[boot("plain", ""), boot("nosmt", "nosmt")]),
            machine(TWO_CORES, &[boot("cpusets1", "")]),
            machine(TWO_CORES, &[boot("forced", "nosmt=force")]),
            machine(NO_SMT, &[boot("unsupported", "")]),
        ]);
    }
    machines
}

fn guest(guest: &mut Guest) -> Result<()> {
    match guest.boot.as_str() {
        "fast" => {
            hand::run(guest)?;
            studies::run(guest)?;
            kills::run(guest, KILLS_FAST)
        }
        "hand" => {
            hand::run(guest)?;
            refusals::run(guest)?;
            studies::run(guest)?;
            studies::run_resumed(guest)
        }
        KILLING => kills::run(guest, KILLS),
        "plain" => across::first(guest),
        "nosmt" => across::second(guest),
        "cpusets1" => kills::run_old_cpusets(guest),
        "forced" | "unsupported" => refusals::run_not_switchable(guest),
        other => bail!("there is no boot '{other}'"),
    }
}
