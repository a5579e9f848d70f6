//! A machine whose files go bad while it is looked at, as a seed wants it: they vanish, cannot be
//! read (EIO), are folders, are empty or cut off, hold bytes that are no text, and numbers that no
//! machine has. What goes bad can be mended again, so that what stays wrong afterwards is seen.

use crate::root::Root;
use coretwin_base::random::Stream;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whoever reads it from its beginning is told EIO: nothing is mapped at address 0 (proc(5)).
const UNREADABLE: &str = "/proc/self/mem";
const NUMBERS: [&str; 8] = [
    "0",
    "-1",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999",
    "1e308",
];

/// The files of a machine below a root, as they were and as they were spoiled.
#[derive(Debug)]
pub struct Decay {
    files: BTreeMap<PathBuf, Vec<u8>>,
    spoiled: Vec<PathBuf>,
    stream: Stream,
    pub made: u64,
}

impl Decay {
    pub fn new(root: &Root, folders: &[&str], seed: u64) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for folder in folders {
            remember(&root.path(folder), &mut files)?;
        }
        let stream = Stream::new(seed, "decay", 0);
        Ok(Self { files, spoiled: Vec::new(), stream, made: 0 })
    }

    pub fn spoil(&mut self, count: usize) -> io::Result<()> {
        for _ in 0..count {
            let at = self.stream.below(self.files.len().max(1) as u64) as usize;
            let Some((path, text)) = self.files.iter().nth(at) else { return Ok(()) };
            let (path, text) = (path.clone(), text.clone());
            self.spoil_one(&path, &text)?;
            self.spoiled.push(path);
            self.made += 1;
        }
        Ok(())
    }

    fn spoil_one(&mut self, path: &Path, text: &[u8]) -> io::Result<()> {
        clear(path)?;
        match self.stream.below(8) {
            0 => Ok(()),
            1 => std::os::unix::fs::symlink(UNREADABLE, path),
            2 => fs::create_dir(path),
            3 => fs::write(path, b""),
            4 => fs::write(path, &text[..self.stream.below(text.len() as u64 + 1) as usize]),
            5 => fs::write(path, [text, b"\xff\xfe\0", text].concat()),
            _ => {
                let text = String::from_utf8_lossy(text);
                fs::write(path, other_number(&text, &mut self.stream))
            }
        }
    }

    pub fn mend(&mut self) -> io::Result<()> {
        for path in self.spoiled.drain(..) {
            clear(&path)?;
            if let Some(text) = self.files.get(&path) {
                fs::write(&path, text)?;
            }
        }
        Ok(())
    }

    /// How many seeds a test takes: so many, or `CORETWIN_FAULT_SEEDS`.
    pub fn seeds(few: u64) -> u64 {
        let given = std::env::var("CORETWIN_FAULT_SEEDS").ok();
        given.and_then(|text| text.parse().ok()).unwrap_or(few)
    }

    /// Tells the long checks how many files were spoiled.
    pub fn tell(made: u64) {
        let _ = writeln!(io::stdout(), "\ndid: {made} faults of files that are read");
    }
}

fn remember(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let kind = path.symlink_metadata()?;
        if kind.is_dir() {
            remember(&path, files)?;
        } else if kind.is_file() {
            let text = fs::read(&path)?;
            files.insert(path, text);
        }
    }
    Ok(())
}

fn clear(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(kind) if kind.is_dir() => fs::remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// The text with another number for one of its words.
fn other_number(text: &str, stream: &mut Stream) -> String {
    let is_number = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    let separators = [' ', '\n', ',', '-', '\t', ':', '='];
    let words: Vec<&str> = text.split_inclusive(separators).collect();
    let numbers = words.iter().filter(|word| is_number(word)).count();
    let chosen = stream.below(numbers.max(1) as u64) as usize;
    let number = NUMBERS[stream.below(NUMBERS.len() as u64) as usize];
    let mut seen = 0;
    let replaced = words.iter().map(|word| {
        let here = is_number(word) && seen == chosen;
        seen += usize::from(is_number(word));
        let end = word.find(separators).map_or("", |at| &word[at..]);
        if here { format!("{number}{end}") } else { (*word).to_owned() }
    });
    replaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spoiled_is_spoiled_and_what_is_mended_is_as_before() {
        let (_folder, root) = crate::fake::written("vm-adjacent");
        let all = |root: &Root| {
            let mut files = BTreeMap::new();
            remember(root.folder(), &mut files).expect("files");
            files
        };
        let before = all(&root);
        let mut decay = Decay::new(&root, &["sys", "proc"], 7).expect("remembered");
        decay.spoil(40).expect("spoiled");
        assert_eq!(decay.made, 40);
        decay.mend().expect("mended");
        assert!(all(&root) == before);
        std::os::unix::fs::symlink(UNREADABLE, root.path("bad")).expect("link");
        let error = fs::read(root.path("bad")).expect_err("unreadable");
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    }

    #[test]
    fn one_number_of_a_text_becomes_another() {
        for seed in 0..50 {
            let mut stream = Stream::new(seed, "numbers", 0);
            let text = other_number("cpu0 17 x: 3-5\n", &mut stream);
            let words = ["cpu0 ", "17 ", "x: ", "3-", "5\n"];
            let same = words.iter().filter(|word| text.contains(**word)).count();
            assert!((3..=5).contains(&same), "{text}");
        }
        assert_eq!(other_number("none", &mut Stream::new(1, "numbers", 0)), "none");
    }
}
