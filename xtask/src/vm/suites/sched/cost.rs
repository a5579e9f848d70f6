//! What the scheduler costs beside the kernel's own, interleaved: a boot for each row. Time passes by
//! instructions, so that whatever else the host does is not in it. An emulated guest shows decisions and
//! overhead, never what SMT gains.
//!
//! A study is kept by the host when its boot ends, and the next boot goes on with it: see `kept.rs`.

use crate::vm::guest::{Guest, json_of, mount_one, output};
use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A load, in a boot of its own.
pub(super) struct Row {
    pub(super) boot: &'static str,
    pub(super) about: &'static str,
    /// Whether siblings are on.
    siblings: bool,
    /// The lower end that it must have of the kernel's own, where its interval is narrow.
    least: f64,
    pub(super) words: &'static [&'static str],
}

/// Two tasks that wake each other, clients with their servers, rooms of eighty tasks, and groups of senders and
/// receivers.
pub(super) const ROWS: &[Row] = &[
    row(
        "costpipe",
        "pipe (LMbench), two tasks",
        0.95,
        &["lmbench/pipe-latency:sample=0.1,samples=3"],
    ),
    row("costtbench", "tbench, two clients with their servers", 0.98, &[TBENCH]),
    row("costchat10", "chat, 10 rooms, 800 tasks, 16 messages a user", 0.98, CHAT_10),
    row("costchat20", "chat, 20 rooms, 8 messages a user", 0.98, CHAT_20),
    row("costchat40", "chat, 40 rooms, 4 messages a user", 0.98, CHAT_40),
    row("costchat10off", "chat, 10 rooms, siblings off", 0.98, CHAT_10).without_siblings(),
    row("costchat20off", "chat, 20 rooms, siblings off", 0.98, CHAT_20).without_siblings(),
    row("costchat40off", "chat, 40 rooms, siblings off", 0.98, CHAT_40).without_siblings(),
    row(
        "costgroups1",
        "hackbench, 1 group of 10 senders and 10 receivers, 400 messages a pair",
        0.98,
        &["--", "/init", GROUPS, "1"],
    ),
    row("costgroups4", "hackbench, 4 groups, 100 messages", 0.98, &["--", "/init", GROUPS, "4"]),
    // Its default is 100 messages a pair: with fewer, making 320 tasks is much of it.
    row(
        "costgroups8",
        "hackbench, 8 groups, 100 messages",
        0.98,
        &["--", "/init", GROUPS, "8", "800"],
    ),
    row(
        "costgroups16",
        "hackbench, 16 groups, 100 messages",
        0.98,
        &["--", "/init", GROUPS, "16", "1600"],
    ),
    row(
        "costhackbench1",
        "Debian's hackbench, 1 group of 40 processes",
        0.98,
        &["--", HACKBENCH, "-g", "1", "-l", "400"],
    ),
    row(
        "costhackbench4",
        "Debian's hackbench, 4 groups, 100 messages",
        0.98,
        &["--", HACKBENCH, "-g", "4"],
    ),
];
/// Of the package rt-tests; the rows above it are ours, of threads, 10 senders and 10 receivers a group.
pub(super) const HACKBENCH: &str = "hackbench";
pub(super) const TBENCH: &str =
    "tbench:clients=2,mode=timed,seconds=0.5,warmup=0.3,loadfile=/tmp/calls.txt";
/// All three move as many messages. The benchmark's default is 100 a user; the page says what two show.
const CHAT_10: &[&str] = &["chat:rooms=10,messages=16"];
const CHAT_20: &[&str] = &["chat:rooms=20,messages=8"];
const CHAT_40: &[&str] = &["chat:rooms=40,messages=4"];
/// An interval of which both ends lie so far from the ratio is wide: then its upper end must reach 1.
const WIDE: f64 = 0.02;
/// Blocks of a row, if its interval does not become narrow sooner.
const BLOCKS: u64 = 24;
/// Fewer may be near each other by chance.
const BLOCKS_MIN: u64 = 4;
/// Of the guest's time: then a study is interrupted, and kept for the next boot.
const SESSION: Duration = Duration::from_secs(180);

