//! The SMT switch of a study or a run: the user's word first, the session, and what is said when
//! the machine was put back.

use crate::exit::Usage;
use crate::out;
use anyhow::Result;
use coretwin_base::topology::Topology;
use coretwin_base::warning::Warning;
use coretwin_host::root::Root;
use coretwin_host::smt::guard::Launch;
use coretwin_host::smt::kernel::SystemKernel;
use coretwin_host::smt::session::Session;
use coretwin_lab::Error;
use coretwin_lab::host_machine::HostMachine;
use coretwin_lab::switching::Switching;
use std::io::{BufRead, IsTerminal};

/// Takes the switch, once the user has given his word; none if he did not. Nothing is changed yet.
pub(crate) fn take(root: &Root, topology: &Topology, yes: bool) -> Result<Option<Switching>> {
    if !topology.smt.switchable {
        let why = format!("SMT cannot be switched here: {}", topology.smt.why);
        return Err(Error::NotPossible(why).into());
    }
    if !consent(yes)? {
        out::news("nothing was changed");
        return Ok(None);
    }
    let program = std::env::current_exe().map_err(|error| {
        Error::NotPossible(format!("cannot tell where this program is: {error}"))
    })?;
    let kernel = Box::new(SystemKernel::new(root.clone()));
    let session = Session::open(root, kernel, Box::new(Launch::new(program)))
        .map_err(|error| Error::NotPossible(error.to_string()))?;
    Ok(Some(Switching::new(session)))
}

/// Asks for a typed yes, unless it was given on the command line.
fn consent(yes: bool) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    let input = std::io::stdin();
    if !input.is_terminal() {
        let why = "switching SMT needs your word: there is no terminal to ask at, so give --yes";
        return Err(Usage(why.to_owned()).into());
    }
    out::news(
        "SMT will be switched on the whole machine, and put back at the end. Type yes to go on:",
    );
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}

/// Puts the machine back, says how that went, and gives what a reader of the result must know. A
/// warning of the kind [`NOT_RESTORED`] means that something is left to do.
pub(crate) fn restore(machine: &mut HostMachine) -> Vec<Warning> {
    let remedy = "look at `coretwin smt status`, and run `coretwin smt restore` as root";
    let restored = match machine.restore() {
        None => return Vec::new(),
        Some(Err(error)) => vec![Warning::new(NOT_RESTORED, error.to_string(), remedy)],
        Some(Ok(restored)) => {
            let mut warnings: Vec<Warning> = restored
                .warnings
                .iter()
                .map(|text| Warning::new("smt-restored", text, "see whether that matters to you"))
                .collect();
            if !restored.is_complete() {
                warnings.push(Warning::new(NOT_RESTORED, restored.sentence(), remedy));
            }
            warnings
        }
    };
    for warning in &restored {
        out::news(&format!("{}; {}", warning.text, warning.remedy));
    }
    if restored.iter().all(|warning| warning.kind != NOT_RESTORED) {
        out::news("the machine is as it was found");
    }
    restored
}

/// The kind of a warning that the machine is not as it was found.
pub(crate) const NOT_RESTORED: &str = "smt-not-restored";
