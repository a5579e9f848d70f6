//! Programs that care about CPUs, known by the name of their process.

use super::finding::{Finding, Kind, named};
use super::tasks::Task;
use crate::root::Root;
use coretwin_base::machine::cpu_set::CpuSet;

/// Beginnings of names; the kernel cuts names off after 15 bytes.
const KUBELETS: [&str; 5] = ["kubelet", "k3s", "rke2", "k0s", "microk8s"];
const VIRTUAL_MACHINES: [&str; 9] = [
    "qemu",
    "kvm",
    "firecracker",
    "cloud-hyperviso",
    "crosvm",
    "VBoxHeadless",
    "VirtualBoxVM",
    "vmware-vmx",
    "xl",
];
/// Threads of DPDK, SPDK, VPP and Open vSwitch that spin on a CPU of their own.
const POLLING: [&str; 8] =
    ["dpdk", "lcore-", "rte_", "reactor_", "spdk", "vpp_", "pmd-", "ovs-vswitchd"];
/// Where the kubelet keeps which container has which CPUs.
const KUBELET_STATE: &str = "var/lib/kubelet/cpu_manager_state";

pub(super) fn find(root: &Root, tasks: &[Task], going: &CpuSet) -> Vec<Finding> {
    // A process is known by its first thread.
    let processes = |names: &[&str]| -> Vec<&Task> {
        let first = tasks.iter().filter(|task| !task.kernel && task.task == task.process);
        first.filter(|task| is_one_of(&task.name, names)).collect()
    };
    let mut found = Vec::new();
    let kubelets = processes(&KUBELETS);
    if !kubelets.is_empty() {
        found.push(kubelet(root, &kubelets));
    }
    let machines = processes(&VIRTUAL_MACHINES);
    if !machines.is_empty() {
        found.push(Finding::new(
            Kind::VirtualMachine,
            format!("virtual machines: {}", named(&machines)),
            "their virtual CPUs share fewer CPUs and become slower; those bound to one that goes run \
             elsewhere meanwhile",
            "stop or move them, if their users must not notice",
        ));
    }
    let polling: Vec<&Task> = tasks
        .iter()
        .filter(|task| !task.kernel && is_one_of(&task.name, &POLLING))
        .filter(|task| {
            task.allowed.as_ref().is_none_or(|cpus| !cpus.intersection(going).is_empty())
        })
        .collect();
    if !polling.is_empty() && !going.is_empty() {
        found.push(Finding::new(
            Kind::Polling,
            format!("programs that poll on CPUs of their own: {}", named(&polling)),
            "two pollers that come to share a CPU take each other's time, and packets or requests \
             are lost",
            "stop them for as long as SMT is off",
        ));
    }
    let balancers = processes(&["irqbalance"]);
    if !balancers.is_empty() {
        found.push(Finding::new(
            Kind::Irqbalance,
            named(&balancers),
            "it moves interrupts when CPUs change, so some may differ afterwards through no doing of \
             ours",
            "systemctl stop irqbalance for as long as it takes, or pass over such differences",
        ));
    }
    found
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    // Short names must match wholly: `xl` is not `xlsx2csv`.
    names.iter().any(|known| name == *known || (known.len() > 3 && name.starts_with(known)))
}

fn kubelet(root: &Root, kubelets: &[&Task]) -> Finding {
    let fixed = root.fact(KUBELET_STATE).is_some_and(|state| state.contains("\"static\""));
    let mut finding = Finding::new(
        Kind::Kubelet,
        format!("Kubernetes: {}", named(kubelets)),
        "the kubelet counts CPUs when it starts; the node promises CPUs that are gone, and pods may \
         not start if it is started again meanwhile",
        "kubectl drain the node first, and start the kubelet again afterwards",
    );
    if fixed {
        finding.found += &format!("; its CPU manager is static (/{KUBELET_STATE})");
        finding.risk =
            "pods have CPUs of their own, and lose those that go; the kubelet refuses to \
                        start if its list names a CPU that is gone"
                .to_owned();
    }
    finding
}
