//! The journal: one reading a line, appended, synced to disk once per block.
//!
//! A process may be killed in the middle of a line. The torn rest has no newline; readers ignore
//! it and a resumed study cuts it off before it goes on, because the run it belonged to was never
//! finished.

use crate::appended::Appended;
use crate::error::Error;
use crate::line::{Extent, seal};
use crate::scan::{Read, read_all};
use coretwin_base::caps;
use coretwin_base::study::reading::Reading;
use std::fs::File;
use std::path::Path;

/// Errors: if the file cannot be read, or a line other than a torn last one is not a reading, or the
/// sequence numbers show that lines are missing or doubled.
pub(crate) fn read_journal(path: &Path, extent: Extent) -> Result<Read, Error> {
    let file = File::open(path).map_err(|source| Error::io("read", path, source))?;
    read_all(path, &file, extent)
}

/// A journal open for appending; locked against a second writer.
#[derive(Debug)]
pub struct Journal {
    appended: Appended,
    /// Whether lines get a checksum: a journal of an older version without checksums continues without.
    sealed: bool,
}

impl Journal {
    /// Opens a journal for appending, making it if it is not there, and gives what it holds. A torn
    /// last line is cut off. Errors: if it cannot be opened ([`Appended::open`]), or does not read.
    pub fn open(path: &Path) -> Result<(Self, Read), Error> {
        let mut appended = Appended::open(path)?;
        let read = read_all(path, &appended.file, Extent::Whole)?;
        appended.go_on(read.torn_bytes as u64)?;
        Ok((Self { appended, sealed: !read.is_unchecked() }, read))
    }

    /// Tells about how many more readings are to come, for the message when space runs out.
    pub fn expect(&mut self, readings: u64) {
        // A line of a chat reading is about 900 bytes; the derived files are of that order too.
        self.appended.expected_bytes = readings.saturating_mul(2_048).max(4_096);
    }

    /// Errors: [`Error::NoSpace`] when the file system is full, [`Error::Io`] otherwise; the journal
    /// then ends with the last reading that fitted whole.
    pub fn append(&mut self, reading: &Reading) -> Result<(), Error> {
        let mut line = serde_json::to_vec(reading)
            .map_err(|error| Error::io("write", &self.appended.path, error.into()))?;
        if self.sealed {
            seal(&mut line);
        }
        self.appended.line(line, &caps::JOURNAL)
    }

    pub fn sync(&mut self) -> Result<(), Error> {
        self.appended.sync()
    }