const fn row(
    boot: &'static str,
    about: &'static str,
    least: f64,
    words: &'static [&'static str],
) -> Row {
    Row { boot, about, siblings: true, least, words }
}

impl Row {
    const fn without_siblings(self) -> Self {
        Self { siblings: false, ..self }
    }
}

/// Boots and loads of all rows.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter().map(|row| (row.boot, row.about))
}

/// Whether the row of a boot runs this program.
pub(super) fn runs(boot: &str, program: &str) -> bool {
    ROWS.iter().any(|row| row.boot == boot && row.words.contains(&program))
}

/// The page of what they say, without its rows.
pub(crate) const PAGE: &str = "\
# What core-queue costs in a guest

The kernel's own wins hackbench of 16 groups where each sender writes 25 times to each receiver, 0.985 (0.977 to 0.992), not
100 times, as by default; on Linux 6.12, without a rule for slow processors, it wins chat of 20 rooms.

Written by `cargo xtask vm schedcost --page`, which goes on with each row until its interval is narrow (0.04 wide
at most) and clear of its bound, or has 24 blocks; each boot (`--boot`) adds some. Linux RELEASE, 2 cores with 2 siblings each,
emulated, time by instructions: nothing else on the host shows. core-queue as a ratio to the kernel's own scheduler,
above 1 is better, with 95 % intervals. It shows what the scheduler's own steps and the order of tasks cost, never
what SMT gains. All rows of chat move 64,000 messages; hackbench is ours, of threads, but where it is
called Debian's. With 25 messages a pair 16 groups hardly switch under either (2,200 times
in a run, the kernel's own 4,700), and what a wake-up and a start cost decides; with 100 it is 6,600 times and 39,000.

An emulated processor is slow: a slice is not worth 1500 switches there, and tasks that wake among many stand four slices
later. On processors of usual speed that rule does nothing, and neither does it on the simulated machines. Without it chat
of 10 and 20 rooms has 1.764 (1.568 to 1.986) and 1.150 (1.087 to 1.217). Without it, and while tasks that wake among more
than three a CPU still left their core, 40 rooms had 1.016 (0.979 to 1.055), 10, 20 and 40 without siblings 1.246 (1.172 to
1.325), 1.027 (0.949 to 1.110) and 0.971 (0.923 to 1.023); of two messages a user, 20 rooms had 0.92.

On Linux 6.12 of our own making, which has little besides, chat of 10 rooms has 1.186 (1.160 to 1.213) in 11 blocks, and
without that rule 1.046 (0.985 to 1.111) in 22. Of 20 rooms it is **behind without it**: 0.817 (0.778 to 0.858) in 9,
with it, before tasks stayed, 1.290 (1.255 to 1.327) in 10. A message of 10 rooms took 0.94 segments of TCP without both rules,
and 0.64 under the kernel's own, which is its time in the kernel. The pipe has 1.310 (1.303 to 1.318) in 21, tbench 1.147
(1.128 to 1.166) in 19, both before.

What was tried there, two or three blocks each, of the kernel's own with 10 and 20 rooms: half a slice later 0.96 and 0.90;
one slice 0.95 and 0.86; two 1.12 and 1.15; four where eight wait 1.22 and 1.31. Where it went by how long tasks run between two waits,
a guest gained as much, but simulated Xeons lost up to a fifth: there those that run on and on should wait.

| boot | load | of the kernel's own |
|---|---|---|
";

