//! A machine whose files go bad while `top` watches it: a window is an error that names what cannot be
//! read, or one that can be drawn and written; once the files are mended windows come again.

use coretwin_account::choice;
use coretwin_account::model::Valuation;
use coretwin_account::sampled::Effort;
use coretwin_base::account::{MethodName, Siblings};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_host::fake::crowd::Crowd;
use coretwin_host::fake::decay::Decay;
use coretwin_host::fake::machine;
use coretwin_host::root::Root;
use coretwin_top::screen;
use coretwin_top::source::{Source, Watch};
use coretwin_top::view::View;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Duration;

/// Begins to watch the machine as it is now.
fn watch(root: &Root, method: MethodName) -> Result<Watch, String> {
    let topology = coretwin_host::topology::read(root).map_err(|error| error.to_string())?;
    let siblings = Siblings::of_kernel(&topology);
    let effort = Effort { is_thorough: false, ..Effort::default() };
    let chosen =
        choice::start(root, &siblings, Some(method), effort).map_err(|error| error.to_string())?;
    let valuation = Valuation::new(None, None, siblings.threads_per_core_max());
    Ok(Watch {
        topology,
        siblings,
        valuation: valuation.map_err(|error| error.to_string())?,
        method: chosen.method,
        warnings: Vec::new(),
    })
}

#[test]
fn under_any_faults_windows_can_be_shown_or_say_what_cannot_be_read() {
    let folder = tempfile::tempdir().expect("folder");
    let root = machine("vm-adjacent").expect("machine").write(folder.path()).expect("written");
    let online = coretwin_host::topology::read(&root).expect("topology").online;
    let mut crowd = Crowd::new(&root, &online, 12).expect("tasks");
    let (mut made, mut good, mut bad) = (0, 0, 0);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("terminal");
    for seed in 0..Decay::seeds(60) {
        let method = if seed % 2 == 0 { MethodName::Sampled } else { MethodName::Bounds };
        let again = root.clone();
        let make = move || watch(&again, method);
        let first = make().expect("the files are good");
        let mut source = Source::new(root.clone(), first, Box::new(make), true).expect("source");
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
                    let mut view = View::default();
                    let drawn = terminal.draw(|frame| {
                        let _ = screen::draw(frame, Some(&snapshot), &mut view);
                    });
                    drawn.expect("drawn");
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
