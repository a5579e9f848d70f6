//! Words that do not enter, each with what to write instead.

use super::Finding;
use super::source::{Source, words};

/// In code.
const IN_CODE: &[(&str, &str)] = &[
    ("dbg!", "remove it, or return the value"),
    ("todo!", "write it, or leave the function out"),
    ("unimplemented!", "write it, or leave the function out"),
    ("#[ignore]", "give the reason: #[ignore = \"…\"]"),
];

/// In comments.
const IN_COMMENTS: &[(&str, &str)] = &[
    ("TODO", "do it, or say in LIMITS.md what is missing"),
    ("FIXME", "fix it, or say in LIMITS.md what is wrong"),
    ("XXX", "say what is meant"),
];

/// In any text. Written in parts, so that this file may hold them.
const ANYWHERE: &[(&str, &str)] = &[
    (concat!("crates", ".io"), "name no package registry; cargo knows its own"),
    (concat!("pypi", ".org"), "name no package registry"),
    (concat!("pythonhosted", ".org"), "name no package registry"),
    (concat!("registry.npmjs", ".org"), "name no package registry"),
    (concat!("proxy.golang", ".org"), "name no package registry"),
    (concat!("/wo", "rk/"), "write a path from the root of the workspace"),
    (concat!("/ro", "ot/"), "write no path of one machine"),
];

/// What cargo writes by itself.
const GENERATED: &[&str] = &["Cargo.lock", "fuzz/Cargo.lock"];

pub(super) fn check_source(path: &str, source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (text, banned) in [(&source.code, IN_CODE), (&source.comments, IN_COMMENTS)] {
        for &(word, instead) in banned {
            findings.extend(words(text, word).map(|at| {
                Finding::new(path, source.line_of(at), format!("{word} does not enter; {instead}"))
            }));
        }
    }
    findings.extend(allowed_without_reason(path, source));
    findings
}

/// Lints switched off without a word why.
fn allowed_without_reason(path: &str, source: &Source) -> Vec<Finding> {
    let starts = ["#[allow(", "#![allow("].into_iter().flat_map(|start| words(&source.code, start));
    let bare = starts.filter(|&at| {
        let attribute = &source.code[at..];
        !attribute[..attribute.find(")]").unwrap_or(attribute.len())].contains("reason =")
    });
    let what = "allow without a reason does not enter; write #[expect(…, reason = \"…\")], which \
                ends when its cause does";
    bare.map(|at| Finding::new(path, source.line_of(at), what)).collect()
}

pub(super) fn check_text(path: &str, text: &str) -> Vec<Finding> {
    if GENERATED.contains(&path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for &(word, instead) in ANYWHERE {
            // A path of a machine begins there; a folder further down is none.
            let begins = |at: usize| {
                !word.starts_with('/') || !line[..at].ends_with(|c: char| c.is_alphanumeric())
            };
            if line.match_indices(word).any(|(at, _)| begins(at)) {
                let what = format!("'{word}' does not enter; {instead}");
                findings.push(Finding::new(path, index + 1, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banned_code_is_found_where_it_is_code() {
        let source = |text: &str| check_source("x.rs", &Source::parse(text));
        for sample in ["dbg!(x)", "todo!()", "#[ignore]\n", "#[allow(dead_code)]", "#![allow(x)]"] {
            assert_eq!(source(sample).len(), 1, "{sample}");
            assert_eq!(source(&format!("let s = r#\"{sample}\"#;")), [], "{sample}");
        }
        assert_eq!(source("#[ignore = \"needs root\"]"), []);
        assert_eq!(source("#![allow(dead_code, reason = \"shared by tests\")]"), []);
    }

    #[test]
    fn banned_comments_are_found_where_they_are_comments() {
        for word in ["TODO", "FIXME", "XXX"] {
            let found =
                check_source("x.rs", &Source::parse(&format!("fn a() {{}}\n// {word}: b\n")));
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].line, 2);
            assert_eq!(check_source("x.rs", &Source::parse(&format!("const {word}: u8 = 1;"))), []);
        }
    }

    #[test]
    fn registries_and_paths_of_a_machine_are_found_in_any_text() {
        for (word, _) in ANYWHERE {
            let text = format!("fine\nsee {word}x\n");
            let [finding] = check_text("README.md", &text).try_into().expect("one finding");
            assert_eq!(finding.line, 2);
            assert_eq!(check_text("Cargo.lock", &text), []);
        }
        let inside = format!("sys{}ops", concat!("/ro", "ot/"));
        assert_eq!(check_text("README.md", &inside), []);
    }
}
