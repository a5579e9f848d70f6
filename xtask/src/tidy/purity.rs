//! The pure crates: no I/O, no threads, no clock, no environment, no order of hashes, and no
//! transcendental function whose last bit depends on the host.

use super::Finding;
use super::source::Source;

/// Crates that are functions of their arguments alone.
const PURE: &[&str] = &["base", "stats", "article", "sim", "report"];

/// What they may not name, and what to do instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("fs", "reading and writing belong to store or host"),
    ("net", "the network belongs to workloads"),
    ("thread", "threads belong to lab"),
    ("env", "take it as an argument"),
    ("process", "processes belong to host or workloads"),
    ("os", "the operating system belongs to host"),
    ("Instant", "take the time as an argument"),
    ("SystemTime", "take the time as an argument"),
    ("HashMap", "use BTreeMap: its order is the same on every host"),
    ("HashSet", "use BTreeSet: its order is the same on every host"),
];

/// Crates whose results must be equal, bit for bit, on every host.
const EXACT: &[&str] = &["base", "stats", "article", "sim"];

/// Methods of floats that std leaves to the host.
const TRANSCENDENTAL: &[&str] = &[
    ".exp()",
    ".exp2()",
    ".exp_m1()",
    ".ln()",
    ".ln_1p()",
    ".log10()",
    ".log2()",
    ".log(",
    ".powf(",
    ".powi(",
    ".sin()",
    ".cos()",
    ".tan()",
    ".tanh()",
    ".atan()",
    ".cbrt()",
];

pub(super) fn check(path: &str, source: &Source) -> Vec<Finding> {
    let of = |crates: &[&str]| crates.iter().any(|c| path.starts_with(&format!("crates/{c}/src/")));
    let mut findings = Vec::new();
    if of(PURE) {
        for &(name, instead) in FORBIDDEN {
            let found = source.word(name).filter(|&at| is_std(&source.code, at, name));
            findings.extend(found.map(|at| {
                let what = format!("{name} in a pure crate; {instead}");
                Finding::new(path, source.line_of(at), what)
            }));
        }
    }
    if of(EXACT) {
        for method in TRANSCENDENTAL {
            findings.extend(source.code.match_indices(method).map(|(at, _)| {
                let what = format!("{method} differs from host to host; call libm instead");
                Finding::new(path, source.line_of(at), what)
            }));
        }
    }
    findings
}

/// Whether a word is a name from std: types are known by themselves, modules by what stands before
/// them, `std::` or a brace or comma of a `use std::{…}`.
fn is_std(code: &str, at: usize, name: &str) -> bool {
    if name.starts_with(char::is_uppercase) {
        return true;
    }
    let before = code[..at].trim_end();
    if before.ends_with("std::") || before.ends_with("core::") {
        return true;
    }
    let statement = &before[before.rfind([';', '}']).map_or(0, |end| end + 1)..];
    let group = statement.trim_start().trim_start_matches("pub ");
    (group.starts_with("use std::{") || group.contains("\nuse std::{"))
        && before.ends_with(['{', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(path, &Source::parse(text)).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_pure_crate_touches_nothing() {
        for sample in [
            "use std::fs;",
            "use std::fs::File;",
            "use std::{fmt, net};",
            "use std::{\n fmt,\n env,\n};",
            "let t = std::time::Instant::now();",
            "let m: HashMap<u8, u8>;",
            "std::thread::spawn(f);",
            "std::process::exit(1);",
        ] {
            assert_eq!(lines("crates/stats/src/x.rs", sample).len(), 1, "{sample}");
            assert!(lines("crates/host/src/x.rs", sample).is_empty(), "{sample}");
        }
        let innocent = "let env = reading.env; // std::fs\nlet s = \"std::net\"; fn os() {} x.fs;";
        assert!(lines("crates/base/src/x.rs", innocent).is_empty());
    }

    #[test]
    fn exact_crates_call_libm() {
        let sample = "let a = 1.0;\nlet b = x.ln() + libm::exp(x);\nlet c = x.powf(2.0).sqrt();";
        assert_eq!(lines("crates/sim/src/x.rs", sample), [2, 3]);
        assert!(lines("crates/report/src/x.rs", sample).is_empty());
    }
}
