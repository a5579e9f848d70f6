//! `coretwin smt status`.

use crate::exit::DONE;
use crate::{host, out};
use anyhow::Result;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::{SmtControl, Topology};
use coretwin_base::machine::ways::WithoutSmt;
use coretwin_base::schema::SCHEMA;
use coretwin_host::root::Root;
use coretwin_host::smt::restore::{self, Difference};
use coretwin_host::smt::saved::{self, Holder, Slot};
use coretwin_host::smt::{SwitchError, capture};
use coretwin_report::topology as drawing;
use serde::Serialize;

/// The SMT control now, and what is saved of before.
#[derive(Serialize)]
struct Status {
    schema: u32,
    control: Option<SmtControl>,
    active: Option<bool>,
    online: CpuSet,
    offline: CpuSet,
    threads_per_core_max: Option<u32>,
    switchable: bool,
    why: String,
    /// Saved states, by slot.
    saved: Vec<Saved>,
    #[serde(flatten)]
    without: WithoutSmt,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Saved {
    State(Box<State>),
    /// A saved state that cannot be used, and why.
    Problem {
        slot: Slot,
        problem: String,
    },
}

#[derive(Serialize)]
struct State {
    slot: Slot,
    taken_utc: String,
    /// The process that it was saved for.
    holder: Holder,
    holder_alive: bool,
    same_boot: bool,
    /// Made by hand and done.
    kept: bool,
    control: Option<SmtControl>,
    online: CpuSet,
    /// What is not as it was saved.
    differences: Vec<Difference>,
}

pub(super) fn run(root: &Root, json: bool) -> Result<u8> {
    let topology = host::topology(root)?;
    let status = read(root, &topology, host::without_smt(root, &topology));
    out::json_or(json, &status, || describe(&status))?;
    Ok(DONE)
}

fn read(root: &Root, topology: &Topology, without: WithoutSmt) -> Status {
    let offline = topology.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.cpu).collect();
    Status {
        schema: SCHEMA,
        control: topology.smt.control.clone(),
        active: topology.smt.active,
        online: topology.online.clone(),
        offline,
        threads_per_core_max: topology.threads_per_core_max,
        switchable: topology.smt.switchable,
        why: topology.smt.why.clone(),
        saved: Slot::ALL.into_iter().filter_map(|slot| look(root, slot)).collect(),
        without,
    }
}

fn look(root: &Root, slot: Slot) -> Option<Saved> {
    let problem = |error: SwitchError| Some(Saved::Problem { slot, problem: error.to_string() });
    let stored = match saved::read(root, slot) {
        Ok(stored) => stored?,
        Err(error) => return problem(error),
    };
    let same_boot = stored.check_machine(root, slot).is_ok();
    // What an earlier boot had says nothing about this one.
    let differences = match same_boot {
        true => restore::differences(root, &stored).unwrap_or_default(),
        false => Vec::new(),
    };
    Some(Saved::State(Box::new(State {
        slot,
        taken_utc: stored.taken_utc.clone(),
        holder_alive: same_boot && capture::is_alive(root, &stored.holder),
        holder: stored.holder.clone(),
        same_boot,
        kept: stored.kept,
        control: stored.control.clone(),
        online: stored.online.clone(),
        differences,
    })))
}

fn describe(status: &Status) -> String {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut put = |label: &str, text: String| facts.push((label.to_owned(), text));
    let control = status.control.as_ref().map_or_else(|| "no control".to_owned(), SmtControl::word);
    let active = match status.active {
        Some(true) => ", active",
        Some(false) => ", not active",
        None => "",
    };
    let can = if status.switchable { "can" } else { "cannot" };
    put("SMT control", format!("{control}{active}; {can} be switched: {}", status.why));
    put(
        "CPUs",
        match status.offline.is_empty() {
            true => format!("{} online, none offline", status.online),
            false => format!("{} online, {} offline", status.online, status.offline),
        },
    );
    if status.saved.is_empty() {
        put("saved", "nothing: no change waits to be undone".to_owned());
    }
    for saved in &status.saved {
        match saved {
            Saved::Problem { slot, problem } => put("saved", format!("{}: {problem}", slot.name())),
            Saved::State(state) => {
                put("saved", describe_state(state));
                for difference in &state.differences {
                    put("  differs", super::difference(difference, ":"));
                }
            }
        }
    }
    let columns = out::page(drawing::COLUMNS);
    drawing::labelled(&facts, columns) + &drawing::without_smt(&status.without, columns)
}

