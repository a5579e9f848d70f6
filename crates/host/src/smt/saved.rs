//! The state of a machine before it is changed, and the file in which it survives whoever changed
//! it.
//!
//! A file is one line of JSON, `{"schema":1,"checksum":"…","state":{…}}`; the checksum is taken
//! over the bytes of the state, so that a torn or edited file is told from a good one. It is
//! written under another name, synchronised, renamed, and the folder is synchronised: after
//! [`write()`] returns, it is there, whole, whatever happens next. `/run` is emptied by a reboot, and
//! the boot id in the state tells where it is not.

use super::SwitchError;
use crate::root::Root;
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::SmtControl;
use coretwin_base::schema::{SCHEMA, check};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

pub const FOLDER: &str = "run/coretwin";

/// Whose change a state undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Slot {
    /// A study's: restored when the study ends or dies.
    Study,
    /// Made by hand: kept until it is undone by hand.
    Hand,
}

impl Slot {
    pub const ALL: [Self; 2] = [Self::Study, Self::Hand];

    pub fn name(self) -> &'static str {
        match self {
            Self::Study => "study",
            Self::Hand => "hand",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|slot| slot.name() == word)
    }

    pub fn file(self) -> String {
        format!("{FOLDER}/smt-{}.json", self.name())
    }

    pub fn guard_lock(self) -> String {
        format!("{FOLDER}/smt-{}.guard", self.name())
    }
}

/// Everything about a machine that switching SMT may change, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedState {
    pub machine: Machine,
    /// When, in UTC, `2026-01-31T12:00:00Z`.
    pub taken_utc: String,
    pub holder: Holder,
    /// Whether the change is meant to outlive the holder.
    pub kept: bool,
    /// The word of `smt/control`; none on a kernel without it.
    pub control: Option<SmtControl>,
    #[serde(with = "list")]
    pub present: CpuSet,
    #[serde(with = "list")]
    pub online: CpuSet,
    /// CPUs that share a core, a list for each core as far as the kernel tells.
    #[serde(with = "lists")]
    pub cores: Vec<CpuSet>,
    /// Where interrupts may be handled.
    pub interrupts: Vec<Interrupt>,
    /// CPU sets of control groups, parents before children.
    pub cpusets: Vec<Cpuset>,
    /// CPUs of the tasks whose affinity the kernel would lose.
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// `/etc/machine-id`, where there is one.
    pub machine_id: Option<String>,
    pub host_name: String,
    pub kernel_release: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub process: u32,
    /// When it started, in clock ticks after the boot: with the id, the identity of a process.
    pub started_ticks: u64,
    pub command_line: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    pub number: u32,
    /// Its users, as `/proc/irq/N` names them, joined by blanks: another name means another
    /// interrupt under the same number.
    pub name: String,
    #[serde(with = "list")]
    pub cpus: CpuSet,
    /// The kernel places it and takes no wish.
    pub managed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpuset {
    /// The folder of the group, below the root.
    pub path: String,
    /// The version of its hierarchy, 1 or 2.
    pub version: u8,
    /// `cpuset.cpus`: what was asked for. Empty in version 2: all of its parent.
    #[serde(with = "list")]
    pub cpus: CpuSet,
    #[serde(with = "list")]
    pub effective: CpuSet,
    /// `cpuset.cpus.partition`, version 2.
    pub partition: Option<String>,
    /// Its tasks, version 1 only: the kernel moves them away when the last CPU goes.
    pub tasks: Vec<TaskId>,
}

/// A task, told from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId {
    pub task: u32,
    /// When it started, in clock ticks after the boot.
    pub started_ticks: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub process: u32,
    pub name: String,
    #[serde(with = "list")]
    pub cpus: CpuSet,
}

/// A state that is on disk. Only with one may the machine be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    slot: Slot,
    state: SavedState,
}

impl Stored {
    pub fn slot(&self) -> Slot {
        self.slot
    }
}

impl Deref for Stored {
    type Target = SavedState;

    fn deref(&self) -> &SavedState {
        &self.state
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: u32,
}

/// Makes a state durable, instead of the one that was in the slot. Errors: [`SwitchError::Save`];
/// then nothing may be changed.
pub fn write(root: &Root, slot: Slot, state: SavedState) -> Result<Stored, SwitchError> {
    let path = root.path(&slot.file());
    let fail = |cause: std::io::Error| SwitchError::Save { path: path.clone(), cause };
    let text = render(&state).map_err(|error| fail(error.into()))?;
    let folder = folder(root).map_err(fail)?;
    let temporary = path.with_extension(format!("json.{}", std::process::id()));
    let written = (|| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(rustix::fs::open(&temporary, flags | OFlags::CLOEXEC, mode)?);
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)?;
        folder.sync_all()
    })();
    if let Err(cause) = written {
        let _ = std::fs::remove_file(&temporary);
        return Err(fail(cause));
    }
    Ok(Stored { slot, state })
}

/// Opens the folder of states, making it for the owner alone if there is none.
pub(crate) fn folder(root: &Root) -> std::io::Result<File> {
    let path = root.path(FOLDER);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match rustix::fs::mkdir(&path, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    if let Some(stranger) = stranger(&folder)? {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, stranger));
    }
    Ok(folder)
}

/// Whether somebody but us and root could have put something into a file or folder, in words: root
/// would then act on it.
fn stranger(file: &File) -> std::io::Result<Option<String>> {
    let meta = file.metadata()?;
    let us = rustix::process::geteuid().as_raw();
    Ok(if meta.uid() != 0 && meta.uid() != us {
        Some(format!("it belongs to user {}, not to root", meta.uid()))
    } else if meta.mode() & 0o022 != 0 {
        Some("others than its owner may write it".to_owned())
    } else {
        None
    })
}

