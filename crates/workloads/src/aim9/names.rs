//! Rows `creat-clo`, `link_test`, `dir_rtns_1`, `disk_src`: names made, linked, read, looked up and removed.
//!
//! A call of `disk_src` reads a list of 382 lines, shuffles the 57 names to look up and the 43 names to make
//! over 75 places each, and goes through the places: 57 `stat`, and 43 files made, closed and removed. It is
//! credited as 75 searches. The tree has the original's shape (24 folders, 8 of them with 40 empty files, up
//! to five deep) and names of our own.

use super::arithmetic::Random;
use super::native::kernel::{self as native, Directory};
use super::{LIST, OWN, Place, Prepared, c_path, made};
use crate::workload::{Telling, text};
use crate::{Context, Error, scratch};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

const CREATIONS: u32 = 1000;

/// One name, made and closed again and again: the first time the file is new, later it is there
/// and empty.
pub(super) fn creat_clo(place: &Place) -> Prepared {
    let path = c_path(&place.folder()?.join("created"))?;
    let call = move |(): &mut ()| {
        let trouble = |error| Error::system(format!("cannot create {path:?}"), error);
        for _ in 0..CREATIONS {
            drop(native::creat(&path).map_err(trouble)?);
        }
        native::unlink(&path).map_err(trouble)
    };
    made((), call, |(), _, _| {})
}

/// Links beside the first name, and how often each is removed and made again.
const LINKS: usize = 7;
const ROUNDS: u32 = 9;

fn link_all(names: &[CString]) -> io::Result<()> {
    let (first, others) = names.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let file = native::creat(first)?;
    for name in others {
        native::link(first, name)?;
    }
    for _ in 0..ROUNDS {
        for name in others {
            native::unlink(name)?;
            native::link(first, name)?;
        }
    }
    for name in names {
        native::unlink(name)?;
    }
    drop(file);
    Ok(())
}

pub(super) fn link_test(place: &Place) -> Prepared {
    let folder = place.folder()?;
    let names = (0..=LINKS).map(|number| c_path(&folder.join(format!("link{number:05}"))));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let call = move |(): &mut ()| {
        link_all(&names).context("cannot make hard links (some file systems have none)")
    };
    made((), call, |(), _, _| {})
}

/// Entries of our own directory, and entries read in a call.
const ENTRIES: usize = 100;
const READS: u32 = 10_000;

pub(super) fn dir_rtns_1(place: &Place) -> Prepared {
    let path = match Some(text(&place.params, LIST.name)).filter(|list| list != OWN) {
        Some(folder) => PathBuf::from(folder),
        None => hundred_entries(place.folder()?)?,
    };
    let entries =
        std::fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
    // With the two that Rust leaves out: the folder itself and the one above.
    let entries = entries.count() as u64 + 2;
    let path = c_path(&path)?;
    let call = move |(read, rewound): &mut (u64, u64)| {
        let mut directory =
            Directory::open(&path).with_context(|| format!("cannot read {path:?}"))?;
        for _ in 0..READS {
            if directory.read() {
                *read += 1;
            } else {
                directory.rewind();
                *rewound += 1;
            }
        }
        Ok(())
    };
    made((0, 0), call, move |(read, rewound), calls, to| {
        // Every pass over the directory reads each entry once and then its end.
        let reads = u64::from(READS);
        let ends = calls * (reads / (entries + 1));
        to.check("entries_read", *read + *rewound == calls * reads && *rewound == ends);
        to.higher("entries", entries as f64, "entries");
    })
}

