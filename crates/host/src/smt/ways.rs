//! The three ways to go without SMT, and which of them is open here: the kernel's switch, the next
//! boot, and core scheduling.

use crate::root::Root;
use coretwin_base::machine::topology::{SmtControl, Topology};
use coretwin_base::machine::ways::{Way, Ways, WithoutSmt};

/// Words on the kernel's command line that make a boot one without SMT
/// (Documentation/admin-guide/kernel-parameters.txt).
const BOOT_WORDS: [&str; 5] =
    ["nosmt", "nosmt=force", "smt=1", "smt-enabled=off", "l1tf=full,force"];
/// So do options of mitigations that hold this one, as `mds=full,nosmt` and `retbleed=auto,nosmt` do:
/// always, or if the processor is vulnerable.
const BOOT_OPTION: &str = "nosmt";

/// Which ways are open. Core scheduling is asked for by a system call that the caller makes:
/// `Err` says why the kernel refused.
pub fn read(root: &Root, topology: &Topology, core_scheduling: Result<(), String>) -> Ways {
    let smt = &topology.smt;
    let switch = match smt.switchable {
        true => "sudo coretwin smt off, and coretwin smt restore to undo it; in a study: --switch",
        false => &smt.why,
    };
    Ways {
        switch: way(smt.switchable, switch),
        boot: boot(root, topology),
        core_scheduling: match core_scheduling {
            Ok(()) => way(
                true,
                "SMT stays on, siblings run only tasks with the same cookie; in a study: --arm \
                 core-sched",
            ),
            Err(why) => way(false, why),
        },
    }
}

fn way(available: bool, why: impl Into<String>) -> Way {
    Way { available, why: why.into() }
}

/// The words of this boot's command line that keep SMT off.
pub(crate) fn boot_words(root: &Root) -> Vec<String> {
    let line = root.fact("proc/cmdline").unwrap_or_default();
    let holds_option = |word: &str| {
        let options = word.split_once('=').map(|(_, options)| options);
        options.is_some_and(|options| options.split(',').any(|option| option == BOOT_OPTION))
    };
    let words =
        line.split_whitespace().filter(|word| BOOT_WORDS.contains(word) || holds_option(word));
    words.map(str::to_owned).collect()
}

fn boot(root: &Root, topology: &Topology) -> Way {
    let words = boot_words(root);
    if !words.is_empty() {
        let words = words.join(" ");
        return way(
            true,
            format!(
                "this boot has {words} on its command line; in a study this boot is an arm: --arm \
                 boot:LABEL"
            ),
        );
    }
    let (available, why) = match &topology.smt.control {
        Some(SmtControl::NotSupported) => {
            (false, "no SMT to go without is visible: the kernel sees one CPU on each core")
        }
        Some(SmtControl::ForceOff) => (
            false,
            "SMT is off for good already, by a word that this boot's command line does not show",
        ),
        _ if topology.threads_per_core_max.is_some_and(|most| most < 2) => {
            (false, "no SMT to go without is visible: no core shows a second CPU")
        }
        Some(SmtControl::NotImplemented) => (
            false,
            "this kernel or architecture does not know nosmt; switch SMT off in the firmware \
             instead",
        ),
        None => (
            true,
            "kernels before 4.19 do not know nosmt; switch SMT off in the firmware, and boot",
        ),
        Some(_) => {
            (true, "add nosmt to the kernel's command line and boot; in a study: --arm boot:LABEL")
        }
    };
    way(available, why)
}

/// What SMT costs here, and the ways without it.
pub fn without_smt(
    root: &Root,
    topology: &Topology,
    core_scheduling: Result<(), String>,
) -> WithoutSmt {
    WithoutSmt {
        ways: read(root, topology, core_scheduling),
        security: super::security::read(root),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fake, topology};

    fn of(name: &str) -> Ways {
        let (_folder, root) = fake::written(name);
        let topology = topology::read(&root).expect("topology");
        read(&root, &topology, Err("no cookies".to_owned()))
    }

    #[test]
    fn boot_words_are_found_among_others() {
        let (_folder, root) = fake::written("server-halves");
        let words = |line: &str| {
            std::fs::write(root.path("proc/cmdline"), line).expect("written");
            boot_words(&root).join(" ")
        };
        let all = "nosmt smt=1 l1tf=full,force mds=full,nosmt retbleed=auto,nosmt";
        assert_eq!(words(&format!("root=/dev/sda1 ro {all} quiet\n")), all);
        assert_eq!(words("smt=2 l1tf=full mds=full console=nosmtX nosmtY mitigations=auto\n"), "");
    }

    #[test]
    fn each_machine_has_the_ways_it_has() {
        for (name, switch, boot, part) in [
            ("server-halves", true, true, "add nosmt"),
            ("vm-no-smt", false, false, "no SMT to go without"),
            ("forced-off-adjacent", false, true, "this boot has l1tf=full,force nosmt=force"),
            ("no-smt-folder", false, true, "before 4.19"),
            ("arm-big-little", false, false, "no core shows a second CPU"),
            ("cpuset-v1-taskset", false, true, "add nosmt"),
            ("smt-off", true, true, "add nosmt"),
        ] {
            let ways = of(name);
            assert_eq!((ways.switch.available, ways.boot.available), (switch, boot), "{name}");
            assert!(ways.boot.why.contains(part), "{name}: {}", ways.boot.why);
            assert!(!ways.core_scheduling.available && ways.core_scheduling.why == "no cookies");
        }
    }
}
