//! What the Phoronix Test Suite keeps of a run, `composite.xml`: a result for each test with its unit
//! and direction, an entry for each system, and in it every run.

use super::found::{Found, Series};
use coretwin_base::study::reading::Better;
use serde::Deserialize;
use std::collections::BTreeSet;

#[derive(Deserialize)]
struct Suite {
    #[serde(rename = "Result", default)]
    results: Vec<Test>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Test {
    title: String,
    description: String,
    scale: String,
    /// `HIB`: higher is better; `LIB`: lower.
    proportion: String,
    data: Data,
}

#[derive(Default, Deserialize)]
struct Data {
    #[serde(rename = "Entry", default)]
    entries: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Entry {
    identifier: String,
    value: String,
    /// Every run, with colons between them.
    raw_string: String,
}

pub(super) fn parse(text: &str) -> Result<Found, String> {
    let suite: Suite = quick_xml::de::from_str(text)
        .map_err(|error| format!("it is no composite.xml of the Phoronix Test Suite: {error}"))?;
    let systems: BTreeSet<&str> = suite
        .results
        .iter()
        .flat_map(|test| &test.data.entries)
        .map(|entry| entry.identifier.as_str())
        .collect();
    let many = systems.len() > 1;
    let mut series = Vec::new();
    for test in &suite.results {
        for entry in &test.data.entries {
            let raw = if entry.raw_string.is_empty() { &entry.value } else { &entry.raw_string };
            let values: Vec<f64> = raw
                .split(':')
                .filter_map(|run| run.trim().parse().ok())
                .filter(|value: &f64| value.is_finite() && *value > 0.0)
                .collect();
            if values.is_empty() {
                continue;
            }
            // One system has another name in each file; only several need to be told apart.
            let arm = if many { entry.identifier.clone() } else { "run".to_owned() };
            series.push(Series {
                arm,
                row: format!("{} {}", test.title, test.description).trim().to_owned(),
                unit: test.scale.clone(),
                better: if test.proportion == "LIB" { Better::Lower } else { Better::Higher },
                values,
                cpu_s: [0.0; 2],
            });
        }
    }
    Ok(Found { program: "phoronix-test-suite", series })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPOSITE: &str = r#"<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="xsl/pts-results-viewer.xsl" ?>
<PhoronixTestSuite>
  <Generated><Title>smt</Title><TestClient>Phoronix Test Suite v10.8.4</TestClient></Generated>
  <System><Identifier>SMT on</Identifier><Hardware>Processor: X &amp; Y</Hardware></System>
  <Result>
    <Identifier>pts/compress-7zip-1.11.0</Identifier>
    <Title>7-Zip Compression</Title><AppVersion>24.05</AppVersion><Arguments></Arguments>
    <Description>Test: Compression Rating</Description><Scale>MIPS</Scale>
    <Proportion>HIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat>
    <Data><Entry><Identifier>SMT on</Identifier><Value>52000</Value>
      <RawString>51000:52000:53000</RawString><JSON>{}</JSON></Entry></Data>
  </Result>
  <Result>
    <Title>Timed &lt;Kernel&gt;</Title><Description/><Scale>Seconds</Scale>
    <Proportion>LIB</Proportion>
    <Data><Entry><Identifier>SMT on</Identifier><Value>61.5</Value><RawString/></Entry></Data>
  </Result>
</PhoronixTestSuite>"#;

    #[test]
    fn tests_units_and_runs_are_read() {
        let found = parse(COMPOSITE).expect("a composite");
        let [first, second] = found.series.as_slice() else { panic!("{found:?}") };
        assert_eq!(first.row, "7-Zip Compression Test: Compression Rating");
        assert_eq!(
            (first.values.as_slice(), first.better),
            (&[51e3, 52e3, 53e3][..], Better::Higher)
        );
        assert_eq!((second.row.as_str(), second.arm.as_str()), ("Timed <Kernel>", "run"));
        assert_eq!((second.values.as_slice(), second.better), (&[61.5][..], Better::Lower));
    }

    #[test]
    fn several_systems_of_one_file_are_arms() {
        let two = COMPOSITE.replacen(
            "<JSON>{}</JSON></Entry>",
            "</Entry><Entry><Identifier>SMT off</Identifier><Value>4</Value></Entry>",
            1,
        );
        let found = parse(&two).expect("a composite");
        let arms: Vec<&str> = found.series.iter().map(|series| series.arm.as_str()).collect();
        assert_eq!(arms, ["SMT on", "SMT off", "SMT on"]);
    }
}
