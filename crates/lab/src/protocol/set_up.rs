//! What comes before the first visit of a session.

use crate::engine::visits::Engine;
use crate::error::Error;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::{Job, Work};

/// The user's own preparation, once per session: what it made may be gone since the last.
pub(super) fn set_up(engine: &mut Engine<'_>, arm: usize) -> Result<(), Error> {
    let Some(spec) = &engine.plan.command else { return Ok(()) };
    let Some(line) = &spec.setup else { return Ok(()) };
    let arm = &engine.plan.arms[arm];
    let shell = vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()];
    let work = Work::Command(CommandSpec {
        folder: spec.folder.clone(),
        ..CommandSpec::plain(shell, spec.timeout_s)
    });
    let job = Job {
        threads: arm.threads,
        run_as: engine.run_as.clone(),
        ..Job::plain(work, arm.label.clone(), arm.cpus.clone(), spec.timeout_s)
    };
    engine.machine.prepare(arm, engine.plan.rules.settle_s, &engine.stop)?;
    let outcome = engine.machine.run(&job, &engine.stop)?.outcome;
    match outcome.failure {
        None => Ok(()),
        Some(why) => Err(Error::Usage(format!(
            "--setup failed: {why}{}",
            outcome.output.map(|text| format!("\n{text}")).unwrap_or_default()
        ))),
    }
}
