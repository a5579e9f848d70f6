//! What the reader says of every fake machine: a snapshot of the record of each, and what matters
//! of each in words.

use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::{SmtControl, Topology, Trust};
use coretwin_host::root::Root;
use coretwin_host::{fake, topology};
use expect_test::expect_file;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

fn written(name: &str) -> (TempDir, Root) {
    let folder = tempfile::tempdir().expect("folder");
    let root = fake::machine(name).expect(name).write(folder.path()).expect("written");
    (folder, root)
}

/// What is read of a fake machine; each is written once, because some have thousands of files.
fn of(name: &str) -> Topology {
    static READ: Mutex<BTreeMap<String, Topology>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = read.entry(name.to_owned()).or_insert_with(|| {
        let (_folder, root) = written(name);
        topology::read(&root).expect(name)
    });
    entry.clone()
}

fn siblings(topology: &Topology, cpu: u32) -> String {
    topology.cpu(CpuId(cpu)).expect("cpu").siblings.to_string()
}

fn limits(topology: &Topology) -> String {
    topology.limits.join("\n")
}

/// The record as JSON, a line for each CPU and cache, so that a change shows as a changed line.
fn record(topology: &Topology) -> String {
    let value = serde_json::to_value(topology).expect("json");
    let fields = value.as_object().expect("object").iter().map(|(key, value)| {
        let lines = match value.as_array() {
            Some(list) if list.iter().any(serde_json::Value::is_object) => {
                let lines: Vec<String> = list.iter().map(|item| format!("\n    {item}")).collect();
                format!("[{}\n  ]", lines.join(","))
            }
            _ => value.to_string(),
        };
        format!("  \"{key}\": {lines}")
    });
    format!("{{\n{}\n}}\n", fields.collect::<Vec<_>>().join(",\n"))
}

/// The records are also what the drawing of a topology is tested on.
#[test]
fn every_machine_reads_as_recorded() {
    for machine in &fake::FAKES {
        let mut topology = of(machine.name);
        // First-level caches are each core's own, and would be most of the lines.
        topology.caches.retain(|cache| cache.level > 1);
        let path = format!("{}/tests/topologies/{}.json", env!("CARGO_MANIFEST_DIR"), machine.name);
        expect_file![path].assert_eq(&record(&topology));
        let back: Topology = serde_json::from_str(&record(&topology)).expect("reads back");
        assert_eq!(back, topology, "{}", machine.name);
    }
}

#[test]
fn cores_and_siblings_are_consistent_on_every_machine() {
    for machine in &fake::FAKES {
        let topology = of(machine.name);
        let name = machine.name;
        let cores: BTreeSet<_> = topology.cpus.iter().map(|cpu| cpu.core).collect();
        assert_eq!(topology.cores.unwrap_or(cores.len() as u32), cores.len() as u32, "{name}");
        assert!(cores.iter().enumerate().all(|(dense, core)| core.0 == dense as u32), "{name}");
        for cpu in &topology.cpus {
            let same_core = topology.cpus.iter().filter(|other| other.core == cpu.core);
            let others: CpuSet =
                same_core.map(|other| other.cpu).filter(|o| *o != cpu.cpu).collect();
            assert_eq!(others, cpu.siblings, "{name}, CPU {}", cpu.cpu);
            assert!(cpu.online || cpu.remembered.is_some(), "{name}, CPU {}", cpu.cpu);
        }
        assert!(!topology.trust_why.is_empty() && !topology.smt.why.is_empty(), "{name}");
    }
}

#[test]
fn the_articles_xeon() {
    let xeon = of("article-xeon");
    assert_eq!((xeon.cores, xeon.cpus.len(), xeon.threads_per_core_max), (Some(1), 2, Some(2)));
    assert!(xeon.cpuinfo.ht_flag && xeon.cpuinfo.siblings.is_none());
    assert_eq!((xeon.trust, xeon.hypervisor), (Trust::Reported, None));
    assert!(xeon.smt.switchable, "{}", xeon.smt.why);
}

