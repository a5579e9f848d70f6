//! `coretwin smt off|on|level`.

use super::{Done, How, check_level};
use crate::consent::{self, not_switchable};
use crate::exit::{DONE, NOT_POSSIBLE};
use crate::{host, out};
use anyhow::Result;
use coretwin_base::machine::topology::{SmtControl, Topology};
use coretwin_base::schema::SCHEMA;
use coretwin_host::lock;
use coretwin_host::root::Root;
use coretwin_host::smt::guard::Launch;
use coretwin_host::smt::kernel::{SystemKernel, Write};
use coretwin_host::smt::preflight::{self, Finding};
use coretwin_host::smt::saved::{self, Slot};
use coretwin_host::smt::switch;
use coretwin_host::smt::target::Target;
use coretwin_host::smt::{capture, hand, restore};
use serde::Serialize;
use std::time::Instant;

/// What taking a CPU off or bringing one back is reckoned to take, until somebody measures it here.
const SECONDS_PER_CPU: f64 = 0.1;

pub(super) fn run(root: &Root, target: Target, how: &How) -> Result<u8> {
    let topology = host::topology(root)?;
    check_level(&topology, target)?;
    if how.dry_run {
        return dry_run(root, &topology, target, how.json);
    }
    if !topology.smt.switchable {
        return Err(not_switchable(&topology));
    }
    let _lock = lock::acquire(root)?;
    if !consent::ask(root, &topology, target, how.yes)? {
        return Ok(DONE);
    }
    let start = Instant::now();
    let kernel = SystemKernel(root.clone());
    let applied = hand::change(root, &kernel, &mut Launch::ourselves(), target)?;
    let seconds = start.elapsed().as_secs_f64();
    let stored = saved::read(root, Slot::Hand)?;
    let differences = match &stored {
        Some(stored) => restore::differences(root, stored)?,
        None => Vec::new(),
    };
    let done = Done {
        schema: SCHEMA,
        action: target.word(),
        control_before: applied.control_before,
        control_after: applied.control_after,
        online_before: applied.online_before,
        online_after: applied.online_after,
        seconds,
        differences,
        left_to_do: Vec::new(),
        warnings: applied.warnings,
    };
    out::json_or(how.json, &done, || describe(&done, stored.is_some()))?;
    Ok(DONE)
}

fn describe(done: &Done, is_saved: bool) -> String {
    let mut text = match done.online_before == done.online_after {
        true => {
            format!("Nothing was to be done: CPUs {} are online as before.\n", done.online_after)
        }
        false => format!(
            "CPUs {} are online, before it was {} ({:.2} s).\n",
            done.online_after, done.online_before, done.seconds
        ),
    };
    for warning in &done.warnings {
        text += &format!("Note: {warning}\n");
    }
    text += match is_saved {
        true => "To undo: sudo coretwin smt restore\n",
        false => "The machine is as it was found; nothing is left to undo.\n",
    };
    text
}

/// What would be done.
#[derive(Serialize)]
struct WouldDo {
    schema: u32,
    action: String,
    dry_run: bool,
    /// In this order.
    writes: Vec<Write>,
    seconds_expected: f64,
    findings: Vec<Finding>,
    /// Why it would be refused.
    refusals: Vec<String>,
}

fn dry_run(root: &Root, topology: &Topology, target: Target, json: bool) -> Result<u8> {
    let would = plan(root, topology, target)?;
    out::json_or(json, &would, || describe_plan(&would))?;
    Ok(if would.refusals.is_empty() { DONE } else { NOT_POSSIBLE })
}

fn plan(root: &Root, topology: &Topology, target: Target) -> Result<WouldDo> {
    let now = capture::capture(root)?;
    // The undo of a second change goes back to before the first. Who may not read it learns that
    // he may not switch either.
    let stored = saved::read(root, Slot::Hand).ok().flatten();
    let saved = stored.as_deref().unwrap_or(&now);
    let findings = preflight::findings_for(root, topology, target);
    let mut refusals = Vec::new();
    if !topology.smt.switchable {
        refusals.push(not_switchable(topology).to_string());
    }
    refusals.extend(consent::refuse_if_blocked(&findings).err().map(|error| error.to_string()));
    let takes_words =
        matches!(now.control, Some(SmtControl::On | SmtControl::Off | SmtControl::Threads(_)));
    Ok(WouldDo {
        schema: SCHEMA,
        action: target.word(),
        dry_run: true,
        writes: if takes_words { switch::plan(root, saved, target)? } else { Vec::new() },
        seconds_expected: expected(topology, target),
        refusals,
        findings,
    })
}

fn expected(topology: &Topology, target: Target) -> f64 {
    let going = preflight::going(topology, target).len();
    let coming = match target {
        Target::Off => 0,
        _ => topology.cpus.iter().filter(|cpu| !cpu.online).count(),
    };
    SECONDS_PER_CPU * (going + coming) as f64
}

