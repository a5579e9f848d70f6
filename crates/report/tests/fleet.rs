//! A fleet's report in every format.

#[path = "../../stats/tests/fleet/support.rs"]
mod support;

use coretwin_base::fleet::comparison::FleetComparison;
use coretwin_base::fleet::summary::FleetSummary;
use coretwin_base::fleet::{Fleet, Member, Refused};
use coretwin_base::random::Stream;
use coretwin_report::{FLEET_COMPARISON_FORMATS, FLEET_FORMATS};
use coretwin_stats::fleet::analyse;
use coretwin_stats::fleet::comparison::{FleetRecords, compare_fleets};
use support::{effect, member};

const HOSTILE: &str = "<script>alert(1)</script>|\u{1b}[31m\n\"";

/// So many machines of each model; the last of the first is unlike the others.
fn fleet(models: &[(&str, f64)], machines: u32, rows: u32) -> Fleet {
    let mut noise = Stream::new(3, "report", 0);
    let mut members = Vec::new();
    for (index, (model, mean)) in models.iter().enumerate() {
        for number in 0..machines {
            let odd = if index == 0 && number + 1 == machines { -0.4 } else { 0.0 };
            let mut near = |row: u32| {
                let row_mean = mean + 0.01 * f64::from(row % 7) + odd;
                row_mean + 0.02 * (noise.unit() - 0.5)
            };
            let effects = (0..rows)
                .map(|row| effect(&format!("chat:rooms={row}"), near(row), 0.004))
                .collect();
            members.push(Member {
                machine: format!("{index}-{number}").into(),
                name: format!("node-{index}-{number}"),
                ..member(number, model, effects)
            });
        }
    }
    Fleet { members, refused: Vec::new() }
}

fn render(format: &str, summary: &FleetSummary) -> String {
    let format = FLEET_FORMATS.iter().find(|known| known.name == format).expect("a format");
    (format.render)(summary)
}

