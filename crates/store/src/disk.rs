//! The seam to the file system: every write of a study's folder goes through here. In tests a seed
//! makes it write or read short, be interrupted, be full, or fail.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where a file is written before it takes its name. Two may merge at once; each has its own.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// User and group that files belong to once they are written; `None` leaves them ours.
    pub(crate) owner: Option<(u32, u32)>,
    #[cfg(test)]
    pub(crate) faults: Option<faults::Faults>,
}

impl Disk {
    pub(crate) fn giving_to(owner: Option<(u32, u32)>) -> Self {
        Self {
            owner,
            #[cfg(test)]
            faults: None,
        }
    }

    /// Writes all of it, as often as it takes.
    pub(crate) fn write_all(&mut self, file: &File, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(file, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write(&mut self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(test)]
        let bytes =
            &bytes[..self.faults.as_mut().map_or(Ok(bytes.len()), |f| f.write(bytes.len()))?];
        file.write(bytes)
    }

    pub(crate) fn cut(&mut self, file: &File, length: u64) -> io::Result<()> {
        #[cfg(test)]
        self.faults.as_mut().map_or(Ok(()), faults::Faults::other)?;
        file.set_len(length)
    }

    pub(crate) fn sync(&mut self, file: &File) -> io::Result<()> {
        #[cfg(test)]
        if let Some(faults) = self.faults.as_mut() {
            // What a power cut would lose is not seen by a test, and thousands of syncs take minutes.
            return faults.other();
        }
        file.sync_data()
    }

    /// Writes a file whole or not at all.
    pub(crate) fn replace(
        &mut self,
        path: &Path,
        temporary: &Path,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.replace_by(path, temporary, |out| out.write_all(bytes))
    }

    /// The same of what is made piece by piece: under another name first, at which nothing is opened
    /// that was there already (O_EXCL). It is given away while it is open, never by its name.
    pub(crate) fn replace_by(
        &mut self,
        path: &Path,
        temporary: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let written = (|| {
            // The rest of a killed process, or whatever somebody put there: its name goes, no more.
            match std::fs::remove_file(temporary) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let file = File::create_new(temporary)?;
            let mut out = BufWriter::new(Piecewise { disk: self, file: &file });
            write(&mut out)?;
            out.flush()?;
            drop(out);
            give(&file, self.owner)?;
            self.sync(&file)?;
            #[cfg(test)]
            self.faults.as_mut().map_or(Ok(()), faults::Faults::other)?;
            std::fs::rename(temporary, path)
        })();
        if written.is_err() {
            let _ = std::fs::remove_file(temporary);
            return written;
        }
        #[cfg(test)]
        if self.faults.is_some() {
            return Ok(());
        }
        // The rename itself must survive a crash: the folder is synced too.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

/// Opens a file to read. A pipe is refused: to open it would wait for whoever writes into it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}

/// Refuses a file with a second name: a hard link to a file of somebody else, that a writer would
/// change in their place.
pub(crate) fn one_name(file: &File) -> io::Result<()> {
    let of = file.metadata()?;
    if of.is_file() && of.nlink() > 1 {
        return Err(io::Error::other(
            "it has a second name (a hard link), and whatever has that name would be changed too; \
             copy it to a file of its own",
        ));
    }
    Ok(())
}

/// Gives an open file or folder to a user, if it is ours or the user's already and has one name: root
/// must give away nothing that somebody else put in its place.
pub(crate) fn give(file: &File, owner: Option<(u32, u32)>) -> io::Result<()> {
    let Some((user, group)) = owner else { return Ok(()) };
    one_name(file)?;
    let holder = file.metadata()?.uid();
    if holder != user && holder != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "it belongs to user {holder}, and is not given away"
        )));
    }
    std::os::unix::fs::fchown(file, Some(user), Some(group))
}

struct Piecewise<'a> {
    disk: &'a mut Disk,
    file: &'a File,
}

