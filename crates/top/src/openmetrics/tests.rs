//! Whether others can read what is written.

use super::totals::{CGROUPS_MAX, OTHERS, Totals};
use super::{dialect_of_file, metrics::METRICS, text};
use crate::screen::tests::made;
use crate::snapshot::{Cgroup, Snapshot};
use coretwin_base::account::{Span, Worth};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::openmetrics::Dialect;
use coretwin_host::cgroup::Limits;
use openmetrics_parser::{openmetrics::parse_openmetrics, prometheus::parse_prometheus};
use std::collections::BTreeSet;

fn exported(windows: &[Snapshot]) -> (Totals, String) {
    let mut totals = Totals::default();
    windows.iter().for_each(|window| totals.add(window));
    let text = text(&totals, windows.last().expect("a window"), Dialect::OpenMetrics);
    (totals, text)
}

fn group(path: &str) -> Cgroup {
    Cgroup {
        path: Some(path.to_owned()),
        tasks: 1,
        limits: Limits::default(),
        worth: Worth { raw_s: 1.0, ..Worth::default() },
    }
}

#[test]
fn a_parser_of_the_format_accepts_it_and_finds_every_metric() {
    let mut window = made(8);
    window.cgroups.push(group("/a \"b\" \\ c\nd"));
    let (totals, openmetrics) = exported(std::slice::from_ref(&window));
    let set = parse_openmetrics(&openmetrics).expect("OpenMetrics");
    let found: BTreeSet<&str> = set.families.keys().map(String::as_str).collect();
    let all: BTreeSet<&str> = METRICS.iter().map(|metric| metric.family.name).collect();
    assert_eq!(found, all);
    assert!(set.families.values().all(|family| !family.help.is_empty()));
    // The textfile collector reads the older format.
    let older = text(&totals, &window, dialect_of_file("/run/coretwin.prom".as_ref()));
    let set = parse_prometheus(&older).expect("Prometheus text");
    assert_eq!(set.families.len(), METRICS.len());
}

#[test]
fn what_is_not_known_is_left_out_and_the_rest_can_be_read() {
    let mut window = made(8);
    window.pressure = None;
    window.short = None;
    window.warnings.clear();
    let (_, text) = exported(&[window]);
    let set = parse_openmetrics(&text).expect("OpenMetrics");
    assert_eq!(set.families.len(), METRICS.len() - 3);
}

#[test]
fn names_end_as_the_format_wants_and_are_not_given_twice() {
    let mut names = BTreeSet::new();
    for metric in METRICS {
        assert!(names.insert(metric.family.name), "{}", metric.family.name);
        assert!(
            metric.family.name.starts_with("coretwin_") && !metric.family.name.ends_with("_total")
        );
        assert!(
            metric.family.unit.is_empty()
                || metric.family.name.ends_with(&format!("_{}", metric.family.unit))
        );
        assert!(metric.family.help.ends_with('.'), "{}", metric.family.help);
    }
}

#[test]
fn counters_add_windows_up_and_conserve_time() {
    let (totals, text) = exported(&[made(8), made(8), made(8)]);
    assert!(text.contains("coretwin_windows_total 3\n"), "{text}");
    assert!(text.contains("coretwin_cgroup_raw_seconds_total{cgroup=\"/build/a\"} 3\n"), "{text}");
    for (cpus, (_, by_busy)) in &totals.cores {
        assert!((by_busy.iter().sum::<f64>() - 3.0).abs() < 1e-9, "core {cpus}: {by_busy:?}");
    }
}

