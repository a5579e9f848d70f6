//! Where snapshots come from: a method of `account`, short looks, pressure, and the machine itself,
//! which may change while it is watched.

use crate::Error;
use crate::assemble::{self, Seen};
use crate::bursts::Bursts;
use crate::snapshot::Snapshot;
use coretwin_account::method::Method;
use coretwin_account::model::Valuation;
use coretwin_base::account::{Siblings, Window};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::{Topology, Trust};
use coretwin_base::warning::Warning;
use coretwin_host::cgroup::AllLimits;
use coretwin_host::heap::Heap;
use coretwin_host::pressure;
use coretwin_host::root::Root;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Most CPU time of the looks of method `sampled` for a screen, as a share of one CPU.
pub const LOOKS_SHARE_MAX: f64 = 0.002;
/// Share of the CPU time that may be of unseen tasks without a word.
const UNSEEN_SHARE: f64 = 0.1;
const ONLINE: &str = "sys/devices/system/cpu/online";

/// What is watched, and how; made anew when CPUs come or go.
pub struct Watch {
    pub topology: Topology,
    pub siblings: Siblings,
    pub valuation: Valuation,
    pub method: Box<dyn Method>,
    /// Why it is not a better one, and what else the reader must know.
    pub warnings: Vec<Warning>,
}

/// Makes a [`Watch`] of the machine as it is now, or says why that is not possible.
pub type Make = Box<dyn FnMut() -> Result<Watch, String>>;

pub struct Source {
    root: Root,
    make: Make,
    watch: Watch,
    online: Option<CpuSet>,
    bursts: Option<Bursts>,
    changed: Option<Warning>,
    heap: Heap,
    limits: AllLimits,
}

impl Source {
    /// Goes on with a watch that has begun; `make` makes the next one.
    pub fn new(root: Root, watch: Watch, make: Make, short_looks: bool) -> Result<Self, Error> {
        let mut source = Self {
            online: None,
            bursts: None,
            changed: None,
            heap: Heap::default(),
            limits: AllLimits::new(&root),
            root,
            make,
            watch,
        };
        source.online = source.online_now();
        source.bursts = short_looks.then(|| source.short_looks());
        source.look()?;
        Ok(source)
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// When it wants to look next; `None` if never.
    pub fn due(&self) -> Option<Instant> {
        let bursts = self.bursts.as_ref().map(Bursts::due);
        [self.watch.method.due(), bursts].into_iter().flatten().min()
    }

    /// Looks, as far as it is due.
    pub fn look(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if self.watch.method.due().is_some_and(|due| due <= now) {
            self.watch.method.look()?;
        }
        if let Some(bursts) = &mut self.bursts
            && bursts.due() <= now
        {
            bursts.look();
        }
        Ok(())
    }

    /// Ends a window.
    pub fn snapshot(&mut self) -> Result<Snapshot, Error> {
        let window = self.watch.method.window()?;
        let mut warnings: Vec<Warning> = self.changed.take().into_iter().collect();
        warnings.extend(self.watch.warnings.iter().cloned());
        warnings.extend(of_machine(&self.watch.topology));
        warnings.extend(window.unseen.notes.iter().map(|note| Warning::new("unseen", note, "")));
        warnings.extend(of_unseen(&window));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let snapshot = assemble::snapshot(Seen {
            window: &window,
            topology: &self.watch.topology,
            valuation: &self.watch.valuation,
            short: self.bursts.as_mut().and_then(Bursts::take),
            pressure: pressure::read(&self.root),
            limits: &mut |path| self.limits.of(path),
            time_unix_s: now.map_or(0.0, |since| since.as_secs_f64()),
            warnings,
        });
        self.follow_hotplug()?;
        Ok(snapshot)
    }

    /// To be called when the last snapshot was dealt with: memory that it took is given back now and then.
    pub fn rest(&mut self) {
        self.heap.tend();
    }

    /// Watches anew if other CPUs are online than when it began.
    fn follow_hotplug(&mut self) -> Result<(), Error> {
        let online = self.online_now();
        if online == self.online {
            return Ok(());
        }
        self.watch = (self.make)().map_err(Error::Again)?;
        if self.bursts.is_some() {
            self.bursts = Some(self.short_looks());
        }
        let text = "CPUs came or went: this window begins after it, the one before ended with it";
        self.changed = Some(Warning::new("hotplug", text, ""));
        self.online = online;
        Ok(())
    }

    fn short_looks(&self) -> Bursts {
        Bursts::new(self.root.clone(), &self.watch.siblings, &self.watch.valuation)
    }

    fn online_now(&self) -> Option<CpuSet> {
        self.root.cpus(ONLINE).ok().flatten()
    }
}

/// CPU time of nobody in the list, where it is much.
fn of_unseen(window: &Window) -> Option<Warning> {
    let cpus = window.cores.iter().flat_map(|core| &core.by_cpu);
    let busy_s: f64 = cpus.map(|cpu| cpu.busy_s).sum();
    let unseen_s = window.unseen.busy_s;
    (unseen_s > UNSEEN_SHARE * busy_s && unseen_s > 0.01).then(|| {
        let text = format!(
            "{unseen_s:.1} of {busy_s:.1} s of CPU time are of tasks that were not looked at in \
             time; they are in the cores, not among the tasks"
        );
        Warning::new("unseen", text, "a longer --interval sees more of them, --method ebpf all")
    })
}

/// What the machine itself gives reason to say.
fn of_machine(topology: &Topology) -> Option<Warning> {
    (topology.trust == Trust::Unknown).then(|| {
        let text = format!("the sibling map may be wrong: {}", topology.trust_why);
        Warning::new("topology", text, "coretwin probe finds out by measurement who shares a core")
    })
}
