//! `cargo xtask vm`: boots real kernels in virtual machines with SMT and runs suites of checks there.
//!
//! ```text
//! apt ── kernel ──▶ Kernel ─┐
//! cargo ── image ─▶ initramfs ─┴─▶ qemu: one boot ──▶ frames ──▶ results, folders
//!                                    └ guest: /init, the suite's guest half
//! ```
//!
//! A new suite is one file in `suites`, and a row in its table.

mod apt;
pub(crate) mod cpio;
mod frame;
pub(crate) mod guest;
pub(crate) mod image;
pub(crate) mod init;
mod kept;
mod kernel;
mod lanes;
mod own;
mod qemu;
mod suites;

use anyhow::{Context, Result, bail};
use kept::Kept;
use kernel::{Kernel, Wish};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
pub(crate) use suites::sched::cost;
use suites::table::{self, SUITES};
use suites::{Suite, Wanted};

const HELP: &str = "\
cargo xtask vm [SUITE...] [--kernel VERSION]... [--boot NAME]... [--fast] [--seed N] [--keep] [--page] [--list]

  --kernel VERSION  the newest of this series, such as 7.2; else the newest, and without --fast the newest
                    before 6.2, too, and the newest before 5.15, for accounting alone; own:6.12 is one built
                    here from Debian's package of its source
  --boot NAME       only machines with a boot of this name; hotplugstorm takes over an hour, and runs if named alone
  --fast            only what belongs to every change's test
  --seed N          of every random choice; drawn and told if not given
  --keep            leaves consoles, archives and what was brought out in the target folder
  --page            writes what core-queue costs (boots cost...) to docs/evidence/core-queue-guest.md, where a
                    boot goes on with the study of the one before; and what the article's schedulers count
                    (boots bounds...) to docs/evidence/article-schedulers.md; and what all kinds of schedulers count
                    (boots counts...) to docs/evidence/reality-guest.md; and core-queue beside those of others
                    (boots peerspipe, peerstbench, peerschat10, peerschat20, peersgroups1, peersgroups4, after
                    `cargo xtask peers`) to docs/evidence/core-queue-peers.md
  --list            says which suites there are, and which kernels are at hand
";

/// What was asked for.
#[derive(Default)]
struct Options {
    suites: Vec<&'static Suite>,
    kernels: Vec<String>,
    boots: Vec<String>,
    fast: bool,
    seed: Option<u64>,
    keep: bool,
    page: bool,
    list: bool,
}

/// Runs suites; whether every check passed. Where nothing can be booted it says why, and passes.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let options = parse(arguments)?;
    let folder = std::path::absolute(crate::target_folder(root))?.join("vm");
    if options.list {
        return list(&folder);
    }
    let started = Instant::now();
    if let Err(error) = qemu::qemu().and_then(|_| image::busybox()) {
        // Where the gate runs, .ci/needs has installed them; their absence must not pass for success.
        if std::env::var_os("CI").is_some() {
            return Err(error.context("install what .ci/needs names"));
        }
        return Ok(skipped(&format!("{error:#}")));
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let _lock = lock(&folder)?;
    let wishes = match &options.kernels[..] {
        [] if options.fast => vec![Wish::Newest],
        [] => vec![Wish::Before515, Wish::Before62, Wish::Newest],
        series => series.iter().map(|series| Wish::parse(series)).collect(),
    };
    let must = !options.kernels.is_empty();
    let Some(kernels) = kernels(&folder.join("kernels"), &wishes, must)? else {
        return Ok(skipped("there is no kernel to boot"));
    };
    let building = Instant::now();
    let archive = image::build(root, &folder.join("build"))?;
    let seconds = building.elapsed().as_secs_f64();
    crate::print(&format!("vm: the static binaries are built ({seconds:.0} s)\n"));
    let scratch = folder.join("run");
    kernel::remove_folder(&scratch)?;
    fs::create_dir_all(&scratch).with_context(|| format!("making {}", scratch.display()))?;
    let drawn = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
    let seed = options.seed.unwrap_or(u64::from(drawn));
    crate::print(&format!("vm: seed {seed}\n"));
    let (old, kernels) = kernels.into_iter().partition(|kernel| kernel.is_old());
    let wanted = Wanted { kernels, old, boots: options.boots, fast: options.fast, seed };
    let kept = Kept::open(root, &folder.join("kept"))?;
    let tally = lanes::run(&options.suites, &wanted, &archive, &scratch, &kept)?;
    if options.page {
        wanted.kernels.iter().try_for_each(|kernel| kept.write_pages(root, &kernel.release))?;
    }
    if options.keep {
        crate::print(&format!("vm: kept {}\n", scratch.display()));
    } else {
        kernel::remove_folder(&scratch)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    crate::print(&format!(
        "vm: {} passed, {} failed ({seconds:.0} s)\n",
        tally.passed, tally.failed
    ));
    Ok(tally.failed == 0)
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--kernel" => {
                let version = arguments.next().context("--kernel needs a version, such as 7.2")?;
                options.kernels.push(version.to_owned());
            }
            "--boot" => {
                let name = arguments.next().context("--boot needs a name, such as rough")?;
                options.boots.push(name.to_owned());
            }
            "--seed" => {
                let seed = arguments.next().and_then(|text| text.parse().ok());
                options.seed = Some(seed.context("--seed needs a number")?);
            }
            "--fast" => options.fast = true,
            "--keep" => options.keep = true,
            "--page" => options.page = true,
            "--list" => options.list = true,
            flag if flag.starts_with('-') => bail!("there is no option '{flag}'\n\n{HELP}"),
            suite => options.suites.push(table::find(suite)?),
        }
    }
    if options.suites.is_empty() {
        options.suites = SUITES.to_vec();
    }
    Ok(options)
}

