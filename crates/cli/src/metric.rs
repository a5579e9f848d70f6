//! `--metric`: a number to read from a command's output, as typed.

use coretwin_base::study::command::{Extract, MetricSpec};
use coretwin_base::study::reading::Better;

/// Units of which less is better, unless the user says otherwise.
const COSTS: &[&str] = &["s", "ms", "us", "µs", "ns", "KiB", "MiB", "bytes", "J", "W"];

/// Reads `NAME[:UNIT[:higher|lower]]=PATTERN`; a pattern that starts with `/` is a JSON pointer.
pub(crate) fn parse(text: &str) -> Result<MetricSpec, String> {
    let form = "write it like 'rate:req/s:higher=([0-9.]+) req/s' or 'p99:ms:lower=/latency/p99'";
    let (head, pattern) =
        text.split_once('=').ok_or_else(|| format!("'{text}' has no '='; {form}"))?;
    let mut parts = head.splitn(3, ':');
    let name = parts.next().unwrap_or_default();
    let unit = parts.next().unwrap_or_default();
    if name.is_empty() || pattern.is_empty() {
        return Err(format!("'{text}' lacks a name or a pattern; {form}"));
    }
    let better = match parts.next() {
        Some("higher") => Better::Higher,
        Some("lower") => Better::Lower,
        Some(other) => {
            return Err(format!("'{other}' is neither 'higher' nor 'lower'; {form}"));
        }
        None if COSTS.contains(&unit) => Better::Lower,
        None => Better::Higher,
    };
    let extract = if pattern.starts_with('/') {
        Extract::JsonPointer(pattern.to_owned())
    } else {
        Extract::Regex(pattern.to_owned())
    };
    Ok(MetricSpec { name: name.to_owned(), extract, unit: unit.to_owned(), better, primary: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_units_directions_and_both_kinds_of_pattern() {
        let metric = parse("rate:req/s:higher=([0-9.]+) req/s = x").expect("metric");
        assert_eq!(metric.extract, Extract::Regex("([0-9.]+) req/s = x".to_owned()));
        assert_eq!((metric.unit.as_str(), metric.better), ("req/s", Better::Higher));
        let metric = parse("p99:ms=/latency/p99").expect("metric");
        assert_eq!(metric.extract, Extract::JsonPointer("/latency/p99".to_owned()));
        assert_eq!(metric.better, Better::Lower);
        assert_eq!(parse("n=x").expect("metric").better, Better::Higher);
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [("rate", "no '='"), ("=x", "lacks"), ("a:b:up=x", "neither")] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
