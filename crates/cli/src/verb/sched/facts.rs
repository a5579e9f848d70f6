//! What is known of the scheduler in charge, for `coretwin sched status` in every form.

use coretwin_base::schema::SCHEMA;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::State;
use coretwin_host::sched_ext::record::{self, Record};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Status {
    schema: u32,
    /// Which scheduler is in charge: kernel, core-queue or another one's own name.
    pub(super) scheduler: String,
    /// What the kernel tells of sched_ext; none: it has none.
    pub(super) sched_ext: Option<State>,
    pub(super) loaded: Option<Record>,
    /// Ours, as it was when it ended otherwise than by being unloaded.
    pub(super) gone: Option<Record>,
    pub(super) problem: Option<String>,
}

pub(super) fn read(root: &Root) -> Status {
    let sched_ext = State::read(root);
    let scheduler = State::in_charge(root);
    let (record, problem) = match record::read(root) {
        Ok(record) => (record.filter(|record| record.is_of_this_boot(root)), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let is_loaded = |record: &Record| record.ending.is_none() && record.is_kept(root);
    let (loaded, gone) = match record {
        Some(record) if is_loaded(&record) => (Some(record), None),
        record => (None, record),
    };
    Status { schema: SCHEMA, scheduler, sched_ext, loaded, gone, problem }
}
