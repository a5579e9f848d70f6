//! Fake machines with everything that is looked for, and what is said of it.

use super::*;
use crate::{fake, topology};

/// Four cores, siblings 0-4 1-5 2-6 3-7, of which 3 and 5 are offline, and more files.
fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let (folder, root) = fake::written("offline-by-hand");
    fake::put(&root, files);
    (folder, root)
}

fn found(root: &Root, target: Target) -> Vec<Finding> {
    findings_for(root, &topology::read(root).expect("topology"), target)
}

fn only(root: &Root, kind: Kind) -> Finding {
    let mut all = found(root, Target::Off);
    all.retain(|finding| finding.kind == kind);
    assert_eq!(all.len(), 1, "{kind:?}: {all:?}");
    all.remove(0)
}

/// `stat` and `status` of a task with a name, flags, a policy and its CPUs.
fn task(process: u32, name: &str, flags: u32, policy: u32, cpus: &str) -> [(String, String); 2] {
    let folder = format!("proc/{process}/task/{process}");
    let zeros = "0 ".repeat(31);
    [
        (
            format!("{folder}/stat"),
            format!("{process} ({name}) S 1 0 0 0 -1 {flags} {zeros}{policy} 0\n"),
        ),
        (format!("{folder}/status"), format!("Name:\t{name}\nCpus_allowed_list:\t{cpus}\n")),
    ]
}

