//! Rows `creat-clo`, `link_test`, `dir_rtns_1`: names made, linked, read and removed.

use super::native::names::{self, Directory};
use super::{Call, LIST, OWN, Place, c_path};
use crate::copies::Remarks;
use crate::workload::text;
use crate::{Context, Error, scratch};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

const CREATIONS: u32 = 1000;

/// One name, made and closed again and again: the first time the file is new, later it is there
/// and empty.
struct CreateAndClose {
    path: CString,
}

impl Call for CreateAndClose {
    fn call(&mut self) -> Result<(), Error> {
        let trouble = |error| Error::system(format!("cannot create {:?}", self.path), error);
        for _ in 0..CREATIONS {
            drop(names::creat(&self.path).map_err(trouble)?);
        }
        names::unlink(&self.path).map_err(trouble)
    }
}

pub(super) fn creat_clo(place: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(CreateAndClose { path: c_path(&place.folder()?.join("created"))? }))
}

/// Links beside the first name, and how often each is removed and made again.
const LINKS: usize = 7;
const ROUNDS: u32 = 9;

struct Links {
    names: Vec<CString>,
}

impl Links {
    fn link_all(&self) -> io::Result<()> {
        let (first, others) = self.names.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let file = names::creat(first)?;
        for name in others {
            names::link(first, name)?;
        }
        for _ in 0..ROUNDS {
            for name in others {
                names::unlink(name)?;
                names::link(first, name)?;
            }
        }
        for name in &self.names {
            names::unlink(name)?;
        }
        drop(file);
        Ok(())
    }
}

impl Call for Links {
    fn call(&mut self) -> Result<(), Error> {
        self.link_all().context("cannot make hard links (some file systems have none)")
    }
}

pub(super) fn link_test(place: &Place) -> Result<Box<dyn Call>, Error> {
    let folder = place.folder()?;
    let names = (0..=LINKS).map(|number| c_path(&folder.join(format!("link{number:05}"))));
    Ok(Box::new(Links { names: names.collect::<Result<_, _>>()? }))
}

/// Entries of our own directory, and entries read in a call.
const ENTRIES: usize = 100;
const READS: u32 = 10_000;

struct ReadDirectory {
    path: CString,
    read: u64,
    rewound: u64,
    entries: u64,
    calls: u64,
}

impl ReadDirectory {
    fn read_all(&mut self) -> io::Result<()> {
        let mut directory = Directory::open(&self.path)?;
        for _ in 0..READS {
            if directory.read() {
                self.read += 1;
            } else {
                directory.rewind();
                self.rewound += 1;
            }
        }
        self.calls += 1;
        Ok(())
    }
}

impl Call for ReadDirectory {
    fn call(&mut self) -> Result<(), Error> {
        self.read_all().with_context(|| format!("cannot read {:?}", self.path))
    }

    fn remark(&mut self, to: &mut Remarks) {
        // Every pass over the directory reads each entry once and then its end.
        let reads = u64::from(READS);
        let ends = self.calls * (reads / (self.entries + 1));
        to.check(
            "entries_read",
            self.read + self.rewound == self.calls * reads && self.rewound == ends,
        );
        to.metric("entries", self.entries as f64, "entries");
    }
}

pub(super) fn dir_rtns_1(place: &Place) -> Result<Box<dyn Call>, Error> {
    let path = match Some(text(&place.params, LIST.name)).filter(|list| list != OWN) {
        Some(folder) => PathBuf::from(folder),
        None => hundred_entries(place.folder()?)?,
    };
    let entries =
        std::fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let entries = entries.count() as u64;
    let path = c_path(&path)?;
    // With the two that Rust leaves out: the folder itself and the one above.
    Ok(Box::new(ReadDirectory { path, read: 0, rewound: 0, entries: entries + 2, calls: 0 }))
}

fn hundred_entries(folder: &Path) -> Result<PathBuf, Error> {
    let path = scratch::subfolder(folder, "directory")?;
    for number in 0..ENTRIES {
        let file = path.join(format!("entry{number:02}"));
        std::fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(path)
}
