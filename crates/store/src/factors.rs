//! `factors.jsonl`: slowdowns and yields measured on this machine, a line each, kept in the state
//! folder for later accounting. Appended to only; readers take the last line that fits.

use crate::error::Error;
use coretwin_base::account::cputime::result::MeasuredFactors;
use coretwin_base::caps;
use coretwin_base::schema;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "factors.jsonl";

/// Appends a line, whole or not at all; where it stands.
pub fn append(state: &Path, measured: &MeasuredFactors) -> Result<PathBuf, Error> {
    let path = state.join(FILE);
    fs::create_dir_all(state).map_err(|source| Error::io("make", state, source))?;
    let mut line =
        serde_json::to_vec(measured).map_err(|error| Error::io("write", &path, error.into()))?;
    line.push(b'\n');
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .open(&path)
        .map_err(|source| Error::io("open", &path, source))?;
    // A line that a crash tore is ended, so that it spoils no other.
    if ends_torn(&file) {
        line.insert(0, b'\n');
    }
    file.write_all(&line)
        .and_then(|()| file.sync_data())
        .map_err(|source| Error::io("write", &path, source))?;
    Ok(path)
}

fn ends_torn(file: &File) -> bool {
    use std::os::unix::fs::FileExt;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut last = [0];
    length > 0 && file.read_exact_at(&mut last, length - 1).is_ok() && last != *b"\n"
}

/// Every line that can be read, the oldest first. Torn lines, and lines of a newer version, are left
/// out; no file is no lines. Errors: if the file is there and cannot be read.
pub fn read(state: &Path) -> Result<Vec<MeasuredFactors>, Error> {
    let path = state.join(FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::io("open", &path, source)),
    };
    let mut bytes = Vec::new();
    file.take(caps::STATE.bytes)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::io("read", &path, source))?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let measured = lines.filter_map(|line| serde_json::from_slice::<MeasuredFactors>(line).ok());
    Ok(measured.filter(|measured| schema::check(measured.schema).is_ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::cputime::result::{Estimate, Factors};
    use coretwin_base::account::cputime::{Pair, Relation};
    use coretwin_base::machine::cpu_set::CpuId;
    use coretwin_base::machine::topology::Trust;

    fn measured(work: &str) -> MeasuredFactors {
        let number = |value: f64| Estimate { value, low: Some(value - 0.1), high: None };
        MeasuredFactors {
            schema: schema::SCHEMA,
            measured_utc: "2026-01-01T00:00:00Z".to_owned(),
            cpu_model: "a processor".to_owned(),
            kernel: "6.1".to_owned(),
            hypervisor: "none".to_owned(),
            work: work.to_owned(),
            neighbour: "native".to_owned(),
            cpus: Pair { work: CpuId(0), neighbour: CpuId(4), relation: Relation::Siblings },
            topology_trust: Trust::Reported,
            factors: Factors {
                slowdown: number(1.5),
                neighbour_slowdown: None,
                core_yield: Some(number(1.3)),
            },
            blocks: 8,
        }
    }

    #[test]
    fn what_is_appended_is_read_and_a_torn_line_spoils_no_other() {
        let folder = tempfile::tempdir().expect("folder");
        let state = folder.path().join("new/state");
        assert_eq!(read(&state).expect("none"), []);
        let path = append(&state, &measured("a")).expect("append");
        append(&state, &measured("b")).expect("append");
        let whole = fs::read(&path).expect("file");
        fs::write(&path, &whole[..whole.len() - 20]).expect("tear");
        append(&state, &measured("c")).expect("append");
        let newer = serde_json::to_string(&measured("d")).expect("json");
        let newer = newer.replace("\"schema\":1", "\"schema\":999");
        fs::write(&path, [fs::read(&path).expect("file"), newer.into_bytes()].concat())
            .expect("write");
        assert_eq!(read(&state).expect("read"), [measured("a"), measured("c")]);
    }
}
