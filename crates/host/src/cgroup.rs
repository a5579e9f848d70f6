//! The control groups this process is in, versions 1 and 2: where their files lie.
//!
//! A container sees its group either as the mount itself (with a cgroup namespace) or as a deep
//! path of a mount that shows only that part; `mountinfo` tells which (cgroups(7)).

use crate::root::Root;
use coretwin_base::machine::cpu_set::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// How long limits are taken as they were read.
const LIMITS_FOR: Duration = Duration::from_secs(10);
/// Groups whose limits are remembered.
const LIMITS_MAX: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// Controllers of version 1; empty for version 2.
    controllers: Vec<String>,
    /// Our own folder and every folder above it up to the mount, own first, under the root.
    folders: Vec<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Cgroups {
    hierarchies: Vec<Hierarchy>,
}

struct Mount {
    root: String,
    point: String,
    version_2: bool,
    options: Vec<String>,
}

impl Cgroups {
    /// Finds them through `/proc/self/cgroup` and `/proc/self/mountinfo`; `None` if there are none.
    pub(crate) fn read(root: &Root) -> Self {
        Self::of(root, "proc/self")
    }

    /// Those of the task with this folder, `proc/PID/task/TID`.
    pub(crate) fn of(root: &Root, task: &str) -> Self {
        Self::parse(&mounts(root), &root.text(&format!("{task}/cgroup")).unwrap_or_default())
    }

    fn parse(mounts: &[Mount], groups: &str) -> Self {
        let mut hierarchies = Vec::new();
        for (names, path) in lines(groups) {
            let controllers: Vec<String> =
                names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let mount = mounts.iter().find(|mount| {
                if controllers.is_empty() {
                    mount.version_2
                } else {
                    !mount.version_2 && controllers.iter().all(|name| mount.options.contains(name))
                }
            });
            if let Some(mount) = mount {
                hierarchies.push(Hierarchy { controllers, folders: folders(mount, path) });
            }
        }
        Self { hierarchies }
    }

    /// Our folders for a controller, own first: those of version 1 if it is mounted there, else
    /// those of version 2.
    fn folders(&self, controller: &str) -> (bool, &[String]) {
        let version_1 =
            self.hierarchies.iter().find(|h| h.controllers.iter().any(|name| name == controller));
        match version_1 {
            Some(hierarchy) => (false, &hierarchy.folders),
            None => {
                let version_2 = self.hierarchies.iter().find(|h| h.controllers.is_empty());
                (true, version_2.map_or(&[], |hierarchy| &hierarchy.folders))
            }
        }
    }

    /// The values of a controller's file in our own group and every group above it, own first:
    /// `(path of the group's folder, text)`. The file's name differs between the versions.
    pub(crate) fn values<'a>(
        &'a self,
        root: &'a Root,
        controller: &str,
        file_1: &'a str,
        file_2: &'a str,
    ) -> impl Iterator<Item = (String, String)> + 'a {
        let (version_2, folders) = self.folders(controller);
        let file = if version_2 { file_2 } else { file_1 };
        folders.iter().filter_map(move |folder| {
            let text = root.fact(&format!("{folder}/{file}"))?;
            Some((folder.clone(), text))
        })
    }

    /// Folder and list of the CPUs that our tasks may run on, of the nearest group that says so.
    pub(crate) fn effective_cpus(&self, root: &Root) -> Option<(String, String)> {
        // Version 1 has `effective_cpus` only on some kernels; `cpus` is the request, cut to the
        // parent's by the kernel itself.
        ["cpuset.effective_cpus", "cpuset.cpus"]
            .into_iter()
            .find_map(|file| self.values(root, "cpuset", file, "cpuset.cpus.effective").next())
    }

    /// CPUs of CPU time per second that a quota leaves us, if there is one: the tightest of our
    /// own group and those above it (`cpu.max`, or `cpu.cfs_quota_us` over `cpu.cfs_period_us`).
    pub(crate) fn cpu_quota(&self, root: &Root) -> Option<f64> {
        let (version_2, folders) = self.folders("cpu");
        let quota = |folder: &String| -> Option<f64> {
            let (quota, period) = if version_2 {
                let text = root.fact(&format!("{folder}/cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                (quota.parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?)
            } else {
                (
                    root.number::<f64>(&format!("{folder}/cpu.cfs_quota_us"))?,
                    root.number::<f64>(&format!("{folder}/cpu.cfs_period_us"))?,
                )
            };
            // Version 1 writes -1 for none; version 2 writes "max", which is no number.
            (quota > 0.0 && period > 0.0).then_some(quota / period)
        };
        folders.iter().filter_map(quota).min_by(f64::total_cmp)
    }
}

/// What a group may use of the machine.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU seconds a second, by its quota or the tightest above it (`cpu.max`); `None` without one.
    pub quota_cpus: Option<f64>,
    /// CPUs that its tasks may run on (`cpuset.cpus.effective`); `None` if nothing says so.
    pub cpus: Option<CpuSet>,
}