/// Kernel 2.4.19 had no sysfs, and its cpuinfo names no core: nothing may be made of the two CPUs.
#[test]
fn listing_1_alone_tells_no_cores() {
    let alone = of("listing-1");
    assert_eq!((alone.cpus.len(), alone.cores, alone.threads_per_core_max), (2, None, None));
    assert_eq!(alone.cores_unknown.to_string(), "0-1");
    assert!(alone.cpuinfo.ht_flag && alone.trust == Trust::Unknown);
    assert!(alone.trust_why.contains("names no core of CPUs 0-1"), "{}", alone.trust_why);
    let agree = alone.cpuinfo.siblings_agree.expect("two CPUs");
    assert_eq!((agree.microcode, agree.flags), (None, Some(true)), "both show the same flags");
    // Nothing is kept of it that a later reading could take for siblings.
    let (folder, root) = written("listing-1");
    topology::read_and_remember(&root, &folder.path().join("state")).expect("topology");
    assert!(!folder.path().join("state").exists());
}

#[test]
fn siblings_that_disagree_in_microcode_or_flags_are_told() {
    let agree = |name: &str, change: &[(&str, &str)]| {
        let (_folder, root) = written(name);
        let path = root.path("proc/cpuinfo");
        let mut text = std::fs::read_to_string(&path).expect("cpuinfo");
        let own = text.rfind("processor").expect("the last CPU");
        for (from, to) in change {
            let changed = text[own..].replace(from, to);
            assert_ne!(text[own..], changed, "{from}");
            text.replace_range(own.., &changed);
        }
        std::fs::write(&path, text).expect("written");
        topology::read(&root).expect("topology").cpuinfo.siblings_agree
    };
    let same = agree("no-smt-folder", &[]).expect("siblings");
    assert_eq!((same.microcode, same.flags, same.differences.len()), (Some(true), Some(true), 0));
    let differ = agree("no-smt-folder", &[("0x2b", "0x2c"), (" sse2 nx", " nx avx")]);
    let differ = differ.expect("siblings");
    assert_eq!((differ.microcode, differ.flags), (Some(false), Some(false)));
    let told = differ.differences.join("\n");
    assert!(told.contains("CPUs 3 and 7 differ in microcode: 0x2b against 0x2c"), "{told}");
    assert!(told.contains("CPUs 3 and 7 differ in flags: sse2 against avx"), "{told}");
    let unnamed = agree("no-smt-folder", &[("microcode", "not-told")]).expect("siblings");
    assert_eq!((unnamed.microcode, unnamed.flags), (None, Some(true)));
    assert_eq!(agree("vm-no-smt", &[("0x2b", "0x2c")]), None, "no siblings are shown");
    // CPUs of which no core is known may be siblings or not.
    let unknown = agree("listing-1", &[(" tsc ", " ")]).expect("two CPUs");
    assert_eq!((unknown.flags, unknown.differences.len()), (None, 0));
}

#[test]
fn numberings() {
    assert_eq!(siblings(&of("server-halves"), 5), "21");
    assert_eq!(siblings(&of("vm-adjacent"), 5), "4");
    let sparse = of("power-smt4-sparse");
    assert_eq!(siblings(&sparse, 9), "8,10-11");
    assert_eq!((sparse.cores, sparse.threads_per_core_max), (Some(4), Some(4)));
    assert_eq!(sparse.smt.control, Some(SmtControl::Threads(4)));
    assert!(sparse.smt.switchable);
    let power = of("power-smt8");
    assert_eq!((power.cores, power.threads_per_core_max), (Some(8), Some(8)));
    assert_eq!(power.cpu(CpuId(32)).expect("cpu").package, 1);
}

#[test]
fn a_hybrid_has_cores_of_two_widths() {
    let hybrid = of("hybrid");
    assert_eq!((hybrid.cores, hybrid.cpus.len()), (Some(24), 32));
    let kind = |cpu| hybrid.cpu(CpuId(cpu)).expect("cpu").core_type.clone().expect("type");
    assert_eq!((kind(15).as_str(), kind(16).as_str()), ("P", "E"));
    assert_eq!((siblings(&hybrid, 15), siblings(&hybrid, 16)), ("14".into(), String::new()));
    let arm = of("arm-big-little");
    let kinds: Vec<_> = arm.cpus.iter().filter_map(|cpu| cpu.core_type.as_deref()).collect();
    assert_eq!(kinds, ["E", "E", "E", "E", "P", "P"]);
    assert!(of("server-halves").cpus.iter().all(|cpu| cpu.core_type.is_none()));
}