fn describe_plan(would: &WouldDo) -> String {
    let mut text = String::new();
    if !would.findings.is_empty() {
        text += &(consent::list(&would.findings) + "\n\n");
    }
    if !would.writes.is_empty() {
        text += &format!(
            "Would write, in this order:\n{}Would take about {:.1} s ({SECONDS_PER_CPU} s for each \
             CPU that goes or comes).\n",
            writes(&would.writes),
            would.seconds_expected
        );
    } else if would.refusals.is_empty() {
        text += "Nothing would be written: the machine is so already.\n";
    }
    for refusal in &would.refusals {
        text += &format!("Would be refused: {refusal}\n");
    }
    text
}

pub(super) fn writes(writes: &[Write]) -> String {
    let line = |write: &Write| {
        let needed = if write.if_needed { "   if needed" } else { "" };
        format!("  {:<4} > {}{needed}\n", write.text, write.path)
    };
    writes.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;
    use coretwin_base::machine::cpu_set::CpuSet;
    use coretwin_host::fake;

    fn done(after: &str) -> Done {
        let cpus = |list: &str| CpuSet::parse(list).expect("list");
        Done {
            schema: SCHEMA,
            action: "off".to_owned(),
            control_before: None,
            control_after: None,
            online_before: cpus("0-7"),
            online_after: cpus(after),
            seconds: 0.25,
            differences: Vec::new(),
            left_to_do: Vec::new(),
            warnings: vec!["the core of CPU 3 is out of use".to_owned()],
        }
    }

    #[test]
    fn what_was_done_says_how_to_undo_it() {
        assert_eq!(
            describe(&done("0-3"), true),
            "CPUs 0-3 are online, before it was 0-7 (0.25 s).\n\
             Note: the core of CPU 3 is out of use\n\
             To undo: sudo coretwin smt restore\n"
        );
        let nothing = describe(&done("0-7"), false);
        assert!(
            nothing.starts_with("Nothing was to be done") && nothing.contains("as it was found")
        );
    }

    #[test]
    fn a_plan_lists_every_write() {
        let write = |text: &str, path: &str, if_needed| Write {
            path: path.to_owned(),
            text: text.to_owned(),
            if_needed,
        };
        let plan = [write("on", "/sys/x/control", false), write("0", "/sys/x/cpu3/online", true)];
        assert_eq!(
            writes(&plan),
            "  on   > /sys/x/control\n  0    > /sys/x/cpu3/online   if needed\n"
        );
    }

    /// The refusal of a fake machine: its sentence and exit status.
    fn refused(name: &str, files: &[(&str, &str)]) -> (String, u8) {
        let folder = tempfile::tempdir().expect("folder");
        let root = fake::machine(name).expect(name).write(folder.path()).expect("written");
        for (path, text) in files {
            std::fs::write(root.path(path), text).expect("written");
        }
        let how = How { yes: true, dry_run: false, json: false };
        let error = run(&root, Target::Off, &how).expect_err("refused");
        let control = std::fs::read_to_string(root.path("sys/devices/system/cpu/smt/control"));
        let before = fake::machine(name).expect(name).control.map(|word| format!("{word}\n"));
        assert_eq!(control.ok(), before, "{name}: nothing was written");
        let dry = plan(&root, &host::topology(&root).expect("topology"), Target::Off);
        let refusals = dry.expect("plan").refusals;
        assert_eq!(refusals, [error.to_string()], "{name}: known beforehand");
        (error.to_string(), exit::status(&error))
    }

    #[test]
    fn every_refusal_says_what_helps_and_what_can_be_done_instead() {
        let instead = "coretwin study --arm one-per-core --arm on";
        for (name, files, parts) in [
            ("cpuset-v1-taskset", &[][..], &["only root", "sudo", instead][..]),
            ("container-half-core", &[], &["read-only", "on the host", instead]),
            ("forced-off-adjacent", &[], &["nosmt=force"]),
            ("vm-no-smt", &[], &["shows no SMT"]),
            ("arm-big-little", &[], &["CONFIG_HOTPLUG_SMT"]),
            ("no-smt-folder", &[], &["4.19", instead]),
        ] {
            let (sentence, status) = refused(name, files);
            assert_eq!(status, NOT_POSSIBLE, "{name}");
            for part in parts {
                assert!(sentence.contains(part), "{name}: {part} in {sentence}");
            }
        }
    }

    #[test]
    fn a_dry_run_tells_writes_time_and_findings_and_writes_nothing() {
        let folder = tempfile::tempdir().expect("folder");
        let root = fake::machine("offline-by-hand").expect("machine");
        let root = root.write(folder.path()).expect("written");
        let topology = host::topology(&root).expect("topology");
        let off = plan(&root, &topology, Target::Off).expect("plan");
        let expected = "Would write, in this order:\n  off  > /sys/devices/system/cpu/smt/control\n\
                        Would take about 0.3 s (0.1 s for each CPU that goes or comes).\n";
        assert_eq!(describe_plan(&off), expected);
        let on = plan(&root, &topology, Target::On).expect("plan");
        assert!(on.writes.is_empty() && on.findings.len() == 1, "offline by hand stays so");
        let level = check_level(&topology, Target::Level(3)).expect_err("too many");
        assert_eq!(exit::status(&level), exit::USAGE);
    }
}
