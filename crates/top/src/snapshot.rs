//! What one window of `top` shows: the record of a line of `top --json`.

pub use coretwin_base::account::Task;
use coretwin_base::account::{Factor, MethodName, SiblingsOrigin, Span, Worth};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::origin::Origin;
use coretwin_base::warning::Warning;
use coretwin_host::cgroup::Limits;
use coretwin_host::pressure::Pressure;
use serde::{Deserialize, Serialize};

/// The machine in one window. Shares are of 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub schema: u32,
    /// Measured, or emulated; left out by older records.
    #[serde(default)]
    pub origin: Origin,
    /// End of the window, in seconds since 1970.
    pub time_unix_s: f64,
    pub elapsed_s: f64,
    /// How it is known who ran beside whom.
    pub method: MethodName,
    /// Who says which CPUs share a core.
    pub siblings_origin: SiblingsOrigin,
    pub machine: Machine,
    /// The largest of the short looks in this window; `None` if there were none.
    pub short: Option<Short>,
    /// Yield that the capacity rests on, of the largest kind of core.
    #[serde(rename = "yield")]
    pub core_yield: Factor,
    /// Slowdown that the corrected seconds rest on, of the largest kind of core.
    pub slowdown: Factor,
    /// Pressure stall information of the last ten seconds; `None` if the kernel keeps none.
    pub pressure: Option<Pressure>,
    pub cores: Vec<Core>,
    /// By thread: those that ran in the window.
    pub tasks: Vec<Task>,
    /// By cgroup; tasks of which none is known are together, without a path.
    pub cgroups: Vec<Cgroup>,
    /// Who ran beside whom, the longest first.
    pub pairs: Vec<Pair>,
    /// CPUs that are there and offline.
    pub offline: CpuSet,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub cpus: u32,
    /// Cores with a CPU online.
    pub cores: u32,
    /// The most CPUs of a core.
    pub threads_per_core_max: u32,
    /// Busy CPUs of all CPUs: what other tools show.
    pub logical_share: f64,
    /// Cores with at least one CPU busy, of all cores.
    pub core_busy_share: Span,
    /// Cores with all their CPUs busy, of all cores; of those with one CPU none.
    pub all_busy_share: Span,
    /// Capacity in use, of the capacity of all cores.
    pub capacity_share: Span,
    /// Capacity left, in whole cores.
    pub headroom_cores: Span,
    /// How many times what runs now the machine could take; `None` if it idles.
    pub headroom_times: Option<Span>,
    /// Cores with two and more busy while as many others had none, on average.
    pub clash_cores: Clash,
    /// Interrupts, of all CPUs' time.
    pub interrupts_share: f64,
    /// Time the hypervisor gave to others, of all CPUs' time.
    pub steal_share: f64,
}

/// Cores that shared while others idled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clash {
    pub value: f64,
    /// Whether the method saw it; else no more than that many are possible.
    pub seen: bool,
}

/// The largest values among the short looks of a window.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Short {
    /// How long a short look is, on average.
    pub length_s: f64,
    pub looks: u32,
    pub logical_share: f64,
    pub core_busy_share: f64,
    pub capacity_share: f64,
    /// Most cores that shared while others idled, as far as possible by the looks.
    pub clash_cores: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// Index, in order of the cores' first CPUs.
    pub core: u32,
    pub cpus: CpuSet,
    pub package: u32,
    /// Index of its last-level cache, where known.
    pub llc: Option<u32>,
    /// Share of the window with exactly k busy, for k = 0 to n.
    pub by_busy_share: Vec<Span>,
    pub capacity_share: Span,
    /// Largest share with any CPU busy among the short looks.
    #[serde(default)]
    pub short_busy_share: Option<f64>,
}

impl Core {
    pub fn at_least(&self, k: usize) -> f64 {
        self.by_busy_share.iter().skip(k).map(|span| span.value).sum::<f64>().min(1.0)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cgroup {
    /// Its path from the root of the hierarchy; `None` for tasks whose cgroup is not known.
    pub path: Option<String>,
    pub tasks: u32,
    /// What it may use; left out by older records.
    #[serde(default)]
    pub limits: Limits,
    #[serde(flatten)]
    pub worth: Worth,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub a_tid: u32,
    pub a_comm: String,
    pub b_tid: u32,
    pub b_comm: String,
    /// How long both ran at the same time on CPUs of one core.
    pub together_s: f64,
    /// Lower end of that, by the number of looks; 0 if the method did not see it.
    #[serde(default)]
    pub together_low_s: f64,
    #[serde(default)]
    pub together_high_s: f64,
    /// What each of them lost by that, by the slowdown; its range holds that of the slowdown (where
    /// that follows from the yield, of the yield) and that of the looks.
    pub lost_s: Span,
    /// Whether the method saw it; else it is the most that their shared times and last CPUs allow.
    pub seen: bool,
}
