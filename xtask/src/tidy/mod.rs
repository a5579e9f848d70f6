//! `cargo xtask tidy`: the rules of the house that a compiler does not know.
//!
//! Every rule is a function of texts, so that its own test can hand it a violating sample. Findings
//! read `path:line: what, and what to do`.

mod circles;
pub(crate) mod confined;
mod edges;
mod files;
mod findable;
mod map;
mod purity;
mod sizes;
pub(crate) mod source;
mod words;

use anyhow::{Context, Result};
use std::fmt;
use std::path::Path;

/// Something a rule objects to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Path from the root of the workspace.
    path: String,
    /// From 1.
    line: usize,
    /// What is wrong, and what to do.
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// A file of the workspace.
struct File {
    /// Path from the root, with `/`.
    path: String,
    size_bytes: u64,
    /// Its text; `None` if it is not UTF-8.
    text: Option<String>,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Folders of built, cloned or measured things.
const SKIPPED: &[&str] =
    &["target", ".git", "fuzz/target", "fuzz/corpus", "fuzz/artifacts", "fuzz/coverage"];

/// Prints every finding; whether there was none.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let findings = check(root)?;
    for finding in &findings {
        crate::print(&format!("{finding}\n"));
    }
    crate::print(&match findings.len() {
        0 => "tidy: nothing to object\n".to_owned(),
        count => format!("tidy: {count} finding(s)\n"),
    });
    Ok(findings.is_empty())
}

/// The tables of records as they are to be, with their paths.
pub(crate) fn formats_of(root: &Path) -> Result<Vec<(String, String)>> {
    written(&read_all(root)?)
}

fn written(files: &[File]) -> Result<Vec<(String, String)>> {
    let sources = files.iter().filter_map(|file| Some((&*file.path, file.text.as_deref()?)));
    crate::formats::pages(sources)
}

/// Pages of records that are not what the doc comments make.
fn old_pages(files: &[File]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    // A folder without a reference has no records either.
    if !files.iter().any(|file| file.path == "FORMAT.md") {
        return Ok(findings);
    }
    for (path, text) in written(files)? {
        let kept =
            files.iter().find(|file| file.path == path).and_then(|file| file.text.as_deref());
        if kept != Some(&text) {
            findings.push(Finding::new(&path, 1, "the page is old; run cargo xtask docs"));
        }
    }
    Ok(findings)
}

/// Applies every rule.
fn check(root: &Path) -> Result<Vec<Finding>> {
    let files = read_all(root)?;
    let mut findings = edges::check(&files);
    findings.extend(circles::check(&files));
    findings.extend(findable::check(&files));
    findings.extend(map::check(&files));
    findings.extend(old_pages(&files)?);
    for file in &files {
        findings.extend(files::check(file));
        let Some(text) = &file.text else { continue };
        findings.extend(words::check_text(&file.path, text));
        if file.is_rust() {
            let source = source::Source::parse(text);
            findings.extend(sizes::check(&file.path, &source));
            findings.extend(words::check_source(&file.path, &source));
            findings.extend(purity::check(&file.path, &source));
            findings.extend(confined::check(&file.path, &source));
        }
    }
    findings.sort();
    Ok(findings)
}

/// Every file, in order of path.
fn read_all(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let at = root.join(&folder);
        for entry in std::fs::read_dir(&at).with_context(|| format!("reading {}", at.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let kind = entry.file_type()?;
            if SKIPPED.contains(&path.as_str()) || path.starts_with("study-") {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let bytes =
                    std::fs::read(entry.path()).with_context(|| format!("reading {path}"))?;
                let size_bytes = bytes.len() as u64;
                files.push(File { path, size_bytes, text: String::from_utf8(bytes).ok() });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let findings = check(&crate::root()).expect("a readable workspace");
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }

    #[test]
    fn findings_of_files_on_disk_name_path_and_line() {
        let folder = tempfile::tempdir().expect("folder");
        let source = folder.path().join("crates/stats/src");
        std::fs::create_dir_all(&source).expect("folders");
        std::fs::create_dir_all(folder.path().join("target")).expect("folder");
        std::fs::write(folder.path().join("target/built.o"), "x").expect("write");
        std::fs::write(source.join("clock.rs"), "//! A clock.\nuse std::time::Instant;\n")
            .expect("write");
        std::fs::write(folder.path().join("notes.xyz"), "x").expect("write");
        let findings = check(folder.path()).expect("findings");
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.iter().any(|line| line.starts_with("crates/stats/src/clock.rs:2: ")));
        assert!(lines.iter().any(|line| line.starts_with("notes.xyz:1: ")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with("target")), "{lines:?}");
    }
}
