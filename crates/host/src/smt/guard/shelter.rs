//! What a guard does to outlive those who would take it along: a session of its own, no place in the
//! job's control groups, and no interest for the OOM killer.

use crate::cgroup;
use crate::root::Root;

/// The name under which the guard shows in `ps`; not that of the program, so that `killall
/// coretwin` does not hit it.
const NAME: &std::ffi::CStr = c"smt-guard";

/// Takes shelter as far as it may; in a unit of its own the control group is one. What was not had
/// is told, a sentence each.
pub(super) fn take(root: &Root, in_unit: bool) -> Vec<String> {
    // Refused to one who leads a session already, which is as good.
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(NAME);
    let _ = std::env::set_current_dir("/");
    let mut warnings = Vec::new();
    if let Err(error) = std::fs::write(root.path("proc/self/oom_score_adj"), "-1000\n") {
        warnings.push(format!(
            "the OOM killer may end the guard (oom_score_adj: {error}); it needs CAP_SYS_RESOURCE"
        ));
    }
    if !in_unit {
        warnings.extend(leave_groups(root));
    }
    warnings
}

/// Moves this process to the root of every hierarchy, so that whoever kills, freezes or limits the
/// job's control group does not meet it (cgroups(7)).
fn leave_groups(root: &Root) -> Option<String> {
    let mut stuck = Vec::new();
    for point in cgroup::mount_points(root) {
        // "0" is whoever writes.
        match std::fs::write(root.path(&format!("{point}/cgroup.procs")), "0\n") {
            Ok(()) => {}
            Err(error) => stuck.push(format!("{point}: {error}")),
        }
    }
    (!stuck.is_empty()).then(|| {
        format!(
            "the guard stays in the job's control group and ends with it, where that is killed \
             ({}); run it as root outside the container",
            stuck.join("; ")
        )
    })
}

/// What pid namespaces mean for a guard: one that is not the machine's first ends with its first
/// process, and everything in it, the guard included. The first one's number is a constant of the
/// kernel (PROC_PID_INIT_INO, include/linux/proc_ns.h).
pub(crate) fn is_contained(root: &Root) -> bool {
    let link = std::fs::read_link(root.path("proc/self/ns/pid"));
    link.is_ok_and(|link| link.as_os_str() != "pid:[4026531836]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hierarchy_is_left_and_what_fails_is_told() {
        let (_folder, root) = crate::fake::of_files(&[]);
        let mounts = "31 22 0:27 / /cg/freezer rw - cgroup cgroup rw,freezer\n\
                      32 22 0:28 /docker/x /cg/unified rw - cgroup2 cgroup2 rw\n";
        for group in ["proc/self", "cg/freezer", "cg/unified"] {
            std::fs::create_dir_all(root.path(group)).expect("create");
        }
        std::fs::write(root.path("proc/self/mountinfo"), mounts).expect("write");
        assert_eq!(leave_groups(&root), None);
        for group in ["cg/freezer", "cg/unified"] {
            assert_eq!(root.text(&format!("{group}/cgroup.procs")).expect("written"), "0\n");
        }
        std::fs::remove_dir_all(root.path("cg/unified")).expect("remove");
        let warning = leave_groups(&root).expect("stuck");
        assert!(warning.contains("cg/unified: ") && !warning.contains("freezer"), "{warning}");
    }

    #[test]
    fn containers_are_told_by_their_pid_namespace() {
        let (_folder, root) = crate::fake::of_files(&[]);
        assert!(!is_contained(&root), "not known is not contained");
        std::fs::create_dir_all(root.path("proc/self/ns")).expect("create");
        let link = root.path("proc/self/ns/pid");
        std::os::unix::fs::symlink("pid:[4026531836]", &link).expect("link");
        assert!(!is_contained(&root));
        std::fs::remove_file(&link).expect("remove");
        std::os::unix::fs::symlink("pid:[4026532201]", &link).expect("link");
        assert!(is_contained(&root));
    }
}
