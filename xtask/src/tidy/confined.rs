//! Unsafe code is in the modules listed here, and nowhere else.

use super::Finding;
use super::source::Source;

/// Files, and folders with `/` at the end.
pub(crate) const UNSAFE: &[&str] = &[
    "crates/host/src/heap.rs",
    "crates/workloads/hello/",
    "crates/workloads/src/aim9/native/",
    "crates/workloads/src/lmbench/native/",
    "crates/workloads/src/sys.rs",
];

pub(super) fn check(path: &str, source: &Source) -> Vec<Finding> {
    if UNSAFE.iter().any(|place| path == *place || place.ends_with('/') && path.starts_with(place))
    {
        return Vec::new();
    }
    let what = "unsafe code outside of its modules; do it by rustix, or name the module in \
                xtask/src/tidy/confined.rs, with a strong reason";
    source.word("unsafe").map(|at| Finding::new(path, source.line_of(at), what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_code_is_found_outside_of_its_modules() {
        let found = |path: &str, text: &str| check(path, &Source::parse(text)).len();
        let sample = "fn f() {}\n// unsafe\nfn g() { unsafe { h() } }\n";
        assert_eq!(found("crates/host/src/lib.rs", sample), 1);
        assert_eq!(found("crates/workloads/src/sys.rs", sample), 0);
        assert_eq!(found("crates/workloads/src/aim9/native/jump.rs", sample), 0);
        assert_eq!(found("crates/workloads/src/sys.rs/x.rs", sample), 1);
        assert_eq!(
            found("a.rs", "#![forbid(unsafe_code)] // unsafe\nconst A: &str = \"unsafe\";"),
            0
        );
    }
}
