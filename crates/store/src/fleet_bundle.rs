//! A bundle: one file that holds what a machine of a fleet measured, and says itself what it is.
//!
//! A tar archive, compressed by gzip: `manifest.json` first, then the files it names with their
//! SHA-256. Equal contents give equal bytes. The file is called after the machine and the digest of
//! the manifest, so that one that was altered is known, and copies of one are one.

use crate::disk::Disk;
use crate::error::Error;
use crate::fleet_folder::temporary;
use crate::line::{Extent, record};
use crate::scan::{Read, read_bytes};
use coretwin_base::fleet_plan::{FileDigest, Manifest};
use coretwin_base::plan::Plan;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

/// How a bundle's file name ends.
pub(crate) const ENDING: &str = ".tar.gz";
const MANIFEST: &str = "manifest.json";
/// Most a file of a bundle may have, in bytes: a journal of a million readings is a tenth of it.
const LONGEST: u64 = 8 << 30;
/// Most a manifest may have, in bytes.
const LONGEST_MANIFEST: u64 = 1 << 20;
/// Digits of the digest in a file name.
const NAME_DIGITS: usize = 16;

/// A bundle that was read and found whole.
#[derive(Debug, Clone)]
pub struct FleetBundle {
    path: PathBuf,
    /// What it says of itself.
    pub manifest: Manifest,
    /// SHA-256 of the manifest as it is written, as hexadecimal digits.
    pub digest: String,
    files: BTreeMap<String, Vec<u8>>,
}

/// SHA-256, as hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes a bundle into a folder, whole or not at all, and gives its path. The manifest's own list of
/// files is made here. Written again, equal contents replace themselves.
///
/// # Errors
/// If a file cannot be read, or the bundle not written.
pub fn write(
    folder: &Path,
    mut manifest: Manifest,
    files: &[(&str, PathBuf)],
) -> Result<PathBuf, Error> {
    let mut contents = Vec::new();
    for (name, path) in files {
        let bytes = fs::read(path).map_err(|source| Error::io("read", path, source))?;
        let digest = FileDigest { sha256: sha256(&bytes), bytes: bytes.len() as u64 };
        manifest.files.insert((*name).to_owned(), digest);
        contents.push((*name, bytes));
    }
    let text = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| Error::io("write", folder, error.into()))?;
    let digest = sha256(&text);
    let name = format!("{}-{}{ENDING}", manifest.machine, &digest[..NAME_DIGITS]);
    let path = folder.join(&name);
    fs::create_dir_all(folder).map_err(|source| Error::io("make", folder, source))?;
    let archived = |out: &mut dyn Write| archive(out, &text, &contents);
    // Two of one task may write at once on a shared file system; each has a name of its own.
    Disk::default().replace_by(&path, &temporary(&path), archived).map_err(|source| {
        let bytes = contents.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        Error::writing(&path, bytes, source)
    })?;
    Ok(path)
}

