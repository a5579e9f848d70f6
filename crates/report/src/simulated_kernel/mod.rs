//! Runs of the simulated kernel: text for a terminal, timelines, what two policies decide otherwise,
//! tables and heat maps of sweeps.

mod decisions;
mod heat;
mod perfetto;
mod run;
mod sweep;
mod timeline;

pub use decisions::{sched_diff_text, sched_log_text};
pub use heat::sched_heat_map;
pub use perfetto::sched_perfetto;
pub use run::sched_runs_text;
pub use sweep::{sched_sweep_csv, sched_sweep_text};
pub use timeline::sched_timeline;