/// The word by which this program is what the last of them measures.
pub(crate) const GROUPS: &str = "groups";
/// What a client of tbench asks for over and over: the load of a file server takes a guest too long to make.
pub(super) const CALLS: &str = r#"
Mkdir "\clients\client1" 0x0
NTCreateX "\clients\client1\a" 0x40 0x2 9938 NT_STATUS_OK
WriteX 9938 0 4096 4096 NT_STATUS_OK
WriteX 9938 4096 4096 4096 NT_STATUS_OK
ReadX 9938 0 4096 4096 NT_STATUS_OK
QUERY_FILE_INFORMATION 9938 258 NT_STATUS_OK
Close 9938 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a" 1004 NT_STATUS_OK
Unlink "\clients\client1\a" 0x6 NT_STATUS_OK
"#;
/// Nothing is mounted there: a study that the host has kept comes with the boot archive, and stays to be seen.
pub(super) const FOLDER: &str = "/var/cost";

/// What the loads need.
pub(super) fn prepare() -> Result<()> {
    // The workloads keep their semaphores there, and talk over the loopback.
    mount_one("tmpfs", "/dev/shm", "")?;
    output("busybox", &["ip", "link", "set", "lo", "up"])?;
    std::fs::write("/tmp/calls.txt", CALLS.trim_start()).context("the calls of tbench")
}

pub(super) fn run(guest: &mut Guest, row: &Row) -> Result<()> {
    prepare()?;
    guest.check_told(row.about, || {
        let mut has = measured();
        if !has.as_ref().is_ok_and(|it| it.is_enough(row.least)) {
            let arms = match row.siblings {
                true => ["--arm", "on@kernel", "--arm", "on@core-queue"],
                false => ["--arm", "off@kernel", "--arm", "off@core-queue"],
            };
            go_on(&[&arms, row.words].concat(), SESSION)?;
            has = measured();
        }
        let has = has?;
        ensure!(
            has.is_kept(row.least),
            "behind the kernel's own: {}, least {}",
            has.told(),
            row.least
        );
        Ok(has.told())
    })?;
    guest.bring_out(Path::new(FOLDER))
}

/// Begins a study, or goes on with it; interrupts it after a while.
pub(super) fn go_on(words: &[&str], session: Duration) -> Result<()> {
    let blocks = BLOCKS.to_string();
    // An emulated processor has no caches to warm.
    let new = ["--out", FOLDER, "--settle", "0s", "--no-warmup", "--blocks", &blocks];
    // What the kernel does for a loader is no neighbour.
    let limits = ["--steal-limit", "100%", "--others-limit", "100%"];
    let words = match Path::new(FOLDER).exists() {
        true => vec!["--resume", FOLDER],
        false => [&new[..], &limits, words].concat(),
    };
    let log = "/tmp/cost.log";
    let mut study = Command::new("coretwin")
        .args(["study", "--yes"])
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(log)?)
        .spawn()
        .context("starting a study")?;
    let started = Instant::now();
    let mut interrupted = false;
    let ended = loop {
        if let Some(ended) = study.try_wait()? {
            break ended;
        }
        if !interrupted && started.elapsed() > session {
            let pid =
                i32::try_from(study.id()).ok().and_then(Pid::from_raw).context("a process")?;
            kill_process(pid, Signal::INT).context("interrupting the study")?;
            interrupted = true;
        }
        std::thread::sleep(Duration::from_millis(1000));
    };
    ensure!(interrupted || ended.success(), "{ended}: {}", std::fs::read_to_string(log)?);
    Ok(())
}

/// A row's ratio to the kernel's own with its interval, as far as it is measured.
struct Measured {
    ratio: f64,
    low: f64,
    high: f64,
    blocks: u64,
}

fn measured() -> Result<Measured> {
    let row = &json_of("cat", &[&format!("{FOLDER}/summary.json")])?["rows"][0];
    let number = |name: &str| row[name].as_f64().with_context(|| format!("no {name} yet"));
    let blocks = row["blocks"].as_u64().context("no blocks")?;
    Ok(Measured { ratio: number("ratio")?, low: number("low")?, high: number("high")?, blocks })
}

impl Measured {
    fn is_narrow(&self) -> bool {
        self.high - self.low <= 2.0 * WIDE
    }