/// The state in a slot; `None` if there is none. Whether it is of this machine and boot is checked
/// by whoever would act on it ([`SavedState::check_machine`]).
pub fn read(root: &Root, slot: Slot) -> Result<Option<Stored>, SwitchError> {
    let path = root.path(&slot.file());
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(&path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(SwitchError::Unreadable { path, cause: error.into() }),
    };
    let mut text = Vec::new();
    match stranger(&file).and_then(|stranger| {
        if stranger.is_none() {
            text = caps::STATE.read(&mut file)?;
        }
        Ok(stranger)
    }) {
        Ok(None) => {}
        Ok(Some(why)) => return Err(SwitchError::Torn { path, why }),
        Err(cause) => return Err(SwitchError::Unreadable { path, cause }),
    }
    let state = parse(&text, path)?;
    Ok(Some(Stored { slot, state }))
}

pub fn remove(root: &Root, slot: Slot) -> Result<(), SwitchError> {
    let path = root.path(&slot.file());
    match std::fs::remove_file(&path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(SwitchError::Forget { path, cause })
        }
        _ => Ok(()),
    }
}

const STATE: &str = ",\"state\":";

fn render(state: &SavedState) -> serde_json::Result<String> {
    let state = serde_json::to_string(state)?;
    let sum = checksum(state.as_bytes());
    Ok(format!("{{\"schema\":{SCHEMA},\"checksum\":\"{sum:016x}\"{STATE}{state}}}\n"))
}

fn parse(bytes: &[u8], path: PathBuf) -> Result<SavedState, SwitchError> {
    let torn = |why: &str| SwitchError::Torn { path: path.clone(), why: why.to_owned() };
    if bytes.is_empty() {
        return Err(torn("it is empty"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| torn("it is no text"))?;
    let header: Header =
        serde_json::from_str(text).map_err(|error| torn(&format!("it is cut off: {error}")))?;
    check(header.schema).map_err(|newer| SwitchError::Newer { path: path.clone(), newer })?;
    let (head, rest) = text.split_once(STATE).ok_or_else(|| torn("it holds no state"))?;
    let state = rest.trim_end().strip_suffix('}').ok_or_else(|| torn("it has no end"))?;
    let sum = format!("\"checksum\":\"{:016x}\"", checksum(state.as_bytes()));
    if !head.ends_with(&sum) {
        return Err(torn("its checksum does not match"));
    }
    serde_json::from_str(state).map_err(|error| torn(&error.to_string()))
}

/// FNV-1a, 64 bits: against accidents, not against somebody who is root anyway.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A CPU set as the kernel's list: short, and readable by whoever must put it back by hand.
mod list {
    use coretwin_base::machine::cpu_set::CpuSet;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(cpus: &CpuSet, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(cpus)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CpuSet, D::Error> {
        CpuSet::parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

mod lists {
    use coretwin_base::machine::cpu_set::CpuSet;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(sets: &[CpuSet], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(sets.iter().map(CpuSet::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CpuSet>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| CpuSet::parse(text).map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn machine() -> (tempfile::TempDir, Root) {
        let (folder, root) = crate::fake::written("server-halves");
        let state = crate::smt::capture::capture(&root).expect("captured");
        write(&root, Slot::Hand, state).expect("written");
        (folder, root)
    }

    fn mode(path: &std::path::Path) -> u32 {
        path.metadata().expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn states_are_for_their_owner_alone() {
        let (_folder, root) = machine();
        assert_eq!(mode(&root.path(FOLDER)), 0o700);
        assert_eq!(mode(&root.path(&Slot::Hand.file())), 0o600);
        assert!(read(&root, Slot::Hand).expect("readable").is_some());
    }

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        let (_folder, root) = machine();
        let path = root.path(&Slot::Hand.file());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).expect("set");
        let error = read(&root, Slot::Hand).expect_err("refused").to_string();
        assert!(error.contains("others than its owner may write it"), "{error}");
        if rustix::process::geteuid().is_root() {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("set");
            std::os::unix::fs::chown(&path, Some(1000), None).expect("given away");
            let error = read(&root, Slot::Hand).expect_err("refused").to_string();
            assert!(error.contains("belongs to user 1000"), "{error}");
        }
        let state = crate::smt::capture::capture(&root).expect("captured");
        std::fs::set_permissions(root.path(FOLDER), PermissionsExt::from_mode(0o777)).expect("set");
        let error = write(&root, Slot::Study, state).expect_err("refused").to_string();
        assert!(error.contains("nothing was changed"), "{error}");
    }

    #[test]
    fn links_are_not_followed() {
        let (_folder, root) = machine();
        symlink(root.path(&Slot::Hand.file()), root.path(&Slot::Study.file())).expect("link");
        assert!(matches!(read(&root, Slot::Study), Err(SwitchError::Unreadable { .. })));
        let elsewhere = tempfile::tempdir().expect("folder");
        std::fs::remove_dir_all(root.path(FOLDER)).expect("removed");
        symlink(elsewhere.path(), root.path(FOLDER)).expect("link");
        let state = crate::smt::capture::capture(&root).expect("captured");
        assert!(write(&root, Slot::Hand, state).is_err());
        assert_eq!(elsewhere.path().read_dir().expect("readable").count(), 0);
    }
}
