//! Logical CPUs, cores, and sets of CPUs in the kernel's list format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A logical CPU (one hardware thread), by the kernel's number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A physical core, by our own dense number (the kernel's `core_id` repeats in every package).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CoreId(pub u32);

/// Above the kernel's largest NR_CPUS (8192 on x86, 16384 on some), so that a typing error such as
/// `0-4000000000` is an error and not a frozen program.
pub const CPU_MAX: u32 = 65_535;

/// A set of logical CPUs. Written and read in the kernel's list format, `0-3,8,10-11`
/// (Documentation/admin-guide/cputopology.rst); the empty set is the empty text.
#[derive(
    Debug,
    Default,
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema
)]
#[serde(transparent)]
pub struct CpuSet(BTreeSet<CpuId>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a CPU list: {why}; write numbers and ranges, like 0-3,8")]
pub struct BadCpuList {
    pub text: String,
    pub why: String,
}

impl CpuSet {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the kernel's list format. Ranges with a stride (`0-31:2/4`, as in isolcpus) are accepted
    /// too: of every group of 4 CPUs from 0, the first 2. Errors: [`BadCpuList`] naming the part that
    /// is wrong.
    pub fn parse(text: &str) -> Result<Self, BadCpuList> {
        let bad = |why: String| BadCpuList { text: shorten(text), why };
        let mut set = BTreeSet::new();
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Ok(Self(set));
        }
        for part in trimmed.split(',') {
            let part = part.trim();
            let (range, stride) = match part.split_once(':') {
                Some((range, stride)) => (range, Some(stride)),
                None => (part, None),
            };
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let low = number(low).map_err(bad)?;
            let high = number(high).map_err(bad)?;
            if low > high {
                return Err(bad(format!("the range {range} runs backwards")));
            }
            let (used, group) = match stride {
                None => (1, 1),
                Some(stride) => {
                    let (used, group) = stride
                        .split_once('/')
                        .ok_or_else(|| bad(format!("the stride '{stride}' lacks a '/'")))?;
                    (number(used).map_err(bad)?, number(group).map_err(bad)?)
                }
            };
            if group == 0 || used == 0 || used > group {
                return Err(bad(format!("the stride of '{part}' is not 1 to its group size")));
            }
            set.extend((low..=high).filter(|cpu| (cpu - low) % group < used).map(CpuId));
        }
        Ok(Self(set))
    }

    pub fn insert(&mut self, cpu: CpuId) {
        self.0.insert(cpu);
    }

    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(&cpu)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPUs, in order of number.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CpuId> + '_ {
        self.0.iter().copied()
    }

    pub fn first(&self) -> Option<CpuId> {
        self.0.first().copied()
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    let head: String = text.chars().take(57).collect();
    format!("{head}...")
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a number is missing".to_owned());
    }
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("'{}' is not a number", shorten(text)));
    }
    match text.parse::<u32>() {
        Ok(n) if n <= CPU_MAX => Ok(n),
        _ => Err(format!("{} is above the largest CPU number, {CPU_MAX}", shorten(text))),
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<T: IntoIterator<Item = CpuId>>(cpus: T) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().map(|cpu| cpu.0).peekable();
        let mut first = true;
        while let Some(low) = cpus.next() {
            let mut high = low;
            while cpus.peek() == Some(&(high + 1)) {
                high += 1;
                cpus.next();
            }
            if !first {
                f.write_str(",")?;
            }
            first = false;
            if low == high {
                write!(f, "{low}")?;
            } else {
                write!(f, "{low}-{high}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(text: &str) -> CpuSet {
        CpuSet::parse(text).expect(text)
    }

    #[test]
    fn reads_what_the_kernel_writes() {
        assert_eq!(set("0-3,8\n").len(), 5);
        assert_eq!(set("").len(), 0);
        assert_eq!(set("0-7:2/4").to_string(), "0-1,4-5");
        assert_eq!(set("5,1,1-2").to_string(), "1-2,5");
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [
            ("3-1", "backwards"),
            ("a", "'a' is not a number"),
            ("1,,2", "missing"),
            ("-1", "missing"),
            ("0-99999999999", "above the largest"),
            ("0-7:0/4", "stride"),
            ("0-7:2", "lacks"),
        ] {
            let error = CpuSet::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn writes_what_it_reads(cpus in proptest::collection::btree_set(0u32..500, 0..40)) {
            let original: CpuSet = cpus.into_iter().map(CpuId).collect();
            prop_assert_eq!(CpuSet::parse(&original.to_string()), Ok(original));
        }

        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            let _ = CpuSet::parse(&text);
        }
    }
}
