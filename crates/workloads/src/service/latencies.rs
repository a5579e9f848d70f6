//! Latencies that a user's own program measured: a file with one number a line.

use super::recorder::Recorder;
use crate::Error;
use coretwin_base::caps;
use coretwin_base::printable::clean;
use coretwin_base::study::latency::Latency;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::str::FromStr;

/// Unit of a number without a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    pub const NAMES: [(&'static str, Self); 5] = [
        ("ns", Self::Nanoseconds),
        ("us", Self::Microseconds),
        ("µs", Self::Microseconds),
        ("ms", Self::Milliseconds),
        ("s", Self::Seconds),
    ];

    fn ns(self) -> f64 {
        match self {
            Self::Nanoseconds => 1.0,
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1e6,
            Self::Seconds => 1e9,
        }
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::NAMES.into_iter().find(|(name, _)| *name == text);
        named.map(|(_, unit)| unit).ok_or_else(|| "a unit is ns, us, ms or s".to_owned())
    }
}

/// Reads a file of latencies: a number a line, its unit behind it (`1.2ms`) or, without one, as given.
/// Empty lines and those that begin with `#` are passed over. Errors name file and line.
pub fn read(
    path: &Path,
    unit: Option<Unit>,
    offered_per_s: Option<f64>,
    duration_s: f64,
) -> Result<Latency, Error> {
    let file = File::open(path)
        .map_err(|error| Error::system(format!("cannot read {}", path.display()), error))?;
    let mut from = BufReader::new(file);
    let (mut all, mut text) = (Recorder::default(), Vec::new());
    let (mut number, mut bytes) = (0_u64, 0);
    loop {
        number += 1;
        let wrong = |why: &str| {
            let path = clean(&path.display().to_string());
            Error::failed(format!("{path}: line {number}: {why}"))
        };
        match caps::LINE.line(&mut from, &mut text) {
            Ok(0) => break,
            Ok(count) => bytes += count as u64,
            Err(error) => return Err(wrong(&error.to_string())),
        }
        if bytes > caps::LATENCIES.bytes {
            return Err(wrong(&caps::LATENCIES.exceeded().to_string()));
        }
        let line = std::str::from_utf8(&text).map_err(|_| wrong("it is not text"))?.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        all.note(nanoseconds(line, unit).map_err(|why| wrong(&why))?);
    }
    if all.count() == 0 {
        let path = clean(&path.display().to_string());
        return Err(Error::failed(format!("{path} has no latency; it needs one number a line")));
    }
    let throughput_per_s = match duration_s > 0.0 {
        true => all.count() as f64 / duration_s,
        false => 0.0,
    };
    let (sent, completed) = (all.count(), all.count());
    let mut told = Latency { sent, completed, ..Latency::default() };
    (told.offered_per_s, told.duration_s) = (offered_per_s, duration_s);
    told.throughput_per_s = throughput_per_s;
    all.tell(&mut told);
    Ok(told)
}

fn nanoseconds(line: &str, unit: Option<Unit>) -> Result<u64, String> {
    let end = line.trim_end_matches(|c: char| c.is_alphabetic()).len();
    // An exponent is no unit: 1e-3 ends with a digit.
    let (number, suffix) = (line[..end].trim_end(), &line[end..]);
    let unit = match (suffix, unit) {
        ("", None) => return Err(format!("'{}' has no unit, like 1.2ms; name one", clean(line))),
        ("", Some(unit)) => unit,
        (suffix, _) => suffix.parse().map_err(|why| format!("'{}': {why}", clean(line)))?,
    };
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    let value = value.ok_or_else(|| format!("'{}' is no latency, like 1.2ms", clean(line)))?;
    Ok((value * unit.ns()).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn of(text: &str, unit: Option<Unit>) -> Result<Latency, String> {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("latencies");
        std::fs::write(&path, text).expect("written");
        read(&path, unit, Some(100.0), 2.0).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_read_with_their_own_unit_or_the_one_given() {
        let told = of("1.5ms\n500 us\n# comment\n\n2e-3s\r\n1000000ns", None).expect("read");
        assert_eq!((told.sent, told.mean_s, told.max_s), (4, Some(1.25e-3), Some(2e-3)));
        assert_eq!((told.throughput_per_s, told.offered_per_s), (2.0, Some(100.0)));
        assert_eq!(of("3\n4ms", Some(Unit::Seconds)).expect("read").max_s, Some(3.0));
        let many: String = (0..10_000).map(|number| format!("{number}us\n")).collect();
        let told = of(&many, None).expect("read");
        assert!(told.p99_s.is_some_and(|p99| (p99 / 9.9e-3 - 1.0).abs() < 2e-3), "{told:?}");
        assert_eq!((told.p999_s, told.generator), (None, None));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, part) in [
            ("1ms\nx\n", "line 2: 'x': a unit"),
            ("1ms\n\n5\n", "line 3: '5' has no unit"),
            ("-1ms", "line 1: '-1ms' is no latency"),
            ("nanms", "line 1: 'nanms': a unit"),
            ("1e999s", "line 1: '1e999s' is no latency"),
            ("1h", "a unit is ns, us, ms or s"),
            ("# nothing", "has no latency"),
        ] {
            let why = of(text, None).expect_err(text);
            assert!(why.contains(part), "{why}");
        }
        let endless = read(Path::new("/dev/zero"), None, None, 1.0).expect_err("endless");
        assert!(endless.to_string().contains("line 1: it has more than 16 MiB"), "{endless}");
        let folder = tempfile::tempdir().expect("folder");
        // Comments without end, through a FIFO, for a file of that size would have to be written.
        let line =
            "mkfifo l && touch made && exec yes \"#$(head -c 99999 /dev/zero | tr '\\0' x)\" > l";
        let mut sh =
            Command::new("sh").args(["-c", line]).current_dir(&folder).spawn().expect("sh");
        while !folder.path().join("made").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let endless = read(&folder.path().join("l"), None, None, 1.0).expect_err("endless");
        assert!(endless.to_string().contains(&caps::LATENCIES.exceeded().to_string()), "{endless}");
        sh.wait().expect("the pipe breaks");
        assert!(of("\u{1b}[2Jms", None).is_err_and(|why| !why.contains('\u{1b}')));
    }
}