    pub(crate) fn file(&self) -> &File {
        &self.appended.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::faults::{self, Faults};
    use coretwin_base::machine::placement::Placement;
    use coretwin_base::schema;
    use coretwin_base::study::reading::{Better, Phase, Status};
    use std::path::PathBuf;
    use std::sync::Arc;

    fn reading(seq: u64) -> Reading {
        Reading {
            schema: schema::SCHEMA,
            seq,
            phase: Phase::Study,
            block: 0,
            switch: 0,
            attempt: 0,
            arm: "on".into(),
            row: "chat:rooms=20".into(),
            workload: "chat".into(),
            params: Arc::default(),
            placement_asked: Placement::Free,
            cpus_ran: Arc::default(),
            status: Status::Ok,
            cause: None,
            value: Some(seq as f64 + 0.25),
            unit: "messages/s".into(),
            better: Better::Higher,
            metrics: Arc::default(),
            operations: 1,
            elapsed_s: 1.0,
            user_s: 0.5,
            system_s: 0.25,
            steal_s: 0.0,
            threads: 1600,
            copies: 1,
            samples: Arc::default(),
            notes: Arc::default(),
            checks: Arc::new([("totals".to_owned(), true)].into()),
            output: None,
            latency: None,
            env: "e0".into(),
        }
    }

    fn written(folder: &Path, count: u64) -> (PathBuf, Vec<u8>) {
        let path = folder.join("journal.jsonl");
        let (mut journal, _) = Journal::open(&path).expect("open");
        for seq in 0..count {
            journal.append(&reading(seq)).expect("append");
        }
        journal.sync().expect("sync");
        let bytes = std::fs::read(&path).expect("read");
        (path, bytes)
    }

    #[test]
    fn a_journal_cut_at_every_byte_of_its_last_two_lines_reads_and_goes_on() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, bytes) = written(folder.path(), 4);
        let ends: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).collect();
        for cut in ends[1] + 1..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).expect("cut");
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let read = read_journal(&path, Extent::Whole).expect("read");
            assert_eq!(read.readings.len(), whole, "cut at byte {cut}");
            let (mut journal, again) = Journal::open(&path).expect("open");
            assert_eq!(again.readings.len(), whole);
            journal.append(&reading(whole as u64)).expect("append");
            drop(journal);
            assert_eq!(
                read_journal(&path, Extent::Whole).expect("reread").readings.len(),
                whole + 1
            );
        }
    }

    #[test]
    fn a_broken_line_in_the_middle_is_named() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, bytes) = written(folder.path(), 3);
        let text = String::from_utf8(bytes).expect("text");
        let broken = text.replacen("\"arm\":\"on\"", "\"arm\":7", 1);
        std::fs::write(&path, broken).expect("write");
        let error = read_journal(&path, Extent::Whole).expect_err("altered").to_string();
        assert!(error.contains("journal.jsonl: line 1: field checksum is another"), "{error}");
        let broken = unsealed(&text).replacen("\"arm\":\"on\"", "\"arm\":7", 1);
        std::fs::write(&path, broken).expect("write");
        let error = read_journal(&path, Extent::Whole).expect_err("broken").to_string();
        assert!(error.contains("journal.jsonl: line 1: not a reading"), "{error}");
        assert!(error.contains("expected a string"), "{error}");
    }

    /// A journal as older versions wrote it.
    fn unsealed(text: &str) -> String {
        let plain = |line: &str| line[..line.len() - 23].to_owned() + "}\n";
        text.lines().map(plain).collect()
    }

    #[test]
    fn a_changed_digit_is_noticed_and_a_journal_without_checksums_stays_one() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, bytes) = written(folder.path(), 3);
        let text = String::from_utf8(bytes).expect("text");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("write");
            read_journal(&path, Extent::Whole).map_err(|error| error.to_string())
        };
        assert!(!read(&text).expect("whole").is_unchecked());
        let changed = text.replacen("\"value\":1.25", "\"value\":7.25", 1);
        assert_ne!(changed, text);
        let told = read(&changed).expect_err("changed");
        assert!(told.contains("journal.jsonl: line 2: field checksum is another"), "{told}");
        // Without its line end it is no torn line either: what is torn has no last field.
        let told = read(text.replacen(":2.25", ":2.75", 1).trim_end()).expect_err("changed");
        assert!(told.contains("line 3: field checksum"), "{told}");
        // Every digit of the second line.
        let begin = text.find('\n').expect("a line") + 1;
        let end = begin + text[begin..].find('\n').expect("a line");
        for at in (begin..end).filter(|at| text.as_bytes()[*at].is_ascii_digit()) {
            let other = if &text[at..=at] == "5" { "6" } else { "5" };
            assert!(read(&[&text[..at], other, &text[at + 1..]].concat()).is_err(), "byte {at}");
        }
        let old = unsealed(&text);
        assert!(read(&old).expect("old").is_unchecked());
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let some = [lines[0], old.split_inclusive('\n').nth(1).expect("a line"), lines[2]].concat();
        let told = read(&some).expect_err("mixed");
        assert!(told.contains("line 2: it has no field checksum, which line 1 has"), "{told}");
        // Moved, as by programs that write JSON anew.
        let sum = &lines[0][lines[0].len() - 24..lines[0].len() - 2];
        let moved = format!("{{{},{}", &sum[1..], &old[1..]);
        assert!(read(&moved).expect_err("moved").contains("line 1: field checksum"));
        // A study that began without goes on without.
        std::fs::write(&path, &old).expect("write");
        Journal::open(&path).expect("open").0.append(&reading(3)).expect("append");
        let read = read_journal(&path, Extent::Whole).expect("reads");
        assert!(read.is_unchecked() && read.readings.len() == 4);
    }

    #[test]
    fn missing_and_doubled_lines_are_noticed() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, bytes) = written(folder.path(), 3);
        let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
        std::fs::write(&path, [lines[0], lines[2]].concat()).expect("write");
        let error = read_journal(&path, Extent::Whole).expect_err("missing").to_string();
        assert!(error.contains("line 2: field seq is 2, expected 1"), "{error}");
    }

    #[test]
    fn a_newer_schema_is_refused_even_if_its_fields_changed() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("journal.jsonl");
        std::fs::write(&path, "{\"schema\":99,\"something\":1}\n").expect("write");
        let error = read_journal(&path, Extent::Whole).expect_err("newer").to_string();
        assert!(error.contains("schema 99") && error.contains("newer coretwin"), "{error}");
    }

    #[test]
    fn under_any_faults_every_reading_that_was_told_of_is_kept_and_the_study_goes_on() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("journal.jsonl");
        let (mut made, mut broken_off) = (0, 0);
        let seeds = faults::seeds(500);
        for seed in 0..seeds {
            let _ = std::fs::remove_file(&path);
            let mut kept = 0;
            // A study is broken off by the first error, and resumed, until it is complete.
            while kept < 8 {
                let (mut journal, read) = Journal::open(&path).expect("open");
                let found = read.readings.len() as u64;
                // One more where the line was whole, the failure came after it, and it could not be cut off.
                assert!(found == kept || found == kept + 1, "seed {seed}: {found} of {kept}");
                kept = found;
                journal.appended.disk.faults = Some(Faults::new(seed * 1000 + broken_off));
                while kept < 8 && journal.append(&reading(kept)).is_ok() {
                    kept += 1;
                    if journal.sync().is_err() {
                        break;
                    }
                }
                broken_off += 1;
                made += journal.appended.disk.faults.map_or(0, |faults| faults.made);
            }
            let read = read_journal(&path, Extent::Whole).expect("reads");
            assert!(read.readings.len() as u64 >= kept, "seed {seed}");
        }
        faults::tell(made);
        assert!(made > seeds && broken_off > seeds, "{made} faults, {broken_off} sessions");
    }

    #[test]
    fn a_journal_that_is_a_link_is_not_written() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, _) = written(folder.path(), 1);
        let link = folder.path().join("link.jsonl");
        std::os::unix::fs::symlink(&path, &link).expect("link");
        assert!(Journal::open(&link).is_err());
        assert_eq!(read_journal(&link, Extent::Whole).expect("reads").readings.len(), 1);
    }

    #[test]
    fn a_journal_with_a_second_name_is_neither_cut_nor_written() {
        let folder = tempfile::tempdir().expect("folder");
        let precious = folder.path().join("precious");
        // Without a line end it would be a torn line, which is cut off.
        std::fs::write(&precious, "precious").expect("written");
        let path = folder.path().join("journal.jsonl");
        std::fs::hard_link(&precious, &path).expect("link");
        let why = Journal::open(&path).expect_err("refused").to_string();
        assert!(why.contains("a hard link"), "{why}");
        assert_eq!(std::fs::read(&precious).expect("read"), b"precious");
    }

    #[test]
    fn a_journal_that_is_removed_or_replaced_under_way_is_an_error() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, reading) = (folder.path().join("journal.jsonl"), reading(0));
        let (mut journal, _) = Journal::open(&path).expect("made");
        journal.append(&reading).expect("there");
        std::fs::rename(&path, folder.path().join("elsewhere")).expect("moved");
        for error in [journal.append(&reading), journal.sync()] {
            let error = error.expect_err("its name is gone").to_string();
            assert!(error.contains("removed or replaced"), "{error}");
        }
        std::fs::write(&path, "").expect("another");
        assert!(journal.append(&reading).is_err());
        assert_eq!(std::fs::read(&path).expect("read"), b"", "another's is not written");
    }

    #[test]
    fn a_second_writer_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, _) = written(folder.path(), 1);
        let _first = Journal::open(&path).expect("first");
        assert!(matches!(Journal::open(&path), Err(Error::Busy { .. })));
    }
}