fn hundred_entries(folder: &Path) -> Result<PathBuf, Error> {
    let path = scratch::subfolder(folder, "directory")?;
    for number in 0..ENTRIES {
        let file = path.join(format!("entry{number:02}"));
        std::fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(path)
}

/// Places over which each list is shuffled.
const PLACES: usize = 75;
const SHUFFLES: u32 = 5;
const LINES: usize = 382;
/// Empty files in each of the folders that have some.
const FILES: usize = 40;
/// What the C library reads at once, in bytes.
const BUFFER: usize = 4096;
const NAMES: &str = "dirlist";

/// The folders of the tree that have files: the path, how many names are looked up and how many made in it.
const FOLDERS: &[(&str, usize, usize)] = &[
    (".", 8, 0),
    ("bin", 6, 7),
    ("usr/ada/bin/src/loom", 6, 6),
    ("usr/dist/tuner/notes/source", 8, 6),
    ("usr/bo/station/src/man/man1", 7, 6),
    ("usr/bo.spring/port/tools/compress", 8, 7),
    ("usr/spool/mail/out", 7, 6),
    ("usr/cleo", 7, 5),
];

struct Search {
    home: PathBuf,
    tree: PathBuf,
    random: Random,
    found: u64,
    made: u64,
}

impl Search {
    fn search(&mut self) -> io::Result<()> {
        std::env::set_current_dir(&self.tree)?;
        let mut looked_up = Vec::with_capacity(PLACES);
        let mut made = Vec::with_capacity(PLACES);
        let own = std::process::id();
        for line in BufReader::with_capacity(BUFFER, File::open(NAMES)?).lines() {
            let line = line?;
            match line.split_once(' ') {
                Some(("s", path)) => looked_up.push(Some(CString::new(path)?)),
                Some(("c", path)) => made.push(Some(CString::new(format!("{path}{own}"))?)),
                _ => {}
            }
        }
        self.shuffle(&mut looked_up);
        self.shuffle(&mut made);
        for (look, make) in looked_up.iter().zip(&made) {
            if let Some(path) = look {
                native::stat(path)?;
                self.found += 1;
            }
            if let Some(path) = make {
                drop(native::creat(path)?);
                native::unlink(path)?;
                self.made += 1;
            }
        }
        std::env::set_current_dir(&self.home)
    }

    fn shuffle(&mut self, list: &mut Vec<Option<CString>>) {
        list.resize_with(PLACES, || None);
        for _ in 0..SHUFFLES {
            for place in 0..PLACES {
                list.swap(place, usize::from(self.random.next()) % PLACES);
            }
        }
    }
}

pub(super) fn disk_src(place: &Place) -> Prepared {
    let home = place.folder()?.to_owned();
    let tree = home.join("tree");
    make_tree(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
    c_path(&tree)?;
    let call = |row: &mut Search| {
        row.search().with_context(|| format!("cannot search in {}", row.tree.display()))
    };
    let search = Search { home, tree, random: Random::new(), found: 0, made: 0 };
    made(search, call, |row, calls, to| {
        let sum = |count: fn(&(&str, usize, usize)) -> usize| {
            calls * FOLDERS.iter().map(count).sum::<usize>() as u64
        };
        to.check("names_found", row.found == sum(|folder| folder.1));
        to.check("names_made", row.made == sum(|folder| folder.2));
    })
}

fn make_tree(tree: &Path) -> io::Result<()> {
    let mut list = Vec::new();
    std::fs::create_dir(tree)?;
    for (folder, look, make) in FOLDERS {
        std::fs::create_dir_all(tree.join(folder))?;
        for number in 0..FILES {
            File::create(tree.join(folder).join(format!("file{number:02}")))?;
        }
        // Spread over the folder's files.
        list.extend((0..*look).map(|n| format!("s {folder}/file{:02}", n * FILES / look)));
        list.extend((1..=*make).map(|n| format!("c {folder}/absent{n}")));
    }
    // The rest of the list is not for us; it stands between what is.
    let rest = LINES - list.len();
    let mut lines: Vec<String> = Vec::with_capacity(LINES);
    for (number, line) in list.iter().enumerate() {
        let skipped = rest * (number + 1) / list.len() - rest * number / list.len();
        lines.extend((0..skipped).map(|n| format!("# line {number}.{n} names nothing")));
        lines.push(line.clone());
    }
    std::fs::write(tree.join(NAMES), lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_tree_has_the_shape_of_the_original() {
        let folder = tempfile::tempdir().expect("folder");
        let tree = folder.path().join("tree");
        make_tree(&tree).expect("tree");
        let list = std::fs::read_to_string(tree.join(NAMES)).expect("list");
        let count = |start: &str| list.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!((list.lines().count(), count("s "), count("c ")), (382, 57, 43));
        let mut folders = vec![tree.clone()];
        let mut all = 0;
        while let Some(folder) = folders.pop() {
            all += 1;
            let entries = std::fs::read_dir(folder).expect("folder").flatten();
            folders.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
        }
        assert_eq!((all, FOLDERS.len()), (24, 8));
        assert!(
            list.lines()
                .filter_map(|line| line.strip_prefix("s "))
                .all(|path| { tree.join(path).is_file() })
        );
    }
}
