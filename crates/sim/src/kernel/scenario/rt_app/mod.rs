//! Work as rt-app describes it (its `doc/tutorial.txt`): tasks with instances, loops and phases of
//! events, as JSON.
//!
//! What is modelled otherwise than rt-app does it: a condition variable is a semaphore, so that a
//! signal that no task waits for yet is not lost; a timer belongs to the task that uses it, one a task, and
//! counts from the task's beginning as in mode `absolute`; `mem` takes a ns a byte; `iorun` to
//! `/dev/null`, the default, is a system call, to any other device a write through the page cache.
//! What is not modelled is refused by name: other classes than SCHED_OTHER, SCHED_RR and SCHED_FIFO,
//! `broad`, `runtime`, clamps, memory binding and task groups.

mod events;
mod json;
mod values;

use super::Scenario;
use crate::Result;
use crate::kernel::{Amount, Class, Costs, Idle, Program, Start, Step, Work};
use events::Compiler;
use values::Object;

/// Where a file names no duration, or one without end, in s.
const DURATION_S: f64 = 10.0;

const INSTANCES_MAX: i64 = 100_000;

const LOOPS_MAX: i64 = 1_000_000_000_000;

/// What events of a task and its phases are not: properties.
const PROPERTIES: &[&str] = &["instance", "delay", "loop", "policy", "priority", "cpus"];

const IGNORED: &[&str] = &[
    "calibration",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "mem_buffer_size",
    "cumulative_slack",
];

/// Reads a file of rt-app; `file` is named in errors. Its tasks compute work of the named profile.
pub fn read(file: &str, text: &str, profile: &str) -> Result<Scenario> {
    let root = json::parse(file, text)?;
    let root = Object::of(file, "the file", &root)?;
    root.only(&["global", "tasks", "resources"])?;
    let mut duration_s = DURATION_S;
    let mut default_class = Class::Normal;
    let mut writes_file = false;
    if let Some(global) = root.get("global") {
        let global = Object::of(file, "global", global)?;
        let own = ["duration", "default_policy", "io_device"];
        global.only(&[&own[..], IGNORED].concat())?;
        if let Some(duration) = global.number("duration", -1.0, 3600.0)?
            && duration > 0.0
        {
            duration_s = duration;
        }
        if let Some(class) = class(&global, "default_policy", None)? {
            default_class = class;
        }
        writes_file = global.text("io_device")?.is_some_and(|device| device != "/dev/null");
    }
    let tasks = root.need("tasks")?;
    let tasks = Object::of(file, "tasks", tasks)?;
    let names: Vec<String> = tasks.entries().iter().map(|(name, _)| name.clone()).collect();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(tasks.refuse(name, "stands there twice"));
        }
    }
    let mut compiler = Compiler::new(file, names, writes_file);
    let mut work = Work::default();
    for (index, (name, value)) in tasks.entries().iter().enumerate() {
        let task = Object::of(file, &format!("tasks.{name}"), value)?;
        let steps = program(&mut compiler, &task, default_class)?;
        work.programs.push(Program { name: name.clone(), steps });
        if let Some(start) = start(&task, index as u32, default_class)? {
            work.starts.push(start);
        }
    }
    if work.starts.is_empty() {
        return Err(tasks.refuse("", "no task has an instance: nothing would run"));
    }
    compiler.finish(&mut work);
    Ok(Scenario {
        name: name_of(file),
        title: "work as rt-app describes it".to_owned(),
        about: format!("read from {file}"),
        topology: "2x2".to_owned(),
        profiles: vec![profile.to_owned()],
        slowdown: 1600,
        idle: Idle::Halt,
        costs: Costs::of_today(),
        until_ns: (duration_s * 1e9) as u64,
        warmup_ns: 0,
        operations: vec!["loop".to_owned()],
        work,
        per_cpu: Vec::new(),
        expectations: Vec::new(),
    })
}

fn name_of(file: &str) -> String {
    let last = file.rsplit('/').next().unwrap_or(file);
    last.strip_suffix(".json").unwrap_or(last).to_owned()
}

