//! Energy of the packages, where the machine counts it and lets us read it: RAPL as the kernel's
//! power capping framework shows it (Documentation/power/powercap/powercap.rst). Since 5.10 only root
//! may read it; many virtual machines have none.

use crate::root::Root;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Energy {
    /// By zone: microjoules, and the count after which it starts anew.
    packages: BTreeMap<String, (u64, u64)>,
}

/// Reads every package's counter; `None` if there is none, or if any of them cannot be read.
pub fn read(root: &Root) -> Option<Energy> {
    const ZONES: &str = "sys/class/powercap";
    let mut packages = BTreeMap::new();
    for zone in root.names(ZONES) {
        let name = root.fact(&format!("{ZONES}/{zone}/name")).unwrap_or_default();
        // Other zones are parts of a package, or hold packages.
        if name.starts_with("package-") {
            let count = root.number(&format!("{ZONES}/{zone}/energy_uj"))?;
            let range = root.number(&format!("{ZONES}/{zone}/max_energy_range_uj")).unwrap_or(0);
            packages.insert(zone, (count, range));
        }
    }
    (!packages.is_empty()).then_some(Energy { packages })
}

impl Energy {
    /// Energy since an earlier moment, in joules; a counter that started anew once is understood. None
    /// if packages came or went, or if a counter went back without a known range.
    pub fn since(&self, earlier: &Self) -> Option<f64> {
        if !self.packages.keys().eq(earlier.packages.keys()) {
            return None;
        }
        let spent = |((now, range), (before, _)): (&(u64, u64), &(u64, u64))| {
            now.checked_sub(*before).or_else(|| {
                let rest = range.checked_sub(*before).filter(|_| *range > 0)?;
                Some(rest + now)
            })
        };
        let all = self.packages.values().zip(earlier.packages.values()).map(spent);
        all.sum::<Option<u64>>().map(|microjoules| microjoules as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Root, zone: &str, name: &str, count: &str) {
        let facts = [("name", name), ("energy_uj", count), ("max_energy_range_uj", "262143328850")];
        for (file, text) in facts {
            crate::fake::put(root, &[(&format!("sys/class/powercap/{zone}/{file}"), text)]);
        }
    }

    #[test]
    fn packages_are_added_up_and_their_parts_are_not() {
        let (_folder, root) = crate::fake::of_files(&[]);
        assert_eq!(read(&root), None);
        write(&root, "intel-rapl:0", "package-0", "1000000");
        write(&root, "intel-rapl:0:0", "core", "900000");
        write(&root, "intel-rapl:1", "package-1", "262143328849");
        write(&root, "intel-rapl:2", "psys", "7");
        let before = read(&root).expect("two packages");
        write(&root, "intel-rapl:0", "package-0", "4500000");
        // This one started anew.
        write(&root, "intel-rapl:1", "package-1", "1499999");
        let after = read(&root).expect("two packages");
        assert_eq!(after.since(&before), Some(5.0));
        // A counter that may not be read means no answer, not a part of one.
        std::fs::write(root.path("sys/class/powercap/intel-rapl:1/energy_uj"), "").expect("file");
        assert_eq!(read(&root), None);
        write(&root, "intel-rapl:3", "package-2", "1");
        write(&root, "intel-rapl:1", "package-1", "5");
        assert_eq!(read(&root).expect("three packages").since(&before), None);
    }
}
