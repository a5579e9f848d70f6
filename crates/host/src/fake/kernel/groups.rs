//! CPU sets of control groups and the affinities of tasks, when CPUs come and go
//! (kernel/cgroup/cpuset.c, kernel/sched/core.c).

use super::{GROUPS, Release};
use coretwin_base::machine::cpu_set::CpuSet;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// All groups below the root by name, `jobs/a`, and all tasks.
#[derive(Debug)]
pub(super) struct Groups {
    release: Release,
    root: CpuSet,
    groups: BTreeMap<String, Group>,
    tasks: BTreeMap<u32, Task>,
}

#[derive(Debug, Clone)]
struct Group {
    cpus: CpuSet,
    effective: CpuSet,
    partition: Option<Partition>,
}

#[derive(Debug, Clone)]
struct Partition {
    word: String,
    valid: bool,
}

#[derive(Debug, Clone)]
struct Task {
    group: String,
    /// What its owner asked for; kernels since 6.2 remember it.
    asked: Option<CpuSet>,
    cpus: CpuSet,
}

fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Groups {
    pub(super) fn new(release: Release, online: &CpuSet) -> Self {
        let root = online.clone();
        Self { release, root, groups: BTreeMap::new(), tasks: BTreeMap::new() }
    }

    fn mount(&self) -> &'static str {
        GROUPS.iter().find(|(version, _)| *version == self.release.groups).map_or("", |(_, at)| at)
    }

    pub(super) fn folder(&self, name: &str) -> String {
        format!("{}/{name}", self.mount())
    }

    fn effective(&self, name: &str) -> CpuSet {
        self.groups.get(name).map_or_else(|| self.root.clone(), |group| group.effective.clone())
    }

    pub(super) fn add(&mut self, name: &str, cpus: CpuSet, kind: Option<&str>, online: &CpuSet) {
        let partition = match (self.release.groups, kind) {
            (1, _) => None,
            (_, word) => Some(Partition { word: word.unwrap_or("member").to_owned(), valid: true }),
        };
        let group = Group { effective: cpus.clone(), cpus, partition };
        self.groups.insert(name.to_owned(), group);
        self.settle(online);
    }

    /// Moves the tasks of a group to the root, which gives them `all` CPUs, and deletes it.
    pub(super) fn delete(&mut self, name: &str, all: &CpuSet) {
        self.groups.remove(name);
        let remembers = self.release.at_least(6, 2);
        for task in self.tasks.values_mut().filter(|task| task.group == name) {
            task.group = String::new();
            task.cpus = task.asked.clone().filter(|_| remembers).unwrap_or_else(|| all.clone());
        }
    }

    pub(super) fn add_task(&mut self, task: u32, group: &str, cpus: CpuSet) {
        let asked = Some(cpus.clone());
        self.tasks.insert(task, Task { group: group.to_owned(), asked, cpus });
    }

    pub(super) fn end_task(&mut self, task: u32) {
        self.tasks.remove(&task);
    }

    /// sched_setaffinity(2).
    pub(super) fn set_affinity(&mut self, task: u32, cpus: &CpuSet) -> Result<(), Errno> {
        let group = self.tasks.get(&task).ok_or(Errno::SRCH)?.group.clone();
        let usable = cpus.intersection(&self.effective(&group));
        let task = self.tasks.get_mut(&task).ok_or(Errno::SRCH)?;
        if usable.is_empty() {
            return Err(Errno::INVAL);
        }
        task.asked = Some(cpus.clone());
        // In the root every CPU may be asked for, also one that is offline.
        task.cpus = if group.is_empty() { cpus.clone() } else { usable };
        Ok(())
    }

    pub(super) fn write(&mut self, path: &str, text: &str, online: &CpuSet) -> Result<(), Errno> {
        let below = path.strip_prefix(self.mount()).ok_or(Errno::ACCESS)?;
        let (name, file) = below.trim_start_matches('/').rsplit_once('/').ok_or(Errno::ACCESS)?;
        let above = match parent(name) {
            "" => self.root.clone(),
            parent => self.groups.get(parent).ok_or(Errno::NOENT)?.cpus.clone(),
        };
        let inside = |cpus: &CpuSet| cpus.is_subset(&above) && !cpus.is_empty();
        let before = self.effective_of_tasks();
        let group = self.groups.get_mut(name).ok_or(Errno::NOENT)?;
        match (file, self.release.groups) {
            ("cpuset.cpus", 1) => {
                let cpus = CpuSet::parse(text).map_err(|_| Errno::INVAL)?;
                if !inside(&cpus) {
                    return Err(Errno::ACCESS);
                }
                group.cpus = cpus;
            }
            ("cpuset.cpus", _) => {
                group.cpus = CpuSet::parse(text).map_err(|_| Errno::INVAL)?;
            }
            ("cpuset.cpus.partition", 2) => {
                let known = ["member", "root", "isolated"].contains(&text);
                let partition = group.partition.as_mut().filter(|_| known).ok_or(Errno::INVAL)?;
                *partition = Partition { word: text.to_owned(), valid: true };
            }
            ("tasks", 1) => {
                if group.cpus.is_empty() {
                    return Err(Errno::NOSPC);
                }
                let task = text.parse().ok().and_then(|task: u32| self.tasks.get_mut(&task));
                name.clone_into(&mut task.ok_or(Errno::SRCH)?.group);
            }
            _ => return Err(Errno::ACCESS),
        }
        self.settle(online);
        self.follow_groups(&before);
        Ok(())
    }

    /// After CPUs went or came. `all`: every CPU of the machine.
    pub(super) fn follow(&mut self, online: &CpuSet, all: &CpuSet) {
        let before = self.effective_of_tasks();
        let mut lost = BTreeSet::new();
        for (id, task) in &mut self.tasks {
            // Its last CPU went: it may run anywhere, and no kernel remembers where it could.
            if task.cpus.intersection(online).is_empty() {
                task.cpus = all.clone();
                task.asked = None;
                lost.insert(*id);
            }
        }
        self.settle(online);
        // For these any CPU set is another than before.
        let before = before.into_iter().filter(|(id, _)| !lost.contains(id)).collect();
        self.follow_groups(&before);
    }

    fn effective_of_tasks(&self) -> BTreeMap<u32, CpuSet> {
        self.tasks.iter().map(|(id, task)| (*id, self.effective(&task.group))).collect()
    }

    /// Tasks whose CPU set is another than before get its CPUs; kernels since 6.2 keep to what was
    /// asked for as far as it goes. Those in the root are left alone.
    fn follow_groups(&mut self, before: &BTreeMap<u32, CpuSet>) {
        let remembers = self.release.at_least(6, 2);
        for (id, task) in &mut self.tasks {
            let Some(group) = self.groups.get(&task.group).map(|group| &group.effective) else {
                continue;
            };
            if before.get(id) != Some(group) {
                let asked = task.asked.as_ref().filter(|_| remembers);
                let kept = asked.map_or_else(CpuSet::new, |asked| asked.intersection(group));
                task.cpus = if kept.is_empty() { group.clone() } else { kept };
            }
        }
    }

    /// Brings CPU sets in line with the CPUs that are online, parents first (names sort so).
    fn settle(&mut self, online: &CpuSet) {
        self.root = online.clone();
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in &names {
            let above = self.effective(parent(name));
            let Some(group) = self.groups.get_mut(name) else { continue };
            if self.release.groups == 1 {
                group.cpus = group.cpus.intersection(online);
                group.effective = group.cpus.clone();
                if group.cpus.is_empty() {
                    self.move_up(name);
                }
                continue;
            }
            // A partition of the root takes its CPUs from it, and lives while it has one.
            let own = group.cpus.intersection(online);
            let takes = group.partition.as_mut().is_some_and(|partition| {
                let may = partition.valid || self.release.partitions_revive;
                partition.valid = partition.word == "member" || (may && !own.is_empty());
                partition.valid && partition.word != "member"
            });
            if takes {
                self.root = self.root.difference(&own);
                group.effective = own;
            } else {
                let shared = group.cpus.intersection(&above);
                group.effective = if shared.is_empty() { above } else { shared };
            }
        }
    }

    /// A group of version 1 without a CPU: its tasks go to the nearest one above that has some.
    fn move_up(&mut self, name: &str) {
        let mut above = parent(name);
        while self.groups.get(above).is_some_and(|group| group.cpus.is_empty()) {
            above = parent(above);
        }
        let above = above.to_owned();
        for task in self.tasks.values_mut().filter(|task| task.group == name) {
            task.group.clone_from(&above);
        }
    }

    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::new();
        for (name, group) in &self.groups {
            let mut fact = |file: &str, text: String| {
                facts.insert(format!("cpuset {}/{file}", self.folder(name)), text);
            };
            fact("cpuset.cpus", group.cpus.to_string());
            fact(self.effective_file(), group.effective.to_string());
            if let Some(partition) = &group.partition {
                fact("cpuset.cpus.partition", partition.text());
            }
        }
        for (id, task) in &self.tasks {
            // What a kernel remembers comes back with the CPUs.
            let remembered = task.asked.as_ref().filter(|_| self.release.at_least(6, 2));
            let cpus = remembered.unwrap_or(&task.cpus).to_string();
            facts.insert(format!("task {id}"), cpus);
            if self.release.groups == 1 {
                let folder = format!("/{}", self.folder(&task.group));
                facts.insert(format!("group of task {id}"), folder.trim_end_matches('/').into());
            }
        }
        facts
    }

    fn effective_file(&self) -> &'static str {
        match self.release.groups {
            1 => "cpuset.effective_cpus",
            _ => "cpuset.cpus.effective",
        }
    }

    pub(super) fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let members = |group: &str| -> String {
            let own = self.tasks.iter().filter(|(_, task)| task.group == group);
            own.map(|(id, _)| format!("{id}\n")).collect::<String>().trim_end().to_owned()
        };
        let names: BTreeSet<&str> = self.groups.keys().map(String::as_str).collect();
        for name in names.into_iter().chain([""]) {
            let folder = self.folder(name);
            let folder = folder.trim_end_matches('/');
            if let Some(group) = self.groups.get(name) {
                files.push((format!("{folder}/cpuset.cpus"), group.cpus.to_string()));
                if let Some(partition) = &group.partition {
                    files.push((format!("{folder}/cpuset.cpus.partition"), partition.text()));
                }
            }
            let effective = self.effective(name).to_string();
            files.push((format!("{folder}/{}", self.effective_file()), effective));
            let tasks = if self.release.groups == 1 { "tasks" } else { "cgroup.threads" };
            files.push((format!("{folder}/{tasks}"), members(name)));
        }
        for (id, task) in &self.tasks {
            let stat =
                format!("{id} (worker {id}) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {id}5 0");
            let status = format!("Name:\tworker {id}\nCpus_allowed_list:\t{}", task.cpus);
            files.push((format!("proc/{id}/stat"), stat.clone()));
            files.push((format!("proc/{id}/task/{id}/stat"), stat));
            files.push((format!("proc/{id}/task/{id}/status"), status));
            let hierarchy = if self.release.groups == 1 { "3:cpuset" } else { "0:" };
            let group = format!("{hierarchy}:/{}", task.group);
            files.push((format!("proc/{id}/task/{id}/cgroup"), group));
        }
        files
    }
}

impl Partition {
    fn text(&self) -> String {
        match self.valid {
            true => self.word.clone(),
            false => format!("{} invalid (No CPU in its set is online)", self.word),
        }
    }
}
