//! What a probe found, as text.

use crate::brief::Brief;
use crate::topology::{COLUMNS, labelled};
use crate::words::clean;
use coretwin_base::account::probe::{Contention, Probe};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::units::human_seconds;
use coretwin_stats::confidence;

/// Pairs that are listed; of more, those that count for a group stand in the JSON.
const PAIRS_MAX: usize = 32;

pub fn text(probe: &Probe) -> String {
    let mut out = format!("{}\n\n", sentence(probe));
    out += &labelled(&facts(probe), COLUMNS);
    out + &pairs(probe)
}

pub fn brief(probe: &Probe) -> Brief {
    let facts = |label: &str| -> String {
        let known = facts(probe).into_iter().find(|(known, _)| known == label);
        known.map(|(_, text)| text).unwrap_or_default()
    };
    let said = sentence(probe);
    let answer = match said.split_once(": {") {
        Some((head, _)) if probe.groups.len() > 1 => format!("{head}."),
        _ => said,
    };
    let brief = Brief::new("", answer)
        .line("groups", [sets(&probe.groups)])
        .line("kernel", [facts("the kernel")])
        .line("measured", [facts("measured")])
        .line("quality", [facts("quality")]);
    match probe.foreign.iter().any(|one| one.prevents) && !probe.exclusive {
        true => brief.whole("next", "sudo coretwin probe --exclusive", "keeps others off the CPUs"),
        false => brief,
    }
}

fn sets(sets: &[CpuSet]) -> String {
    let sets: Vec<String> = sets.iter().map(|set| format!("{{{set}}}")).collect();
    sets.join(" ")
}

pub fn sentence(probe: &Probe) -> String {
    if let Some(why) = &probe.meaningless {
        return format!("Contention means nothing here: {}.", clean(why));
    }
    let found = match (probe.groups.is_empty(), probe.alone.is_empty()) {
        (false, _) => format!(
            "{} groups of CPUs share a core or the time of one: {}.",
            probe.groups.len(),
            sets(&probe.groups)
        ),
        (true, false) => format!("None of the CPUs {} shares a core with another.", probe.alone),
        (true, true) => format!("Undecided: nothing can be said of {}.", named(&probe.cpus)),
    };
    let found = match probe.decided().is_empty() || probe.undecided.is_empty() {
        true => found,
        false => format!("{found} Undecided: {}.", named(&probe.undecided)),
    };
    let blockers: CpuSet =
        probe.foreign.iter().filter(|one| one.prevents).map(|one| one.cpu).collect();
    if !blockers.is_empty() {
        return format!(
            "{found} Others kept {} busy: that is foreign load, not sharing.",
            named(&blockers)
        );
    }
    if probe.out_of_time {
        return format!("{found} The budget ended before all was known.");
    }
    found
}

/// `CPU 3`, `CPUs 0-2`.
fn named(cpus: &CpuSet) -> String {
    format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" })
}

fn facts(probe: &Probe) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |label: &str, text: String| facts.push((label.to_owned(), text));
    for one in &probe.shared {
        let text = format!("{} (confidence {})", one.what.words(), percent(one.confidence));
        fact(&format!("CPUs {}", one.cpus), text);
    }
    if !probe.alone.is_empty() {
        fact("alone", named(&probe.alone));
    }
    if !probe.undecided.is_empty() {
        fact("undecided", named(&probe.undecided));
    }
    let kernel = match (&probe.reported[..], probe.agrees_with_reported) {
        ([], Some(true)) => "reports no siblings either".to_owned(),
        ([], _) => "reports no siblings".to_owned(),
        (reported, Some(true)) => format!("reports the same: {}", sets(reported)),
        (reported, Some(false)) => format!("reports otherwise: {}", sets(reported)),
        (reported, None) => format!("reports {}", sets(reported)),
    };
    fact("the kernel", kernel);
    for one in &probe.foreign {
        let text = format!(
            "CPU {}: at work in {} of the rounds, {} of its time; stolen {}",
            one.cpu,
            percent(one.rounds_share),
            percent(one.busy_share),
            percent(one.steal_share)
        );
        fact("others", text);
    }
    fact(
        "measured",
        format!(
            "{} rounds, and {} again because others were at work; {}",
            probe.rounds,
            probe.rounds_disturbed,
            human_seconds(probe.elapsed_s)
        ),
    );
    fact("quality", probe.quality());
    fact(
        "true",
        format!(
            "from {} to {}; a hypervisor may move its CPUs at any later time",
            probe.valid_from_utc, probe.valid_until_utc
        ),
    );
    facts
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share > 99.9 && share < 100.0 => "over 99.9 %".to_owned(),
        share => format!("{share:.1} %"),
    }
}

