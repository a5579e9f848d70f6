//! Whether core-queue could be loaded here, without loading it: each thing that is known to keep a
//! scheduler out, or to make one dangerous, looked at and told with what to do.

use super::btf::{self, BadBtf, Functions, NEEDED};
use super::config::Config;
use super::cookies::{self, Cookies};
use super::{State, record};
use crate::Error;
use crate::root::Root;
use coretwin_base::simulation::core_queue::NAME;
use coretwin_base::study::arm::KERNEL;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// `build`, `kernel`, `btf`, `privileges`, `jit`, `scheduler`, `core-scheduling`, `panic` or
    /// `siblings`.
    pub name: &'static str,
    pub level: Level,
    pub found: String,
    /// What to do about it; empty where there is nothing to do.
    pub remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Ok,
    /// It can be loaded; this is to be known.
    Mind,
    /// It cannot be loaded, or must not.
    Blocks,
}

pub struct Examiner<'a> {
    pub cookie: &'a dyn Fn(u32) -> Result<u64, rustix::io::Errno>,
    /// Why this program cannot load anything, if so: it was built without the part that does.
    pub cannot_load: Option<String>,
}

const FIRST: &str = "Linux 6.12";
/// What a kernel may lack of what core-queue uses, and what that means then.
pub const LATER: [(&str, &str); 3] = [
    // What a real-time task displaces is held on its CPU while our program is told of it.
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", "what a real-time task displaces waits for its own CPU"),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", "a task that wakes another far away does the queueing itself"),
    ("scx_bpf_now", "each look at the clock reads the hardware"),
];
/// Capabilities a loader needs: sys_admin, perfmon, bpf (capabilities(7)).
const CAPABILITIES: [(&str, u32); 3] = [("sys_admin", 21), ("perfmon", 38), ("bpf", 39)];

pub fn examine(root: &Root, examiner: &Examiner<'_>) -> Vec<Check> {
    let mut checks = vec![build(examiner), kernel(root)];
    // Without sched_ext the rest is about nothing.
    if State::read(root).is_some() {
        let types = root.bytes(btf::FILE).map(|bytes| btf::functions(&bytes));
        checks.extend(types.as_ref().ok().and_then(|types| types.as_ref().ok()).map(later));
        checks.extend([of_types(types), privileges(root), compiler(root), loaded(root)]);
        checks.push(core_scheduling(root, examiner));
        checks.extend(panics(root));
        checks.push(siblings(root));
    }
    checks
}

pub fn can_load(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.level != Level::Blocks)
}

