//! Machines that changed between saving and restoring, and two who restore at once.

use crate::machine::{Machine, changed, release, set};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_host::fake::kernel::Release;
use coretwin_host::smt::kernel::Kernel;
use coretwin_host::smt::restore::{Restored, differences, plan, restore_slot};
use coretwin_host::smt::saved::{Slot, Stored};
use coretwin_host::smt::target::Target;
use coretwin_host::smt::{switch, writer};
use std::collections::BTreeSet;

fn off(machine: &Machine) -> Stored {
    let stored = machine.save(Slot::Study);
    let writer = writer::wait(&machine.root).expect("alone");
    switch::apply(&writer, &machine.root, &*machine.kernel, &stored, Target::Off).expect("off");
    stored
}

fn restore(machine: &Machine) -> Restored {
    let restored = restore_slot(&machine.root, &*machine.kernel, Slot::Study);
    restored.expect("restored").expect("there is a state")
}

#[test]
fn a_cpu_that_vanished_is_reported_and_the_rest_restored() {
    let machine = Machine::furnished("server-halves", release("6.12"));
    let before = machine.facts();
    off(&machine);
    machine.kernel.unplug(CpuId(29)).expect("unplugged");
    let restored = restore(&machine);
    assert_eq!(machine.online(), set("0-28,30-31"));
    assert!(restored.is_complete(), "nobody can bring it back: {restored:?}");
    let [warning] = restored.warnings.as_slice() else { panic!("{restored:?}") };
    assert_eq!(warning, "CPU 29 was online and is not in the machine any more");
    let reported: BTreeSet<String> =
        restored.differences.iter().map(|difference| difference.what.clone()).collect();
    assert_eq!(reported, changed(&before, &machine.facts()));
    assert!(reported.contains("cpu29"));
}

#[test]
fn a_cpu_that_appeared_is_reported_and_left_alone() {
    let machine = Machine::furnished("server-halves", release("6.1"));
    let before = machine.facts();
    off(&machine);
    let new = machine.kernel.plug().expect("plugged");
    let restored = restore(&machine);
    assert_eq!(machine.online(), set("0-32"), "the word wakes it, as a hypervisor wants it");
    assert!(restored.is_complete());
    let warning = format!("CPU {new} is new since the state was saved; it is left online");
    assert_eq!(restored.warnings, [warning]);
    let changed = changed(&before, &machine.facts());
    assert_eq!(changed, BTreeSet::from([format!("cpu{new}")]), "and the rest is restored");
}

#[test]
fn a_control_group_that_was_deleted_is_reported_and_the_rest_restored() {
    for release in Release::ALL {
        let machine = Machine::furnished("server-halves", release);
        let before = machine.facts();
        off(&machine);
        machine.kernel.delete_group("jobs/a").expect("deleted");
        let restored = restore(&machine);
        assert!(restored.is_complete(), "{restored:?}");
        let [warning] = restored.warnings.as_slice() else { panic!("{restored:?}") };
        assert!(warning.contains("/jobs/a was deleted meanwhile"), "{warning}");
        let rest: Vec<String> = changed(&before, &machine.facts())
            .into_iter()
            // Its task fell into the root with it.
            .filter(|what| !what.contains("jobs/a") && !what.ends_with("task 73"))
            .collect();
        assert_eq!(rest, Vec::<String>::new(), "{release:?}");
    }
}

#[test]
fn a_control_group_that_somebody_set_anew_is_told_and_left_alone() {
    for release in Release::ALL {
        let machine = Machine::furnished("server-halves", release);
        let before = machine.facts();
        off(&machine);
        let folder = if release.groups == 1 { "sys/fs/cgroup/cpuset" } else { "sys/fs/cgroup" };
        let file = format!("{folder}/quiet/cpuset.cpus");
        machine.kernel.write(&file, "2").expect("set anew");
        let restored = restore(&machine);
        assert!(restored.is_complete(), "{restored:?}");
        let [warning] = restored.warnings.as_slice() else { panic!("{restored:?}") };
        assert!(warning.contains("/quiet the CPUs 2 meanwhile, instead of 30"), "{warning}");
        let now = machine.facts();
        assert_eq!(now[&format!("cpuset {file}")], "2");
        let rest: Vec<String> =
            changed(&before, &now).into_iter().filter(|what| !what.contains("/quiet/")).collect();
        assert_eq!(rest, Vec::<String>::new(), "{release:?}");
    }
}

