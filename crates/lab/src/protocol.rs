//! Protocols: which visits a study makes, in which order, and when it has made enough.

use crate::boots::{BootVisit, due};
use crate::engine::visits::Engine;
use crate::error::Error;
use crate::event::Event;
use crate::load_curve;
use crate::run_order::{self, Cell};
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::job::{Job, Work};
use coretwin_base::study::plan::{Protocol, Rule};
use coretwin_base::study::reading::{Phase, Status};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::{load, study};

/// A study of which so many blocks hold nothing but failures is not gone on with.
const HOPELESS_BLOCKS: u32 = 3;

/// Makes the visits of the plan's protocol; where boots are compared, those of this boot.
pub(crate) fn run(
    engine: &mut Engine<'_>,
    boot: Option<BootVisit>,
) -> Result<StoppedBecause, Error> {
    match (engine.plan.rules.protocol, boot) {
        (Protocol::Article2003, _) => article_2003(engine),
        (_, Some(boot)) => this_boot(engine, boot),
        (_, None) => blocks(engine),
    }
}

/// The protocol of the 2003 article: all runs of one arm, then all of the next.
fn article_2003(engine: &mut Engine<'_>) -> Result<StoppedBecause, Error> {
    for arm in 0..engine.plan.arms.len() {
        for block in 0..engine.plan.blocks_max() {
            let label = &engine.plan.arms[arm].label;
            let cells: Vec<Cell> =
                run_order::cells(engine.plan, Phase::Study, block, arm, &engine.chosen)
                    .into_iter()
                    .filter(|cell| {
                        !engine.history.has(block, label, &engine.plan.rows[cell.row].id)
                    })
                    .collect();
            if !cells.is_empty() {
                engine.visit(Phase::Study, block, 0, arm, &cells)?;
            }
        }
        engine.block_ended(Phase::Study, engine.plan.blocks_max().saturating_sub(1))?;
    }
    Ok(StoppedBecause::Blocks)
}

/// Comparing boots: a session is the one visit that its boot is for. What is left of the study needs other boots.
fn this_boot(engine: &mut Engine<'_>, boot: BootVisit) -> Result<StoppedBecause, Error> {
    let BootVisit { block, arm, switch, done } = boot;
    engine.switch = switch;
    // How long somebody takes to reboot is not ours to guess.
    engine.foretells = false;
    set_up(engine, arm)?;
    engine.tell(&Event::BlockStarted { phase: Phase::Study, block, attempt: 0 })?;
    let mut cells = run_order::cells(engine.plan, Phase::Study, block, arm, &engine.chosen);
    cells.drain(..done.min(cells.len()));
    engine.visit(Phase::Study, block, 0, arm, &cells)?;
    if run_order::arm_order(engine.plan, Phase::Study, block).last() == Some(&arm) {
        engine.block_ended(Phase::Study, block)?;
    }
    let left = due(engine.plan, &engine.environment.boots, &engine.history.readings);
    Ok(if left.is_some() { StoppedBecause::Reboot } else { StoppedBecause::Blocks })
}