    /// Whether more blocks would tell nothing new: the interval is narrow, and does not end by the bound.
    fn is_enough(&self, least: f64) -> bool {
        let is_clear = (self.low - least).abs() > self.high - self.low;
        self.blocks >= BLOCKS || (self.is_narrow() && is_clear && self.blocks >= BLOCKS_MIN)
    }

    /// Whether the interval is where it must be; a wide one may at least hold 1.
    fn is_kept(&self, least: f64) -> bool {
        self.low >= least || (!self.is_narrow() && self.high >= 1.0)
    }

    fn told(&self) -> String {
        let Self { ratio, low, high, blocks } = self;
        format!("{ratio:.3} ({low:.3} to {high:.3}) in {blocks} blocks")
    }
}

/// Times each receiver of all groups is written to, together; and the writes of all senders where groups divide that.
const TIMES: usize = 400;
const ENDS: usize = 10;
pub(super) const GROUPS_WRITES: f64 = (TIMES * ENDS * ENDS) as f64;

/// hackbench's shape: in each group every sender writes to every receiver. Takes the groups, and how often all of them
/// together write to all (`TIMES` without a word).
pub(crate) fn groups(words: &[impl AsRef<str>]) -> Result<bool> {
    const BYTES: [u8; 100] = [0; 100];
    let mut numbers = words.iter().map(|word| word.as_ref().parse::<usize>());
    let count = numbers.next().context("how many groups?")??;
    let times = numbers.next().unwrap_or(Ok(TIMES))? / count.max(1);
    std::thread::scope(|scope| {
        let mut tasks = Vec::new();
        for _ in 0..count {
            let pairs: Vec<_> = (0..ENDS).map(|_| UnixStream::pair()).collect::<io::Result<_>>()?;
            let (readers, writers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let writers = Arc::new(writers);
            for _ in 0..ENDS {
                let writers = Arc::clone(&writers);
                tasks.push(scope.spawn(move || {
                    (0..times * ENDS).try_for_each(|at| (&writers[at % ENDS]).write_all(&BYTES))
                }));
            }
            tasks.extend(readers.into_iter().map(|mut reader| {
                let mut bytes = BYTES;
                scope.spawn(move || {
                    (0..times * ENDS).try_for_each(|_| reader.read_exact(&mut bytes))
                })
            }));
        }
        for task in tasks {
            task.join().map_err(|_| anyhow!("a task of a group is gone"))??;
        }
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_interval_below_the_least_is_behind_and_a_wide_one_below_1() {
        let is_kept = |low, high| Measured { ratio: 1.0, low, high, blocks: 24 }.is_kept(0.98);
        assert!(is_kept(0.99, 1.01) && is_kept(0.9, 1.1));
        assert!(!is_kept(0.97, 1.0) && !is_kept(0.8, 0.99));
    }

    #[test]
    fn a_kept_study_is_not_hidden_by_what_a_guest_mounts() {
        assert!(crate::vm::init::MOUNTS.iter().all(|(_, at)| !FOLDER.starts_with(at)));
        assert!(crate::vm::image::FOLDERS.iter().any(|it| FOLDER.starts_with(&format!("/{it}/"))));
    }

    #[test]
    fn a_row_is_measured_until_it_is_narrow_or_has_all_its_blocks() {
        let is_enough =
            |low, high, blocks| Measured { ratio: 1.1, low, high, blocks }.is_enough(0.98);
        assert!(is_enough(1.09, 1.12, BLOCKS_MIN) && is_enough(1.0, 1.2, BLOCKS));
        assert!(!is_enough(1.09, 1.12, BLOCKS_MIN - 1) && !is_enough(1.0, 1.2, BLOCKS - 1));
        // By the bound, on whichever side.
        assert!(!is_enough(0.979, 0.996, BLOCKS_MIN) && !is_enough(0.981, 1.009, BLOCKS_MIN));
    }
}
