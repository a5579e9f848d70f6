//! Results of pairs kept on disk, so that a matrix that grows by one profile runs only what is new.
//!
//! What a result depends on is the preset, the profiles, the lengths, the seed, and the simulator
//! itself. The last is named by the program's own file (its length and time of change): another
//! build never reads this one's results.

use coretwin_base::caps;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Preset};
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    program: String,
}

/// What is kept of a pair: uops per cycle of each thread alone, then of each beside the other.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    ipc: [f64; 4],
}

impl Cache {
    /// A cache in that folder, which is made when the first result is kept.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder, program: program() }
    }

    /// The user's own: `coretwin` under `$XDG_CACHE_HOME`, else under `~/.cache` (XDG Base Directory
    /// Specification). None without a home.
    pub fn of_user() -> Option<Self> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let absolute = |path: &PathBuf| path.is_absolute();
        let base = folder("XDG_CACHE_HOME")
            .filter(absolute)
            .or_else(|| Some(folder("HOME").filter(absolute)?.join(".cache")))?;
        Some(Self::at(base.join("coretwin/core")))
    }

    pub(super) fn file(
        &self,
        preset: &Preset,
        profiles: [&Profile; 2],
        options: &Options,
    ) -> PathBuf {
        let text = format!("{}\n{preset:?}\n{profiles:?}\n{options:?}", self.program);
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, &text).hash(&mut hasher);
            hasher.finish()
        };
        self.folder.join(format!("{:016x}{:016x}.json", half(0), half(1)))
    }

    /// A result kept earlier; what cannot be read is as good as none.
    pub(super) fn get(file: &Path) -> Option<[f64; 4]> {
        let text = caps::STATE.text(std::fs::File::open(file).ok()?).ok()?;
        let entry: Entry = serde_json::from_str(&text).ok()?;
        entry.ipc.iter().all(|ipc| *ipc > 0.0).then_some(entry.ipc)
    }

    /// Keeps a result. A cache that cannot be written only costs time later.
    pub(super) fn put(file: &Path, ipc: [f64; 4]) {
        let Some(folder) = file.parent() else { return };
        let Ok(text) = serde_json::to_string(&Entry { ipc }) else { return };
        // Under another name first: a reader never sees half a result.
        let part = file.with_extension(format!("part-{}", std::process::id()));
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&part, text))
            .and_then(|()| std::fs::rename(&part, file));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
    }
}

fn program() -> String {
    let metadata = std::env::current_exe().and_then(std::fs::metadata);
    metadata.map_or_else(
        |_| String::new(),
        |metadata| format!("{} {:?}", metadata.len(), metadata.modified().ok()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_by_what_they_depend_on_and_damaged_ones_are_no_results() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::at(folder.path().join("a/b"));
        let preset = Preset::named("zen4").expect("preset");
        let [spin, chase] =
            ["spin", "pointer-chase"].map(|name| Profile::named(name).expect("profile"));
        let options = Options::default();
        let file = cache.file(&preset, [&spin, &chase], &options);
        assert_eq!(file, cache.file(&preset, [&spin, &chase], &options));
        let others = [
            cache.file(&preset, [&chase, &spin], &options),
            cache.file(&preset, [&spin, &chase], &Options { seed: 2, ..options }),
            cache.file(&Preset::named("zen3").expect("preset"), [&spin, &chase], &options),
        ];
        assert!(!others.contains(&file));
        assert_eq!(Cache::get(&file), None);
        Cache::put(&file, [1.0, 2.0, 0.5, 1.5]);
        assert_eq!(Cache::get(&file), Some([1.0, 2.0, 0.5, 1.5]));
        for damaged in ["", "{\"ipc\":[1.0,2.0]}", "{\"ipc\":[1.0,0.0,1.0,1.0]}"] {
            std::fs::write(&file, damaged).expect("write");
            assert_eq!(Cache::get(&file), None, "{damaged}");
        }
    }
}
