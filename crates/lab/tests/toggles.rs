//! Moving the switch between visits, on a fake kernel that acts as Linux does.

use coretwin_base::machine::cpu_set::CpuId;
use coretwin_base::machine::topology::Topology;
use coretwin_host::fake::kernel::{FakeKernel, Fault, Release};
use coretwin_host::root::Root;
use coretwin_host::smt::SwitchError;
use coretwin_host::smt::guard::{GuardError, Guardian};
use coretwin_host::smt::saved::Slot;
use coretwin_host::smt::session::Session;
use coretwin_host::{fake, topology};
use coretwin_lab::switching::{Switching, with_smt_on};
use std::sync::Arc;

/// A guard that is always there.
struct Standing;

impl Guardian for Standing {
    fn ensure(&mut self, _root: &Root, _slot: Slot) -> Result<(), GuardError> {
        Ok(())
    }
}

struct Machine {
    kernel: Arc<FakeKernel>,
    _folder: tempfile::TempDir,
}

impl Machine {
    fn boot(name: &str) -> Self {
        // In memory where that is possible: states are synchronised to disk.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("folder");
        let fake = fake::machine(name).expect(name);
        let kernel = FakeKernel::boot(fake, Release::ALL[3], folder.path()).expect("boots");
        Self { kernel: Arc::new(kernel), _folder: folder }
    }

    fn take(&self) -> Switching {
        let kernel = Box::new(Arc::clone(&self.kernel));
        Switching::new(Session::open(self.kernel.root(), kernel, Box::new(Standing)).expect("open"))
    }

    fn topology(&self) -> Topology {
        topology::read(self.kernel.root()).expect("topology")
    }

    /// The words written to the control since then.
    fn words(&self, since: usize) -> Vec<String> {
        let log = self.kernel.log();
        let words = log[since..].iter().filter_map(|line| line.split_once("smt/control = "));
        words.map(|(_, word)| word.to_owned()).collect()
    }

    /// Visits an arm, and gives the words written and whether SMT is active then.
    fn visit(&self, switching: &mut Switching, off: bool) -> (Vec<String>, bool) {
        let since = self.kernel.log().len();
        switching.visit(off).expect("switch");
        (self.words(since), self.topology().smt.active == Some(true))
    }
}

#[test]
fn two_visits_in_one_state_are_two_switches() {
    let machine = Machine::boot("server-halves");
    let before = machine.kernel.facts();
    let mut switching = machine.take();
    assert!(switching.found_on());
    for (off, words) in [
        (false, &["off", "on"][..]),
        (true, &["off"]),
        (true, &["on", "off"]),
        (false, &["on"]),
        (false, &["off", "on"]),
        (true, &["off"]),
    ] {
        let (written, active) = machine.visit(&mut switching, off);
        assert_eq!(written, words, "off: {off}");
        assert_eq!(active, !off);
    }
    let restored = switching.close().expect("restored");
    assert!(restored.is_complete());
    assert_eq!(machine.kernel.facts(), before);
}

#[test]
fn a_machine_found_off_is_switched_on_for_the_others_and_left_off() {
    let machine = Machine::boot("smt-off");
    let before = machine.kernel.facts();
    let supposed = with_smt_on(machine.topology()).expect("the halves tell the siblings");
    let mut switching = machine.take();
    assert!(!switching.found_on());
    assert_eq!(machine.visit(&mut switching, false), (vec!["on".to_owned()], true));
    let seen = machine.topology();
    assert_eq!((&seen.allowed, &seen.online), (&supposed.allowed, &supposed.online));
    assert_eq!(seen.usable_cores(), supposed.usable_cores(), "what was supposed is so");
    assert!(!machine.visit(&mut switching, true).1);
    assert!(switching.close().expect("restored").is_complete());
    assert_eq!(machine.kernel.facts(), before);
}

#[test]
fn whoever_lets_go_of_the_switch_puts_it_back() {
    let machine = Machine::boot("offline-by-hand");
    let before = machine.kernel.facts();
    let mut switching = machine.take();
    switching.visit(true).expect("off");
    switching.visit(false).expect("on");
    assert_eq!(machine.kernel.facts(), before, "with SMT on it is as it was found");
    switching.visit(true).expect("off");
    drop(switching);
    assert_eq!(machine.kernel.facts(), before, "as when a panic unwinds");
}

#[test]
fn a_switch_that_fails_leaves_the_machine_as_it_was_found() {
    let machine = Machine::boot("server-halves");
    let before = machine.kernel.facts();
    let mut switching = machine.take();
    switching.visit(true).expect("off");
    switching.visit(false).expect("on");
    machine.kernel.add_fault(Fault::Stuck(CpuId(20), rustix::io::Errno::BUSY));
    let error = switching.visit(true).expect_err("a CPU that cannot go");
    assert!(matches!(error, SwitchError::Refused { .. }), "{error}");
    assert_eq!(machine.kernel.facts(), before);
    machine.kernel.clear_faults();
    assert!(switching.close().expect("restored").is_complete());
    assert_eq!(machine.kernel.facts(), before);
}
