//! Where CPUs are: cores, last-level caches, packages, and how far apart two CPUs lie.

use super::{CoreId, CpuId, CpuMask};
use std::collections::BTreeMap;

pub const CPUS_MAX: usize = 4096;

/// The most CPUs of one core: Power's eight.
pub const SIBLINGS_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub core: CoreId,
    pub cache: u32,
    pub package: u32,
}

named! {
/// How far apart two CPUs lie, from near to far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    SameCpu = "same_cpu",
    SameCore = "same_core",
    SameCache = "same_cache",
    SamePackage = "same_package",
    OtherPackage = "other_package",
}
}

/// The CPUs of a machine, numbered from 0 without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    places: Vec<Place>,
    cores: Vec<Vec<CpuId>>,
    /// The CPUs of each last-level cache; by CPU, which of them is its own.
    caches: Vec<CpuMask>,
    cache_of: Vec<u32>,
}

impl Layout {
    /// From places, CPU 0 first. Cores are numbered from 0 without gaps.
    pub fn new(places: Vec<Place>) -> Result<Self, String> {
        if places.is_empty() || places.len() > CPUS_MAX {
            return Err(format!("a machine has 1 to {CPUS_MAX} CPUs, not {}", places.len()));
        }
        let count = places.iter().map(|place| place.core.0 as usize + 1).max().unwrap_or(0);
        if count > places.len() {
            return Err(format!("core {} of {} CPUs: cores have no gaps", count - 1, places.len()));
        }
        let mut cores = vec![Vec::new(); count];
        for (cpu, place) in places.iter().enumerate() {
            cores[place.core.0 as usize].push(CpuId(cpu as u32));
        }
        for (core, cpus) in cores.iter().enumerate() {
            let Some(first) = cpus.first() else {
                return Err(format!("core {core} has no CPU"));
            };
            if cpus.len() > SIBLINGS_MAX {
                return Err(format!("core {core} has {} CPUs; at most {SIBLINGS_MAX}", cpus.len()));
            }
            if cpus.iter().any(|cpu| places[cpu.0 as usize] != places[first.0 as usize]) {
                return Err(format!("core {core} lies in two caches or packages"));
            }
        }
        let mut numbers = BTreeMap::new();
        let mut caches: Vec<CpuMask> = Vec::new();
        let mut cache_of = Vec::with_capacity(places.len());
        for (cpu, place) in places.iter().enumerate() {
            let number = *numbers.entry((place.package, place.cache)).or_insert(caches.len());
            if number == caches.len() {
                caches.push(CpuMask::empty(places.len()));
            }
            caches[number].insert(CpuId(cpu as u32));
            cache_of.push(number as u32);
        }
        Ok(Self { places, cores, caches, cache_of })
    }

    /// A regular machine: siblings numbered one after the other, one cache a package.
    pub fn regular(packages: u32, cores: u32, threads: u32) -> Result<Self, String> {
        let cpus = u64::from(packages) * u64::from(cores) * u64::from(threads);
        if cpus == 0 || cpus > CPUS_MAX as u64 {
            return Err(format!("a machine has 1 to {CPUS_MAX} CPUs, not {cpus}"));
        }
        let place = |cpu: u32| {
            let core = cpu / threads;
            let package = core / cores;
            Place { core: CoreId(core), cache: package, package }
        };
        Self::new((0..cpus as u32).map(place).collect())
    }

    /// Reads `CORESxTHREADS` or `PACKAGESxCORESxTHREADS`: `1x2` is the article's machine.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "'{text}' is no topology: write CORESxTHREADS or PACKAGESxCORESxTHREADS, as 2x4x2"
            )
        };
        let parts: Option<Vec<u32>> = text.split(['x', '×']).map(|n| n.parse().ok()).collect();
        match parts.ok_or_else(bad)?.as_slice() {
            [cores, threads] => Self::regular(1, *cores, *threads),
            [packages, cores, threads] => Self::regular(*packages, *cores, *threads),
            _ => Err(bad()),
        }
    }

    /// Number of CPUs, offline ones included.
    pub fn cpus(&self) -> usize {
        self.places.len()
    }

    pub fn all(&self) -> impl DoubleEndedIterator<Item = CpuId> + use<> {
        (0..self.places.len() as u32).map(CpuId)
    }

    pub fn cores(&self) -> &[Vec<CpuId>] {
        &self.cores
    }

    #[inline]
    pub fn place(&self, cpu: CpuId) -> Place {
        self.places[cpu.0 as usize]
    }

    #[inline]
    pub fn core(&self, cpu: CpuId) -> CoreId {
        self.places[cpu.0 as usize].core
    }

    /// All CPUs of a CPU's core, itself included, in order.
    #[inline]
    pub fn siblings(&self, cpu: CpuId) -> &[CpuId] {
        &self.cores[self.core(cpu).0 as usize]
    }

    /// All CPUs that share a CPU's last-level cache, itself included: those at most
    /// [`Distance::SameCache`] away.
    #[inline]
    pub fn same_cache(&self, cpu: CpuId) -> &CpuMask {
        &self.caches[self.cache_of[cpu.0 as usize] as usize]
    }

    pub fn threads_per_core_max(&self) -> usize {
        self.cores.iter().map(Vec::len).max().unwrap_or(1)
    }

    #[inline]
    pub fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        let (from, to) = (self.place(a), self.place(b));
        if a == b {
            Distance::SameCpu
        } else if from.core == to.core {
            Distance::SameCore
        } else if (from.package, from.cache) == (to.package, to.cache) {
            Distance::SameCache
        } else if from.package == to.package {
            Distance::SamePackage
        } else {
            Distance::OtherPackage
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_machines_have_their_distances() {
        let layout = Layout::parse("2x2x2").expect("a machine");
        let distance = |b| layout.distance(CpuId(0), CpuId(b));
        assert_eq!(distance(0), Distance::SameCpu);
        assert_eq!(distance(1), Distance::SameCore);
        assert_eq!(distance(2), Distance::SameCache);
        assert_eq!(distance(4), Distance::OtherPackage);
        assert_eq!(layout.siblings(CpuId(5)), [CpuId(4), CpuId(5)]);
        let near: Vec<CpuId> = layout.same_cache(CpuId(6)).iter().collect();
        let told =
            layout.all().filter(|cpu| layout.distance(CpuId(6), *cpu) <= Distance::SameCache);
        assert_eq!(near, told.collect::<Vec<_>>());
        assert_eq!(Layout::parse("1x2").map(|layout| layout.cores().len()), Ok(1));
    }

    #[test]
    fn impossible_machines_are_refused() {
        for text in ["", "2", "0x2", "1x9", "70000x70000x2", "5000x1", "axb", "1x2x3x4", "-1x2"] {
            assert!(Layout::parse(text).is_err(), "{text}");
        }
        let place = |core, package| Place { core: CoreId(core), cache: 0, package };
        let refused = |places| Layout::new(places).err().unwrap_or_default();
        assert!(refused(vec![place(0, 0), place(2, 0)]).contains("no gaps"));
        assert!(refused(vec![place(1, 0), place(1, 0)]).contains("core 0 has no CPU"));
        assert!(refused(vec![place(0, 0), place(0, 1)]).contains("two caches"));
    }
}
