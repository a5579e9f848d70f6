//! What to set to get an arm, by system. A table, so that a newcomer finds a system by its name.
//!
//! Sources, each looked up for the words that stand here:
//! * Linux: admin-guide/kernel-parameters.txt (`nosmt`), admin-guide/hw-vuln/core-scheduling.rst;
//! * systemd: systemd.resource-control(5), `AllowedCPUs=` (unified control groups only);
//! * Slurm: sbatch(1), `--hint`, which must not stand beside `--ntasks-per-core`, `--threads-per-core` or
//!   `-B`, and needs the task/affinity plugin; srun(1), `--cpu-bind`, which sbatch has not; slurm.conf(5),
//!   `ThreadsPerCore` of a node;
//! * Kubernetes: *Control CPU Management Policies on the Node* (`static`, `full-pcpus-only`);
//! * util-linux: coresched(1), first released with 2.41;
//! * Amazon: *Rules for specifying CPU options for an Amazon EC2 instance* (both numbers must be given;
//!   no bare metal), API reference, *ModifyInstanceCpuOptions* (a stopped instance);
//! * Google: *Set the number of threads per core* (billed as before);
//! * Azure: `az vm create`, `--v-cpus-per-core`; REST reference, *VMSizeProperties*, `vCPUsPerCore`.

use crate::Study;
use crate::document::{Column, Table};
use crate::words::clean;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::PlanArm;

type Setting = (&'static str, &'static str);

const ONE_THREAD: [Setting; 9] = [
    ("Linux, now", "coretwin smt off, and coretwin smt restore to undo it"),
    ("Linux, from boot", "kernel command line: nosmt"),
    ("systemd, one service", "AllowedCPUs={first_siblings} (one CPU of each core; SMT stays on)"),
    (
        "Slurm, a job",
        "#SBATCH --hint=nomultithread (with TaskPlugin=task/affinity; without --ntasks-per-core or \
         --threads-per-core beside it)",
    ),
    ("Slurm, nodes", "boot them with nosmt, and ThreadsPerCore=1 in their line of slurm.conf"),
    (
        "Kubernetes",
        "nodes booted with nosmt; or kubelet cpuManagerPolicy: static with cpuManagerPolicyOptions \
         full-pcpus-only: \"true\", and two CPUs requested for each thread of a Guaranteed pod",
    ),
    (
        "AWS",
        "--cpu-options CoreCount=CORES,ThreadsPerCore=1 in run-instances, or in \
         modify-instance-cpu-options (--core-count, --threads-per-core) while it is stopped; the price stays",
    ),
    (
        "Google Cloud",
        "--threads-per-core=1 when the instance is created or while it is stopped; the price stays",
    ),
    (
        "Azure",
        "--v-cpus-per-core 1 in az vm create (hardwareProfile.vmSizeProperties.vCPUsPerCore), in sizes \
         that allow it",
    ),
];

const ALL_THREADS: [Setting; 7] = [
    ("Linux", "coretwin smt on; no nosmt and no mitigations=…,nosmt on the kernel command line"),
    ("systemd, one service", "no AllowedCPUs=, or all CPUs: AllowedCPUs={all}"),
    (
        "Slurm",
        "#SBATCH --hint=multithread (a job; with TaskPlugin=task/affinity); ThreadsPerCore=2 in the \
         nodes' line of slurm.conf",
    ),
    (
        "Kubernetes",
        "kubelet cpuManagerPolicy: static with cpuManagerPolicyOptions full-pcpus-only: \"true\", so that \
         a pod's threads share cores with nobody else; an even number of CPUs in a Guaranteed pod",
    ),
    ("AWS", "ThreadsPerCore=2 in --cpu-options, which is what most instances have unless told"),
    ("Google Cloud", "--threads-per-core=2, which is what most instances have unless told"),
    ("Azure", "--v-cpus-per-core 2, which is what most sizes have unless told"),
];

const CORES: [Setting; 4] = [
    ("Linux", "SMT on; start as many threads as cores and leave their places to the scheduler"),
    (
        "Slurm",
        "#SBATCH --ntasks=CORES --ntasks-per-core=1 (without --hint), or one task of CORES threads",
    ),
    ("Kubernetes", "no CPU manager; as many threads as cores in the program's own settings"),
    (
        "clouds",
        "nothing to set on the instance; as many threads as cores in the program's settings",
    ),
];

const CORE_SCHEDULING: [Setting; 3] = [
    (
        "Linux",
        "coresched new -- COMMAND (util-linux 2.41 or later), one cookie for what may share cores",
    ),
    ("systemd, one service", "ExecStart=/usr/bin/coresched new -- COMMAND"),
    (
        "Slurm, Kubernetes, clouds",
        "they know no setting for it; start the program by coresched inside the job, pod or instance",
    ),
];

const PACKED: [Setting; 2] = [
    ("Linux, systemd", "AllowedCPUs={arm} (both threads of half the cores)"),
    ("Slurm", "srun --cpu-bind=map_cpu:{arm_list} (in the job, one task for each CPU)"),
];

/// What to set to get this arm; `None` for one that is the user's own CPU set.
pub(super) fn table(study: &Study<'_>, arm: &PlanArm) -> Option<Table> {
    let settings: &[Setting] = match arm.state {
        ArmState::Off | ArmState::OnePerCore => &ONE_THREAD,
        ArmState::On => &ALL_THREADS,
        ArmState::OnCores => &CORES,
        ArmState::CoreSched => &CORE_SCHEDULING,
        ArmState::Packed => &PACKED,
        ArmState::Boot(_) | ArmState::Cpus(_) => return None,
    };
    let topology = &study.plan.topology;
    let mut seen = Vec::new();
    let mut first = coretwin_base::machine::cpu_set::CpuSet::new();
    for cpu in &topology.cpus {
        if !seen.contains(&(cpu.package, cpu.core)) {
            seen.push((cpu.package, cpu.core));
            first.insert(cpu.cpu);
        }
    }
    let list: Vec<String> = arm.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let filled = |text: &str| {
        text.replace("{first_siblings}", &first.to_string())
            .replace("{all}", &topology.online.to_string())
            .replace("{arm}", &arm.cpus.to_string())
            .replace("{arm_list}", &list.join(","))
            .replace("CORES", &topology.usable_cores().len().to_string())
    };
    let rows =
        settings.iter().map(|(system, text)| vec![(*system).to_owned(), clean(&filled(text))]);
    let caption = format!("What to set to get {}", clean(&arm.label));
    let note = "Numbers of CPUs are those of the machine that was studied; change nothing on a machine \
                that others use without their word.";
    Some(Table::new(caption, Column::list(["System", "Setting"]), rows.collect()).note(note))
}
