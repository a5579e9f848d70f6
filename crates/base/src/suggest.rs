//! "Did you mean …": the nearest known name.

/// The known name nearest to what was typed, if any is near enough to be worth saying.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// A sentence for an unknown name: what it was, the nearest, else all that are known.
#[must_use]
pub fn unknown(kind: &str, typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(name) => format!("there is no {kind} '{typed}'; did you mean '{name}'?"),
        None => format!("there is no {kind} '{typed}'; known are: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_listed() {
        let known = ["chat", "dbench", "tbench"];
        assert!(unknown("workload", "chta", &known).contains("did you mean 'chat'"));
        assert!(unknown("workload", "zzz", &known).contains("known are: chat, dbench, tbench"));
    }
}