/// The limits of a group, by its path in the hierarchy, read again when they are old.
pub struct AllLimits {
    root: Root,
    mounts: Vec<Mount>,
    read: BTreeMap<String, Limits>,
    since: Instant,
}

impl AllLimits {
    pub fn new(root: &Root) -> Self {
        let (root, mounts) = (root.clone(), mounts(root));
        Self { root, mounts, read: BTreeMap::new(), since: Instant::now() }
    }

    pub fn of(&mut self, path: &str) -> Limits {
        if self.since.elapsed() >= LIMITS_FOR || self.read.len() >= LIMITS_MAX {
            self.read.clear();
            self.since = Instant::now();
        }
        if let Some(limits) = self.read.get(path) {
            return limits.clone();
        }
        let lines = format!("0::{path}\n1:cpu:{path}\n2:cpuset:{path}\n");
        let groups = Cgroups::parse(&self.mounts, &lines);
        let cpus = groups.effective_cpus(&self.root);
        let cpus = cpus.and_then(|(_, text)| CpuSet::parse(&text).ok());
        let limits = Limits { quota_cpus: groups.cpu_quota(&self.root), cpus };
        self.read.insert(path.to_owned(), limits.clone());
        limits
    }
}

/// The folder of a group, from its path in the hierarchy (`/a/b`) or the folder itself
/// (`/sys/fs/cgroup/a/b`); `None` if there is no such group. The hierarchy is the one that counts CPU
/// time: that of version 1 with `cpuacct`, or `cpu`, else that of version 2, else any, for its tasks.
pub fn folder(root: &Root, path: &str) -> Option<String> {
    let mount = usage_mount(root)?;
    // A mount may show only a part of the hierarchy.
    let below = match path.strip_prefix(&mount.point) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => path.strip_prefix(mount.root.trim_end_matches('/'))?,
    };
    let folder = format!("{}/{}", mount.point, below.trim_matches('/'));
    let folder = folder.trim_end_matches('/').to_owned();
    let is_group = !below.contains("..") && root.exists(&format!("{folder}/cgroup.procs"));
    is_group.then_some(folder)
}

/// The path in the hierarchy of a folder that [`folder`] gave, as `/proc/PID/cgroup` shows it.
pub fn path_of(root: &Root, folder: &str) -> String {
    let Some(mount) = usage_mount(root) else { return folder.to_owned() };
    let below = folder.strip_prefix(&mount.point).unwrap_or(folder);
    match format!("{}{below}", mount.root.trim_end_matches('/')) {
        path if path.is_empty() => "/".to_owned(),
        path => path,
    }
}

/// CPU time that a group used so far, in seconds; `None` if its files do not say.
pub fn usage_s(root: &Root, folder: &str) -> Option<f64> {
    if let Some(nanoseconds) = root.number::<u64>(&format!("{folder}/cpuacct.usage")) {
        return Some(nanoseconds as f64 / 1e9);
    }
    let stat = root.fact(&format!("{folder}/cpu.stat"))?;
    let line = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(line.trim().parse::<u64>().ok()? as f64 / 1e6)
}

fn usage_mount(root: &Root) -> Option<Mount> {
    let mut mounts = mounts(root);
    let has = |mount: &Mount, controller: &str| {
        !mount.version_2 && mount.options.iter().any(|name| name == controller)
    };
    // In the order in which `tasks` takes the lines of `/proc/PID/cgroup`.
    let choices: [&dyn Fn(&Mount) -> bool; 5] = [
        &|mount| has(mount, "cpuacct"),
        &|mount| has(mount, "cpu"),
        &|mount| mount.version_2,
        &|mount| !mount.options.iter().any(|name| name.starts_with("name=")),
        &|_| true,
    ];
    let position = choices.iter().find_map(|choice| mounts.iter().position(choice))?;
    Some(mounts.swap_remove(position))
}

/// The folder of a group and all above it up to the mount point.
fn folders(mount: &Mount, path: &str) -> Vec<String> {
    // A path outside our cgroup namespace starts with "/.."; a path that the mount does not show
    // is not reachable either. In both cases the mount itself is the nearest we see.
    let inside = match path.strip_prefix(mount.root.trim_end_matches('/')) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => "",
    };
    let mut parts: Vec<&str> = inside.split('/').filter(|part| !part.is_empty()).collect();
    if parts.contains(&"..") {
        parts.clear();
    }
    let folder = |depth| [&[mount.point.as_str()], &parts[..depth]].concat().join("/");
    (0..=parts.len()).rev().map(folder).collect()
}

/// Where hierarchies with CPU sets are mounted, below the root, and their versions.
pub(crate) fn cpuset_mounts(root: &Root) -> Vec<(String, u8)> {
    mounts(root)
        .into_iter()
        .filter(|mount| mount.version_2 || mount.options.iter().any(|name| name == "cpuset"))
        .map(|mount| {
            let point = mount.point.trim_start_matches('/').to_owned();
            (point, if mount.version_2 { 2 } else { 1 })
        })
        .collect()
}

pub(crate) fn mount_points(root: &Root) -> Vec<String> {
    mounts(root).into_iter().map(|mount| mount.point.trim_start_matches('/').to_owned()).collect()
}

