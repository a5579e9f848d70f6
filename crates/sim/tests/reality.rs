//! The simulated `fair` held against what a real kernel did: counts of `cargo xtask reality`.

mod support;

use coretwin_base::parameters::WorkloadSpec;
use coretwin_sim::kernel::co_run::{CoRun, ProfileId};
use coretwin_sim::kernel::program::{Amount, Options, Program, Step};
use coretwin_sim::kernel::{SocketSpec, Start, Which, Work, run};
use coretwin_sim::machine::MachinePreset;
use coretwin_sim::models::{Setting, predict};
use coretwin_sim::policies::Settings;
use expect_test::expect_file;
use std::collections::BTreeMap;
use support::speeds;

const COUNTED: &str = include_str!("../../../docs/evidence/reality.csv");
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
/// Counts within the tolerance; raised when the simulated kernel is mended.
const AGREE_LEAST: usize = 35;

/// By name, of one operation.
type Counts = BTreeMap<String, f64>;

fn machine(cores: u32) -> MachinePreset {
    let all = MachinePreset::named("zen4-2x96").expect("a machine");
    MachinePreset { packages: 1, caches: 1, cores, ..all }
}

/// The slice of a machine with two CPUs, whichever of them are used.
fn fair() -> Settings {
    Settings::parse("fair[slice_us=1400]").expect("fair")
}

