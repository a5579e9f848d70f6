//! A newcomer finds anything by its file name: verbs, workloads and fuzz targets have a file each,
//! each file is reached, and one idea has one word.

use super::source::{Source, is_word};
use super::{File, Finding};

const VERBS: &str = "crates/cli/src/verb/";
const TARGETS: &str = "fuzz/fuzz_targets/";
const FUZZ_MANIFEST: &str = "fuzz/Cargo.toml";
/// Words that no file of a crate's `src` has in its name, and the one word for the idea.
const ONE_WORD: &[(&str, &str)] = &[
    ("param", "parameter"),
    ("params", "parameters"),
    ("scheduling", "scheduler"),
    ("sched", "scheduler, or the kernel's sched_ext"),
    ("compare", "comparison"),
    ("cmp", "comparison"),
    ("life", "what is summed"),
];
/// The verbs are named as people type them, and sched_ext as the kernel does.
const AS_TYPED: &[&str] = &["/verb/", "sched_ext"];

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = verbs(files);
    findings.extend(fuzz_targets(files));
    findings.extend(files.iter().filter_map(second_word));
    findings
}

/// A name with a second word for an idea that has one.
fn second_word(file: &File) -> Option<Finding> {
    let (_, path) = file.path.strip_prefix("crates/")?.split_once("/src/")?;
    let as_typed = AS_TYPED.iter().any(|part| file.path.contains(part));
    let mut words = path.trim_end_matches(".rs").split(['/', '_']).filter(|_| !as_typed);
    let (second, word) =
        words.find_map(|name| ONE_WORD.iter().find(|(second, _)| *second == name))?;
    Some(Finding::new(&file.path, 1, format!("'{second}' is called {word} here; rename it")))
}

/// Every variant of the command line's `enum Verb` has a file of its name.
fn verbs(files: &[File]) -> Vec<Finding> {
    let path = format!("{VERBS}mod.rs");
    let Some(text) = text_of(files, &path) else { return Vec::new() };
    let source = Source::parse(text);
    let missing = variants(&source.code, "Verb").into_iter().filter_map(|(at, variant)| {
        let file = format!("{VERBS}{}.rs", snake_case(&variant));
        let what = format!("the verb {variant} has no file {file}; one file per verb");
        let exists = files.iter().any(|other| other.path == file);
        (!exists).then(|| Finding::new(&path, source.line_of(at), what))
    });
    missing.collect()
}

/// Every fuzz target is in the manifest, and has seeds.
fn fuzz_targets(files: &[File]) -> Vec<Finding> {
    let manifest = text_of(files, FUZZ_MANIFEST).unwrap_or_default();
    let named =
        |file: &File| Some(file.path.strip_prefix(TARGETS)?.strip_suffix(".rs")?.to_owned());
    let targets: Vec<String> = files.iter().filter_map(named).collect();
    let mut findings = Vec::new();
    for target in &targets {
        let path = format!("{TARGETS}{target}.rs");
        if !manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")) {
            let what = format!("no [[bin]] of {FUZZ_MANIFEST} runs it; add one");
            findings.push(Finding::new(&path, 1, what));
        }
        let seeds = format!("fuzz/seeds/{target}/");
        if !files.iter().any(|file| file.path.starts_with(&seeds)) {
            let what = format!(
                "it has no seeds in {seeds}; add it to xtask/src/fuzz.rs and run \
                                cargo xtask seeds"
            );
            findings.push(Finding::new(&path, 1, what));
        }
    }
    let known = |name: &str| targets.iter().any(|target| target == name);
    for (index, line) in manifest.lines().enumerate() {
        let name =
            line.strip_prefix("path = \"fuzz_targets/").and_then(|n| n.strip_suffix(".rs\""));
        if let Some(name) = name.filter(|name| !known(name)) {
            let what = format!("there is no {TARGETS}{name}.rs; remove the [[bin]], or write it");
            findings.push(Finding::new(FUZZ_MANIFEST, index + 1, what));
        }
    }
    findings
}

fn text_of<'a>(files: &'a [File], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path)?.text.as_deref()
}

/// The variants of an enum, with their offsets: the words that follow its brace or a comma outside
/// of all brackets.
fn variants(code: &str, name: &str) -> Vec<(usize, String)> {
    let Some(start) = code.find(&format!("enum {name} {{")) else { return Vec::new() };
    let mut found = Vec::new();
    let mut depth = 0;
    let mut expected = false;
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'{' | b'(' | b'[' | b'<' => depth += 1,
            b'}' if depth == 1 => break,
            b'}' | b')' | b']' | b'>' => depth -= 1,
            _ => {}
        }
        if depth == 1 && (byte == b'{' || byte == b',') {
            expected = true;
        } else if depth == 1 && expected && byte.is_ascii_uppercase() {
            let variant = code[at..].chars().take_while(|c| is_word(*c)).collect();
            found.push((at, variant));
            expected = false;
        }
    }
    found
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), size_bytes: 1, text: Some(text.to_owned()) }
    }

    #[test]
    fn a_verb_without_its_file_is_found() {
        let main = "enum Verb {\n    /// Doc\n    #[command(name = \"x\")]\n    Study(Box<study::Args>),\n\
                    \n    SetAside { Field: u8, Other: u8 },\n}\n";
        let files =
            [file("crates/cli/src/verb/mod.rs", main), file("crates/cli/src/verb/study.rs", "")];
        let [finding] = verbs(&files).try_into().expect("one finding");
        assert_eq!(finding.line, 6);
        assert!(finding.what.contains("crates/cli/src/verb/set_aside.rs"), "{finding}");
    }

    #[test]
    fn a_fuzz_target_that_is_not_run_or_not_there_is_found() {
        let manifest = "[[bin]]\nname = \"gone\"\npath = \"fuzz_targets/gone.rs\"\n";
        let files = [file(FUZZ_MANIFEST, manifest), file("fuzz/fuzz_targets/table.rs", "")];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("no [[bin]]") && found[1].contains("no seeds"), "{found:?}");
        assert!(found[2].starts_with("fuzz/Cargo.toml:3: there is no"), "{found:?}");
    }

    #[test]
    fn a_second_word_for_one_idea_is_found() {
        let paths = ["base/src/param.rs", "lab/src/scheduling/mod.rs", "cli/src/verb/compare/x.rs"];
        let more =
            ["host/src/sched_ext/state.rs", "base/src/parameters.rs", "lab/tests/compare.rs"];
        let files = paths.iter().chain(&more).map(|path| file(&format!("crates/{path}"), ""));
        let found: Vec<String> =
            check(&files.collect::<Vec<_>>()).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("crates/base/src/param.rs:1: 'param' is called parameter here")
        );
        assert!(found[1].contains("'scheduling' is called scheduler"), "{found:?}");
    }
}
