//! `linux-2.5.32`, `linux-2.5.32-f3`, `linux-2.5.32-a9`: the scheduler whose cost does not grow with
//! the number of tasks, without and with Molnar's patch for Hyper-Threading.
//!
//! A queue has two arrays of lists, one list a priority. Tasks run from the *active* array; one whose
//! slice ends goes to the *expired* array unless it is interactive, that is, has slept much of late;
//! when the active array is empty the two are swapped. The plain kernel has a queue for each logical
//! CPU, and balances lengths of queues: a core with two running tasks beside an idle core is balanced
//! in its eyes.
//!
//! The patch gives the CPUs of a core one queue. What that brings is taken apart into five switches:
//!
//! * `passive`: lengths are balanced between cores; off: between logical CPUs, as without the patch;
//! * `active`: a core that goes idle has the stopper of a busy core give it one of its running tasks;
//! * `pickup`: a CPU runs whatever waits on its core; off: only what waits for it;
//! * `affinity`: a task belongs to a core; off: to a logical CPU, so that its sibling takes it only
//!   once its cache has gone cold;
//! * `wakeup`: a task that wakes on a busy CPU gets an idle sibling.
//!
//! With all five off there is a queue for each logical CPU again, and the decisions are those of
//! `linux-2.5.32`.
//!
//! `-f3` is the patch as posted in August 2002. It marks the wrong queue when it wants a running task,
//! so that active balancing mostly does nothing; which mark is left where hangs on history. `-a9` is
//! its later form (April 2003), where that is mended, and a woken task has its CPU choose anew if what
//! runs there has equal priority and less of its slice left. Since that one is before it in their list it
//! mostly goes on.
//!
//! Sources: kernel/sched.c of Linux 2.5 and the patches of Ingo Molnar on the kernel's mailing list,
//! as read for the reference of this project. Our own choices, where those are silent:
//!
//! * a task that gives its CPU away expires, a real-time one goes to the end of its list;
//! * a new task looks for an idle sibling as a woken one does, its cache counts as warm, and one
//!   without a parent starts as one that has not slept;
//! * a parent whose slice is one tick gives that to its child, and its own ends at once;
//! * an idle CPU looks into its own queue at each tick;
//! * the mark of active balancing is one a queue, and the CPU woken is the first online one of it;
//! * of equal priorities, the slice left decides only on the task's own CPU, not on its sibling;
//! * a core that loses the CPU whose stopper was asked for may be asked anew.

mod arithmetic;
mod balance;
mod policy;
#[cfg(test)]
mod tests;

use self::arithmetic::{IDLE_PRIORITY, Life, PRIORITIES};
use super::{Parameter, Settings};
use crate::kernel::{CpuId, CpuMask, Current, Layout, TaskId, View};
use crate::lists::{End, Links, List};
use coretwin_base::simulation::linux_2_5_32 as decide;

pub(super) const PLAIN: &[Parameter] = decide::PLAIN;
pub(super) const PATCHED: &[Parameter] = decide::PATCHED;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// The patch as posted.
    F3,
    /// The patch as mended.
    A9,
}

#[derive(Debug, Clone, Copy)]
struct Rules {
    form: Form,
    passive: bool,
    active: bool,
    pickup: bool,
    affinity: bool,
    wakeup: bool,
    cache_decay_ticks: u64,
}

impl Rules {
    fn new(form: Form, settings: &Settings) -> Self {
        let on = |name: &str| form != Form::Plain && settings.on(name);
        Self {
            form,
            passive: on("passive"),
            active: on("active"),
            pickup: on("pickup"),
            affinity: on("affinity"),
            wakeup: on("wakeup"),
            // A tick is a millisecond.
            cache_decay_ticks: settings.number("cache_decay_ms") as u64,
        }
    }

    fn shared(self) -> bool {
        self.passive || self.active || self.pickup || self.affinity || self.wakeup
    }
}

/// What each unit of balancing saw of the others when it last looked.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Lengths, by unit; empty before the first look.
    lengths: Vec<u32>,
    /// At the last look no unit had more than one task, and the own length was this. The lengths
    /// above are older then.
    calm: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Linux25 {
    rules: Rules,
    links: Links,
    lives: Vec<Life>,
    queues: Vec<Queue>,
    members: Vec<Vec<CpuId>>,
    queue_of: Vec<usize>,
    /// Tasks that belong to each CPU and are in a queue.
    homed: Vec<usize>,
    /// Tasks of each unit of balancing, in one array because they are read so often.
    lengths: Vec<u32>,
    crowded: usize,
    /// CPUs whose stopper was asked for and has not yet run.
    asked: CpuMask,
    seen: Vec<Seen>,
}

impl Linux25 {
    pub(super) fn new(form: Form, layout: &Layout, settings: &Settings) -> Self {
        let rules = Rules::new(form, settings);
        let members: Vec<Vec<CpuId>> = if rules.shared() {
            layout.cores().to_vec()
        } else {
            layout.all().map(|cpu| vec![cpu]).collect()
        };
        let mut queue_of = vec![0; layout.cpus()];
        for (queue, cpus) in members.iter().enumerate() {
            cpus.iter().for_each(|cpu| queue_of[cpu.0 as usize] = queue);
        }
        Self {
            rules,
            links: Links::default(),
            lives: Vec::new(),
            queues: vec![Queue::new(); members.len()],
            members,
            queue_of,
            homed: vec![0; layout.cpus()],
            lengths: vec![0; layout.cpus()],
            crowded: 0,
            asked: CpuMask::empty(layout.cpus()),
            seen: vec![Seen::default(); layout.cpus()],
        }
    }

    fn queue_of(&self, cpu: CpuId) -> usize {
        self.queue_of[cpu.0 as usize]
    }

