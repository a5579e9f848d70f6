//! Names for two studies: what tells them apart, short enough for the head of a column.

use super::records::StudyRecords;
use coretwin_base::machine::environment::Environment;
use std::collections::BTreeSet;

const LENGTH_MAX: usize = 20;

/// The kernel release, else the machine, the host, the processor or the folder, whichever is the
/// first to differ; else `A` and `B`.
pub(super) fn heads(studies: [&StudyRecords<'_>; 2]) -> [String; 2] {
    let candidates = [
        studies.map(|study| fact(study.environment, "kernel.release")),
        studies.map(|study| Some(study.plan.machine.clone())),
        studies.map(|study| host(study.environment)),
        studies.map(|study| fact(study.environment, "cpu.model")),
        studies.map(|study| folder(study.folder)),
    ];
    let names = candidates.into_iter().find_map(|pair| {
        let [first, second] = pair;
        let pair = [first?, second?];
        (pair[0] != pair[1]).then_some(pair)
    });
    let names = names.map(|names| {
        let short = names.each_ref().map(|name| version(name));
        if short[0] == short[1] { names } else { short }
    });
    names
        .filter(|names| names.iter().all(|name| name.chars().count() <= LENGTH_MAX))
        .unwrap_or_else(|| ["A", "B"].map(str::to_owned))
}

/// Names for several studies or fleets: their folders, else letters from `A`.
pub fn folder_heads(folders: &[&str]) -> Vec<String> {
    let names: Vec<Option<String>> = folders.iter().map(|path| folder(path)).collect();
    let known: BTreeSet<&str> = names.iter().flatten().map(String::as_str).collect();
    let short = known.iter().all(|name| name.chars().count() <= LENGTH_MAX);
    if short && known.len() == folders.len() {
        return names.into_iter().flatten().collect();
    }
    let letter = |index: usize| match u8::try_from(index).ok().filter(|index| *index < 26) {
        Some(index) => char::from(b'A' + index).to_string(),
        None => format!("#{}", index + 1),
    };
    (0..folders.len()).map(letter).collect()
}

/// A release without what a distribution adds to it, `6.12.86` of `6.12.86+deb13-amd64`.
fn version(name: &str) -> String {
    let starts_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
    let end = name.find(['-', '+']).filter(|_| starts_with_digit);
    name[..end.unwrap_or(name.len())].to_owned()
}

/// A fact that was the same in every arm, all the time.
fn fact(environment: &Environment, key: &str) -> Option<String> {
    only(environment.facts.values().map(|facts| facts.get(key))).flatten().cloned()
}

fn host(environment: &Environment) -> Option<String> {
    only(environment.sessions.iter().map(|session| &session.host)).cloned()
}

fn only<Item: PartialEq>(items: impl IntoIterator<Item = Item>) -> Option<Item> {
    let mut items = items.into_iter();
    let first = items.next()?;
    items.all(|other| other == first).then_some(first)
}

fn folder(path: &str) -> Option<String> {
    let name = path.trim_end_matches('/').rsplit('/').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_lose_their_tail_and_other_names_do_not() {
        assert_eq!(version("6.12.86+deb13-cloud-amd64"), "6.12.86");
        assert_eq!(version("2.4.19"), "2.4.19");
        assert_eq!(version("lab-1"), "lab-1");
        assert_eq!(folder("a/b/").as_deref(), Some("b"));
        assert_eq!(folder("/"), None);
    }

    #[test]
    fn folders_of_one_name_get_letters() {
        assert_eq!(folder_heads(&["a/old", "b/new/", "mid"]), ["old", "new", "mid"]);
        assert_eq!(folder_heads(&["a/x", "b/x"]), ["A", "B"]);
        assert_eq!(folder_heads(&["/", "a-name-of-more-than-twenty", "x"]), ["A", "B", "C"]);
    }
}
