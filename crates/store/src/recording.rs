//! The file of `account --record`: a line for what holds of the blocks below it, then one for each block,
//! each with a checksum as in a journal. Appended to only; synced to disk after every block.

use crate::appended::Appended;
use crate::error::{Error, naming_field};
use crate::line::{SEAL, is_right, seal};
use coretwin_base::account::recording::{RecordingBlock, RecordingHead, Session};
use coretwin_base::{caps, schema};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Its name in a bundle of a fleet.
pub const RECORDING: &str = "recording.jsonl";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Head(RecordingHead),
    Block(RecordingBlock),
}

/// How every recording begins.
const BEGINNING: &[u8] = b"{\"head\":{\"schema\":";

#[derive(Debug, Default)]
pub struct Recorded {
    pub sessions: Vec<Session>,
    /// Bytes at the end that are no whole line: the process was killed while it wrote them.
    pub torn_bytes: u64,
}

/// Open for appending; locked against a second writer.
#[derive(Debug)]
pub struct Recording {
    appended: Appended,
}

impl Recording {
    /// Opens a recording, making it if it is not there, and gives what it holds. A torn last line is cut
    /// off. Errors: if it cannot be opened, another process writes to it, or it is no recording.
    pub fn open(path: &Path) -> Result<(Self, Recorded), Error> {
        let mut appended = Appended::open(path)?;
        let recorded = read_from(path, &appended.file)?;
        let failed = |source| Error::io("seek in", path, source);
        std::io::Seek::seek(&mut appended.file, std::io::SeekFrom::End(0)).map_err(failed)?;
        appended.go_on(recorded.torn_bytes)?;
        Ok((Self { appended }, recorded))
    }

    /// Errors: as of writing; the file then ends with the last whole line.
    pub fn head(&mut self, head: &RecordingHead) -> Result<(), Error> {
        self.line(&Line::Head(head.clone()))
    }

    /// Errors: as of writing; the file then ends with the last whole line.
    pub fn block(&mut self, block: RecordingBlock) -> Result<(), Error> {
        self.line(&Line::Block(block))
    }

    fn line(&mut self, line: &Line) -> Result<(), Error> {
        let json = serde_json::to_vec(line);
        let mut line =
            json.map_err(|error| Error::io("write", &self.appended.path, error.into()))?;
        seal(&mut line);
        self.appended.line(line, &caps::RECORDING)?;
        self.appended.sync()
    }
}

/// Reads a recording. Errors: if it cannot be read, or a line but the last is not whole or not right.
pub fn read(path: &Path) -> Result<Recorded, Error> {
    let file = File::open(path).map_err(|source| Error::io("read", path, source))?;
    read_from(path, &file)
}

/// Reads one that is not a file; `path` is what errors call it.
pub fn read_from(path: &Path, file: impl Read) -> Result<Recorded, Error> {
    let unreadable = |source| Error::io("read", path, source);
    let (mut from, mut line) = (BufReader::new(file), Vec::new());
    let (mut recorded, mut number, mut count) = (Recorded::default(), 0, 0u64);
    let mut wrong: Option<(Error, usize)> = None;
    loop {
        line.clear();
        let length = caps::RECORDING.line(&mut from, &mut line).map_err(unreadable)?;
        count += length as u64;
        if count > caps::RECORDING.bytes {
            return Err(Error::io("read", path, caps::RECORDING.exceeded()));
        }
        match wrong.take() {
            // Only the last may be torn: whole but for what a lost power left of it, or without its end.
            Some((_, bytes)) if length == 0 => {
                recorded.torn_bytes = bytes as u64;
                return Ok(recorded);
            }
            Some((error, _)) => return Err(error),
            None if length == 0 => return Ok(recorded),
            None => {}
        }
        number += 1;
        let is_whole = line.pop_if(|byte| *byte == b'\n').is_some();
        let added = match is_whole {
            true => parse(&line).and_then(|line| recorded.add(line)),
            false => Err("it has no end".to_owned()),
        };
        if let Err(what) = added {
            // Any other file would be cut off as if it were torn.
            if number == 1 && !line.starts_with(&BEGINNING[..line.len().min(BEGINNING.len())]) {
                let what = format!("line 1: {what}; a recording is made by account --record");
                return Err(Error::wrong(path, what));
            }
            wrong = Some((Error::wrong(path, format!("line {number}: {what}")), length));
        }
    }
}

fn parse(line: &[u8]) -> Result<Line, String> {
    if is_right(line) != Some(true) {
        return Err("its checksum is missing or another's: something in it was changed".to_owned());
    }
    // `{"block":…,"checksum":"1a2b3c4d"}` without its last field.
    let object = &line[..line.len() - SEAL];
    let json = [object, b"}"].concat();
    serde_json::from_slice(&json).map_err(|error| naming_field(&json, &error))
}

