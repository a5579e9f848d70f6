//! One line of a journal, read without a copy of what other lines hold already.

use crate::error::{Error, naming_field};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::Params;
use coretwin_base::schema;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::decision::ENERGY_METRIC;
use coretwin_base::study::latency::Latency;
use coretwin_base::study::reading::{Better, Metric, Phase, Reading, Status};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

// The checksum of a line is CRC-32 (as of gzip) of everything before it, as the last field:
// `{"schema":1,…,"env":"e0","checksum":"1a2b3c4d"}`, eight hexadecimal digits. It tells what a disk, a
// copy or an editor changed; it keeps out nobody who makes it anew.
const FIELD: &[u8] = b",\"checksum\":\"";
const DIGITS: usize = 8;
const END: &[u8] = b"\"}";
/// Bytes of the checksum's field and the end.
pub(crate) const SEAL: usize = FIELD.len() + DIGITS + END.len();

pub(crate) fn seal(object: &mut Vec<u8>) {
    if object.pop_if(|byte| *byte == b'}').is_some() {
        let sum = crc32fast::hash(object);
        object.extend_from_slice(FIELD);
        object.extend_from_slice(format!("{sum:08x}").as_bytes());
        object.extend_from_slice(END);
    }
}

/// Whether the checksum of a line is right; `None` if it has none there.
pub(crate) fn is_right(line: &[u8]) -> Option<bool> {
    let (rest, digits) = line.strip_suffix(END)?.split_last_chunk::<DIGITS>()?;
    let object = rest.strip_suffix(FIELD)?;
    Some(*digits == *format!("{:08x}", crc32fast::hash(object)).as_bytes())
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    #[default]
    Whole,
    /// What a report shows: of a run that went well, metrics, CPUs and environment are passed over
    /// and left empty, except of the first such run of each row and arm. They are most of a
    /// journal, and a million of them would not fit where a report is made. Metrics that the
    /// decision help compares, energy and tails, are kept.
    Report,
}

/// Whether the decision help compares this metric.
fn is_compared(metric: &str) -> bool {
    metric == ENERGY_METRIC || metric.contains("p99_")
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    #[error("not a reading: {0}")]
    NotAReading(String),
    #[error("field checksum is another than that of the line: something in it was changed")]
    Altered,
    #[error("{0}")]
    Newer(#[from] schema::NewerSchema),
}

/// Whether it is the record of a newer version rather than a broken one.
fn newer(record: &[u8]) -> Option<schema::NewerSchema> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    schema::check(serde_json::from_slice::<Version>(record).ok()?.schema).err()
}

/// Errors: [`BadLine`] naming the field or the column.
pub fn parse_line(line: &[u8]) -> Result<Reading, BadLine> {
    Lines::new(Extent::Whole).parse(line).map(|(reading, _)| reading)
}

/// A [`Reading`] as it stands in a line: plain texts, and parts that are compared with those of
/// earlier lines, or passed over, before they are taken apart. Field by field as there.
#[derive(Deserialize)]
struct Wire<'a> {
    schema: u32,
    seq: u64,
    #[serde(default)]
    phase: Phase,
    block: u32,
    switch: u32,
    attempt: u32,
    #[serde(borrow)]
    arm: Cow<'a, str>,
    #[serde(borrow)]
    row: Cow<'a, str>,
    #[serde(borrow)]
    workload: Cow<'a, str>,
    #[serde(borrow, default = "no_fields")]
    params: &'a RawValue,
    placement_asked: Placement,
    #[serde(borrow, default = "no_items")]
    cpus_ran: &'a RawValue,
    status: Status,
    cause: Option<String>,
    value: Option<f64>,
    #[serde(borrow)]
    unit: Cow<'a, str>,
    better: Better,
    #[serde(borrow, default = "no_fields")]
    metrics: &'a RawValue,
    #[serde(default)]
    operations: u64,
    elapsed_s: f64,
    user_s: f64,
    system_s: f64,
    #[serde(default)]
    steal_s: f64,
    threads: u32,
    #[serde(default = "one")]
    copies: u32,
    #[serde(borrow, default = "no_fields")]
    checks: &'a RawValue,
    #[serde(borrow, default = "no_items")]
    samples: &'a RawValue,
    #[serde(borrow, default = "no_fields")]
    notes: &'a RawValue,
    output: Option<String>,
    latency: Option<Arc<Latency>>,
    #[serde(borrow)]
    env: Cow<'a, str>,
    #[serde(borrow, default)]
    checksum: Option<&'a RawValue>,
}

fn one() -> u32 {
    1
}

fn no_fields() -> &'static RawValue {
    serde_json::from_str("{}").unwrap_or(RawValue::NULL)
}

fn no_items() -> &'static RawValue {
    serde_json::from_str("[]").unwrap_or(RawValue::NULL)
}

/// Values by their text in the journal, so that equal ones are kept once.
#[derive(Default)]
struct Shared<T>(HashMap<Box<str>, T>);

impl<T: Clone> Shared<T> {
    fn get<E>(&mut self, text: &str, make: impl FnOnce(&str) -> Result<T, E>) -> Result<T, E> {
        if let Some(known) = self.0.get(text) {
            return Ok(known.clone());
        }
        let made = make(text)?;
        self.0.insert(text.into(), made.clone());
        Ok(made)
    }
}

impl Shared<SharedText> {
    fn text(&mut self, text: &str) -> SharedText {
        let Ok(text) = self.get(text, |text| Ok::<_, std::convert::Infallible>(text.into()));
        text
    }
}

