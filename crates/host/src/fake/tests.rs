//! The table of fake machines itself, and machines in temporary folders for other tests.

use super::*;

pub(crate) fn written(name: &str) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().expect("folder");
    let root = machine(name).expect(name).write(folder.path()).expect("written");
    (folder, root)
}

/// A machine in a temporary folder that has these files only.
pub(crate) fn of_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().expect("folder");
    let root = Root::at(folder.path());
    put(&root, files);
    (folder, root)
}

pub(crate) fn put(root: &Root, files: &[(&str, &str)]) {
    for (path, text) in files {
        sched_ext::put(root, path, text.as_bytes()).expect("written");
    }
}

#[test]
fn names_are_unique_and_say_what_they_stand_for() {
    let mut names: Vec<&str> = FAKES.iter().map(|fake| fake.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FAKES.len());
    assert!(FAKES.iter().all(|fake| !fake.about.is_empty()));
}

#[test]
fn numberings() {
    let numbers = |numbering| {
        let fake = Fake {
            numbering,
            cores: &[Cores { count: 2, threads: 2, mhz: 0, capacity: 0 }],
            ..FAKES[0]
        };
        let mut cores: BTreeMap<u32, CpuSet> = BTreeMap::new();
        for thread in fake.threads() {
            cores.entry(thread.core).or_default().insert(thread.cpu);
        }
        cores.values().map(CpuSet::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(numbers(Numbering::Adjacent), "0-1 2-3");
    assert_eq!(numbers(Numbering::Halves), "0,2 1,3");
    assert_eq!(numbers(Numbering::Strided(8)), "0-1 8-9");
}
