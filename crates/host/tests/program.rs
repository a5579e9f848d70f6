//! Alone in its process: children hold what other tests would want free.

use coretwin_host::fake::program;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn it_can_be_started_at_once_though_other_threads_fork() {
    let folder = tempfile::tempdir().expect("folder");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    Command::new("/bin/true").status().expect("started");
                }
            });
        }
        let started = (0..100).try_for_each(|number| {
            let path = folder.path().join(format!("{number}"));
            program(&path, "#!/bin/sh\n")?;
            Command::new(&path).status().map(drop)
        });
        ended.store(true, Ordering::Relaxed);
        started.expect("each");
    });
}