fn archive(out: &mut dyn Write, manifest: &[u8], contents: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes)
    };
    add(MANIFEST, manifest)?;
    for (name, bytes) in contents {
        add(name, bytes)?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

impl FleetBundle {
    /// Reads what a bundle says of itself, and nothing else of it.
    ///
    /// # Errors
    /// As [`Self::read`], of what is read.
    pub fn manifest_of(path: &Path) -> Result<Manifest, Error> {
        let file = File::open(path).map_err(|source| Error::io("read", path, source))?;
        let mut archive = tar::Archive::new(GzDecoder::new(io::BufReader::new(file)));
        let first = archive.entries().and_then(|mut entries| {
            let first = entries.next().ok_or(io::ErrorKind::UnexpectedEof)?;
            contents(first?, LONGEST_MANIFEST)
        });
        let (name, text) = first.map_err(|error| broken(path, &error))?;
        manifest(path, &name, &text).map(|(manifest, _)| manifest)
    }

    /// Reads a bundle and checks that it is whole: every file is there, has the digest that the
    /// manifest names, and the manifest has the one that the file's name names.
    ///
    /// # Errors
    /// [`Error::Bundle`] with what is wrong, [`Error::Newer`] if it is from a newer version.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::io("read", path, source))?;
        let bad = |what: String| Error::Bundle { path: path.to_owned(), what };
        let broken = |error: io::Error| broken(path, &error);
        let mut archive = tar::Archive::new(GzDecoder::new(io::BufReader::new(file)));
        let mut entries = archive.entries().map_err(broken)?;
        let first = entries.next().ok_or(io::ErrorKind::UnexpectedEof.into());
        let first = first.map_err(broken)?.map_err(broken)?;
        let (name, text) = contents(first, LONGEST_MANIFEST).map_err(broken)?;
        let (manifest, digest) = manifest(path, &name, &text)?;
        let mut files = BTreeMap::new();
        for entry in entries {
            let (name, bytes) = contents(entry.map_err(broken)?, LONGEST).map_err(broken)?;
            let Some(expected) = manifest.files.get(&name) else {
                return Err(bad(format!("it holds '{name}', which its manifest does not name")));
            };
            if bytes.len() as u64 != expected.bytes || sha256(&bytes) != expected.sha256 {
                return Err(bad(format!("{name} was altered: its SHA-256 is another")));
            }
            files.insert(name, bytes);
        }
        // Up to its end, for there gzip's own checksum stands.
        io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(broken)?;
        if let Some(missing) = manifest.files.keys().find(|name| !files.contains_key(*name)) {
            return Err(bad(format!("{missing} is missing; copy it again from its machine")));
        }
        Ok(Self { path: path.to_owned(), manifest, digest, files })
    }

    /// A file of it, where it has one.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// A record that it must have.
    ///
    /// # Errors
    /// If it is missing, does not read, or is from a newer version.
    pub fn record<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let missing = || Error::Bundle {
            path: self.path.clone(),
            what: format!("its manifest names no {name}"),
        };
        record(&self.path.join(name), 0, self.file(name).ok_or_else(missing)?)
    }

    /// The readings of its journal, which must be of this plan.
    ///
    /// # Errors
    /// As of a study's journal.
    pub fn readings(&self, plan: &Plan, extent: Extent) -> Result<Read, Error> {
        let path = self.path.join(crate::JOURNAL);
        let read = self.file(crate::JOURNAL).map(|bytes| read_bytes(&path, bytes, extent));
        read.transpose()?.unwrap_or_default().of_plan(plan, &path)
    }
}

/// What is wrong with an archive.
fn broken(path: &Path, error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is cut off; copy it again from its machine".to_owned(),
        _ => format!("it is damaged or no bundle ({error}); copy it again"),
    };
    Error::Bundle { path: path.to_owned(), what }
}

/// The manifest and its digest, which must be that in the file's name.
fn manifest(path: &Path, name: &str, text: &[u8]) -> Result<(Manifest, String), Error> {
    let bad = |what: String| Error::Bundle { path: path.to_owned(), what };
    if name != MANIFEST {
        return Err(bad(format!("it begins with '{name}' instead of {MANIFEST}")));
    }
    let digest = sha256(text);
    check_name(path, &digest).map_err(bad)?;
    Ok((record(&path.join(MANIFEST), 0, text)?, digest))
}

/// Name and bytes of an entry. What it says of its own length is not believed.
fn contents<R: io::Read>(entry: tar::Entry<'_, R>, longest: u64) -> io::Result<(String, Vec<u8>)> {
    let name = entry.path()?.to_string_lossy().into_owned();
    let length = entry.size();
    let mut bytes = Vec::new();
    entry.take(longest + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        read if read > longest => Err(io::Error::other(format!("{name} is too long"))),
        read if read < length => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok((name, bytes)),
    }
}

/// Whether the digest in the file's name, if it has one, is that of the manifest.
fn check_name(path: &Path, digest: &str) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(ENDING).unwrap_or(&name);
    let named = stem.rsplit('-').next().filter(|part| {
        part.len() == NAME_DIGITS && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    match named {
        Some(named) if !digest.starts_with(named) => Err(format!(
            "its manifest was altered, or its name: it would be called …-{}{ENDING}",
            &digest[..NAME_DIGITS]
        )),
        _ => Ok(()),
    }
}
