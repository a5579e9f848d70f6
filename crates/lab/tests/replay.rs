//! `account --replay` against the truth of the simulated kernel: the same load runs with siblings,
//! without, and with core scheduling; what was recorded of one run bounds the others.

#[path = "support/core_sched.rs"]
mod core_sched;

use core_sched::CORE_SCHED;
use coretwin_account::model::Valuation;
use coretwin_account::model::valuation::Known;
use coretwin_account::replay::demand::{Demand, behind_s, demand, left_s};
use coretwin_account::replay::replay;
use coretwin_base::account::recording::{
    RecordedGroup, RecordingBlock, RecordingHead, Session, Waiting,
};
use coretwin_base::account::replay::ReplaySmt;
use coretwin_base::account::{MethodName, Siblings, SiblingsOrigin, Span};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::origin::Origin;
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;
use coretwin_sim::kernel::co_run::{CoRun, ProfileId};
use coretwin_sim::kernel::program::{Amount, Options, Program, Step};
use coretwin_sim::kernel::{Layout, Machine, Outcome, Start, Work, run};
use coretwin_sim::policies::Settings;

/// A block of these recordings; a load has so many.
const BLOCK_NS: u64 = 400_000_000;
const BLOCKS: u64 = 12;
const LOADS: u64 = 20;
/// The longest task.
const TASK_NS: u64 = 20_000_000;
/// What cores of these machines have: two siblings of 1.33, of 1.1, and four of 1.6 and less.
const MACHINES: [(&str, &str, u32); 3] =
    [("4x2", "4x1", 1500), ("2x3x2", "2x3x1", 1820), ("3x4", "3x1", 1400)];
/// One whose siblings cost more than they bring, 0.87, and so many loads on it.
const LOSING: (&str, &str, u32) = ("3x2", "3x1", 2300);
const LOSING_LOADS: u64 = 6;

/// Requests that come by chance, each of one task that works and ends, of two kinds; by block another rate,
/// between a tenth of the cores' time and 1.5 times it.
fn load(seed: u64, cores: u64) -> Work {
    let mut draws = Stream::new(seed, "load", 0);
    let kind = |name: &str, low: u64, high: u64| Program {
        name: name.to_owned(),
        steps: vec![
            Step::ComputeFor { profile: ProfileId(1), ns: Amount::Between(low, high) },
            Step::Exit,
        ],
    };
    let (short, long) = (TASK_NS / 10, TASK_NS / 2);
    let programs = vec![kind("short", 0, 2 * short), kind("long", 0, 2 * long)];
    let share = draws.unit();
    let mean = (share * short as f64) + (1.0 - share) * long as f64;
    let mut starts = Vec::new();
    for block in 0..BLOCKS {
        let rate = (0.1 + 1.4 * draws.unit()) * cores as f64 / mean;
        let mut at = block as f64 * BLOCK_NS as f64;
        loop {
            at -= (1.0 - draws.unit()).ln() / rate;
            if at >= (block + 1) as f64 * BLOCK_NS as f64 {
                break;
            }
            let program = u32::from(draws.unit() >= share);
            starts.push(Start { at_ns: at as u64, ..Start::of(program) });
        }
    }
    Work { programs, starts, ..Work::default() }
}

fn machine(layout: &str, slowdown: u32) -> Machine {
    let speeds = CoRun::uniform(&["work"], slowdown, 1000).expect("a table");
    Machine::new(Layout::parse(layout).expect("a machine"), speeds)
}

fn fair() -> Settings {
    Settings::parse("fair").expect("a policy")
}

fn outcome(machine: &Machine, work: &Work, policy: Settings, until_ns: u64) -> Outcome {
    let mut options = Options::new(policy);
    options.until_ns = until_ns;
    options.spans_max = usize::MAX;
    run(machine, work, &options).unwrap_or_else(|failure| panic!("{failure}"))
}