#[test]
fn the_page_has_a_heat_map_forests_and_the_odd_machine() {
    let summary = analyse(&fleet(&[("Alpha", 0.2), ("Beta", -0.1)], 8, 3), None);
    let page = render("html", &summary);
    // A heat map, a forest of rows by model, and the machines of both models.
    assert_eq!(page.matches("<svg xmlns").count(), 4, "{page}");
    assert_eq!(page.matches("h-better").count() - page.matches(".h-better").count(), 4);
    assert_eq!(page.matches("h-worse").count() - page.matches(".h-worse").count(), 4);
    assert!(page.contains("class=\"next a0\""), "the next machine is drawn");
    assert!(page.contains("node-0-7"));
    assert!(!page.contains("<script"));
    let text = render("text", &summary);
    assert!(text.contains("MACHINES UNLIKE THE OTHERS"), "{text}");
    assert!(text.contains("3 of 3"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn csv_and_metrics_have_every_effect() {
    let summary = analyse(&fleet(&[("Alpha", 0.2), ("Beta", -0.1)], 5, 4), None);
    let lines = summary.suites.len() + summary.effects.len();
    assert_eq!(lines, 3 + 3 * 4);
    let csv = render("csv", &summary);
    assert_eq!(csv.lines().count(), 1 + lines);
    let columns = csv.lines().next().expect("a head").split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
    let metrics = render("openmetrics", &summary);
    assert_eq!(metrics.matches("coretwin_fleet_effect_ratio{").count(), lines);
    assert!(metrics.ends_with("# EOF\n"));
    let back: FleetSummary = serde_json::from_str(&render("json", &summary)).expect("JSON");
    assert_eq!(back, summary);
}

#[test]
fn hostile_names_steer_nothing() {
    let mut fleet = fleet(&[(HOSTILE, 0.2), ("Beta", 0.1)], 5, 2);
    fleet.members[0].name = HOSTILE.to_owned();
    fleet.refused = vec![Refused { file: HOSTILE.to_owned(), reason: HOSTILE.to_owned() }];
    let summary = analyse(&fleet, None);
    for format in FLEET_FORMATS {
        let text = (format.render)(&summary);
        assert!(!text.contains('\u{1b}') || format.name == "csv" || format.name == "openmetrics");
        assert!(format.name != "html" || !text.contains("<script>alert"));
    }
    let metrics = render("openmetrics", &summary);
    let is_line = |line: &str| line.starts_with('#') || line.starts_with("coretwin_fleet_");
    assert!(metrics.lines().all(is_line), "{metrics}");
}

#[test]
fn a_large_fleet_makes_a_page_of_bounded_size() {
    let models: Vec<String> = (0..12).map(|number| format!("Model {number:02}")).collect();
    let models: Vec<(&str, f64)> = models.iter().map(|model| (model.as_str(), 0.1)).collect();
    let summary = analyse(&fleet(&models, 4, 60), None);
    let page = render("html", &summary);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.contains("The first 40 of 61 rows are shown"));
    assert!(page.contains("The 8 models of most machines of 12 are shown"));
    assert!(page.contains("The first 300 of 780 lines"));
}

#[test]
fn an_empty_fleet_has_a_report_too() {
    let summary = analyse(&Fleet::default(), None);
    for format in FLEET_FORMATS {
        assert!(!(format.render)(&summary).is_empty(), "{}", format.name);
    }
}

/// Fleets compared with a first one; the second of `others` are other machines.
fn compared(first: &Fleet, others: &[Fleet]) -> Vec<FleetComparison> {
    let records = |head, fleet| FleetRecords { head, folder: "a/folder", fleet };
    let one = |(other, head)| {
        compare_fleets([&records("old", first), &records(head, other)], None).expect("comparable")
    };
    others.iter().zip(["new", "newer"]).map(one).collect()
}

fn render_comparison(format: &str, comparisons: &[FleetComparison]) -> String {
    let format = FLEET_COMPARISON_FORMATS.iter().find(|known| known.name == format);
    (format.expect("a format").render)(comparisons)
}

#[test]
fn fleets_compared_have_regressions_first_and_every_line_in_the_csv() {
    let models = [("Alpha", 0.2), ("Beta", -0.1)];
    let old = fleet(&models, 8, 3);
    let mut new = old.clone();
    for member in &mut new.members {
        member.bundle = "another".into();
        member.effects[1].mean -= 0.05;
        member.facts.insert("kernel.release".into(), HOSTILE.into());
    }
    let mut newer = old.clone();
    newer.members.iter_mut().for_each(|member| member.bundle = "a third".into());
    newer.members.remove(3);
    let comparisons = compared(&old, &[new, newer]);
    let text = render_comparison("text", &comparisons);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(place("REGRESSIONS") < place("OVER ALL ROWS"));
    assert!(place("new against old:") < place("newer against old:"));
    place("8 machines in both");
    place("Machines only in old: node-0-3");
    place("None found: of");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = render_comparison("html", &comparisons);
    assert_eq!(page.matches("<svg xmlns").count(), 2, "a figure for each");
    assert!(page.contains("a2") && !page.contains("<script"), "the third has a mark of its own");
    assert_eq!(page.matches("id=\"regressions\"").count(), 1, "one section of each name");
    let csv = render_comparison("csv", &comparisons);
    let lines: usize = comparisons.iter().map(|one| one.suites.len() + one.effects.len()).sum();
    assert_eq!(csv.lines().count(), 1 + lines);
    let columns = csv.lines().next().expect("a head").split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
    let back: Vec<FleetComparison> =
        serde_json::from_str(&render_comparison("json", &comparisons)).expect("a list");
    assert_eq!(back, comparisons);
    let one: FleetComparison =
        serde_json::from_str(&render_comparison("json", &comparisons[..1])).expect("an object");
    assert_eq!(one, comparisons[0]);
}
