//! `account --record`: everything that runs here, appended to a file block by block, until it is stopped.

use super::Args;
use crate::exit::{DONE, INTERRUPTED};
use crate::signals::Signalled;
use crate::{host, out};
use anyhow::Result;
use coretwin_account::choice;
use coretwin_account::method::{Method, watch};
use coretwin_account::recording::{Names, block};
use coretwin_account::sampled::Effort;
use coretwin_base::account::recording::{BLOCK_S, LEAST_S, RecordingHead, Waiting};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::schema::SCHEMA;
use coretwin_host::root::Root;
use coretwin_host::waits::{self, Waits};
use coretwin_host::{cgroup, pressure};
use coretwin_store::recording::Recording;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const ONLINE: &str = "sys/devices/system/cpu/online";

pub(super) fn record(args: &Args, path: &Path) -> Result<u8> {
    let root = Root::system();
    let stopped = Signalled::listen()?;
    // Before anything is measured, so that a slip costs nothing.
    let (mut file, before) = Recording::open(path)?;
    if before.torn_bytes > 0 {
        let bytes = before.torn_bytes;
        out::news(&format!("{} ended in a torn block of {bytes} bytes: cut off", path.display()));
    }
    let every = args.every.unwrap_or(Duration::from_secs_f64(BLOCK_S));
    let mut recorder = Recorder { root, args, every, until: None, stopped: &stopped, blocks: 0 };
    let mut told = false;
    while recorder.goes_on() {
        recorder.session(&mut file, |method| {
            if !std::mem::replace(&mut told, true) {
                out::news(&format!(
                    "recording to {} by {}, a block every {} s; Ctrl-C ends it",
                    path.display(),
                    method.name().name(),
                    every.as_secs_f64()
                ));
            }
        })?;
    }
    out::text(&format!(
        "{} {} appended; what they say: {} --smt off\n",
        recorder.blocks,
        if recorder.blocks == 1 { "block" } else { "blocks" },
        out::command("account --replay", path)
    ))?;
    Ok(if stopped.stop.raised() { INTERRUPTED } else { DONE })
}

struct Recorder<'a> {
    root: Root,
    args: &'a Args,
    every: Duration,
    /// Counted from when the first session begins: loading the eBPF program can take seconds.
    until: Option<Instant>,
    stopped: &'a Signalled,
    blocks: u64,
}

impl Recorder<'_> {
    fn goes_on(&self) -> bool {
        !self.stopped.stop.raised() && self.until.is_none_or(|until| Instant::now() < until)
    }

    /// Records until it is to end, or other CPUs are online.
    fn session(&mut self, file: &mut Recording, tell: impl FnOnce(&dyn Method)) -> Result<()> {
        let topology = host::topology(&self.root)?;
        let siblings = self.args.basis.siblings(&self.root, &topology)?;
        let effort = Effort { seed: self.args.basis.seed, ..Effort::default() };
        let chosen = choice::start(&self.root, &siblings, self.args.basis.method, effort)?;
        let mut method = chosen.method;
        tell(method.as_ref());
        if self.until.is_none() {
            self.until = self.args.length.map(|length| Instant::now() + length);
        }
        file.head(&RecordingHead {
            schema: SCHEMA,
            origin: topology.origin(),
            started: now(),
            every_s: self.every.as_secs_f64(),
            method: method.name(),
            siblings,
            cpu_model: topology.cpuinfo.model_name.clone(),
        })?;
        let online = self.online();
        let (mut names, mut waited) = (Names::default(), Waited::new(&self.root));
        while self.goes_on() && self.online() == online {
            let (from, end) = (now(), Instant::now() + self.every);
            watch(method.as_mut(), &mut || self.goes_on() && Instant::now() < end)?;
            let window = method.window()?;
            if window.elapsed_s < LEAST_S {
                break;
            }
            let waiting = waited.since();
            let block = block(&window, from, waiting, &mut names, |group| waited.of(group));
            file.block(block)?;
            self.blocks += 1;
        }
        Ok(())
    }

    fn online(&self) -> Option<CpuSet> {
        self.root.cpus(ONLINE).ok().flatten()
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// What waited at the last look.
struct Waited<'a> {
    root: &'a Root,
    all: Waits,
    groups: BTreeMap<String, f64>,
}

impl<'a> Waited<'a> {
    fn new(root: &'a Root) -> Self {
        Self { root, all: waits::read(root), groups: BTreeMap::new() }
    }

    fn since(&mut self) -> Waiting {
        let before = std::mem::replace(&mut self.all, waits::read(self.root));
        self.all.since(&before)
    }

    /// In how much of the time since the last look some task of a group waited.
    fn of(&mut self, group: &str) -> Option<f64> {
        let folder = cgroup::folder(self.root, group)?;
        let now_s = pressure::cpu_waited_s(self.root, &format!("{folder}/cpu.pressure"))?;
        let before_s = self.groups.insert(group.to_owned(), now_s)?;
        Some((now_s - before_s).max(0.0))
    }
}
