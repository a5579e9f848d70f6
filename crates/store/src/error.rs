//! What can go wrong with a study's folder.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        /// Part of the message, so not a source that would be printed once more.
        cause: io::Error,
    },
    #[error(
        "no space left to write {}: free at least {} KiB there", path.display(),
        needed_bytes.div_ceil(1024)
    )]
    NoSpace { path: PathBuf, needed_bytes: u64 },
    /// A record or a journal does not say what it should.
    #[error("{}: {what}", path.display())]
    Wrong { path: PathBuf, what: String },
    /// A bundle is not whole, or a record is from a newer version.
    #[error("{}: {what}", path.display())]
    Unusable { path: PathBuf, what: String },
    /// The folder already holds a study.
    #[error(
        "{} already holds a study; go on with it by --resume {}, or choose another folder with --out",
        folder.display(), folder.display()
    )]
    Occupied { folder: PathBuf },
    #[error("{} holds no study: it has no {file}", folder.display())]
    NotAStudy { folder: PathBuf, file: &'static str },
    #[error("{} already holds a fleet; run it, or choose another folder", folder.display())]
    FleetOccupied { folder: PathBuf },
    #[error("{} holds no fleet: it has no fleet.json; draw one with coretwin fleet plan", folder.display())]
    NotAFleet { folder: PathBuf },
    #[error("cannot compare {}: {why}", path.display())]
    Import { path: PathBuf, why: String },
    #[error(
        "{} holds no dataset of ours, or more than that; name an empty folder, or one that is not there yet",
        folder.display()
    )]
    NotADataset { folder: PathBuf },
    #[error(
        "this coretwin was built without Parquet; build it with: cargo build --release --features \
         parquet --package coretwin (csv and json need nothing)"
    )]
    NoParquet,
    #[error("another coretwin is writing to {}; wait for it, or choose another folder", path.display())]
    Busy { path: PathBuf },
}

impl Error {
    /// Its words for where the file is named already.
    pub fn beside(&self, file: &Path) -> String {
        let text = self.to_string();
        match text.strip_prefix(&file.display().to_string()) {
            Some(rest) => rest.trim_start_matches([':', ' ', '/']).to_owned(),
            None => text,
        }
    }

    pub(crate) fn wrong(path: &Path, what: impl Into<String>) -> Self {
        Self::Wrong { path: path.to_owned(), what: what.into() }
    }

    pub(crate) fn unusable(path: &Path, what: impl ToString) -> Self {
        Self::Unusable { path: path.to_owned(), what: what.to_string() }
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

/// How messages of the parser begin that name no field.
const NAMELESS: [&str; 4] =
    ["invalid ", "unknown variant ", "number out of range", "expected value"];

/// What the parser says, with the name of the field where it does not tell: the last one that
/// begins before the place of the error.
pub(crate) fn naming_field(text: &[u8], error: &serde_json::Error) -> String {
    // A word of the file's may hold line ends, and would print lines of its own.
    let said = error.to_string().replace(['\n', '\r'], " ");
    let before: usize = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let text = &text[..text.len().min(before + error.column())];
    let colon = text.windows(2).rposition(|pair| pair == b"\":");
    let name = colon.and_then(|end| text[..end].rsplit(|byte| *byte == b'"').next());
    match name.map(String::from_utf8_lossy) {
        Some(name) if NAMELESS.iter().any(|start| said.starts_with(start)) => {
            format!("field {name}: {said}")
        }
        _ => said,
    }
}
