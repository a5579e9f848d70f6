//! How far the reported topology can be believed.

use crate::cpuinfo::Parsed;
use crate::root::Root;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::{Cpu, EMULATOR, Trust};
use std::collections::BTreeSet;

/// What the firmware of virtual machines calls itself (DMI), and the hypervisor behind it.
const VENDORS: [(&str, &str); 12] = [
    ("KVM", "kvm"),
    ("QEMU", "kvm"),
    ("Bochs", "kvm"),
    ("Amazon EC2", "kvm"),
    ("Google", "kvm"),
    ("OpenStack", "kvm"),
    ("VMware", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("Xen", "xen"),
    ("Microsoft Corporation", "hyperv"),
    ("Parallels", "parallels"),
    ("Apple Virtualization", "apple"),
];

/// Clocks that only a guest of that hypervisor has.
const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "kvm"), ("hyperv", "hyperv"), ("xen", "xen")];

/// What QEMU's emulated processors answer when asked for the hypervisor's name.
const TCG: &str = "TCGTCGTCGTCG";

/// The name the hypervisor gives itself (x86: CPUID leaf 0x4000_0000). Of a machine that is only a
/// folder: the file `cpuid/hypervisor` in it.
fn signature(root: &Root) -> Option<String> {
    if !root.is_system() {
        return root.fact("cpuid/hypervisor");
    }
    #[cfg(target_arch = "x86_64")]
    {
        let leaf = core::arch::x86_64::__cpuid(0x4000_0000);
        let bytes: Vec<u8> =
            [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// The hypervisor under this kernel, `unknown` if it does not say its name; none on bare metal.
pub(super) fn hypervisor(root: &Root, cpuinfo: &Parsed) -> Option<String> {
    if let Some(kind) = root.fact("sys/hypervisor/type") {
        return Some(kind);
    }
    let first = |key: &str| cpuinfo.first.get(key).map_or("", String::as_str);
    if first("vendor_id") == "IBM/S390" {
        return Some("pr/sm".to_owned());
    }
    if first("platform").starts_with("pSeries") {
        let emulated = first("machine").contains("qemu") || first("model").contains("qemu");
        return Some(if emulated { "kvm" } else { "powervm" }.to_owned());
    }
    let x86 = cpuinfo.first.contains_key("flags");
    if x86 && !cpuinfo.has_flag("hypervisor") {
        // The flag is the processor's own word; clouds put the same names into the firmware of
        // their bare-metal machines.
        return None;
    }
    if x86 && signature(root).as_deref() == Some(TCG) {
        // Its firmware is that of guests of KVM.
        return Some(EMULATOR.to_owned());
    }
    let firmware: String = ["sys_vendor", "product_name", "bios_vendor", "board_vendor"]
        .iter()
        .filter_map(|file| root.fact(&format!("sys/class/dmi/id/{file}")))
        .collect::<Vec<_>>()
        .join("\n");
    let by_firmware = VENDORS
        .iter()
        .find(|(vendor, _)| firmware.contains(vendor) && (x86 || !firmware.contains("metal")));
    let clocks = root
        .fact("sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let by_clock = CLOCKS.iter().find(|(clock, _)| clocks.contains(clock));
    let tree = root.fact("proc/device-tree/hypervisor/compatible");
    match by_firmware.or(by_clock) {
        Some((_, name)) => Some((*name).to_owned()),
        None if x86 => Some("unknown".to_owned()),
        None => tree.map(|name| name.split(',').next_back().unwrap_or("unknown").to_owned()),
    }
}

/// Where `/proc/cpuinfo` and sysfs say different things.
pub(super) fn contradictions(
    cpuinfo: &Parsed,
    cpus: &[Cpu],
    online: &CpuSet,
    present: &CpuSet,
) -> Vec<String> {
    let mut found = Vec::new();
    let listed: CpuSet = cpuinfo.processors.iter().map(|processor| processor.cpu).collect();
    if !listed.is_empty() && listed != *online {
        found.push(format!(
            "/proc/cpuinfo lists CPUs {listed}, sysfs has {online} online; something rewrites one \
             of them (lxcfs does)"
        ));
        return found;
    }
    // The kernel's count of cores goes stale while CPUs are offline.
    if present != online {
        return found;
    }
    let Some(first) = cpuinfo.processors.first() else { return found };
    let Some(package) = cpus.iter().find(|cpu| cpu.cpu == first.cpu).map(|cpu| cpu.package) else {
        return found;
    };
    let here: Vec<&Cpu> = cpus.iter().filter(|cpu| cpu.package == package).collect();
    let cores = here.iter().map(|cpu| cpu.core).collect::<BTreeSet<_>>().len();
    let mut compare = |what: &str, told: Option<u32>, counted: usize| {
        if let Some(told) = told.filter(|told| *told as usize != counted) {
            found.push(format!(
                "/proc/cpuinfo says {what} {told} for package {package}, sysfs shows {counted}"
            ));
        }
    };
    compare("siblings", first.siblings, here.len());
    compare("cpu cores", first.cpu_cores, cores);
    found
}

pub(super) fn judge(hypervisor: Option<&str>, doubts: &[String]) -> (Trust, String) {
    let doubts = doubts.join("; ");
    match hypervisor {
        Some(name) => {
            let more = if doubts.is_empty() { String::new() } else { format!("; also, {doubts}") };
            let name = if name == "unknown" { "of unknown kind" } else { name };
            let why = format!(
                "a hypervisor ({name}) stands between this kernel and the hardware: CPUs shown as \
                 separate cores may share one, CPUs shown as siblings may not, and both may \
                 change{more}"
            );
            (Trust::Unknown, why)
        }
        None if !doubts.is_empty() => (Trust::Unknown, doubts),
        None => (
            Trust::Reported,
            "the kernel reports it, no hypervisor shows itself, and /proc/cpuinfo does not \
             contradict it"
                .to_owned(),
        ),
    }
}
