//! `coretwin sched start`.

use super::keep::Held;
use super::{GLANCE, Wish, doctor, view};
use crate::arm_scheduler::OURSELVES;
use crate::exit::DONE;
use crate::{out, signals};
use anyhow::{Result, anyhow};
use coretwin_base::simulation::core_queue::NAME;
use coretwin_host::lock;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::keeper;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) fn run(root: &Root, wish: &Wish, detach: bool) -> Result<u8> {
    if let Some(why) = doctor::refusal(root) {
        return Err(anyhow!("{NAME} is not loaded: {why}"));
    }
    // A study that runs would measure the change; one that begins later finds it and says so.
    drop(lock::acquire(root)?);
    if detach {
        let mut command = keeper::command(Path::new(OURSELVES), &wish.options, None);
        let process = keeper::detach(command.args(wish.trial_arguments()))?;
        out::text(&format!(
            "{NAME} is in charge, held by process {process}; coretwin sched status tells what it \
             does, coretwin sched stop unloads it\n"
        ))?;
        return Ok(DONE);
    }
    let stop = signals::stop_flag()?;
    let held = Held::load(root, wish, None)?;
    out::news(&format!("{NAME} is in charge until Ctrl-C"));
    let mut shown = view::Shown::new(out::redraws(&std::io::stdout()));
    let mut nap = |time: Duration| {
        let until = Instant::now() + time;
        while !stop.raised() && Instant::now() < until {
            std::thread::sleep(GLANCE.min(time));
        }
        !stop.raised()
    };
    let status = held.serve(&mut nap, &mut |record| shown.show(record))?;
    out::news("the kernel's own scheduler is in charge");
    Ok(status)
}
