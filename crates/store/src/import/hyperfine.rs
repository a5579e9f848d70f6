//! What `hyperfine --export-json` writes: a result for each command, with the time of every run.

use super::found::{Found, Series};
use coretwin_base::study::reading::Better;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Export {
    results: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    command: String,
    /// Seconds of each run. Old versions leave them out.
    #[serde(default)]
    times: Vec<f64>,
    /// The mean, where that is all there is.
    mean: Option<f64>,
    #[serde(default)]
    user: f64,
    #[serde(default)]
    system: f64,
    #[serde(default)]
    parameters: BTreeMap<String, serde_json::Value>,
}

pub(super) fn parse(text: &str) -> Result<Found, String> {
    let export: Export = serde_json::from_str(text)
        .map_err(|error| format!("it is not what hyperfine --export-json writes: {error}"))?;
    let is_time = |seconds: &f64| seconds.is_finite() && *seconds > 0.0;
    for (at, benchmark) in export.results.iter().enumerate() {
        if let Some(run) = benchmark.times.iter().position(|seconds| !is_time(seconds)) {
            let seconds = benchmark.times[run];
            return Err(format!(
                "results[{at}].times[{run}]: {seconds} s is not the time of a run"
            ));
        }
    }
    let series = export.results.into_iter().map(|benchmark| {
        let runs = if benchmark.times.is_empty() {
            benchmark.mean.into_iter().collect()
        } else {
            benchmark.times
        };
        let mut row = benchmark.command;
        // A command given a name of its own says nothing of its parameters.
        for (name, value) in benchmark.parameters {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            row.push_str(&format!(" {name}={value}"));
        }
        Series {
            arm: "run".to_owned(),
            row,
            unit: "s".to_owned(),
            better: Better::Lower,
            values: runs.into_iter().filter(is_time).collect(),
            cpu_s: [benchmark.user, benchmark.system],
        }
    });
    let series = series.filter(|series| !series.values.is_empty()).collect();
    Ok(Found { program: "hyperfine", series })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_less_than_no_time_is_named() {
        let text = r#"{"results":[{"command":"make","times":[1.9,-1.1]}]}"#;
        let why = parse(text).map(|_| ()).expect_err("no time");
        assert_eq!(why, "results[0].times[1]: -1.1 s is not the time of a run");
    }

    #[test]
    fn runs_and_parameters_are_read() {
        let text = r#"{"results":[{"command":"make","mean":2.0,"stddev":0.1,"median":2.0,"user":1.5,
            "system":0.3,"min":1.9,"max":2.1,"times":[1.9,2.1,2.0],"exit_codes":[0,0,0],
            "parameters":{"jobs":"8"}}]}"#;
        let found = parse(text).expect("an export");
        let [only] = found.series.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (only.row.as_str(), only.values.as_slice()),
            ("make jobs=8", &[1.9, 2.1, 2.0][..])
        );
        assert_eq!(only.cpu_s, [1.5, 0.3]);
    }
}
