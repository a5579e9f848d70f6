//! What a machine looks like: packages, caches, cores, siblings, and the SMT control.

use crate::machine::cpu_set::{CoreId, CpuId, CpuSet};
use crate::origin::Origin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// [`Topology::hypervisor`] of a guest whose processor QEMU emulates in software (its Tiny Code
/// Generator).
pub const EMULATOR: &str = "tcg";

/// What a machine looks like: packages, caches, cores, siblings, and the SMT control.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    pub schema: u32,
    /// Every present CPU, in order of number, offline ones included.
    pub cpus: Vec<Cpu>,
    /// Cores with a CPU; `None` where no file says on which cores the CPUs `cores_unknown` are
    /// (their `core` then means nothing).
    pub cores: Option<u32>,
    /// The most CPUs of a core; `None` as `cores`.
    pub threads_per_core_max: Option<u32>,
    /// CPUs of which no file says on which core they are.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub cores_unknown: CpuSet,
    pub smt: Smt,
    /// Name of the hypervisor (`kvm`, `tcg`, `xen`, `vmware`, `unknown`, …), or none on bare metal.
    pub hypervisor: Option<String>,
    /// Every cache instance, from the largest level down.
    #[serde(default)]
    pub caches: Vec<Cache>,
    /// Whose word the siblings are.
    pub trust: Trust,
    #[serde(default)]
    pub trust_why: String,
    /// CPUs this process may use: affinity ∩ cpuset ∩ online.
    #[serde(default)]
    pub allowed: CpuSet,
    /// CPUs that are online.
    #[serde(default)]
    pub online: CpuSet,
    /// What hides or removes CPUs, in words ("the cpuset /ci allows 2-5").
    #[serde(default)]
    pub limits: Vec<String>,
    /// Mitigations whose text depends on SMT, by name, as the kernel words them.
    #[serde(default)]
    pub smt_mitigations: BTreeMap<String, String>,
    /// What the article's Listing 1 reads.
    #[serde(default)]
    pub cpuinfo: CpuInfo,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    pub cpu: CpuId,
    /// Our own dense number.
    pub core: CoreId,
    pub package: u32,
    /// NUMA node.
    pub node: u32,
    pub online: bool,
    /// The *other* CPUs of the core, offline ones included where known.
    pub siblings: CpuSet,
    /// Where the sibling list of an offline CPU comes from; `None` if it is the kernel's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<String>,
    /// The kernel's `core_id`, which repeats in every package.
    pub kernel_core_id: Option<i64>,
    /// Cluster (cores that share a mid-level cache), by the kernel's number.
    pub cluster: Option<i64>,
    /// Last-level cache, as an index into `caches`.
    pub llc: Option<u32>,
    /// Core type on hybrid processors: `P`, `E`, or a name the kernel gives.
    pub core_type: Option<String>,
    /// Highest clock, in MHz.
    pub mhz_max: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    pub size_kib: u64,
    pub cpus: CpuSet,
}

/// The kernel's SMT switch, `/sys/devices/system/cpu/smt`
/// (Documentation/ABI/testing/sysfs-devices-system-cpu).
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Smt {
    /// What `control` says; `None` if the kernel has no such file.
    #[schemars(with = "Option<String>")]
    pub control: Option<SmtControl>,
    /// What `active` says: some core has more than one sibling online.
    pub active: Option<bool>,
    /// Whether the switch could be used here, now, by this user.
    pub switchable: bool,
    /// Why it can, or cannot, be used.
    pub why: String,
}

/// The words of `smt/control`. Total, because kernels add words.
#[derive(Debug, Clone, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum SmtControl {
    On,
    Off,
    /// Disabled for good until reboot (`nosmt=force`).
    ForceOff,
    /// The processor (or the hypervisor's picture of it) has no SMT.
    NotSupported,
    /// The kernel cannot switch on this architecture or configuration.
    NotImplemented,
    /// A number of threads per core (kernels since 6.6, where the architecture allows it).
    #[strum(to_string = "{0}")]
    Threads(u32),
    #[strum(to_string = "{0}")]
    Other(String),
}

impl SmtControl {
    pub fn parse(word: &str) -> Self {
        match word.trim() {
            "on" => Self::On,
            "off" => Self::Off,
            "forceoff" => Self::ForceOff,
            "notsupported" => Self::NotSupported,
            "notimplemented" => Self::NotImplemented,
            other => match other.parse() {
                Ok(threads) => Self::Threads(threads),
                Err(_) => Self::Other(other.to_owned()),
            },
        }
    }

    pub fn word(&self) -> String {
        self.to_string()
    }
}

impl Serialize for SmtControl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SmtControl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(deserializer)?))
    }
}

