//! What differs from a saved state, and the write that would put it right.
//!
//! Restoring and reporting are the same comparison: a step writes what its gaps say, and what the
//! comparison still finds afterwards is what is left to do.

use super::CONTROL;
use super::capture;
use super::kernel::online_file;
use super::restore_order::Step;
use super::saved::{Cpuset, Interrupt, SavedState, Task};
use crate::{Error, root::Root};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::SmtControl;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Something that is not as it was saved; after `off`, what `restore` would undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What, such as `cpu3`, `interrupt 24 (nvme0q3)`, `cpuset /sys/fs/cgroup/jobs`.
    pub what: String,
    pub saved: String,
    pub now: String,
    /// The kernel places it and takes no wish: nothing is to be done.
    pub managed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) step: Step,
    pub(super) difference: Difference,
    pub(super) remedy: Remedy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remedy {
    /// A write to a file.
    Write { path: String, text: String },
    /// The affinity of a task.
    Affinity { task: u32, cpus: CpuSet },
    /// Nothing we can do; what one should know, as a sentence.
    None(String),
    /// Nothing is to be done: it follows from something else.
    Follows,
}

/// The gaps of one step, in the order in which they can be closed.
pub(super) fn gaps(root: &Root, saved: &SavedState, step: Step) -> Result<Vec<Gap>, Error> {
    Ok(match step {
        Step::Control => control(root, saved).into_iter().collect(),
        Step::Cpus => cpus(root, saved)?,
        Step::Cpusets => saved.cpusets.iter().flat_map(|set| cpuset(root, set)).collect(),
        Step::Members => members(root, saved),
        Step::Interrupts => {
            saved.interrupts.iter().filter_map(|saved| interrupt(root, saved)).collect()
        }
        Step::Tasks => saved.tasks.iter().filter_map(|task| affinity(root, saved, task)).collect(),
    })
}

fn gap(step: Step, what: String, saved: &str, now: &str, remedy: Remedy) -> Gap {
    let (saved, now) = (saved.to_owned(), now.to_owned());
    Gap { step, difference: Difference { what, saved, now, managed: false }, remedy }
}

/// Whether a saved word meant that SMT was on. `1` is what a kernel since 6.6 shows after `off`
/// failed half-way: SMT is on, with a word that cannot be asked for.
pub(super) fn was_on(saved: &SmtControl) -> bool {
    matches!(saved, SmtControl::On | SmtControl::Threads(1))
}

fn control(root: &Root, saved: &SavedState) -> Option<Gap> {
    let saved = saved.control.as_ref()?;
    let now = capture::control(root);
    if now.as_ref().is_some_and(|now| now == saved || (was_on(saved) && *now == SmtControl::On)) {
        return None;
    }
    let word = now.as_ref().map_or_else(|| "missing".to_owned(), SmtControl::word);
    let write = |text: String| Remedy::Write { path: CONTROL.to_owned(), text };
    let remedy = match saved {
        SmtControl::Threads(1) => write("on".to_owned()),
        SmtControl::On | SmtControl::Off | SmtControl::Threads(_) => write(saved.word()),
        // Such a word is never asked for: `forceoff` cannot be taken back.
        _ => Remedy::None(format!("smt/control was '{}' and reads '{word}'", saved.word())),
    };
    Some(gap(Step::Control, "smt/control".to_owned(), &saved.word(), &word, remedy))
}

fn cpus(root: &Root, saved: &SavedState) -> Result<Vec<Gap>, Error> {
    let (present, online) = capture::present_and_online(root)?;
    let word = |online: bool| if online { "online" } else { "offline" };
    let mut found = Vec::new();
    for asked in [true, false] {
        for cpu in saved.present.intersection(&present).iter() {
            let was = saved.online.contains(cpu);
            if was == asked && online.contains(cpu) != asked {
                let text = u8::from(asked).to_string();
                let remedy = Remedy::Write { path: online_file(cpu), text };
                found.push(gap(Step::Cpus, format!("cpu{cpu}"), word(was), word(!was), remedy));
            }
        }
    }
    for cpu in saved.present.difference(&present).iter() {
        let was = word(saved.online.contains(cpu));
        let text = format!("CPU {cpu} was {was} and is not in the machine any more");
        found.push(gap(Step::Cpus, format!("cpu{cpu}"), was, "missing", Remedy::None(text)));
    }
    for cpu in present.difference(&saved.present).iter() {
        let now = word(online.contains(cpu));
        let text = format!("CPU {cpu} is new since the state was saved; it is left {now}");
        found.push(gap(Step::Cpus, format!("cpu{cpu}"), "missing", now, Remedy::None(text)));
    }
    Ok(found)
}

