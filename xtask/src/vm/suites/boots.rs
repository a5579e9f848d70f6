//! Every kernel boots with every topology; siblings are seen as they were asked for; what is brought
//! out of one boot is there in the next.

use super::{Boot, Machine, Suite, Wanted};
use crate::vm::guest::{Guest, expand, json_of, read};
use crate::vm::qemu::{Clock, Topology};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

pub(crate) const SUITE: Suite = Suite {
    name: "boots",
    about: "every kernel at four topologies: siblings, coretwin topology and probe, files across \
            boots",
    machines,
    guest,
};

const TOPOLOGIES: &[Topology] = &[
    Topology::new(1, 2, 2),
    Topology::new(1, 1, 2),
    Topology::new(2, 2, 2),
    Topology::new(1, 2, 4),
];
/// Long, for a machine on which others compile.
const TIMEOUT: Duration = Duration::from_secs(120);
const BROUGHT: &str = "/brought";
/// Every byte value, so that a port that changes one is found out.
const BYTES: usize = 256 * 64;

fn machines(wanted: &Wanted) -> Vec<Machine> {
    let boot =
        |name| Boot { name, kernel: None, command_line: "", timeout: TIMEOUT, clock: Clock::Host };
    let mut machines = Vec::new();
    for kernel in &wanted.kernels {
        for (index, &topology) in TOPOLOGIES.iter().enumerate() {
            // The first is booted twice; in a hurry it stands for all.
            let mut boots = vec![boot("first")];
            if index == 0 {
                boots.push(boot("second"));
            }
            if index == 0 || !wanted.fast {
                machines.push(Machine { kernel: kernel.clone(), topology, boots });
            }
        }
    }
    machines
}

fn guest(guest: &mut Guest) -> Result<()> {
    let topology = guest.topology;
    guest.check("every CPU is online", || {
        let online = read("/sys/devices/system/cpu/online")?;
        let expected = format!("0-{}", topology.cpus() - 1);
        ensure!(online == expected, "{online}, not {expected}");
        Ok(())
    })?;
    guest.check("siblings are as asked for", || siblings(topology))?;
    guest.check("coretwin topology agrees", || coretwin_topology(topology))?;
    guest.check("coretwin probe concludes nothing from emulated contention", probe)?;
    if guest.boot == "first" {
        write_folder()?;
        guest.bring_out(Path::new(BROUGHT))?;
    } else {
        guest.check("a folder went through two boots", read_folder)?;
    }
    Ok(())
}

/// Siblings are neighbours in number, on every core; packages follow each other.
fn siblings(topology: Topology) -> Result<()> {
    let Topology { cores, threads, .. } = topology;
    for cpu in 0..topology.cpus() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        let first = cpu - cpu % threads;
        let expected: Vec<String> = (first..first + threads).map(|cpu| cpu.to_string()).collect();
        let found = expand(&read(format!("{folder}/thread_siblings_list"))?)?;
        ensure!(found == expected, "siblings of {cpu}: {found:?}, not {expected:?}");
        let package = read(format!("{folder}/physical_package_id"))?;
        ensure!(package == (cpu / (cores * threads)).to_string(), "package of {cpu}: {package}");
    }
    Ok(())
}

fn coretwin_topology(topology: Topology) -> Result<()> {
    let found = json_of("coretwin", &["topology", "--json"])?;
    let Topology { packages, cores, threads } = topology;
    let count = found["cpus"].as_array().map_or(0, Vec::len);
    ensure!(count == topology.cpus() as usize, "{count} CPUs");
    ensure!(found["cores"] == packages * cores, "{} cores", found["cores"]);
    ensure!(found["threads_per_core_max"] == threads, "{} threads", found["threads_per_core_max"]);
    ensure!(found["smt"]["control"] == "on", "control is {}", found["smt"]["control"]);
    Ok(())
}

/// Emulated CPUs take turns on the emulator's thread; taking that for sharing would be wrong.
fn probe() -> Result<()> {
    let found = json_of("coretwin", &["probe", "--json"])?;
    let why = found["meaningless"].as_str().context("it does not say so")?;
    ensure!(why.contains("emulated"), "{why}");
    ensure!(found["groups"] == Value::Array(Vec::new()), "groups: {}", found["groups"]);
    ensure!(found["undecided"] == found["cpus"], "undecided: {}", found["undecided"]);
    Ok(())
}

fn bytes() -> Vec<u8> {
    (0..=u8::MAX).cycle().take(BYTES).collect()
}

fn boot_id() -> Result<String> {
    read("/proc/sys/kernel/random/boot_id")
}

fn write_folder() -> Result<()> {
    let folder = Path::new(BROUGHT);
    fs::create_dir_all(folder.join("inner"))?;
    fs::write(folder.join("boot_id"), boot_id()?)?;
    fs::write(folder.join("inner/bytes"), bytes())?;
    Ok(())
}

fn read_folder() -> Result<()> {
    let folder = Path::new(BROUGHT);
    let found = fs::read(folder.join("inner/bytes")).context("the file brought in")?;
    ensure!(found == bytes(), "{} bytes came, and they are not those that went", found.len());
    let before = read(folder.join("boot_id"))?;
    ensure!(before != boot_id()?, "it is the same boot");
    Ok(())
}