fn simulated(row: &str, cores: u32) -> Counts {
    let cell = match row.split_once(' ') {
        Some(("groups", count)) => return groups(count.parse().expect("a number"), cores),
        Some(("chat", rooms)) => format!("chat:rooms={rooms}"),
        Some((family, clients)) => format!("{family}:clients={clients}"),
        None => "lmbench/pipe-latency".to_owned(),
    };
    let spec = WorkloadSpec::parse(&cell).expect("a workload");
    let machine = machine(cores);
    let setting = Setting {
        machine: &machine,
        speeds: &speeds(&machine, 1.0),
        fit: None,
        policy: fair(),
        smt: false,
        seed: 1,
        fraction: None,
        runs_max: Some(1),
    };
    let prediction = predict(&spec.name, &spec.params, &setting).expect("a prediction");
    let of = |name| prediction.metrics[name].value;
    let switches = of("switches");
    let counts = [
        ("switches", switches),
        ("wakeups", of("wake_ups")),
        ("receives", of("receives")),
        ("segments", of("segments")),
        ("preempted", of("pre_emptions") / switches),
        ("migrations", of("migrations")),
    ];
    counts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// In each group ten senders write 100 bytes to each of ten receivers in turn; 40,000 writes together.
fn groups(count: u32, cores: u32) -> Counts {
    const ENDS: u32 = 10;
    let each = u64::from(400 / count * ENDS);
    let machine = machine(cores);
    let work = Step::ComputeFor { profile: ProfileId(1), ns: Amount::Between(500, 1500) };
    let bytes = Amount::Fixed(100);
    let again = |from, times| Step::Repeat { from, times: Amount::Fixed(times - 1) };
    let sender: Vec<Step> = (0..ENDS)
        .flat_map(|end| [work.clone(), Step::Send { socket: Which::Own(end as u8), bytes }])
        .chain([again(0, each / u64::from(ENDS))])
        .collect();
    let receive = Step::Receive { socket: Which::Own(0), bytes };
    let receiver = vec![receive, work.clone(), again(0, each)];
    let program = |name: &str, steps| Program { name: name.to_owned(), steps };
    let mut starts = Vec::new();
    for group in 0..count {
        let sockets: Vec<u32> = (0..ENDS).map(|end| group * ENDS + end).collect();
        let start = Start { same_memory: true, ..Start::of(0) };
        starts.extend((0..ENDS).map(|_| Start { own: sockets.clone(), ..start.clone() }));
        let receiver = |socket: &u32| Start { program: 1, own: vec![*socket], ..start.clone() };
        starts.extend(sockets.iter().map(receiver));
    }
    let work = Work {
        programs: vec![program("sender", sender), program("receiver", receiver)],
        starts,
        // A kernel's default for sending, 212,992 bytes, of which a small message takes 768.
        sockets: vec![SocketSpec::of(27_700); (count * ENDS) as usize],
        ..Work::default()
    };
    let table = CoRun::uniform(&["busy"], 1000, 1000).expect("a table");
    let machine = machine.machine(false, table).expect("a machine");
    let options = Options { until_ns: 60_000_000_000, ..Options::new(fair()) };
    let outcome = run(&machine, &work, &options).unwrap_or_else(|failure| panic!("{failure}"));
    let operations = (u64::from(count * ENDS) * each) as f64;
    let of = |number: u64| number as f64 / operations;
    let switches = of(outcome.switches);
    let counts = [
        ("switches", switches),
        ("wakeups", of(outcome.wake_ups)),
        ("receives", of(outcome.receives)),
        ("segments", of(outcome.segments)),
        ("preempted", of(outcome.pre_emptions) / switches),
        ("migrations", of(outcome.migrations.iter().sum())),
    ];
    counts.map(|(name, value)| (name.to_owned(), value)).into()
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

#[test]
fn the_page_has_the_real_counts_beside_the_simulated_ones() {
    let mut lines = COUNTED.lines();
    let about = lines.next().expect("what was counted").trim_start_matches("# ");
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let mut page = format!(
        "# A real kernel's counts beside the simulated `fair`\n\n\
         COUNTED: {about}. SIMULATED with seed 1. Written by `cargo xtask reality`, which runs each benchmark on CPU 0 and on\n\
         CPUs 0 and 1 with the best nice value, and counts with `perf stat`. Counts are the median of the 5 runs, of at most 7,\n\
         in which others had least of these CPUs; in brackets the least and the most. They are per operation: a round trip\n\
         (pipe), an exchange (tbench), a call (dbench), a message (chat), a write (groups, the shape of hackbench). `preempted`\n\
         is the share of switches from tasks that could have gone on. Nothing is fitted to these counts. A count agrees within\n\
         25 %; preemptions and migrations within a factor of two. Simulated costs are those of `zen4-2x96`.\n"
    );
    let (mut agree, mut all) = (0, 0);
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let real = |name: &str| -> f64 {
            let place = names.iter().position(|known| *known == name).expect(name);
            cells[place].parse().expect("a number")
        };
        let (row, cpus) = (cells[0], cells[1]);
        let ours = simulated(row, cpus.parse().expect("a number"));
        let plural = if cpus == "1" { "" } else { "s" };
        let [others, most] = ["others", "others_most"].map(|name| 100.0 * real(name));
        page += &format!(
            "\n## {row}, {cpus} CPU{plural}\n\nOthers had {others:.0} % of the CPUs, {most:.0} % at most.\n\n| count | real | simulated | |\n|---|---|---|---|\n"
        );
        for (name, _) in TOLERANCE {
            // The simulated ones are of models with segments alone, and the real ones of all.
            let modelled = name != "segments" || row.starts_with("chat");
            let [value, least, most] =
                ["", "_least", "_most"].map(|end| real(&format!("{name}{end}")));
            if !modelled {
                page += &format!("| {name} | {value:.4} ({least:.4} to {most:.4}) | | |\n");
                continue;
            }
            let near = agrees(name, value, ours[name]);
            all += 1;
            agree += usize::from(near);
            page += &format!(
                "| {name} | {value:.4} ({least:.4} to {most:.4}) | {:.4} | {} |\n",
                ours[name],
                if near { "agrees" } else { "**off**" }
            );
        }
    }
    page += &format!("\n{agree} of {all} counts agree.\n");
    expect_file!["../../../docs/evidence/reality.md"].assert_eq(&page);
    assert!(agree >= AGREE_LEAST, "{agree} of {all} agree, {AGREE_LEAST} did");
}
