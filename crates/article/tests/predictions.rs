//! Predictions beside the article's figures: what is scored, by how much, and what is not.

#[path = "../../stats/tests/study/fixture.rs"]
mod fixture;

use coretwin_article::printed::{self, Kernel};
use coretwin_base::machine::environment::Environment;
use coretwin_base::simulation::Simulation;
use coretwin_base::simulation::prediction::{Prediction, Score, Standing};
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::{Comparison, Plan, PlanArm, PlanRow, Protocol};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::comparison::{StudyRecords, compare};
use coretwin_stats::study;
use fixture::{arm, plan, readings, row};

const ROWS: [(&str, &str); 6] = [
    ("lmbench/simple-syscall", "lmbench"),
    ("lmbench/pipe-latency", "lmbench"),
    ("lmbench/fork-execve", "lmbench"),
    ("aim9/sieve", "aim9"),
    ("aim9/sync_disk_rw", "aim9"),
    ("aim9/creat-clo", "aim9"),
];

fn on(scheduler: &str, state: ArmState) -> PlanArm {
    let cpus = if state == ArmState::On { 2 } else { 1 };
    let label = format!("{state}@{scheduler}");
    PlanArm { scheduler: scheduler.to_owned(), ..arm(&label, state, cpus) }
}

/// The rows of Tables 4 to 6, and of Table 7.
fn sized_rows() -> Vec<PlanRow> {
    let rows = printed::SIZES.iter().flat_map(|(family, size)| {
        let all = printed::rows_of(family).into_iter();
        let older = all.filter(|one| one.kernel == Kernel::Stable2419);
        let counts = older.filter_map(|one| one.label.parse::<i64>().ok());
        counts.map(move |count| PlanRow {
            workload: (*family).to_owned(),
            params: [((*size).to_owned(), count.into())].into(),
            better: Better::Higher,
            ..row(&format!("{family}:{size}={count}"), family)
        })
    });
    rows.collect()
}

/// The article's study: every sized row and some of Tables 1 and 2.
fn article() -> Plan {
    let mut rows: Vec<PlanRow> = ROWS
        .iter()
        .map(|(name, family)| PlanRow {
            better: if *family == "aim9" { Better::Higher } else { Better::Lower },
            arms: ["off@linux-2.4.19", "on@linux-2.4.19"].map(str::to_owned).into(),
            ..row(name, family)
        })
        .collect();
    rows.extend(sized_rows());
    let mut plan = plan(&rows);
    plan.machine = "xeon-mp-foster".to_owned();
    plan.comparison = Comparison::Smt;
    plan.arms = ["linux-2.4.19", "linux-2.5.32", "linux-2.5.32-f3"]
        .iter()
        .flat_map(|policy| [on(policy, ArmState::Off), on(policy, ArmState::On)])
        .collect();
    plan.reference_arm = plan.arms[0].label.clone();
    plan.rules.protocol = Protocol::Fixed;
    plan.rules.looks = vec![3];
    plan.simulation = Some(Box::new(Simulation {
        title: "the article's".to_owned(),
        is_articles: true,
        preset: None,
        fit: None,
        fitted_rows: [("lmbench/simple-syscall".to_owned(), "its service time".to_owned())].into(),
    }));
    plan
}

/// The article's figure for a row in an arm, what is known to be misprinted mended.
fn figure(plan: &Plan, arm: usize, row: usize) -> f64 {
    let (arm, row) = (&plan.arms[arm], &plan.rows[row]);
    let kernel = match arm.scheduler.as_str() {
        "linux-2.4.19" => Kernel::Stable2419,
        _ => Kernel::Development2532,
    };
    let all = printed::rows_of(&row.family);
    let label = printed::find(&all, &row.workload, &row.params).expect(&row.id).label.clone();
    let found = all.iter().find(|one| one.kernel == kernel && one.label == label).expect(&row.id);
    let (off, on) = found.mended().expect("figures");
    if arm.state == ArmState::Off { off } else { on }
}

