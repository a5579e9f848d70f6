//! What a machine was like: the facts that stay put, and the passing state at one moment.
//!
//! A fact is a dotted key and its text, just as the kernel words it. What cannot be read is absent.
//! No machine id, serial number or address is read.

use crate::root::{CPUS, Root};
use crate::smt::capture::machine;
use crate::smt::saved::Machine;
use crate::{cgroup::Cgroups, cpuinfo};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::environment::{Facts, Moment};
use coretwin_base::machine::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

const PLAIN: [(&str, &str); 17] = [
    ("kernel.release", "proc/sys/kernel/osrelease"),
    ("kernel.version", "proc/sys/kernel/version"),
    ("kernel.command_line", "proc/cmdline"),
    ("cpu.isolated", "sys/devices/system/cpu/isolated"),
    ("cpufreq.driver", "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
    ("turbo.intel_no_turbo", "sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("turbo.boost", "sys/devices/system/cpu/cpufreq/boost"),
    ("pstate.intel", "sys/devices/system/cpu/intel_pstate/status"),
    ("pstate.amd", "sys/devices/system/cpu/amd_pstate/status"),
    ("idle.driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("idle.governor", "sys/devices/system/cpu/cpuidle/current_governor"),
    ("clock.source", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("memory.huge_pages", "sys/kernel/mm/transparent_hugepage/enabled"),
    ("memory.huge_pages_defrag", "sys/kernel/mm/transparent_hugepage/defrag"),
    ("scheduler.extension", "sys/kernel/sched_ext/root/ops"),
    ("scheduler.autogroup", "proc/sys/kernel/sched_autogroup_enabled"),
    ("memory.numa_balancing", "proc/sys/kernel/numa_balancing"),
];

/// Facts of each CPU: key and file under its cpufreq folder.
const FREQUENCY: [(&str, &str); 5] = [
    ("governor", "scaling_governor"),
    ("energy_preference", "energy_performance_preference"),
    ("khz_min", "scaling_min_freq"),
    ("khz_max", "scaling_max_freq"),
    ("khz_hardware_max", "cpuinfo_max_freq"),
];

/// Everything about the machine that stays put while it is left alone.
pub fn facts(root: &Root, topology: &Topology) -> Facts {
    let mut facts = Facts::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(key.to_owned(), value);
        }
    };
    for (key, path) in PLAIN {
        put(key, root.fact(path));
    }
    put("cpu.model", topology.cpuinfo.model_name.clone());
    put("cpu.microcode", topology.cpuinfo.microcode.clone());
    put("cpu.online", Some(topology.online.to_string()));
    put("cpu.allowed", Some(topology.allowed.to_string()));
    put("smt.control", topology.smt.control.as_ref().map(|control| control.word()));
    put("smt.active", topology.smt.active.map(|active| u8::from(active).to_string()));
    put("smt.siblings", Some(sibling_map(topology)));
    put("hypervisor", Some(topology.hypervisor.clone().unwrap_or_else(|| "none".to_owned())));
    put("libc", libc_version(root));
    put("shell", shell(root));
    let folder = format!("{CPUS}/vulnerabilities");
    for name in root.names(&folder) {
        put(&format!("mitigation.{name}"), root.fact(&format!("{folder}/{name}")));
    }
    for cpu in topology.online.iter() {
        for (key, file) in FREQUENCY {
            let value = root.fact(&format!("{CPUS}/cpu{cpu}/cpufreq/{file}"));
            // People read MHz; the kernel writes kHz.
            match (key.strip_prefix("khz_"), value) {
                (Some(name), Some(khz)) => {
                    put(&format!("cpu.{cpu}.mhz_{name}"), khz.parse::<u64>().ok().map(mhz_text));
                }
                (_, value) => put(&format!("cpu.{cpu}.{key}"), value),
            }
        }
    }
    idle_states(root, topology, &mut put);
    cgroup_limits(root, &mut put);
    let backed = |name: &String| !["loop", "ram", "zram"].iter().any(|kind| name.starts_with(kind));
    for device in root.names("sys/block").into_iter().filter(backed) {
        let text = root.fact(&format!("sys/block/{device}/queue/scheduler"));
        put(&format!("disk.{device}.scheduler"), text.map(|text| chosen(&text)));
    }
    facts
}

fn mhz_text(khz: u64) -> String {
    (khz / 1000).to_string()
}

/// Cores by their CPUs, `0,4 1,5 2,6`.
fn sibling_map(topology: &Topology) -> String {
    let mut cores: BTreeMap<_, CpuSet> = BTreeMap::new();
    for cpu in &topology.cpus {
        cores.entry(cpu.core).or_default().insert(cpu.cpu);
    }
    cores.values().map(CpuSet::to_string).collect::<Vec<_>>().join(" ")
}

/// Idle states by name, with the wake-up latency and the CPUs on which each is disabled.
fn idle_states(root: &Root, topology: &Topology, put: &mut dyn FnMut(&str, Option<String>)) {
    let Some(first) = topology.online.first() else { return };
    for state in root.numbered(&format!("{CPUS}/cpu{first}/cpuidle"), "state") {
        let file = |cpu: CpuId, name: &str| {
            root.fact(&format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/{name}"))
        };
        let disabled: CpuSet = topology
            .online
            .iter()
            .filter(|cpu| file(*cpu, "disable").is_some_and(|text| text != "0"))
            .collect();
        let name = file(first, "name").unwrap_or_default();
        let latency = file(first, "latency").unwrap_or_else(|| "unknown".to_owned());
        let mut text = format!("{name}, latency {latency} us");
        if !disabled.is_empty() {
            text.push_str(&format!(", disabled on CPUs {disabled}"));
        }
        put(&format!("idle.state.{state}"), Some(text));
    }
}

fn cgroup_limits(root: &Root, put: &mut dyn FnMut(&str, Option<String>)) {
    let cgroups = Cgroups::read(root);
    let files = [
        ("cgroup.cpu_weight", "cpu", "cpu.shares", "cpu.weight"),
        ("cgroup.cpuset", "cpuset", "cpuset.cpus", "cpuset.cpus.effective"),
        ("cgroup.memory_max", "memory", "memory.limit_in_bytes", "memory.max"),
        ("cgroup.tasks_max", "pids", "pids.max", "pids.max"),
    ];
    for (key, controller, file_1, file_2) in files {
        put(key, cgroups.values(root, controller, file_1, file_2).next().map(|(_, text)| text));
    }
    put("cgroup.cpu_quota", cgroups.cpu_quota(root).map(|quota| format!("{quota:.3} CPUs")));
}

/// The bracketed word of `mq-deadline kyber [none]`, or the whole text.
fn chosen(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(word, _)| word).to_owned()
}

/// What `/bin/sh` is: the name it is a link to.
fn shell(root: &Root) -> Option<String> {
    let target = std::fs::read_link(root.path("bin/sh")).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// The C library of the system, which is the one that measured commands use. glibc carries its
/// version as a sentence in the library file; musl can be told by its loader only.
fn libc_version(root: &Root) -> Option<String> {
    let mut folders = vec!["lib64".to_owned(), "lib".to_owned(), "usr/lib64".to_owned()];
    let multiarch = root.names("usr/lib").into_iter().filter(|name| name.contains("-linux-gnu"));
    folders.extend(multiarch.map(|name| format!("usr/lib/{name}")));
    for folder in &folders {
        let Ok(bytes) = root.bytes(&format!("{folder}/libc.so.6")) else { continue };
        if let Some(version) = glibc_version(&bytes) {
            return Some(format!("glibc {version}"));
        }
    }
    let musl = root.names("lib").iter().any(|name| name.starts_with("ld-musl-"));
    musl.then(|| "musl".to_owned())
}

/// Finds `GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.` and keeps the version
/// with the distribution's name of it.
fn glibc_version(bytes: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"GNU C Library (";
    let start = bytes.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let text = String::from_utf8_lossy(&bytes[start..bytes.len().min(start + 200)]);
    let (package, rest) = text.split_once(')')?;
    let version = rest.split("version ").nth(1)?;
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    Some(format!("{} ({package})", version[..end].trim_end_matches('.')))
}

/// The passing state of the machine. The name of the facts is filled in by
/// [`coretwin_base::machine::environment::Environment::add`].
pub fn moment(root: &Root, topology: &Topology, arm: &str, at_utc: String) -> Moment {
    let load = root.text("proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|text| text.parse().ok());
    let listed: BTreeMap<CpuId, f64> = cpuinfo::read(root)
        .unwrap_or_default()
        .processors
        .iter()
        .filter_map(|processor| Some((processor.cpu, processor.mhz?)))
        .collect();
    let mut moment = Moment {
        facts: String::new(),
        arm: arm.to_owned(),
        at_utc,
        load_1min: load.filter(|load: &f64| load.is_finite()).unwrap_or(0.0),
        mhz: BTreeMap::new(),
        mhz_permitted: BTreeMap::new(),
        idle_us: BTreeMap::new(),
    };
    for cpu in topology.online.iter() {
        let khz = |file: &str| root.number::<u64>(&format!("{CPUS}/cpu{cpu}/cpufreq/{file}"));
        let current = khz("scaling_cur_freq").map(|khz| khz as f64 / 1e3);
        if let Some(mhz) = current.or_else(|| listed.get(&cpu).copied()) {
            moment.mhz.insert(cpu.to_string(), mhz);
        }
        // The firmware may cap below what the administrator permits.
        let caps: BTreeSet<u64> =
            ["scaling_max_freq", "bios_limit"].into_iter().filter_map(khz).collect();
        if let Some(khz) = caps.first() {
            moment.mhz_permitted.insert(cpu.to_string(), *khz as f64 / 1e3);
        }
        let idle = format!("{CPUS}/cpu{cpu}/cpuidle");
        for state in root.numbered(&idle, "state") {
            let name = root.fact(&format!("{idle}/state{state}/name"));
            if let Some(time) = root.number::<u64>(&format!("{idle}/state{state}/time")) {
                let name = name.unwrap_or_else(|| format!("state{state}"));
                *moment.idle_us.entry(format!("{cpu}.{name}")).or_default() += time;
            }
        }
    }
    moment
}

/// What tells one start of a study from another: `(boot id, host name)`, `unknown` where the
/// machine does not say.
pub fn session(root: &Root) -> (String, String) {
    let Machine { boot_id, host_name, .. } = machine(root);
    (boot_id, host_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fake, topology};
    use proptest::prelude::*;

    #[test]
    fn facts_of_a_server() {
        let (_folder, root) = fake::written("server-halves");
        let facts = facts(&root, &topology::read(&root).expect("topology"));
        for (key, value) in [
            ("cpu.31.governor", "performance"),
            ("cpu.16.mhz_max", "3900"),
            ("kernel.release", "6.8.0-fake"),
            ("mitigation.mds", "Mitigation: Clear CPU buffers; SMT vulnerable"),
            ("smt.control", "on"),
            ("idle.state.1", "C1, latency 2 us"),
            ("disk.sda.scheduler", "mq-deadline"),
            ("libc", "glibc 2.36 (Debian GLIBC 2.36-9)"),
            ("shell", "dash"),
            ("hypervisor", "none"),
        ] {
            assert_eq!(facts.get(key).map(String::as_str), Some(value), "{key}");
        }
        assert!(facts["smt.siblings"].starts_with("0,16 1,17 "));
        assert!(!facts.contains_key("turbo.boost"), "a missing file is an absent fact");
    }

    #[test]
    fn a_moment_has_the_clocks_of_all_siblings() {
        let (_folder, root) = fake::written("server-halves");
        let topology = topology::read(&root).expect("topology");
        std::fs::write(root.path(&format!("{CPUS}/cpu7/cpufreq/bios_limit")), "2000000")
            .expect("w");
        let moment = moment(&root, &topology, "on", "2026-01-01T00:00:00Z".to_owned());
        assert_eq!(moment.mhz.len(), 32);
        assert_eq!((moment.mhz["23"], moment.mhz_permitted["23"]), (2900.0, 3900.0));
        assert_eq!(moment.mhz_permitted["7"], 2000.0);
        assert_eq!(moment.idle_us["3.C1"], 12_345);
        assert_eq!(moment.load_1min, 0.42);
        assert_eq!(session(&root).1, "server-halves");
    }

    #[test]
    fn clocks_come_from_cpuinfo_where_there_is_no_cpufreq() {
        let (_folder, root) = fake::written("article-xeon");
        let topology = topology::read(&root).expect("topology");
        let moment = moment(&root, &topology, "on", String::new());
        assert_eq!(moment.mhz["1"], 1600.382);
        assert!(moment.mhz_permitted.is_empty());
    }

    #[test]
    fn this_machine_tells_its_kernel() {
        let root = Root::system();
        let facts = facts(&root, &topology::read(&root).expect("topology"));
        assert!(facts.contains_key("kernel.release") && facts.contains_key("cpu.online"));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in "(GNU C Library \\(|\\)|version |[0-9.]|\\PC)*", text in "[\\[\\]a-z ]*") {
            let _ = glibc_version(bytes.as_bytes());
            let _ = chosen(&text);
        }
    }
}
