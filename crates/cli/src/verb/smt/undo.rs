//! `coretwin smt restore`: what the guard would have done, by hand, and what a change by hand waits
//! for.

use super::{Done, change};
use crate::exit::{DONE, NOT_RESTORED, NotRestored};
use crate::out;
use anyhow::{Context, Result, anyhow};
use coretwin_base::schema::SCHEMA;
use coretwin_host::lock;
use coretwin_host::root::Root;
use coretwin_host::smt::kernel::{SystemKernel, Write};
use coretwin_host::smt::restore::{self, Restored, restore_slot};
use coretwin_host::smt::saved::{self, Slot, Stored};
use coretwin_host::smt::{SwitchError, capture};
use serde::Serialize;
use std::time::Instant;

const NOTHING_SAVED: &str = "Nothing is saved: there is nothing to put back.\n";

pub(super) fn run(root: &Root, dry_run: bool, json: bool) -> Result<u8> {
    if dry_run {
        return show_plan(root, json);
    }
    let _lock = lock::acquire(root)?;
    let start = Instant::now();
    let mut all: Option<Restored> = None;
    // A study starts from what was done by hand, so it is undone first.
    for slot in Slot::ALL {
        if let Some(stored) = saved::read(root, slot).map_err(with_advice)? {
            // Of another boot or host there is nothing to put back, and nothing was left undone.
            stored.check_machine(root, slot).map_err(with_advice)?;
            refuse_if_used(root, &stored)?;
        }
        let kernel = SystemKernel(root.clone());
        let restored = restore_slot(root, &kernel, slot);
        let restored = restored.map_err(|error| with_advice(error).context(NotRestored))?;
        let Some(restored) = restored else { continue };
        all = Some(match all {
            None => restored,
            Some(first) => joined(first, restored),
        });
    }
    let seconds = start.elapsed().as_secs_f64();
    let Some(restored) = all else {
        return say_nothing_saved(root, json);
    };
    let complete = restored.is_complete();
    if json {
        out::json(&done(restored, seconds))?;
    } else {
        out::text(&describe(&restored))?;
    }
    Ok(if complete { DONE } else { NOT_RESTORED })
}

/// Two undoings, one after the other, as one. What the second finds counts.
fn joined(first: Restored, second: Restored) -> Restored {
    Restored {
        control_before: first.control_before,
        online_before: first.online_before,
        left_to_do: [first.left_to_do, second.left_to_do].concat(),
        warnings: [first.warnings, second.warnings].concat(),
        ..second
    }
}

fn done(restored: Restored, seconds: f64) -> Done {
    Done {
        schema: SCHEMA,
        action: "restore".to_owned(),
        control_before: restored.control_before,
        control_after: restored.control_after,
        online_before: restored.online_before,
        online_after: restored.online_after,
        seconds,
        differences: restored.differences,
        left_to_do: restored.left_to_do,
        warnings: restored.warnings,
    }
}

fn say_nothing_saved(root: &Root, json: bool) -> Result<u8> {
    if json {
        let now = capture::capture(root)?;
        let nothing = Restored {
            control_before: now.control.clone(),
            control_after: now.control,
            online_before: now.online.clone(),
            online_after: now.online,
            differences: Vec::new(),
            left_to_do: Vec::new(),
            warnings: vec!["nothing is saved".to_owned()],
        };
        out::json(&done(nothing, 0.0))?;
    } else {
        out::text(NOTHING_SAVED)?;
    }
    Ok(DONE)
}

/// A change that is being made is not undone under the hands of whoever makes it.
fn refuse_if_used(root: &Root, stored: &Stored) -> Result<(), SwitchError> {
    let holder = &stored.holder;
    if stored.kept || !capture::is_alive(root, holder) {
        return Ok(());
    }
    Err(SwitchError::InUse {
        slot: stored.slot(),
        process: holder.process,
        command_line: holder.command_line.clone(),
    })
}

fn with_advice(error: SwitchError) -> anyhow::Error {
    let useless = matches!(
        error,
        SwitchError::Torn { .. } | SwitchError::OtherHost { .. } | SwitchError::OtherBoot { .. }
    );
    match useless {
        true => anyhow!("{error}; `coretwin smt restore --forget` does that"),
        false => error.into(),
    }
}

fn describe(restored: &Restored) -> String {
    let mut text = format!(
        "CPUs {} are online, before it was {}.\n",
        restored.online_after, restored.online_before
    );
    for warning in &restored.warnings {
        text += &format!("Note: {warning}\n");
    }
    for difference in &restored.differences {
        text += &format!("Differs: {}\n", super::difference(difference, ""));
    }
    for left in &restored.left_to_do {
        text += &format!("Left to do: {left}\n");
    }
    text += match restored.is_complete() {
        true => "The machine is as it was saved.\n",
        false => {
            "The saved state is kept. Do what is left and run coretwin smt restore again, or throw \
             it away with coretwin smt restore --forget.\n"
        }
    };
    text
}