impl<T: DeserializeOwned> Shared<Arc<T>> {
    fn part(&mut self, raw: &RawValue) -> serde_json::Result<Arc<T>> {
        self.get(raw.get(), |text| Ok(Arc::new(serde_json::from_str(text)?)))
    }
}

#[derive(Default)]
pub(crate) struct Lines {
    extent: Extent,
    /// Rows and arms of which a run that went well was read in full.
    met: HashSet<(SharedText, SharedText)>,
    texts: Shared<SharedText>,
    params: Shared<Arc<Params>>,
    cpus: Shared<Arc<CpuSet>>,
    checks: Shared<Arc<BTreeMap<String, bool>>>,
    notes: Shared<Arc<BTreeMap<String, String>>>,
    no_metrics: Arc<BTreeMap<String, Metric>>,
    no_samples: Arc<Vec<f64>>,
    no_cpus: Arc<CpuSet>,
    no_text: SharedText,
}

impl Lines {
    pub(crate) fn new(extent: Extent) -> Self {
        Self { extent, ..Self::default() }
    }

    /// Reads a line; whether it has a checksum, too. One that is wrong is read again the plain way,
    /// which has the words for what is wrong with it.
    pub(crate) fn parse(&mut self, line: &[u8]) -> Result<(Reading, bool), BadLine> {
        let sum = is_right(line);
        let wire = serde_json::from_slice::<Wire<'_>>(line);
        // One that does not come last is by others, and says nothing of their changes.
        let moved = || wire.as_ref().is_ok_and(|wire| wire.checksum.is_some());
        if sum == Some(false) || (sum.is_none() && moved()) {
            return Err(newer(line).map_or(BadLine::Altered, BadLine::Newer));
        }
        let reading = wire.and_then(|wire| self.reading(wire));
        match reading.or_else(|_| serde_json::from_slice::<Reading>(line)) {
            Ok(reading) => {
                schema::check(reading.schema)?;
                Ok((reading, sum.is_some()))
            }
            Err(error) => {
                let broken = || BadLine::NotAReading(naming_field(line, &error));
                Err(newer(line).map_or_else(broken, BadLine::Newer))
            }
        }
    }

    /// The metrics that the decision help compares; most readings have none.
    fn compared(&self, metrics: &RawValue) -> serde_json::Result<Arc<BTreeMap<String, Metric>>> {
        if !is_compared(metrics.get()) && !metrics.get().contains(ENERGY_METRIC) {
            return Ok(self.no_metrics.clone());
        }
        let mut metrics: BTreeMap<String, Metric> = serde_json::from_str(metrics.get())?;
        metrics.retain(|name, _| is_compared(name));
        Ok(Arc::new(metrics))
    }

    fn reading(&mut self, wire: Wire<'_>) -> serde_json::Result<Reading> {
        let (arm, row) = (self.texts.text(&wire.arm), self.texts.text(&wire.row));
        let in_full = self.extent == Extent::Whole
            || wire.status != Status::Ok
            || (wire.phase == Phase::Study && self.met.insert((row.clone(), arm.clone())));
        let (metrics, samples, cpus_ran, env) = if in_full {
            (
                Arc::new(serde_json::from_str(wire.metrics.get())?),
                Arc::new(serde_json::from_str(wire.samples.get())?),
                self.cpus.part(wire.cpus_ran)?,
                self.texts.text(&wire.env),
            )
        } else {
            (
                self.compared(wire.metrics)?,
                self.no_samples.clone(),
                self.no_cpus.clone(),
                self.no_text.clone(),
            )
        };
        Ok(Reading {
            schema: wire.schema,
            seq: wire.seq,
            phase: wire.phase,
            block: wire.block,
            switch: wire.switch,
            attempt: wire.attempt,
            arm,
            row,
            workload: self.texts.text(&wire.workload),
            params: self.params.part(wire.params)?,
            placement_asked: wire.placement_asked,
            cpus_ran,
            status: wire.status,
            cause: wire.cause.map(|cause| self.texts.text(&cause)),
            value: wire.value,
            unit: self.texts.text(&wire.unit),
            better: wire.better,
            metrics,
            operations: wire.operations,
            elapsed_s: wire.elapsed_s,
            user_s: wire.user_s,
            system_s: wire.system_s,
            steal_s: wire.steal_s,
            threads: wire.threads,
            copies: wire.copies,
            samples,
            notes: self.notes.part(wire.notes)?,
            checks: self.checks.part(wire.checks)?,
            output: wire.output.map(SharedText::from),
            latency: wire.latency,
            env,
        })
    }
}

/// Reads a record that begins behind so many lines of a file.
pub(crate) fn record<T: DeserializeOwned>(
    path: &Path,
    lines: usize,
    bytes: &[u8],
) -> Result<T, Error> {
    if let Some(newer) = newer(bytes) {
        return Err(Error::unusable(path, newer));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(Error::wrong(path, "it is empty".to_owned()));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (lines + error.line(), error.column());
        let what = naming_field(bytes, &error);
        Error::wrong(path, format!("line {line}, column {column}: {what}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut line = br#"{"seq":0,"value":1.25}"#.to_vec();
        assert_eq!(is_right(&line), None);
        seal(&mut line);
        assert_eq!(line, br#"{"seq":0,"value":1.25,"checksum":"5e2af1de"}"#);
        assert_eq!(is_right(&line), Some(true));
        for bit in 0..8 * line.len() {
            let mut altered = line.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(is_right(&altered), Some(true), "bit {bit}");
        }
    }
}