/// The user's own preparation, once per session: what it made may be gone since the last.
fn set_up(engine: &mut Engine<'_>, arm: usize) -> Result<(), Error> {
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

/// Blocks until a look is satisfied, the last one is done or the budget ends, after a warm-up and a
/// screening of thread counts.
fn blocks(engine: &mut Engine<'_>) -> Result<StoppedBecause, Error> {
    set_up(engine, engine.plan.reference_index())?;
    warm_up(engine)?;
    check_budget(engine)?;
    screen(engine)?;
    saturate(engine)?;
    for block in engine.blocks_done()..engine.plan.blocks_max() {
        let look = engine.look();
        if look.due && look.satisfied {
            return Ok(enough(engine));
        }
        while let Some(attempt) = engine.history.next(engine.plan, Phase::Study, block) {
            if budget_ends_before_a_block(engine) {
                return Ok(StoppedBecause::Budget);
            }
            engine.attempt(Phase::Study, block, attempt)?;
            // Later, a study that is only disturbed too often ends with what it has.
            if (block, attempt) == (0, 0) {
                check_budget(engine)?;
            }
        }
        let goes_on = block + 1 < engine.plan.blocks_max();
        if goes_on && block + 1 >= HOPELESS_BLOCKS && nothing_works(engine) {
            return Ok(StoppedBecause::Error);
        }
    }
    let look = engine.look();
    let narrow = look.due && look.satisfied && engine.plan.rules.looks.len() > 1;
    Ok(if narrow { enough(engine) } else { StoppedBecause::Blocks })
}

/// Why a study ends whose look is satisfied.
fn enough(engine: &Engine<'_>) -> StoppedBecause {
    match engine.plan.rules.until {
        Rule::Width => StoppedBecause::Target,
        Rule::Verdict => StoppedBecause::Verdict,
    }
}

/// Whether every run failed, in every row and arm: then the command is wrong, not an arm.
fn nothing_works(engine: &Engine<'_>) -> bool {
    engine.history.readings.iter().all(|reading| reading.status == Status::Failed)
}

/// Each row in the reference arm: caches, page tables and slabs fill before block 0. Where commands are
/// compared in every arm, for each has files of its own.
fn warm_up(engine: &mut Engine<'_>) -> Result<(), Error> {
    let plan = engine.plan;
    // Rates are known after the screening only, whose runs warm up as well.
    if !plan.rules.warmup || plan.saturation_row().is_some() {
        return Ok(());
    }
    let is_warmed = |arm: &usize| plan.has_variants() || *arm == plan.reference_index();
    for arm in (0..plan.arms.len()).filter(is_warmed) {
        let label = &plan.arms[arm].label;
        let cell = |row| Cell { row, threads: run_order::threads(plan, row, arm, &engine.chosen) };
        let runs = |row: usize| {
            let done = engine.history.warmed_up(label, &plan.rows[row].id);
            (plan.rules.warmup_runs as usize).saturating_sub(done)
        };
        let rows = (0..plan.rows.len()).filter(|row| plan.rows[*row].runs_in(label));
        let cells: Vec<Cell> =
            rows.flat_map(|row| std::iter::repeat_n(cell(row), runs(row))).collect();
        if !cells.is_empty() {
            engine.visit(Phase::Warmup, 0, 0, arm, &cells)?;
        }
    }
    Ok(())
}

fn screen(engine: &mut Engine<'_>) -> Result<(), Error> {
    let Some(screening) = &engine.plan.screening else { return Ok(()) };
    for block in 0..screening.blocks {
        while let Some(attempt) = engine.history.next(engine.plan, Phase::Screen, block) {
            engine.attempt(Phase::Screen, block, attempt)?;
        }
    }
    engine.chosen = study::choose_threads(engine.plan, &engine.history.readings);
    let chosen = engine.chosen.clone();
    engine.tell(&Event::ThreadsChosen(&chosen))
}

/// Finds how much each arm carries, so that rates can be shares of what the reference does.
fn saturate(engine: &mut Engine<'_>) -> Result<(), Error> {
    let plan = engine.plan;
    let Some(load) = plan.load.as_ref().filter(|load| load.saturation.is_some()) else {
        return Ok(());
    };
    for block in 0..load.blocks {
        if load::saturation(plan, &engine.history.readings).len() == plan.arms.len() {
            break;
        }
        while let Some(attempt) = engine.history.next(plan, Phase::Screen, block) {
            engine.attempt(Phase::Screen, block, attempt)?;
        }
    }
    engine.saturation = load::saturation(plan, &engine.history.readings);
    if !engine.saturation.contains_key(&plan.reference_arm) {
        return Err(load_curve::not_found(plan, &engine.history.readings));
    }
    let saturation = engine.saturation.clone();
    engine.tell(&Event::SaturationFound(&saturation))
}

fn budget_ends_before_a_block(engine: &Engine<'_>) -> bool {
    match (engine.plan.rules.budget_s, engine.estimate.block_s(engine.plan)) {
        (Some(budget_s), Some(block_s)) => engine.elapsed_s() + block_s > budget_s,
        (Some(budget_s), None) => engine.elapsed_s() > budget_s,
        (None, _) => false,
    }
}

/// Says early that the budget cannot be enough, instead of ending without a verdict.
fn check_budget(engine: &Engine<'_>) -> Result<(), Error> {
    let (Some(budget_s), Some(block_s)) =
        (engine.plan.rules.budget_s, engine.estimate.block_s(engine.plan))
    else {
        return Ok(());
    };
    // An experiment of cputime says what it has, however little.
    if engine.plan.cputime.is_some() {
        return Ok(());
    }
    let blocks = engine.plan.blocks_min();
    let (_, kept) = engine.history.attempts_and_kept(engine.plan);
    let missing = blocks.saturating_sub(kept);
    let needed_s = engine.elapsed_s() + f64::from(missing) * block_s;
    // A quarter more is forgiven: the estimate is rough, and nearly enough is worth trying.
    if missing > 0 && needed_s > budget_s * 1.25 {
        return Err(Error::BudgetTooSmall { block_s, blocks, needed_s, budget_s });
    }
    Ok(())
}
