//! Cache instances, from `cpuN/cache/indexK`.

use crate::root::{CPUS, Root};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::Cache;
use std::collections::BTreeMap;

/// Every cache instance once, from the largest level down, then by kind and lowest CPU.
pub(super) fn read(root: &Root, online: &CpuSet) -> Vec<Cache> {
    let mut found: BTreeMap<(std::cmp::Reverse<u32>, String, CpuSet), u64> = BTreeMap::new();
    for cpu in online.iter() {
        let caches = format!("{CPUS}/cpu{cpu}/cache");
        for index in root.numbered(&caches, "index") {
            let folder = format!("{caches}/index{index}");
            let Some(level) = root.number(&format!("{folder}/level")) else { continue };
            let kind = root.fact(&format!("{folder}/type")).unwrap_or_default();
            let shared = root.cpus(&format!("{folder}/shared_cpu_list")).ok().flatten();
            let mut cpus = shared.unwrap_or_default();
            cpus.insert(cpu);
            let size = root.fact(&format!("{folder}/size")).and_then(|text| kib(&text));
            found.insert((std::cmp::Reverse(level), kind, cpus), size.unwrap_or(0));
        }
    }
    found
        .into_iter()
        .map(|((level, kind, cpus), size_kib)| Cache { level: level.0, kind, size_kib, cpus })
        .collect()
}

/// The kernel writes `32768K`.
fn kib(text: &str) -> Option<u64> {
    let (digits, scale) =
        match text.trim().split_at(text.trim_end_matches(char::is_alphabetic).len()) {
            (digits, "K") => (digits, 1),
            (digits, "M") => (digits, 1024),
            (digits, "") => return digits.parse::<u64>().ok().map(|bytes| bytes / 1024),
            _ => return None,
        };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// Index of the last-level cache of a CPU. A first-level cache is none: firmware that describes
/// nothing beyond it has said nothing about sharing.
pub(super) fn last_level(caches: &[Cache], cpu: CpuId) -> Option<u32> {
    let index = caches.iter().position(|cache| cache.cpus.contains(cpu) && cache.level > 1)?;
    u32::try_from(index).ok()
}

#[cfg(test)]
mod tests {
    use super::kib;

    #[test]
    fn sizes() {
        assert_eq!(kib("32768K"), Some(32_768));
        assert_eq!(kib("8M"), Some(8_192));
        assert_eq!(kib("99999999999999999999M"), None);
        assert_eq!(kib("x"), None);
        assert_eq!(kib(""), None);
    }
}