/// The yields of a machine, as `cputime` would find them: from a run in which every number of siblings is
/// busy for some time, with 3 % to each side.
fn yields(machine: &Machine, threads: usize) -> Valuation {
    let cores = machine.layout.cores().len() as u64;
    let measured = outcome(machine, &load(77, cores), fair(), BLOCKS * BLOCK_NS).core_throughput;
    let of = |(k, s): (usize, &Option<f64>)| {
        let s = s.unwrap_or_else(|| panic!("{k} busy did not occur"));
        format!("{k}={s}:{}-{}", s * 0.97, s * 1.03)
    };
    let text: Vec<String> = (1..).zip(&measured).skip(1).map(of).collect();
    let known = Known::parse(&text.join(","), "yield").expect("yields");
    Valuation::new(Some(&known), None, threads).expect("valuation")
}

/// What `account --record` would have written of a run: from the spans in which tasks ran, and from birth
/// and end of each, between which it ran or waited. Beside it the time in which siblings ran both programs.
fn recorded(outcome: &Outcome, cores: usize, threads: usize) -> (Session, u64) {
    let mut mixed_ns = 0;
    let cpus = |core: usize| core * threads..(core + 1) * threads;
    let core = |core: usize| -> CpuSet { cpus(core).map(|cpu| CpuId(cpu as u32)).collect() };
    let siblings =
        Siblings { origin: SiblingsOrigin::Kernel, cores: (0..cores).map(core).collect() };
    let block = |number: u64| {
        let (from, to) = (number * BLOCK_NS, (number + 1) * BLOCK_NS);
        let within = |a: u64, b: u64| b.clamp(from, to) - a.clamp(from, to);
        let mut by_core = vec![vec![0u64; threads + 1]; cores];
        let mut beside = [[0u64; 2]; 2];
        for (core, by_busy) in by_core.iter_mut().enumerate() {
            let on_core = |cpu: CpuId| cpu.0 as usize / threads == core;
            let mut moments: Vec<(u64, i32, usize)> = Vec::new();
            for span in outcome.spans.iter().filter(|span| on_core(span.cpu)) {
                if within(span.from_ns, span.to_ns) > 0 {
                    moments.push((span.from_ns.clamp(from, to), 1, span.program as usize));
                    moments.push((span.to_ns.clamp(from, to), -1, span.program as usize));
                }
            }
            moments.sort_unstable();
            let (mut at, mut busy) = (from, [0i32; 2]);
            for (moment, step, program) in moments.into_iter().chain([(to, 0, 0)]) {
                let k = (busy[0] + busy[1]) as usize;
                by_busy[k] += moment - at;
                mixed_ns += if busy[0] > 0 && busy[1] > 0 { moment - at } else { 0 };
                for program in 0..2 {
                    beside[program][usize::from(k > 1)] += (moment - at) * busy[program] as u64;
                }
                at = moment;
                busy[program] += step;
            }
        }
        let alive: u64 = outcome
            .tasks
            .iter()
            .map(|task| within(task.born_ns, task.ended_ns.unwrap_or(u64::MAX)))
            .sum();
        let ran: u64 = outcome.spans.iter().map(|span| within(span.from_ns, span.to_ns)).sum();
        let waited_s = alive.saturating_sub(ran) as f64 / 1e9;
        let sum = |k: usize| by_core.iter().map(|core| core[k]).sum::<u64>() as f64 / 1e9;
        let group = |at: usize| {
            RecordedGroup(at as u32 + 1, beside[at][0] / 1_000_000, beside[at][1] / 1_000_000, None)
        };
        RecordingBlock {
            from: number as i64,
            elapsed_s: BLOCK_NS as f64 / 1e9,
            busy: (0..=threads).map(|k| Span::exact(sum(k))).collect(),
            cores: by_core
                .iter()
                .map(|core| core[1..].iter().map(|ns| (ns / 1_000_000) as u32).collect())
                .collect(),
            names: [(1, "/short".to_owned()), (2, "/long".to_owned())].into(),
            groups: vec![group(0), group(1)],
            unseen: 0,
            waiting: Waiting { low_s: waited_s, high_s: Some(waited_s) },
        }
    };
    let blocks = (0..BLOCKS).map(block).collect();
    let head = RecordingHead {
        schema: SCHEMA,
        origin: Origin::Simulated,
        started: 0,
        every_s: BLOCK_NS as f64 / 1e9,
        method: MethodName::Ebpf,
        siblings,
        cpu_model: None,
    };
    (Session { head, blocks }, mixed_ns)
}

