//! State files that must not be acted on, each with what to do.

use crate::machine::{Machine, Nobody, changed, folder, release};
use coretwin_host::root::Root;
use coretwin_host::smt::SwitchError;
use coretwin_host::smt::hand;
use coretwin_host::smt::restore::restore_slot;
use coretwin_host::smt::saved::{self, SavedState, Slot};
use coretwin_host::smt::session::Session;
use coretwin_host::smt::target::Target;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

/// A machine with a state of which nothing but the given is wrong, and what restoring says.
fn refused(spoil: impl Fn(&Machine, Vec<u8>) -> Vec<u8>) -> String {
    let machine = Machine::furnished("vm-adjacent", release("6.1"));
    machine.save(Slot::Study);
    let path = machine.root.path(&Slot::Study.file());
    let good = std::fs::read(&path).expect("read");
    std::fs::write(&path, spoil(&machine, good)).expect("write");
    let before = machine.facts();
    let error = restore_slot(&machine.root, &*machine.kernel, Slot::Study).expect_err("refused");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
    assert_eq!(machine.kernel.log(), Vec::<String>::new(), "nothing is written");
    let opened = Session::open(&machine.root, machine.boxed(), Box::new(Nobody)).map(drop);
    assert_eq!(opened.expect_err("refused").to_string(), error.to_string(), "a study says it too");
    assert!(path.exists(), "the user decides what becomes of it");
    let error = error.to_string();
    assert!(error.contains("smt-study.json"), "{error}");
    error
}

#[test]
fn a_torn_file_says_so_wherever_it_is_cut() {
    for part in 0..40 {
        let error = refused(|_, good| good[..good.len() * part / 40].to_vec());
        assert!(error.contains("is damaged (") && error.contains("and remove "), "{error}");
        assert_eq!(error.contains("it is empty"), part == 0, "{error}");
    }
}

#[test]
fn a_flipped_byte_is_found() {
    for at in 60..100 {
        let error = refused(|_, mut good| {
            let at = good.len() * at / 101;
            good[at] ^= 1;
            good
        });
        assert!(error.contains("is damaged ("), "{at}: {error}");
    }
}

#[test]
fn a_newer_schema_wants_a_newer_coretwin() {
    let error = refused(|_, _| br#"{"schema":7,"sums":[1],"machine":{}}"#.to_vec());
    assert!(error.contains("schema 7") && error.contains("use a newer coretwin"), "{error}");
}

#[test]
fn another_boot_and_another_host_are_not_restored() {
    let put = |path: &'static str, text: &'static str| {
        move |machine: &Machine, good: Vec<u8>| {
            std::fs::create_dir_all(machine.root.path("etc")).expect("etc");
            std::fs::write(machine.root.path(path), text).expect("write");
            good
        }
    };
    let error = refused(put("proc/sys/kernel/random/boot_id", "another"));
    assert!(error.contains("from an earlier boot, which undid every change"), "{error}");

    let error = refused(|machine, _| {
        let stored = saved::read(&machine.root, Slot::Study).expect("read").expect("state");
        let mut state = SavedState::clone(&stored);
        state.machine.boot_id = "theirs".to_owned();
        state.machine.host_name = "their-host".to_owned();
        saved::write(&machine.root, Slot::Study, state).expect("written");
        std::fs::read(machine.root.path(&Slot::Study.file())).expect("read")
    });
    assert!(error.contains("of the machine 'their-host', and this is 'vm-adjacent'"), "{error}");
}

#[test]
fn a_study_of_a_dead_process_must_be_restored_first_and_one_of_a_living_waited_for() {
    let machine = Machine::boot("vm-adjacent", release("6.12"));
    let mut state = SavedState::clone(&machine.save(Slot::Study));
    let open = || Session::open(&machine.root, machine.boxed(), Box::new(Nobody)).map(drop);
    let error = open().expect_err("left behind");
    assert!(matches!(error, SwitchError::LeftBehind { .. }));
    assert!(error.to_string().contains("run `coretwin smt restore` first"), "{error}");
    let change = |target| hand::change(&machine.root, &*machine.kernel, &mut Nobody, target);
    change(Target::Off).expect_err("by hand neither");

    machine.kernel.add_task(4242, "", "0-7").expect("a process");
    state.holder.process = 4242;
    state.holder.started_ticks = 42_425;
    saved::write(&machine.root, Slot::Study, state.clone()).expect("written");
    let error = open().expect_err("in use");
    assert!(matches!(error, SwitchError::InUse { process: 4242, .. }), "{error}");
    assert!(change(Target::Off).expect_err("nor by hand").to_string().contains("wait for it"));

    // A later process of the same number is another.
    state.holder.started_ticks = 7;
    saved::write(&machine.root, Slot::Study, state).expect("written");
    assert!(matches!(open().expect_err("dead"), SwitchError::LeftBehind { .. }));
    assert_eq!(machine.kernel.log(), Vec::<String>::new());
}

#[test]
fn where_no_state_can_be_kept_nothing_is_changed() {
    let machine = Machine::boot("vm-adjacent", release("6.12"));
    std::fs::write(machine.root.path("run"), "a file where the folder should be").expect("write");
    let error = Session::open(&machine.root, machine.boxed(), Box::new(Nobody)).map(drop);
    let error = error.expect_err("no folder").to_string();
    assert!(error.contains("run it as root"), "{error}");
    assert_eq!(machine.kernel.log(), Vec::<String>::new());
}

#[test]
fn states_are_for_root_alone_and_read_back_as_they_were_written() {
    let machine = Machine::furnished("server-halves", release("5.10"));
    let stored = machine.save(Slot::Study);
    let mode = |path: &str| {
        machine.root.path(path).metadata().expect("there").permissions().mode() & 0o777
    };
    assert_eq!((mode(saved::FOLDER), mode(&Slot::Study.file())), (0o700, 0o600));
    assert_eq!(saved::read(&machine.root, Slot::Study).expect("read"), Some(stored.clone()));
    assert_eq!(stored.cpusets.len(), 4, "every group: {:?}", stored.cpusets);
    assert_eq!(stored.tasks.len(), 5);
    let text = std::fs::read_to_string(machine.root.path(&Slot::Study.file())).expect("text");
    assert!(text.contains(r#""online":"0-31""#), "lists can be read by people: {text}");
    let files = machine.root.names(saved::FOLDER);
    assert_eq!(files, ["smt-study.json"], "nothing temporary is left");
}

proptest! {
    /// Whatever lies there is a state or an error that names the file.
    #[test]
    fn no_file_makes_it_panic(
        schema in 0u32..3,
        text in "(\\{\"schema\":1,\"checksum\":\"[0-9a-f]{16}\",\"state\":\\PC{0,60}|\\PC{0,80})",
    ) {
        let folder = folder();
        let root = Root::at(folder.path());
        std::fs::create_dir_all(root.path(saved::FOLDER)).expect("folder");
        let text = text.replace(":1,", &format!(":{schema},"));
        std::fs::write(root.path(&Slot::Hand.file()), text).expect("write");
        let error = saved::read(&root, Slot::Hand).expect_err("no state").to_string();
        prop_assert!(error.contains("smt-hand.json"), "{}", error);
    }
}