impl Write for Piecewise<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write(self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What goes wrong, drawn from a seed.
#[cfg(test)]
pub(crate) mod faults {
    use coretwin_base::random::Stream;
    use rustix::io::Errno;
    use std::io::{self, Read, Write};

    #[derive(Debug)]
    pub(crate) struct Faults {
        stream: Stream,
        /// A disk that is full stays full.
        full: bool,
        /// Whether something was told that nobody can go on after.
        pub(crate) broke: bool,
        /// How many were made.
        pub(crate) made: u64,
    }

    /// What is read of a disk with faults.
    pub(crate) struct FaultyFile<'a> {
        pub(crate) bytes: &'a [u8],
        pub(crate) faults: &'a mut Faults,
    }

    impl Read for FaultyFile<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.bytes.len());
            let count = self.faults.read(count)?;
            self.bytes.read(&mut buffer[..count])
        }
    }

    /// How many seeds a test takes: so many, or `CORETWIN_FAULT_SEEDS`.
    pub(crate) fn seeds(few: u64) -> u64 {
        let given = std::env::var("CORETWIN_FAULT_SEEDS").ok();
        given.and_then(|text| text.parse().ok()).unwrap_or(few)
    }

    /// Tells `make check-all`.
    pub(crate) fn tell(made: u64) {
        let _ = writeln!(io::stdout(), "\ndid: {made} faults of disks");
    }

    impl Faults {
        pub(crate) fn new(seed: u64) -> Self {
            Self { stream: Stream::new(seed, "faults", 0), full: false, broke: false, made: 0 }
        }

        /// How many bytes of so many are written.
        pub(super) fn write(&mut self, count: usize) -> io::Result<usize> {
            if self.full {
                return Err(Errno::NOSPC.into());
            }
            match self.stream.below(12) {
                0 => self.fault(Errno::INTR).map(|()| count),
                1 => self.fault(Errno::IO).map(|()| count),
                2 => {
                    self.full = true;
                    self.fault(Errno::NOSPC).map(|()| count)
                }
                3..6 => {
                    self.made += 1;
                    Ok(self.stream.below(count as u64 + 1).max(1) as usize)
                }
                _ => Ok(count),
            }
        }

        /// How many bytes of so many are read.
        fn read(&mut self, count: usize) -> io::Result<usize> {
            match self.stream.below(64) {
                0..16 => self.fault(Errno::INTR).map(|()| count),
                16 => self.fault(Errno::IO).map(|()| count),
                17..40 if count > 1 => {
                    self.made += 1;
                    Ok(1 + self.stream.below(count as u64 - 1) as usize)
                }
                _ => Ok(count),
            }
        }

        /// Whether a cut, sync or rename works.
        pub(super) fn other(&mut self) -> io::Result<()> {
            if self.stream.below(8) == 0 { self.fault(Errno::IO) } else { Ok(()) }
        }

        fn fault(&mut self, errno: Errno) -> io::Result<()> {
            self.made += 1;
            self.broke |= errno != Errno::INTR;
            Err(errno.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_any_faults_a_file_is_the_old_one_or_the_new_one_and_no_rest_is_left() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, temporary) = (folder.path().join("a"), folder.path().join(".a.new"));
        let (mut made, mut failed) = (0, 0);
        let seeds = faults::seeds(2000);
        for seed in 0..seeds {
            std::fs::write(&path, b"old").expect("old");
            let mut disk = Disk { faults: Some(faults::Faults::new(seed)), ..Disk::default() };
            let written = disk.replace(&path, &temporary, b"something new");
            let found = std::fs::read(&path).expect("there");
            let expected: &[u8] = if written.is_ok() { b"something new" } else { b"old" };
            assert_eq!(found, expected, "seed {seed}");
            assert!(!temporary.exists(), "seed {seed}");
            made += disk.faults.map_or(0, |faults| faults.made);
            failed += u64::from(written.is_err());
        }
        faults::tell(made);
        let some = seeds / 10..seeds;
        assert!(made > seeds / 2 && some.contains(&failed), "{made} faults, {failed} failures");
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, temporary) = (folder.path().join("a"), folder.path().join(".a.new"));
        let precious = folder.path().join("precious");
        std::fs::write(&precious, b"precious").expect("write");
        std::os::unix::fs::symlink(&precious, &temporary).expect("link");
        Disk::default().replace(&path, &temporary, b"x").expect("written");
        assert_eq!(std::fs::read(&precious).expect("read"), b"precious");
        assert_eq!(std::fs::read(&path).expect("read"), b"x");
        // A hard link, as root can make one wherever fs.protected_hardlinks keeps others from it.
        for name in [&path, &temporary] {
            let _ = std::fs::remove_file(name);
            std::fs::hard_link(&precious, name).expect("link");
            Disk::default().replace(&path, &temporary, b"y").expect("written");
            assert_eq!(std::fs::read(&precious).expect("read"), b"precious");
            assert_eq!(std::fs::read(&path).expect("read"), b"y");
        }
    }

    #[test]
    fn only_what_is_ours_and_has_one_name_is_given_away() {
        let folder = tempfile::tempdir().expect("folder");
        let place = |name: &str| folder.path().join(name);
        let ours = rustix::process::geteuid().as_raw();
        let to_us = Some((ours, rustix::process::getegid().as_raw()));
        let file = File::create_new(place("a")).expect("made");
        give(&file, to_us).expect("ours, to us");
        give(&File::open(folder.path()).expect("folder"), to_us).expect("folders have many names");
        std::fs::hard_link(place("a"), place("b")).expect("link");
        let why = give(&file, to_us).expect_err("two names").to_string();
        assert!(why.contains("a hard link"), "{why}");
        if ours != 0 {
            return;
        }
        std::fs::remove_file(place("b")).expect("removed");
        std::os::unix::fs::fchown(&file, Some(1234), None).expect("root may");
        let why = give(&file, Some((4321, 4321))).expect_err("another's").to_string();
        assert!(why.contains("belongs to user 1234"), "{why}");
        give(&file, Some((1234, 1234))).expect("it is that user's already");
        // Given away whole: by the descriptor, before it has its name.
        let mut disk = Disk::giving_to(Some((1234, 1234)));
        disk.replace(&place("c"), &place(".c.new"), b"x").expect("written");
        assert_eq!(std::fs::metadata(place("c")).expect("there").uid(), 1234);
    }
}
