//! The map stays true where a machine can tell: what ARCHITECTURE.md names is there, pages stay short and
//! say for whom they are, and each manifest says of the dependencies it brings what they are for.

use super::{File, Finding};

const MAP: &str = "ARCHITECTURE.md";
/// Pages that are read first, with the most bytes of each: what is longer is not read.
const SIZES: &[(&str, usize)] = &[
    ("README.md", 5 << 10),
    ("LIMITS.md", 5 << 10),
    ("FORMAT.md", 6 << 10),
    (MAP, 8 << 10),
    ("METHOD.md", 8 << 10),
];

/// The most bytes of all pages that people write.
const WRITTEN_BYTES_MAX: usize = 120_000;
/// The most words of a sentence in a page that people write.
const SENTENCE_WORDS_MAX: usize = 30;
/// Pages that are read before anybody knows for whom they are, or by those who change the code.
const FOR_ALL: [&str; 3] = ["README.md", MAP, "LIMITS.md"];

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let map = files.iter().find(|file| file.path == MAP).and_then(|file| file.text.as_deref());
    let manifests = files.iter().filter(|file| file.path.ends_with("Cargo.toml"));
    let mut findings = map.map_or_else(Vec::new, |map| missing(map, files));
    findings.extend(files.iter().filter_map(too_long));
    findings.extend(pages(files));
    findings.extend(manifests.flat_map(unexplained));
    findings
}

fn too_long(file: &File) -> Option<Finding> {
    let (_, limit) = SIZES.iter().find(|(path, _)| *path == file.path)?;
    let bytes = file.text.as_ref()?.len();
    let what = format!("{bytes} bytes, with {limit} allowed; shorten it");
    (bytes > *limit).then(|| Finding::new(&file.path, 1, what))
}

/// Pages that people write: no reference, no evidence, no output of a test.
fn pages(files: &[File]) -> Vec<Finding> {
    let is_written = |file: &&File| {
        let made = ["docs/reference/", "docs/evidence/", "crates/"];
        file.path.ends_with(".md") && !made.iter().any(|folder| file.path.starts_with(folder))
    };
    let written = || files.iter().filter(is_written);
    let text = |file: &File| file.text.clone().unwrap_or_default();
    let bytes: usize = written().map(|file| text(file).len()).sum();
    let what = format!("{bytes} bytes of pages, with {WRITTEN_BYTES_MAX} allowed; say less");
    let too_much = (bytes > WRITTEN_BYTES_MAX).then(|| Finding::new("docs", 1, what));
    let silent = written().filter(|file| {
        let opening = text(file).split_once("\n\n").map(|(_, rest)| rest.starts_with("For "));
        !FOR_ALL.contains(&file.path.as_str()) && opening != Some(true)
    });
    let what = "the page does not say at its top for whom it is; begin with \"For …\"";
    let silent = silent.map(|file| Finding::new(&file.path, 1, what));
    silent.chain(too_much).chain(written().flat_map(long_sentences)).collect()
}

