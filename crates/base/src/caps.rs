//! How much of what comes from outside is read: one table for the code, for the reference and for the
//! test that gives endless input to every reader.

use std::io::{self, BufRead, Read};

/// A kind of input from outside this program, and the most of it that is read.
#[derive(Debug, PartialEq, Eq)]
pub struct Cap {
    /// What it is, in words that follow "of".
    pub of: &'static str,
    /// Most bytes that are read; one more is an error.
    pub bytes: u64,
    pub why: &'static str,
}

#[derive(Debug, thiserror::Error)]
#[error("it has more than {}, the most that is read of {}", size(.0.bytes), .0.of)]
pub struct Exceeded(&'static Cap);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

macro_rules! caps {
    ($($name:ident, $of:literal, $bytes:expr, $why:literal;)*) => {
        $(#[doc = concat!("The cap of ", $of, ".")]
        pub static $name: Cap = Cap { of: $of, bytes: $bytes, why: $why };)*
        pub static ALL: &[&Cap] = &[$(&$name),*];
    };
}

caps! {
    LINE, "a line", 16 * MIB,
        "in `journal.jsonl`, `cells.jsonl`, `members.jsonl`, a pod's log, and between program and worker; a torn last line is no longer either. Long are `samples` alone: 800,000 of 20 digits fit";
    JOURNAL, "a journal", 4 * GIB,
        "and of `members.jsonl` and `cells.jsonl`; read line by line: what is held is the readings";
    RECORD, "a record", 64 * MIB,
        "`plan.json`, `environment.json`, `summary.json`, `cputime.json`, `fleet.json`, `sweep.json`, and whatever a bundle has beside its journal: held whole while it is read";
    RECORDING, "a recording", 64 * MIB,
        "of `account --record`, which ends there: a month of 64 CPUs and 50 groups; read line by line";
    MANIFEST, "a manifest", MIB,
        "of a bundle: a few names and digests";
    BUNDLE, "a bundle", GIB,
        "that is fetched from a host or a pod; it goes to the disk";
    ANSWER, "an answer", 64 * MIB,
        "of `ssh`, Slurm, `systemd-run` or `kubectl`, whose list of pods is the longest; of complaints the last 64 KiB count";
    STATE, "a state file", 16 * MIB,
        "in the state folder, in `/run/coretwin`, and `stamp` and `lock` of a fleet; of `factors.jsonl` the first 16 MiB count";
    MACHINE, "a file of the machine", 64 * MIB,
        "in `/proc`, `/sys`, `/boot` and `/usr`: `/proc/cpuinfo` of 8192 CPUs has 12 MB";
    IMPORT, "a result file", 16 * MIB,
        "of hyperfine or Phoronix: a million runs, the most that are taken, of 16 digits";
    TABLE, "a table", 16 * MIB,
        "for `audit`";
    MODEL, "a model", MIB,
        "presets, profiles, machines, scenarios, sweeps, fits, study files, and what `perf stat` wrote: people write them";
    RT_APP, "a workload of rt-app", 4 * MIB,
        "JSON, which may be made from a trace";
    HOSTS, "a list of hosts", 4 * MIB,
        "100,000 hosts of 40 letters";
    LOAD, "a load file", 128 * MIB,
        "after it is uncompressed; held whole, and as operations";
    LATENCIES, "a file of latencies", GIB,
        "one a line; what is held is a histogram";
    OUTPUT, "a command's output", 16 * MIB,
        "shared by copies that run side by side; more is no error: the end is kept, and metrics are looked for there";
    REQUEST, "a request", 4 * KIB,
        "to `top --openmetrics`, and an answer that is typed";
}

impl Cap {
    pub fn exceeded(&'static self) -> io::Error {
        io::Error::new(io::ErrorKind::FileTooLarge, Exceeded(self))
    }

    /// Reads to the end. Errors: the reader's, or [`Exceeded`].
    pub fn read(&'static self, from: impl Read) -> io::Result<Vec<u8>> {
        let (mut from, mut bytes) = (from.take(self.bytes + 1), Vec::new());
        loop {
            // A vector that only doubles would take up to twice the cap.
            let step = bytes.len().clamp(64 << 10, 8 << 20);
            bytes.try_reserve_exact(step)?;
            if from.by_ref().take(step as u64).read_to_end(&mut bytes)? == 0 {
                break;
            }
        }
        if bytes.len() as u64 > self.bytes { Err(self.exceeded()) } else { Ok(bytes) }
    }

    /// Reads text to the end. Errors: as [`Self::read`], and if it is not UTF-8.
    pub fn text(&'static self, from: impl Read) -> io::Result<String> {
        String::from_utf8(self.read(from)?)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
    }

    /// Reads a line into a buffer, with its line end; how many bytes it has, 0 at the end. Errors: as
    /// [`Self::read`].
    pub fn line(&'static self, from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
        line.clear();
        let count = from.by_ref().take(self.bytes + 1).read_until(b'\n', line)?;
        if count as u64 > self.bytes { Err(self.exceeded()) } else { Ok(count) }
    }
}

/// A number of bytes in the largest unit that divides it.
pub fn size(bytes: u64) -> String {
    let units = [(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "bytes")];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| bytes.is_multiple_of(*unit)).unwrap_or((1, "bytes"));
    format!("{} {name}", bytes / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_the_cap_is_read_and_one_more_byte_is_refused() {
        let bytes = |count: u64| io::repeat(b'x').take(count);
        assert_eq!(REQUEST.read(bytes(4096)).expect("as much").len(), 4096);
        let told = REQUEST.read(bytes(4097)).expect_err("one more").to_string();
        assert_eq!(told, "it has more than 4 KiB, the most that is read of a request");
        let mut line = Vec::new();
        let text = [vec![b'x'; 4095], b"\nend".to_vec()].concat();
        let mut text = text.as_slice();
        assert_eq!(REQUEST.line(&mut text, &mut line).expect("a line"), 4096);
        assert_eq!(REQUEST.line(&mut text, &mut line).expect("the end"), 3);
        assert_eq!(REQUEST.line(&mut text, &mut line).expect("nothing"), 0);
        let mut long = io::BufReader::new(bytes(4097));
        assert!(REQUEST.line(&mut long, &mut line).is_err());
    }
}
