//! The simulated kernel's scenarios on live schedulers: what one counts falls in the range that its
//! simulated policy gives.

use super::behaviours::{counter, scenario_under};
use crate::vm::guest::Guest;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;

/// A policy that is held against its simulated twin.
pub(super) struct Held {
    policy: &'static str,
    /// What the simulated one gives, by scenario and measure; made by a test of the crate lab.
    ranges: &'static str,
    /// Where tasks that wake go.
    wakes: &'static [&'static str],
    /// How many times as long the scenario of [`SLOWED`] takes.
    slowed: u64,
}

/// Its work and sleep are as long as the turns of a guest's CPUs, which then decide who is first; see the test that
/// makes the ranges.
const SLOWED: &str = "affinity-in-core";
const SLOWED_TEXT: &str = include_str!("../../../../../crates/sim/scenarios/affinity-in-core.toml");

pub(super) const CORE_QUEUE: Held = Held {
    policy: "core-queue",
    ranges: include_str!("../../../../../crates/lab/live-ranges.json"),
    wakes: &[
        "woke_last_idle",
        "woke_sibling",
        "woke_idle_core",
        "woke_other_idle",
        "woke_with_waker",
        "woke_less_crowded",
        "woke_last_busy",
    ],
    slowed: 1,
};

const LINUX_2_4_19: Held = Held {
    policy: "linux-2.4.19",
    ranges: include_str!("../../../../../crates/lab/live-ranges-linux-2.4.19.json"),
    wakes: &[
        "woke_last_idle",
        "woke_idle_core",
        "woke_longest_idle",
        "preempted",
        "woke_waits",
        "woke_sync",
    ],
    slowed: 1,
};

const WAKES_2_5: &[&str] = &[
    "woke_own_idle",
    "woke_sibling",
    "preempted",
    "preempted_equal",
    "preempted_sibling",
    "woke_waits",
];

/// The article's, each with its boot.
pub(super) const ARTICLE: &[(&str, Held)] = &[
    ("same24", LINUX_2_4_19),
    (
        "same25",
        Held {
            policy: "linux-2.5.32",
            ranges: include_str!("../../../../../crates/lab/live-ranges-linux-2.5.32.json"),
            wakes: WAKES_2_5,
            slowed: 10,
        },
    ),
    (
        "same25a9",
        Held {
            policy: "linux-2.5.32-a9",
            ranges: include_str!("../../../../../crates/lab/live-ranges-linux-2.5.32-a9.json"),
            wakes: WAKES_2_5,
            slowed: 10,
        },
    ),
];

/// The scenarios, with the machine that each is for.
const SCENARIOS: &[(&str, &str)] = &[
    ("two-on-siblings", "1x2x2"),
    ("passive-balancing", "1x2x2"),
    ("make-j1", "1x2x2"),
    ("make-j2", "1x2x2"),
    ("make-j3", "1x2x2"),
    ("make-j4", "1x2x2"),
    ("affinity-in-core", "1x2x2"),
    ("half-loaded", "1x2x2"),
    ("mixed-load", "1x2x2"),
    ("wakeup-beside-idle", "1x1x2"),
    ("priority-in-core", "1x1x2"),
    ("article-machine", "1x1x2"),
];

/// Shares of wake-ups may lie so far beside the range.
const SHARE_BESIDE: f64 = 0.25;
/// The same for what never happens in the simulation.
const NEVER_SHARE: f64 = 0.15;
/// What is no less than this share in any simulated run happens in a guest, too: at least so much of the least.
const SURE_SHARE: f64 = 0.05;
const FLOOR: f64 = 0.1;
/// Tolerance of the number of moves or renewals, either way, and as a share of it: whatever else runs renews, too.
const COUNTS_BESIDE: f64 = 4.0;
const COUNTS_SHARE: f64 = 0.4;

/// Now and then one run lies far beside, and the next does not; a policy that differs does each time. So often
/// in all.
const RUNS: usize = 3;

/// Why a guest's numbers lie beside the range, by beginning of a measure.
const REASONS: &[(&str, &str)] = &[
    (
        "woke_",
        "CPUs of a guest take turns: who computes for a moment holds its CPU through the turns of the others",
    ),
    ("ran_", "who finds its CPU held goes to the sibling"),
    ("active_moved", "a task that somebody displaces for a moment is taken while it waits"),
    ("stolen_or_evened_out", "a task that somebody displaces for a moment is taken while it waits"),
];
/// What the simulation does less often, or never, for a reason that a guest does not have: policy, scenario, measure, how
/// often it may be there, and why.
const EXPLAINED: &[(&str, &str, &str, f64, &str)] = &[
    (
        "linux-2.4.19",
        "priority-in-core",
        "ran_same_core_of_wakes",
        0.25,
        "the low task runs where a slice ends first: ticks of simulated CPUs fall together, always in the same order, and with \
         an order drawn anew the simulation has 0.25, too",
    ),
    (
        "linux-2.5.32",
        "make-j1",
        "preempted_of_wakes",
        0.15,
        "RCU's thread and the kernel's workers wake in a guest, too, and displace whom they find; a simulated machine has none",
    ),
];

pub(super) fn run(guest: &mut Guest, held: &Held) -> Result<()> {
    let ranges: Value = serde_json::from_str(held.ranges).context(held.policy)?;
    let topology = guest.topology.to_string();
    for (name, _) in SCENARIOS.iter().filter(|(_, machine)| *machine == topology) {
        let ranges = ranges[name].as_object().with_context(|| format!("no {name}"))?;
        guest.check_told(&format!("{name} as the simulated {} has it", held.policy), || {
            let mut all = Vec::new();
            for _ in 0..RUNS {
                match compared(&record(held, name)?, name, ranges, held)? {
                    Ok(told) => {
                        all.push(told);
                        return Ok(all.join("; once more: "));
                    }
                    Err(beside) => all.push(format!("far beside its range: {beside}")),
                }
            }
            bail!("{}", all.join("; once more: "))
        })?;
    }
    Ok(())
}

