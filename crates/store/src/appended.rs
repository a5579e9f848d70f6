//! A file of lines that is only ever appended to: journals and recordings.

use crate::disk::{self, Disk};
use crate::error::Error;
use coretwin_base::caps::{self, Cap};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) disk: Disk,
    /// End of the last whole line.
    end: u64,
    /// About how many bytes are still to come, for the message when space runs out.
    pub(crate) expected_bytes: u64,
}

impl Appended {
    /// Opens it, making it if it is not there, and locks it; it is to be read, then [`Self::go_on`]. A link
    /// is not followed, and a file of two names refused: a study under sudo would write where it leads.
    /// Errors: if it cannot be opened, or another process writes to it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .and_then(|file| disk::one_name(&file).map(|()| file))
            .map_err(|source| Error::io("open", path, source))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Error::Busy { path: path.to_owned() })?;
        let (path, disk) = (path.to_owned(), Disk::default());
        Ok(Self { path, file, disk, end: 0, expected_bytes: 4096 })
    }

    /// Goes on where it was read to, and cuts a torn last line off.
    pub(crate) fn go_on(&mut self, torn_bytes: u64) -> Result<(), Error> {
        let failed = |doing, source| Error::io(doing, &self.path, source);
        let length = self.file.stream_position().map_err(|source| failed("read", source))?;
        self.end = length.saturating_sub(torn_bytes);
        let mut last = *b"\n";
        if self.end > 0 {
            let read = self.file.read_exact_at(&mut last, self.end - 1);
            read.map_err(|source| failed("read", source))?;
        }
        self.file.set_len(self.end).map_err(|source| failed("cut", source))?;
        let sought = self.file.seek(SeekFrom::Start(self.end));
        sought.map_err(|source| failed("seek in", source))?;
        if last != *b"\n" {
            self.write(b"\n")?;
        }
        Ok(())
    }

    /// Appends a line, whole or not at all. Errors: as of writing, and what would not be read again is
    /// not written.
    pub(crate) fn line(&mut self, mut line: Vec<u8>, most: &'static Cap) -> Result<(), Error> {
        for (cap, bytes) in [(&caps::LINE, 0), (most, self.end + 1)] {
            if bytes + line.len() as u64 > cap.bytes {
                return Err(Error::io("write", &self.path, cap.exceeded()));
            }
        }
        line.push(b'\n');
        self.write(&line)
    }

    /// Refuses to go on where the file has lost its name: what is appended would be lost with it.
    fn is_there(&self) -> Result<(), Error> {
        let id = |of: std::fs::Metadata| (of.dev(), of.ino());
        let named = std::fs::symlink_metadata(&self.path).map(id).ok();
        if named.is_some() && named == self.file.metadata().map(id).ok() {
            return Ok(());
        }
        let why = "it was removed or replaced while it was written, and its readings are lost";
        Err(Error::io("append to", &self.path, std::io::Error::other(why)))
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Error> {
        self.is_there()?;
        match self.disk.write_all(&self.file, line) {
            Ok(()) => {
                self.end += line.len() as u64;
                Ok(())
            }
            Err(source) => {
                // Best effort: if even this fails, readers still tolerate the torn line.
                let _ = self.disk.cut(&self.file, self.end);
                let _ = self.file.seek(SeekFrom::Start(self.end));
                Err(Error::writing(&self.path, self.expected_bytes, source))
            }
        }
    }

    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.is_there()?;
        self.disk
            .sync(&self.file)
            .map_err(|source| Error::writing(&self.path, self.expected_bytes, source))
    }
}
