//! Paths of cgroups by their numbers, as programs in the kernel tell them.

use crate::root::Root;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

/// Where the hierarchy of version 2 is mounted.
const MOUNTED: &str = "sys/fs/cgroup";
/// Numbers that are remembered; a machine that makes cgroups without end has more.
const KNOWN_MAX: usize = 65_536;

/// The cgroups of version 2 that are there, or were when they were asked for.
#[derive(Debug)]
pub struct CgroupPaths {
    root: Root,
    known: BTreeMap<u64, Option<String>>,
}

impl CgroupPaths {
    /// Knows none yet.
    #[must_use]
    pub fn new(root: &Root) -> Self {
        Self { root: root.clone(), known: BTreeMap::new() }
    }

    /// The path of the cgroup with this inode number, from the root of the hierarchy, as in
    /// `/proc/PID/cgroup`. `None` if it has gone, or this machine has only version 1.
    pub fn path(&mut self, inode: u64) -> Option<String> {
        if !self.known.contains_key(&inode) {
            if self.known.len() >= KNOWN_MAX {
                self.known.clear();
            }
            self.scan();
            self.known.entry(inode).or_insert(None);
        }
        self.known.get(&inode).cloned().flatten()
    }

    fn scan(&mut self) {
        if !self.root.exists(&format!("{MOUNTED}/cgroup.controllers")) {
            return;
        }
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let at = self.root.path(&format!("{MOUNTED}{folder}"));
            let Ok(metadata) = std::fs::metadata(&at) else { continue };
            let path = if folder.is_empty() { "/".to_owned() } else { folder.clone() };
            self.known.insert(metadata.ino(), Some(path));
            let Ok(entries) = std::fs::read_dir(&at) else { continue };
            let below = entries
                .filter_map(Result::ok)
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(
                below.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_found_by_its_number_when_it_is_there() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |path: &str| folder.path().join("sys/fs/cgroup").join(path);
        std::fs::create_dir_all(at("a/b")).expect("made");
        let inode = |path: &str| std::fs::metadata(at(path)).expect("there").ino();
        let root = Root::at(folder.path());
        assert_eq!(CgroupPaths::new(&root).path(inode("a/b")), None, "version 1");
        std::fs::write(at("cgroup.controllers"), "cpu").expect("written");
        let mut paths = CgroupPaths::new(&root);
        assert_eq!(paths.path(inode("a/b")).as_deref(), Some("/a/b"));
        assert_eq!(paths.path(inode("")).as_deref(), Some("/"));
        std::fs::create_dir(at("a/new")).expect("made");
        assert_eq!(paths.path(inode("a/new")).as_deref(), Some("/a/new"));
        assert_eq!(paths.path(u64::MAX), None);
        std::fs::remove_dir(at("a/b")).expect("removed");
        assert_eq!(paths.known.values().flatten().count(), 4, "what has gone keeps its name");
    }
}
