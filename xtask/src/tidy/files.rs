//! No stray files: every one is of a type that has a use here, and small.

use super::{File, Finding};

/// Endings that have a use.
const ENDINGS: &[&str] = &[
    "rs",
    "c",
    "h",
    "toml",
    "md",
    "lock",
    "csv",
    "json",
    "jsonl",
    "html",
    "svg",
    "png",
    "css",
    "js",
    "yml",
    "txt",
    "service",
    "sh",
    "py",
    "proptest-regressions",
];

/// Whole names without an ending.
const NAMES: &[&str] = &[
    "Makefile",
    ".gitignore",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    ".ci/run",
    ".ci/needs",
    "packaging/Dockerfile",
    ".dockerignore",
    "packaging/lintian-overrides",
    "packaging/prerm",
    "packaging/copyright",
];

/// Folders of samples from elsewhere, whose names are not ours to choose.
const SAMPLES: &[&str] = &["fixtures", "seeds"];

const BYTES_MAX: u64 = 1 << 20;
const SAMPLE_BYTES_MAX: u64 = 64 << 10;

pub(super) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let sample = file.path.split('/').any(|folder| SAMPLES.contains(&folder));
    let known = sample
        || NAMES.contains(&file.path.as_str())
        || NAMES.contains(&name)
        || ending.is_some_and(|ending| ENDINGS.contains(&ending));
    if !known {
        let what = "a file of no known type; remove it, or add its type to xtask/src/tidy/files.rs";
        findings.push(Finding::new(&file.path, 1, what));
    }
    let bytes_max = if sample { SAMPLE_BYTES_MAX } else { BYTES_MAX };
    if file.size_bytes > bytes_max {
        let what = format!(
            "{} bytes of {bytes_max} allowed; make it smaller, or at run time",
            file.size_bytes
        );
        findings.push(Finding::new(&file.path, 1, what));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, size_bytes: u64) -> usize {
        check(&File { path: path.to_owned(), size_bytes, text: None }).len()
    }

    #[test]
    fn stray_and_large_files_are_found() {
        for path in ["notes.orig", "crates/base/src/lib.rs~", "a.out", "crates/run", "core"] {
            assert_eq!(found(path, 10), 1, "{path}");
        }
        for path in
            ["crates/base/src/lib.rs", "Makefile", ".ci/run", "tests/fixtures/p4/sys/online"]
        {
            assert_eq!(found(path, 10), 0, "{path}");
        }
        assert_eq!(found("picture.png", BYTES_MAX + 1), 1);
        assert_eq!(found("fuzz/seeds/table/1", SAMPLE_BYTES_MAX + 1), 1);
    }
}
