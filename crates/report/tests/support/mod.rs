//! Synthetic studies, the same in every run: a chat study with disturbed and failed runs, a
//! machine without siblings, a command with screening, many arms, hostile labels.

#![allow(dead_code, reason = "each test file uses some of the studies")]

mod article;
pub(crate) mod simulated;

pub(crate) use article::{article, article_2003, article_quick};

use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::environment::{Environment, Facts, Moment, Session};
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::{Smt, SmtControl, Topology};
use coretwin_base::origin::Origin;
use coretwin_base::parameters::{ParamValue, Params, label};
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::arm::{ArmSpec, ArmState, KERNEL};
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::plan::{
    Comparison, CopyRule, Plan, PlanArm, PlanRow, Protocol, Rule, Rules, Scale, Screening,
    ThreadRule,
};
use coretwin_base::study::reading::{Better, Metric, Phase, Reading, Status};
use coretwin_base::study::summary::{StoppedBecause, Summary};
use coretwin_base::warning::Warning;
use coretwin_report::Study;
use std::sync::Arc;

/// The records of a study.
pub(crate) struct Records {
    pub(crate) plan: Plan,
    pub(crate) readings: Vec<Reading>,
    pub(crate) environment: Environment,
    pub(crate) summary: Summary,
}

impl Records {
    pub(crate) fn study(&self) -> Study<'_> {
        Study {
            plan: &self.plan,
            readings: &self.readings,
            environment: &self.environment,
            summary: &self.summary,
            licence: None,
        }
    }

    /// Makes the summary anew from plan and readings.
    pub(crate) fn analysed(mut self, stopped: StoppedBecause) -> Self {
        self.summary = coretwin_stats::study::analyse(&self.plan, &self.readings, stopped);
        self
    }
}

/// Two siblings on each core, or one.
fn topology(cpus: u32, per_core: u32) -> Topology {
    let smt = Smt {
        control: Some(if per_core > 1 { SmtControl::On } else { SmtControl::NotSupported }),
        active: Some(per_core > 1),
        switchable: per_core > 1,
        why: "made up".to_owned(),
    };
    let trust_why = "made up".to_owned();
    Topology { smt, trust_why, ..Topology::regular(1, cpus / per_core, per_core) }
}

fn arm(text: &str, cpus: &str, cores: u32, about: &str) -> PlanArm {
    let spec = ArmSpec::parse(text).expect(text);
    let cpus = CpuSet::parse(cpus).expect(cpus);
    let threads = cpus.len() as u32;
    PlanArm {
        label: spec.label,
        state: spec.state,
        scheduler: KERNEL.to_owned(),
        cpus,
        cores,
        threads,
        smt: None,
        about: about.to_owned(),
        ..PlanArm::default()
    }
}

pub(crate) fn chat_row(rooms: i64) -> PlanRow {
    let params: Params = [("messages", 100), ("rooms", rooms), ("users", 20)]
        .map(|(name, value)| (name.to_owned(), ParamValue::Int(value)))
        .into();
    PlanRow {
        id: label("chat", &[("rooms".to_owned(), ParamValue::Int(rooms))].into()),
        workload: "chat".to_owned(),
        family: "chat".to_owned(),
        params,
        placement: Placement::Free,
        threads: ThreadRule::Fixed(80 * rooms as u32),
        copies: CopyRule::Fixed(1),
        unit: "messages/s".to_owned(),
        better: Better::Higher,
        scale: Scale::Ratio,
        arms: Vec::new(),
    }
}

fn rules(protocol: Protocol, blocks: u32) -> Rules {
    Rules {
        protocol,
        looks: vec![8, blocks.max(8)],
        target: 0.01,
        margin: 0.02,
        budget_s: Some(1800.0),
        steal_share_max: 0.02,
        others_share_max: 0.05,
        retries_max: 3,
        warmup: true,
        warmup_runs: 1,
        settle_s: 2.0,
        repeats: 1,
        until: Rule::Width,
    }
}

