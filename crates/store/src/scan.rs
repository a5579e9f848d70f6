//! A whole journal, read in pieces on every CPU there is: the pieces, not the file, are in memory.

use crate::error::Error;
use crate::line::{BadLine, Extent, Lines};
use coretwin_base::caps;
use coretwin_base::machine::environment::Environment;
use coretwin_base::study::consistency::{self, Contradiction};
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::warning::Warning;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

#[derive(Debug, Default)]
pub struct Read {
    pub readings: Vec<Reading>,
    /// Length of the torn last line, in bytes; 0 if the last line is whole.
    pub torn_bytes: usize,
    /// Numbers of the first lines with a checksum and without, from 0.
    first: [Option<usize>; 2],
}

impl Read {
    /// Whether its lines have no checksums, as those of older versions: that a digit was changed
    /// cannot be noticed.
    pub fn is_unchecked(&self) -> bool {
        self.first[1].is_some()
    }

    pub fn note(&self, environment: &mut Environment) {
        let warning = Warning::new(
            "journal-unchecked",
            "the journal's lines have no checksums: a figure that was changed in it would not be noticed",
            "studies that begin with this version have them",
        );
        if self.is_unchecked() && !environment.warnings.contains(&warning) {
            environment.warnings.push(warning);
        }
    }

    fn append(&mut self, mut next: Self) {
        self.readings.append(&mut next.readings);
        self.torn_bytes = next.torn_bytes;
        self.first = [0, 1].map(|kind| self.first[kind].or(next.first[kind]));
    }

    /// Refuses a journal of which some lines have a checksum, at the first that has none.
    fn checked(self, path: &Path) -> Result<Self, Error> {
        match self.first {
            [Some(with), Some(without)] => Err(Error::wrong(
                path,
                format!(
                    "line {}: it has no field checksum, which line {} has: it was changed or added",
                    without + 1,
                    with + 1
                ),
            )),
            _ => Ok(self),
        }
    }

    /// The same, if it can be the journal at `path` of this plan.
    pub(crate) fn of_plan(self, plan: &Plan, path: &Path) -> Result<Self, Error> {
        let contradicted =
            |Contradiction { seq, what }| Error::wrong(path, format!("line {}: {what}", seq + 1));
        consistency::check(plan, &self.readings).map_err(contradicted).map(|()| self)
    }
}

/// About a thousand readings: much work beside the handing over, little memory.
const PIECE_BYTES: usize = 1 << 20;

/// Whole lines of a journal (the last piece may end in a torn one).
struct Piece {
    /// Number of its first line, from 0.
    first_line: usize,
    bytes: Vec<u8>,
}

struct Pieces<R> {
    file: R,
    /// Size of a piece, in bytes; a longer line makes a longer one.
    size: usize,
    /// Bytes read so far.
    count: u64,
    /// What was read beyond the last line end.
    rest: Vec<u8>,
    pieces: usize,
    lines: usize,
    /// A file may grow while it is read; where it ended once, it ends.
    ended: bool,
}

impl<R: io::Read> Pieces<R> {
    fn new(file: R, size: usize) -> Self {
        Self { file, size, count: 0, rest: Vec::new(), pieces: 0, lines: 0, ended: false }
    }

    fn next(&mut self) -> Option<(usize, io::Result<Piece>)> {
        let number = self.pieces;
        self.pieces += 1;
        let bytes = (!self.ended).then(|| self.read())?;
        self.ended |= bytes.is_err();
        let first_line = self.lines;
        let piece = bytes.map(|bytes| {
            self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
            Piece { first_line, bytes }
        });
        Some((number, piece))
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.rest);
        loop {
            let before = bytes.len();
            bytes.reserve(self.size);
            let count = self.file.by_ref().take(self.size as u64).read_to_end(&mut bytes)?;
            self.count += count as u64;
            if self.count > caps::JOURNAL.bytes {
                return Err(caps::JOURNAL.exceeded());
            }
            // Nothing is read behind a line that is too long: its parser refuses it.
            let no_end = bytes.len() as u64 > caps::LINE.bytes && !bytes.contains(&b'\n');
            if count < self.size || no_end {
                self.ended = true;
                return Ok(bytes);
            }
            if let Some(end) = bytes[before..].iter().rposition(|byte| *byte == b'\n') {
                self.rest = bytes.split_off(before + end + 1);
                return Ok(bytes);
            }
        }
    }
}