#[derive(
    Debug,
    Default,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    JsonSchema
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Trust {
    /// The kernel's own word on hardware it sees directly.
    Reported,
    /// Confirmed by measurement (`coretwin probe`).
    Probed,
    /// A hypervisor, or a missing file, stands between us and the hardware.
    #[default]
    Unknown,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuInfo {
    pub model_name: Option<String>,
    /// Number of `processor` entries (online CPUs).
    pub processors: u32,
    /// Whether `ht` is among the flags. It only says that the field counting logical CPUs is
    /// valid; machines without SMT carry it too.
    pub ht_flag: bool,
    /// `siblings`: logical CPUs per package, first processor.
    pub siblings: Option<u32>,
    /// `cpu cores`: cores per package, first processor.
    pub cpu_cores: Option<u32>,
    pub microcode: Option<String>,
    /// Whether siblings agree in what a core has once; `None` if no core shows two online CPUs.
    pub siblings_agree: Option<SiblingsAgree>,
}

/// Whether the online CPUs of every core say the same in `/proc/cpuinfo`: true, false, or `None`
/// where it does not tell. Linux 2.4.17 began to serialise microcode and MTRR updates, because
/// siblings share that state; where siblings differ, an update went wrong or a hypervisor shows
/// CPUs of several machines.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiblingsAgree {
    /// In the microcode revision; `None` if some CPU names none.
    pub microcode: Option<bool>,
    /// In the feature flags; `None` if some CPU names none.
    pub flags: Option<bool>,
    pub differences: Vec<String>,
}

impl Topology {
    /// A regular machine, everything online and allowed, siblings numbered one after the other:
    /// what simulated machines and tests start from.
    pub fn regular(packages: u32, cores_per_package: u32, threads_per_core: u32) -> Self {
        let cores = packages * cores_per_package;
        let of_core = |core: u32| -> CpuSet {
            (core * threads_per_core..(core + 1) * threads_per_core).map(CpuId).collect()
        };
        let cpu = |id: u32| {
            let core = id / threads_per_core;
            Cpu {
                cpu: CpuId(id),
                core: CoreId(core),
                package: core / cores_per_package,
                node: core / cores_per_package,
                online: true,
                siblings: of_core(core).iter().filter(|sibling| sibling.0 != id).collect(),
                ..Cpu::default()
            }
        };
        let all: CpuSet = (0..cores * threads_per_core).map(CpuId).collect();
        Self {
            schema: crate::schema::SCHEMA,
            cpus: (0..cores * threads_per_core).map(cpu).collect(),
            cores: Some(cores),
            threads_per_core_max: Some(threads_per_core),
            smt: Smt {
                active: Some(threads_per_core > 1),
                why: "this machine is made up".to_owned(),
                ..Smt::default()
            },
            trust: Trust::Reported,
            trust_why: "this machine is made up".to_owned(),
            allowed: all.clone(),
            online: all,
            ..Self::default()
        }
    }

    pub fn cpu(&self, cpu: CpuId) -> Option<&Cpu> {
        self.cpus.iter().find(|entry| entry.cpu == cpu)
    }

    /// The usable CPUs of each core, cores in order of number, empty cores left out.
    pub fn usable_cores(&self) -> Vec<(CoreId, CpuSet)> {
        let mut cores: BTreeMap<CoreId, CpuSet> = BTreeMap::new();
        for cpu in self.cpus.iter().filter(|cpu| self.allowed.contains(cpu.cpu)) {
            cores.entry(cpu.core).or_default().insert(cpu.cpu);
        }
        cores.into_iter().collect()
    }

    /// How many cores these CPUs are on; `None` if no file tells of some of them.
    pub fn cores_of(&self, cpus: &CpuSet) -> Option<u32> {
        let on = self.cpus.iter().filter(|cpu| cpus.contains(cpu.cpu)).map(|cpu| cpu.core);
        let cores = on.collect::<std::collections::BTreeSet<_>>().len();
        let is_known = cpus.intersection(&self.cores_unknown).is_empty();
        is_known.then(|| u32::try_from(cores).unwrap_or(u32::MAX))
    }

    /// Whether the processor is QEMU's emulation in software (TCG), which says so as hypervisor, or in
    /// the processor's name: then CPUs share no resources of a core, whatever the topology says.
    pub fn is_emulated(&self) -> bool {
        let model = self.cpuinfo.model_name.as_deref();
        self.hypervisor.as_deref() == Some(EMULATOR)
            || model.is_some_and(|name| name.contains("TCG"))
    }

    pub fn origin(&self) -> Origin {
        if self.is_emulated() { Origin::Emulated } else { Origin::Measured }
    }

    pub fn has_usable_siblings(&self) -> bool {
        self.usable_cores().iter().any(|(_, cpus)| cpus.len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_machine_has_the_siblings_it_was_asked_for() {
        let machine = Topology::regular(2, 3, 2);
        assert_eq!((machine.cpus.len(), machine.cores), (12, Some(6)));
        let cpu = machine.cpu(CpuId(7)).expect("there");
        assert_eq!((cpu.core, cpu.package, cpu.siblings.to_string().as_str()), (CoreId(3), 1, "6"));
        assert!(machine.has_usable_siblings());
        assert!(!Topology::regular(1, 2, 1).has_usable_siblings());
    }

    #[test]
    fn control_words_survive_a_round_trip() {
        for word in ["on", "off", "forceoff", "notsupported", "notimplemented", "4", "sideways"] {
            assert_eq!(SmtControl::parse(word).word(), word);
        }
        assert_eq!(SmtControl::parse("4"), SmtControl::Threads(4));
    }
}