/// The prediction of a study that gives the article's figures, better with SMT by this much.
fn predicted(more_with_smt: f64) -> Prediction {
    let plan = article();
    let mut readings = readings(&plan, 3, |_, arm, row| {
        let (arm_of, row_of) = (&plan.arms[arm], &plan.rows[row]);
        if !row_of.runs_in(&arm_of.label) {
            return 1.0;
        }
        let more = match (arm_of.state == ArmState::On, row_of.better) {
            (false, _) => 1.0,
            (true, Better::Higher) => more_with_smt,
            (true, Better::Lower) => 1.0 / more_with_smt,
        };
        figure(&plan, arm, row) * more
    });
    readings.retain(|one| plan.row(&one.row).is_some_and(|row| row.runs_in(&one.arm)));
    let summary = coretwin_article::analyse(&plan, &readings, StoppedBecause::Blocks);
    *summary.prediction.expect("a prediction")
}

fn score<'a>(prediction: &'a Prediction, over: &str) -> &'a Score {
    prediction.scores.iter().find(|score| score.over == over).expect(over)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn the_articles_own_figures_are_predicted_without_error_and_the_constant_is_off_by_9_3_points() {
    let prediction = predicted(1.0);
    let all = &prediction.scores[0];
    assert_eq!((all.over.as_str(), all.rows), ("Tables 4 to 7", 28));
    assert_eq!(all.schedulers, ["linux-2.4.19", "linux-2.5.32"]);
    assert!(near(all.mean_error_points, 0.0) && all.rank_correlation.is_some_and(|r| near(r, 1.0)));
    assert_eq!(format!("{:.1}", all.constant_error_points), "9.3");
    assert_eq!(prediction.aims.len(), 6, "{:?}", prediction.aims);
    assert!(prediction.aims.iter().all(|aim| aim.met), "{:?}", prediction.aims);
    let chat = prediction.rows.iter().find(|row| row.table == 7 && row.label == "40").expect("row");
    assert!(near(chat.article_on, 213_509.0), "the misprint is mended: {chat:?}");
    // The article's means: 24, 18 and 27 % on 2.4.19, 45, 12 and 35 % on 2.5.32.
    let gains = |scheduler: &str| -> Vec<String> {
        let of = prediction.gains.iter().filter(|gain| gain.scheduler == scheduler);
        of.filter_map(|gain| Some(format!("{} {:.0}", gain.family, 100.0 * gain.article?)))
            .collect()
    };
    assert_eq!(gains("linux-2.4.19"), ["chat 24", "dbench 18", "tbench 27"]);
    assert_eq!(gains("linux-2.5.32"), ["chat 45", "dbench 12", "tbench 35"]);
}

#[test]
fn errors_are_points_of_speed_up_and_missed_aims_say_by_how_much() {
    let prediction = predicted(1.1);
    for row in &prediction.rows {
        let off = 10.0 * (1.0 + row.article_speed_up);
        assert!(near(row.error_points, off), "{row:?}");
    }
    // One tenth of the mean of 1 + speed-up over the 28 rows, 1.26572.
    let all = &prediction.scores[0];
    assert_eq!(format!("{:.2}", all.mean_error_points), "12.66");
    let missed: Vec<&str> =
        prediction.aims.iter().filter(|aim| !aim.met).map(|aim| aim.found.as_str()).collect();
    assert_eq!(missed, ["12.7 points, missed by 6.7", "12.7 points against 9.3"]);
}

#[test]
fn what_is_fitted_or_says_nothing_of_smt_is_shown_and_not_scored() {
    let prediction = predicted(1.0);
    let standing = |row: &str| {
        let found = prediction.rows.iter().find(|one| one.row == row).expect(row);
        match &found.standing {
            Standing::Scored => "scored".to_owned(),
            Standing::Beside => "beside".to_owned(),
            Standing::Fitted(what) => format!("fitted: {what}"),
            Standing::LeftOut(why) => format!("left out: {why}"),
        }
    };
    assert_eq!(standing("lmbench/simple-syscall"), "fitted: its service time");
    assert_eq!(standing("lmbench/pipe-latency"), "scored");
    assert!(
        standing("aim9/sieve").starts_with("left out: ")
            && standing("aim9/sieve").contains("pages")
    );
    assert!(standing("aim9/sync_disk_rw").contains("one call each"));
    assert_eq!(score(&prediction, "Table 1, rows not fitted").rows, 2);
    assert_eq!(score(&prediction, "Table 2, rows not fitted").rows, 1);
    // Molnar's patch stands beside the kernel that was measured, with a score of its own.
    let beside = score(&prediction, "Table 7, beside it linux-2.5.32-f3");
    assert_eq!((beside.rows, beside.schedulers.len()), (14, 1));
    let patched = prediction.rows.iter().filter(|row| row.scheduler.ends_with("-f3"));
    assert!(patched.into_iter().all(|row| row.standing == Standing::Beside));
}

