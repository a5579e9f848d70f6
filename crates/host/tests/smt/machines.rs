//! Every fake machine: it can be switched and is put back, or says why not and is not touched.

use crate::machine::{Machine, changed, release};
use coretwin_host::fake::FAKES;
use coretwin_host::smt::SwitchError;
use coretwin_host::smt::session::Session;
use coretwin_host::smt::target::Target;
use std::collections::BTreeSet;

/// Machines that cannot be switched, with a word of the reason.
const UNABLE: [(&str, &str); 8] = [
    ("vm-no-smt", "the hypervisor"),
    ("container-half-core", "read-only"),
    ("cpuset-v1-taskset", "only root"),
    ("forced-off-adjacent", "forced off until the next boot"),
    ("no-smt-folder", "the kernel has no /sys/devices/system/cpu/smt"),
    ("listing-1", "the kernel has no /sys/devices/system/cpu/smt"),
    ("no-sysfs", "the kernel has no /sys/devices/system/cpu/smt"),
    ("arm-big-little", "CONFIG_HOTPLUG_SMT"),
];

#[test]
fn each_is_switched_and_put_back_or_says_why_not() {
    let mut switched = 0;
    for fake in &FAKES {
        let machine = Machine::boot(fake.name, release("6.12"));
        let before = machine.facts();
        let session =
            Session::open(&machine.root, machine.boxed(), Box::new(crate::machine::Nobody));
        if let Some((_, why)) = UNABLE.iter().find(|(name, _)| *name == fake.name) {
            let error = session.map(drop).expect_err(fake.name);
            assert!(matches!(error, SwitchError::NotSwitchable { .. }), "{}: {error}", fake.name);
            assert!(error.to_string().contains(why), "{}: {error}", fake.name);
            assert!(!machine.root.exists("run/coretwin"), "{}: nothing is written", fake.name);
        } else {
            let mut session = session.expect(fake.name);
            switched += 1;
            for target in [Target::Off, Target::On] {
                session.apply(target).expect(fake.name);
                assert_eq!(machine.control(), target.word(), "{}", fake.name);
            }
            session.close().expect(fake.name);
        }
        assert_eq!(changed(&before, &machine.facts()), BTreeSet::new(), "{}", fake.name);
    }
    assert_eq!(switched, 13);
}
