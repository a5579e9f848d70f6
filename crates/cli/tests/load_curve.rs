//! Load curves through the real programs, with a load whose latencies are a formula.

mod common;

use common::{coretwin, host, journal};
use serde_json::Value;

/// Takes 1/(carries − rate) for every request: 1,000 a second in `a`, 1,300 in `b`.
const LOAD: &str = "awk -v arm={arm} -v rate={rate} 'BEGIN { spare = (arm == \"a\" ? 1000 : 1300) - rate; \
                    for (i = 0; i < 400; i++) print 1000 / (spare < 1 ? 1 : spare) \"ms\" }' > latencies; \
                    echo {rate} req/s";
const CURVE: [&str; 12] = [
    "study",
    "--arm",
    "a=cpus:0",
    "--arm",
    "b=cpus:0",
    "--latencies",
    "latencies",
    "--metric",
    "throughput:req/s=([0-9.]+) req/s",
    "--others-limit=100%",
    "--steal-limit=100%",
    "--blocks=3",
];

#[test]
fn capacity_of_a_users_own_load_is_that_of_its_formula() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    let curve = ["--load-curve", "700/s,850/s,950/s,1150/s,1250/s", "--slo", "p50=10ms"];
    let rest = ["--load", LOAD, "--server", "exec sleep 600", "--out", "s"];
    let ran = coretwin(folder.path(), &[&CURVE[..], &curve, &rest].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    // 900 and 1,200 a second take 10 ms.
    assert!(ran.out.starts_with("BETTER: b carries 1.3"), "{}", ran.out);
    assert!(ran.out.contains("times the requests of a at p50 ≤ 10 ms"), "{}", ran.out);
    let out = folder.path().join("s");
    let text = std::fs::read_to_string(out.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    for (arm, rate) in [(0, 900.0), (1, 1_200.0)] {
        let found = summary["load"][arm]["rate"].as_f64().expect("a rate");
        assert!((found / rate - 1.0).abs() < 0.01, "{found} for {rate}");
    }
    assert_eq!(summary["curve"]["points"].as_array().map(Vec::len), Some(10));
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains("class=\"objective\""), "the objective is drawn");
    // What CPU time was worth is known of runs that took any.
    let readings = journal(&out);
    let worth = |reading: &Value| reading["latency"]["capacity"]["per_cpu_s"]["value"].as_f64();
    let known: Vec<f64> = readings.iter().filter_map(worth).collect();
    assert!(
        !known.is_empty() && known.iter().all(|worth| (0.3..=1.01).contains(worth)),
        "{known:?}"
    );
}

#[test]
fn slips_are_said_before_anything_runs() {
    let folder = tempfile::tempdir().expect("folder");
    for (args, part) in [
        (&["--load", "./gen {rate}", "--load-curve", "90%..10%"][..], "a higher one"),
        (&["--load", "./gen {rate}", "--load-curve", "auto", "--slo", "p99=10"], "like p99=10ms"),
        (&["--load", "./gen", "--load-curve", "auto"], "needs {rate}"),
        (&["--load", "./gen {rate}"], "--load-curve"),
    ] {
        let ran = coretwin(folder.path(), &[&CURVE[..9], args].concat());
        assert!(ran.status == 2 && ran.err.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0, "nothing ran");
}
