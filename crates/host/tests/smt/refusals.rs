//! The kernel refuses: once, at every write in turn, or for good.

use crate::machine::{Machine, assert_exact, changed, release};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_host::fake::kernel::{Fault, Release};
use coretwin_host::smt::SwitchError;
use coretwin_host::smt::kernel::Kernel;
use coretwin_host::smt::restore::restore_slot;
use coretwin_host::smt::saved::{self, Slot};
use coretwin_host::smt::target::Target;
use rustix::io::Errno;
use std::collections::BTreeSet;

const ERRNOS: [Errno; 4] = [Errno::PERM, Errno::BUSY, Errno::INVAL, Errno::NODEV];

/// Switches off and on again and ends; which of it failed.
fn study(machine: &Machine) -> Vec<SwitchError> {
    let mut session = machine.session();
    let mut errors = Vec::new();
    for target in [Target::Off, Target::On, Target::Off] {
        errors.extend(session.apply(target).err());
    }
    let restored = session.close().expect("closed");
    assert!(restored.is_complete(), "{restored:?}");
    errors
}

#[test]
fn one_refusal_at_every_write_in_turn_never_leaves_anything() {
    let mut refused = 0;
    for release in Release::ALL {
        let more = release.name.starts_with("6.12");
        for name in ["offline-by-hand", "power-smt4-sparse"].into_iter().take(1 + usize::from(more))
        {
            let writes = {
                let machine = Machine::furnished(name, release);
                assert!(study(&machine).is_empty());
                machine.kernel.log().len()
            };
            for at in 0..writes {
                let errno = ERRNOS[at % ERRNOS.len()];
                let machine = Machine::furnished(name, release);
                let before = machine.facts();
                machine.kernel.add_fault(Fault::Write(at as u64, errno));
                let context = format!("{name} {release:?}, write {at}: {errno:?}");
                for error in study(&machine) {
                    refused += 1;
                    let SwitchError::Refused { restored, .. } = &error else {
                        panic!("{context}: {error}");
                    };
                    assert!(restored.is_complete(), "{context}: {error}");
                    assert!(error.to_string().contains("everything was put back"), "{error}");
                }
                assert_eq!(changed(&before, &machine.facts()), BTreeSet::new(), "{context}");
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_cpu_that_cannot_go_is_named_and_everything_is_rolled_back() {
    for release in Release::ALL {
        let machine = Machine::furnished("server-halves", release);
        let before = machine.facts();
        machine.kernel.add_fault(Fault::Stuck(CpuId(20), Errno::BUSY));
        let mut session = machine.session();
        let error = session.apply(Target::Off).expect_err("stuck").to_string();
        assert!(error.starts_with("SMT could not be switched to off: "), "{error}");
        assert!(error.contains("a task with a deadline needs it"), "{error}");
        assert!(error.ends_with("everything was put back as it was"), "{error}");
        assert_eq!(changed(&before, &machine.facts()), BTreeSet::new(), "{release:?}: {error}");

        // A second attempt is one: since 6.6 the kernel would take the same word for done.
        machine.kernel.clear_faults();
        let applied = session.apply(Target::Off).expect("off");
        assert_eq!((machine.control().as_str(), applied.online_after.len()), ("off", 16));
        session.close().expect("closed");
        assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
    }
}

#[test]
fn off_after_somebody_elses_half_failed_off_is_really_off() {
    for release in Release::ALL {
        let machine = Machine::furnished("vm-adjacent", release);
        let before = machine.facts();
        machine.kernel.add_fault(Fault::Stuck(CpuId(5), Errno::BUSY));
        let control = "sys/devices/system/cpu/smt/control";
        let by_hand = Kernel::write(&*machine.kernel, control, "off");
        by_hand.expect_err("stuck");
        machine.kernel.clear_faults();
        assert_ne!(changed(&before, &machine.facts()), BTreeSet::new(), "some CPUs are gone");
        let mut session = machine.session();
        let found = machine.facts();
        let applied = session.apply(Target::Off).expect("off");
        assert_eq!((machine.control().as_str(), applied.online_after.len()), ("off", 4));
        let restored = session.close().expect("closed");
        assert!(restored.is_complete(), "{restored:?}");
        let mut left = changed(&found, &machine.facts());
        // SMT is on with a word that cannot be asked for.
        left.remove("smt/control");
        assert_eq!(left, BTreeSet::new(), "{release:?}");
    }
}

/// A file that takes no more writes once SMT is off, and what must be said of it.
const BROKEN: [(&str, Errno, &str); 7] = [
    ("sys/devices/system/cpu/smt/control", Errno::PERM, "echo on > /sys/devices/system/cpu/smt/c"),
    ("sys/devices/system/cpu/smt/control", Errno::ROFS, "/sys is mounted read-only"),
    ("proc/irq/24", Errno::NOSPC, "no free vector"),
    ("sys/fs/cgroup/cpuset/jobs/a/cpuset.cpus", Errno::INVAL, "echo 31 > /sys/fs/cgroup/cpuset"),
    ("sys/fs/cgroup/cpuset/jobs/a/tasks", Errno::NOSPC, "group of task 73"),
    ("sys/fs/cgroup/quiet/cpuset.cpus.partition", Errno::BUSY, "echo isolated > /sys/fs/cgroup/q"),
    ("affinity/71", Errno::PERM, "taskset -pc 31 71"),
];

#[test]
fn what_is_refused_for_good_is_reported_exactly_and_can_be_done_later() {
    let mut reported = 0;
    for release in Release::ALL {
        for (path, errno, words) in BROKEN {
            let machine = Machine::furnished("server-halves", release);
            let before = machine.facts();
            let mut session = machine.session();
            session.apply(Target::Off).expect("off");
            machine.kernel.add_fault(Fault::Path(path.to_owned(), errno));
            let context = format!("{release:?} {path} {errno:?}");
            let restored = session.close().expect("goes on where it can");
            let now = machine.facts();
            assert_exact(&before, &now, &restored, &context);
            if changed(&before, &now).is_empty() {
                continue; // Nothing had to be written there, by this kernel.
            }
            reported += 1;
            let said = restored.left_to_do.join("\n");
            assert!(said.contains(words), "{context}: {said}");
            let stored = saved::read(&machine.root, Slot::Study).expect("read");
            assert!(stored.is_some(), "{context}: the state stays");
            let kernel = &*machine.kernel;
            let again = restore_slot(&machine.root, kernel, Slot::Study).expect("again");
            assert!(!again.expect("state").is_complete(), "{context}");
            assert!(machine.root.exists(&Slot::Study.file()), "{context}: it stays for later");

            machine.kernel.clear_faults();
            let later = restore_slot(&machine.root, kernel, Slot::Study).expect("later");
            assert!(later.expect("state").is_complete(), "{context}");
            assert_eq!(changed(&before, &machine.facts()), BTreeSet::new(), "{context}");
            assert!(!machine.root.exists(&Slot::Study.file()), "{context}");
        }
    }
    assert!(reported > 2 * BROKEN.len(), "most kernels need most of these writes: {reported}");
}

#[test]
fn a_cpu_that_does_not_come_back_is_left_to_do() {
    for (name, cpu) in [("server-halves", 20), ("vm-adjacent", 3), ("power-smt8", 13)] {
        for release in Release::ALL {
            let machine = Machine::furnished(name, release);
            let before = machine.facts();
            let mut session = machine.session();
            session.apply(Target::Off).expect("off");
            machine.kernel.add_fault(Fault::Stuck(CpuId(cpu), Errno::IO));
            let error = session.apply(Target::On).expect_err("stuck");
            let context = format!("{name} {release:?}");
            let SwitchError::Refused { restored, .. } = &error else { panic!("{error}") };
            assert_exact(&before, &machine.facts(), restored, &context);
            let text = error.to_string();
            let cpu = format!("CPUs that were online: {cpu} (");
            assert!(text.contains(&cpu) && text.contains("did not answer"), "{context}: {text}");
            drop(session);
        }
    }
}

#[test]
fn managed_interrupts_are_reported_and_not_failed() {
    // Kernels before 6.11 do not show by the file's mode that they place it.
    for (release, known) in [(release("6.5"), false), (release("6.12"), true)] {
        let machine = Machine::boot("vm-adjacent", release);
        machine.kernel.add_interrupt(40, "nvme0q3", "7", true).expect("interrupt");
        let stored = machine.save(Slot::Study);
        assert_eq!(stored.interrupts[0].managed, known);
        // The driver makes it anew, for other CPUs.
        machine.kernel.add_interrupt(40, "nvme0q3", "6-7", true).expect("interrupt");
        let restored = restore_slot(&machine.root, &*machine.kernel, Slot::Study);
        let restored = restored.expect("restored").expect("state");
        assert!(restored.is_complete(), "{restored:?}");
        let [difference] = restored.differences.try_into().expect("one");
        assert_eq!((difference.what.as_str(), difference.managed), ("interrupt 40", true));
        assert_eq!((difference.saved.as_str(), difference.now.as_str()), ("7", "6-7"));
    }
}

/// What is said of each errno of the control word, before anything was changed.
const WORDS: [(Errno, &str); 11] = [
    (Errno::PERM, "run it as root outside of any container"),
    (Errno::NODEV, "use the arm one-per-core, or boot with nosmt"),
    (Errno::INVAL, "use on and off"),
    (Errno::BUSY, "end that task"),
    (Errno::ACCESS, "run it with sudo"),
    (Errno::ROFS, "run it on the host"),
    (Errno::NOENT, "/sys is not mounted"),
    (Errno::AGAIN, "try again"),
    (Errno::INTR, "try again"),
    (Errno::NOMEM, "free some and try again"),
    (Errno::NOTRECOVERABLE, "look at the end of `dmesg`"),
];

#[test]
fn every_errno_is_a_sentence_that_says_what_to_do() {
    for (errno, words) in WORDS {
        let machine = Machine::boot("vm-adjacent", release("6.12"));
        let before = machine.facts();
        let control = "sys/devices/system/cpu/smt/control".to_owned();
        machine.kernel.add_fault(Fault::Path(control, errno));
        let error = machine.session().apply(Target::Off).expect_err("refused").to_string();
        let start = "SMT could not be switched to off: writing off to /sys/devices/system/cpu/smt/";
        assert!(error.starts_with(start) && error.contains(words), "{errno:?}: {error}");
        assert!(error.contains(&std::io::Error::from(errno).to_string()), "{errno:?}: {error}");
        assert_eq!(changed(&before, &machine.facts()), BTreeSet::new());
    }
}

#[test]
fn forced_off_meanwhile_only_a_reboot_helps() {
    let machine = Machine::furnished("vm-adjacent", release("6.12"));
    let before = machine.facts();
    let session = machine.session();
    let control = "sys/devices/system/cpu/smt/control";
    Kernel::write(&*machine.kernel, control, "forceoff").expect("by hand");
    let restored = session.close().expect("goes on where it can");
    assert_exact(&before, &machine.facts(), &restored, "forced off");
    let [word, cpus, ..] = restored.left_to_do.as_slice() else { panic!("{restored:?}") };
    for line in [word, cpus] {
        assert!(line.contains("SMT is forced off until the next boot"), "{line}");
    }
}
