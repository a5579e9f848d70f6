//! Changes by hand, and their undo.

use crate::machine::{Machine, Nobody, changed, release};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_host::fake::kernel::{Fault, Release};
use coretwin_host::root::Root;
use coretwin_host::smt::guard::{GuardError, Guardian};
use coretwin_host::smt::kernel::Kernel;
use coretwin_host::smt::restore::restore_slot;
use coretwin_host::smt::saved::{self, Slot};
use coretwin_host::smt::switch::Applied;
use coretwin_host::smt::target::Target;
use coretwin_host::smt::{SwitchError, hand};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;

fn change(machine: &Machine, target: Target) -> Result<Applied, SwitchError> {
    hand::change(&machine.root, &*machine.kernel, &mut Nobody, target)
}

fn undo(machine: &Machine) -> Vec<String> {
    let restored = restore_slot(&machine.root, &*machine.kernel, Slot::Hand).expect("restored");
    restored.expect("there is a state").left_to_do
}

#[test]
fn a_change_is_kept_and_the_undo_goes_back_to_before_the_first() {
    for release in Release::ALL {
        let machine = Machine::furnished("power-smt8", release);
        let before = machine.facts();
        change(&machine, Target::Off).expect("off");
        let stored = saved::read(&machine.root, Slot::Hand).expect("read").expect("kept");
        assert!(stored.kept);
        if release.name.starts_with("6.12") {
            change(&machine, Target::Level(4)).expect("level");
            assert_eq!(machine.control(), "4");
        }
        change(&machine, Target::Off).expect("off again");
        assert_eq!(undo(&machine), Vec::<String>::new());
        assert_eq!(changed(&before, &machine.facts()), BTreeSet::new(), "{release:?}");
        assert!(!machine.root.exists(&Slot::Hand.file()));
    }
}

#[test]
fn a_change_that_leads_back_keeps_nothing() {
    let machine = Machine::boot("vm-adjacent", release("6.12"));
    change(&machine, Target::On).expect("it is on");
    assert!(!machine.root.exists(&Slot::Hand.file()));
    change(&machine, Target::Off).expect("off");
    change(&machine, Target::On).expect("on");
    assert!(!machine.root.exists(&Slot::Hand.file()), "it is as it was");
    assert_eq!(machine.online().len(), 8);
}

#[test]
fn a_failed_second_change_goes_back_to_the_first_and_keeps_its_undo() {
    let machine = Machine::furnished("vm-adjacent", release("6.12"));
    let before = machine.facts();
    change(&machine, Target::Off).expect("off");
    let first = machine.facts();
    machine.kernel.add_fault(Fault::Stuck(CpuId(5), Errno::IO));
    let error = change(&machine, Target::On).expect_err("stuck").to_string();
    assert!(error.contains("everything was put back as it was"), "{error}");
    assert_eq!(changed(&first, &machine.facts()), BTreeSet::new());
    machine.kernel.clear_faults();
    assert_eq!(undo(&machine), Vec::<String>::new());
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
}

#[test]
fn a_failed_first_change_leaves_no_undo() {
    let machine = Machine::furnished("vm-adjacent", release("6.12"));
    let before = machine.facts();
    machine.kernel.add_fault(Fault::Stuck(CpuId(5), Errno::BUSY));
    change(&machine, Target::Off).expect_err("stuck");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
    assert!(!machine.root.exists(&Slot::Hand.file()));
    let error = change(&machine, Target::Level(3)).expect_err("not on this machine").to_string();
    assert!(error.contains("only by some architectures"), "{error}");
    assert!(!machine.root.exists(&Slot::Hand.file()));
}

/// A kernel upon whose first write /run takes no more states.
struct FullRun<'a>(&'a Machine);

impl Kernel for FullRun<'_> {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let name = format!("run/coretwin/smt-hand.json.{}", std::process::id());
        // It may be there already.
        let _ = std::fs::create_dir(self.0.root.path(&name));
        self.0.kernel.write(path, text)
    }

    fn set_affinity(&self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        self.0.kernel.set_affinity(task, cpus)
    }
}

#[test]
fn a_change_whose_undo_cannot_be_kept_is_undone() {
    let machine = Machine::furnished("vm-adjacent", release("6.12"));
    let before = machine.facts();
    let error = hand::change(&machine.root, &FullRun(&machine), &mut Nobody, Target::Off)
        .expect_err("not kept")
        .to_string();
    assert!(error.contains("undo cannot be kept") && error.contains("was put back"), "{error}");
    assert!(!error.contains("nothing was changed"), "{error}");
    assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
    assert!(!machine.root.exists(&Slot::Hand.file()));
}

/// A guardian that cannot start anybody.
struct Unable;

impl Guardian for Unable {
    fn ensure(&mut self, _root: &Root, _slot: Slot) -> Result<(), GuardError> {
        Err(GuardError::NotReady { seconds: 1 })
    }
}

#[test]
fn without_a_guard_nothing_is_changed() {
    let machine = Machine::boot("vm-adjacent", release("6.12"));
    let change = |target| hand::change(&machine.root, &*machine.kernel, &mut Unable, target);
    let error = change(Target::Off).expect_err("no guard").to_string();
    assert!(error.contains("nothing was changed"), "{error}");
    assert_eq!(machine.kernel.log(), Vec::<String>::new());
    assert!(!machine.root.exists(&Slot::Hand.file()));
}