/// Reads an open journal from where it stands to its end.
pub(crate) fn read_all(path: &Path, file: &File, extent: Extent) -> Result<Read, Error> {
    let length = file.metadata().map_err(|source| Error::io("read", path, source))?.len();
    if length > caps::JOURNAL.bytes {
        return Err(Error::io("read", path, caps::JOURNAL.exceeded()));
    }
    read_in_pieces(path, file, length as usize, extent, PIECE_BYTES)
}

/// Reads a journal on one CPU; callers with many journals share them out.
pub(crate) fn read_alone(path: &Path, file: impl io::Read, extent: Extent) -> Result<Read, Error> {
    let (mut pieces, mut lines) = (Pieces::new(file, PIECE_BYTES), Lines::new(extent));
    let parsed = std::iter::from_fn(|| pieces.next()).map(|(number, piece)| {
        let piece = piece.map_err(|source| Error::io("read", path, source));
        (number, piece.and_then(|piece| parse(path, &piece, &mut lines)))
    });
    in_order(parsed)?.checked(path)
}

fn read_in_pieces(
    path: &Path,
    file: impl io::Read + Send,
    length: usize,
    extent: Extent,
    size: usize,
) -> Result<Read, Error> {
    let unreadable = |source| Error::io("read", path, source);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let pieces = Mutex::new(Pieces::new(file, size));
    let (sender, parsed) = channel();
    thread::scope(|scope| {
        for _ in 0..cpus.min(length / size + 1) {
            let (sender, pieces) = (sender.clone(), &pieces);
            scope.spawn(move || {
                let mut lines = Lines::new(extent);
                let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
                while let Some((number, piece)) = next() {
                    let read = piece.map_err(unreadable).and_then(|p| parse(path, &p, &mut lines));
                    if sender.send((number, read)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        in_order(parsed)?.checked(path)
    })
}

/// Puts what was read together again; an error counts once everything before it is known to be
/// right, so that it is the same one however the work was shared.
fn in_order(parsed: impl IntoIterator<Item = (usize, Result<Read, Error>)>) -> Result<Read, Error> {
    let mut whole = Read::default();
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (number, read) in parsed {
        waiting.insert(number, read);
        while let Some(read) = waiting.remove(&next) {
            whole.append(read?);
            next += 1;
        }
    }
    Ok(whole)
}

fn parse(path: &Path, piece: &Piece, lines: &mut Lines) -> Result<Read, Error> {
    let mut read = Read::default();
    let pieces = piece.bytes.split_inclusive(|byte| *byte == b'\n');
    for (index, line) in (piece.first_line..).zip(pieces) {
        let whole = line.last() == Some(&b'\n');
        let line = if whole { &line[..line.len() - 1] } else { line };
        let wrong = |what: String| Error::wrong(path, format!("line {}: {what}", index + 1));
        if line.len() as u64 > caps::LINE.bytes {
            return Err(wrong(caps::LINE.exceeded().to_string()));
        }
        match lines.parse(line) {
            Ok((reading, sealed)) if reading.seq == index as u64 => {
                read.first[usize::from(!sealed)].get_or_insert(index);
                read.readings.push(reading);
            }
            Ok((reading, _)) => {
                return Err(wrong(format!(
                    "field seq is {}, expected {index}: lines are missing, doubled or moved",
                    reading.seq
                )));
            }
            Err(BadLine::Newer(newer)) => return Err(Error::unusable(path, newer)),
            Err(BadLine::NotAReading(_)) if !whole => read.torn_bytes = line.len(),
            Err(bad) => return Err(wrong(bad.to_string())),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::faults::{self, Faults, FaultyFile};
    use coretwin_base::study::reading::{Phase, Status};

    /// Line `seq` of a journal of three rows in two arms; every seventh run failed.
    fn line(seq: u64) -> String {
        let status = if seq % 7 == 6 { "failed" } else { "ok" };
        let phase = if seq < 4 { "warmup" } else { "study" };
        format!(
            r#"{{"schema":1,"seq":{seq},"phase":"{phase}","block":0,"switch":0,"attempt":0,"arm":"a{}","row":"r\u00e9{}","workload":"w","params":{{"n":{}}},"placement_asked":"free","cpus_ran":[0,{}],"status":"{status}","cause":"say \"why\"","value":1.5,"unit":"s","better":"lower","metrics":{{"m":{{"value":{seq},"unit":"s","better":"lower"}}}},"operations":3,"elapsed_s":1.0,"user_s":0.5,"system_s":0.25,"steal_s":0.125,"threads":4,"copies":2,"samples":[{seq}.5],"notes":{{"n":"{}"}},"checks":{{"c":{}}},"output":"a\nb","env":"e{seq}"}}"#,
            seq % 2,
            seq % 3,
            seq % 3,
            1 + seq % 5,
            seq % 2,
            !seq.is_multiple_of(11),
        ) + "\n"
    }

    fn read(text: &str, extent: Extent, size: usize) -> Result<Read, Error> {
        read_in_pieces("journal.jsonl".as_ref(), text.as_bytes(), text.len(), extent, size)
    }

    #[test]
    fn pieces_of_any_size_give_what_the_lines_hold() {
        let text: String = (0..40).map(line).collect();
        let expected: Vec<Reading> =
            text.lines().map(|line| serde_json::from_str(line).expect("a reading")).collect();
        for size in (1..2_000).step_by(37).chain([text.len() - 1, text.len(), text.len() + 1]) {
            let whole = read(&text, Extent::Whole, size).expect("whole");
            assert_eq!((whole.readings, whole.torn_bytes), (expected.clone(), 0), "size {size}");
            let torn = read(&text[..text.len() - 9], Extent::Whole, size).expect("torn");
            assert_eq!(torn.readings, expected[..39], "size {size}");
            assert_eq!(torn.torn_bytes, line(39).len() - 9, "size {size}");
        }
    }

    #[test]
    fn under_any_faults_a_journal_is_read_whole_or_the_disks_error_is_told() {
        let text: String = (0..12).map(line).collect();
        let expected = read(&text, Extent::Whole, PIECE_BYTES).expect("whole").readings;
        let (mut made, mut failed) = (0, 0);
        let seeds = faults::seeds(500);
        for seed in 0..seeds {
            let size = 1 + (seed as usize * 97) % text.len();
            let mut faults = Faults::new(seed);
            let file = FaultyFile { bytes: text.as_bytes(), faults: &mut faults };
            match read_in_pieces("journal.jsonl".as_ref(), file, text.len(), Extent::Whole, size) {
                Ok(read) => assert!(read.readings == expected, "seed {seed}"),
                Err(error) => {
                    assert!(faults.broke, "seed {seed}: {error}");
                    assert!(error.to_string().contains("journal.jsonl"), "{error}");
                    failed += 1;
                }
            }
            made += faults.made;
        }
        faults::tell(made);
        let some = seeds / 20..seeds;
        assert!(made > seeds && some.contains(&failed), "{made} faults, {failed} failures");
    }

    #[test]
    fn the_first_error_is_named_whatever_the_pieces() {
        let mut lines: Vec<String> = (0..40).map(line).collect();
        lines[33] = lines[33].replace("\"unit\":\"s\"", "\"unit\":5");
        lines.remove(29);
        for size in [1, 500, 1_000, 5_000, 100_000] {
            let error = read(&lines.concat(), Extent::Whole, size).expect_err("a line is missing");
            assert!(
                error.to_string().contains("line 30: field seq is 30, expected 29"),
                "size {size}: {error}"
            );
            let error = read(&lines[30..].concat(), Extent::Whole, size).expect_err("moved");
            assert!(error.to_string().contains("line 1: field seq is 31"), "size {size}: {error}");
        }
    }

    #[test]
    fn a_report_is_spared_the_details_of_runs_that_went_well_but_the_first() {
        let text: String = (0..40).map(line).collect();
        let whole = read(&text, Extent::Whole, PIECE_BYTES).expect("whole").readings;
        let spared = read(&text, Extent::Report, PIECE_BYTES).expect("spared").readings;
        let mut met = Vec::new();
        for (whole, spared) in whole.into_iter().zip(spared) {
            let cell = (whole.row.clone(), whole.arm.clone());
            let ok = whole.status == Status::Ok;
            let first = ok && whole.phase == Phase::Study && !met.contains(&cell);
            if !ok || first {
                assert_eq!(spared, whole);
            } else {
                assert!(spared.metrics.is_empty() && spared.cpus_ran.is_empty());
                let metrics = whole.metrics.clone();
                let (samples, cpus_ran) = (whole.samples.clone(), whole.cpus_ran.clone());
                let env = whole.env.clone();
                assert_eq!(Reading { metrics, samples, cpus_ran, env, ..spared }, whole);
            }
            met.extend(first.then_some(cell));
        }
        assert_eq!(met.len(), 6, "every row and arm has a first");
    }
}
