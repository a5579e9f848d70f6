//! `/proc` that goes bad between looks, by a seed: threads that vanish, files that cannot be read or are
//! cut off, numbers that no machine has. A window is an error that names a path, or adds up; once
//! the files are mended windows come again.

use coretwin_account::bounds::Bounds;
use coretwin_account::method::Method;
use coretwin_account::sampled::{Effort, Sampled};
use coretwin_base::account::{Siblings, Span, Window};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_base::random::Stream;
use coretwin_host::fake::crowd::Crowd;
use coretwin_host::fake::decay::Decay;
use coretwin_host::fake::machine;
use coretwin_host::root::Root;
use coretwin_host::topology;
use std::time::Duration;

const TASKS: u32 = 12;
const LOOKS: u64 = 4;

fn in_order(span: &Span) -> bool {
    span.low >= 0.0 && span.low <= span.value && span.value <= span.high && span.high.is_finite()
}

/// Whether every number is one that can be: no machine's, for the files were spoiled, but a number.
fn check(window: &Window, what: &str) {
    assert!(window.elapsed_s >= 0.0 && window.unseen.busy_s >= 0.0, "{what}: {window:?}");
    for task in &window.tasks {
        assert!(task.raw_s > 0.0 && task.raw_s.is_finite(), "{what}: {task:?}");
        let spans = task.runs.iter().flat_map(|run| &run.by_busy_s);
        assert!(spans.clone().all(in_order), "{what}: {task:?}");
    }
    for core in &window.cores {
        assert!(core.by_busy_s.iter().all(in_order), "{what}: {core:?}");
        let sums = core.by_busy_s.iter().map(|span| span.value).sum::<f64>();
        assert!((sums - window.elapsed_s).abs() < 1e-6 * (1.0 + sums), "{what}: {core:?}");
        assert!(core.by_cpu.iter().all(|cpu| cpu.busy_s <= window.elapsed_s), "{what}: {core:?}");
    }
}

fn methods(root: &Root, siblings: &Siblings, seed: u64) -> [Box<dyn Method>; 2] {
    let effort = Effort { is_thorough: seed.is_multiple_of(2), seed, ..Effort::default() };
    [
        Box::new(Sampled::new(root, siblings.clone(), effort)),
        Box::new(Bounds::new(root, siblings.clone(), effort)),
    ]
}

#[test]
fn under_any_faults_windows_add_up_or_say_what_cannot_be_read() {
    let (mut made, mut good, mut bad) = (0, 0, 0);
    let seeds = Decay::seeds(60);
    let folder = tempfile::tempdir().expect("folder");
    let root = machine("vm-adjacent").expect("machine").write(folder.path()).expect("written");
    let map = topology::read(&root).expect("topology");
    let siblings = Siblings::of_kernel(&map);
    let mut crowd = Crowd::new(&root, &map.online, TASKS).expect("tasks");
    for seed in 0..seeds {
        let mut draw = Stream::new(seed, "work", 0);
        for mut method in methods(&root, &siblings, seed) {
            let what = format!("{}, seed {seed}", method.name().name());
            method.start().expect("the files are good");
            for look in 0..LOOKS {
                let running = [(draw.below(TASKS.into()) as u32, CpuId(draw.below(8) as u32))];
                crowd.run(Duration::from_millis(5), &running).expect("run");
                let mut decay =
                    Decay::new(&root, &["proc"], seed * LOOKS + look).expect("remembered");
                decay.spoil(5).expect("spoiled");
                let _ = method.look();
                match method.window() {
                    Ok(window) => {
                        check(&window, &what);
                        good += 1;
                    }
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains("proc/stat"), "{what}: {error}");
                        bad += 1;
                    }
                }
                decay.mend().expect("mended");
                made += decay.made;
            }
            // What was wrong with the files stays with no window after the next.
            let _ = method.window();
            crowd.run(Duration::from_millis(5), &[(1, CpuId(1))]).expect("run");
            check(&method.window().unwrap_or_else(|error| panic!("{what}: {error}")), &what);
        }
    }
    Decay::tell(made);
    assert!(good > bad && bad > 0, "{good} windows, {bad} errors");
}
