//! Which crate may import which: a table held as data, against every manifest.

use super::{File, Finding};
use toml::{Table, Value};

/// A crate of the house: its folder below `crates`, and what it may import.
struct Crate {
    folder: &'static str,
    may_import: &'static [&'static str],
}

/// Every crate there is or will be. `cli` may import all.
const CRATES: &[Crate] = &[
    Crate { folder: "base", may_import: &[] },
    Crate { folder: "stats", may_import: &["base"] },
    Crate { folder: "sim", may_import: &["base"] },
    Crate { folder: "article", may_import: &["base", "stats"] },
    Crate { folder: "report", may_import: &["base", "stats", "article"] },
    Crate { folder: "store", may_import: &["base"] },
    Crate { folder: "host", may_import: &["base"] },
    Crate { folder: "workloads", may_import: &["base"] },
    Crate { folder: "bpf", may_import: &["base", "host"] },
    Crate { folder: "account", may_import: &["base", "stats", "host", "bpf"] },
    Crate {
        folder: "lab",
        may_import: &[
            "base",
            "stats",
            "article",
            "sim",
            "store",
            "host",
            "workloads",
            "bpf",
            "account",
        ],
    },
    Crate { folder: "top", may_import: &["base", "stats", "host", "account"] },
    Crate {
        folder: "cli",
        may_import: &[
            "base",
            "stats",
            "article",
            "sim",
            "report",
            "store",
            "host",
            "workloads",
            "bpf",
            "account",
            "lab",
            "top",
        ],
    },
    Crate { folder: "../xtask", may_import: &[] },
    // Its targets are the parsers of outside text.
    Crate {
        folder: "../fuzz",
        may_import: &["base", "sim", "article", "host", "store", "workloads", "account"],
    },
];

/// Tables of a manifest that hold dependencies.
const DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// The feature with the machines for tests.
const DOUBLES: &str = "fake";

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let manifest = |file: &&File| file.path.ends_with("/Cargo.toml");
    let texts = files.iter().filter(manifest).filter_map(|file| Some((file, file.text.as_ref()?)));
    texts.flat_map(|(file, text)| check_manifest(&file.path, text)).collect()
}

fn check_manifest(path: &str, text: &str) -> Vec<Finding> {
    let folder = path.trim_end_matches("/Cargo.toml");
    let known = CRATES.iter().find(|known| match known.folder.strip_prefix("../") {
        Some(outside) => folder == outside,
        None => folder.strip_prefix("crates/") == Some(known.folder),
    });
    let Some(known) = known else {
        let what = "a crate that is not in the table of crates; it belongs there with its edges \
                    (xtask/src/tidy/edges.rs), or into another crate as a module";
        return vec![Finding::new(path, 1, what)];
    };
    let manifest = match text.parse::<Table>() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Finding::new(path, 1, format!("not a manifest: {error}"))],
    };
    let mut findings = Vec::new();
    for (alias, package) in imports(&manifest) {
        let Some(imported) = crate_of(&package) else { continue };
        if imported != known.folder && !known.may_import.contains(&imported) {
            let what = format!(
                "{folder} may not import {package}; it may import {}: move the shared part down",
                if known.may_import.is_empty() {
                    "nothing".into()
                } else {
                    known.may_import.join(" ")
                }
            );
            findings.push(Finding::new(path, line_of(text, &alias), what));
        }
    }
    findings.extend(check_doubles(path, text, &manifest));
    if folder.starts_with("crates/") {
        findings.extend(check_package(path, known.folder, &manifest));
    }
    findings
}

/// Name and lints of a crate in `crates`.
fn check_package(path: &str, folder: &str, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let expected =
        if folder == "cli" { "coretwin".to_owned() } else { format!("coretwin-{folder}") };
    let name = manifest.get("package").and_then(|package| package.get("name"));
    if name.and_then(Value::as_str) != Some(&expected) {
        findings.push(Finding::new(path, 1, format!("its folder asks for the name {expected}")));
    }
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    if lints != Some(&Value::Boolean(true)) {
        let what = "it does not take part in the workspace's lints; add [lints] workspace = true";
        findings.push(Finding::new(path, 1, what));
    }
    findings
}