#[test]
fn hosts_have_no_prediction_and_studies_without_both_boots_none_of_smt() {
    let mut host = article();
    host.simulation = None;
    let analysed =
        |plan: &Plan| coretwin_article::analyse(plan, &[], StoppedBecause::Blocks).prediction;
    assert_eq!(analysed(&host), None);
    let mut one_boot = article();
    one_boot.arms.retain(|arm| arm.state == ArmState::On);
    one_boot.reference_arm = one_boot.arms[0].label.clone();
    let prediction = analysed(&one_boot).expect("what was simulated");
    assert!(prediction.gains.is_empty() && prediction.rows.is_empty());
    assert!(prediction.scores.is_empty() && prediction.aims.is_empty());
    assert_eq!(prediction.samples.len(), 5);
}

#[test]
fn arms_under_two_schedulers_get_no_verdict_on_smt() {
    let plan = article();
    let comparison = |label: &str| study::pair_comparison(&plan, plan.arm(label).expect(label));
    assert_eq!(comparison("on@linux-2.4.19"), Comparison::Smt);
    assert_eq!(comparison("on@linux-2.5.32"), Comparison::None);
}

#[test]
fn the_articles_two_kernels_compare_as_its_tables_do() {
    let mut plan = plan(&sized_rows());
    plan.rules.protocol = Protocol::Article2003;
    plan.rules.looks = vec![1];
    plan.comparison = Comparison::Smt;
    let environment = Environment::default();
    let value = |kernel: Kernel, row: &PlanRow| {
        let all = printed::rows_of(&row.family);
        let label = &printed::find(&all, &row.workload, &row.params).expect(&row.id).label;
        let found = all.iter().find(|one| one.kernel == kernel && one.label == *label);
        let (off, on) = found.expect(&row.id).mended().expect("figures");
        [off, on]
    };
    let of = |kernel: Kernel| readings(&plan, 1, |_, arm, row| value(kernel, &plan.rows[row])[arm]);
    let (older, newer) = (of(Kernel::Stable2419), of(Kernel::Development2532));
    let records = [&older, &newer].map(|readings| StudyRecords {
        folder: "folder",
        plan: &plan,
        readings,
        environment: &environment,
        stopped_because: StoppedBecause::Blocks,
    });
    let comparison = compare([&records[0], &records[1]], None).expect("comparable");
    let percent = |ratio: Option<f64>| ((ratio.expect("a ratio") - 1.0) * 100.0).round() as i64;
    for (suite, interaction) in comparison.suites.iter().zip([17, -5, 7]) {
        let [a, b] = &suite.effects;
        let printed_means: Vec<String> = printed::rows_of(&a.suite)
            .into_iter()
            .filter(|row| row.label == printed::MEAN)
            .map(|row| row.speed_up_percent)
            .collect();
        assert_eq!([a, b].map(|suite| percent(suite.ratio).to_string())[..], printed_means[..]);
        assert_eq!(percent(suite.interaction.ratio), interaction, "{}", a.suite);
        assert_eq!((suite.interaction.low, suite.interaction.change), (None, None));
    }
    for (line, row) in comparison.values.iter().zip(plan.rows.iter()) {
        assert_eq!((line.name.as_str(), line.blocks), (row.id.as_str(), [1, 1]));
        let [first, second] = [Kernel::Stable2419, Kernel::Development2532].map(|k| value(k, row));
        let ratio = line.contrast.ratio.expect("ratio");
        assert!(near(ratio, second[0] / first[0]), "{}: {ratio}", row.id);
    }
    let kinds: Vec<&str> = comparison.warnings.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "protocol-2003").count(), 2, "{kinds:?}");
}