/// A load on a machine with siblings, without, and with core scheduling.
struct Runs {
    cores: usize,
    yields: Valuation,
    on: Session,
    off: Session,
    /// Work that arrived up to the end of each block, and that which did so just before it.
    arrived_s: Vec<f64>,
    late_s: Vec<f64>,
    /// Work that was done up to the end of each block.
    done_on_s: Vec<f64>,
    done_off_s: Vec<f64>,
    /// With core scheduling: programs share cores with their like, or no task with another.
    done_shared_s: Vec<f64>,
    done_apart_s: Vec<f64>,
    /// What a core with all siblings busy does over one with one busy.
    most: f64,
}

impl Runs {
    fn new((with, without, slowdown): (&str, &str, u32), seed: u64) -> Self {
        let (on, off) = (machine(with, slowdown), machine(without, slowdown));
        let cores = off.layout.cpus();
        let threads = on.layout.cpus() / cores;
        let yields = yields(&on, threads);
        let work = load(seed, cores as u64);
        // To the end of every task, so that it is known what each takes; recorded are the blocks.
        let run = |machine: &Machine, policy| {
            let outcome = outcome(machine, &work, policy, 100 * BLOCKS * BLOCK_NS);
            assert!(outcome.finished);
            outcome
        };
        let shared = run(&on, Settings::of(&CORE_SCHED));
        let apart = run(&on, Settings::parse("one-per-core").expect("a policy"));
        let [on, off] = [&on, &off].map(|machine| run(machine, fair()));
        let born_s = |from: u64, to: u64| {
            let born = off.tasks.iter().filter(|task| (from..to).contains(&task.born_ns));
            born.map(|task| task.time.work_alone_ns()).sum::<u64>() as f64 / 1e9
        };
        let speeds = |outcome: &Outcome| -> Vec<f64> {
            outcome.core_throughput.iter().map(|s| s.unwrap_or(0.0)).collect()
        };
        let (speeds_on, speeds_shared) = (speeds(&on), speeds(&shared));
        let (on, mixed_ns) = recorded(&on, cores, threads);
        let (off, _) = recorded(&off, cores, 1);
        let (shared, shared_mixed_ns) = recorded(&shared, cores, threads);
        let (apart, _) = recorded(&apart, cores, threads);
        assert!(mixed_ns > 0 && shared_mixed_ns == 0, "{mixed_ns} {shared_mixed_ns}");
        let ends = (1..=BLOCKS).map(|number| number * BLOCK_NS);
        Self {
            cores,
            yields,
            arrived_s: ends.clone().map(|end| born_s(0, end)).collect(),
            late_s: ends.map(|end| born_s(end - TASK_NS, end)).collect(),
            done_on_s: done_s(&on, &speeds_on),
            done_off_s: done_s(&off, &[1.0]),
            done_shared_s: done_s(&shared, &speeds_shared),
            done_apart_s: done_s(&apart, &[1.0]),
            on,
            off,
            most: speeds_on.iter().copied().fold(0.0, f64::max),
        }
    }

    fn capacity_s(&self) -> f64 {
        self.cores as f64 * BLOCK_NS as f64 / 1e9
    }

    /// The recording, what was done in it, and what is done on the machine that is asked for.
    fn of(&self, recorded: Recorded, asked: Asked) -> (&Session, &[f64], &[f64]) {
        let (session, then) = match recorded {
            Recorded::On => (&self.on, &self.done_on_s),
            Recorded::Off => (&self.off, &self.done_off_s),
        };
        let now = match asked {
            Asked::Off => &self.done_off_s,
            Asked::On => &self.done_on_s,
            Asked::Shared => &self.done_shared_s,
            Asked::Apart => &self.done_apart_s,
        };
        (session, then, now)
    }
}