#[test]
fn last_level_caches() {
    let amd = of("amd-many-caches");
    let llcs: BTreeSet<_> = amd.cpus.iter().filter_map(|cpu| cpu.llc).collect();
    assert_eq!(llcs.len(), 4);
    let cache = &amd.caches[amd.cpu(CpuId(21)).expect("cpu").llc.expect("llc") as usize];
    assert_eq!(
        (cache.level, cache.size_kib, cache.cpus.to_string().as_str()),
        (3, 16_384, "4-7,20-23")
    );
}

#[test]
fn an_emulated_processor_is_told_from_a_virtual_one() {
    let (_folder, root) = written("vm-adjacent");
    let signed = |name: &str| {
        std::fs::create_dir_all(root.path("cpuid")).expect("folder");
        std::fs::write(root.path("cpuid/hypervisor"), name).expect("file");
        let found = topology::read(&root).expect("topology");
        (found.hypervisor.clone(), found.is_emulated())
    };
    // Both have QEMU's firmware.
    assert_eq!(signed("KVMKVMKVM"), (Some("kvm".to_owned()), false));
    assert_eq!(signed("TCGTCGTCGTCG"), (Some("tcg".to_owned()), true));
}

#[test]
fn virtual_machines_are_not_believed() {
    let shown = of("vm-adjacent");
    assert_eq!((shown.trust, shown.hypervisor.as_deref()), (Trust::Unknown, Some("kvm")));
    assert!(shown.trust_why.contains("a hypervisor (kvm) stands between"), "{}", shown.trust_why);
    let hidden = of("vm-no-smt");
    assert_eq!((hidden.trust, hidden.hypervisor.as_deref()), (Trust::Unknown, Some("kvm")));
    assert!(hidden.cpuinfo.ht_flag && !hidden.has_usable_siblings());
    assert!(!hidden.smt.switchable && hidden.smt.why.contains("(kvm) shows no SMT"));
}

#[test]
fn a_container_with_half_a_core() {
    let container = of("container-half-core");
    assert_eq!(container.allowed.to_string(), "1-2,5");
    assert_eq!(container.online.to_string(), "0-7");
    let limits = limits(&container);
    assert!(limits.contains("the cpuset /sys/fs/cgroup allows CPUs 1-2,5"), "{limits}");
    assert!(limits.contains("not ours, but on a core with ours: CPUs 6"), "{limits}");
    assert!(limits.contains("the CPU time of 2.50 CPUs"), "{limits}");
    assert!(!limits.contains("affinity"), "the mask is that of the cpuset: {limits}");
    assert!(!container.smt.switchable && container.smt.why.contains("mounted read-only"));
    let usable: Vec<usize> = container.usable_cores().iter().map(|(_, cpus)| cpus.len()).collect();
    assert_eq!(usable, [2, 1]);
}

#[test]
fn a_version_1_cpuset_and_a_narrower_affinity_are_told_apart() {
    let narrow = of("cpuset-v1-taskset");
    assert_eq!(narrow.allowed.to_string(), "0,4");
    let limits = limits(&narrow);
    assert!(
        limits.contains("the cpuset /sys/fs/cgroup/cpuset/ci/job allows CPUs 0-1,4-5"),
        "{limits}"
    );
    assert!(limits.contains("the affinity of this process allows CPUs 0,4"), "{limits}");
    assert!(!limits.contains("quota"), "-1 is no quota: {limits}");
    assert!(!narrow.smt.switchable && narrow.smt.why.contains("sudo"), "{}", narrow.smt.why);
}

