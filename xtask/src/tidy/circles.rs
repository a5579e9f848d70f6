//! No file imports another in a circle, so that each can be read after those it imports.
//!
//! A file and the files of its own folder (`study.rs` or `study/mod.rs` before `study/arms.rs`) are one
//! thing for this rule: a folder's face hands on what its files have, and they take its words.

use super::source::{Source, is_word, words};
use super::{File, Finding};
use std::collections::{BTreeMap, BTreeSet};

/// A module: its crate's folder, and its path in there.
type Module = (String, Vec<String>);

/// What each file imports of its crate, and by which path.
type Arrows<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let modules: BTreeMap<Module, &File> =
        files.iter().filter_map(|file| Some((module(&file.path)?, file))).collect();
    let arrows: Arrows<'_> = modules
        .iter()
        .map(|(module, file)| (file.path.as_str(), imports(module, file, &modules)))
        .collect();
    let mut left: BTreeSet<&str> = arrows.keys().copied().collect();
    let mut findings = Vec::new();
    while let Some(first) = left.pop_first() {
        let from = reached(&arrows, first);
        let ring: Vec<&str> =
            from.into_iter().filter(|file| reached(&arrows, file).contains(first)).collect();
        for file in &ring {
            left.remove(file);
        }
        if !ring.is_empty() {
            findings.push(Finding::new(first, 1, told(&arrows, &ring)));
        }
    }
    findings
}

/// The module that a file is; none if it is a test's or belongs to no crate.
fn module(path: &str) -> Option<Module> {
    let (krate, rest) = path.strip_suffix(".rs")?.split_once("/src/")?;
    let mut names: Vec<String> = rest.split('/').map(str::to_owned).collect();
    if names.iter().any(|name| name == "tests") {
        return None;
    }
    if matches!(names.last()?.as_str(), "mod" | "lib" | "main") {
        names.pop();
    }
    Some((krate.to_owned(), names))
}

/// The files that one imports, and the path it names each by.
fn imports<'a>(
    (krate, at): &Module,
    file: &File,
    modules: &BTreeMap<Module, &'a File>,
) -> BTreeMap<&'a str, String> {
    let code = Source::parse(file.text.as_deref().unwrap_or_default()).code;
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut found = BTreeMap::new();
    let known = |path: &[String]| modules.get(&(krate.clone(), path.to_vec())).copied();
    for path in paths(code) {
        let mut names = path.split("::").peekable();
        let mut to: Vec<String> = match names.peek() {
            Some(&"crate") => names.next().map(|_| Vec::new()).unwrap_or_default(),
            Some(&"self") => names.next().map(|_| at.clone()).unwrap_or_default(),
            Some(&"super") => {
                let mut above = at.clone();
                while names.next_if_eq(&"super").is_some() {
                    above.pop();
                }
                above
            }
            _ => at.clone(),
        };
        while let Some(name) =
            names.next_if(|name| known(&[&to[..], &[(*name).to_owned()]].concat()).is_some())
        {
            to.push(name.to_owned());
        }
        let one_folder = at.starts_with(&to) || to.starts_with(at);
        if let Some(target) = known(&to).filter(|_| !one_folder) {
            found.insert(target.path.as_str(), path);
        }
    }
    found
}

/// Every path that a text imports or names from the root of its crate.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in words(code, "use") {
        let text = code[start + 3..].split(';').next().unwrap_or_default();
        expand("", text, &mut found);
    }
    for start in words(code, "crate").chain(words(code, "super")) {
        let path: String = code[start..].chars().take_while(|&c| is_word(c) || c == ':').collect();
        found.push(path.trim_end_matches(':').to_owned());
    }
    found
}

/// Takes `a::{b, c::{d, e}}` apart.
fn expand(before: &str, text: &str, found: &mut Vec<String>) {
    let Some((head, rest)) = text.split_once('{') else {
        let name = text.split_whitespace().next().unwrap_or_default();
        if !name.is_empty() {
            found.push(format!("{before}{name}"));
        }
        return;
    };
    let before = format!("{before}{}", head.trim());
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut start) = (0_u32, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                expand(&before, &inside[start..at], found);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&before, &inside[start..], found);
}

/// Every file that an import leads to from a file, over others too.
fn reached<'a>(arrows: &Arrows<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for to in arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(*to) {
                next.push(to);
            }
        }
    }
    seen
}

/// What ties a circle, and what to do.
fn told(arrows: &Arrows<'_>, ring: &[&str]) -> String {
    let ties = ring.iter().flat_map(|file| {
        let within = arrows[file].iter().filter(|(to, _)| ring.contains(to));
        within.map(move |(_, path)| format!("{file} takes {path}"))
    });
    let ties: Vec<String> = ties.collect();
    format!(
        "files import each other in a circle ({}); move what they share into a file that both import",
        ties.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/x/src/{path}"),
            size_bytes: 0,
            text: Some((*text).to_owned()),
        };
        let files: Vec<File> = texts.iter().map(file).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn circles_are_found_whichever_way_they_are_written() {
        let of_three = [
            ("a.rs", "use crate::{b::{B, D}, d};\n"),
            ("b.rs", "use std::fmt;\ntype C = super::c::C;\n"),
            ("c/mod.rs", "mod e;\n"),
            ("c/e.rs", "use super::super::a as other;\n"),
            ("d.rs", "use crate::b;\n"),
        ];
        assert!(found(&of_three).is_empty(), "{:?}", found(&of_three));
        let mut of_four = of_three;
        of_four[2].1 = "use super::a::A;\n";
        let told = found(&of_four);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("crates/x/src/a.rs:1: "), "{told:?}");
        assert!(told[0].contains("b.rs takes super::c::C"), "{told:?}");
    }

    #[test]
    fn a_folder_s_face_and_tests_make_no_circle() {
        let texts = [
            ("a.rs", "pub mod b;\nuse b::B;\n"),
            ("a/b.rs", "use super::A;\n#[cfg(test)]\nmod tests {\n use crate::c::C;\n}\n"),
            ("c.rs", "use crate::a::b::B; // crate::c::X\n"),
        ];
        assert!(found(&texts).is_empty(), "{:?}", found(&texts));
    }
}