/// What stands in the way, in one sentence a finding; `None` if nothing does.
pub fn refusal(checks: &[Check]) -> Option<String> {
    let stand = checks.iter().filter(|check| check.level == Level::Blocks);
    let sentences: Vec<String> =
        stand.map(|check| format!("{}: {}", check.found, check.remedy)).collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

fn ok(name: &'static str, found: impl Into<String>) -> Check {
    Check { name, level: Level::Ok, found: found.into(), remedy: String::new() }
}

fn mind(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
    Check { name, level: Level::Mind, found: found.into(), remedy: remedy.into() }
}

fn blocks(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
    Check { level: Level::Blocks, ..mind(name, found, remedy) }
}

fn build(examiner: &Examiner<'_>) -> Check {
    match &examiner.cannot_load {
        None => ok("build", "this program can load schedulers"),
        Some(why) => blocks(
            "build",
            why,
            "from the clone: cargo install --path crates/cli --locked --features bpf",
        ),
    }
}

fn kernel(root: &Root) -> Check {
    let name = "kernel";
    let release =
        root.fact("proc/sys/kernel/osrelease").unwrap_or_else(|| "of unknown release".to_owned());
    let option = "CONFIG_SCHED_CLASS_EXT";
    let config = Config::read(root);
    let set = config.as_ref().map(|config| (&config.file, config.value(option)));
    if State::read(root).is_some() {
        return ok(name, format!("Linux {release} has sched_ext"));
    }
    let other = format!("boot a kernel of {FIRST} or later that was built with {option}=y");
    let found = match set {
        Some((file, Some("y"))) => {
            let found =
                format!("Linux {release} was built with {option} (/{file}), but /sys shows none");
            return blocks(name, found, "mount sysfs on /sys, or run it on the host");
        }
        Some((file, _)) => format!("Linux {release} was built without {option} (/{file})"),
        None => format!("Linux {release} has no sched_ext (/sys/kernel/sched_ext is not there)"),
    };
    blocks(name, found, other)
}

/// Whether the kernel has what later ones have, and what it means if not.
fn later(types: &Functions) -> Check {
    let name = "features";
    let is_there = |it: &str| types.public.contains_key(it) || types.flags.contains(it);
    let missing: Vec<_> = LATER.iter().filter(|(it, _)| !is_there(it)).collect();
    if missing.is_empty() {
        return ok(name, "the kernel has everything that core-queue uses where it is there");
    }
    let words: Vec<&str> = missing.iter().map(|(it, _)| *it).collect();
    let meanings: Vec<&str> = missing.iter().map(|(_, meaning)| *meaning).collect();
    mind(
        name,
        format!("this kernel lacks {}", words.join(", ")),
        format!("{NAME} does without: {}", meanings.join("; ")),
    )
}

fn of_types(types: Result<Result<Functions, BadBtf>, Error>) -> Check {
    let name = "btf";
    let file = btf::FILE;
    let rebuild = "boot a kernel that was built with CONFIG_DEBUG_INFO_BTF=y";
    let Ok(functions) = types else {
        let found = format!("the kernel does not show its types (/{file} cannot be read)");
        return blocks(name, found, rebuild);
    };
    let functions = match functions {
        Ok(functions) => functions,
        Err(error) => {
            let remedy = "nothing can be said about it beforehand; loading will tell";
            return mind(name, format!("/{file}: {error}"), remedy);
        }
    };
    let malformed: Vec<&str> = functions.malformed().collect();
    if let Some(first) = malformed.first() {
        let found = format!(
            "this kernel's BTF is malformed: {} of {} functions of sched_ext, {first} among them, show \
             an argument that is hidden from schedulers",
            malformed.len(),
            functions.public.len()
        );
        let remedy = "no sched_ext scheduler of any make can be loaded: kernels 7.1 and 7.2 that were \
                      built with dwarves (pahole) before 1.31 are like that; boot another kernel, or \
                      build this one with a newer dwarves";
        return blocks(name, found, remedy);
    }
    if !functions.public.contains_key(NEEDED) {
        let found = format!("the kernel's BTF does not have {NEEDED}");
        return blocks(name, found, rebuild);
    }
    ok(name, format!("all {} functions of sched_ext are well formed", functions.public.len()))
}

fn privileges(root: &Root) -> Check {
    let name = "privileges";
    let status = root.text("proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    let Some(effective) = effective else {
        return mind(
            name,
            "/proc/self/status does not tell what this user may do",
            "mount /proc; loading needs root",
        );
    };
    let has = |bit: u32| effective & (1 << bit) != 0;
    let missing: Vec<&str> =
        CAPABILITIES.iter().filter(|(_, bit)| !has(*bit)).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return ok(name, "this user may load BPF programs");
    }
    blocks(
        name,
        format!("this user may not load a scheduler (missing: {})", missing.join(", ")),
        "run it as root, outside of containers",
    )
}

/// Functions of the kernel can be called from compiled programs only.
fn compiler(root: &Root) -> Check {
    let (name, file) = ("jit", "proc/sys/net/core/bpf_jit_enable");
    match root.number::<u32>(file) {
        Some(0) => blocks(
            name,
            "the kernel's compiler of BPF programs is switched off",
            "switch it on: sysctl net.core.bpf_jit_enable=1",
        ),
        Some(_) => ok(name, "the kernel compiles BPF programs"),
        None => ok(name, format!("/{file} is not there; the kernel decides by itself")),
    }
}