#[test]
fn offline_siblings_are_inferred_only_where_the_numbering_is_plain() {
    let by_hand = of("offline-by-hand");
    assert_eq!((siblings(&by_hand, 1), siblings(&by_hand, 3)), ("5".into(), "7".into()));
    let offline = by_hand.cpu(CpuId(5)).expect("cpu");
    assert!(!offline.online && offline.remembered.as_deref().expect("source").contains("inferred"));
    assert_eq!((by_hand.cores, by_hand.threads_per_core_max), (Some(4), Some(2)));
    assert!(limits(&by_hand).contains("offline: CPUs 3,5"));

    let off = of("smt-off");
    assert_eq!(
        (siblings(&off, 6), off.cores, off.threads_per_core_max),
        ("2".into(), Some(4), Some(2))
    );
    let forced = of("forced-off-adjacent");
    assert_eq!((siblings(&forced, 7), forced.cores), ("6".into(), Some(4)));
    assert!(forced.smt.why.contains("boot without nosmt=force") && !forced.smt.switchable);
    assert!(limits(&forced).contains("booted with nosmt=force"));
    assert!(forced.smt_mitigations["mds"].contains("SMT disabled"));

    let unknown = of("offline-unknown");
    assert_eq!(
        (unknown.cores, unknown.threads_per_core_max),
        (Some(8), Some(1)),
        "nothing is invented"
    );
    let source = unknown.cpu(CpuId(4)).expect("cpu").remembered.clone().expect("source");
    assert!(source.starts_with("unknown: "), "{source}");
    assert_eq!(unknown.trust, Trust::Unknown);
    assert!(unknown.trust_why.contains("offline CPUs 4-7 are unknown"), "{}", unknown.trust_why);
}

#[test]
fn siblings_are_remembered_from_when_all_were_online() {
    let (_folder, root) = written("offline-unknown");
    let state = root.path("state");
    let whole = fake::Fake { offline: "", ..*fake::machine("offline-unknown").expect("fake") };
    let before = tempfile::tempdir().expect("folder");
    let before = topology::read_and_remember(&whole.write(before.path()).expect("written"), &state)
        .expect("topology");
    let after = topology::read_and_remember(&root, &state).expect("topology");
    assert_eq!((after.cores, after.threads_per_core_max), (Some(4), Some(2)));
    for (then, now) in before.cpus.iter().zip(&after.cpus) {
        assert_eq!(
            (then.core, &then.siblings, then.package),
            (now.core, &now.siblings, now.package)
        );
    }
    let source = after.cpu(CpuId(4)).expect("cpu").remembered.clone().expect("source");
    assert!(source.contains("state/siblings"), "{source}");

    // The same memory on a machine whose online CPUs pair differently is not believed.
    let adjacent = fake::Fake { offline: "3", numbering: fake::Numbering::Adjacent, ..whole };
    let other = tempfile::tempdir().expect("folder");
    let other = adjacent.write(other.path()).expect("written");
    let other = topology::read_and_remember(&other, &state).expect("topology");
    assert_eq!(siblings(&other, 3), "2");
    assert!(
        other.cpu(CpuId(3)).expect("cpu").remembered.clone().expect("source").contains("inferred")
    );
}

#[test]
fn old_kernels_and_missing_files() {
    let old = of("no-smt-folder");
    assert_eq!((old.cores, old.trust), (Some(4), Trust::Reported));
    assert_eq!(old.smt.control, None);
    assert!(!old.smt.switchable && old.smt.why.contains("came with 4.19"));
    let blind = of("no-sysfs");
    assert_eq!((blind.cores, siblings(&blind, 1)), (Some(4), "5".into()));
    assert_eq!(blind.trust, Trust::Unknown);
    assert!(
        blind.trust_why.contains("sysfs lists no siblings for CPUs 0-7"),
        "{}",
        blind.trust_why
    );
    assert!(of("arm-big-little").smt.why.contains("CONFIG_HOTPLUG_SMT"));

    let empty = tempfile::tempdir().expect("folder");
    let error = topology::read(&Root::at(empty.path())).expect_err("nothing there").to_string();
    assert!(error.contains("no CPU is described under"), "{error}");
}