fn plan(arms: Vec<PlanArm>, rows: Vec<PlanRow>, comparison: Comparison, per_core: u32) -> Plan {
    let reference_arm = arms[0].label.clone();
    Plan {
        schema: SCHEMA,
        coretwin: "0.1.0".to_owned(),
        machine: "host".to_owned(),
        origin: None,
        comparison,
        arms,
        reference_arm,
        rows,
        command: None,
        cputime: None,
        load: None,
        simulation: None,
        split: None,
        seed: 42,
        orders: Vec::new(),
        rules: rules(Protocol::Modern, 12),
        screening: None,
        topology: topology(8, per_core),
        warnings: Vec::new(),
    }
}

/// A reading of the comparison, without its value.
fn reading(plan: &Plan, row: usize, arm: usize, block: u32, seq: u64) -> Reading {
    let (rule, place) = (&plan.rows[row], &plan.arms[arm]);
    let threads = match rule.threads {
        ThreadRule::Fixed(threads) => threads,
        ThreadRule::Arm | ThreadRule::Screened => place.threads,
    };
    Reading {
        schema: SCHEMA,
        seq,
        phase: Phase::Study,
        block,
        switch: block * plan.arms.len() as u32 + arm as u32,
        attempt: 0,
        arm: place.label.as_str().into(),
        row: rule.id.as_str().into(),
        workload: rule.workload.as_str().into(),
        params: rule.params.clone().into(),
        placement_asked: rule.placement,
        cpus_ran: place.cpus.clone().into(),
        status: Status::Ok,
        cause: None,
        value: None,
        unit: rule.unit.as_str().into(),
        better: rule.better,
        metrics: Arc::default(),
        operations: 0,
        elapsed_s: 1.0,
        user_s: 2.5,
        system_s: 1.25,
        steal_s: 0.0,
        threads,
        copies: 1,
        samples: Arc::default(),
        notes: Arc::default(),
        checks: Arc::default(),
        output: None,
        latency: None,
        env: format!("e{}", arm.min(1)).into(),
    }
}

