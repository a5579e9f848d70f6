//! Simulated counts beside those of guests: the article's schedulers, core-queue and a kernel's own, alive.

use super::{machine, run_groups, speeds};
use coretwin_base::parameters::WorkloadSpec;
use coretwin_sim::models::{Setting, predict};
use coretwin_sim::policies::Settings;

/// Written by `cargo xtask vm schedcost --page`, see its head.
const COUNTED: &str = include_str!("../../../../docs/evidence/reality-guest.md");
const NAMES: [&str; 3] = ["switches", "wake-ups", "segments"];
/// A count agrees where it is within this factor of what the runs of a guest had.
const TOLERANCE: f64 = 1.25;
/// Runs that differ by more than this factor decide nothing.
const WIDE: f64 = 3.0;
const SEEDS: u64 = 5;
/// Steps to a guest's rate, for what a machine does depends on how fast it is.
const ROUNDS: u32 = 3;
/// Counts of one CPU that are off: load (what it begins with), scheduler (empty: all), count (the same), and why.
const OFF: &[(&str, &str, &str, &str)] = &[
    ("pipe", "kernel", "wake-ups", WAKER),
    ("pipe", "core-queue", "wake-ups", WAKER),
    ("chat", "kernel", "", LOCKS),
    ("chat 2", "core-queue", "switches", UNKNOWN),
    ("chat 2", "linux-2.5.32-a9", "", BOOTS),
    ("chat 10", "core-queue", "", FEW),
    ("groups", "kernel", "", UNKNOWN),
    ("groups", "core-queue", "", UNKNOWN),
    ("groups", "linux-2.4.19", "", BOOTS),
    ("groups", "linux-2.5.32", "", BOOTS),
];
const WAKER: &str =
    "Linux 6.18 has 1.1 here, and the model does as that; what 7.3 does otherwise is not known";
const LOCKS: &str = "a trace shows tasks preempted inside a send, while others wait for the socket's lock (a tenth of \
     the switches are into that wait); the model's sends end before a preemption";
const BOOTS: &str =
    "boots of guests differ more than runs of one, and in an earlier boot it agreed";
const FEW: &str = "so few are lost in the difference of two runs, which tells a hundredth at best";
const UNKNOWN: &str = "the cause is not known";

/// Fewer, per operation, are none.
const NONE: f64 = 0.0005;

/// By operation, in the order of [`NAMES`]; and operations a second.
#[derive(Debug, Clone, Copy)]
struct Counts {
    each: [f64; 3],
    rate: f64,
}

/// A line of the guests' table.
struct Row<'text> {
    cpus: u32,
    load: &'text str,
    policy: &'text str,
    rate: f64,
    /// Middle, least and most.
    real: [[f64; 3]; 3],
}

impl<'text> Row<'text> {
    /// `None`: no line of the table, or of a load that has no model.
    fn read(line: &'text str) -> Option<Self> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, cpus, load, policy, _, rate, counts @ .., _] = cells.as_slice() else {
            return None;
        };
        let cpus = cpus.parse().ok()?;
        let numbers = |cell: &str| {
            let words = cell.split(|letter: char| " ()to".contains(letter));
            let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
            numbers.try_into().unwrap_or_else(|_| panic!("three numbers, not {cell}"))
        };
        let real = counts.iter().map(|cell| numbers(cell)).collect::<Vec<[f64; 3]>>();
        let real = real.try_into().expect("three counts");
        let row = Self { cpus, load, policy, rate: rate.parse().expect("a rate"), real };
        (!load.starts_with("tbench")).then_some(row)
    }

    fn settings(&self) -> Settings {
        let policy = if self.policy == "kernel" { "fair" } else { self.policy };
        Settings::parse(policy).expect(policy)
    }

    /// How many times as long all times of the machine are for the rate to be the guest's.
    fn slower(&self) -> f64 {
        (0..ROUNDS).fold(30.0, |slower, _| slower * self.simulated(1, slower).rate / self.rate)
    }

    /// The median over the seeds, on so many cores all of whose times are this many times as long.
    fn simulated(&self, cores: u32, slower: f64) -> Counts {
        let all: Vec<Counts> = (1..=SEEDS).map(|seed| self.one(cores, slower, seed)).collect();
        let middle = |of: &dyn Fn(&Counts) -> f64| {
            let mut values: Vec<f64> = all.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let each = [0, 1, 2].map(|at| middle(&|counts| counts.each[at]));
        Counts { each, rate: middle(&|counts| counts.rate) }
    }

    /// The guest's way: of two runs the difference, for both make the tasks.
    fn one(&self, cores: u32, slower: f64, seed: u64) -> Counts {
        let of = |cell: &str| predicted(cell, self.settings(), (cores, slower, seed));
        let pair = |begins: &str, messages: [u32; 2]| {
            messages.map(|messages| of(&format!("chat:rooms={begins},messages={messages}")))
        };
        let [all, less] = match self.load {
            "pipe" => [of("lmbench/pipe-latency"), [0.0; 5]],
            "chat 2" => pair("2", [25, 5]),
            "chat 10" => pair("10", [6, 2]),
            "groups 4" => [400, 100].map(|times| {
                let machine = machine(cores, slower);
                let setting = (&machine, slower, self.settings(), seed, None);
                let (outcome, operations) = run_groups((4, times), setting);
                let counts = [outcome.switches, outcome.wake_ups, outcome.segments];
                let [switches, wake_ups, segments] = counts.map(|count| count as f64);
                [operations, outcome.simulated_ns as f64 / 1e9, switches, wake_ups, segments]
            }),
            other => panic!("no model of {other}"),
        };
        let [operations, seconds, counts @ ..] =
            std::array::from_fn::<f64, 5, _>(|at| all[at] - less[at]);
        Counts { each: counts.map(|count| count / operations), rate: operations / seconds }
    }

    /// Whether runs of the guest differ so much that nearly any count would agree.
    fn is_wide(&self, at: usize) -> bool {
        let [_, least, most] = self.real[at].map(|count| count.max(NONE));
        most > WIDE * least
    }

    fn is_off(&self, at: usize, ours: f64) -> bool {
        let [_, least, most] = self.real[at].map(|count| count.max(NONE));
        !(least / TOLERANCE..=most * TOLERANCE).contains(&ours.max(NONE))
    }

    fn is_of(&self, name: &str, (load, policy, count, _): &(&str, &str, &str, &str)) -> bool {
        let fits = |given: &str, own: &str| given.is_empty() || given == own;
        self.load.starts_with(load) && fits(policy, self.policy) && fits(count, name)
    }
}

