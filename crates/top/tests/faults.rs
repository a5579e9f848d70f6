//! A machine whose files go bad while `top` watches it: a window is an error that names what cannot be
//! read, or one that can be drawn and written; once the files are mended windows come again.

mod support;

use coretwin_account::sampled::Effort;
use coretwin_base::account::MethodName;
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_host::fake::crowd::Crowd;
use coretwin_host::fake::decay::Decay;
use coretwin_host::fake::machine;
use std::time::Duration;

#[test]
fn under_any_faults_windows_can_be_shown_or_say_what_cannot_be_read() {
    let folder = tempfile::tempdir().expect("folder");
    let root = machine("vm-adjacent").expect("machine").write(folder.path()).expect("written");
    let online = coretwin_host::topology::read(&root).expect("topology").online;
    let mut crowd = Crowd::new(&root, &online, 12).expect("tasks");
    let (mut made, mut good, mut bad) = (0, 0, 0);
    for seed in 0..Decay::seeds(60) {
        let method = if seed % 2 == 0 { MethodName::Sampled } else { MethodName::Bounds };
        let share_max = Effort::default().share_max;
        let source = support::source(&root, method, share_max, true);
        let mut source = source.expect("the files are good");
        for window in 0..3 {
            crowd.run(Duration::from_millis(5), &[(seed as u32 % 12, CpuId(3))]).expect("run");
            let mut decay =
                Decay::new(&root, &["proc", "sys"], seed * 3 + window).expect("remembered");
            decay.spoil(12).expect("spoiled");
            let seen = source.look().and_then(|()| source.snapshot());
            decay.mend().expect("mended");
            made += decay.made;
            match seen {
                Ok(snapshot) => {
                    serde_json::to_string(&snapshot).expect("JSON");
                    support::screen_of(&snapshot, 80, 24);
                    good += 1;
                }
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains(&folder.path().display().to_string()), "{error}");
                    bad += 1;
                }
            }
        }
        // The window after the next knows nothing of it any more.
        let _ = source.snapshot();
        source.snapshot().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    Decay::tell(made);
    assert!(good > bad && bad > 0, "{good} windows, {bad} errors");
}
