//! What a kernel's refusal means, and what to do about it.

use super::capture;
use super::restore_order::Step;
use crate::root::Root;
use crate::topology::{FORCED_OFF, READ_ONLY};
use coretwin_base::machine::topology::SmtControl;
use rustix::io::Errno;
use std::io;

/// What an errno means in a step. From kernel/cpu.c, drivers/base/cpu.c, kernel/cgroup/cpuset.c,
/// kernel/irq/proc.c and sched_setaffinity(2).
fn meaning(step: Step, errno: Errno) -> Option<&'static str> {
    use Step::{Control, Cpus, Cpusets, Interrupts, Members, Tasks};
    Some(match (step, errno) {
        (Control, Errno::PERM) => {
            "the kernel does not permit it; run it as root outside of any container, and look for \
             lockdown or a security module in `dmesg`"
        }
        (Control, Errno::NODEV) => {
            "this machine or this kernel cannot switch SMT; use the arm one-per-core, or boot with \
             nosmt"
        }
        (Control, Errno::INVAL) => {
            "the kernel does not take this word; numbers of threads are taken since 6.6 and only by \
             some architectures (POWER), elsewhere use on and off"
        }
        (Control, Errno::BUSY) => {
            "a CPU cannot be taken offline now: a task with a deadline needs it, a driver holds it, or \
             CPU hotplug is disabled; `dmesg` names the CPU; end that task (`chrt -p PID` shows its \
             policy) and try again"
        }
        (Cpus, Errno::PERM) => {
            "the kernel refuses a sibling while SMT is off; set smt/control first"
        }
        (Cpus, Errno::BUSY) => {
            "it is the last CPU, a task with a deadline needs it, a driver holds it, or CPU hotplug is \
             disabled; `dmesg` names the cause; end that task and try again"
        }
        (Cpus, Errno::NOENT) => "this CPU has no switch of its own; only a reboot changes it",
        (Cpus, Errno::IO) => "the CPU did not answer; look at `dmesg`, and reboot",
        (Cpus, Errno::NODEV) => {
            "the CPU or its memory node is not there; look at `dmesg`, and reboot"
        }
        (Cpus, Errno::INVAL) => {
            "the kernel could not start or stop the CPU; look at `dmesg`, and reboot if it stays so"
        }
        (Cpusets, Errno::BUSY) => {
            "another control group claims these CPUs for itself; change that one first"
        }
        (Cpusets, Errno::INVAL) => {
            "another control group claims these CPUs, or the group above does not have them; change \
             that one first"
        }
        (Cpusets, Errno::ACCESS) => {
            "the group above does not have these CPUs; give them to it first"
        }
        (Cpusets, Errno::NOENT) => "the group was deleted; nothing is to be done",
        (Cpusets, Errno::NODEV) => "the group is being deleted; nothing is to be done",
        (Members, Errno::NOSPC) => "its group has no CPU or no memory node; give it some first",
        (Members, Errno::SRCH) => "the task has ended; nothing is to be done",
        (Members, Errno::INVAL) => {
            "the task has a deadline or is bound by the kernel; its owner must start it anew"
        }
        (Interrupts, Errno::NOSPC) => {
            "the CPUs have no free vector for it; move another interrupt away first"
        }
        (Interrupts, Errno::INVAL) => "none of its CPUs is online; bring one online first",
        (Tasks, Errno::INVAL) => "its control group has none of these CPUs; give them to it first",
        (Tasks, Errno::SRCH) => "the task has ended; nothing is to be done",
        (Tasks, Errno::PERM) => "the task belongs to somebody else; run it as root",
        (_, errno) => return in_any_step(errno),
    })
}

fn in_any_step(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::ACCESS | Errno::PERM => {
            "only root may do this; run it with sudo, outside of any container"
        }
        Errno::ROFS => READ_ONLY,
        Errno::BUSY => "something else uses it now; try again",
        Errno::AGAIN => "the kernel was busy; try again",
        Errno::INTR => "a signal came in between; try again",
        Errno::NOMEM => "the kernel has no memory for it; free some and try again",
        Errno::NOENT => "the kernel has no such file; it was removed, or /sys is not mounted",
        _ => return None,
    })
}

/// What the kernel said, and what that means in this step.
pub(super) fn sentence(root: &Root, step: Step, error: &io::Error) -> String {
    let errno = Errno::from_io_error(error);
    let forced = capture::control(root) == Some(SmtControl::ForceOff);
    let known = |errno: Errno| {
        if forced && errno == Errno::PERM && step <= Step::Cpus {
            return Some(FORCED_OFF);
        }
        meaning(step, errno)
    };
    match errno.and_then(known) {
        Some(text) => format!("{error}: {text}"),
        None => format!("{error}: look at the end of `dmesg`"),
    }
}

/// Whether the same write may succeed a moment later.
pub(super) fn may_pass(error: &io::Error) -> bool {
    let passing = [Errno::BUSY, Errno::AGAIN, Errno::INTR, Errno::NOMEM, Errno::NOSPC];
    Errno::from_io_error(error).is_some_and(|errno| passing.contains(&errno))
}

/// Whether the refusal says that the kernel places an interrupt itself: EIO until 6.10, EPERM
/// since.
pub(super) fn is_managed(step: Step, error: &io::Error) -> bool {
    step == Step::Interrupts && matches!(Errno::from_io_error(error), Some(Errno::IO | Errno::PERM))
}