/// A task's steps: its phases in order, as often as it says; each round is an operation.
fn program(compiler: &mut Compiler<'_>, task: &Object<'_>, default: Class) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    compiler.begin(task);
    let delay_us = task.number("delay", 0.0, 3.6e9)?.unwrap_or(0.0);
    if delay_us > 0.0 {
        steps.push(Step::Sleep { ns: Amount::Fixed((delay_us * 1e3) as u64) });
    }
    let from = steps.len();
    match task.get("phases") {
        None => {
            steps.push(Step::Begin);
            compiler.events(task, PROPERTIES, &mut steps)?;
        }
        Some(phases) => {
            task.only(&[PROPERTIES, &["phases"]].concat())?;
            steps.push(Step::Begin);
            let phases = Object::of(task.file(), &task.within("phases"), phases)?;
            let task_mask = task.cpus("cpus")?;
            for (name, value) in phases.entries() {
                let phase = Object::of(task.file(), &phases.within(name), value)?;
                phase_steps(compiler, &phase, &mut steps, default)?;
                if phase.get("cpus").is_some() {
                    // Phases that say nothing have the task's own.
                    steps.push(Step::SetMask(task_mask.clone()));
                }
            }
        }
    }
    steps.push(Step::Done(0));
    close(task, -1, from, &mut steps)?;
    Ok(steps)
}

fn phase_steps(
    compiler: &mut Compiler<'_>,
    phase: &Object<'_>,
    steps: &mut Vec<Step>,
    default: Class,
) -> Result<()> {
    if let Some(mask) = phase.cpus("cpus")? {
        steps.push(Step::SetMask(Some(mask)));
    }
    if phase.get("policy").is_some() && class(phase, "policy", None)? != Some(Class::Normal) {
        return Err(phase.refuse("policy", "a class that changes during a run is not modelled"));
    }
    if phase.get("priority").is_some() {
        match default {
            Class::Normal => steps.push(Step::SetNice(nice(phase)?)),
            _ => return Err(phase.refuse("priority", "of a real-time task cannot change")),
        }
    }
    let from = steps.len();
    compiler.events(phase, &["loop", "policy", "priority", "cpus"], steps)?;
    close(phase, 1, from, steps)
}

/// Ends a loop that began at a step: as often as the object says, or else so often; -1 is without end.
fn close(object: &Object<'_>, otherwise: i64, from: usize, steps: &mut Vec<Step>) -> Result<()> {
    let key = "loop";
    let times = object.whole(key, -1, LOOPS_MAX)?.unwrap_or(otherwise);
    if times == 1 {
        return Ok(());
    }
    if times == 0 {
        return Err(object.refuse(key, "is 0: nothing would be done; -1 is without end"));
    }
    if !steps[from..].iter().any(Step::takes_time) {
        let at = if object.get(key).is_some() { key } else { "" };
        return Err(object.refuse(at, "a loop of zero length: nothing in it takes time"));
    }
    let from = from as u32;
    steps.push(match u64::try_from(times) {
        Ok(times) => Step::Repeat { from, times: Amount::Fixed(times - 1) },
        Err(_) => Step::Forever { from },
    });
    Ok(())
}

fn start(task: &Object<'_>, program: u32, default: Class) -> Result<Option<Start>> {
    let count = task.whole("instance", 0, INSTANCES_MAX)?.unwrap_or(1) as u32;
    let mut start = Start::of(program);
    start.count = count;
    start.class = class(task, "policy", Some("priority"))?.unwrap_or(default);
    if start.class == Class::Normal {
        start.nice = nice(task)?;
    }
    start.mask = task.cpus("cpus")?;
    start.threads = true;
    Ok((count > 0).then_some(start))
}

fn nice(object: &Object<'_>) -> Result<i8> {
    Ok(object.whole("priority", -20, 19)?.unwrap_or(0) as i8)
}

/// A scheduling class by its key; a real-time one has the priority of another key, or 10.
fn class(object: &Object<'_>, key: &str, priority: Option<&str>) -> Result<Option<Class>> {
    let Some(name) = object.text(key)? else { return Ok(None) };
    let real_time = || -> Result<u8> {
        let given = priority.map(|key| object.whole(key, 1, 99)).transpose()?.flatten();
        Ok(given.unwrap_or(10) as u8)
    };
    match name {
        "SCHED_OTHER" => Ok(Some(Class::Normal)),
        "SCHED_RR" => Ok(Some(Class::RoundRobin(real_time()?))),
        "SCHED_FIFO" => Ok(Some(Class::Fifo(real_time()?))),
        other => Err(object.refuse(
            key,
            format!("{other} is not modelled; known are SCHED_OTHER, SCHED_RR, SCHED_FIFO"),
        )),
    }
}