fn describe_state(state: &State) -> String {
    let Holder { process, command_line, .. } = &state.holder;
    let whose = match state.slot {
        Slot::Study => "by a study",
        Slot::Hand => "by hand",
    };
    let then = match (state.same_boot, state.kept, state.holder_alive) {
        (false, ..) => "in an earlier boot, which undid it; coretwin smt restore --forget",
        (true, true, _) => "kept until coretwin smt restore",
        (true, false, true) => "in use: it is put back when that process ends",
        (true, false, false) => "that process died; sudo coretwin smt restore puts it back",
    };
    format!("{} {whose} (process {process}, {command_line}): {then}", state.taken_utc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_host::fake;
    use coretwin_host::smt::saved::SavedState;

    fn machine(change: impl Fn(&mut SavedState)) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("folder");
        let root = fake::machine("server-halves").expect("machine");
        let root = root.write(folder.path()).expect("written");
        let mut state = capture::capture(&root).expect("captured");
        change(&mut state);
        saved::write(&root, Slot::Hand, state).expect("saved");
        (folder, root)
    }

    /// The text in one line.
    fn unwrapped(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn status(root: &Root) -> Status {
        let topology = host::topology(root).expect("topology");
        read(root, &topology, host::without_smt(root, &topology))
    }

    #[test]
    fn a_machine_with_nothing_saved_says_so() {
        let folder = tempfile::tempdir().expect("folder");
        let root = fake::machine("server-halves").expect("machine");
        let root = root.write(folder.path()).expect("written");
        let text = unwrapped(&describe(&status(&root)));
        assert!(text.contains("on, active; can be switched"), "{text}");
        assert!(text.contains("saved nothing"), "{text}");
        assert!(text.contains("security with SMT on, a program can spy"), "{text}");
        assert!(text.contains("without SMT switch, available"), "{text}");
    }

    #[test]
    fn a_state_says_whose_it_is_and_what_differs() {
        let cpus = |list: &str| CpuSet::parse(list).expect("list");
        let (_folder, root) = machine(|state| {
            state.kept = true;
            state.online = cpus("0-15");
        });
        let status = status(&root);
        let text = unwrapped(&describe(&status));
        assert!(text.contains("by hand (process "), "{text}");
        assert!(text.contains("kept until coretwin smt restore"), "{text}");
        assert!(text.contains("cpu16: was offline, is online"), "{text}");
        let json = serde_json::to_value(&status).expect("json");
        let saved = &json["saved"][0];
        assert_eq!((saved["slot"].as_str(), saved["kept"].as_bool()), (Some("hand"), Some(true)));
        assert_eq!(saved["differences"].as_array().expect("list").len(), 16);
        for key in ["schema", "control", "active", "online", "offline", "why", "ways", "security"] {
            assert!(!json[key].is_null(), "{key}");
        }
    }

    #[test]
    fn the_dead_earlier_boots_and_damage_are_told_with_what_to_do() {
        let (_folder, root) = machine(|state| state.holder.process = 0);
        let text = unwrapped(&describe(&status(&root)));
        assert!(text.contains("that process died; sudo coretwin smt restore"), "{text}");
        let (_folder, root) = machine(|state| state.machine.boot_id = "another".to_owned());
        let text = unwrapped(&describe(&status(&root)));
        assert!(text.contains("earlier boot") && !text.contains("differs"), "{text}");
        std::fs::write(root.path(&Slot::Hand.file()), "{\"schema\":1").expect("torn");
        let text = unwrapped(&describe(&status(&root)));
        assert!(text.contains("hand: ") && text.contains("damaged"), "{text}");
    }
}
