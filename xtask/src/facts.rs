//! `cargo xtask facts`: dependencies, licences, sizes of the binaries, unsafe blocks by module.

use crate::tidy::{confined, source::Source};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints them.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let packages = packages(root, &target()?)?;
    let mut text = dependencies(&packages)?;
    text += &sizes(root)?;
    text += &unsafe_blocks(root)?;
    crate::print(&text);
    Ok(true)
}

/// A package of the build, tests left out.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: String,
    /// Where its source is.
    pub(crate) folder: PathBuf,
    /// Whether it is ours.
    pub(crate) own: bool,
    /// Whether one of ours asks for it.
    pub(crate) direct: bool,
}

/// What rustc builds for where nothing else is said.
pub(crate) fn target() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("starting rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let target = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(target.context("rustc does not say what it builds for")?.to_owned())
}

/// Every package that the programs are built from, for a kind of machine.
pub(crate) fn packages(root: &Path, target: &str) -> Result<Vec<Package>> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .args(["--filter-platform", target])
        .current_dir(root)
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("reading metadata")?;
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (word(&node["id"]), node))
        .collect();
    let own: BTreeSet<String> = list(&metadata["workspace_members"]).iter().map(word).collect();
    // The chores are no part of what is built for people.
    let is_program = |id: &&String| !id.contains("xtask");
    let mut reached: BTreeSet<String> = own.iter().filter(is_program).cloned().collect();
    let mut direct = BTreeSet::new();
    let mut ahead: Vec<String> = reached.iter().cloned().collect();
    while let Some(id) = ahead.pop() {
        for dependency in list(&nodes.get(&id).unwrap_or(&Value::Null)["deps"]) {
            let used = list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev");
            let name = word(&dependency["pkg"]);
            if used && own.contains(&id) {
                direct.insert(name.clone());
            }
            if used && reached.insert(name.clone()) {
                ahead.push(name);
            }
        }
    }
    let mut packages: Vec<Package> = list(&metadata["packages"])
        .iter()
        .filter(|package| reached.contains(&word(&package["id"])))
        .map(|package| {
            let id = word(&package["id"]);
            Package {
                name: word(&package["name"]),
                version: word(&package["version"]),
                licence: word(&package["license"]),
                folder: PathBuf::from(word(&package["manifest_path"])).with_file_name(""),
                own: own.contains(&id),
                direct: direct.contains(&id),
            }
        })
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

fn dependencies(packages: &[Package]) -> Result<String> {
    let foreign: Vec<&Package> = packages.iter().filter(|package| !package.own).collect();
    let direct: Vec<&str> =
        foreign.iter().filter(|package| package.direct).map(|p| p.name.as_str()).collect();
    let mut text = String::new();
    writeln!(text, "dependencies  {} direct, {} in all", direct.len(), foreign.len())?;
    writeln!(text, "  direct: {}", direct.join(" "))?;
    let mut licences: BTreeMap<&str, u32> = BTreeMap::new();
    for package in &foreign {
        *licences.entry(&package.licence).or_default() += 1;
    }
    writeln!(text, "licences")?;
    for (licence, count) in licences {
        writeln!(text, "  {count:>4}  {licence}")?;
    }
    Ok(text)
}

/// Of the programs as packaged, and as cargo builds them for release.
fn sizes(root: &Path) -> Result<String> {
    let target = crate::target_folder(root);
    let mut text = "binaries\n".to_owned();
    for folder in ["package/stage/usr/bin", "release"] {
        for name in ["coretwin", "coretwin-worker"] {
            let path = target.join(folder).join(name);
            match std::fs::metadata(&path) {
                Ok(file) => {
                    let mib = file.len() as f64 / f64::from(1 << 20);
                    writeln!(text, "  {mib:>6.1} MiB  {folder}/{name}")?;
                }
                Err(_) => writeln!(text, "  not built   {folder}/{name}")?,
            }
        }
    }
    Ok(text)
}

fn unsafe_blocks(root: &Path) -> Result<String> {
    let mut text = "unsafe blocks and functions\n".to_owned();
    let mut total = 0;
    for place in confined::UNSAFE {
        let mut count = 0;
        let mut ahead = vec![root.join(place)];
        while let Some(path) = ahead.pop() {
            if path.is_dir() {
                for entry in std::fs::read_dir(&path)? {
                    ahead.push(entry?.path());
                }
            } else if path.extension().is_some_and(|end| end == "rs") {
                let source = std::fs::read_to_string(&path)
                    .with_context(|| format!("reading {}", path.display()))?;
                count += Source::parse(&source).word("unsafe").count();
            }
        }
        total += count;
        writeln!(text, "  {count:>4}  {place}")?;
    }
    writeln!(text, "  {total:>4}  in all")?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> BTreeSet<String> {
        let text = std::fs::read_to_string(crate::root().join("deny.toml")).expect("deny.toml");
        let config: toml::Table = toml::from_str(&text).expect("TOML");
        let list = config["licenses"]["allow"].as_array().expect("a list").clone();
        list.iter().map(|licence| licence.as_str().expect("a word").to_owned()).collect()
    }

    /// Whether one of the licences offered, with all it asks for, is allowed.
    fn permits(licence: &str, allowed: &BTreeSet<String>) -> bool {
        let licence = licence.replace(['(', ')'], "");
        let all = |part: &str| part.split(" AND ").all(|one| allowed.contains(one.trim()));
        // `(A OR B) AND C` reads as A, or B AND C here, which is enough to find a stranger.
        licence.replace('/', " OR ").split(" OR ").any(all)
    }

    #[test]
    fn every_dependency_has_a_licence_that_is_allowed() {
        let allowed = allowed();
        let packages = packages(&crate::root(), &target().expect("host")).expect("metadata");
        for package in packages.iter().filter(|package| !package.own) {
            assert!(permits(&package.licence, &allowed), "{}: {}", package.name, package.licence);
        }
        assert!(!permits("GPL-3.0-only", &allowed) && !permits("MIT AND SSPL-1.0", &allowed));
    }
}
