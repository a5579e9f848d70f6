//! The switch moved and put back where nothing goes wrong.

use crate::machine::{Machine, changed, release, set};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_host::fake::kernel::Release;
use coretwin_host::smt::kernel::Kernel;
use coretwin_host::smt::saved::{self, Slot};
use coretwin_host::smt::target::Target;
use std::collections::BTreeSet;

const MACHINES: [&str; 6] = [
    "server-halves",
    "vm-adjacent",
    "hybrid",
    "power-smt8",
    "offline-by-hand",
    "power-smt4-sparse",
];

#[test]
fn a_study_leaves_the_machine_as_it_found_it() {
    for name in MACHINES {
        for release in Release::ALL {
            let machine = Machine::furnished(name, release);
            let before = machine.facts();
            let mut session = machine.session();
            for target in [Target::Off, Target::On, Target::Off] {
                let applied = session.apply(target).expect(name);
                assert_eq!(applied.online_after, machine.online(), "{name} {release:?}");
            }
            assert!(!changed(&before, &machine.facts()).is_empty(), "off takes CPUs away");
            let restored = session.close().expect("closed");
            let what = format!("{name} {release:?}");
            assert_eq!(changed(&before, &machine.facts()), BTreeSet::new(), "{what}");
            assert_eq!((restored.differences, restored.left_to_do), (vec![], vec![]), "{what}");
            assert!(!machine.root.exists(&Slot::Study.file()), "{what}: the slot is empty");
        }
    }
}

#[test]
fn on_keeps_cpus_offline_that_were_so_by_hand() {
    let machine = Machine::boot("offline-by-hand", release("6.12"));
    let mut session = machine.session();
    session.apply(Target::Off).expect("off");
    assert_eq!((machine.control().as_str(), machine.online()), ("off", set("0-2")));
    let applied = session.apply(Target::On).expect("on");
    assert_eq!((applied.online_before, applied.online_after), (set("0-2"), set("0-2,4,6-7")));
    let log = machine.kernel.log();
    let woken: Vec<&String> = log.iter().filter(|line| line.ends_with("online = 0")).collect();
    assert_eq!(woken.len(), 2, "the word wakes them, and they are put back: {log:?}");
}

#[test]
fn a_first_thread_offline_by_hand_takes_its_core_along_and_that_is_said() {
    let machine = Machine::boot("offline-by-hand", release("6.12"));
    let mut session = machine.session();
    let applied = session.apply(Target::Off).expect("off");
    assert_eq!(applied.online_after, set("0-2"), "3 was offline by hand, 7 is its sibling");
    let [warning] = applied.warnings.try_into().expect("one warning");
    assert!(warning.contains("the core of CPU 7 is out of use"), "{warning}");
}

#[test]
fn a_study_that_begins_with_smt_off_ends_with_it() {
    let machine = Machine::furnished("smt-off", release("6.1"));
    machine.kernel.write("sys/devices/system/cpu/cpu3/online", "0").expect("by hand");
    let before = machine.facts();
    let mut session = machine.session();
    let applied = session.apply(Target::On).expect("on");
    assert_eq!(machine.control(), "on");
    assert_eq!(applied.online_after, set("0-2,4-6"), "the core 3,7 was put aside as a whole");
    session.close().expect("closed");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
}

#[test]
fn levels_where_the_kernel_takes_them() {
    let machine = Machine::furnished("power-smt8", release("6.12"));
    let before = machine.facts();
    let mut session = machine.session();
    for (level, word, online) in [(4, "4", 32), (2, "2", 16), (8, "on", 64), (1, "off", 8)] {
        let applied = session.apply(Target::Level(level)).expect("level");
        assert_eq!((machine.control().as_str(), applied.online_after.len()), (word, online));
    }
    session.close().expect("closed");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());

    let machine = Machine::boot("power-smt4-sparse", release("6.12"));
    machine.kernel.write("sys/devices/system/cpu/smt/control", "2").expect("by hand");
    let before = machine.facts();
    let mut session = machine.session();
    session.apply(Target::Off).expect("off");
    session.apply(Target::On).expect("on");
    assert_eq!(machine.online().len(), 16, "on is all threads, whatever the level was");
    session.close().expect("closed");
    assert_eq!(machine.control(), "2");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
}

#[test]
fn between_arms_the_machine_can_be_as_it_was_found() {
    let machine = Machine::furnished("vm-adjacent", release("6.5"));
    let before = machine.facts();
    let mut session = machine.session();
    session.apply(Target::Off).expect("off");
    let restored = session.as_found().expect("as found");
    assert!(restored.is_complete() && restored.differences.is_empty(), "{restored:?}");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
    assert!(machine.root.exists(&Slot::Study.file()), "the session goes on");
    session.apply(Target::Off).expect("off again");
    drop(session);
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new(), "dropping restores too");
}

#[test]
fn nothing_is_written_before_the_state_is_on_disk_even_if_it_was_removed() {
    let machine = Machine::boot("server-halves", release("6.12"));
    let mut session = machine.session();
    assert_eq!(machine.kernel.log(), Vec::<String>::new());
    saved::remove(&machine.root, Slot::Study).expect("removed by somebody");
    session.apply(Target::Off).expect("off");
    let stored = saved::read(&machine.root, Slot::Study).expect("read").expect("there again");
    assert_eq!(stored.online.len(), 32, "as it was in the beginning, not as it is");
    assert!(!stored.online.contains(CpuId(32)));
}