#[test]
fn capacity_of_cores_and_cgroups_is_of_the_last_window_alone() {
    let mut window = made(8);
    window.elapsed_s = 2.0;
    window.cores.truncate(1);
    window.cores[0].capacity_share = Span { value: 0.75, low: 0.5, high: 0.875 };
    let capacity_s = Span { value: 3.0, low: 2.0, high: 4.0 };
    let worth = Worth { capacity_s, ..Worth::default() };
    window.cgroups = vec![Cgroup { worth, ..group("/web") }];
    let (_, text) = exported(&[window.clone(), window.clone()]);
    let has = |text: &str, line: &str| assert!(text.contains(line), "{line} not in {text}");
    let core = format!("cpus=\"{}\",package=\"{}\"", window.cores[0].cpus, window.cores[0].package);
    for (name, bound, value) in [
        ("used", "low", "0.5"),
        ("used", "value", "0.75"),
        ("left", "low", "0.125"),
        ("left", "high", "0.5"),
    ] {
        let line = format!("coretwin_core_capacity_{name}{{{core},bound=\"{bound}\"}} {value}\n");
        has(&text, &line);
    }
    let used = |bound: &str, value: &str| {
        format!("coretwin_cgroup_core_capacity_used{{cgroup=\"/web\",bound=\"{bound}\"}} {value}\n")
    };
    has(&text, &used("value", "1.5"));
    has(&text, &used("high", "2"));
    let left = |path: &str, bound: &str, value: &str| {
        let name = "coretwin_cgroup_core_capacity_left";
        format!("{name}{{cgroup=\"{path}\",bound=\"{bound}\"}} {value}\n")
    };
    // Without a quota, what its cores have; of a quota of 0.75 CPUs a third is used, and the rest is worth
    // between half a core a CPU, beside busy siblings, and all of one that gains nothing by them.
    let quota = |quota_cpus, raw_s, cpus: &CpuSet| Cgroup {
        limits: Limits { quota_cpus, cpus: Some(cpus.clone()) },
        worth: Worth { raw_s, ..Worth::default() },
        ..group("/quota")
    };
    let (here, nowhere) = (window.cores[0].cpus.clone(), CpuSet::parse("1000").expect("set"));
    window.core_yield.by_busy = [(1.0, 1.0, 1.0), (1.25, 1.0, 1.6)]
        .map(|(value, low, high)| Span { value, low, high })
        .to_vec();
    window.cores[0].capacity_share = Span { value: 0.25, low: 0.125, high: 0.5 };
    let text_of =
        |group: Cgroup| exported(&[Snapshot { cgroups: vec![group], ..window.clone() }]).1;
    let free = text_of(quota(None, 0.5, &here));
    for (bound, value) in [("value", "0.75"), ("low", "0.5"), ("high", "0.875")] {
        has(&free, &left("/quota", bound, value));
    }
    let tight = text_of(quota(Some(0.75), 0.5, &here));
    for (bound, value) in [("value", "0.25"), ("low", "0.25"), ("high", "0.5")] {
        has(&tight, &left("/quota", bound, value));
    }
    has(&text_of(quota(Some(0.75), 2.0, &here)), &left("/quota", "high", "0"));
    has(&text_of(quota(None, 0.5, &nowhere)), &left("/quota", "high", "0"));
    // What did not run in the last window used nothing, and may use all that it is allowed.
    let ran = Snapshot { cgroups: vec![quota(Some(0.625), 0.5, &here)], ..window.clone() };
    let idle = Snapshot { cgroups: Vec::new(), ..window.clone() };
    has(&exported(&[ran, idle]).1, &left("/quota", "value", "0.5"));
    let idle = Snapshot { cgroups: Vec::new(), ..window.clone() };
    has(&exported(&[window, idle]).1, &used("value", "0"));
}

#[test]
fn cgroups_that_come_and_go_do_not_grow_it() {
    let mut totals = Totals::default();
    let mut window = made(8);
    for round in 0..2000 {
        window.elapsed_s = 1.0;
        window.cgroups = vec![group("/stays"), group(&format!("/{round}"))];
        totals.add(&window);
        assert!(totals.cgroups.len() <= CGROUPS_MAX + 1, "{}", totals.cgroups.len());
    }
    assert_eq!(totals.cgroups["/stays"].worth.raw_s, 2000.0);
    assert!(totals.cgroups[OTHERS].worth.raw_s > 0.0);
    assert!(!totals.cgroups.contains_key("/0"), "long gone");
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let mut window = made(8);
    window.machine.headroom_cores = Span { value: f64::NAN, low: f64::INFINITY, high: 1.0 };
    let (_, text) = exported(&[window]);
    assert!(text.contains("coretwin_headroom_cores{bound=\"high\"} 1\n"));
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}
