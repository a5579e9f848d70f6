//! Studies of what core-queue costs go on from boot to boot: the host keeps what each brought out, until the
//! scheduler's program changes. And the pages of what they say, and of what the article's schedulers count.

use super::suites::sched::{bounds, cost, counts, peers};
use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What the scheduler is made of.
const PROGRAM: &str = "crates/bpf/c";
const PAGE: &str = "docs/evidence/core-queue-guest.md";
const PEERS_PAGE: &str = "docs/evidence/core-queue-peers.md";
const COUNTS_PAGE: &str = "docs/evidence/reality-guest.md";
const ARTICLE_PAGE: &str = "docs/evidence/article-schedulers.md";

/// Where studies of this program are kept.
pub(super) struct Kept(PathBuf);

impl Kept {
    pub(super) fn open(root: &Path, folder: &Path) -> Result<Self> {
        let program = root.join(PROGRAM);
        let reading = || format!("reading {}", program.display());
        let entries = fs::read_dir(&program).with_context(reading)?;
        let mut files = entries.map(|it| Ok(it?.path())).collect::<Result<Vec<_>>>()?;
        files.sort();
        let mut hasher = DefaultHasher::new();
        for file in files {
            fs::read(file).with_context(reading)?.hash(&mut hasher);
        }
        let folder = folder.join(format!("{:016x}", hasher.finish()));
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Self(folder))
    }

    fn path(&self, release: &str, boot: &str, what: &str) -> Option<PathBuf> {
        let is_kept = cost::rows().any(|(name, _)| name == boot)
            || bounds::heads().any(|(name, _)| name == boot)
            || counts::BOOTS.iter().any(|(name, _)| *name == boot)
            || peers::BOOTS.iter().any(|(name, _)| *name == boot);
        is_kept.then(|| self.0.join(format!("{release}-{boot}.{what}")))
    }

    /// What a boot of this name brought out last: an archive for the next.
    pub(super) fn archive(&self, release: &str, boot: &str) -> Option<Vec<u8>> {
        fs::read(self.path(release, boot, "archive")?).ok()
    }

    /// Keeps what a boot brought out, and what it told.
    pub(super) fn keep(
        &self,
        release: &str,
        boot: &str,
        archive: Option<&[u8]>,
        told: &str,
    ) -> Result<()> {
        let archive = archive.map(|archive| ("archive", archive));
        for (what, content) in archive.into_iter().chain([("told", told.as_bytes())]) {
            let Some(path) = self.path(release, boot, what) else { return Ok(()) };
            let writing = || format!("writing {}", path.display());
            let new = path.with_extension("new");
            fs::write(&new, content).with_context(writing)?;
            fs::rename(&new, &path).with_context(writing)?;
        }
        Ok(())
    }

    /// Writes the pages of all that was measured under a kernel; none without rows.
    pub(super) fn write_pages(&self, root: &Path, release: &str) -> Result<()> {
        let told = |boot: &str| fs::read_to_string(self.path(release, boot, "told")?).ok();
        let rows_of = |boots: Vec<&str>| -> String {
            let rows = boots.into_iter().filter_map(told).filter(|it| it.starts_with('|'));
            rows.map(|row| row + "\n").collect()
        };
        let cost = cost::rows()
            .filter_map(|(boot, about)| Some(format!("| `{boot}` | {about} | {} |\n", told(boot)?)))
            .collect();
        let bounds = bounds::heads()
            .filter_map(|(boot, head)| Some(head + &told(boot).filter(|it| it.starts_with('|'))?))
            .collect();
        let others = rows_of(peers::BOOTS.iter().map(|(boot, _)| *boot).collect());
        let counted = rows_of(counts::BOOTS.iter().map(|(boot, _)| *boot).collect());
        let head = |page: &str| page.replace("RELEASE", release);
        let pages: [(_, _, String); 4] = [
            (PAGE, head(cost::PAGE), cost),
            (ARTICLE_PAGE, head(bounds::PAGE), bounds),
            (COUNTS_PAGE, head(counts::PAGE), counted),
            (PEERS_PAGE, peers::head(release), others),
        ];
        for (page, head, rows) in pages {
            if !rows.is_empty() {
                let path = root.join(page);
                fs::write(&path, head + rows.trim_end() + "\n")
                    .with_context(|| format!("writing {}", path.display()))?;
            }
        }
        Ok(())
    }
}