/// The feature with the machines for tests is enabled by dependencies of tests alone, so that no program
/// that is shipped has it.
fn check_doubles(path: &str, text: &str, manifest: &Table) -> Vec<Finding> {
    let names_it = |value: &Value| match value {
        Value::String(feature) => feature == DOUBLES || feature.ends_with("/fake"),
        _ => false,
    };
    let lists_it = |list: Option<&Value>| {
        list.and_then(Value::as_array).is_some_and(|list| list.iter().any(names_it))
    };
    let tables = [("dependencies", true), ("build-dependencies", true), ("features", false)];
    let entries = tables.iter().filter_map(|(name, deep)| {
        Some(manifest.get(*name)?.as_table()?.iter().map(move |(name, value)| (name, value, *deep)))
    });
    let enabling = entries.flatten().filter(|(_, value, deep)| {
        lists_it(if *deep { value.get("features") } else { Some(value) })
    });
    let what = format!("it enables {DOUBLES}, the machines for tests, in what is shipped");
    enabling.map(|(name, ..)| Finding::new(path, line_of(text, name), what.clone())).collect()
}

/// Every dependency, by the name used and the package behind it.
pub(super) fn imports(manifest: &Table) -> Vec<(String, String)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let for_targets = targets.into_iter().flat_map(|targets| targets.values());
    let scopes = std::iter::once(manifest).chain(for_targets.filter_map(Value::as_table));
    let mut found = Vec::new();
    for scope in scopes {
        let tables = DEPENDENCIES.iter().filter_map(|name| scope.get(*name)?.as_table());
        for (alias, value) in tables.flatten() {
            let package = value.get("package").and_then(Value::as_str).unwrap_or(alias);
            found.push((alias.clone(), package.to_owned()));
        }
    }
    found
}

/// The folder of one of our own packages.
fn crate_of(package: &str) -> Option<&str> {
    match package {
        "coretwin" => Some("cli"),
        "xtask" => Some("../xtask"),
        _ => package.strip_prefix("coretwin-"),
    }
}

fn line_of(text: &str, name: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(name)).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}")
    }

    #[test]
    fn machines_for_tests_stay_in_tests() {
        let of = |rest: &str| {
            check_manifest("crates/lab/Cargo.toml", &manifest("coretwin-lab", rest)).len()
        };
        let host = "coretwin-host = { workspace = true, features = [\"fake\"] }\n";
        assert_eq!(of(&format!("[features]\nfake = []\n[dev-dependencies]\n{host}")), 0);
        for table in ["dependencies", "build-dependencies"] {
            assert_eq!(of(&format!("[{table}]\n{host}")), 1, "{table}");
        }
        for list in ["default = [\"fake\"]", "more = [\"coretwin-host/fake\"]"] {
            assert_eq!(of(&format!("[features]\nfake = []\n{list}\n")), 1, "{list}");
        }
    }

    #[test]
    fn a_foreign_edge_is_found_in_every_table() {
        for rest in [
            "[dependencies]\ncoretwin-host.workspace = true\n",
            "[dev-dependencies]\ncoretwin-lab = { path = \"../lab\" }\n",
            "[build-dependencies]\ncoretwin = \"1\"\n",
            "[target.'cfg(unix)'.dependencies]\ncoretwin-store = \"1\"\n",
            "[dependencies]\nmachine = { package = \"coretwin-host\", path = \"../host\" }\n",
        ] {
            let text = manifest("coretwin-stats", rest);
            let [finding] = check_manifest("crates/stats/Cargo.toml", &text)
                .try_into()
                .unwrap_or_else(|found| panic!("{rest}: {found:?}"));
            assert!(finding.line == 6 && finding.what.contains("may not import"), "{finding}");
        }
        let own =
            manifest("coretwin-stats", "[dependencies]\ncoretwin-base = \"1\"\nserde = \"1\"\n");
        assert_eq!(check_manifest("crates/stats/Cargo.toml", &own), []);
    }

    #[test]
    fn a_crate_outside_the_table_and_a_wrong_name_are_found() {
        let text = manifest("coretwin-util", "");
        assert_eq!(check_manifest("crates/util/Cargo.toml", &text).len(), 1);
        assert!(check_manifest("crates/host/Cargo.toml", &text)[0].what.contains("coretwin-host"));
        let unlinted = "[package]\nname = \"coretwin-host\"\n";
        assert!(check_manifest("crates/host/Cargo.toml", unlinted)[0].what.contains("lints"));
        assert!(check_manifest("crates/host/Cargo.toml", "[").len() == 1);
    }

    #[test]
    fn the_table_has_no_circle() {
        // Whatever a crate may import stands before it, so no chain of edges comes back.
        for (index, known) in CRATES.iter().enumerate() {
            for imported in known.may_import {
                let at = CRATES.iter().position(|other| other.folder == *imported);
                assert!(at.is_some_and(|at| at < index), "{} and {imported}", known.folder);
            }
        }
    }
}
