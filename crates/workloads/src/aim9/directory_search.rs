//! Row `disk_src`: names looked up in a small tree of folders.
//!
//! A call reads a list of 382 lines, shuffles the 57 names to look up and the 43 names to make over
//! 75 places each, and goes through the places: 57 `stat`, and 43 files made, closed and removed.
//! It is credited as 75 searches. The tree has the original's shape (24 folders, 8 of them with 40
//! empty files, up to five deep) and names of our own.

use super::native::names;
use super::numbers::Random;
use super::{Call, Place, c_path};
use crate::copies::Remarks;
use crate::{Context, Error};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Places over which each list is shuffled.
const PLACES: usize = 75;
const SHUFFLES: u32 = 5;
const LINES: usize = 382;
/// Empty files in each of the folders that have some.
const FILES: usize = 40;
/// What the C library reads at once, in bytes.
const BUFFER: usize = 4096;
const LIST: &str = "dirlist";

/// Every folder of the tree: its path, how many names are looked up and how many made in it. Those
/// with any have files.
const FOLDERS: &[(&str, usize, usize)] = &[
    (".", 8, 0),
    ("bin", 6, 7),
    ("usr", 0, 0),
    ("usr/ada", 0, 0),
    ("usr/ada/bin", 0, 0),
    ("usr/ada/bin/src", 0, 0),
    ("usr/ada/bin/src/loom", 6, 6),
    ("usr/dist", 0, 0),
    ("usr/dist/tuner", 0, 0),
    ("usr/dist/tuner/notes", 0, 0),
    ("usr/dist/tuner/notes/source", 8, 6),
    ("usr/bo", 0, 0),
    ("usr/bo/station", 0, 0),
    ("usr/bo/station/src", 0, 0),
    ("usr/bo/station/src/man", 0, 0),
    ("usr/bo/station/src/man/man1", 7, 6),
    ("usr/bo.spring", 0, 0),
    ("usr/bo.spring/port", 0, 0),
    ("usr/bo.spring/port/tools", 0, 0),
    ("usr/bo.spring/port/tools/compress", 8, 7),
    ("usr/spool", 0, 0),
    ("usr/spool/mail", 0, 0),
    ("usr/spool/mail/out", 7, 6),
    ("usr/cleo", 7, 5),
];

struct Search {
    home: PathBuf,
    tree: PathBuf,
    random: Random,
    calls: u64,
    found: u64,
    made: u64,
}

impl Search {
    fn search(&mut self) -> io::Result<()> {
        std::env::set_current_dir(&self.tree)?;
        let mut looked_up = Vec::with_capacity(PLACES);
        let mut made = Vec::with_capacity(PLACES);
        let own = std::process::id();
        for line in BufReader::with_capacity(BUFFER, File::open(LIST)?).lines() {
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
                names::stat(path)?;
                self.found += 1;
            }
            if let Some(path) = make {
                drop(names::creat(path)?);
                names::unlink(path)?;
                self.made += 1;
            }
        }
        self.calls += 1;
        std::env::set_current_dir(&self.home)
    }

    /// Swaps places at random, empty ones too.
    fn shuffle(&mut self, list: &mut Vec<Option<CString>>) {
        list.resize_with(PLACES, || None);
        for _ in 0..SHUFFLES {
            for place in 0..PLACES {
                list.swap(place, usize::from(self.random.next()) % PLACES);
            }
        }
    }
}

impl Call for Search {
    fn call(&mut self) -> Result<(), Error> {
        self.search().with_context(|| format!("cannot search in {}", self.tree.display()))
    }

    fn remark(&mut self, to: &mut Remarks) {
        let sum = |count: fn(&(&str, usize, usize)) -> usize| {
            self.calls * FOLDERS.iter().map(count).sum::<usize>() as u64
        };
        let (found, made) = (sum(|folder| folder.1), sum(|folder| folder.2));
        to.check("names_found", self.found == found);
        to.check("names_made", self.made == made);
    }
}

pub(super) fn disk_src(place: &Place) -> Result<Box<dyn Call>, Error> {
    let home = place.folder()?.to_owned();
    let tree = home.join("tree");
    make_tree(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
    c_path(&tree)?;
    Ok(Box::new(Search { home, tree, random: Random::new(), calls: 0, found: 0, made: 0 }))
}

fn make_tree(tree: &Path) -> io::Result<()> {
    let mut list = Vec::new();
    std::fs::create_dir(tree)?;
    for (folder, look, make) in FOLDERS {
        std::fs::create_dir_all(tree.join(folder))?;
        if look + make == 0 {
            continue;
        }
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
    std::fs::write(tree.join(LIST), lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_the_shape_of_the_original() {
        let folder = tempfile::tempdir().expect("folder");
        let tree = folder.path().join("tree");
        make_tree(&tree).expect("tree");
        let list = std::fs::read_to_string(tree.join(LIST)).expect("list");
        let count = |start: &str| list.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!((list.lines().count(), count("s "), count("c ")), (382, 57, 43));
        assert_eq!(FOLDERS.len(), 24);
        let with_files = FOLDERS.iter().filter(|(_, look, make)| look + make > 0);
        assert_eq!(with_files.count(), 8);
        assert!(
            list.lines()
                .filter_map(|line| line.strip_prefix("s "))
                .all(|path| { tree.join(path).is_file() })
        );
    }
}
