//! What can go wrong with a study's folder.

use coretwin_base::schema::NewerSchema;
use std::io;
use std::path::{Path, PathBuf};

/// An error about a file of a study. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io {
        /// What was attempted, like `read`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why. Part of the message, so not a source that would be printed once more.
        cause: io::Error,
    },
    /// The file system is full.
    #[error(
        "no space left to write {}: free at least {} KiB there", path.display(),
        needed_bytes.div_ceil(1024)
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// About how much more is needed.
        needed_bytes: u64,
    },
    /// A JSON file does not have the form it should.
    #[error("{}: line {line}, column {column}: {what}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong, naming the field.
        what: String,
    },
    /// The plan reads, but cannot be one.
    #[error("{}: {what}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// What is wrong, naming the field.
        what: String,
    },
    /// A line of the journal is wrong.
    #[error("{}: line {line}: {what}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A file is from a newer version.
    #[error("{}: {newer}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        newer: NewerSchema,
    },
    /// The folder already holds a study.
    #[error(
        "{} already holds a study; go on with it by --resume {}, or choose another folder with --out",
        folder.display(), folder.display()
    )]
    Occupied {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds no study.
    #[error("{} holds no study: it has no {file}", folder.display())]
    NotAStudy {
        /// The folder.
        folder: PathBuf,
        /// The missing file.
        file: &'static str,
    },
    /// The folder already holds a fleet.
    #[error("{} already holds a fleet; run it, or choose another folder", folder.display())]
    FleetOccupied {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds no fleet.
    #[error("{} holds no fleet: it has no fleet.json; draw one with coretwin fleet plan", folder.display())]
    NotAFleet {
        /// The folder.
        folder: PathBuf,
    },
    /// A bundle is not whole, or not one.
    #[error("{}: {what}", path.display())]
    Bundle {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A file of another benchmark is not what it should be.
    #[error("cannot compare {}: {why}", path.display())]
    Import {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The folder that a dataset is to be in holds something else.
    #[error(
        "{} is not empty and holds no dataset; name an empty folder, or one that is not there yet",
        folder.display()
    )]
    NotADataset {
        /// The folder.
        folder: PathBuf,
    },
    /// This program writes no Parquet.
    #[error(
        "this coretwin was built without Parquet; build it with: cargo build --release --features \
         parquet --package coretwin (csv and json need nothing)"
    )]
    NoParquet,
    /// Another process writes to this journal.
    #[error("another coretwin is writing to {}; wait for it, or choose another folder", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// Its words for where the file is named already.
    #[must_use]
    pub fn beside(&self, file: &Path) -> String {
        let text = self.to_string();
        match text.strip_prefix(&file.display().to_string()) {
            Some(rest) => rest.trim_start_matches([':', ' ', '/']).to_owned(),
            None => text,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: source }
    }

    /// Tells a full file system (or quota) from other failures to write.
    pub(crate) fn writing(path: &Path, needed_bytes: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoSpace { path: path.to_owned(), needed_bytes },
            _ => Self::io("write", path, source),
        }
    }
}

/// What the parser says, with the name of the field where it does not tell: the last one that
/// begins before the place of the error.
pub(crate) fn naming_field(text: &[u8], error: &serde_json::Error) -> String {
    let said = error.to_string();
    let before: usize = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let text = &text[..text.len().min(before + error.column())];
    let colon = text.windows(2).rposition(|pair| pair == b"\":");
    let name = colon.and_then(|end| text[..end].rsplit(|byte| *byte == b'"').next());
    match name.map(String::from_utf8_lossy) {
        Some(name) if said.starts_with("invalid ") => format!("field {name}: {said}"),
        _ => said,
    }
}
