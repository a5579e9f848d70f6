//! A folder of its own for every run that makes files: refused where it could do harm or say
//! nothing, and removed however the run ends.
//!
//! A run makes one folder with a name of its own below the place it was given, and works in that
//! alone, so it never touches anything it did not make. A held file (see [`crate::held_file`])
//! names the folder; if the worker is killed outright, [`sweep`] finds the file and removes the
//! folder.

use crate::held_file::{self, FOLDER, HeldFile};
use crate::workload::{Outcome, ParamSpec, Params, Telling, path, text};
use crate::{Context, Error};
use rustix::fs::{MetadataExt, statfs, statvfs};
use std::fs::{DirBuilder, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PREFIX: &str = "coretwin-scratch-";

/// File systems behind a network, whose times are those of another machine (statfs(2)).
const NETWORK: &[(u32, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x5346_414f, "AFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x0102_1997, "9P"),
];
/// `TMPFS_MAGIC` and `RAMFS_MAGIC` (statfs(2)): files in memory.
const IN_MEMORY: &[u32] = &[0x0102_1994, 0x8584_58f6];

const TEMPORARY: &str = "temporary";
pub(crate) const DIR: ParamSpec = ParamSpec::text(
    "dir",
    TEMPORARY,
    "an empty folder for the row's files; 'temporary': below TMPDIR or /tmp",
);

pub(crate) fn check(workload: &'static str, params: &Params) -> Result<(), Error> {
    path(workload, params, DIR.name, TEMPORARY)
}

/// A folder that is removed when this is dropped.
pub(crate) struct Scratch {
    folder: PathBuf,
    file: HeldFile,
}

impl Scratch {
    pub(crate) fn of(params: &Params, bytes_needed: u64) -> Result<Self, Error> {
        let place = Some(text(params, DIR.name)).filter(|place| place != TEMPORARY);
        Self::new(place.as_deref().map(Path::new), bytes_needed)
    }

    /// Without a parent, below the folder for temporary files (`TMPDIR`, else `/tmp`).
    fn new(parent: Option<&Path>, bytes_needed: u64) -> Result<Self, Error> {
        sweep();
        let temporary = std::env::temp_dir();
        let place = parent.unwrap_or(&temporary);
        let place = place
            .canonicalize()
            .with_context(|| format!("the scratch folder {}", place.display()))?;
        check_place(&place, kind_of(&place), parent.is_some(), bytes_needed)?;
        let random = RandomState::new().build_hasher().finish() as u32;
        let name = format!("{PREFIX}{}-{random:x}", std::process::id());
        // Another name than the file's, or the two collide where the place is the files' own.
        let folder = place.join(format!("{name}-files"));
        // The file first: what it names need not exist.
        let file = HeldFile::create(Path::new(FOLDER), &name, &folder.to_string_lossy())?;
        let made = Self { folder, file };
        DirBuilder::new()
            .mode(0o700)
            .create(&made.folder)
            .with_context(|| format!("cannot write in the scratch folder {}", place.display()))?;
        Ok(made)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn file_system(&self) -> String {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let (kind, options) =
            mount_of(&mounts, &self.folder).unwrap_or_else(|| ("unknown".into(), String::new()));
        let gib = |blocks: u64, size: u64| blocks as f64 * size as f64 / f64::from(1 << 30);
        let size = statvfs(&self.folder).map_or_else(
            |_| String::new(),
            |fs| {
                let (all, free) = (gib(fs.f_blocks, fs.f_frsize), gib(fs.f_bavail, fs.f_frsize));
                format!(", {all:.1} GiB, {free:.1} free")
            },
        );
        format!("{kind} ({options}){size}")
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        kind_of(&self.folder).is_some_and(|kind| IN_MEMORY.contains(&kind))
    }

    pub(crate) fn end(self, measured: &mut Outcome) -> Result<(), Error> {
        measured.note("file_system", self.file_system());
        self.remove()?;
        measured.check("files_gone", !self.folder.exists());
        Ok(())
    }

    /// Removes the folder and all that is in it. What writes in it must have ended.
    fn remove(&self) -> Result<(), Error> {
        remove_folder(&self.folder)
            .with_context(|| format!("cannot remove {}", self.folder.display()))?;
        self.file.remove();
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it cannot be, the file stays too, and the next sweep tries again.
        let _ = self.remove();
    }
}

fn check_place(
    place: &Path,
    kind: Option<u32>,
    chosen: bool,
    bytes_needed: u64,
) -> Result<(), Error> {
    let refused =
        |why: String| Error::failed(format!("the scratch folder {} {why}", place.display()));
    let trouble =
        |error| Error::system(format!("cannot read the scratch folder {}", place.display()), error);
    if !place.is_dir() {
        return Err(refused("is not a folder".to_owned()));
    }
    if chosen && std::fs::read_dir(place).map_err(trouble)?.next().is_some() {
        return Err(refused(
            "is not empty; name an empty one, so that nothing in it can come to harm".to_owned(),
        ));
    }
    if let Some((_, name)) = NETWORK.iter().find(|(magic, _)| kind == Some(*magic)) {
        return Err(refused(format!(
            "is on a network file system ({name}), whose times are those of another machine; name \
             one on this machine with dir="
        )));
    }
    let space = statvfs(place).map_err(|error| trouble(error.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if free < bytes_needed {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        return Err(refused(format!(
            "is too small: {} MiB are needed and {} are free",
            mib(bytes_needed),
            free >> 20
        )));
    }
    Ok(())
}

fn kind_of(folder: &Path) -> Option<u32> {
    // The type of the field differs between architectures; every magic number has 32 bits.
    statfs(folder).ok().map(|fs| fs.f_type as u32)
}

/// Type and options of the mount that holds the folder: the longest mount point above it, the last
/// of those that are equal (proc_pid_mountinfo(5)).
fn mount_of(mountinfo: &str, folder: &Path) -> Option<(String, String)> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?.replace("\\040", " ");
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        folder.starts_with(&point).then(|| (point.len(), kind.to_owned(), options.to_owned()))
    });
    mounts.max_by_key(|(length, _, _)| *length).map(|(_, kind, options)| (kind, options))
}

fn remove_folder(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes the folders that killed runs have left; returns how many. Those of others are only
/// touched by root, and only if folder and file have one owner.
pub(crate) fn sweep() -> u32 {
    sweep_in(Path::new(FOLDER))
}

fn sweep_in(claims: &Path) -> u32 {
    let mut removed = 0;
    for claim in held_file::abandoned(claims, PREFIX) {
        let folder = PathBuf::from(&claim.text);
        let ours = folder
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(PREFIX));
        match std::fs::symlink_metadata(&folder) {
            Ok(found) if ours && found.is_dir() && found.uid() == claim.owner => {
                if remove_folder(&folder).is_ok() {
                    removed += 1;
                    claim.remove();
                }
            }
            // It is gone, or was never made, or is no folder of ours.
            _ => claim.remove(),
        }
    }
    removed
}

pub(crate) fn subfolder(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    let made = std::fs::create_dir(&path)
        .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o755)));
    made.with_context(|| format!("cannot make {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_file_that_names_a_folder_leaves_room_for_it_in_its_own_place() {
        let place = tempfile::tempdir().expect("folder");
        let scratch = Scratch::new(Some(place.path()), 1).expect("scratch folder");
        let name = scratch.folder().file_name().expect("name");
        assert!(!Path::new(FOLDER).join(name).exists(), "{}", name.display());
        assert!(name.to_string_lossy().starts_with(PREFIX), "a sweep knows it by its name");
    }

    #[test]
    fn a_note_leads_to_the_removal_of_its_owners_folder_alone() {
        let place = tempfile::tempdir().expect("folder");
        let claims = tempfile::tempdir().expect("folder");
        let folder = place.path().join(format!("{PREFIX}dead"));
        let note = claims.path().join(format!("{PREFIX}note"));
        let abandon =
            || std::fs::write(&note, folder.as_os_str().as_encoded_bytes()).expect("note");
        std::fs::create_dir(&folder).expect("folder");
        // Only root can make a note of somebody else's.
        if rustix::process::geteuid().is_root() {
            abandon();
            std::os::unix::fs::chown(&note, Some(1000), None).expect("given away");
            assert_eq!(sweep_in(claims.path()), 0);
            assert!(folder.exists() && !note.exists(), "the note alone is removed");
        }
        abandon();
        assert_eq!(sweep_in(claims.path()), 1);
        assert!(!folder.exists() && !note.exists());
    }

    #[test]
    fn a_place_behind_a_network_is_refused_by_name() {
        let folder = tempfile::tempdir().expect("folder");
        let here = kind_of(folder.path());
        check_place(folder.path(), here, true, 1).expect("this one will do");
        for (magic, name) in NETWORK {
            let error = check_place(folder.path(), Some(*magic), true, 1).expect_err(name);
            let part = format!("is on a network file system ({name})");
            assert!(error.to_string().contains(&part), "{error}");
        }
        let error = check_place(folder.path(), here, true, u64::MAX).expect_err("too small");
        assert!(error.to_string().contains("is too small"), "{error}");
    }
}
