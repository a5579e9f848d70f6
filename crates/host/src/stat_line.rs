//! A line of `/proc/PID/stat`, taken apart (proc_pid_stat(5)).

use std::str::FromStr;

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// `PF_NO_SETAFFINITY` of include/linux/sched.h.
const BOUND: u64 = 0x0400_0000;
/// Fields behind the name that are kept: those up to the 41st.
const KEPT: usize = 39;

pub(crate) struct StatLine<'a> {
    /// The name, at most 15 bytes, of the program or of the thread.
    pub(crate) name: &'a str,
    /// From the third field on, which is the state; empty where the line ends before.
    fields: [&'a str; KEPT],
}

impl<'a> StatLine<'a> {
    /// Takes a line apart; none if it has no name in brackets. The name may hold blanks and brackets,
    /// so it ends at the last of them. Nothing is allocated: there are thousands of lines to read.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (head, rest) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = [""; KEPT];
        for (field, word) in fields.iter_mut().zip(rest.split_ascii_whitespace()) {
            *field = word;
        }
        Some(Self { name, fields })
    }

    /// The field of that number, counted as the manual page does, from the third on; `None` if the
    /// line is too short, or it is no such number.
    pub(crate) fn field<T: FromStr>(&self, number: usize) -> Option<T> {
        self.fields.get(number.checked_sub(3)?)?.parse().ok()
    }

    pub(crate) fn is_runnable(&self) -> bool {
        self.fields[0] == "R"
    }

    /// Whether it has ended, and waits for its parent at most.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.fields[0], "Z" | "X" | "x")
    }

    /// Whether it is a thread of the kernel; `None` if the line is too short to tell.
    pub(crate) fn is_of_kernel(&self) -> Option<bool> {
        Some(self.field::<u64>(9)? & KERNEL_THREAD != 0)
    }

    /// Whether it is a thread of the kernel that belongs to its CPU; `None` if the line is too short.
    pub(crate) fn is_bound(&self) -> Option<bool> {
        Some(self.field::<u64>(9)? & BOUND != 0)
    }

    /// When it started, in clock ticks after the boot: with its number, the identity of a process.
    pub(crate) fn started_ticks(&self) -> Option<u64> {
        self.field(22)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found_whatever_the_name_is() {
        let text = "7 (a) R (b) Z 1 7 7 0 -1 69238848 0 0 0 0 1 2 0 0 20 0 1 0 4242 0 0\n";
        let stat = StatLine::parse(text).expect("stat");
        assert_eq!(
            (stat.name, stat.field(4), stat.started_ticks()),
            ("a) R (b", Some(1), Some(4242))
        );
        assert!(stat.has_ended() && !stat.is_runnable());
        assert_eq!((stat.is_bound(), stat.is_of_kernel()), (Some(true), Some(true)));
        assert_eq!((stat.field::<u32>(8), stat.field::<u32>(41)), (None, None), "-1, and none");
        let own = text.replace("69238848", "4194304").replace(") Z", ") R");
        let stat = StatLine::parse(&own).expect("stat");
        assert_eq!((stat.is_bound(), stat.is_of_kernel()), (Some(false), Some(false)));
        assert!(stat.is_runnable() && !stat.has_ended());
        let short = StatLine::parse("7 (a) S 3").expect("stat");
        assert_eq!(
            (short.field::<u32>(4), short.is_of_kernel(), short.started_ticks()),
            (Some(3), None, None)
        );
        assert!(StatLine::parse("7 (a S 3").is_none() && StatLine::parse("7 a) S 3").is_none());
    }

    proptest! {
        #[test]
        fn never_panics(text in "[0-9]{0,5}( \\([a-z)( ]*\\))?( [A-Z]| -?[0-9]{1,25}|\\PC)*", field: usize) {
            if let Some(stat) = StatLine::parse(&text) {
                let _ = (stat.field::<u64>(field), stat.is_of_kernel(), stat.has_ended());
            }
        }
    }
}
