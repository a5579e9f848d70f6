//! "Did you mean …": the nearest known name.

use crate::distinct::distinct;

/// More names than that are not listed.
const LISTED: usize = 20;

/// The known name nearest to what was typed, if any is near enough to be worth saying. A name
/// without its family, `sieve` for `aim9/sieve`, is as near as can be.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| {
        let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
        strsim::jaro_winkler(typed, name).max(strsim::jaro_winkler(typed, own))
    };
    known
        .into_iter()
        .map(|name| (likeness(name), name))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// A sentence for an unknown name: what it was, the nearest, else all that are known.
pub fn unknown(kind: &str, typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(name) => format!("there is no {kind} '{typed}'; did you mean '{name}'?"),
        None => {
            let known = if known.len() > LISTED {
                families(known)
            } else {
                known.iter().map(ToString::to_string).collect()
            };
            let listed = known[..known.len().min(LISTED)].join(", ");
            let more = match known.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("there is no {kind} '{typed}'; known are: {listed}{more}")
        }
    }
}

/// Names of which those of one family are told as one, `aim9/…`.
fn families(names: &[&str]) -> Vec<String> {
    distinct(names.iter().map(|name| match name.split_once('/') {
        Some((family, _)) => format!("{family}/…"),
        None => (*name).to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_listed() {
        let known = ["chat", "dbench", "tbench"];
        assert!(unknown("workload", "chta", &known).contains("did you mean 'chat'"));
        assert!(unknown("workload", "zzz", &known).contains("known are: chat, dbench, tbench"));
        assert_eq!(nearest("sive", ["aim9/sieve", "aim9/fork_test", "chat"]), Some("aim9/sieve"));
        let many: Vec<String> = (0..50).map(|n| format!("row{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(unknown("workload", "zzz", &many).ends_with("row18, row19 and 30 more"));
        let many: Vec<String> = (0..50).map(|n| format!("aim9/{n}")).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        many.push("chat");
        assert!(unknown("workload", "zzz", &many).ends_with("known are: aim9/…, chat"));
    }
}
