//! Sets of CPUs as bits: what a policy asks millions of times a second.

use super::{CpuId, CpuSet};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuMask {
    words: Box<[u64]>,
}

impl CpuMask {
    pub fn empty(cpus: usize) -> Self {
        Self { words: vec![0; cpus.div_ceil(64).max(1)].into_boxed_slice() }
    }

    pub fn all(cpus: usize) -> Self {
        let mut mask = Self::empty(cpus);
        (0..cpus as u32).for_each(|cpu| mask.insert(CpuId(cpu)));
        mask
    }

    /// The members of a set that a machine with `cpus` CPUs has.
    pub fn of(set: &CpuSet, cpus: usize) -> Self {
        let mut mask = Self::empty(cpus);
        set.iter().filter(|cpu| (cpu.0 as usize) < cpus).for_each(|cpu| mask.insert(cpu));
        mask
    }

    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        let word = self.words.get(cpu.0 as usize / 64).copied().unwrap_or(0);
        word >> (cpu.0 % 64) & 1 == 1
    }

    #[inline]
    pub fn insert(&mut self, cpu: CpuId) {
        self.words[cpu.0 as usize / 64] |= 1 << (cpu.0 % 64);
    }

    #[inline]
    pub fn remove(&mut self, cpu: CpuId) {
        self.words[cpu.0 as usize / 64] &= !(1 << (cpu.0 % 64));
    }

    #[inline]
    pub fn set(&mut self, cpu: CpuId, member: bool) {
        if member {
            self.insert(cpu);
        } else {
            self.remove(cpu);
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    pub fn first(&self) -> Option<CpuId> {
        let found = self.words.iter().enumerate().find(|(_, word)| **word != 0);
        found.map(|(index, word)| CpuId(index as u32 * 64 + word.trailing_zeros()))
    }

    #[inline]
    pub fn first_common(&self, other: &Self) -> Option<CpuId> {
        let pairs = self.words.iter().zip(&other.words).map(|(own, other)| own & other);
        let found = pairs.enumerate().find(|(_, word)| *word != 0);
        found.map(|(index, word)| CpuId(index as u32 * 64 + word.trailing_zeros()))
    }

    /// The first CPU of all sets at or after `start`, going round; the order in which kernels search
    /// from a target.
    pub fn next_in_all<const SETS: usize>(sets: [&Self; SETS], start: CpuId) -> Option<CpuId> {
        let words = sets.first()?.words.len();
        let (from, bit) = (start.0 as usize / 64 % words, start.0 % 64);
        for step in 0..=words {
            let index = (from + step) % words;
            let mut word = sets.iter().fold(u64::MAX, |word, set| word & set.words[index]);
            if step == 0 {
                word &= u64::MAX << bit;
            }
            if word != 0 {
                return Some(CpuId(index as u32 * 64 + word.trailing_zeros()));
            }
        }
        None
    }

    pub fn in_all<const SETS: usize>(sets: [&Self; SETS]) -> impl Iterator<Item = CpuId> {
        let words = sets.first().map_or(0, |set| set.words.len());
        (0..words).flat_map(move |index| {
            members(index, sets.iter().fold(u64::MAX, |word, set| word & set.words[index]))
        })
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        Self::in_all([self])
    }
}

fn members(index: usize, mut left: u64) -> impl Iterator<Item = CpuId> {
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros())?;
        left &= left - 1;
        Some(CpuId(index as u32 * 64 + bit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_go_round_and_stay_in_both_sets() {
        let mut own = CpuMask::empty(130);
        [3, 64, 129].into_iter().for_each(|cpu| own.insert(CpuId(cpu)));
        let all = CpuMask::all(130);
        let next = |start| CpuMask::next_in_all([&own, &all], CpuId(start)).map(|cpu| cpu.0);
        assert_eq!([next(0), next(4), next(65), next(129)], [3, 64, 129, 129].map(Some));
        let mut upper = CpuMask::empty(130);
        upper.insert(CpuId(129));
        assert_eq!(CpuMask::next_in_all([&own, &upper, &all], CpuId(4)), Some(CpuId(129)));
        assert_eq!(CpuMask::in_all([&own, &upper]).collect::<Vec<_>>(), [CpuId(129)]);
        assert_eq!(own.first_common(&upper), Some(CpuId(129)));
        // Only members below the start are left: the search comes back to the first word.
        own.remove(CpuId(64));
        own.remove(CpuId(129));
        assert_eq!(CpuMask::next_in_all([&own, &all], CpuId(5)), Some(CpuId(3)));
        assert_eq!((own.len(), all.len(), all.iter().last()), (1, 130, Some(CpuId(129))));
    }
}
