//! ARCHITECTURE.md stays true where a machine can tell: what it names is there, and it says of every
//! direct dependency what it is for.

use super::edges::imports;
use super::{File, Finding};
use toml::Table;

const MAP: &str = "ARCHITECTURE.md";
/// The section of dependencies.
const DEPENDENCIES: &str = "## Direct dependencies";

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let map = files.iter().find(|file| file.path == MAP).and_then(|file| file.text.as_deref());
    let Some(map) = map else { return Vec::new() };
    let mut findings = missing(map, files);
    findings.extend(unexplained(map, files));
    findings
}

/// Files and folders that are not there. The map may leave out where a path begins.
fn missing(map: &str, files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in map.lines().enumerate() {
        // What stands between two backticks.
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            // Of a pattern its folder; of a folder whatever is in it.
            let stem = name.split('*').next().unwrap_or(name);
            let there = files.iter().any(|file| match stem.ends_with('/') {
                true => format!("/{}", file.path).contains(&format!("/{stem}")),
                false => format!("/{}", file.path).ends_with(&format!("/{stem}")),
            });
            if !there {
                let what = format!("there is no {name}; say where it went");
                findings.push(Finding::new(MAP, index + 1, what));
            }
        }
    }
    findings
}

/// Whether it is the name of a file or folder, and no placeholder (`VERB.rs`).
fn is_path(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./*".contains(c);
    let is_file = [".rs", ".toml", ".md"].iter().any(|ending| name.ends_with(ending));
    name.chars().all(plain) && (is_file || name.ends_with('/')) && !name.starts_with('/')
}

/// Direct dependencies of which nobody says what they are for.
fn unexplained(map: &str, files: &[File]) -> Vec<Finding> {
    let reasons = map.split_once(DEPENDENCIES).map_or("", |(_, section)| section);
    let explained = |name: &str| {
        let mut words = reasons.split(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)));
        words.any(|word| word == name)
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        // One that does not read is an edge's finding.
        let manifest = file.text.as_ref().and_then(|text| text.parse::<Table>().ok());
        for (_, package) in manifest.iter().flat_map(imports) {
            let is_ours = package == "coretwin" || package.starts_with("coretwin-");
            if !is_ours && !explained(&package) {
                let what = format!(
                    "{MAP} does not say what {package} is for; give it half a line under \"{}\"",
                    DEPENDENCIES.trim_start_matches("## ")
                );
                findings.push(Finding::new(&file.path, 1, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), size_bytes: 0, text: Some(text.to_owned()) }
    }

    #[test]
    fn what_the_map_names_and_is_not_there_is_found() {
        let map = "a\n`lab/src/engine.rs` by `presets/*.toml`, `smt/`: `crates/cli/src/VERB.rs`, \
                   `/sys`, `x.rs` in `gone/`, `old/*.toml`\n";
        let files = [
            file(MAP, map),
            file("crates/lab/src/engine.rs", ""),
            file("crates/sim/presets/zen4.toml", ""),
            file("crates/host/src/smt/mod.rs", ""),
            file("crates/host/src/box.rs", ""),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        let of = |name: &str| format!("{MAP}:2: there is no {name}; say where it went");
        assert_eq!(found, [of("x.rs"), of("gone/"), of("old/*.toml")]);
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let manifest = "[dependencies]\ncoretwin-base = \"1\"\nserde = \"1\"\ntar = \"1\"\n";
        let map = "tar\n\n## Direct dependencies\n\nserde (records), tarry\n";
        let files = [file(MAP, map), file("crates/lab/Cargo.toml", manifest)];
        let [finding] = check(&files).try_into().expect("one");
        assert!(finding.what.contains("what tar is for"), "{finding}");
    }
}