#[test]
fn tasks_that_ended_and_tasks_that_were_moved_on_purpose_are_left_alone() {
    let machine = Machine::furnished("server-halves", release("5.10"));
    off(&machine);
    machine.kernel.end_task(72).expect("ended");
    machine.kernel.end_task(73).expect("ended");
    // Another of the same number, in the group above.
    machine.kernel.add_task(73, "other", "0").expect("task");
    let restored = restore(&machine);
    assert!(restored.is_complete(), "{restored:?}");
    let facts = machine.facts();
    assert!(facts["group of task 73"].ends_with("/other"), "{facts:?}");
}

#[test]
fn an_affinity_that_somebody_set_meanwhile_is_told_and_left_alone() {
    for release in Release::ALL {
        let machine = Machine::furnished("server-halves", release);
        let before = machine.facts();
        off(&machine);
        machine.kernel.set_affinity(71, &set("3-5")).expect("bound anew");
        let restored = restore(&machine);
        assert!(restored.is_complete(), "{restored:?}");
        let [warning] = restored.warnings.as_slice() else { panic!("{restored:?}") };
        let told = "somebody bound task 71 (worker 71) to the CPUs 3-5 meanwhile, instead of 31";
        assert!(warning.starts_with(told), "{warning}");
        let now = machine.facts();
        assert_eq!(now["task 71"], "3-5", "{release:?}");
        let lost = BTreeSet::from(["task 71".to_owned()]);
        assert_eq!(changed(&before, &now), lost, "what the kernel lost is put back: {release:?}");
    }
}

#[test]
fn an_interrupt_that_is_another_now_is_left_alone() {
    let machine = Machine::furnished("server-halves", release("6.12"));
    off(&machine);
    std::fs::rename(machine.root.path("proc/irq/24/eth0"), machine.root.path("proc/irq/24/eth7"))
        .expect("renamed");
    machine.kernel.add_interrupt(24, "eth7", "3", false).expect("interrupt");
    let restored = restore(&machine);
    assert!(restored.is_complete() && restored.differences.is_empty(), "{restored:?}");
    assert_eq!(machine.facts()["interrupt 24"], "3");
}

#[test]
fn restoring_twice_is_restoring_once_also_at_the_same_time() {
    let machine = Machine::furnished("server-halves", release("5.10"));
    let before = machine.facts();
    off(&machine);
    let results: Vec<Option<Restored>> = std::thread::scope(|scope| {
        let restorer =
            || restore_slot(&machine.root, &*machine.kernel, Slot::Study).expect("restored");
        let threads = [(); 4].map(|()| scope.spawn(restorer));
        threads.map(|thread| thread.join().expect("joined")).into()
    });
    assert_eq!(results.iter().flatten().count(), 1, "one restores, the others find it done");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
    let writes = machine.kernel.log().len();
    let again = restore_slot(&machine.root, &*machine.kernel, Slot::Study).expect("again");
    assert_eq!((again, machine.kernel.log().len()), (None, writes), "nothing more is written");
}

#[test]
fn a_plan_lists_the_writes_in_their_order_and_writes_nothing() {
    let machine = Machine::boot("offline-by-hand", release("6.12"));
    let stored = off(&machine);
    let writes = machine.kernel.log().len();
    let planned = plan(&machine.root, &stored).expect("plan");
    let lines: Vec<String> = planned
        .iter()
        .map(|write| {
            let name = write.path.trim_start_matches("/sys/devices/system/cpu/");
            format!("{name} {}{}", write.text, if write.if_needed { "?" } else { "" })
        })
        .collect();
    let expected = [
        "smt/control on",
        "cpu4/online 1?",
        "cpu6/online 1?",
        "cpu7/online 1?",
        "cpu3/online 0?",
        "cpu5/online 0?",
    ];
    assert_eq!(lines, expected);
    assert_eq!(machine.kernel.log().len(), writes);
    assert!(!differences(&machine.root, &stored).expect("differences").is_empty());
}

#[test]
fn groups_get_their_cpus_back_parents_first() {
    let machine = Machine::furnished("server-halves", release("5.10"));
    let stored = off(&machine);
    let planned = plan(&machine.root, &stored).expect("plan");
    let at = |end: &str| planned.iter().position(|write| write.path.ends_with(end)).expect(end);
    assert!(at("/smt/control") < at("/cpu16/online"));
    assert!(at("/cpu31/online") < at("/jobs/cpuset.cpus"));
    assert!(at("/jobs/cpuset.cpus") < at("/jobs/a/cpuset.cpus"));
    assert!(at("/jobs/a/cpuset.cpus") < at("/jobs/a/tasks"));
    assert!(at("/jobs/a/tasks") < at("sched_setaffinity(73)"));
}
