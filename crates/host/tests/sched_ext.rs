//! The examination of machines on which core-queue could be loaded, or could not.

use coretwin_base::simulation::core_queue::OPS_NAME;
use coretwin_base::simulation::live::Options;
use coretwin_host::fake::machine;
use coretwin_host::fake::sched_ext::{btf, install, put};
use coretwin_host::root::Root;
use coretwin_host::sched_ext::doctor::{Check, Examiner, Level, can_load, examine, refusal};
use coretwin_host::sched_ext::record::{self, Record};
use rustix::io::Errno;
use tempfile::TempDir;

const ALL_CAPABILITIES: &[u8] = b"Name:\tx\nCapEff:\t000001ffffffffff\n";

/// A machine with siblings on which nothing stands in the way.
fn good() -> (TempDir, Root) {
    let folder = tempfile::tempdir().expect("folder");
    let root = machine("vm-adjacent").expect("known").write(folder.path()).expect("written");
    install(&root, "disabled", None).expect("installed");
    for (path, bytes) in [
        ("sys/kernel/btf/vmlinux", &btf(false)[..]),
        ("proc/self/status", ALL_CAPABILITIES),
        ("proc/sys/net/core/bpf_jit_enable", b"1\n"),
        ("proc/sys/kernel/osrelease", b"7.3.4-fake\n"),
        ("proc/7/comm", b"qemu\n"),
        ("proc/7/task/7/comm", b"qemu\n"),
    ] {
        put(&root, path, bytes).expect("written");
    }
    (folder, root)
}

fn examined(root: &Root, cookie: &dyn Fn(u32) -> Result<u64, Errno>) -> Vec<Check> {
    examine(root, &Examiner { cookie, cannot_load: None })
}

fn found<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks.iter().find(|check| check.name == name).expect(name)
}

#[test]
fn a_good_machine_has_nothing_in_the_way() {
    let (_folder, root) = good();
    let checks = examined(&root, &|_| Ok(0));
    assert!(can_load(&checks) && refusal(&checks).is_none(), "{checks:#?}");
    assert!(checks.iter().all(|check| check.level == Level::Ok), "{checks:#?}");
    assert!(found(&checks, "btf").found.contains("all 4 functions"), "{checks:#?}");
}

