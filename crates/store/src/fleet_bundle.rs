//! A bundle: one file that holds what a machine of a fleet measured, and says itself what it is.
//!
//! A tar archive, compressed by gzip: `manifest.json` first, then the files it names with their
//! SHA-256. Equal contents give equal bytes. The file is called after the machine and the digest of
//! the manifest, so that one that was altered is known, and copies of one are one.

use crate::disk::{self, Disk, temporary};
use crate::error::Error;
use crate::line::{Extent, record};
use crate::scan::{Read, read_alone};
use coretwin_base::caps::{self, Cap};
use coretwin_base::fleet::plan::{FileDigest, Manifest};
use coretwin_base::study::plan::Plan;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

pub(crate) const ENDING: &str = ".tar.gz";
pub const MANIFEST: &str = "manifest.json";
/// Most bytes of padding behind an archive; tar pads to 10 KiB.
const PADDING: u64 = 64 << 10;
/// Digits of the digest in a file name.
const NAME_DIGITS: usize = 16;

#[derive(Debug)]
pub struct FleetBundle {
    path: PathBuf,
    pub manifest: Manifest,
    pub digest: String,
    files: BTreeMap<String, Vec<u8>>,
    journal: Option<Result<Read, Error>>,
}

/// SHA-256, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(digest: &[u8]) -> String {
    use std::fmt::Write as _;
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What is read through it, digested on the way.
struct Digested<R> {
    from: R,
    digest: Sha256,
    bytes: u64,
}

impl<R: io::Read> Digested<R> {
    fn new(from: R) -> Self {
        Self { from, digest: Sha256::new(), bytes: 0 }
    }

    fn finish(mut self) -> io::Result<FileDigest> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(FileDigest { sha256: hexadecimal(&self.digest.finalize()), bytes: self.bytes })
    }
}

impl<R: io::Read> io::Read for Digested<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.digest.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

fn cap_of(name: &str) -> &'static Cap {
    if name == crate::JOURNAL { &caps::JOURNAL } else { &caps::RECORD }
}

/// Writes a bundle into a folder, whole or not at all, and gives its path. The manifest's own list of
/// files is made here. Written again, equal contents replace themselves. Errors: if a file cannot be
/// read or is longer than a reader would take, or the bundle not written.
pub fn write(
    folder: &Path,
    mut manifest: Manifest,
    files: &[(&str, PathBuf)],
) -> Result<PathBuf, Error> {
    for (name, path) in files {
        let digested = || {
            let file = File::open(path)?.take(cap_of(name).bytes + 1);
            let digest = Digested::new(file).finish()?;
            let fits = digest.bytes <= cap_of(name).bytes;
            fits.then_some(digest).ok_or_else(|| cap_of(name).exceeded())
        };
        let digest = digested().map_err(|source| Error::io("read", path, source))?;
        manifest.files.insert((*name).to_owned(), digest);
    }
    let text = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| Error::io("write", folder, error.into()))?;
    let digest = sha256(&text);
    let name = format!("{}-{}{ENDING}", manifest.machine, &digest[..NAME_DIGITS]);
    let path = folder.join(&name);
    fs::create_dir_all(folder).map_err(|source| Error::io("make", folder, source))?;
    let archived = |out: &mut dyn Write| archive(out, &text, &manifest, files);
    // Two of one task may write at once on a shared file system; each has a name of its own.
    Disk::default().replace_by(&path, &temporary(&path), archived).map_err(|source| {
        Error::writing(&path, manifest.files.values().map(|file| file.bytes).sum(), source)
    })?;
    Ok(path)
}

/// A record that lies in a file of its own, to be packed. Errors: as [`FleetBundle::record`].
pub fn unpacked<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let read = File::open(path).and_then(|file| caps::RECORD.read(file));
    record(path, 0, &read.map_err(|source| Error::io("read", path, source))?)
}

