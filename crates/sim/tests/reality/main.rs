//! The simulated kernel held against what real ones did: `fair` against counts of `cargo xtask reality`, and the
//! schedulers that are alive in guests against counts of theirs.

mod guest;
#[path = "../support/mod.rs"]
mod support;

use coretwin_base::parameters::WorkloadSpec;
use coretwin_sim::kernel::co_run::{CoRun, ProfileId};
use coretwin_sim::kernel::program::{Amount, Options, Program, Step};
use coretwin_sim::kernel::{Outcome, SocketSpec, Start, Which, Work, run};
use coretwin_sim::machine::{MachinePreset, PARAMETERS};
use coretwin_sim::models::{Setting, predict};
use coretwin_sim::policies::Settings;
use expect_test::expect_file;
use std::collections::BTreeMap;
use support::speeds;

const COUNTED: &str = include_str!("../../../../docs/evidence/reality.csv");
/// How far a count may be off: half of the rarer ones or twice as many.
const TOLERANCE: [(&str, f64); 6] = [
    ("switches", 1.25),
    ("wakeups", 1.25),
    ("receives", 1.25),
    ("segments", 1.25),
    ("preempted", 2.0),
    ("migrations", 2.0),
];
/// Events that happen less often, per operation, are none: starting and ending makes some.
const NONE: f64 = 0.0005;
/// What the same counts were in the simulated kernel as it was first held against these.
const BEFORE: &str = include_str!("../../../../docs/evidence/reality-before.csv");
/// Where others had more of the CPUs, some keep every simulated CPU busy too.
const OTHERS_MAX: f64 = 0.1;
/// Counts that are off, by row (what it begins with), CPUs and count (CPUs empty: both), and why.
const OFF: &[(&str, &str, &str, &str)] = &[
    ("pipe", "2", "preempted", TOGETHER),
    ("tbench 1", "2", "preempted", TOGETHER),
    ("tbench 4", "1", "preempted", UNKNOWN),
    ("dbench", "2", "preempted", UNKNOWN),
    ("dbench", "2", "migrations", UNKNOWN),
    ("chat", "2", "switches", QUEUES),
    ("chat", "2", "wakeups", QUEUES),
    ("chat", "2", "segments", QUEUES),
    ("groups", "1", "switches", MAKER),
    ("groups", "1", "wakeups", MAKER),
    ("groups", "1", "preempted", MAKER),
    ("groups", "2", "switches", QUEUES),
    ("groups", "2", "wakeups", QUEUES),
];
const TOGETHER: &str = "for a part of a run, a tenth of the time, both tasks share a CPU as they do with one; the \
     simulated ones never do";
const QUEUES: &str = "a quarter at most is that one CPU's queue has up to ten times the tasks of the other's, for the kernel's load \
     averages [say so](kernel-load.md): with a nice value of 19, where they do not, the real count of chat is 0.062; the \
     rest comes late in a run, when woken receivers no longer wait for their turn, and why they do not is not known";
const MAKER: &str = "the count hangs on what the task that makes the others has slept before: after three seconds it is \
     0.0075 switches, after none 0.0163";
const UNKNOWN: &str = "the cause is not known";

/// By name, of one operation.
type Counts = BTreeMap<String, f64>;

/// `zen4-2x96` with so many of its cores, all of whose times are this many times as long.
fn machine(cores: u32, slower: f64) -> MachinePreset {
    let all = MachinePreset::named("zen4-2x96").expect("a machine");
    let mut machine = MachinePreset { packages: 1, caches: 1, cores, ..all };
    let costs = &mut machine.costs;
    let times = [
        &mut costs.switch_ns,
        &mut costs.switch_space_ns,
        &mut costs.policy_step_ns,
        &mut costs.wake_halted_ns,
        &mut costs.wake_polling_ns,
        &mut costs.interrupt_processor_ns,
        &mut costs.tick_ns,
        &mut costs.interrupt_ns,
        &mut costs.system_call_ns,
        &mut costs.wake_ns,
        &mut costs.socket_ns,
        &mut costs.copy_kib_ns,
        &mut costs.semaphore_ns,
        &mut costs.page_ns,
        &mut costs.exit_ns,
    ];
    let work = machine.work.iter_mut();
    let is_time = |name: &str| PARAMETERS.iter().any(|it| it.name == name && it.unit == "ns");
    let work = work.filter(|(name, _)| is_time(name)).map(|(_, value)| value);
    for time in times.into_iter().chain(&mut costs.fork_ns).chain(&mut costs.refill_ns).chain(work)
    {
        *time = (*time as f64 * slower) as u64;
    }
    machine
}