#[test]
fn each_obstacle_blocks_with_a_remedy() {
    let release = "proc/sys/kernel/osrelease";
    type Spoil<'a> = &'a dyn Fn(&Root);
    let write = |path: &'static str, text: &'static [u8]| {
        move |root: &Root| put(root, path, text).expect("written")
    };
    let cases: [(&str, Spoil<'_>, &str, &str); 8] = [
        (
            "kernel",
            &|root| {
                std::fs::remove_dir_all(root.path("sys/kernel/sched_ext")).expect("removed");
                put(root, release, b"6.1.0-fake\n").expect("written");
            },
            "has no sched_ext",
            "6.12 or later",
        ),
        (
            "kernel",
            &|root| {
                std::fs::remove_dir_all(root.path("sys/kernel/sched_ext")).expect("removed");
                let config = b"# CONFIG_SCHED_CLASS_EXT is not set\n";
                put(root, "boot/config-7.3.4-fake", config).expect("written");
            },
            "without CONFIG_SCHED_CLASS_EXT (/boot/config-7.3.4-fake)",
            "CONFIG_SCHED_CLASS_EXT=y",
        ),
        (
            "btf",
            &|root| put(root, "sys/kernel/btf/vmlinux", &btf(true)).expect("written"),
            "malformed: 2 of 4 functions of sched_ext, scx_bpf_create_dsq among them",
            "dwarves",
        ),
        (
            "btf",
            &|root| std::fs::remove_file(root.path("sys/kernel/btf/vmlinux")).expect("removed"),
            "does not show its types",
            "CONFIG_DEBUG_INFO_BTF",
        ),
        (
            "privileges",
            &write("proc/self/status", b"CapEff:\t0000000000000000\n"),
            "missing: sys_admin, perfmon, bpf",
            "as root",
        ),
        ("jit", &write("proc/sys/net/core/bpf_jit_enable", b"0\n"), "switched off", "sysctl"),
        (
            "scheduler",
            &|root| install(root, "enabled", Some("lavd_1.0")).expect("installed"),
            "another scheduler is loaded: lavd_1.0",
            "scx.service",
        ),
        (
            "scheduler",
            &|root| install(root, "enabled", Some(OPS_NAME)).expect("installed"),
            "core-queue is loaded already",
            "coretwin sched stop",
        ),
    ];
    for (name, spoil, part, remedy) in cases {
        let (_folder, root) = good();
        spoil(&root);
        let checks = examined(&root, &|_| Ok(0));
        let check = found(&checks, name);
        assert_eq!(check.level, Level::Blocks, "{check:?}");
        assert!(check.found.contains(part) && check.remedy.contains(remedy), "{check:?}");
        let refused = refusal(&checks).expect("refused");
        assert!(refused.contains(part) && refused.contains(remedy), "{refused}");
    }
}

#[test]
fn what_an_older_kernel_lacks_is_named() {
    let (_folder, root) = good();
    let older = replaced(&btf(false), b"scx_bpf_now", b"scx_bpf_not");
    let older = replaced(&older, b"SCX_OPS_ALLOW_QUEUED_WAKEUP", b"SCX_OPS_ALLOW_QUEUED_NOTHING");
    put(&root, "sys/kernel/btf/vmlinux", &older).expect("written");
    let checks = examined(&root, &|_| Ok(0));
    let check = found(&checks, "features");
    assert_eq!((check.level, can_load(&checks)), (Level::Mind, true));
    assert_eq!(check.found, "this kernel lacks SCX_OPS_ALLOW_QUEUED_WAKEUP, scx_bpf_now");
    assert!(check.remedy.contains("queueing itself; each look"), "{check:?}");
}

/// Names in types, other ones of as many letters in their place.
fn replaced(types: &[u8], name: &[u8], other: &[u8]) -> Vec<u8> {
    let at = types.windows(name.len()).position(|part| part == name).expect("the name");
    let mut types = types.to_vec();
    types[at..at + name.len()].copy_from_slice(&other[..name.len()]);
    types
}

#[test]
fn cookies_block_and_name_their_processes() {
    let (_folder, root) = good();
    let checks = examined(&root, &|task| Ok(u64::from(task == 7)));
    let check = found(&checks, "core-scheduling");
    assert!(check.level == Level::Blocks && check.found.contains("qemu (7)"), "{check:?}");
    let checks = examined(&root, &|_| Err(Errno::PERM));
    assert_eq!(found(&checks, "core-scheduling").level, Level::Mind);
    assert_eq!(found(&examined(&root, &|_| Err(Errno::NODEV)), "core-scheduling").level, Level::Ok);
}

#[test]
fn what_does_not_keep_it_out_is_told_all_the_same() {
    let (_folder, root) = good();
    put(&root, "proc/sys/kernel/softlockup_panic", b"1\n").expect("written");
    put(&root, "sys/kernel/btf/vmlinux", b"no types").expect("written");
    let checks = examined(&root, &|_| Ok(0));
    assert!(can_load(&checks), "{checks:#?}");
    assert!(found(&checks, "panic").found.contains("softlockup_panic is 1"));
    assert_eq!(found(&checks, "btf").level, Level::Mind);
}

#[test]
fn a_program_without_the_loader_says_how_to_get_one() {
    let (_folder, root) = good();
    let why = "this program was built without BPF".to_owned();
    let checks = examine(&root, &Examiner { cookie: &|_| Ok(0), cannot_load: Some(why.clone()) });
    let refused = refusal(&checks).expect("refused");
    assert!(refused.contains(&why) && refused.contains("--features bpf"), "{refused}");
}

#[test]
fn the_holder_of_a_loaded_scheduler_is_named() {
    let (_folder, root) = good();
    install(&root, "enabled", Some(OPS_NAME)).expect("installed");
    let own = std::process::id();
    let stat = format!("proc/{own}/stat");
    put(&root, &stat, &std::fs::read(format!("/{stat}")).expect("own")).expect("written");
    let record = Record::new(&root, Options::default(), None, "now".to_owned());
    record::write(&root, &record).expect("written");
    let checks = examined(&root, &|_| Ok(0));
    let check = found(&checks, "scheduler");
    assert!(check.found.ends_with(&format!("by process {own}")), "{check:?}");
    let record = Record::new(&root, Options::default(), Some(own), "now".to_owned());
    record::write(&root, &record).expect("written");
    let checks = examined(&root, &|_| Ok(0));
    assert!(found(&checks, "scheduler").remedy.contains(&format!("the study of process {own}")));
}
