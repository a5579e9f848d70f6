//! A dataset for other people's tools: a folder of tables, each of Parquet files in folders that are
//! named by machine and workload (`effects/machine=a/workload=chat/part-0.parquet`), which DuckDB,
//! pandas and Spark read as one table. The caller defines the columns.
//!
//! A dataset appears whole or not at all: it is made beside its place and then takes it.

use crate::disk;
use crate::error::Error;
use coretwin_base::caps;
use coretwin_base::column::Column;
use coretwin_base::schema::SCHEMA;
use rustix::fs::{CWD, RenameFlags};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a dataset says of itself, and what it is known by.
pub const INDEX: &str = "dataset.json";
/// The only file of a folder of a table.
const PART: &str = "part-0.parquet";
/// Longest name of a folder, in bytes; a file system takes 255.
const NAME_BYTES_MAX: usize = 200;

#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    temporary: PathBuf,
    tables: Mutex<BTreeMap<String, Size>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size {
    pub files: u64,
    pub rows: u64,
}

#[derive(Serialize)]
struct Index<'a> {
    schema: u32,
    coretwin: &'a str,
    tables: &'a BTreeMap<String, Size>,
}

impl Dataset {
    /// Begins a dataset that is to be in this folder, in place of one that may be there. Errors: if the
    /// folder holds anything but a dataset, cannot be written, or this program was built without
    /// Parquet.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        if !cfg!(feature = "parquet") {
            return Err(Error::NoParquet);
        }
        let folder =
            std::path::absolute(folder).map_err(|source| Error::io("find", folder, source))?;
        let held = match fs::read_dir(&folder) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::io("read", &folder, error)),
        };
        if held && !is_dataset(&folder) {
            return Err(Error::NotADataset { folder });
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let temporary = folder.with_file_name(format!(".{name}.{}.new", std::process::id()));
        let make = |made: &Path| {
            fs::create_dir_all(made).map_err(|source| Error::io("make", made, source))
        };
        folder.parent().map_or(Ok(()), make)?;
        // Of a process of this id that was killed.
        let _ = fs::remove_dir_all(&temporary);
        make(&temporary)?;
        Ok(Self { folder, temporary, tables: Mutex::default() })
    }

    /// Writes a part of a table. `partition` is what its folders are named by, outermost first; the
    /// pair of table and partition is written once.
    pub fn part<Row>(
        &self,
        table: &str,
        partition: &[(&str, &str)],
        columns: &[Column<Row>],
        rows: &[Row],
    ) -> Result<(), Error> {
        let folder = partition.iter().fold(self.temporary.join(table), |path, (name, value)| {
            path.join(format!("{name}={}", encoded(value)))
        });
        fs::create_dir_all(&folder).map_err(|source| Error::io("make", &folder, source))?;
        let path = folder.join(PART);
        File::create_new(&path)
            .and_then(|file| write(file, columns, rows))
            .map_err(|source| Error::writing(&path, 256 * rows.len() as u64, source))?;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let size = tables.entry(table.to_owned()).or_default();
        size.files += 1;
        size.rows += rows.len() as u64;
        Ok(())
    }

    /// Puts the dataset into its place, and says how much each table is. Errors: if it cannot be
    /// written, or somebody put something else into its place meanwhile.
    pub fn finish(self) -> Result<BTreeMap<String, Size>, Error> {
        let tables =
            std::mem::take(&mut *self.tables.lock().unwrap_or_else(PoisonError::into_inner));
        let index = Index { schema: SCHEMA, coretwin: env!("CARGO_PKG_VERSION"), tables: &tables };
        let path = self.temporary.join(INDEX);
        let written = serde_json::to_vec_pretty(&index)
            .map_err(io::Error::from)
            .and_then(|text| fs::write(&path, text))
            // Thousands of files: one wait for all of them.
            .and_then(|()| Ok(rustix::fs::syncfs(File::open(&self.temporary)?)?));
        written.map_err(|source| Error::writing(&path, 4096, source))?;
        self.place().map_err(|source| Error::io("replace", &self.folder, source))?;
        Ok(tables)
    }

    /// An old one changes places with the new one, so that there is one at every moment; what is left
    /// beside is removed when this goes.
    fn place(&self) -> io::Result<()> {
        if is_dataset(&self.folder) {
            let swap = RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(CWD, &self.temporary, CWD, &self.folder, swap)?;
        } else {
            // Onto an empty folder, or none; the kernel refuses any other.
            fs::rename(&self.temporary, &self.folder)?;
        }
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        File::open(parent)?.sync_all()
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Whether a folder holds a dataset of ours and nothing else: it is about to be replaced.
fn is_dataset(folder: &Path) -> bool {
    let index = disk::open(&folder.join(INDEX)).and_then(|file| caps::RECORD.read(file));
    let index = index.ok().and_then(|it| serde_json::from_slice::<serde_json::Value>(&it).ok());
    let Some(tables) = index.as_ref().and_then(|index| index["tables"].as_object()) else {
        return false;
    };
    let is_known = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        Some(name == INDEX || (tables.contains_key(&name) && is_table(&entry.path())))
    };
    fs::read_dir(folder).is_ok_and(|all| all.map(is_known).all(|it| it == Some(true)))
}

/// Whether all that is in a folder and those below it are parts of a table.
fn is_table(folder: &Path) -> bool {
    let is_part = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        Some(
            (kind.is_file() && entry.file_name() == PART)
                || (kind.is_dir() && is_table(&entry.path())),
        )
    };
    fs::read_dir(folder).is_ok_and(|all| all.map(is_part).all(|it| it == Some(true)))
}

/// A folder's name may hold letters, digits and a few signs; others are percent-encoded, as readers of
/// such datasets expect. Whatever a value says, nothing is written outside of the folder; one that is
/// too long for a name ends in its digest instead.
fn encoded(value: &str) -> String {
    let mut name = String::new();
    for (at, byte) in value.bytes().enumerate() {
        // A leading point would hide the folder.
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) || (byte == b'.' && at > 0) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > NAME_BYTES_MAX {
        let digest = crate::fleet_bundle::sha256(value.as_bytes());
        let mut cut = NAME_BYTES_MAX - 17;
        // Not within a sign.
        cut -=
            name[..cut].bytes().rev().take(2).position(|byte| byte == b'%').map_or(0, |at| at + 1);
        return format!("{}-{}", &name[..cut], &digest[..16]);
    }
    if name.is_empty() { "__HIVE_DEFAULT_PARTITION__".to_owned() } else { name }
}

#[cfg(feature = "parquet")]
use crate::parquet_file::write;

#[cfg(not(feature = "parquet"))]
fn write<Row>(_: File, _: &[Column<Row>], _: &[Row]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