/// Sentences that nobody reads to their end. A list's item and a paragraph end one, a table and a program have none.
fn long_sentences(file: &File) -> Vec<Finding> {
    let (mut findings, mut is_program, mut words, mut began) = (Vec::new(), false, 0, 1);
    for (index, line) in file.text.iter().flat_map(|text| text.lines()).enumerate() {
        let line = line.trim();
        is_program ^= line.starts_with("```");
        let is_prose = !is_program && !line.starts_with(['|', '#', '`', '<']) && !line.is_empty();
        if !is_prose || line.starts_with(['*', '-']) {
            words = 0;
        }
        for word in line.split_whitespace().filter(|_| is_prose) {
            if words == 0 {
                began = index + 1;
            }
            words += usize::from(word.contains(char::is_alphabetic));
            let word = word.trim_end_matches(['*', ')', '`']);
            if words > SENTENCE_WORDS_MAX && word.ends_with(['.', '?', '!', ':', ';']) {
                let what = format!(
                    "{words} words in a sentence, {SENTENCE_WORDS_MAX} allowed; say it in two"
                );
                findings.push(Finding::new(&file.path, began, what));
            }
            if word.ends_with(['.', '?', '!', ':', ';']) {
                words = 0;
            }
        }
    }
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

/// Dependencies of which the manifest that has their version does not say what they are for.
fn unexplained(file: &File) -> Vec<Finding> {
    let (mut listed, mut before, mut findings) = (false, "", Vec::new());
    for (index, line) in file.text.iter().flat_map(|text| text.lines()).enumerate() {
        if line.starts_with('[') {
            listed = line.ends_with("dependencies]");
        }
        let name = line
            .split_once(['=', '.'])
            .filter(|_| !line.starts_with('['))
            .map_or("", |(name, _)| name.trim());
        let elsewhere = ["workspace = true", "path = "].iter().any(|word| line.contains(word));
        if listed
            && !elsewhere
            && !line.starts_with('#')
            && !name.is_empty()
            && !before.starts_with('#')
        {
            let what = format!("say what {name} is for, in a comment above it");
            findings.push(Finding::new(&file.path, index + 1, what));
        }
        before = line;
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
        let [long] = check(&[file(MAP, &"a\n".repeat(4097))]).try_into().expect("one");
        assert!(long.what.starts_with("8194 bytes, with 8192 allowed"), "{long}");
        let [long] = check(&[file("LIMITS.md", &"a\n".repeat(4097))]).try_into().expect("one");
        assert!(long.what.starts_with("8194 bytes, with 5120 allowed"), "{long}");
    }

    #[test]
    fn a_page_for_nobody_and_too_many_words_are_found() {
        let page = |path: &str, text: &str| check(&[file(path, text)]).len();
        assert_eq!(page("docs/x.md", "# X\n\nFor a test.\n"), 0);
        for (path, found) in [
            ("docs/x.md", 1),
            ("docs/method/x.md", 1),
            ("docs/reference/x.md", 0),
            ("README.md", 0),
        ] {
            assert_eq!(page(path, "# X\n\nSome words.\n"), found, "{path}");
        }
        let words = format!("# X\n\nFor a test.\n{}", "a\n".repeat(WRITTEN_BYTES_MAX / 2));
        let [long] = check(&[file("docs/x.md", &words)]).try_into().expect("one");
        assert!(long.what.contains("bytes of pages"), "{long}");
    }

    #[test]
    fn a_sentence_too_long_is_found_where_it_begins() {
        let found = |text: &str| {
            let text = format!("# X\n\nFor a test.\n\n{text}");
            check(&[file("docs/x.md", &text)]).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let long = "word ".repeat(31);
        let said = "docs/x.md:5: 31 words in a sentence, 30 allowed; say it in two";
        assert_eq!(found(&format!("{}end.\n", "word ".repeat(30))), [said]);
        assert_eq!(found(&format!("Short one.\n{}.\n", long.trim())), [said.replace(":5:", ":6:")]);
        for fine in [format!("| {long}. |"), format!("```sh\n{long}.\n```"), "word; ".repeat(40)] {
            assert_eq!(found(&fine), [""; 0], "{fine}");
        }
        let list = format!("* {0}\n* {0}.\n", "word ".repeat(20).trim());
        assert_eq!(found(&list), [""; 0]);
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let text = "[dependencies]\ncoretwin-base = { path = \"x\" }\n# Records.\nserde = \"1\"\ntar = \"1\"\n\
                    regex.workspace = true\n\n[features]\nbpf = []\n";
        let [finding] = check(&[file("crates/lab/Cargo.toml", text)]).try_into().expect("one");
        assert_eq!(
            finding.to_string(),
            "crates/lab/Cargo.toml:5: say what tar is for, in a comment above it"
        );
    }
}
