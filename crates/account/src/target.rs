//! Whose CPU time is accounted for, and which tasks of a window are theirs.

use crate::Error;
use coretwin_base::account::{TaskUse, Window};
use coretwin_host::root::Root;
use coretwin_host::tasks::Tasks;
use coretwin_host::{cgroup, process};
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    All,
    Process(u32),
    /// That of a cgroup and those below it; the path from the root of its hierarchy, `/a/b`.
    Cgroup(String),
}

#[derive(Debug)]
pub struct Watched {
    root: Root,
    target: Target,
    /// Processes that are known to belong to it.
    members: BTreeSet<u32>,
    /// CPU time of the process and its descendants up to when the watch began, in ticks.
    ticks_before: u64,
    /// CPU time of the cgroup when the watch began, in seconds.
    usage_before_s: Option<f64>,
    /// The same at the last look: what a cgroup used is gone with it.
    usage_last_s: Option<f64>,
    folder: Option<String>,
}

impl Watched {
    /// Begins to watch. A process of this program's own is a command it has started: orphans of it come
    /// to this program, and belong to it. Errors: [`Error::Target`] if it is not there.
    pub fn new(root: &Root, target: Target) -> Result<Self, Error> {
        let mut watched = Self {
            root: root.clone(),
            target,
            members: BTreeSet::new(),
            ticks_before: 0,
            usage_before_s: None,
            usage_last_s: None,
            folder: None,
        };
        match &watched.target {
            Target::All => {}
            Target::Process(pid) => {
                // A command of our own may be over already, and still is to be waited for.
                Tasks::new(root)
                    .process(*pid)
                    .filter(|process| !process.ended || process.parent == std::process::id())
                    .ok_or_else(|| no_process(*pid))?;
                watched.members.insert(*pid);
            }
            Target::Cgroup(path) => {
                let folder = cgroup::folder(root, path).ok_or_else(|| no_cgroup(path))?;
                watched.folder = Some(folder);
            }
        }
        watched.refresh();
        watched.begin();
        Ok(watched)
    }

    /// From now on its time counts: for a method that took long to start.
    pub fn begin(&mut self) {
        if let Target::Process(pid) = self.target {
            self.ticks_before = self.tree(pid).map_or(0, |(ticks, _)| ticks);
        }
        self.usage_before_s = self.usage_s();
        self.usage_last_s = self.usage_before_s;
    }

