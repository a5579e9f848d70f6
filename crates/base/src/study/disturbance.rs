//! What others did on the CPUs of a run that was set aside: the words of the journal, and what many
//! of them come to.

use crate::study::latency::LATE_S;
use std::collections::BTreeMap;

const OTHERS: &str = "others";
const STEAL: &str = "steal";

/// The cause, as the journal has it: other processes used this share of the CPUs, above the limit;
/// both 0 to 1.
pub fn others(share: f64, limit: f64) -> String {
    cause(OTHERS, "other processes used", share, limit)
}

/// The cause, as the journal has it: the hypervisor took this share of the CPUs, above the limit;
/// both 0 to 1.
pub fn steal(share: f64, limit: f64) -> String {
    cause(STEAL, "the hypervisor took", share, limit)
}

/// The cause, as the journal has it: the load generator had a CPU of its own and was late all the same.
pub fn late(p99_s: f64) -> String {
    let [late, limit] = [p99_s, LATE_S].map(|seconds| seconds * 1e6);
    format!("generator: 1 % of its requests left more than {late:.0} µs late (limit {limit:.0} µs)")
}

fn cause(kind: &str, what: &str, share: f64, limit: f64) -> String {
    let [share, limit] = [share, limit].map(|share| share * 100.0);
    format!("{kind}: {what} {share:.1} % of the measured CPUs' time (limit {limit:.1} %)")
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Disturbances {
    kinds: BTreeMap<String, Kind>,
}

#[derive(Debug, Default, Clone, PartialEq)]
struct Kind {
    count: u32,
    /// Sum of the shares the causes name, in percent.
    percents: f64,
    latest: String,
}

impl Disturbances {
    pub fn note(&mut self, cause: &str) {
        let (kind, text) = cause.split_once(": ").unwrap_or(("", cause));
        let before_percent = text.split(" %").next().and_then(|text| text.rsplit(' ').next());
        let percent = before_percent.and_then(|number| number.parse::<f64>().ok());
        let kind = self.kinds.entry(kind.to_owned()).or_default();
        kind.count += 1;
        kind.percents += percent.filter(|percent| percent.is_finite()).unwrap_or(0.0);
        text.clone_into(&mut kind.latest);
    }

    pub fn count(&self) -> u32 {
        self.kinds.values().map(|kind| kind.count).sum()
    }

    /// The most frequent cause, with the mean of its shares: "others used 48 % of the CPUs"; `None`
    /// if nothing was counted.
    pub fn mostly(&self) -> Option<String> {
        let (name, kind) = self.kinds.iter().max_by_key(|(_, kind)| kind.count)?;
        let mean = kind.percents / f64::from(kind.count);
        Some(match name.as_str() {
            OTHERS => format!("others used {mean:.0} % of the CPUs"),
            STEAL => format!("the hypervisor took {mean:.0} % of the CPUs"),
            _ => kind.latest.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_causes_are_one_count_with_the_most_frequent() {
        let mut all = Disturbances::default();
        assert_eq!((all.count(), all.mostly()), (0, None));
        all.note("frequency: CPU 1 is capped at 2000 MHz, 3000 when the study began");
        let capped = "CPU 1 is capped at 2000 MHz, 3000 when the study began";
        assert_eq!(all.mostly().as_deref(), Some(capped));
        for share in [0.4, 0.5, 0.6] {
            all.note(&others(share, 0.05));
        }
        all.note(&steal(0.9, 0.05));
        assert_eq!((all.count(), all.mostly()), (5, Some("others used 50 % of the CPUs".into())));
        for _ in 0..4 {
            all.note(&steal(0.121, 0.05));
        }
        assert_eq!(all.mostly().as_deref(), Some("the hypervisor took 28 % of the CPUs"));
    }

    #[test]
    fn any_text_of_a_journal_can_be_counted() {
        let mut all = Disturbances::default();
        for text in ["", ":", " %", "others: 1e999 % of it", "others: NaN %", "ü: ü %"] {
            all.note(text);
        }
        assert_eq!(all.count(), 6);
        assert!(all.mostly().is_some_and(|text| !text.contains("inf") && !text.contains("NaN")));
    }
}