/// Operations and seconds of a run, and its counts.
fn predicted(cell: &str, policy: Settings, (cores, slower, seed): (u32, f64, u64)) -> [f64; 5] {
    let spec = WorkloadSpec::parse(cell).expect(cell);
    let machine = machine(cores, slower);
    let setting = Setting {
        machine: &machine,
        speeds: &speeds(&machine, 1.0),
        fit: None,
        policy,
        smt: false,
        seed,
        fraction: Some(1.0),
        runs_max: Some(1),
        others: None,
    };
    let prediction = predict(&spec.name, &spec.params, &setting).expect(cell);
    let operations = prediction.operations as f64;
    let of = |name: &str| prediction.metrics[name].value * operations;
    [operations, prediction.simulated_s, of("switches"), of("wake_ups"), of("segments")]
}

/// What the page says of guests; and the counts of one CPU that are off and have no cause.
pub(super) fn section() -> (String, String) {
    let rows: Vec<Row<'_>> = COUNTED.lines().filter_map(Row::read).collect();
    let (mut tables, mut unnamed) = (String::new(), String::new());
    let (mut held, mut wide, mut off) = (0, 0, Vec::new());
    for row in rows.iter().filter(|row| row.cpus == 1) {
        let slower = row.slower();
        for cpus in [1, 2, 4] {
            let is_same =
                |it: &&Row<'_>| (it.cpus, it.load, it.policy) == (cpus, row.load, row.policy);
            let Some(it) = rows.iter().find(is_same) else { continue };
            let ours = it.simulated(cpus, slower);
            tables += &format!("| {} | {} | {cpus} |", row.load, row.policy);
            for (at, name) in NAMES.iter().enumerate() {
                if *name == "segments" && !row.load.starts_with("chat") {
                    tables += " | |";
                    continue;
                }
                let [real, least, most] = it.real[at];
                let ours = ours.each[at];
                let mut mark = "";
                if cpus == 1 && it.is_wide(at) {
                    wide += 1;
                    mark = "_";
                } else if cpus == 1 {
                    held += 1;
                    if it.is_off(at, ours) {
                        mark = "**";
                        off.push((it, *name));
                        if !OFF.iter().any(|why| it.is_of(name, why)) {
                            unnamed += &format!(
                                "{} {} {name}: {ours:.3}, in guests {real:.3} ({least:.3} to {most:.3})\n",
                                it.load, it.policy
                            );
                        }
                    }
                }
                let range =
                    if cpus == 1 { format!(" ({least:.3} to {most:.3})") } else { String::new() };
                tables += &format!(" {real:.3}{range} | {mark}{ours:.3}{mark} |");
            }
            tables += "\n";
        }
    }
    for why in OFF {
        let stands = off.iter().any(|(row, name)| row.is_of(name, why));
        assert!(stands, "{why:?} agrees: take it out");
    }
    (page(held, wide, off.len()) + &tables, unnamed)
}

fn page(held: usize, wide: usize, off: usize) -> String {
    let mut page = format!(
        "\n## Guests: the article's schedulers, core-queue and today's kernel, alive\n\n\
         {} of {held} counts with one CPU agree; those in bold do not. Of {wide} more, slanted, runs of the guest differ by\n\
         more than {WIDE} times, which decides nothing. Counts of several emulated CPUs are shown, for they\n\
         take turns on one thread of the host, which bends them. COUNTED: [reality-guest.md](reality-guest.md). SIMULATED: as\n\
         above, without others; times are multiplied so that the rate on one CPU is the guest's, for each load and\n\
         scheduler alone; the median of seeds 1 to {SEEDS}. `kernel` is the kernel's own scheduler, and the simulated\n\
         `fair`. A count agrees where it is within 25 % of what runs of the guest had.\n\n",
        held - off
    );
    for (load, policy, count, cause) in OFF {
        let words: Vec<&str> =
            [*load, *policy, *count].into_iter().filter(|word| !word.is_empty()).collect();
        page += &format!("* {}: {cause}.\n", words.join(", "));
    }
    page + "\n| load | scheduler | CPUs | switches: real | simulated | wake-ups: real | simulated | segments: real | simulated |\n\
            |---|---|---|---|---|---|---|---|---|\n"
}