/// What a scenario gives under the live policy.
fn record(held: &Held, name: &str) -> Result<Value> {
    if name != SLOWED || held.slowed == 1 {
        return scenario_under(held.policy, name, &[]);
    }
    let path = format!("/tmp/{name}.toml");
    std::fs::write(&path, slowed(SLOWED_TEXT, held.slowed))?;
    scenario_under(held.policy, &path, &[])
}

/// The text of a scenario in which every stretch takes so many times as long, without what it expects.
fn slowed(text: &str, times: u64) -> String {
    let text = text.split("[[expect]]").next().unwrap_or(text);
    let lines =
        text.lines().map(|line| match line.contains("_us = ") || line.starts_with("until_ms") {
            true => line
                .split_inclusive(|c: char| !c.is_ascii_digit())
                .map(|part| {
                    let (digits, rest) =
                        part.split_at(part.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
                    digits
                        .parse::<u64>()
                        .map_or_else(|_| part.to_owned(), |it| format!("{}{rest}", it * times))
                })
                .collect(),
            false => line.to_owned(),
        });
    lines.map(|line: String| line + "\n").collect()
}

/// What a record has beside what was simulated; as an error, where that is far apart.
fn compared(
    record: &Value,
    scenario: &str,
    ranges: &serde_json::Map<String, Value>,
    held: &Held,
) -> Result<Result<String, String>> {
    let (mut told, mut beside) = (Vec::new(), Vec::new());
    let mut reasons = BTreeSet::new();
    for (measure, range) in ranges {
        let value = live(record, measure, held)?;
        let number = |index: usize| range[index].as_f64().context("no range");
        let (low, mut high) = (number(0)?, number(1)?);
        let explained = EXPLAINED.iter().find(|(policy, name, it, ..)| {
            (*policy, *name, *it) == (held.policy, scenario, measure.as_str())
        });
        if let Some((.., most, why)) = explained {
            high = high.max(*most);
            reasons.insert(*why);
        }
        let line = format!("{measure} {value:.2} in {low:.2} to {high:.2}");
        if !is_near(measure, value, low, high) {
            beside.push(measure.as_str());
        }
        // Where two digits show it.
        if value < low - 0.01 || value > high + 0.01 {
            reasons.extend(reason(measure));
        }
        told.push(line);
    }
    if !beside.is_empty() {
        let waited_s = counter(record, "waited_ns")? as f64 / 1e9;
        let [of, operations, elapsed] = ["cpu_s", "operations", "elapsed_s"].map(|it| &record[it]);
        let work = format!("{of} CPU s and {operations} in {elapsed} s, {waited_s:.2} s waited");
        return Ok(Err(format!("{}: {}; {work}", beside.join(", "), told.join("; "))));
    }
    told.extend(reasons.into_iter().map(str::to_owned));
    Ok(Ok(told.join("; ")))
}

fn is_near(measure: &str, value: f64, low: f64, high: f64) -> bool {
    let beside = match measure.ends_with("_of_wakes") {
        true if high == 0.0 => NEVER_SHARE,
        true => SHARE_BESIDE,
        false => COUNTS_BESIDE.max(COUNTS_SHARE * high),
    };
    let is_sure = measure.ends_with("_of_wakes") && low >= SURE_SHARE;
    let floor = if is_sure { FLOOR * low } else { low - beside };
    value >= floor.max(low - beside) && value <= high + beside
}

fn reason(measure: &str) -> Option<&'static str> {
    REASONS.iter().find(|(part, _)| measure.starts_with(part)).map(|(_, reason)| *reason)
}

/// A measure, of what the live scheduler counted.
fn live(record: &Value, measure: &str, held: &Held) -> Result<f64> {
    let name = measure.strip_suffix("_of_wakes").unwrap_or(measure);
    let count = match name {
        "ran_other_core" => {
            counter(record, "ran_other_core")? + counter(record, "ran_other_package")?
        }
        "stolen_or_evened_out" => counter(record, "stolen")? + counter(record, "evened_out")?,
        "pulled" => counter(record, "pulled_idle")? + counter(record, "pulled_busy")?,
        name => counter(record, name)?,
    };
    if name == measure {
        return Ok(count as f64);
    }
    let wakes: u64 = held.wakes.iter().map(|name| counter(record, name)).sum::<Result<u64>>()?;
    Ok(count as f64 / wakes.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_is_slowed_down_and_expects_nothing() {
        let text = slowed(SLOWED_TEXT, 10);
        for part in
            ["compute_us = [30000, 60000]", "sleep_us = [10000, 20000]", "until_ms = 30000\n"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("topology = \"2x2\"") && text.contains("count = 6\n"), "{text}");
        assert!(!text.contains("expect"), "{text}");
    }

    #[test]
    fn what_never_happens_passes_for_nothing_that_always_does() {
        assert!(!is_near("woke_sibling_of_wakes", 0.0, 0.1, 0.14), "no idle sibling was told");
        assert!(is_near("woke_sibling_of_wakes", 0.02, 0.1, 0.14));
        assert!(is_near("woke_sibling_of_wakes", 0.0, 0.01, 0.14), "it may not happen");
        assert!(!is_near("woke_sibling_of_wakes", 0.4, 0.1, 0.14));
        assert!(is_near("active_moved", 5.0, 1.0, 1.0) && !is_near("active_moved", 6.0, 1.0, 1.0));
        assert!(is_near("renewals", 50.0, 75.0, 75.0) && !is_near("renewals", 40.0, 75.0, 75.0));
    }
}
