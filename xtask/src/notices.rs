//! The licences of whatever a package has linked into its programs, which ask to be handed on with them.

use crate::facts::Package;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Beginnings of the names of files with a licence or what it asks to be told, in capitals.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Every package with its licence, then every text once, with those it is of.
pub(crate) fn text(packages: &[Package]) -> Result<String> {
    let mut head =
        "Libraries in the programs, and their licences. The texts follow.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in packages.iter().filter(|package| !package.own) {
        writeln!(head, "{} {}: {}", package.name, package.version, package.licence)?;
        for text in of(&package.folder)? {
            texts.entry(text).or_default().push(&package.name);
        }
    }
    let mut texts: Vec<(String, Vec<&str>)> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, names) in texts {
        write!(head, "\n{}\n{}\n\n{text}\n", "=".repeat(78), names.join(", "))?;
    }
    Ok(head)
}

/// The texts in a package's folder, in order of name, without the spaces that make no difference.
fn of(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        path.is_file() && NAMES.iter().any(|known| name.starts_with(known))
    });
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        Ok(lines.trim_matches('\n').to_owned())
    };
    paths.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_two_packages_is_there_once_under_both_names() {
        let folder = tempfile::tempdir().expect("folder");
        let package = |name: &str, file: &str, text: &str| {
            let folder = folder.path().join(name);
            fs::create_dir(&folder).expect("folder");
            fs::write(folder.join(file), text).expect("text");
            fs::write(folder.join("lib.rs"), "no licence").expect("source");
            let (name, version, licence) = (name.to_owned(), "1.0.0".to_owned(), "MIT".to_owned());
            Package { name, version, licence, folder, own: false, direct: true }
        };
        let packages = [
            package("a", "LICENSE-MIT", "Permission \nis granted\n\n"),
            package("b", "license.txt", "Permission\r\nis granted"),
            package("c", "NOTICE", "By somebody"),
        ];
        let text = text(&packages).expect("text");
        assert!(text.contains("b 1.0.0: MIT\n"), "{text}");
        assert!(text.contains("\na, b\n\nPermission\nis granted\n"), "{text}");
        assert!(text.contains("\nc\n\nBy somebody\n"), "{text}");
        assert_eq!(text.matches("Permission").count(), 1, "{text}");
        assert!(!text.contains("no licence"), "{text}");
    }
}