    fn usage_s(&self) -> Option<f64> {
        cgroup::usage_s(&self.root, self.folder.as_deref()?)
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Looks up who belongs to it now: descendants that only sleep leave no other trace.
    pub fn refresh(&mut self) {
        if let Target::Process(pid) = self.target {
            self.members.extend(process::descendants(&self.root, pid));
        }
    }

    /// Whether it is still there. Of a cgroup that is, its CPU time is read, in case it goes.
    pub fn is_there(&mut self) -> bool {
        self.usage_last_s = self.usage_s().or(self.usage_last_s);
        match &self.target {
            Target::All => true,
            Target::Process(pid) => {
                Tasks::new(&self.root).process(*pid).is_some_and(|process| !process.ended)
            }
            Target::Cgroup(_) => self.folder.as_ref().is_some_and(|path| self.root.exists(path)),
        }
    }

    pub fn pick<'a>(&mut self, window: &'a Window) -> Vec<&'a TaskUse> {
        let own = std::process::id();
        if let Target::Process(root) = self.target {
            let is_command =
                window.tasks.iter().any(|task| task.pid == root && task.parent == Some(own));
            // Parents may stand behind their children: again until nobody is new.
            loop {
                let before = self.members.len();
                for task in &window.tasks {
                    let Some(parent) = task.parent else { continue };
                    if self.members.contains(&parent) || (is_command && parent == own) {
                        self.members.insert(task.pid);
                    }
                }
                if self.members.len() == before {
                    break;
                }
            }
        }
        let belongs = |task: &&TaskUse| match &self.target {
            Target::All => true,
            Target::Process(_) => self.members.contains(&task.pid),
            Target::Cgroup(path) => task.cgroup.as_deref().is_some_and(|of| is_within(of, path)),
        };
        window.tasks.iter().filter(belongs).collect()
    }

    /// CPU time of the target that the kernel knows as a whole, for what its tasks do not show: of a
    /// cgroup, or of a process that still is there with its descendants. In seconds, with how far it
    /// may be off.
    pub fn whole_s(&self) -> Option<Whole> {
        match &self.target {
            Target::All => None,
            Target::Cgroup(_) => {
                let used_s = self.usage_s().or(self.usage_last_s)? - self.usage_before_s?;
                Some(Whole { used_s, error_s: 0.02 })
            }
            Target::Process(pid) => {
                let hertz = rustix::param::clock_ticks_per_second().max(1) as f64;
                let (ticks, processes) = self.tree(*pid)?;
                let used_s = ticks.saturating_sub(self.ticks_before) as f64 / hertz;
                // User and system time of each are cut down to a tick, at both ends.
                let error_s = (4.0 + 3.0 * (processes as f64).sqrt()) / hertz;
                Some(Whole { used_s, error_s })
            }
        }
    }

    /// CPU time of a process and all that descend from it, in ticks, and how many they are. What a process waited for is in it, so the
    /// sum grows by what all of them ran, however short they lived; whose parent died is no longer in
    /// it, so it may be too small.
    fn tree(&self, pid: u32) -> Option<(u64, usize)> {
        let mut tasks = Tasks::new(&self.root);
        let own = tasks.process(pid)?;
        let below = process::descendants(&self.root, pid);
        let below = below.into_iter().filter_map(|process| tasks.process(process));
        let all: Vec<u64> =
            std::iter::once(own).chain(below).map(|one| one.ticks + one.waited_ticks).collect();
        Some((all.iter().sum(), all.len()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whole {
    pub used_s: f64,
    pub error_s: f64,
}

fn is_within(path: &str, group: &str) -> bool {
    let rest = path.strip_prefix(group.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn no_process(pid: u32) -> Error {
    Error::Target(format!(
        "there is no process {pid}, or it is not visible from here; name one that runs (a process of \
         another container or of another user may be hidden)"
    ))
}

fn no_cgroup(path: &str) -> Error {
    Error::Target(format!(
        "there is no cgroup {path}; name its folder below /sys/fs/cgroup, or its path as \
         /proc/PID/cgroup shows it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::{Balance, MethodName, Siblings, SiblingsOrigin, Unseen};

    fn window(tasks: &[(u32, u32, &str)]) -> Window {
        let task = |(pid, parent, cgroup): &(u32, u32, &str)| TaskUse {
            pid: *pid,
            tid: *pid,
            parent: Some(*parent),
            cgroup: Some((*cgroup).to_owned()),
            ..TaskUse::default()
        };
        Window {
            method: MethodName::Bounds,
            elapsed_s: 1.0,
            siblings: Siblings { origin: SiblingsOrigin::Kernel, cores: Vec::new() },
            cores: Vec::new(),
            tasks: tasks.iter().map(task).collect(),
            pairs: Vec::new(),
            clash_s: None,
            unseen: Unseen::default(),
            balance: Balance::default(),
            looks: 0,
        }
    }

    fn watched(target: Target, members: &[u32]) -> Watched {
        Watched {
            root: Root::at("/nowhere"),
            target,
            members: members.iter().copied().collect(),
            ticks_before: 0,
            usage_before_s: None,
            usage_last_s: None,
            folder: None,
        }
    }

    #[test]
    fn descendants_belong_whatever_their_order_and_orphans_of_a_command_too() {
        let own = std::process::id();
        let mut one = watched(Target::Process(5), &[5]);
        let window = window(&[(7, 6, "/"), (6, 5, "/"), (5, own, "/"), (8, own, "/"), (9, 1, "/")]);
        let pids: Vec<u32> = one.pick(&window).iter().map(|task| task.pid).collect();
        assert_eq!(pids, [7, 6, 5, 8]);
        let mut other = watched(Target::Process(6), &[6]);
        let pids: Vec<u32> = other.pick(&window).iter().map(|task| task.pid).collect();
        assert_eq!(pids, [7, 6]);
    }

    #[test]
    fn what_children_ran_that_nobody_saw_is_in_the_whole() {
        let folder = tempfile::tempdir().expect("folder");
        let write = |process: u32, parent: u32, ticks: u32, waited: u32| {
            let text = format!(
                "{process} (sh) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 {waited} 0 20 0 1 0 50 0 0 0 \
                 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n"
            );
            let path = folder.path().join(format!("proc/{process}"));
            std::fs::create_dir_all(&path).expect("folder");
            std::fs::write(path.join("stat"), text).expect("written");
        };
        write(5, 1, 100, 40);
        write(6, 5, 300, 0);
        let mut one = Watched::new(&Root::at(folder.path()), Target::Process(5)).expect("there");
        one.begin();
        // The child ran half a second more and was waited for; then came one of which only that is
        // known.
        std::fs::remove_dir_all(folder.path().join("proc/6")).expect("gone");
        write(5, 1, 110, 40 + 350 + 200);
        let whole = one.whole_s().expect("known");
        assert!((whole.used_s - (0.1 + 0.5 + 2.0)).abs() < 1e-9, "{whole:?}");
    }

    #[test]
    fn a_cgroup_of_version_1_that_goes_keeps_the_time_that_was_seen() {
        let folder = tempfile::tempdir().expect("folder");
        let mount = "31 24 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";
        let group = folder.path().join("sys/fs/cgroup/cpuacct/a");
        let usage = |seconds: f64| {
            std::fs::write(group.join("cpuacct.usage"), format!("{}\n", seconds * 1e9))
                .expect("usage");
        };
        for made in [&group, &folder.path().join("proc/self")] {
            std::fs::create_dir_all(made).expect("folder");
        }
        std::fs::write(folder.path().join("proc/self/mountinfo"), mount).expect("mounts");
        std::fs::write(group.join("cgroup.procs"), "").expect("processes");
        usage(1.0);
        let target = Target::Cgroup("/a".to_owned());
        let mut one = Watched::new(&Root::at(folder.path()), target).expect("there");
        usage(3.5);
        assert!(one.is_there());
        std::fs::remove_dir_all(&group).expect("gone");
        assert!(!one.is_there());
        assert_eq!(one.whole_s().map(|whole| whole.used_s), Some(2.5));
    }

    #[test]
    fn a_cgroup_has_those_below_it() {
        let window = window(&[(1, 0, "/a"), (2, 0, "/a/b"), (3, 0, "/ab"), (4, 0, "/")]);
        let pids = |path: &str| {
            let mut one = watched(Target::Cgroup(path.to_owned()), &[]);
            one.pick(&window).iter().map(|task| task.pid).collect::<Vec<u32>>()
        };
        assert_eq!(pids("/a"), [1, 2]);
        assert_eq!(pids("/"), [1, 2, 3, 4]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let root = Root::system();
        let error = Watched::new(&root, Target::Process(41_943_040)).expect_err("none").to_string();
        assert!(error.contains("no process 41943040"), "{error}");
        let error = Watched::new(&root, Target::Cgroup("/no/such".to_owned())).expect_err("none");
        assert!(error.to_string().contains("no cgroup /no/such"), "{error}");
    }
}