#[derive(Debug, Clone, Copy)]
enum Recorded {
    On,
    Off,
}

#[derive(Debug, Clone, Copy)]
enum Asked {
    Off,
    On,
    Shared,
    Apart,
}

impl Asked {
    fn smt(self) -> ReplaySmt {
        match self {
            Self::Off => ReplaySmt::Off,
            Self::On => ReplaySmt::On,
            Self::Shared | Self::Apart => ReplaySmt::CoreSched,
        }
    }
}

/// Work done up to the end of each block, by the truth of what k siblings do.
fn done_s(session: &Session, speeds: &[f64]) -> Vec<f64> {
    let of = |block: &RecordingBlock| {
        block.busy[1..].iter().zip(speeds).map(|(time, speed)| time.value * speed).sum::<f64>()
    };
    let mut sum = 0.0;
    session
        .blocks
        .iter()
        .map(|block| {
            sum += of(block);
            sum
        })
        .collect()
}

/// What is bounded, over all loads of a machine.
#[derive(Debug, Default)]
struct Found {
    blocks: u32,
    /// Blocks with more work to do than the machine can.
    over: u32,
    /// Blocks that are over for certain, that may be, and that are not, by the bounds; and those of which
    /// the rule that a busy CPU is a busy core is wrong.
    certain: u32,
    doubtful: u32,
    fits: u32,
    rule_wrong: u32,
    demand_width: f64,
    work_width: f64,
    throughput_width: f64,
    loads: u32,
}

/// What is done is known from times and mean speeds, and to no more digits.
const ROUNDING_S: f64 = 1e-3;
/// A task that is short of its end when a block ends, on each core.
const SLACK_S: f64 = TASK_NS as f64 / 1e9;

fn hold(runs: &Runs, from: Recorded, asked: Asked, found: &mut Found) {
    let (recorded, done_then, done_now) = runs.of(from, asked);
    let smt = asked.smt();
    let yields = &runs.yields.largest().core_yield.by_busy;
    let demands: Vec<Demand> =
        recorded.blocks.iter().map(|block| demand(block, yields, smt)).collect();
    let least = left_s(demands.iter().map(|it| (it.low_s, it.capacity_high_s)));
    let slack_s = SLACK_S * runs.cores as f64;
    // What the machine can do at least and at most, by the truth.
    let (can_low_s, can_high_s) = match asked {
        Asked::Off | Asked::Apart => (1.0, 1.0),
        Asked::On => (runs.most, runs.most),
        Asked::Shared => (1.0, runs.most),
    };
    let [can_low_s, can_high_s] = [can_low_s, can_high_s].map(|by| by * runs.capacity_s());
    let (mut low_s, mut high_s) = (0.0, 0.0);
    for (at, ((it, least_s), (_, behind_s))) in
        demands.iter().zip(least).zip(behind_s(&demands)).enumerate()
    {
        let before_s = at.checked_sub(1).map_or(0.0, |before| done_then[before]);
        let then_s = done_then[at] - before_s;
        let most_s = it.high_s.expect("known");
        assert!(
            it.low_s <= then_s + 1e-6 && then_s <= it.work.high + 1e-6,
            "{at}: {it:?} {then_s}"
        );
        assert!(it.work.high <= most_s + 1e-6);
        low_s += it.low_s;
        high_s += most_s;
        // Demand: what the other machine does is no more than all that ran and waited.
        assert!(done_now[at] <= high_s + slack_s, "{at}: {} {high_s}", done_now[at]);
        assert!(low_s <= runs.arrived_s[at] + 1e-6);
        let left = runs.arrived_s[at] - done_now[at];
        assert!(least_s <= left + ROUNDING_S, "{at}: at least {least_s} is left, not {left}");
        let behind = done_then[at] - done_now[at];
        assert!(behind <= behind_s + slack_s, "{at}: at most {behind_s} is behind, not {behind}");
        // All the work there was, of which the last to come could not show how long it is.
        let there_s = runs.arrived_s[at] - before_s;
        let shown_s = there_s - runs.late_s[at];
        let certain = it.low_s > it.capacity_high_s;
        let fits = most_s <= it.capacity_low_s;
        assert!(!certain || there_s > can_high_s - ROUNDING_S, "{at}: {it:?} {there_s}");
        assert!(!fits || shown_s <= can_low_s + ROUNDING_S, "{at}: {it:?} {shown_s}");
        found.blocks += 1;
        found.over += u32::from(there_s > can_high_s);
        found.certain += u32::from(certain);
        found.fits += u32::from(fits);
        found.doubtful += u32::from(!certain && !fits);
        let cpus =
            if smt == ReplaySmt::On { runs.on.head.siblings.threads_per_core_max() } else { 1 };
        let rule_over = it.running_s > it.cores_s * cpus as f64;
        found.rule_wrong += u32::from(rule_over != (there_s > can_high_s));
        found.demand_width += (most_s - it.low_s) / runs.capacity_s();
        found.work_width += (it.work.high - it.work.low) / runs.capacity_s();
    }
    let replay = replay(std::slice::from_ref(recorded), smt, &runs.yields).expect("blocks");
    let ratio = done_now[done_now.len() - 1] / done_then[done_then.len() - 1];
    let high = replay.throughput_high.expect("known");
    assert!(replay.throughput_low <= ratio + 1e-3 && ratio <= high + 1e-3, "{ratio} {replay:?}");
    found.throughput_width += high - replay.throughput_low;
    found.loads += 1;
}