#[test]
fn contradictions_lower_the_trust() {
    let told = of("contradicting");
    assert_eq!(told.trust, Trust::Unknown);
    assert!(
        told.trust_why.contains("says cpu cores 4 for package 0, sysfs shows 2"),
        "{}",
        told.trust_why
    );
    let rewritten = of("rewritten-cpuinfo");
    assert!(rewritten.trust_why.contains("lxcfs"), "{}", rewritten.trust_why);

    let (_folder, root) = written("server-halves");
    std::fs::write(root.path("sys/devices/system/cpu/cpu3/topology/core_cpus_list"), "3,20\n")
        .expect("w");
    let crossed = topology::read(&root).expect("topology");
    assert_eq!(crossed.trust, Trust::Unknown);
    assert!(crossed.trust_why.contains("CPU 3 lists CPU 20 as a sibling"), "{}", crossed.trust_why);
    assert_eq!((siblings(&crossed, 3), siblings(&crossed, 4)), (String::new(), "20".into()));
}

#[test]
fn lists_that_are_no_lists_are_errors_or_doubts_not_panics() {
    let (_folder, root) = written("vm-no-smt");
    std::fs::write(root.path("sys/devices/system/cpu/cpu1/topology/core_cpus_list"), "1-")
        .expect("w");
    let doubtful = topology::read(&root).expect("topology");
    assert!(doubtful.trust_why.contains("is not a CPU list"), "{}", doubtful.trust_why);
    std::fs::write(root.path("sys/devices/system/cpu/online"), "zero\n").expect("w");
    let error = topology::read(&root).expect_err("bad").to_string();
    assert!(error.contains("cpu/online: 'zero"), "{error}");
}

/// No kernel lists an offline CPU as a sibling; where a file does, no guess contradicts it.
#[test]
fn offline_cpus_that_are_listed_are_not_guessed_at() {
    let (_folder, root) = written("contradicting");
    std::fs::write(root.path("sys/devices/system/cpu/present"), "0-5").expect("w");
    std::fs::write(root.path("sys/devices/system/cpu/online"), "0").expect("w");
    assert_consistent(&topology::read(&root).expect("topology"));
}

/// What every topology must be, whatever the files say.
fn assert_consistent(topology: &Topology) {
    for cpu in &topology.cpus {
        let same_core = topology.cpus.iter().filter(|other| other.core == cpu.core);
        let others: CpuSet = same_core.map(|other| other.cpu).filter(|o| *o != cpu.cpu).collect();
        assert_eq!(others, cpu.siblings, "CPU {}", cpu.cpu);
        assert!(cpu.llc.is_none_or(|llc| (llc as usize) < topology.caches.len()));
    }
    assert!(topology.allowed.is_subset(&topology.online));
}

proptest! {
    // Each case writes a machine.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_file_content_makes_it_panic_or_contradict_itself(
        files in prop::collection::vec((0..16_usize, "[0-9]{1,3}([,-][0-9]{1,3}){0,3}|[a-z:, \\n]{0,30}|\\PC{0,20}"), 1..6),
    ) {
        const PATHS: [&str; 16] = [
            "sys/devices/system/cpu/present",
            "sys/devices/system/cpu/online",
            "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu1/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu2/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu3/topology/physical_package_id",
            "sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_list",
            "sys/devices/system/cpu/cpu0/cache/index1/level",
            "sys/devices/system/cpu/smt/control",
            "sys/devices/system/node/node0/cpulist",
            "sys/devices/cpu_core/cpus",
            "sys/fs/cgroup/cpuset.cpus.effective",
            "proc/cpuinfo",
            "proc/self/cgroup",
            "proc/self/mountinfo",
            "proc/self/status",
        ];
        let folder = tempfile::tempdir().expect("folder");
        let base = fake::machine("contradicting").expect("fake");
        let root = base.write(folder.path()).expect("written");
        for (index, text) in &files {
            let path = root.path(PATHS[*index]);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, text).expect("write");
        }
        if let Ok(topology) = topology::read(&root) {
            assert_consistent(&topology);
        }
    }
}

#[test]
fn this_machine_can_be_read() {
    let topology = topology::read(&Root::system()).expect("topology");
    assert!(!topology.online.is_empty() && !topology.allowed.is_empty());
}
