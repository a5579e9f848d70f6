//! The files of `/proc` that accounting reads again and again: every one of them says the same, at the first look the
//! text up to a NUL, later what follows it. A window adds up whatever they say.

#![no_main]

use coretwin_account::bounds::Bounds;
use coretwin_account::method::Method;
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_base::account::Siblings;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_host::root::Root;
use coretwin_host::{observe, pressure, tasks::Tasks};
use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A folder in which everything is a link to one file.
static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/target/proc"));
    let _ = std::fs::remove_dir_all(folder);
    for path in [
        "proc/stat",
        "proc/loadavg",
        "proc/pressure/cpu",
        "proc/self/schedstat",
        "proc/1/stat",
        "proc/1/status",
        "proc/1/cgroup",
        "proc/1/task/1/stat",
        "proc/1/task/1/schedstat",
        "proc/1/task/1/status",
        "proc/2/status",
        "proc/1/task/2/stat",
        "proc/1/task/2/schedstat",
    ] {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::os::unix::fs::symlink(folder.join("text"), path).expect("linked");
    }
    folder.to_owned()
});

fuzz_target!(|text: &str| {
    let (first, second) = text.split_once('\0').unwrap_or((text, text));
    let file = ROOT.join("text");
    let root = Root::at(ROOT.as_path());
    let online = CpuSet::parse("0-3").expect("a list");
    let siblings = Siblings::parse("0+1,2+3", &online).expect("a map");
    let effort = Effort { is_thorough: false, ..Effort::default() };
    let mut methods: [Box<dyn Method>; 2] = [
        Box::new(Sampled::new(&root, siblings.clone(), effort)),
        Box::new(Bounds::new(&root, siblings, effort)),
    ];
    for method in &mut methods {
        std::fs::write(&file, first).expect("written");
        if method.start().is_err() {
            continue;
        }
        let _ = method.look();
        std::fs::write(&file, second).expect("written");
        let _ = method.look();
        if let Ok(window) = method.window() {
            assert!(window.tasks.iter().all(|task| task.raw_s.is_finite()));
            assert!(window.unseen.busy_s.is_finite());
        }
    }
    let mut tasks = Tasks::new(&root);
    let _ = (tasks.newest(), tasks.process_of(1), tasks.cgroup(1));
    let _ = tasks.allowed_list(1, 1).map(CpuSet::parse);
    let _ = (observe::cpu_times(&root), pressure::read(&root));
});