impl Recorded {
    fn add(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Head(head) => {
                schema::check(head.schema).map_err(|newer| newer.to_string())?;
                head.check()?;
                self.sessions.push(Session { head, blocks: Vec::new() });
            }
            Line::Block(block) => {
                let session = self.sessions.last_mut().ok_or("a block before any head")?;
                block.check(&session.head)?;
                session.blocks.push(block);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::recording::{RecordedGroup, Waiting};
    use coretwin_base::account::{MethodName, Siblings, SiblingsOrigin, Span};
    use coretwin_base::machine::cpu_set::CpuSet;
    use coretwin_base::origin::Origin;
    use coretwin_base::random::Stream;
    use coretwin_base::schema::SCHEMA;
    use std::fs;

    /// The head of a machine of two siblings a core.
    fn head(cores: usize) -> RecordingHead {
        let core = |at: usize| CpuSet::parse(&format!("{at},{}", at + cores)).expect("set");
        RecordingHead {
            schema: SCHEMA,
            origin: Origin::Measured,
            started: 1_700_000_000,
            every_s: 60.0,
            method: MethodName::Sampled,
            siblings: Siblings {
                origin: SiblingsOrigin::Kernel,
                cores: (0..cores).map(core).collect(),
            },
            cpu_model: Some("a processor of this machine".to_owned()),
        }
    }

    /// A busy minute of that machine; groups are named in the first.
    fn block(number: u32, cores: usize, groups: u32, draws: &mut Stream) -> RecordingBlock {
        let mut time = |most: u64| draws.below(most);
        let span = |value: u64| {
            let value = value as f64 / 1e6;
            Span { value, low: value * 0.987_654, high: value * 1.012_345 }
        };
        let name = |at| format!("/system.slice/a-service-with-a-long-name-{at}.service");
        let named = |at| (at, name(at));
        RecordingBlock {
            from: 1_700_000_000 + i64::from(number) * 60,
            elapsed_s: 60.000_123,
            busy: (0..3).map(|_| span(time(cores as u64 * 20_000_000))).collect(),
            cores: (0..cores).map(|_| (0..2).map(|_| time(30_000) as u32).collect()).collect(),
            names: (1..=groups).filter(|_| number == 0).map(named).collect(),
            groups: (1..=groups)
                .map(|at| RecordedGroup(at, time(900_000), time(900_000), Some(time(60_000))))
                .collect(),
            unseen: time(10_000),
            waiting: Waiting { low_s: 123.456_789, high_s: Some(123.456_789) },
        }
    }

    #[test]
    fn a_day_of_64_cpus_and_50_groups_has_at_most_3_mb_and_is_read_back() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("day.rec");
        let (mut file, _) = Recording::open(&path).expect("open");
        let mut draws = Stream::new(1, "blocks", 0);
        let blocks: Vec<RecordingBlock> =
            (0..1440).map(|number| block(number, 32, 50, &mut draws)).collect();
        file.head(&head(32)).expect("head");
        for block in &blocks {
            file.block(block.clone()).expect("block");
        }
        let bytes = fs::metadata(&path).expect("file").len();
        assert!((1_000_000..=3_000_000).contains(&bytes), "{bytes} bytes");
        let recorded = read(&path).expect("reads");
        assert_eq!((recorded.torn_bytes, recorded.sessions.len()), (0, 1));
        assert_eq!(
            (&recorded.sessions[0].head, &recorded.sessions[0].blocks),
            (&head(32), &blocks)
        );
        assert!(matches!(Recording::open(&path), Err(Error::Busy { .. })));
    }

    #[test]
    fn cut_at_every_byte_it_reads_to_the_last_block_and_goes_on() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.rec");
        let mut draws = Stream::new(2, "blocks", 0);
        let blocks: Vec<_> = (0..3).map(|number| block(number, 1, 2, &mut draws)).collect();
        let (mut file, _) = Recording::open(&path).expect("open");
        file.head(&head(1)).expect("head");
        for block in &blocks {
            file.block(block.clone()).expect("block");
        }
        drop(file);
        let bytes = fs::read(&path).expect("bytes");
        let ends: Vec<usize> = bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at)
            .collect();
        for cut in 0..=bytes.len() {
            fs::write(&path, &bytes[..cut]).expect("cut");
            let whole = ends.iter().filter(|end| **end < cut).count();
            let recorded = read(&path).unwrap_or_else(|error| panic!("{cut}: {error}"));
            let found: usize =
                recorded.sessions.iter().map(|session| 1 + session.blocks.len()).sum();
            assert_eq!(found, whole, "cut at byte {cut}");
            assert_eq!(recorded.torn_bytes > 0, cut > 0 && bytes[cut - 1] != b'\n', "{cut}");
            let (mut file, again) = Recording::open(&path).expect("open");
            assert_eq!(again.torn_bytes, recorded.torn_bytes);
            file.head(&head(1)).expect("another session");
            file.block(blocks[0].clone()).expect("block");
            let recorded = read(&path).expect("reads again");
            assert_eq!(recorded.sessions.last().expect("it").blocks, blocks[..1], "{cut}");
        }
    }

    #[test]
    fn what_is_no_recording_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.rec");
        let mut draws = Stream::new(3, "blocks", 0);
        let (mut file, _) = Recording::open(&path).expect("open");
        file.head(&head(1)).expect("head");
        let whole = block(0, 1, 1, &mut draws);
        file.block(whole.clone()).expect("block");
        file.block(whole.clone()).expect("block");
        drop(file);
        let text = fs::read_to_string(&path).expect("text");
        let changed = text.replacen("\"elapsed_s\":60.", "\"elapsed_s\":61.", 1);
        fs::write(&path, &changed).expect("write");
        let told = read(&path).expect_err("changed").to_string();
        assert!(told.contains("line 2: its checksum"), "{told}");
        for other in ["#!/bin/sh\n", "x", "{\"schema\":1}\n"] {
            fs::write(&path, other).expect("write");
            let told = Recording::open(&path).expect_err(other).to_string();
            assert!(told.contains("line 1") && told.contains("account --record"), "{told}");
            assert_eq!(fs::read_to_string(&path).expect("text"), other);
        }
        fs::remove_file(&path).expect("removed");
        let (mut file, _) = Recording::open(&path).expect("open");
        file.head(&head(2)).expect("head");
        file.block(whole.clone()).expect("a block of another machine");
        file.block(whole).expect("a block of another machine");
        let told = read(&path).expect_err("not that machine's").to_string();
        assert!(told.contains("line 2: fields busy and cores have 3 and 1"), "{told}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line_and_field() {
        let (mut sane, mut draws) = (String::new(), Stream::new(4, "blocks", 0));
        let line = |line: &Line| serde_json::to_string(line).expect("json");
        for text in [line(&Line::Head(head(1))), line(&Line::Block(block(0, 1, 2, &mut draws)))] {
            sane += &(text + "\n");
        }
        let read = |text: &str| {
            let mut sealed = Vec::new();
            for line in text.lines().chain(text.lines().last()) {
                let mut line = line.as_bytes().to_vec();
                seal(&mut line);
                sealed.extend(line);
                sealed.push(b'\n');
            }
            read_from(Path::new("a.rec"), &sealed[..]).map_err(|error| error.to_string())
        };
        assert!(read(&sane).is_ok(), "{sane}");
        let time = "60.000123";
        let changes = [
            ("\"started\":1700000000", "\"started\":-9223372036854775808", "line 1: field started"),
            ("\"every_s\":60.0", "\"every_s\":-1.0", "line 1: field every_s"),
            ("[[0,1]]", "[[0,1],[1]]", "line 1: field siblings has CPU 1"),
            ("[[0,1]]", "[[0,4294967295]]", "line 1: field siblings has CPU"),
            ("[[0,1]]", "[[]]", "line 1: field siblings has a core without CPUs"),
            ("\"sampled\"", "\"magic\"", "line 1: field method"),
            ("\"sampled\"", "\"ma\\ngic\"", "line 1: field method: unknown variant `ma gic`"),
            ("\"from\":1700000000", "\"from\":9223372036854775807", "line 2: field from"),
            ("\"from\":1700000000", "\"from\":-9223372036854775808", "line 2: field from"),
            (time, "1e300", "line 2: field elapsed_s is 1e300"),
            (time, "1e-300", "line 2: field elapsed_s is 1e-300"),
            (time, "1e999", "line 2: field elapsed_s: number out of range"),
            (time, "NaN", "line 2: field elapsed_s: expected value"),
            (
                "\"busy\":[",
                "\"busy\":[{\"value\":9e8,\"low\":9e8,\"high\":9e8},",
                "line 2: fields busy",
            ),
            ("\"low\":", "\"low\":-", "line 2: field busy"),
            ("\"cores\":[[", "\"cores\":[[1,", "line 2: field cores"),
            (
                "\"groups\":[[1,",
                "\"groups\":[[1,18446744073709551615,0,null],[1,",
                "line 2: fields groups",
            ),
            ("\"low_s\":123", "\"low_s\":-123", "line 2: field waiting"),
        ];
        for (find, put, part) in changes {
            let at = if part.starts_with("line 1") { 0 } else { sane.find('\n').expect("a line") };
            let changed = sane[..at].to_owned() + &sane[at..].replacen(find, put, 1);
            assert_ne!(changed, sane, "{find}");
            let told = read(&changed).expect_err(put);
            assert!(told.contains(part) && told.contains("a.rec"), "{put}: {told}");
            assert!(told.len() < 300, "{told}");
        }
    }

    /// Whatever bit of it is flipped, it is read to what is whole, or refused with the line.
    #[test]
    fn a_flipped_bit_is_noticed_wherever_it_is() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.rec");
        let mut draws = Stream::new(5, "blocks", 0);
        let (mut file, _) = Recording::open(&path).expect("open");
        file.head(&head(1)).expect("head");
        for number in 0..2 {
            file.block(block(number, 1, 1, &mut draws)).expect("block");
        }
        drop(file);
        let whole = fs::read(&path).expect("bytes");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << draws.below(8);
            match read_from(&path, &bytes[..]) {
                Ok(recorded) => assert!(recorded.torn_bytes > 0, "byte {at} is not noticed"),
                Err(error) => assert!(error.to_string().contains("line "), "byte {at}: {error}"),
            }
        }
    }
}