/// Over the loads of a machine, with the widths printed.
#[expect(clippy::print_stderr, reason = "the widths of the bounds")]
fn held(name: &str, runs: &[Runs], from: Recorded, asked: Asked) -> Found {
    let mut found = Found::default();
    runs.iter().for_each(|runs| hold(runs, from, asked, &mut found));
    let mean = |width: f64, of: u32| width / f64::from(of);
    eprintln!(
        "{name} recorded {from:?}, asked {asked:?}: {} of {} blocks are over: {} for certain, {} in doubt, {} fit; \
         wrong by the rule: {}; width of demand {:.2}, of the same work {:.3} of capacity, of \
         throughput {:.3}",
        found.over,
        found.blocks,
        found.certain,
        found.doubtful,
        found.fits,
        found.rule_wrong,
        mean(found.demand_width, found.blocks),
        mean(found.work_width, found.blocks),
        mean(found.throughput_width, found.loads),
    );
    found
}

#[test]
fn bounds_of_one_machine_hold_on_the_other() {
    for machine in MACHINES {
        let runs: Vec<Runs> = (0..LOADS).map(|seed| Runs::new(machine, seed)).collect();
        for (from, asked) in [
            (Recorded::On, Asked::Off),
            (Recorded::Off, Asked::On),
            (Recorded::On, Asked::Shared),
            (Recorded::Off, Asked::Shared),
            (Recorded::On, Asked::Apart),
        ] {
            let found = held(machine.0, &runs, from, asked);
            // Bounds that say nothing hold too.
            assert!(found.work_width / f64::from(found.blocks) < 0.1, "{found:?}");
            assert!(found.fits * 4 >= found.blocks - found.over, "{found:?}");
            match asked {
                Asked::Off => assert!(found.certain * 2 >= found.over, "{found:?}"),
                // What ran has its place, but for siblings that are gone: more is never certain.
                _ => assert!(found.over > 0 && found.certain == 0, "{found:?}"),
            }
        }
    }
}

#[test]
fn where_siblings_cost_more_than_they_bring_what_does_not_fit_them_is_found() {
    let runs: Vec<Runs> = (0..LOSING_LOADS).map(|seed| Runs::new(LOSING, seed)).collect();
    for from in [Recorded::On, Recorded::Off] {
        for asked in [Asked::Off, Asked::On, Asked::Shared, Asked::Apart] {
            let found = held(LOSING.0, &runs, from, asked);
            assert!(found.over * 2 > found.blocks && found.fits > 0, "{found:?}");
            assert!(found.certain == 0 && found.doubtful >= found.over, "{found:?}");
        }
    }
}
