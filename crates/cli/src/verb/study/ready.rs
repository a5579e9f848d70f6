//! What is asked for, resolved once; and a study that is ready to be measured, wherever it is run: its
//! plan is stored, its machine there.

use super::args::Args;
use super::describe::duration;
use crate::exit::usage;
use crate::session::Session;
use crate::{host, out, resuming};
use anyhow::Result;
use coretwin_base::study::plan::Plan;
use coretwin_host::lock::HostLock;
use coretwin_host::root::Root;
use coretwin_lab::host_machine::HostMachine;
use coretwin_lab::machine::Machine;
use coretwin_lab::request::Request;
use coretwin_store::Bundle;

pub(super) enum Asked {
    New(Box<Request>),
    Old(Bundle, Box<Plan>),
}

impl Asked {
    pub(super) fn of(args: &Args) -> Result<Self> {
        let Some(folder) = &args.resume else { return Ok(Self::New(Box::new(args.request()?))) };
        let (bundle, mut plan) = resuming::open(folder, "study")?;
        if let Some(budget_s) = args.budget_given_s() {
            if plan.rules.budget_s.is_none() {
                let why = "--budget: this study has none; its plan says how many blocks are run";
                return Err(usage(why));
            }
            plan.rules.budget_s = Some(budget_s);
        }
        Ok(Self::Old(bundle, Box::new(plan)))
    }
}

pub(super) trait Studied: Machine {
    /// This host, if it is that: it is checked and waited for before the first run, and put back after
    /// the last.
    fn host(&mut self) -> Option<&mut HostMachine> {
        None
    }
}

pub(super) struct Ready {
    pub(super) session: Session,
    pub(super) machine: Box<dyn Studied>,
    /// Held until the study ends: two at once would measure each other.
    pub(super) lock: Option<HostLock>,
}

pub(super) fn begin(args: &Args, plan: Plan, root: &Root) -> Result<Session> {
    let folder = args.out.clone().unwrap_or_else(|| resuming::new_folder("study"));
    let made = out::missing_parent(&folder);
    let bundle = Bundle::create(&folder, &plan, host::owner(root)?)?;
    let duration = duration(&plan).map(|duration| format!("It takes {duration}; "));
    let goes_to = out::results_go_to(bundle.folder(), made.as_deref());
    out::news(&format!("{}{goes_to}.", duration.unwrap_or_default()));
    Session::open(bundle, plan, root)
}

pub(super) fn resume(bundle: Bundle, plan: Plan, root: &Root) -> Result<Session> {
    out::news(&format!("{}.", out::results_go_to(bundle.folder(), None)));
    Session::open(bundle, plan, root)
}