fn list(folder: &Path) -> Result<bool> {
    for suite in SUITES {
        crate::print(&format!("{:<8} {}\n", suite.name, suite.about));
    }
    let kernels = folder.join("kernels");
    for release in kernel::releases(&kernels) {
        crate::print(&format!("kernel   {release}, in {}\n", kernels.display()));
    }
    Ok(true)
}

/// Keeps two runs with one target folder apart; held while the file is open.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        crate::print("vm: another run uses this target folder; waiting for its end\n");
        flock(&file, FlockOperation::LockExclusive).context("waiting for another run")?;
    }
    Ok(file)
}

/// The kernels that are available, each printed; `None` if there is nothing to boot. One that was named must be had:
/// a long check of it would pass without.
fn kernels(folder: &Path, wishes: &[Wish], must: bool) -> Result<Option<Vec<Kernel>>> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let mut kernels: Vec<Kernel> = Vec::new();
    for (wish, got) in wishes.iter().zip(kernel::get(folder, wishes)) {
        match got {
            Ok(kernel) => {
                let bytes = fs::metadata(&kernel.image).map_or(0, |metadata| metadata.len());
                let megabytes = bytes as f64 / 1e6;
                crate::print(&format!("vm: {wish} is {}, {megabytes:.1} MB\n", kernel.release));
                kernels.push(kernel);
            }
            Err(error) if must => return Err(error.context(wish.to_string())),
            Err(error) => crate::print(&format!("vm: left out: {wish}: {error:#}\n")),
        }
    }
    kernels.dedup_by(|a, b| a.release == b.release);
    Ok(Some(kernels).filter(|kernels| !kernels.is_empty()))
}

/// Where nothing can be booted, nothing is shown, and nothing has failed.
fn skipped(reason: &str) -> bool {
    crate::print(&format!("vm: 0 passed, 0 failed (skipped: {reason})\n"));
    true
}

/// Where a program is.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options> {
        parse(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn without_words_every_suite_runs() {
        let options = parsed(&[]).expect("options");
        assert_eq!(options.suites.len(), SUITES.len());
        assert!(!options.fast && !options.keep && options.kernels.is_empty());
        let options = parsed(&["boots", "--fast", "--kernel", "7.2", "--keep"]).expect("options");
        assert_eq!((options.suites.len(), options.kernels), (1, vec!["7.2".to_owned()]));
        assert!(options.fast && options.keep);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (words, part) in [
            (&["boot"][..], "no suite 'boot'"),
            (&["--slow"], "'--slow'"),
            (&["--kernel"], "version"),
            (&["--boot"], "name"),
        ] {
            let error = parsed(words).map(|_| ()).expect_err("refused").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