fn pairs(probe: &Probe) -> String {
    if probe.pairs.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n{:<12} {:<10} {:>7}   {:<15} in each other's way\n",
        "pair",
        "by",
        "speed",
        confidence::interval()
    );
    for pair in probe.pairs.iter().take(PAIRS_MAX) {
        let value = match pair.kind {
            Contention::PingPong => format!("{:>6.2}×", pair.ratio),
            _ => format!("{:>7.3}", pair.ratio),
        };
        out += &format!(
            "{:<12} {:<10} {value}   {:.3} to {:.3}  {}\n",
            format!("{} and {}", pair.a, pair.b),
            pair.kind.name(),
            pair.low,
            pair.high,
            if pair.confidence > 0.5 { "yes" } else { "no" }
        );
    }
    let more = probe.pairs.len().saturating_sub(PAIRS_MAX);
    if more > 0 {
        out += &format!("and {more} more pairs, with --json\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::probe::Foreign;
    use coretwin_base::machine::cpu_set::CpuId;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse(list).expect("list")
    }

    fn nothing() -> Probe {
        serde_json::from_str(
            r#"{"schema":1,"cpus":[0,1],"pairs":[],"groups":[],"alone":[],"undecided":[0,1],"shared":[],
                "confidence":0.0,"reported":[],"agrees_with_reported":null,"foreign":[],"rounds":0,
                "rounds_disturbed":0,"elapsed_s":1.0,"budget_s":2.0,"out_of_time":false,
                "exclusive":false,"valid_from_utc":"","valid_until_utc":"","boot_id":"","seed":1}"#,
        )
        .expect("a record")
    }

    #[test]
    fn each_outcome_has_its_sentence() {
        assert_eq!(sentence(&nothing()), "Undecided: nothing can be said of CPUs 0-1.");
        let apart = Probe { alone: set("0-1"), undecided: CpuSet::new(), ..nothing() };
        assert_eq!(sentence(&apart), "None of the CPUs 0-1 shares a core with another.");
        let together = Probe { groups: vec![set("0-1")], undecided: CpuSet::new(), ..nothing() };
        assert!(sentence(&together).contains("share a core or the time of one: {0-1}"));
        let half = Probe { alone: set("0"), undecided: set("1"), ..nothing() };
        assert!(sentence(&half).ends_with(" Undecided: CPU 1."), "{}", sentence(&half));
        let late = Probe { out_of_time: true, ..nothing() };
        assert!(sentence(&late).ends_with("The budget ended before all was known."));
        let busy = Foreign {
            cpu: CpuId(1),
            rounds_share: 1.0,
            busy_share: 0.9,
            steal_share: 0.0,
            prevents: true,
        };
        let kept = Probe { foreign: vec![busy], ..nothing() };
        assert!(sentence(&kept).contains("Others kept CPU 1 busy"), "{}", sentence(&kept));
        assert!(text(&kept).contains("at work in 100.0 % of the rounds"), "{}", text(&kept));
        let next = |probe: &Probe| brief(probe).render(COLUMNS, false).contains("--exclusive");
        assert!(next(&kept) && !next(&Probe { exclusive: true, ..kept }) && !next(&apart));
        let emulated = Probe { meaningless: Some("why".to_owned()), ..nothing() };
        assert_eq!(sentence(&emulated), "Contention means nothing here: why.");
    }
}
