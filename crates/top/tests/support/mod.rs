//! A fake machine of 256 CPUs and 5,000 tasks, a source that watches one, and what the screen shows of it.

#![allow(dead_code, clippy::allow_attributes, reason = "what is unused differs by test file")]

use coretwin_account::choice;
use coretwin_account::model::Valuation;
use coretwin_account::sampled::Effort;
use coretwin_base::account::{MethodName, Siblings};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_host::fake::crowd::Crowd;
use coretwin_host::fake::{Cores, Fake, Numbering, machine};
use coretwin_host::root::Root;
use coretwin_top::screen;
use coretwin_top::snapshot::Snapshot;
use coretwin_top::source::{Source, Watch};
use coretwin_top::view::View;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tasks of the machine.
pub(crate) const TASKS: u32 = 5000;
/// Those of them that run.
pub(crate) const RUNNING: u32 = 180;
/// CPUs of the machine.
pub(crate) const CPUS: u32 = 256;

/// A machine on which tasks run until it is dropped.
pub(crate) struct Big {
    pub(crate) root: Root,
    stop: Arc<AtomicBool>,
    mover: Option<JoinHandle<()>>,
}

impl Big {
    /// Below a folder; the tasks that run change every `step`.
    pub(crate) fn start(folder: &Path, step: Duration) -> Result<Self, Box<dyn Error>> {
        let like = machine("server-halves").ok_or("no such machine")?;
        let core = Cores { count: 8, threads: 2, mhz: 0, capacity: 0 };
        let cores: &'static [Cores] = Box::leak(Box::new([core]));
        let fake = Fake { name: "big", caches: 8, cores, numbering: Numbering::Adjacent, ..*like };
        let root = fake.write(folder)?;
        let topology = coretwin_host::topology::read(&root)?;
        if topology.cpus.len() != CPUS as usize {
            return Err(format!("{} CPUs", topology.cpus.len()).into());
        }
        let mut crowd = Crowd::new(&root, &topology.online, TASKS)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mover = std::thread::spawn(move || {
            let mut turn = 0;
            let mut began = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(step);
                turn += 1;
                // Every tenth turn some others run, so that there are always some that awake.
                let first = turn / 10 * 20;
                let running: Vec<(u32, CpuId)> = (0..RUNNING)
                    .map(|slot| ((first + slot * 7) % TASKS, CpuId(slot * 3 % CPUS)))
                    .collect();
                let length = began.elapsed();
                began = Instant::now();
                // The folder goes first at the end.
                if crowd.run(length, &running).is_err() {
                    return;
                }
            }
        });
        Ok(Self { root, stop, mover: Some(mover) })
    }

    /// Watches it as `coretwin top` does.
    pub(crate) fn source(
        &self,
        method: MethodName,
        looks_share_max: f64,
        short_looks: bool,
    ) -> Result<Source, Box<dyn Error>> {
        source(&self.root, method, looks_share_max, short_looks)
    }
}

/// Watches the machine below a root as `coretwin top` does.
pub(crate) fn source(
    root: &Root,
    method: MethodName,
    looks_share_max: f64,
    short_looks: bool,
) -> Result<Source, Box<dyn Error>> {
    let again = root.clone();
    let watch = move || -> Result<Watch, String> {
        let topology = coretwin_host::topology::read(&again).map_err(|error| error.to_string())?;
        let siblings = Siblings::of_kernel(&topology);
        let valuation = Valuation::new(None, None, siblings.threads_per_core_max());
        let effort = Effort { share_max: looks_share_max, is_thorough: false, ..Effort::default() };
        let chosen = choice::start(&again, &siblings, Some(method), effort)
            .map_err(|error| error.to_string())?;
        Ok(Watch {
            topology,
            siblings,
            valuation: valuation.map_err(|error| error.to_string())?,
            method: chosen.method,
            warnings: Vec::new(),
        })
    };
    let first = watch()?;
    Ok(Source::new(root.clone(), first, Box::new(watch), short_looks)?)
}

/// The screen as text, of such a size.
pub(crate) fn screen_of(snapshot: &Snapshot, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("terminal");
    let mut view = View { ascii: true, ..View::default() };
    let drawn = terminal.draw(|frame| {
        _ = screen::draw(frame, Some(snapshot), &mut view, &mut |_| String::new());
    });
    drawn.expect("drawn");
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>() + "\n";
    (0..height).map(row).collect()
}

impl Drop for Big {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(mover) = self.mover.take() {
            let _ = mover.join();
        }
    }
}

/// A folder in memory where there is one, as /proc is.
pub(crate) fn folder() -> std::io::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
}