/// The slice of a machine with two CPUs, whichever of them are used.
fn fair() -> Settings {
    Settings::parse("fair[slice_us=1400]").expect("fair")
}

/// The median of each count over five seeds where these differ by more than a little.
fn median(row: &str, cores: u32, slower: f64, others: Option<u32>) -> Counts {
    let differ = row.starts_with("chat") || row.starts_with("groups");
    let seeds = if differ { 5 } else { 1 };
    let all: Vec<Counts> =
        (1..=seeds).map(|seed| simulated(row, (cores, slower, others), seed)).collect();
    let middle = |name: &String| {
        let mut values: Vec<f64> = all.iter().map(|counts| counts[name]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    all[0].keys().map(|name| (name.clone(), middle(name))).collect()
}

fn simulated(row: &str, machine_of: (u32, f64, Option<u32>), seed: u64) -> Counts {
    let (cores, slower, others) = machine_of;
    let cell = match row.split_once(' ') {
        Some(("groups", count)) => {
            return groups(count.parse().expect("a number"), machine_of, seed);
        }
        Some(("chat", rooms)) => format!("chat:rooms={rooms}"),
        Some((family, clients)) => format!("{family}:clients={clients}"),
        None => "lmbench/pipe-latency".to_owned(),
    };
    let spec = WorkloadSpec::parse(&cell).expect("a workload");
    let machine = machine(cores, slower);
    let setting = Setting {
        machine: &machine,
        speeds: &speeds(&machine, 1.0),
        fit: None,
        policy: fair(),
        smt: false,
        seed,
        fraction: None,
        runs_max: Some(1),
        others,
    };
    let prediction = predict(&spec.name, &spec.params, &setting).expect("a prediction");
    let of = |name| prediction.metrics[name].value;
    let switches = of("switches");
    let counts = [
        ("rate", prediction.operations as f64 / prediction.simulated_s),
        ("switches", switches),
        ("wakeups", of("wake_ups")),
        ("receives", of("receives")),
        ("segments", of("segments")),
        ("preempted", of("pre_emptions") / switches),
        ("migrations", of("migrations")),
    ];
    counts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// In each group ten senders write 100 bytes to each of ten receivers in turn; 40,000 writes together. The
/// task that makes them does so while those that are made already run, and waits for each in turn.
fn groups(count: u32, (cores, slower, others): (u32, f64, Option<u32>), seed: u64) -> Counts {
    let setting = (&machine(cores, slower), slower, fair(), seed, others);
    let (outcome, operations) = run_groups((count, 400), setting);
    let of = |number: u64| number as f64 / operations;
    let switches = of(outcome.switches);
    let counts = [
        ("rate", operations / (outcome.simulated_ns as f64 / 1e9)),
        ("switches", switches),
        ("wakeups", of(outcome.wake_ups)),
        ("receives", of(outcome.receives)),
        ("segments", of(outcome.segments)),
        ("preempted", of(outcome.pre_emptions) / switches),
        ("migrations", of(outcome.migrations.iter().sum())),
    ];
    counts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// So many groups, which together do each write `times` times; and all their writes.
fn run_groups(
    (count, times): (u32, u32),
    (machine, slower, policy, seed, others): (&MachinePreset, f64, Settings, u64, Option<u32>),
) -> (Outcome, f64) {
    const ENDS: u32 = 10;
    let each = u64::from(times / count * ENDS);
    let times = |ns: f64| (ns * slower) as u64;
    let ns = Amount::Between(times(500.0), times(1500.0));
    let work = Step::ComputeFor { profile: ProfileId(1), ns };
    let bytes = Amount::Fixed(100);
    let again = |from, times| Step::Repeat { from, times: Amount::Fixed(times - 1) };
    let tasks = 2 * count * ENDS;
    let mut programs: Vec<Program> = Vec::new();
    for task in 0..tasks {
        let (group, place) = (task / (2 * ENDS), task % (2 * ENDS));
        let socket = |end: u32| Which::Number(group * ENDS + end);
        let done = Step::Up { semaphore: Which::Number(task), count: 1 };
        let steps = match place.checked_sub(ENDS) {
            None => (0..ENDS)
                .flat_map(|end| [work.clone(), Step::Send { socket: socket(end), bytes }])
                .chain([again(0, each / u64::from(ENDS)), done])
                .collect(),
            Some(end) => {
                let receive = Step::Receive { socket: socket(end), bytes };
                vec![receive, work.clone(), again(0, each), done]
            }
        };
        let name = format!("task {task}");
        programs.push(Program { name, steps });
    }
    let make = (0..tasks).map(|program| Step::Fork { program, thread: true });
    let wait = |task| Step::Down { semaphore: Which::Number(task), count: 1 };
    // Who starts a benchmark has waited for others, and its tasks have what it slept, where a scheduler counts it.
    let slept = Step::Sleep { ns: Amount::Fixed(if others.is_none() { 3_000_000_000 } else { 0 }) };
    let first = others.is_none().then_some(slept);
    let steps = first.into_iter().chain(make).chain((0..tasks).map(wait)).collect();
    programs.push(Program { name: "main".to_owned(), steps });
    let mut work = Work {
        programs,
        semaphores: vec![0; tasks as usize],
        starts: vec![Start::of(tasks)],
        // A kernel's default for sending, 212,992 bytes, of which a small message takes 768.
        sockets: vec![
            SocketSpec { room: [3, 4], ..SocketSpec::of(27_700) };
            (count * ENDS) as usize
        ],
        ..Work::default()
    };
    let table = CoRun::uniform(&["busy"], 1000, 1000).expect("a table");
    let machine = machine.machine(false, table).expect("a machine");
    let others = others.map(|count| work.run_beside(ProfileId(1), count));
    let options = Options { until_ns: 60_000_000_000, others, seed, ..Options::new(policy) };
    let outcome = run(&machine, &work, &options).unwrap_or_else(|failure| panic!("{failure}"));
    (outcome, (u64::from(count * ENDS) * each) as f64)
}

/// Whether a simulated count is near enough to a real one.
fn agrees(name: &str, real: f64, ours: f64) -> bool {
    let (_, most) = TOLERANCE.into_iter().find(|(known, _)| *known == name).expect(name);
    let (real, ours) = (real.max(NONE), ours.max(NONE));
    (real / most..=real * most).contains(&ours)
}

#[test]
fn a_count_agrees_within_its_tolerance_and_few_are_none() {
    assert!(agrees("switches", 0.04, 0.05) && !agrees("switches", 0.04, 0.0501));
    assert!(agrees("migrations", 0.01, 0.02) && !agrees("migrations", 0.01, 0.0049));
    assert!(agrees("migrations", 0.0001, 0.0));
}

/// A real count beside the simulated one.
struct Line {
    row: String,
    cpus: String,
    name: &'static str,
    real: [f64; 3],
    /// `None`: the model has none of these.
    ours: Option<f64>,
}

impl Line {
    fn is_off(&self) -> bool {
        self.ours.is_some_and(|ours| !agrees(self.name, self.real[0], ours))
    }

    fn before(&self) -> &str {
        let begins = format!("{},{},{},", self.row, self.cpus, self.name);
        let line = BEFORE.lines().find_map(|line| line.strip_prefix(&begins));
        line.unwrap_or_default()
    }

    fn is_of(&self, (row, cpus, name, _): &(&str, &str, &str, &str)) -> bool {
        let fits = |given: &str, own: &str| given.is_empty() || given == own;
        self.row.starts_with(row) && fits(cpus, &self.cpus) && fits(name, self.name)
    }

    fn text(&self) -> String {
        let Self { name, real: [value, least, most], .. } = self;
        let real = format!("| {name} | {value:.4} ({least:.4} to {most:.4}) |");
        match self.ours {
            None => format!("{real} | | |\n"),
            Some(ours) => {
                let word = if self.is_off() { "**off**" } else { "agrees" };
                format!("{real} {} | {ours:.4} | {word} |\n", self.before())
            }
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts are what --nocapture asks for")]
fn counts_agree_with_a_real_kernels_but_for_those_that_are_named() {
    let mut lines = COUNTED.lines();
    let about = lines.next().expect("what was counted").trim_start_matches("# ");
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let (mut tables, mut all, mut slower) = (String::new(), Vec::<Line>::new(), 1.0);
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let real = |name: &str| -> f64 {
            let place = names.iter().position(|known| *known == name).expect(name);
            cells[place].parse().expect("a number")
        };
        let (row, cpus) = (cells[0], cells[1]);
        let beside = |cores: u32| Some(if real("others") > OTHERS_MAX { cores } else { 0 });
        if cpus == "1" {
            let fast = median(row, 1, 1.0, beside(1))["rate"];
            slower = fast * (1.0 - real("others")) / real("operations_per_s");
        }
        let cores = cpus.parse().expect("a number");
        let ours = median(row, cores, slower, beside(cores));
        let plural = if cpus == "1" { "" } else { "s" };
        let [others, most] = ["others", "others_most"].map(|name| 100.0 * real(name));
        tables += &format!(
            "\n## {row}, {cpus} CPU{plural}\n\nOthers had {others:.0} % of the CPUs, {most:.0} % at most. Times are {slower:.2} times those of the machine.\n\n\
             | count | real | simulated before | simulated | |\n|---|---|---|---|---|\n"
        );
        for (name, _) in TOLERANCE {
            // The simulated ones are of models with segments alone, and the real ones of all.
            let modelled = name != "segments" || row.starts_with("chat");
            let line = Line {
                row: row.to_owned(),
                cpus: cpus.to_owned(),
                name,
                real: ["", "_least", "_most"].map(|end| real(&format!("{name}{end}"))),
                ours: modelled.then(|| ours[name]),
            };
            tables += &line.text();
            print!("{row}, {cpus}: {}", line.text());
            all.extend(modelled.then_some(line));
        }
    }
    let (guests, unnamed_of_guests) = guest::section();
    let off: Vec<&Line> = all.iter().filter(|line| line.is_off()).collect();
    let unnamed: Vec<String> = off
        .iter()
        .filter(|line| !OFF.iter().any(|why| line.is_of(why)))
        .map(|l| l.text())
        .collect();
    expect_file!["../../../../docs/evidence/reality.md"]
        .assert_eq(&(page(about, &all, &tables) + &guests));
    let unnamed = unnamed.concat() + &unnamed_of_guests;
    assert!(unnamed.is_empty(), "off, and not named with a cause:\n{unnamed}");
    for why in OFF {
        assert!(off.iter().any(|line| line.is_of(why)), "{why:?} agrees: take it out");
    }
}

fn page(about: &str, all: &[Line], tables: &str) -> String {
    let before = all.iter().filter(|line| {
        let ours = line.before().parse().unwrap_or(f64::NAN);
        agrees(line.name, line.real[0], ours)
    });
    let (before, agree) = (before.count(), all.iter().filter(|line| !line.is_off()).count());
    let mut page = format!(
        "# A real kernel's counts beside the simulated `fair`\n\n\
         {agree} of {} counts agree; {before} did before the simulated kernel was mended.\n\n\
         COUNTED: {about}. SIMULATED, of chat and groups the median of seeds 1 to 5, which differ by up to a\n\
         factor of two, else seed 1. Written by `cargo xtask reality`, which runs each benchmark on CPU 0 and on\n\
         CPUs 0 and 1 with the best nice value, and counts with `perf stat`. Counts are the median of the 5 runs, of at most 7,\n\
         in which others had least of these CPUs; in brackets the least and the most. They are per operation: a round trip\n\
         (pipe), an exchange (tbench), a call (dbench), a message (chat), a write (groups, the shape of hackbench). `preempted`\n\
         is the share of switches from tasks that could have gone on. Nothing is fitted to these counts. A count agrees within\n\
         25 %; preemptions and migrations within a factor of two. Simulated machine: one or two cores of `zen4-2x96`, all of\n\
         whose times are multiplied so that the rate on one CPU is the real one of the CPU time that others left. Where others\n\
         had over a tenth of the CPUs, some keep every simulated CPU busy too, and what tasks do from their birth on counts; before,\n\
         times were the machine's, and counts began at the start of the benchmark's clock.\n\n\
         The simulated ones alone, beside these: `cargo test -p coretwin-sim --test reality -- --nocapture`.\n\n\
         ## What is off, and why\n\n",
        all.len()
    );
    for (row, cpus, name, cause) in OFF {
        let cpus = match *cpus {
            "" => "1 and 2 CPUs",
            "1" => "1 CPU",
            _ => "2 CPUs",
        };
        page += &format!("* {row}, {cpus}, {name}: {cause}.\n");
    }
    page + tables
}