fn loaded(root: &Root) -> Check {
    let name = "scheduler";
    let scheduler = State::in_charge(root);
    if scheduler == KERNEL {
        return ok(name, "the kernel's own scheduler is in charge");
    }
    if scheduler == NAME {
        let record = record::read(root).ok().flatten().filter(|record| record.is_kept(root));
        let holder = match &record {
            Some(record) => format!(", by process {}", record.keeper.process),
            None => String::new(),
        };
        let remedy = match record.and_then(|record| record.study) {
            Some(study) => format!("it belongs to the study of process {}", study.process),
            None => "unload it with: coretwin sched stop".to_owned(),
        };
        return blocks(name, format!("{NAME} is loaded already{holder}"), remedy);
    }
    blocks(
        name,
        format!("another scheduler is loaded: {scheduler}"),
        "there can be one only; stop the program or the service that loaded it (scx.service, \
         scx_loader)",
    )
}

fn core_scheduling(root: &Root, examiner: &Examiner<'_>) -> Check {
    let name = "core-scheduling";
    match cookies::find(root, examiner.cookie) {
        Cookies::Impossible => {
            ok(name, "no task has a core-scheduling cookie: there are none here")
        }
        Cookies::None { asked, refused: 0 } => {
            ok(name, format!("none of {asked} tasks has a core-scheduling cookie"))
        }
        Cookies::None { asked, refused } => mind(
            name,
            format!(
                "none of {asked} tasks has a core-scheduling cookie; {refused} others may not be asked"
            ),
            "ask again as root",
        ),
        Cookies::InUse { tasks, processes } => {
            let listed: Vec<String> = processes
                .iter()
                .take(5)
                .map(|(process, name)| format!("{name} ({process})"))
                .collect();
            let more = if processes.len() > listed.len() { ", …" } else { "" };
            blocks(
                name,
                format!(
                    "{tasks} tasks have core-scheduling cookies, of processes {}{more}",
                    listed.join(", ")
                ),
                "cookies together with any sched_ext scheduler have stopped machines with SMT; end \
                 those programs first, or leave the kernel's own scheduler in charge",
            )
        }
    }
}

/// Settings that turn a scheduler's stumble, which the kernel would mend by ejecting it, into the end
/// of the machine.
fn panics(root: &Root) -> Vec<Check> {
    const SETTINGS: [(&str, &str); 3] = [
        ("panic_on_warn", "a warning of the kernel's ends the machine"),
        ("softlockup_panic", "a CPU that hangs for 20 s ends the machine"),
        ("hung_task_panic", "a task that waits for minutes ends the machine"),
    ];
    let found = SETTINGS.iter().filter_map(|(setting, what)| {
        let value = root.number::<u32>(&format!("proc/sys/kernel/{setting}"))?;
        (value > 0).then(|| {
            mind(
                "panic",
                format!(
                    "kernel.{setting} is {value}: {what}, before the watchdog of sched_ext ejects a \
                     scheduler that does it"
                ),
                format!("on a machine that matters, set it to 0 first: sysctl kernel.{setting}=0"),
            )
        })
    });
    found.collect()
}

fn siblings(root: &Root) -> Check {
    let name = "siblings";
    match crate::topology::read(root) {
        Ok(topology) if topology.has_usable_siblings() => {
            let cores = topology.usable_cores();
            let most = cores.iter().map(|(_, cpus)| cpus.len()).max().unwrap_or(0);
            ok(name, format!("{} cores, up to {most} CPUs each", cores.len()))
        }
        Ok(_) => mind(
            name,
            "no core shows two siblings: every queue has one CPU",
            "it runs, but there is nothing for it to do better; coretwin topology says more",
        ),
        Err(error) => mind(name, error.to_string(), "mount /sys"),
    }
}
