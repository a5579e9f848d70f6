//! What `cputime` says of pairs and rulers, from summaries made by hand.

use coretwin_base::account::cputime::estimate::Estimate;
use coretwin_base::account::cputime::pairs::{
    Objective, PairSlowdown, Pairs, Placement, Rivals, WithCommand,
};
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::account::cputime::rulers::{
    BesideRuler, Predictions, RULERS, Rulers, Scale, Signature,
};
use coretwin_base::account::cputime::{Pair, Relation};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::environment::Environment;
use coretwin_base::machine::topology::Trust;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_report::{CPUTIME_FORMATS, Cputime};

fn summary(relation: Relation) -> CputimeSummary {
    CputimeSummary {
        schema: SCHEMA,
        origin: Origin::Measured,
        work: "work".to_owned(),
        spinner: "each other command".to_owned(),
        cpus: Pair { work: CpuId(0), neighbour: CpuId(1), relation },
        control: None,
        topology_trust: Trust::Reported,
        meaning: Vec::new(),
        conditions: Vec::new(),
        spinners_alone: Vec::new(),
        factors: None,
        blocks: 5,
        blocks_set_aside: 0,
        seed: 1,
        stopped_because: StoppedBecause::Blocks,
        too_busy: None,
        warnings: Vec::new(),
        pairs: None,
        rulers: None,
    }
}

fn text(summary: &CputimeSummary) -> String {
    let environment = Environment::default();
    let format = CPUTIME_FORMATS.iter().find(|format| format.name == "text").expect("text");
    (format.render)(&Cputime { summary, environment: &environment })
}

fn about(value: f64) -> Estimate {
    Estimate { value, low: Some(value - 0.01), high: Some(value + 0.01) }
}

fn command(name: &str, argv: &[&str]) -> WithCommand {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    WithCommand { name: name.to_owned(), argv, row: false }
}

#[test]
fn a_placement_is_said_as_taskset_lines_and_cpusets() {
    let pair = |a, b| PairSlowdown {
        a,
        b,
        slowdown_a: 1.2,
        low_a: Some(1.1),
        high_a: Some(1.3),
        slowdown_b: 1.4,
        low_b: Some(1.3),
        high_b: Some(1.5),
        core_yield: about(1.5),
    };
    let set = |text: &str| CpuSet::parse(text).expect("CPUs");
    let placement = Placement {
        objective: Objective::Sum,
        pairs: vec![(0, Some(2)), (1, None)],
        cost: 3.6,
        regret: Some(0.1),
        rivals: Rivals { in_order: 3.8, random: 3.9, worst: 4.2 },
        gain: Some(about(1.08)),
        cores: vec![set("0,4"), set("1,5")],
    };
    let commands = vec![
        command("db", &["./db", "--scan it"]),
        command("zip", &["zip"]),
        command("\u{1b}web", &["./web"]),
    ];
    let pairs = vec![pair(0, 1), pair(0, 2), pair(1, 2)];
    let pairs = Pairs { commands, pairs, placement: Some(placement) };
    let mut summary = CputimeSummary { pairs: Some(pairs), ..summary(Relation::Siblings) };
    let said = text(&summary);
    for line in [
        "taskset -c 0 ./db '--scan it'",
        "taskset -c 4 ./web",
        "taskset -c 1 zip",
        "AllowedCPUs=0,4   # db with",
        "AllowedCPUs=1,5   # zip alone; of a cpuset: cpuset.cpus",
    ] {
        assert_eq!(said.matches(line).count(), 1, "{line} in:\n{said}");
    }
    assert!(!said.contains('\u{1b}'), "a name is not printed raw");
    let placement = summary.pairs.as_mut().and_then(|pairs| pairs.placement.as_mut());
    placement.expect("a placement").cores.clear();
    let said = text(&summary);
    assert!(!said.contains("taskset") && said.contains("does not tell of enough cores"), "{said}");
}

/// Slowdowns by ruler; all others are 1.1.
fn fought(slowdowns: &[(usize, f64)]) -> Rulers {
    let of = |at: usize| slowdowns.iter().find(|(which, _)| *which == at).map_or(1.1, |it| it.1);
    let beside = |at: usize| BesideRuler {
        ruler: RULERS[at].0,
        slowdown: about(of(at)),
        ruler_slowdown: Some(about(1.3)),
    };
    let signature =
        Signature { work: "work".to_owned(), beside: (0..RULERS.len()).map(beside).collect() };
    let scales = RULERS.map(|(ruler, _)| Scale { ruler, slowdown: about(2.0) }).to_vec();
    Rulers { scales, signatures: vec![signature], predictions: None }
}

#[test]
fn the_answer_names_what_stands_out_and_nothing_else() {
    for (relation, slowdowns, said) in [
        (
            Relation::Siblings,
            &[(2, 1.6)][..],
            "FIGHTS most for vector and floating-point ports (1.60)",
        ),
        (
            Relation::Probed,
            &[(2, 1.6), (4, 1.595)],
            "FIGHTS most for one of vector and floating-point ports (1.60), L1D (1.59 or 1.60)",
        ),
        (Relation::Siblings, &[], "NO RULER stands out"),
        (
            Relation::Separate,
            &[(2, 1.6)],
            "Taking turns on CPU 0, rulers slow it 1.10 to 1.60 times",
        ),
        (Relation::Named, &[(2, 1.6)], "CPUs 0 and 1 share no known core"),
    ] {
        let summary = CputimeSummary { rulers: Some(fought(slowdowns)), ..summary(relation) };
        let text = text(&summary).split_whitespace().collect::<Vec<_>>().join(" ");
        let said = said.split(" (1.59 or").next().unwrap_or(said);
        assert!(text.contains(said), "{said} in:\n{text}");
        assert_eq!(text.contains("NOT SMT:"), !relation.is_smt(), "{text}");
        assert_eq!(text.contains("FIGHTS most"), relation.is_smt() && !slowdowns.is_empty());
    }
}

#[test]
fn a_rule_is_better_only_if_its_interval_says_so() {
    for (low, high, said) in [
        (-0.2, -0.1, "rulers predict pairs better than the product of means"),
        (0.1, 0.2, "the product of mean slowdowns predicts pairs better"),
        (-0.1, 0.1, "neither rule predicts pairs better for certain"),
    ] {
        let predictions = Predictions {
            sides: Vec::new(),
            error_rulers: 0.07,
            error_means: 0.14,
            error_constant: 0.16,
            difference: Estimate { value: (low + high) / 2.0, low: Some(low), high: Some(high) },
        };
        let rulers = Rulers { predictions: Some(predictions), ..fought(&[]) };
        let summary = CputimeSummary { rulers: Some(rulers), ..summary(Relation::Siblings) };
        let text = text(&summary).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(&format!("{said}: error 7.0 % by rulers, 14.0 % by means.")),
            "{text}"
        );
        assert!(text.contains("mean of the other pairs"), "the constant stands beside both");
    }
}
