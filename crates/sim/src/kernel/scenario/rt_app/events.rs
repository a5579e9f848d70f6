//! Events of rt-app as steps. A key is an event's name, or begins with it: `run`, `run0`, `run_long`.

use super::INSTANCES_MAX;
use super::json::Value;
use super::values::Object;
use crate::Result;
use crate::kernel::scenario::steps::Names;
use crate::kernel::{Access, Amount, ProfileId, Step, Which, Work};

/// The kind of work that tasks compute: the only one of the scenario.
const PROFILE: ProfileId = ProfileId(1);

/// The file that `iorun` writes where it is given a device, in bytes. An assumption.
const FILE_BYTES: u64 = 64 << 20;

/// The most of any time, in µs, and of any size, in bytes.
const MICROSECONDS_MAX: f64 = 3.6e9;
const BYTES_MAX: f64 = 1e12;

/// Every event; a longer name stands before one that it begins with.
const EVENTS: &[&str] = &[
    "runtime", "run", "sleep", "timer", "mem", "iorun", "lock", "unlock", "wait", "signal", "sync",
    "broad", "barrier", "suspend", "resume", "yield", "fork", "util_min", "util_max",
];

pub(super) struct Compiler<'a> {
    file: &'a str,
    tasks: Vec<String>,
    semaphores: Names,
    locks: Names,
    barriers: Names,
    comers: Vec<u32>,
    writes_file: bool,
    uses_file: bool,
    /// The task at hand: its name, how many there are, and the timer it uses.
    task: String,
    instances: u32,
    timer: Option<String>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(file: &'a str, tasks: Vec<String>, writes_file: bool) -> Self {
        Self {
            file,
            tasks,
            semaphores: Names::new("condition"),
            locks: Names::new("lock"),
            barriers: Names::new("barrier"),
            comers: Vec::new(),
            writes_file,
            uses_file: false,
            task: String::new(),
            instances: 1,
            timer: None,
        }
    }

    pub(super) fn begin(&mut self, task: &Object<'_>) {
        let path = task.within("");
        self.task = path.strip_prefix("tasks.").unwrap_or(&path).to_owned();
        // Out of range is refused where the task starts.
        let instances = task.whole("instance", 0, INSTANCES_MAX).ok().flatten();
        self.instances = instances.unwrap_or(1) as u32;
        self.timer = None;
    }

    pub(super) fn finish(self, work: &mut Work) {
        work.semaphores = vec![0; self.semaphores.names.len()];
        work.locks = self.locks.names.len() as u32;
        work.barriers = self.comers.iter().map(|comers| (*comers).max(1)).collect();
        if self.uses_file {
            work.files = vec![FILE_BYTES];
        }
    }

    /// The events of an object in their order; keys among `properties` are none.
    pub(super) fn events(
        &mut self,
        object: &Object<'_>,
        properties: &[&str],
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let before = steps.len();
        for (key, value) in object.entries() {
            if properties.contains(&key.as_str()) {
                continue;
            }
            match event_of(key) {
                Some(event) => self.event(object, (event, key, value), steps)?,
                None => return Err(object.unknown(key, &[properties, EVENTS].concat())),
            }
        }
        match steps.len() > before {
            true => Ok(()),
            false => Err(object.refuse("", "has no event: it would do nothing")),
        }
    }

    fn event(
        &mut self,
        object: &Object<'_>,
        (event, key, value): (&str, &str, &Value),
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let time = |most: f64| object.number_of(key, value, 0.0, most);
        match event {
            "run" => steps.push(compute((time(MICROSECONDS_MAX)? * 1e3) as u64)),
            "sleep" => {
                let ns = Amount::Fixed((time(MICROSECONDS_MAX)? * 1e3) as u64);
                steps.push(Step::Sleep { ns });
            }
            "mem" => steps.push(compute(time(BYTES_MAX)? as u64)),
            "iorun" => {
                let bytes = Amount::Fixed(time(BYTES_MAX)? as u64);
                self.uses_file |= self.writes_file;
                let (file, access) = (Which::Number(0), Access::Next);
                steps.push(match self.writes_file {
                    true => Step::Write { file, bytes, access },
                    false => Step::SystemCall { ns: Amount::Fixed(0) },
                });
            }
            "timer" => steps.push(self.timer(object, key, value)?),
            "yield" => steps.push(Step::Yield),
            "fork" => steps.push(self.fork(object, key, value)?),
            "lock" | "unlock" | "barrier" | "suspend" | "resume" | "signal" => {
                self.named(object, (event, key, value), steps)?;
            }
            "wait" | "sync" => self.wait(object, (event, key, value), steps)?,
            other => {
                let problem = format!("{other} is not modelled; see docs/method/kernel.md");
                return Err(object.refuse_at(value.line, key, problem));
            }
        }
        Ok(())
    }

    fn named(
        &mut self,
        object: &Object<'_>,
        (event, key, value): (&str, &str, &Value),
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let name = object.text_of(key, value)?;
        let own = format!("suspended {}", self.task);
        steps.push(match event {
            "lock" => Step::Lock(Which::Number(self.locks.number_or_new(name))),
            "unlock" => Step::Unlock(Which::Number(self.locks.number_or_new(name))),
            "barrier" => {
                let barrier = self.barriers.number_or_new(name);
                self.comers.resize(self.barriers.names.len(), 0);
                let comers = &mut self.comers[barrier as usize];
                *comers = comers.saturating_add(self.instances);
                Step::Barrier { barrier: Which::Number(barrier) }
            }
            "suspend" => down(self.semaphores.number_or_new(&own)),
            "resume" => {
                self.known_task(object, key, value, name)?;
                up(self.semaphores.number_or_new(&format!("suspended {name}")))
            }
            _ => up(self.semaphores.number_or_new(name)),
        });
        Ok(())
    }

    /// Waits for a condition without the lock that guards it; `sync` signals it first.
    fn wait(
        &mut self,
        object: &Object<'_>,
        (event, key, value): (&str, &str, &Value),
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let inner = Object::of(self.file, &object.within(key), value)?;
        inner.only(&["ref", "mutex"])?;
        let text = |name: &str| {
            inner.text(name)?.ok_or_else(|| inner.refuse("", format!("has no '{name}'")))
        };
        let condition = self.semaphores.number_or_new(text("ref")?);
        let lock = Which::Number(self.locks.number_or_new(text("mutex")?));
        let is_sync = event == "sync";
        if is_sync {
            steps.extend([Step::Lock(lock), up(condition)]);
        }
        steps.extend([Step::Unlock(lock), down(condition), Step::Lock(lock)]);
        if is_sync {
            steps.push(Step::Unlock(lock));
        }
        Ok(())
    }

    fn timer(&mut self, object: &Object<'_>, key: &str, value: &Value) -> Result<Step> {
        let inner = Object::of(self.file, &object.within(key), value)?;
        inner.only(&["ref", "period", "mode"])?;
        if let Some(mode) = inner.text("mode")?
            && !["relative", "absolute"].contains(&mode)
        {
            return Err(inner.refuse("mode", "is relative or absolute"));
        }
        let name = inner.text("ref")?.unwrap_or("unique").to_owned();
        if self.timer.as_ref().is_some_and(|known| *known != name) {
            return Err(inner.refuse("ref", "a second timer in one task is not modelled"));
        }
        self.timer = Some(name);
        match inner.number("period", 0.001, MICROSECONDS_MAX)? {
            Some(period_us) => Ok(Step::Period { ns: (period_us * 1e3) as u64 }),
            None => Err(inner.refuse("", "has no 'period'")),
        }
    }

    fn fork(&self, object: &Object<'_>, key: &str, value: &Value) -> Result<Step> {
        let name = object.text_of(key, value)?;
        let program = self.known_task(object, key, value, name)?;
        Ok(Step::Fork { program, thread: true })
    }

    fn known_task(&self, object: &Object<'_>, key: &str, value: &Value, name: &str) -> Result<u32> {
        let found = self.tasks.iter().position(|task| task == name);
        found.map(|index| index as u32).ok_or_else(|| {
            let known: Vec<&str> = self.tasks.iter().map(String::as_str).collect();
            object.refuse_at(value.line, key, coretwin_base::suggest::unknown("task", name, &known))
        })
    }
}

/// The event that a key names: as it is, or with an ending of digits or after an underscore, by which
/// keys are told apart.
fn event_of(key: &str) -> Option<&'static str> {
    EVENTS.iter().copied().find(|event| {
        key.strip_prefix(event).is_some_and(|ending| {
            ending.starts_with('_') || ending.chars().all(|c| c.is_ascii_digit())
        })
    })
}

fn compute(ns: u64) -> Step {
    Step::ComputeFor { profile: PROFILE, ns: Amount::Fixed(ns) }
}

fn up(semaphore: u32) -> Step {
    Step::Up { semaphore: Which::Number(semaphore), count: 1 }
}

fn down(semaphore: u32) -> Step {
    Step::Down { semaphore: Which::Number(semaphore), count: 1 }
}
