//! Pressure stall information: the share of time in which somebody, or everybody, had to wait
//! (Documentation/accounting/psi.rst; kernels since 4.20, where it may be switched off).

use crate::root::Root;
use serde::{Deserialize, Serialize};

/// Shares of the last ten seconds, from 0 to 1.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Some task waited for a CPU.
    pub cpu_some_share: Option<f64>,
    /// Some task waited for memory.
    pub memory_some_share: Option<f64>,
    /// Every task that was not idle waited for memory.
    pub memory_full_share: Option<f64>,
    /// Some task waited for a disk.
    pub io_some_share: Option<f64>,
    /// Every task that was not idle waited for a disk.
    pub io_full_share: Option<f64>,
}

/// Reads `/proc/pressure`; `None` if this kernel keeps no account of it.
pub fn read(root: &Root) -> Option<Pressure> {
    let text = |resource: &str| root.fact(&format!("proc/pressure/{resource}")).unwrap_or_default();
    let (cpu, memory, io) = (text("cpu"), text("memory"), text("io"));
    let pressure = Pressure {
        cpu_some_share: average_10(&cpu, "some"),
        memory_some_share: average_10(&memory, "some"),
        memory_full_share: average_10(&memory, "full"),
        io_some_share: average_10(&io, "some"),
        io_full_share: average_10(&io, "full"),
    };
    (pressure != Pressure::default()).then_some(pressure)
}

/// `avg10` of a line `some avg10=0.12 avg60=0.05 avg300=0.01 total=12345`, which is in percent.
fn average_10(text: &str, kind: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(kind))?;
    let word = line.split(' ').find_map(|word| word.strip_prefix("avg10="))?;
    let percent: f64 = word.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// Since boot, or since a group was made: how long some task waited for a CPU, from a file
/// `proc/pressure/cpu` or `cpu.pressure`, in seconds.
pub fn cpu_waited_s(root: &Root, file: &str) -> Option<f64> {
    let text = root.fact(file)?;
    let line = text.lines().find(|line| line.split(' ').next() == Some("some"))?;
    let word = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    Some(word.parse::<u64>().ok()? as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_kernels_lines_are_read_and_missing_ones_are_absent() {
        let (_folder, root) = crate::fake::of_files(&[]);
        assert_eq!(read(&root), None);
        let cpu = "some avg10=12.50 avg60=0.05 avg300=0.01 total=12345\n";
        let io = "some avg10=1.00 avg60=0 avg300=0 total=1\nfull avg10=0.50 avg60=0 total=2\n";
        crate::fake::put(&root, &[("proc/pressure/cpu", cpu), ("proc/pressure/io", io)]);
        let expected = Pressure {
            cpu_some_share: Some(0.125),
            io_some_share: Some(0.01),
            io_full_share: Some(0.005),
            ..Pressure::default()
        };
        assert_eq!(read(&root), Some(expected));
        assert_eq!(cpu_waited_s(&root, "proc/pressure/cpu"), Some(0.012_345));
        assert_eq!(cpu_waited_s(&root, "proc/pressure/memory"), None);
    }

    proptest! {
        #[test]
        fn any_text_gives_a_share_or_nothing(text in "((some|full)( avg10=\\PC{0,8})?\\n?)*") {
            if let Some(share) = average_10(&text, "some") {
                prop_assert!((0.0..=1.0).contains(&share));
            }
        }
    }
}