    fn online_members<'a>(
        &'a self,
        view: &'a View,
        queue: usize,
    ) -> impl Iterator<Item = CpuId> + 'a {
        self.members[queue].iter().copied().filter(|cpu| view.cpu(*cpu).online)
    }

    /// Priority of what a CPU runs; nothing is better than a stopper, or than being offline.
    fn current_priority(&self, view: &View, cpu: CpuId) -> u8 {
        match view.cpu(cpu).current {
            _ if !view.cpu(cpu).online => 0,
            Current::Idle => IDLE_PRIORITY,
            Current::Stopper => 0,
            Current::Task(task) => self.lives[task.index()].priority,
        }
    }

    /// Whether lengths are those of queues; else of the tasks that belong to each CPU.
    fn by_queue(&self) -> bool {
        self.rules.passive || !self.rules.shared()
    }

    /// A unit of balancing has one task more, or one less.
    fn count(&mut self, unit: usize, more: bool) {
        let length = &mut self.lengths[unit];
        if more {
            self.crowded += usize::from(*length == 1);
            *length += 1;
        } else {
            self.crowded -= usize::from(*length == 2);
            *length -= 1;
        }
    }

    fn count_home(&mut self, cpu: CpuId, more: bool) {
        let homed = &mut self.homed[cpu.0 as usize];
        *homed = if more { *homed + 1 } else { *homed - 1 };
        if !self.by_queue() {
            self.count(cpu.0 as usize, more);
        }
    }

    fn insert(&mut self, task: TaskId, cpu: CpuId) {
        self.lives[task.index()].home = cpu;
        let array = self.queues[self.queue_of(cpu)].active();
        self.insert_into(task, array);
        self.count_home(cpu, true);
    }

    fn insert_into(&mut self, task: TaskId, array: usize) {
        let life = &mut self.lives[task.index()];
        life.array = Some(array);
        let (queue, priority) = (self.queue_of[life.home.0 as usize], life.priority);
        self.queues[queue].insert(&mut self.links, array, priority, task);
        if self.by_queue() {
            self.count(queue, true);
        }
    }

    fn dequeue(&mut self, task: TaskId) {
        let home = self.lives[task.index()].home;
        if self.take_out(task) {
            self.count_home(home, false);
        }
    }

    fn take_out(&mut self, task: TaskId) -> bool {
        let life = &mut self.lives[task.index()];
        let Some(array) = life.array.take() else { return false };
        let (queue, priority) = (self.queue_of[life.home.0 as usize], life.priority);
        self.queues[queue].remove(&mut self.links, array, priority, task);
        if self.by_queue() {
            self.count(queue, false);
        }
        true
    }

    /// Puts a task at the end of another list of its queue.
    fn requeue(&mut self, task: TaskId, array: usize) {
        if self.take_out(task) {
            self.insert_into(task, array);
        }
    }

    fn rehome(&mut self, task: TaskId, cpu: CpuId) {
        let home = std::mem::replace(&mut self.lives[task.index()].home, cpu);
        if home != cpu && self.lives[task.index()].array.is_some() {
            self.count_home(home, false);
            self.count_home(cpu, true);
        }
    }
}

/// Lists by priority, with the set of those that are not empty; its members are priorities.
#[derive(Debug, Clone)]
struct Array {
    lists: Vec<List>,
    filled: CpuMask,
    tasks: usize,
}

/// A queue, of a CPU or of the CPUs of a core: two arrays of lists by priority. A task stays in its list
/// while it runs.
#[derive(Debug, Clone)]
struct Queue {
    arrays: [Array; 2],
    active: usize,
    /// The tick at which the first of the expired tasks expired; `None` without expired tasks.
    expired_since: Option<u64>,
    /// Whether a running task of this queue is wanted by an idle one, or so `-f3` believes.
    wanted: bool,
}

impl Queue {
    fn new() -> Self {
        let (lists, filled) = (vec![List::default(); PRIORITIES], CpuMask::empty(PRIORITIES));
        let array = Array { lists, filled, tasks: 0 };
        Self { arrays: [array.clone(), array], active: 0, expired_since: None, wanted: false }
    }

    /// Its tasks, those that run included.
    fn len(&self) -> usize {
        self.arrays[0].tasks + self.arrays[1].tasks
    }

    fn active(&self) -> usize {
        self.active
    }

    fn expired(&self) -> usize {
        1 - self.active
    }

    fn swap_if_spent(&mut self) -> bool {
        let spent = self.arrays[self.active].tasks == 0;
        if spent {
            self.active = self.expired();
            self.expired_since = None;
        }
        spent
    }

    fn insert(&mut self, links: &mut Links, array: usize, priority: u8, task: TaskId) {
        let array = &mut self.arrays[array];
        links.push(&mut array.lists[usize::from(priority)], End::Back, task.0);
        array.filled.insert(CpuId(priority.into()));
        array.tasks += 1;
    }

    fn remove(&mut self, links: &mut Links, array: usize, priority: u8, task: TaskId) {
        let array = &mut self.arrays[array];
        let list = &mut array.lists[usize::from(priority)];
        links.remove(list, task.0);
        array.filled.set(CpuId(priority.into()), !list.is_empty());
        array.tasks -= 1;
    }

    /// The tasks of an array, best priority first; within one from the front of its list, which has
    /// waited longest, or from its back.
    fn tasks<'a>(
        &'a self,
        links: &'a Links,
        array: usize,
        from: End,
    ) -> impl Iterator<Item = TaskId> + 'a {
        let array = &self.arrays[array];
        let list = |priority: CpuId| array.lists[priority.0 as usize];
        array.filled.iter().flat_map(move |one| links.slots(list(one), from)).map(TaskId)
    }
}
