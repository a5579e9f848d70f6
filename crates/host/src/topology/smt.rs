//! The kernel's SMT switch: what it says, and whether we could use it.

use crate::root::{CPUS, Root};
use crate::user;
use coretwin_base::machine::topology::{Smt, SmtControl};
use std::collections::BTreeMap;

pub(crate) const FORCED_OFF: &str = "SMT is forced off until the next boot; boot without nosmt=force (or the mitigation that forces \
     it, such as l1tf=full,force)";
pub(crate) const READ_ONLY: &str = "/sys is mounted read-only, as in most containers; run it on the host, or in a privileged \
     container";

/// Reads `smt/control` and `smt/active`, and finds out whether a write would be let through.
pub(super) fn read(root: &Root, hypervisor: Option<&str>) -> Smt {
    let control = root.fact(&format!("{CPUS}/smt/control")).map(|word| SmtControl::parse(&word));
    let active = root.number::<u8>(&format!("{CPUS}/smt/active")).map(|active| active != 0);
    let refusal = refusal(root, control.as_ref(), hypervisor);
    let switchable = refusal.is_none();
    let why = refusal.unwrap_or_else(|| "this user may write the control".to_owned());
    Smt { control, active, switchable, why }
}

/// Why the switch cannot be used, with what would help; `None` if it can.
fn refusal(root: &Root, control: Option<&SmtControl>, hypervisor: Option<&str>) -> Option<String> {
    let machine = match control {
        None if root.exists(&format!("{CPUS}/smt")) => {
            Some("smt/control cannot be read; run as a user who may read /sys".to_owned())
        }
        None => Some(
            "the kernel has no /sys/devices/system/cpu/smt (it came with 4.19); boot with nosmt, \
             switch SMT in the firmware, or use the arm one-per-core"
                .to_owned(),
        ),
        Some(SmtControl::ForceOff) => Some(FORCED_OFF.to_owned()),
        Some(SmtControl::NotSupported) => Some(match hypervisor {
            Some(name) => format!(
                "the hypervisor ({name}) shows no SMT to this machine; ask for a virtual machine \
                 that shows the threads of its cores"
            ),
            None => {
                "the processor has no SMT, or the firmware switched it off; look there".to_owned()
            }
        }),
        Some(SmtControl::NotImplemented) => Some(
            "this kernel or architecture cannot switch SMT while it runs (CONFIG_HOTPLUG_SMT); \
             boot with nosmt or use the arm one-per-core"
                .to_owned(),
        ),
        Some(SmtControl::Other(word)) => Some(format!(
            "the control says '{word}', which this version does not know; use a newer coretwin"
        )),
        Some(SmtControl::On | SmtControl::Off | SmtControl::Threads(_)) => None,
    };
    machine.or_else(|| not_writable(root))
}

fn not_writable(root: &Root) -> Option<String> {
    if user::effective_user(root).is_some_and(|user| user != 0) {
        return Some("only root may write smt/control; run it with sudo".to_owned());
    }
    if sysfs_is_read_only(&root.text("proc/self/mountinfo").unwrap_or_default()) {
        return Some(READ_ONLY.to_owned());
    }
    let control = root.path(&format!("{CPUS}/smt/control"));
    match rustix::fs::access(&control, rustix::fs::Access::WRITE_OK) {
        Ok(()) => None,
        Err(rustix::io::Errno::ROFS) => Some(READ_ONLY.to_owned()),
        Err(error) => Some(format!(
            "smt/control cannot be written, though this user is root ({error}); run it outside \
             the container or user namespace"
        )),
    }
}

/// Whether the mount that holds the switch is read-only. The last matching mount is the topmost.
fn sysfs_is_read_only(mountinfo: &str) -> bool {
    let covers = |point: &str| {
        ["/sys", "/sys/devices", "/sys/devices/system", "/sys/devices/system/cpu"].contains(&point)
    };
    let mut options = mountinfo.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(4);
        let (point, options) = (fields.next()?, fields.next()?);
        covers(point).then_some(options)
    });
    options.next_back().is_some_and(|options| options.split(',').any(|option| option == "ro"))
}

/// Mitigations whose text depends on SMT: the kernel writes `SMT vulnerable`, `SMT disabled`,
/// `SMT Host state unknown` and the like, and STIBP is on only beside a sibling.
pub(super) fn mitigations(root: &Root) -> BTreeMap<String, String> {
    let folder = format!("{CPUS}/vulnerabilities");
    root.names(&folder)
        .into_iter()
        .filter_map(|name| {
            let text = root.fact(&format!("{folder}/{name}"))?;
            (text.contains("SMT") || text.contains("STIBP")).then_some((name, text))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::sysfs_is_read_only;

    #[test]
    fn the_topmost_mount_decides() {
        let mount =
            |point: &str, mode: &str| format!("1 0 0:1 / {point} {mode},nosuid - sysfs s rw\n");
        assert!(sysfs_is_read_only(&mount("/sys", "ro")));
        assert!(!sysfs_is_read_only(&(mount("/sys", "ro") + &mount("/sys", "rw"))));
        assert!(!sysfs_is_read_only(&mount("/sys/firmware", "ro")));
        assert!(!sysfs_is_read_only(""));
    }
}