/// About standard normal: twelve even numbers, less six.
fn noise(stream: &mut Stream) -> f64 {
    (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0
}

/// Blocks of readings: the value of row and arm, with 1 % of noise and a slow drift of 3 %.
fn readings(plan: &Plan, blocks: u32, value: impl Fn(usize, usize) -> f64) -> Vec<Reading> {
    let mut readings = Vec::new();
    for block in 0..blocks {
        let mut stream = Stream::new(plan.seed, "fixture", block.into());
        let drift = 1.0 - 0.03 * f64::from(block) / f64::from(blocks);
        let mut arms: Vec<usize> = (0..plan.arms.len()).collect();
        if block % 2 == 1 {
            arms.reverse();
        }
        for arm in arms {
            let label = plan.arms[arm].label.as_str();
            for row in (0..plan.rows.len()).filter(|row| plan.rows[*row].runs_in(label)) {
                let seq = readings.len() as u64;
                let mut reading = reading(plan, row, arm, block, seq);
                let noise = 1.0 + 0.01 * noise(&mut stream);
                reading.value = Some((value(row, arm) * noise * drift * 10.0).round() / 10.0);
                readings.push(reading);
            }
        }
    }
    readings
}

fn environment(plan: &Plan) -> Environment {
    let mut environment = Environment::default();
    environment.sessions.push(Session {
        started_utc: "2026-11-20T09:00:00Z".to_owned(),
        coretwin: "0.1.0".to_owned(),
        argv: ["/usr/bin/coretwin", "study", "chat", "--arm", "off", "--arm", "on", "--yes"]
            .map(str::to_owned)
            .into(),
        boot_id: "5b2f0c1e".to_owned(),
        host: "lab-1".to_owned(),
    });
    for (index, arm) in plan.arms.iter().enumerate().take(2) {
        let mut facts: Facts = [
            ("cpu.model", "Example Xeon 1.60GHz"),
            ("cpu.microcode", "0x2b"),
            ("kernel.release", "6.1.0"),
            ("mitigation.mds", ["Mitigation; SMT disabled", "Mitigation; SMT vulnerable"][index]),
            ("smt.control", ["off", "on"][index]),
            ("thp", "madvise"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        for cpu in 0..8 {
            let governor = if cpu < 6 { "performance" } else { "powersave" };
            facts.insert(format!("cpu.{cpu}.governor"), governor.to_owned());
        }
        let cpus = (0..8).map(|cpu| cpu.to_string());
        let mhz = cpus.clone().enumerate().map(|(n, cpu)| (cpu, 2900.0 + 10.0 * n as f64));
        let moment = Moment {
            facts: String::new(),
            arm: arm.label.clone(),
            at_utc: "2026-11-20T09:00:01Z".to_owned(),
            load_1min: 0.25 + index as f64,
            mhz: mhz.collect(),
            mhz_permitted: cpus.map(|cpu| (cpu, 3000.0)).collect(),
            idle_us: [].into(),
        };
        environment.add(facts, moment);
    }
    environment
}

fn records(plan: Plan, readings: Vec<Reading>) -> Records {
    let environment = environment(&plan);
    let summary = coretwin_stats::study::analyse(&plan, &readings, StoppedBecause::Target);
    Records { plan, readings, environment, summary }
}

/// The article's Table 4: messages per second by rooms, without and with Hyper-Threading.
const TABLE_4: [(i64, [f64; 2]); 4] = [
    (20, [164_071.0, 202_809.0]),
    (30, [151_530.0, 184_803.0]),
    (40, [140_301.0, 171_187.0]),
    (50, [123_842.0, 158_543.0]),
];

/// Four chat rows, two arms, ten blocks; block 3 was disturbed and run again, one run failed.
pub(crate) fn chat() -> Records {
    let arms = vec![
        arm("off", "0,2,4,6", 4, "SMT switched off by the kernel"),
        arm("on", "0-7", 4, "all CPUs of the machine"),
    ];
    let rows = TABLE_4.map(|(rooms, _)| chat_row(rooms)).into();
    let mut plan = plan(arms, rows, Comparison::Smt, 2);
    plan.warnings.push(Warning::new(
        "governor",
        "CPUs 6-7 have the governor powersave, the others performance",
        "Set one governor everywhere: cpupower frequency-set -g performance",
    ));
    let mut readings = readings(&plan, 10, |row, arm| TABLE_4[row].1[arm]);
    let mut again: Vec<Reading> = readings.iter().filter(|r| r.block == 3).cloned().collect();
    for (index, reading) in again.iter_mut().enumerate() {
        reading.attempt = 1;
        reading.value = reading.value.map(|value| value * (0.99 + 0.002 * index as f64));
    }
    for reading in readings.iter_mut().filter(|reading| reading.block == 3) {
        reading.value = reading.value.map(|value| value * 0.93);
    }
    if let Some(disturbed) = readings.iter_mut().find(|reading| reading.block == 3) {
        disturbed.status = Status::SetAside;
        disturbed.cause = Some("steal 4.1 % of the arm's CPU time (limit 2 %)".into());
    }
    let place = readings.iter().position(|r| r.block == 4).unwrap_or(0);
    readings.splice(place..place, again);
    if let Some(failed) = readings.iter_mut().rfind(|r| r.block == 7 && r.row == "chat:rooms=50") {
        failed.status = Status::Failed;
        failed.value = None;
        failed.cause = Some("connect: Cannot assign requested address".into());
    }
    for (seq, reading) in (0..).zip(&mut readings) {
        reading.seq = seq;
        let rooms = reading.params["rooms"].as_int().unwrap_or(0) as f64;
        let metric = |value: f64| Metric { value, unit: String::new(), better: Better::Higher };
        reading.metrics = Arc::new(
            [
                ("messages_sent".to_owned(), metric(rooms * 2_000.0)),
                ("messages_received".to_owned(), metric(rooms * 38_000.0)),
            ]
            .into(),
        );
    }
    records(plan, readings)
}

/// The same by the article's protocol.
pub(crate) fn chat_2003() -> Records {
    let mut chat = chat();
    chat.plan.rules.protocol = Protocol::Article2003;
    chat.readings.retain(|reading| reading.block < 5 && reading.status == Status::Ok);
    chat.analysed(StoppedBecause::Blocks)
}

/// The same with one CPU per core standing in for SMT off.
pub(crate) fn stand_in() -> Records {
    let mut chat = chat();
    chat.plan.comparison = Comparison::StandIn;
    chat.plan.arms[0] = arm("one-per-core", "0,2,4,6", 4, "affinity to one CPU per core");
    chat.plan.reference_arm = "one-per-core".to_owned();
    for reading in chat.readings.iter_mut().filter(|reading| reading.arm == "off") {
        reading.arm = "one-per-core".into();
    }
    chat.environment = environment(&chat.plan);
    chat.analysed(StoppedBecause::Target)
}

/// A machine without siblings: half the CPUs against all of them, and nothing to tell them apart.
pub(crate) fn no_siblings() -> Records {
    let arms = vec![
        arm("half=cpus:0-3", "0-3", 4, "half of the CPUs"),
        arm("all=cpus:0-7", "0-7", 8, "all CPUs"),
    ];
    let plan = plan(arms, vec![chat_row(20)], Comparison::None, 1);
    let readings = readings(&plan, 8, |_, arm| [101_000.0, 101_600.0][arm]);
    records(plan, readings)
}

/// Two blocks of screening of the row that is screened, 2 % slower in the second.
fn screening(plan: &Plan, seconds: &[[f64; 2]]) -> Vec<Reading> {
    let mut screened = Vec::new();
    for block in 0..2 {
        for (arm, candidates) in [vec![1, 2, 4], vec![1, 2, 4, 8]].into_iter().enumerate() {
            for (index, threads) in candidates.into_iter().enumerate() {
                let mut reading = reading(plan, 4, arm, block, 0);
                reading.phase = Phase::Screen;
                reading.threads = threads;
                let noise = 1.0 + 0.02 * f64::from(block);
                reading.value = Some(seconds[index][arm] * noise);
                screened.push(reading);
            }
        }
    }
    screened
}

/// A user's command over thread counts, screened before; one row is compared by difference.
pub(crate) fn command() -> Records {
    let arms = vec![
        arm("one-per-core", "0,2,4,6", 4, "affinity to one CPU per core"),
        arm("on", "0-7", 4, "all CPUs of the machine"),
    ];
    let base = PlanRow {
        id: String::new(),
        workload: "command".to_owned(),
        family: "command".to_owned(),
        params: Params::new(),
        unit: "s".to_owned(),
        better: Better::Lower,
        ..chat_row(20)
    };
    let mut rows: Vec<PlanRow> = [1, 2, 4, 8]
        .map(|threads| PlanRow {
            id: format!("command:threads={threads}"),
            threads: ThreadRule::Fixed(threads),
            ..base.clone()
        })
        .into();
    rows.push(PlanRow {
        id: "command:screened".to_owned(),
        threads: ThreadRule::Screened,
        ..base.clone()
    });
    rows.push(PlanRow {
        id: "command:difference".to_owned(),
        threads: ThreadRule::Arm,
        unit: "µs".to_owned(),
        scale: Scale::Raw,
        ..base
    });
    let mut plan = plan(arms, rows, Comparison::StandIn, 2);
    plan.command = Some(CommandSpec {
        argv: ["./solve", "-t", "{threads}", "--input", "big mesh.dat"].map(str::to_owned).into(),
        metrics: Vec::new(),
        server: None,
        setup: None,
        prepare: None,
        cleanup: None,
        min_time_s: 0.0,
        timeout_s: 600.0,
        folder: None,
        load: None,
    });
    plan.screening = Some(Screening {
        blocks: 2,
        candidates: vec![vec![1, 2, 4], vec![1, 2, 4, 8]],
        orders: vec![vec![0, 1], vec![1, 0]],
    });
    let seconds = [[40.0, 40.1], [20.4, 20.6], [10.6, 11.0], [11.9, 9.1], [10.6, 9.1], [4.3, 4.2]];
    let mut readings = readings(&plan, 8, |row, arm| seconds[row][arm]);
    let mut screened = screening(&plan, &seconds);
    screened.append(&mut readings);
    for (seq, reading) in (0..).zip(&mut screened) {
        reading.seq = seq;
    }
    let mut records = records(plan, screened);
    records.environment.sessions[0].argv =
        ["coretwin", "study", "--threads", "auto", "--", "./solve", "-t", "{threads}"]
            .map(str::to_owned)
            .into();
    records
}

/// Six arms, thirty rows, long labels.
pub(crate) fn many() -> Records {
    let states = ["one-per-core", "on", "packed", "on-cores", "core-sched", "wide=cpus:0-7"];
    let arms = states.map(|state| arm(state, "0-7", 4, "one of six")).into();
    let rows = (0..30)
        .map(|index| PlanRow {
            id: format!("chat:messages=100,rooms={},size=100,users=20,wait=none", 10 + index),
            ..chat_row(10 + index)
        })
        .collect();
    let plan = plan(arms, rows, Comparison::StandIn, 2);
    let readings = readings(&plan, 8, |row, arm| 1000.0 + 10.0 * row as f64 + 25.0 * arm as f64);
    records(plan, readings)
}

/// Text that tries to be markup, in every field that comes from outside.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=y>|`*_\u{1b}[2J";

pub(crate) fn hostile() -> Records {
    let mut records = command();
    records.plan.arms[1].label = HOSTILE.to_owned();
    records.plan.arms[1].state = ArmState::Boot(HOSTILE.to_owned());
    records.plan.arms[1].about = HOSTILE.to_owned();
    for reading in records.readings.iter_mut().filter(|reading| reading.arm == "on") {
        reading.arm = HOSTILE.into();
    }
    records.plan.rows[0].id = HOSTILE.to_owned();
    records.plan.rows[1].unit = HOSTILE.to_owned();
    for reading in &mut records.readings {
        if reading.row == "command:threads=1" {
            reading.row = HOSTILE.into();
        }
    }
    if let Some(command) = &mut records.plan.command {
        command.argv.push(HOSTILE.to_owned());
    }
    records.plan.warnings.push(Warning::new(HOSTILE, HOSTILE, HOSTILE));
    if let Some(failed) = records.readings.last_mut() {
        failed.status = Status::Failed;
        failed.cause = Some(HOSTILE.into());
    }
    records.environment = environment(&records.plan);
    for facts in records.environment.facts.values_mut() {
        facts.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    }
    records.environment.sessions[0].argv.push(HOSTILE.to_owned());
    records.analysed(StoppedBecause::Target)
}

/// Stopped before its rule was met.
pub(crate) fn interim() -> Records {
    let mut records = chat();
    records.plan.rules.looks = vec![12];
    records.analysed(StoppedBecause::Interrupted)
}

/// Of a guest under emulation.
pub(crate) fn emulated() -> Records {
    let mut records = chat();
    records.plan.origin = Some(Origin::Emulated);
    records.analysed(StoppedBecause::Target)
}

/// A study that has only just been planned.
pub(crate) fn empty() -> Records {
    let mut records = chat();
    records.readings.clear();
    records.environment = Environment::default();
    records.analysed(StoppedBecause::Interrupted)
}

/// A chat study of at least so many readings.
pub(crate) fn large(readings_min: u32) -> Records {
    let mut chat = chat();
    let blocks = readings_min.div_ceil(8);
    chat.plan.rules.looks = vec![blocks];
    chat.readings = readings(&chat.plan, blocks, |row, arm| TABLE_4[row].1[arm]);
    chat.analysed(StoppedBecause::Blocks)
}

/// Every study but the large one, by name.
pub(crate) fn all() -> Vec<(&'static str, Records)> {
    vec![
        ("article", article()),
        ("article-2003", article_2003()),
        ("article-quick", article_quick()),
        ("chat", chat()),
        ("chat-2003", chat_2003()),
        ("stand-in", stand_in()),
        ("no-siblings", no_siblings()),
        ("command", command()),
        ("many", many()),
        ("hostile", hostile()),
        ("empty", empty()),
        ("interim", interim()),
        ("emulated", emulated()),
        ("simulated", simulated::simulated()),
    ]
}