fn cpuset(root: &Root, saved: &Cpuset) -> Vec<Gap> {
    let what = |file: &str| format!("cpuset {}/{file}", saved.path);
    let Some(now) = capture::cpuset(root, &saved.path, saved.version) else {
        let text = format!("the control group /{} was deleted meanwhile", saved.path);
        let cpus = saved.cpus.to_string();
        let remedy = Remedy::None(text);
        return vec![gap(Step::Cpusets, what("cpuset.cpus"), &cpus, "deleted", remedy)];
    };
    let mut found = Vec::new();
    let mut add = |file: &str, saved: &str, now: &str, remedy| {
        found.push(gap(Step::Cpusets, what(file), saved, now, remedy));
    };
    let write = |file: &str, text: &str| Remedy::Write {
        path: format!("{}/{file}", saved.path),
        text: text.to_owned(),
    };
    // The kernel only takes CPUs away, and of version 1 only; all else was somebody's purpose.
    let is_kernels = saved.version == 1 && now.cpus.is_subset(&saved.cpus);
    let is_set_anew = saved.cpus != now.cpus && !is_kernels;
    if saved.cpus != now.cpus {
        let file = "cpuset.cpus";
        let (text, text_now) = (saved.cpus.to_string(), now.cpus.to_string());
        let remedy = match is_set_anew {
            false => write(file, &text),
            true => Remedy::None(format!(
                "somebody gave the control group /{} the CPUs {text_now} meanwhile, instead of \
                 {text}; they are left so",
                saved.path
            )),
        };
        add(file, &text, &text_now, remedy);
    }
    if let Some((word, text)) = partition_to_write(saved, &now) {
        let file = "cpuset.cpus.partition";
        // With other CPUs it is its owner's business what kind of partition it is.
        let remedy = if is_set_anew { Remedy::Follows } else { write(file, &word) };
        add(file, &text, now.partition.as_deref().unwrap_or("missing"), remedy);
    }
    if saved.effective != now.effective {
        let file = capture::effective_file(saved.version);
        let (saved, now) = (saved.effective.to_string(), now.effective.to_string());
        add(file, &saved, &now, Remedy::Follows);
    }
    found
}

/// The word that must be written to bring a partition back, and how it read; `None` if it is as it
/// was, or was invalid and is not worse. It reads `root`, `isolated`, `member`, or
/// `root invalid (reason)` when it lost its CPUs.
fn partition_to_write(saved: &Cpuset, now: &Cpuset) -> Option<(String, String)> {
    let parts = |text: &str| {
        let word = text.split(' ').next().unwrap_or_default().to_owned();
        (word, !text.contains(" invalid"))
    };
    let text = saved.partition.as_deref()?;
    let (word, valid) = parts(text);
    let (word_now, valid_now) = now.partition.as_deref().map(parts).unwrap_or_default();
    let same = word == word_now && (valid_now || !valid);
    (!same).then(|| (word, text.to_owned()))
}

/// Tasks that lost their place in a group of version 1: the kernel moved them to a group above when
/// their own had no CPU left, and never moves them back.
fn members(root: &Root, saved: &SavedState) -> Vec<Gap> {
    let mut above: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut found = Vec::new();
    for set in saved.cpusets.iter().filter(|set| !set.tasks.is_empty() && root.exists(&set.path)) {
        let now: BTreeSet<u32> = capture::task_numbers(root, &set.path);
        for id in set.tasks.iter().filter(|id| !now.contains(&id.task)) {
            let upper = set.path.rmatch_indices('/').map(|(at, _)| &set.path[..at]);
            let group = upper.filter(|path| root.exists(&format!("{path}/tasks"))).find(|path| {
                let tasks = above
                    .entry((*path).to_owned())
                    .or_insert_with(|| capture::task_numbers(root, path));
                tasks.contains(&id.task)
            });
            let same = capture::started_ticks(root, id.task) == Some(id.started_ticks);
            // Anywhere else somebody has put it on purpose.
            let Some(group) = group.filter(|_| same) else { continue };
            let what = format!("group of task {}", id.task);
            let path = format!("{}/tasks", set.path);
            let remedy = Remedy::Write { path, text: id.task.to_string() };
            let (was, is) = (format!("/{}", set.path), format!("/{group}"));
            found.push(gap(Step::Members, what, &was, &is, remedy));
        }
    }
    found
}

fn interrupt(root: &Root, saved: &Interrupt) -> Option<Gap> {
    let now = capture::interrupt(root, saved.number)?;
    // Freed meanwhile, or somebody else's: whoever asked for it has placed it.
    if now.name != saved.name || now.cpus == saved.cpus {
        return None;
    }
    let path = capture::affinity_file(saved.number);
    let text = saved.cpus.to_string();
    let remedy = match saved.managed || now.managed {
        true => Remedy::Follows,
        false => Remedy::Write { path, text: text.clone() },
    };
    let what = format!("interrupt {}", saved.number);
    let mut gap = gap(Step::Interrupts, what, &text, &now.cpus.to_string(), remedy);
    gap.difference.managed = saved.managed || now.managed;
    Some(gap)
}

fn affinity(root: &Root, machine: &SavedState, saved: &Task) -> Option<Gap> {
    let now = capture::task(root, saved.process, saved.id.task)?;
    if now.id != saved.id || now.cpus == saved.cpus {
        return None;
    }
    let what = format!("task {}", saved.id.task);
    // Where the kernel loses an affinity, it gives the task every CPU of its CPU set. An earlier try
    // may have left what of ours the set has. All else is somebody's choice.
    let group = capture::cpus_of_group(root, &now).intersection(&machine.present);
    let is_lost = group.is_subset(&now.cpus) || now.cpus == saved.cpus.intersection(&group);
    let remedy = if is_lost {
        Remedy::Affinity { task: saved.id.task, cpus: saved.cpus.clone() }
    } else {
        Remedy::None(format!(
            "somebody bound task {} ({}) to the CPUs {} meanwhile, instead of {}; they are left so",
            saved.id.task, now.name, now.cpus, saved.cpus
        ))
    };
    Some(gap(Step::Tasks, what, &saved.cpus.to_string(), &now.cpus.to_string(), remedy))
}
