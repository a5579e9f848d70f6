//! SysV semaphores and shared memory that are removed however a run ends.
//!
//! The kernel keeps a semaphore set or segment when its maker dies. So a run first draws a range
//! of keys that nobody uses and writes it to a held file (see [`crate::held_file`]); its processes
//! make their sets and segments under those keys only. The run removes every one of its range at
//! its end, and if it is killed outright, the next run (or [`sweep`]) finds a claim that nobody
//! holds the lock of and removes them then.
//!
//! A set or segment is only removed if its maker is the owner of the claim, so that nobody can
//! have those of others removed.

use crate::held_file::{self, Abandoned, FOLDER, HeldFile};
use crate::{Error, sys};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

const PREFIX: &str = "coretwin-semaphores-";

/// The most keys one claim can hold: as many rooms as there can be, and a few.
pub(crate) const KEYS_MAX: u32 = 1 << 10;

/// A range of keys of this process. Dropping it removes every set and segment of the range.
pub(crate) struct Claim {
    pub(crate) base: i32,
    count: u32,
    file: HeldFile,
}

impl Claim {
    pub(crate) fn new(count: u32) -> Result<Self, Error> {
        Self::new_in(Path::new(FOLDER), count)
    }

    fn new_in(folder: &Path, count: u32) -> Result<Self, Error> {
        if count > KEYS_MAX {
            // What lies beyond the range would belong to others, or stay.
            return Err(Error::failed(format!(
                "{count} keys of SysV semaphores are needed, and {KEYS_MAX} is the most"
            )));
        }
        sweep_in(folder);
        let used = |key| sys::semaphores_find(key).or_else(|| sys::segment_find(key)).is_some();
        let base = (0..64)
            .map(|_| draw_base())
            .find(|base| !keys(*base, count).any(used))
            .ok_or_else(|| Error::failed("no range of SysV semaphore keys is free"))?;
        let name = format!("{PREFIX}{:x}-{}", base as u32, std::process::id());
        let file = HeldFile::create(folder, &name, &format!("{base} {count}\n"))?;
        Ok(Self { base, count, file })
    }

    pub(crate) fn existing(&self) -> usize {
        let keys = || keys(self.base, self.count);
        keys().filter_map(sys::semaphores_find).count()
            + keys().filter_map(sys::segment_find).count()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        remove_all(self.base, self.count, rustix::process::getuid().as_raw());
        // The file goes last, so that a death in between is swept.
        self.file.remove();
    }
}

/// Returns how many sets and segments were removed. Claims of others are only touched by root.
pub(crate) fn sweep() -> u32 {
    sweep_in(Path::new(FOLDER))
}

fn sweep_in(folder: &Path) -> u32 {
    held_file::abandoned(folder, PREFIX).into_iter().map(sweep_claim).sum()
}

fn sweep_claim(claim: Abandoned) -> u32 {
    let removed = match parse(&claim.text) {
        Some((base, count)) => remove_all(base, count, claim.owner),
        None => 0, // It died before it wrote the range, so before it made a set.
    };
    claim.remove();
    removed
}

fn parse(text: &str) -> Option<(i32, u32)> {
    let (base, count) = text.trim().split_once(' ')?;
    Some((base.parse().ok()?, count.parse().ok().filter(|count| *count <= KEYS_MAX)?))
}

/// 22 random bits above the 10 that number the keys; never the private key 0.
fn draw_base() -> i32 {
    let random = RandomState::new().build_hasher().finish() as u32;
    (random | KEYS_MAX).wrapping_div(KEYS_MAX).wrapping_mul(KEYS_MAX).cast_signed()
}

fn keys(base: i32, count: u32) -> impl Iterator<Item = i32> {
    (0..count.cast_signed()).map(move |index| base.wrapping_add(index))
}

fn remove_all(base: i32, count: u32, owner: u32) -> u32 {
    let sets = keys(base, count).filter_map(sys::semaphores_find);
    let own = sets.filter(|set| sys::semaphores_creator(*set).is_ok_and(|uid| uid == owner));
    let sets = own.filter(|set| sys::semaphores_remove(*set).is_ok()).count();
    let segments = keys(base, count).filter_map(sys::segment_find);
    let own = segments.filter(|id| sys::segment_creator(*id).is_ok_and(|uid| uid == owner));
    let segments = own.filter(|id| sys::segment_remove(*id).is_ok()).count();
    u32::try_from(sets + segments).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_removes_its_sets_and_its_file() {
        let folder = tempfile::tempdir().expect("folder");
        let claim = Claim::new_in(folder.path(), 5).expect("claim");
        let set = sys::semaphores_create(claim.base + 4, 3).expect("set");
        let segment = sys::segment_create(claim.base + 3, 100).expect("segment");
        assert_eq!(claim.existing(), 2);
        assert_eq!(sweep_in(folder.path()), 0, "a live claim is left alone");
        let more = Claim::new_in(folder.path(), KEYS_MAX + 1).err().expect("too many").to_string();
        assert!(more.contains("1025 keys") && more.contains("1024 is the most"), "{more}");
        drop(claim);
        assert!(sys::semaphores_remove(set).is_err(), "the set is gone");
        assert!(sys::segment_remove(segment).is_err(), "the segment is gone");
        assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
    }

    #[test]
    fn what_a_dead_run_left_is_swept() {
        let folder = tempfile::tempdir().expect("folder");
        let base = draw_base();
        let set = sys::semaphores_create(base + 1, 1).expect("set");
        let beyond = sys::semaphores_create(base + 2, 1).expect("set");
        std::fs::write(folder.path().join(format!("{PREFIX}dead")), format!("{base} 2\n"))
            .expect("claim");
        std::fs::write(folder.path().join(format!("{PREFIX}empty")), "").expect("claim");
        std::fs::write(folder.path().join("other"), format!("{base} 3\n")).expect("file");
        assert_eq!(sweep_in(folder.path()), 1);
        assert!(sys::semaphores_remove(set).is_err(), "inside the range it is gone");
        sys::semaphores_remove(beyond).expect("outside the range it is left alone");
        assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 1);
    }

    #[test]
    fn what_another_user_claims_is_not_removed() {
        let own = rustix::process::geteuid().as_raw();
        let base = draw_base();
        let set = sys::semaphores_create(base, 1).expect("set");
        let segment = sys::segment_create(base, 100).expect("segment");
        assert_eq!(remove_all(base, 1, own + 1), 0, "claimed by somebody else");
        assert_eq!(remove_all(base, 1, own), 2);
        assert!(sys::semaphores_remove(set).is_err() && sys::segment_remove(segment).is_err());
    }

    #[test]
    fn ranges_start_at_their_own_thousand() {
        for _ in 0..1000 {
            let base = draw_base().cast_unsigned();
            assert!(base >= KEYS_MAX && base.is_multiple_of(KEYS_MAX));
        }
    }
}