fn archive(
    out: &mut dyn Write,
    text: &[u8],
    manifest: &Manifest,
    files: &[(&str, PathBuf)],
) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    let mut add = |name: &str, bytes: u64, from: &mut dyn io::Read| {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, from)
    };
    add(MANIFEST, text.len() as u64, &mut &*text)?;
    for (name, path) in files {
        let expected = &manifest.files[*name];
        let mut file = Digested::new(File::open(path)?.take(expected.bytes));
        add(name, expected.bytes, &mut file)?;
        if file.finish()? != *expected {
            return Err(io::Error::other(format!("{} changed meanwhile", path.display())));
        }
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

impl FleetBundle {
    /// Reads what a bundle says of itself, and nothing else of it.
    pub fn manifest_of(path: &Path) -> Result<Manifest, Error> {
        let mut archive = archive_of(path)?;
        Ok(manifest(path, &mut entries(path, &mut archive)?)?.0)
    }

    /// Reads a bundle and checks that it is whole: every file is there, has the digest that the
    /// manifest names, and the manifest has the one that the file's name names. What is wrong with the
    /// lines of its journal, [`Self::readings`] says. Errors: [`Error::Unusable`] with what is wrong.
    pub fn read(path: &Path, extent: Extent) -> Result<Self, Error> {
        let broken = |error: io::Error| broken(path, &error);
        let mut archive = archive_of(path)?;
        let mut entries = entries(path, &mut archive)?;
        let (manifest, digest) = manifest(path, &mut entries)?;
        let mut bundle =
            Self { path: path.to_owned(), manifest, digest, files: BTreeMap::new(), journal: None };
        for entry in entries {
            bundle.take(entry.map_err(broken)?, extent)?;
        }
        // Up to its end, for there gzip's own checksum stands.
        let rest = io::copy(&mut archive.into_inner().take(PADDING + 1), &mut io::sink());
        if rest.map_err(broken)? > PADDING {
            return Err(bundle.bad("more follows its archive; copy it again".to_owned()));
        }
        match bundle.manifest.files.keys().find(|name| !bundle.has(name)) {
            Some(missing) => {
                Err(bundle.bad(format!("{missing} is missing; copy it again from its machine")))
            }
            None => Ok(bundle),
        }
    }

    fn take<R: io::Read>(&mut self, entry: tar::Entry<'_, R>, extent: Extent) -> Result<(), Error> {
        let path = self.path.clone();
        let broken = |error: io::Error| broken(&path, &error);
        let name = name_of(&entry).map_err(broken)?;
        let Some(expected) = self.manifest.files.get(&name).cloned() else {
            return Err(self.bad(format!("it holds '{name}', which its manifest does not name")));
        };
        if self.has(&name) {
            return Err(self.bad(format!("it holds '{name}' twice")));
        }
        // What it says of its own length is not believed.
        let (length, cap) = (entry.size(), cap_of(&name));
        if length > cap.bytes {
            return Err(self.bad(format!("{name}: {}", cap.exceeded())));
        }
        let mut entry = Digested::new(entry);
        let (mut bytes, mut journal) = (Vec::new(), None);
        if name == crate::JOURNAL {
            journal = match read_alone(&path.join(&name), &mut entry, extent) {
                Err(Error::Io { cause, .. }) => return Err(broken(cause)),
                read => Some(read),
            };
        } else {
            entry.read_to_end(&mut bytes).map_err(broken)?;
        }
        let found = entry.finish().map_err(broken)?;
        if found.bytes < length {
            return Err(broken(io::ErrorKind::UnexpectedEof.into()));
        }
        if found != expected {
            return Err(self.bad(format!("{name} was altered: its SHA-256 is another")));
        }
        match journal {
            Some(read) => self.journal = Some(read),
            None => drop(self.files.insert(name, bytes)),
        }
        Ok(())
    }

    pub fn has(&self, name: &str) -> bool {
        if name == crate::JOURNAL { self.journal.is_some() } else { self.files.contains_key(name) }
    }

    fn bad(&self, what: String) -> Error {
        Error::unusable(&self.path, what)
    }

    /// A file of it other than its journal, where it has one.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// Errors: if it is missing, does not read, or is from a newer version.
    pub fn record<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let missing = || self.bad(format!("its manifest names no {name}"));
        record(&self.path.join(name), 0, self.file(name).ok_or_else(missing)?)
    }

    /// The readings of its journal, which must be of this plan; they can be taken once. Errors: as of a
    /// study's journal.
    pub fn readings(&mut self, plan: &Plan) -> Result<Read, Error> {
        let read = self.journal.take().unwrap_or_else(|| Ok(Read::default()));
        read?.of_plan(plan, &self.path.join(crate::JOURNAL))
    }
}

type Archive = tar::Archive<GzDecoder<io::BufReader<File>>>;

fn archive_of(path: &Path) -> Result<Archive, Error> {
    let problem = |source| Error::io("read", path, source);
    let file = disk::open(path).map_err(problem)?;
    Ok(tar::Archive::new(GzDecoder::new(io::BufReader::new(file))))
}

/// What is in an archive. Names too long for a header, which others keep in entries of their own, are
/// not looked up: tar reads such an entry whole, however long it is.
fn entries<'a, R: io::Read>(
    path: &Path,
    archive: &'a mut tar::Archive<R>,
) -> Result<tar::Entries<'a, R>, Error> {
    Ok(archive.entries().map_err(|error| broken(path, &error))?.raw(true))
}

fn name_of<R: io::Read>(entry: &tar::Entry<'_, R>) -> io::Result<String> {
    Ok(entry.path()?.to_string_lossy().into_owned())
}

fn broken(path: &Path, error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is cut off; copy it again from its machine".to_owned(),
        _ => format!("it is damaged or no bundle ({error}); copy it again"),
    };
    Error::unusable(path, what)
}

/// The manifest, which comes first, and its digest, which must be that in the file's name.
fn manifest<R: io::Read>(
    path: &Path,
    entries: &mut tar::Entries<'_, R>,
) -> Result<(Manifest, String), Error> {
    let mut first = || {
        let first = entries.next().ok_or(io::ErrorKind::UnexpectedEof)??;
        let (name, length) = (name_of(&first)?, first.size());
        let text = caps::MANIFEST.read(first)?;
        let whole = text.len() as u64 >= length;
        whole.then_some((name, text)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    let (name, text) = first().map_err(|error: io::Error| broken(path, &error))?;
    let bad = |what: String| Error::unusable(path, what);
    if name != MANIFEST {
        return Err(bad(format!("it begins with '{name}' instead of {MANIFEST}")));
    }
    let digest = sha256(&text);
    check_name(path, &digest).map_err(bad)?;
    Ok((record(&path.join(MANIFEST), 0, &text)?, digest))
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
