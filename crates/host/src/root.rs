//! The folder that stands for `/`, and how files under it are read.

use crate::Error;
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::CpuSet;
use std::fs::File;
use std::path::{Path, PathBuf};

pub(crate) const CPUS: &str = "sys/devices/system/cpu";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    folder: PathBuf,
}

impl Root {
    pub fn system() -> Self {
        Self::at("/")
    }

    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether this is the running machine, so that system calls and files agree.
    pub fn is_system(&self) -> bool {
        self.folder == Path::new("/")
    }

    /// Where a path of the machine, with or without its leading `/`, lies under this root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(path);
        File::open(&path)
            .and_then(|file| caps::MACHINE.read(file))
            .map_err(|cause| Error::Read { path, cause })
    }

    /// The text of a file. Bytes that are not UTF-8 are replaced.
    pub fn text(&self, path: &str) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    /// The text of a file without the blanks around it; `None` if it is missing, unreadable or
    /// empty. For facts that may be absent.
    pub fn fact(&self, path: &str) -> Option<String> {
        let text = self.text(path).ok()?;
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A number that is the whole content of a file; `None` if it is missing or no number.
    pub fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.fact(path)?.parse().ok()
    }

    /// A CPU list that is the whole content of a file; `None` if the file is missing. An empty file
    /// is the empty set. Errors: [`Error::Content`] if it is there and is no CPU list.
    pub fn cpus(&self, path: &str) -> Result<Option<CpuSet>, Error> {
        let Ok(text) = self.text(path) else { return Ok(None) };
        match CpuSet::parse(&text) {
            Ok(cpus) => Ok(Some(cpus)),
            Err(bad) => Err(Error::Content { path: self.path(path), why: bad.to_string() }),
        }
    }

    /// The names in a folder, sorted; none at all if it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The numbers `n` for which the folder holds an entry `<prefix>n`, in order.
    pub fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> = self
            .names(path)
            .iter()
            .filter_map(|name| name.strip_prefix(prefix)?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// Every thread that is visible, with its process: `(process, thread)`, in order.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.numbered("proc", "").into_iter().flat_map(|process| {
            let threads = self.numbered(&format!("proc/{process}/task"), "");
            threads.into_iter().map(move |thread| (process, thread))
        })
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }
}

/// Replaces a file as a whole: whoever reads it sees the old text or the new one. The new text lies
/// beside it meanwhile, under a name that ends in our process id.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::decay::Decay;
    use coretwin_base::random::Stream;
    use rustix::io::Errno;
    use std::io::{self, Read};

    /// A file of a kernel that gives parts, is interrupted, or whose device fails.
    struct Faults<'a> {
        bytes: &'a [u8],
        stream: Stream,
        made: u64,
        broke: bool,
    }

    impl Read for Faults<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.bytes.len());
            let kind = self.stream.below(32);
            self.made += u64::from(kind < 20);
            self.broke |= kind == 0;
            match kind {
                0 => Err(Errno::IO.into()),
                1..10 => Err(Errno::INTR.into()),
                10..20 => {
                    let part = 1 + self.stream.below(count.max(1) as u64) as usize;
                    self.bytes.read(&mut buffer[..part.min(count)])
                }
                _ => self.bytes.read(&mut buffer[..count]),
            }
        }
    }

    #[test]
    fn under_any_faults_a_file_is_read_whole_or_the_devices_error_is_told() {
        let text: Vec<u8> = (0..5000_u32).flat_map(u32::to_le_bytes).collect();
        let (mut made, mut failed, seeds) = (0, 0, Decay::seeds(500));
        for seed in 0..seeds {
            let stream = Stream::new(seed, "reads", 0);
            let mut faults = Faults { bytes: &text, stream, made: 0, broke: false };
            match caps::MACHINE.read(&mut faults) {
                Ok(read) => assert!(read == text && !faults.broke, "seed {seed}"),
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "seed {seed}");
                    failed += 1;
                }
            }
            made += faults.made;
        }
        Decay::tell(made);
        let some = seeds / 20..seeds;
        assert!(made > seeds && some.contains(&failed), "{made} faults, {failed} failures");
    }

    #[test]
    fn errors_name_the_path_and_absent_facts_are_absent() {
        let folder = tempfile::tempdir().expect("folder");
        let root = Root::at(folder.path());
        std::fs::write(folder.path().join("list"), "0-3,x\n").expect("write");
        std::fs::write(folder.path().join("number"), " 42\n").expect("write");
        let missing = root.text("/sys/nothing").expect_err("missing").to_string();
        assert!(missing.contains("sys/nothing"), "{missing}");
        let bad = root.cpus("list").expect_err("bad").to_string();
        assert!(bad.contains("/list: ") && bad.contains("'x' is not a number"), "{bad}");
        assert_eq!(root.cpus("nothing").expect("absent"), None);
        assert_eq!(root.number::<u64>("number"), Some(42));
        assert_eq!(root.number::<u64>("list"), None);
        assert_eq!(root.fact("nothing"), None);
    }

    #[test]
    fn numbered_entries_come_in_order_of_number() {
        let folder = tempfile::tempdir().expect("folder");
        for name in ["cpu10", "cpu2", "cpufreq", "cpu0"] {
            std::fs::create_dir(folder.path().join(name)).expect("create");
        }
        assert_eq!(Root::at(folder.path()).numbered("", "cpu"), [0, 2, 10]);
    }
}