fn with_tasks(tasks: &[[(String, String); 2]], more: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let files = tasks.iter().flatten().map(|(path, text)| (path.as_str(), text.as_str()));
    machine(&files.chain(more.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn the_cpus_that_go_are_all_but_the_first_of_each_core_in_use() {
    for (name, target, going) in [
        ("server-halves", Target::Off, "16-31"),
        ("vm-adjacent", Target::Off, "1,3,5,7"),
        ("offline-by-hand", Target::Off, "4,6-7"),
        ("power-smt8", Target::Level(4), "4-7,12-15,20-23,28-31,36-39,44-47,52-55,60-63"),
        ("smt-off", Target::Off, ""),
        ("server-halves", Target::On, ""),
        ("hybrid", Target::Off, "1,3,5,7,9,11,13,15"),
    ] {
        let (_folder, root) = fake::written(name);
        let topology = topology::read(&root).expect("topology");
        let cpus = super::going(&topology, target);
        assert_eq!(cpus, CpuSet::parse(going).expect("list"), "{name} {target}");
    }
}

#[test]
fn a_quiet_machine_has_nothing_to_tell() {
    let (_folder, root) = machine(&[]);
    assert_eq!(found(&root, Target::Off), []);
}

#[test]
fn programs_are_known_by_their_names() {
    let state = r#"{"policyName":"static","defaultCpuSet":"0-7"}"#;
    let tasks = [
        task(40, "kubelet", 0, 0, "0-7"),
        task(41, "qemu-system-x86", 0, 0, "0-7"),
        task(42, "cloud-hyperviso", 0, 0, "0-7"),
        task(43, "irqbalance", 0, 0, "0-7"),
        task(44, "lcore-worker-4", 0, 0, "4"),
        task(45, "xlsx2csv", 0, 0, "0-7"),
        task(46, "reactor_1", 0, 0, "1"),
        task(47, "kvm-nx-lpage-re", 0x0020_0000, 0, "0-7"),
    ];
    let (_folder, root) = with_tasks(&tasks, &[("var/lib/kubelet/cpu_manager_state", state)]);
    let kubelet = only(&root, Kind::Kubelet);
    assert!(kubelet.found.contains("kubelet (process 40)") && kubelet.found.contains("static"));
    assert!(kubelet.risk.contains("CPUs of their own") && kubelet.remedy.contains("drain"));
    let machines = only(&root, Kind::VirtualMachine).found;
    assert_eq!(
        machines,
        "virtual machines: qemu-system-x86 (process 41), cloud-hyperviso (process 42)"
    );
    assert!(only(&root, Kind::Irqbalance).remedy.contains("systemctl stop irqbalance"));
    let polling = only(&root, Kind::Polling).found;
    assert!(polling.contains("process 44") && !polling.contains("46"), "{polling}");
    assert!(only(&root, Kind::Pinned).found.contains("lcore-worker-4 (process 44)"));
}

#[test]
fn deadline_tasks_block_when_their_time_no_longer_fits() {
    let (_folder, root) = machine(&[]);
    let online = topology::read(&root).expect("topology").online.len();
    assert_eq!(online, 6, "three CPUs stay");
    for (runtime, blocks) in [(840, false), (870, true)] {
        let sched = format!("dl.runtime : {runtime}\ndl.deadline : 300\n");
        let tasks = [task(50, "control", 0, 6, "0-7")];
        let (_folder, root) = with_tasks(
            &tasks,
            &[
                ("proc/50/task/50/sched", &sched),
                ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
                ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ],
        );
        let finding = only(&root, Kind::Deadline);
        assert_eq!(finding.blocks, blocks, "{finding:?}");
        assert!(finding.found.contains("control (process 50)"), "{finding:?}");
    }
    let (_folder, root) = with_tasks(&[task(50, "control", 0, 6, "0-7")], &[]);
    let finding = only(&root, Kind::Deadline);
    assert!(!finding.blocks && finding.found.contains("does not tell"), "{finding:?}");
}

#[test]
fn cpusets_that_lose_cpus_are_named_and_those_that_lose_all_block() {
    let mounts = "22 28 0:20 / /sys rw - sysfs sysfs rw\n\
                  31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
    let files = [
        ("proc/self/mountinfo", mounts),
        ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-7\n"),
        ("sys/fs/cgroup/cpuset/docker/cpuset.cpus", "0-4\n"),
        ("sys/fs/cgroup/cpuset/docker/tasks", ""),
        ("sys/fs/cgroup/cpuset/stays/cpuset.cpus", "0-1\n"),
    ];
    let (_folder, root) = machine(&files);
    let finding = only(&root, Kind::CpusetV1);
    assert!(finding.found.contains("cpuset/docker (CPUs 0-4)"), "{finding:?}");
    assert!(!finding.blocks && !finding.found.contains("stays"), "{finding:?}");

    let mut files = files.to_vec();
    files[2].1 = "4\n";
    let stat = task(60, "job", 0, 0, "4")[0].1.clone();
    files.extend([("sys/fs/cgroup/cpuset/docker/tasks", "60\n"), ("proc/60/stat", stat.as_str())]);
    let (_folder, root) = machine(&files);
    let first = found(&root, Target::Off).remove(0);
    assert!(first.blocks && first.kind == Kind::CpusetV1, "{first:?}");
    assert!(first.found.contains("lose every CPU") && first.remedy.contains("stop what runs"));
}

#[test]
fn partitions_block_when_they_are_isolated_or_lose_all() {
    for (partition, cpus, blocks) in
        [("root", "3-4", false), ("root", "4", true), ("isolated", "3-4", true)]
    {
        let (_folder, root) = machine(&[
            ("sys/fs/cgroup/rt/cpuset.cpus", cpus),
            ("sys/fs/cgroup/rt/cpuset.cpus.effective", cpus),
            ("sys/fs/cgroup/rt/cpuset.cpus.partition", partition),
        ]);
        let finding = only(&root, Kind::CpusetPartition);
        assert_eq!(finding.blocks, blocks, "{finding:?}");
        assert!(finding.found.contains(&format!("fs/cgroup/rt ({partition}")), "{finding:?}");
    }
}

#[test]
fn isolated_cpus_interrupts_and_schedulers_are_found() {
    let (_folder, root) = machine(&[
        ("sys/devices/system/cpu/isolated", "6-7\n"),
        ("sys/devices/system/cpu/nohz_full", "0\n"),
        ("sys/kernel/sched_ext/state", "enabled\n"),
        (concat!("sys/kernel/sched_ext/", "root/ops"), "rusty\n"),
        ("proc/irq/24/smp_affinity_list", "4\n"),
        ("proc/irq/24/nvme0q5/x", ""),
        ("proc/irq/25/smp_affinity_list", "0-7\n"),
    ]);
    assert_eq!(only(&root, Kind::Isolated).found, "isolated CPUs 6-7");
    assert!(only(&root, Kind::SchedExt).found.ends_with("enabled: rusty"));
    let interrupts = only(&root, Kind::Interrupts).found;
    assert_eq!(interrupts, "interrupts 24 (nvme0q5) are handled on CPUs that go only");
    let on = found(&root, Target::On);
    let kinds: Vec<Kind> = on.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::SchedExt, Kind::OfflineByHand], "{on:?}");
    assert!(on[1].found.contains("CPUs 3,5 are offline"), "{on:?}");
}

#[test]
fn a_cpu_without_a_switch_blocks_where_others_have_one() {
    let (_folder, root) = machine(&[]);
    std::fs::remove_file(root.path("sys/devices/system/cpu/cpu6/online")).expect("removed");
    let finding = only(&root, Kind::Fixed);
    assert!(finding.blocks && finding.found.contains("CPUs 6 offline"), "{finding:?}");
}

#[test]
fn containers_are_found_by_their_marks_and_by_their_few_cpus() {
    let (_folder, root) = machine(&[("run/.containerenv", "")]);
    assert!(only(&root, Kind::Container).found.starts_with("this runs in a container"));
    let (_folder, root) = fake::written("container-half-core");
    let finding = only(&root, Kind::Container);
    assert!(finding.found.ends_with("with CPUs 1-2,5 of 0-7"), "{finding:?}");
}

#[test]
fn long_lists_are_cut() {
    let items: Vec<String> = (0..8).map(|item| item.to_string()).collect();
    assert_eq!(shortened(&items), "0, 1, 2, 3, 4 and 3 more");
}