/// Controllers and paths of lines `4:cpu,cpuacct:/path` of version 1, `0::/path` of version 2
/// (cgroups(7)).
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'))
}

fn mounts(root: &Root) -> Vec<Mount> {
    mounts_of(&root.text("proc/self/mountinfo").unwrap_or_default())
}

/// The cgroup mounts of a `mountinfo` text (proc(5)).
fn mounts_of(text: &str) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let before: Vec<&str> = before.split(' ').collect();
            let after: Vec<&str> = after.split(' ').collect();
            let kind = *after.first()?;
            if kind != "cgroup" && kind != "cgroup2" {
                return None;
            }
            Some(Mount {
                root: (*before.get(3)?).to_owned(),
                point: (*before.get(4)?).to_owned(),
                version_2: kind == "cgroup2",
                options: after.get(2)?.split(',').map(str::to_owned).collect(),
            })
        })
        .collect()
}

const MOUNTED: &str = "sys/fs/cgroup";
/// Numbers that are remembered; a machine that makes cgroups without end has more.
const KNOWN_MAX: usize = 65_536;

/// Paths of the cgroups of version 2 by their numbers, as programs in the kernel tell them: of those that
/// are there, or were when they were asked for.
#[derive(Debug)]
pub struct CgroupPaths {
    root: Root,
    known: BTreeMap<u64, Option<String>>,
}

impl CgroupPaths {
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
    use crate::fake::of_files;
    use proptest::prelude::*;

    const V2: &str = "30 24 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_tightest_quota_above_us_counts() {
        let (_folder, root) = of_files(&[
            ("proc/self/mountinfo", V2),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
        ]);
        let cgroups = Cgroups::read(&root);
        assert_eq!(cgroups.cpu_quota(&root), Some(1.5));
        let nearest = cgroups.values(&root, "cpu", "", "cpu.max").next().expect("file");
        assert_eq!(nearest, ("/sys/fs/cgroup/a/b".to_owned(), "max 100000".to_owned()));
    }

    #[test]
    fn limits_are_the_tightest_quota_and_the_nearest_cpuset() {
        let (_folder, root) = of_files(&[
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/cpuset.cpus.effective", "0-2\n"),
        ]);
        let mut limits = AllLimits::new(&root);
        let cpus = |text| CpuSet::parse(text).ok();
        assert_eq!(limits.of("/a/b"), Limits { quota_cpus: Some(0.5), cpus: cpus("0-2") });
        assert_eq!(limits.of("/a"), Limits { quota_cpus: Some(1.5), cpus: cpus("0-2") });
        assert_eq!(limits.of("/c"), Limits { quota_cpus: None, cpus: cpus("0-7") });
        assert_eq!(limits.of("/../a\n0::/a"), Limits { quota_cpus: None, cpus: cpus("0-7") });
    }

    #[test]
    fn a_container_without_namespace_sees_its_group_as_the_mount() {
        let (_folder, root) = of_files(&[
            (
                "proc/self/mountinfo",
                "31 24 0:27 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(Cgroups::read(&root).cpu_quota(&root), Some(0.5));
    }

    #[test]
    fn a_group_is_found_by_path_or_folder_and_its_time_is_read() {
        let (_folder, root) = of_files(&[
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/a/b/cgroup.procs", "1\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1500000\nuser_usec 1\n"),
        ]);
        for path in ["/a/b", "/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a/b/"] {
            let found = folder(&root, path).expect(path);
            assert_eq!(found, "/sys/fs/cgroup/a/b");
            assert_eq!(path_of(&root, &found), "/a/b");
            assert_eq!(usage_s(&root, &found), Some(1.5));
        }
        for path in ["/a/c", "/a/b/../b", "/sys/fs/cgroup/x"] {
            assert_eq!(folder(&root, path), None, "{path}");
        }
    }

    #[test]
    fn without_a_counter_of_cpu_time_the_hierarchy_of_cpu_or_any_tells_whose_tasks_are_where() {
        let line = |name: &str| {
            format!("31 24 0:27 / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n")
        };
        for (mounts, point) in [
            (line("memory") + &line("cpu"), "cpu"),
            (line("name=systemd") + &line("memory"), "memory"),
            (line("name=systemd"), "name=systemd"),
        ] {
            let group = format!("sys/fs/cgroup/{point}/a/cgroup.procs");
            let (_folder, root) = of_files(&[("proc/self/mountinfo", &mounts), (&group, "1\n")]);
            let found = folder(&root, "/a").expect("found");
            assert_eq!(found, format!("/sys/fs/cgroup/{point}/a"));
            assert_eq!((path_of(&root, &found).as_str(), usage_s(&root, &found)), ("/a", None));
        }
    }

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

    proptest! {
        #[test]
        fn never_panics(
            mountinfo in "(cgroup2? |- |/|\\.\\.|[0-9a-z:, \\n])*",
            path in "[0-9a-z:,/\\.\\n]*",
        ) {
            let _ = Cgroups::parse(&mounts_of(&mountinfo), &path).folders("cpu");
        }
    }
}