/// What would be written, in this order.
#[derive(Serialize)]
struct WouldDo {
    schema: u32,
    action: &'static str,
    dry_run: bool,
    writes: Vec<Write>,
}

fn show_plan(root: &Root, json: bool) -> Result<u8> {
    let mut writes = Vec::new();
    let mut saved_slots = 0;
    for slot in Slot::ALL {
        let Some(stored) = saved::read(root, slot).map_err(with_advice)? else { continue };
        stored.check_machine(root, slot).map_err(with_advice)?;
        refuse_if_used(root, &stored)?;
        writes.extend(restore::plan(root, &stored)?);
        saved_slots += 1;
    }
    if json {
        out::json(&WouldDo { schema: SCHEMA, action: "restore", dry_run: true, writes })?;
    } else if saved_slots == 0 {
        out::text(NOTHING_SAVED)?;
    } else if writes.is_empty() {
        out::text("Nothing would be written: the machine is as it was saved.\n")?;
    } else {
        out::text(&format!("Would write, in this order:\n{}", change::writes(&writes)))?;
    }
    Ok(DONE)
}

/// Saved states that were thrown away.
#[derive(Serialize)]
struct Forgotten {
    schema: u32,
    action: &'static str,
    files: Vec<String>,
}

/// Throws saved states away, readable or not. One whose holder lives stays: it is in use.
pub(super) fn forget(root: &Root, json: bool) -> Result<u8> {
    let _lock = lock::acquire(root)?;
    let mut files = Vec::new();
    for slot in Slot::ALL {
        match saved::read(root, slot) {
            Ok(None) => continue,
            Ok(Some(stored)) => refuse_if_used(root, &stored)?,
            Err(SwitchError::Unreadable { path, cause })
                if cause.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                return Err(SwitchError::Unreadable { path, cause }.into());
            }
            // That it cannot be understood is why it goes.
            Err(_) => {}
        }
        saved::remove(root, slot).context("it was not thrown away")?;
        files.push(format!("/{}", slot.file()));
    }
    if json {
        out::json(&Forgotten { schema: SCHEMA, action: "forget", files })?;
    } else if files.is_empty() {
        out::text(NOTHING_SAVED)?;
    } else {
        out::text(&format!(
            "Thrown away: {}. The machine stays as it is now.\n",
            files.join(", ")
        ))?;
    }
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_host::smt::restore::Difference;

    fn restored(left_to_do: &[&str]) -> Restored {
        let cpus = |list: &str| coretwin_base::machine::cpu_set::CpuSet::parse(list).expect("list");
        Restored {
            control_before: None,
            control_after: None,
            online_before: cpus("0-3"),
            online_after: cpus("0-7"),
            differences: vec![Difference {
                what: "interrupt 24 (nvme0q3)".to_owned(),
                saved: "6".to_owned(),
                now: "0-7".to_owned(),
                managed: true,
            }],
            left_to_do: left_to_do.iter().map(|text| (*text).to_owned()).collect(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn what_is_left_is_said_and_the_state_is_kept() {
        let text = describe(&restored(&[]));
        assert!(text.ends_with("The machine is as it was saved.\n"), "{text}");
        assert!(text.contains("interrupt 24 (nvme0q3) was 6, is 0-7 (the kernel places it)"));
        let text = describe(&restored(&["bring cpu3 online"]));
        assert!(text.contains("Left to do: bring cpu3 online\n"), "{text}");
        assert!(text.contains("The saved state is kept") && text.contains("--forget"), "{text}");
    }

    /// An earlier boot undid every change by itself: the machine is not told to be other than it was.
    #[test]
    fn a_state_of_an_earlier_boot_is_refused_and_nothing_is_said_to_be_left() {
        let folder = tempfile::tempdir().expect("folder");
        let machine = coretwin_host::fake::machine("vm-adjacent").expect("machine");
        let root = machine.write(folder.path()).expect("written");
        let state = capture::capture(&root).expect("state");
        saved::write(&root, Slot::Hand, state).expect("saved");
        let boot = root.path("proc/sys/kernel/random/boot_id");
        for folder in [boot.parent().expect("parent"), &root.path("run/lock")] {
            std::fs::create_dir_all(folder).expect("folder");
        }
        std::fs::write(boot, "another").expect("boot");
        let error = run(&root, false, false).expect_err("refused");
        assert!(error.to_string().contains("earlier boot"), "{error}");
        assert_eq!(crate::exit::status(&error), crate::exit::NOT_POSSIBLE);
    }

    #[test]
    fn two_undoings_are_told_as_one() {
        let second = Restored { online_before: restored(&[]).online_after, ..restored(&["b"]) };
        let both = joined(restored(&["a"]), second);
        assert_eq!((both.online_before.to_string().as_str(), both.left_to_do.len()), ("0-3", 2));
    }
}
