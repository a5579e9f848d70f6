//! Core types of hybrid processors, and the highest frequency of each CPU.

use crate::root::{CPUS, Root};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// Below this share of the strongest core a core is of another type. Cores of one type differ by
/// a few per cent (favoured cores of Turbo Boost Max and CPPC), types by a third or more.
const SAME_TYPE_SHARE_MIN: f64 = 0.8;

/// The type of each online CPU, `P` or `E` (or the name of Intel's third kind, `LP-E`); empty if
/// all are of one type. Sources, best first: the processor's own word (`/sys/devices/cpu_core` and
/// `cpu_atom`, Intel), `cpu_capacity` (Arm), the highest frequency of the hardware.
pub(super) fn read(root: &Root, online: &CpuSet) -> BTreeMap<CpuId, String> {
    let mut kinds = BTreeMap::new();
    for (folder, name) in [("cpu_core", "P"), ("cpu_atom", "E"), ("cpu_lowpower", "LP-E")] {
        let cpus = root.cpus(&format!("sys/devices/{folder}/cpus")).ok().flatten();
        for cpu in cpus.unwrap_or_default().iter().filter(|cpu| online.contains(*cpu)) {
            kinds.insert(cpu, name.to_owned());
        }
    }
    if !kinds.is_empty() {
        return kinds;
    }
    by_strength(online, |cpu| root.number(&format!("{CPUS}/cpu{cpu}/cpu_capacity")))
        .or_else(|| by_strength(online, |cpu| mhz_max(root, cpu).map(f64::from)))
        .unwrap_or_default()
}

fn by_strength(
    online: &CpuSet,
    strength: impl Fn(CpuId) -> Option<f64>,
) -> Option<BTreeMap<CpuId, String>> {
    let strengths: Vec<(CpuId, f64)> =
        online.iter().map(|cpu| Some((cpu, strength(cpu)?))).collect::<Option<_>>()?;
    let strongest = strengths.iter().map(|(_, strength)| *strength).fold(0.0, f64::max);
    let is_performance = |strength: f64| strength >= SAME_TYPE_SHARE_MIN * strongest;
    if strengths.iter().all(|(_, strength)| is_performance(*strength)) {
        return None;
    }
    let name = |strength: f64| if is_performance(strength) { "P" } else { "E" }.to_owned();
    Some(strengths.into_iter().map(|(cpu, strength)| (cpu, name(strength))).collect())
}

/// Highest frequency of the hardware, in MHz; the file is in kHz.
pub(super) fn mhz_max(root: &Root, cpu: CpuId) -> Option<u32> {
    let khz: u32 = root.number(&format!("{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"))?;
    Some(khz / 1000)
}
