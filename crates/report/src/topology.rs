//! The readable drawing of a machine: packages, nodes, last-level caches and cores as a tree, each
//! core a bracket with its CPUs, and below it what is known about SMT and how far to believe it.

use crate::words::{clean, fill, shorten};
use coretwin_base::machine::cpu_set::{CoreId, CpuId, CpuSet};
use coretwin_base::machine::topology::{Cpu, SiblingsAgree, Topology};
use coretwin_base::machine::ways::WithoutSmt;
use std::collections::{BTreeMap, BTreeSet};

/// No line is longer where there is no terminal that says so.
pub const COLUMNS: usize = 100;
/// Where the text beside a label starts.
const LABEL_COLUMNS: usize = 15;
/// A longer row of cores is folded to its first ones and its last.
const CORES_SHOWN_MAX: usize = 32;
/// More parts of one kind below one another are folded likewise, if they are alike.
const PARTS_SHOWN_MAX: usize = 6;

/// Draws the machine, at most so many columns wide, ending in a line end.
pub fn draw(topology: &Topology, columns: usize) -> String {
    let mut out = headline(topology, columns);
    out.push('\n');
    for package in packages(topology) {
        package.write(&mut out, "", "", columns);
    }
    if let Some(legend) = legend(topology) {
        out.push_str(&legend);
    }
    out.push('\n');
    out.push_str(&labelled(&facts(topology), columns));
    out
}

pub fn without_smt(without: &WithoutSmt, columns: usize) -> String {
    let ways = without.ways.each().map(|(name, way)| {
        let available = if way.available { "available" } else { "not available" };
        ("without SMT".to_owned(), format!("{name}, {available}: {}", way.why))
    });
    labelled(&[&[("security".to_owned(), without.cost())][..], &ways].concat(), columns)
}

/// Facts, each a label and its text, wrapped beside one another.
pub fn labelled(facts: &[(String, String)], columns: usize) -> String {
    let mut out = String::new();
    for (label, text) in facts {
        beside(&mut out, &format!("{label:<LABEL_COLUMNS$}"), text, columns);
    }
    out
}

/// A text wrapped beside its label.
pub fn beside(out: &mut String, label: &str, text: &str, columns: usize) {
    let rest = " ".repeat(label.chars().count());
    fill(out, clean(text).split_whitespace(), columns, label, &rest);
}

/// `12 CPUs on 6 cores, 2 per core`.
fn in_words(cpus: &[&Cpu]) -> String {
    let mut widths: BTreeMap<CoreId, usize> = BTreeMap::new();
    for cpu in cpus {
        *widths.entry(cpu.core).or_default() += 1;
    }
    let distinct: BTreeSet<usize> = widths.values().copied().collect();
    let each: Vec<String> = distinct.iter().map(usize::to_string).collect();
    format!(
        "{} on {}, {} per core",
        counted(cpus.len(), "CPU"),
        counted(widths.len(), "core"),
        each.join(" or ")
    )
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn headline(topology: &Topology, columns: usize) -> String {
    let cpus: Vec<&Cpu> = topology.cpus.iter().collect();
    let model = topology.cpuinfo.model_name.iter();
    let model: String = model.map(|name| shorten(&clean(name), columns) + "\n").collect();
    if topology.cores.is_none() {
        let flag = if topology.cpuinfo.ht_flag { "set" } else { "not set" };
        return format!(
            "{}; ht flag {flag}; cores unknown\n{model}",
            counted(cpus.len(), "logical CPU")
        );
    }
    let packages: BTreeSet<u32> = cpus.iter().map(|cpu| cpu.package).collect();
    let nodes: BTreeSet<u32> = cpus.iter().map(|cpu| cpu.node).collect();
    format!(
        "{}; {}, {}\n{model}",
        in_words(&cpus),
        counted(packages.len(), "package"),
        counted(nodes.len(), "node")
    )
}

struct Part {
    title: String,
    /// Brackets that follow the title, wrapped below one another.
    cores: Vec<String>,
    inside: Vec<Part>,
}

impl Part {
    fn new(title: impl Into<String>, inside: Vec<Self>) -> Self {
        Self { title: title.into(), cores: Vec::new(), inside }
    }

    /// Writes the part behind `first`, its further lines behind `rest`.
    fn write(&self, out: &mut String, first: &str, rest: &str, columns: usize) {
        let gap = if self.title.is_empty() || self.cores.is_empty() { "" } else { "  " };
        let start = format!("{first}{}{gap}", self.title);
        let indent = start.chars().count() - rest.chars().count();
        let below = format!("{rest}{}", " ".repeat(indent));
        fill(out, self.cores.iter().map(String::as_str), columns, &start, &below);
        for (index, part) in self.inside.iter().enumerate() {
            let (branch, stem) = match index + 1 == self.inside.len() {
                true => ("└─ ", "   "),
                false => ("├─ ", "│  "),
            };
            part.write(out, &format!("{rest}{branch}"), &format!("{rest}{stem}"), columns);
        }
    }
}

/// Splits by a key, in the key's order.
fn split<'a, K: Ord>(cpus: &[&'a Cpu], key: impl Fn(&Cpu) -> K) -> BTreeMap<K, Vec<&'a Cpu>> {
    let mut groups: BTreeMap<K, Vec<&Cpu>> = BTreeMap::new();
    for cpu in cpus {
        groups.entry(key(cpu)).or_default().push(cpu);
    }
    groups
}

fn packages(topology: &Topology) -> Vec<Part> {
    // Of CPUs without a core the rest is not known either.
    let unknown = &topology.cores_unknown;
    let all: Vec<&Cpu> = topology.cpus.iter().filter(|cpu| !unknown.contains(cpu.cpu)).collect();
    let packages = split(&all, |cpu| cpu.package).into_iter().map(|(package, cpus)| {
        let nodes = split(&cpus, |cpu| cpu.node);
        if nodes.len() == 1 {
            let node = nodes.keys().next().copied().unwrap_or(0);
            let title = format!("package {package}, node {node}: {}", in_words(&cpus));
            return (Part::new(title, caches(topology, &cpus)), cpus);
        }
        let nodes = nodes.into_iter().map(|(node, cpus)| {
            let title = format!("node {node}: {}", in_words(&cpus));
            (Part::new(title, caches(topology, &cpus)), cpus)
        });
        let inside = folded(topology, nodes.collect(), "nodes");
        let title = format!("package {package}: {}", in_words(&cpus));
        (Part::new(title, inside), cpus)
    });
    let mut parts = folded(topology, packages.collect(), "packages");
    if !unknown.is_empty() {
        let title = format!("CPUs {unknown}, on which cores is unknown");
        parts.push(Part::new(title, Vec::new()));
    }
    parts
}

/// The last-level caches of a node with their cores; the cores alone, where no cache is shared by
/// several.
fn caches(topology: &Topology, cpus: &[&Cpu]) -> Vec<Part> {
    // CPUs of which it is not known stand last.
    let groups = split(cpus, |cpu| (cpu.llc.is_none(), cpu.llc));
    let shared = groups
        .values()
        .any(|group| group.iter().map(|cpu| cpu.core).collect::<BTreeSet<_>>().len() > 1);
    if cpus.iter().all(|cpu| cpu.llc.is_none()) || (groups.len() > 1 && !shared) {
        return kinds(topology, "", cpus);
    }
    let mut parts = Vec::new();
    for ((_, llc), group) in groups {
        let cache = llc.and_then(|llc| topology.caches.get(llc as usize));
        let title = match cache {
            Some(cache) => format!("L{} {}", cache.level, size(cache.size_kib)),
            None => "cache unknown".to_owned(),
        };
        parts.extend(kinds(topology, &title, &group).into_iter().map(|part| (part, group.clone())));
    }
    folded(topology, parts, "caches")
}

/// One row of cores for each core type, titled with the cache or the type.
fn kinds(topology: &Topology, title: &str, cpus: &[&Cpu]) -> Vec<Part> {
    // "P" before "E", like the processor's own numbering.
    let mut kinds: Vec<_> = split(cpus, |cpu| cpu.core_type.clone()).into_iter().collect();
    kinds.sort_by_key(|(_, cpus)| cpus.first().map(|cpu| cpu.cpu));
    let row = |title: String, cpus: &[&Cpu]| Part {
        title,
        cores: brackets(topology, cpus),
        inside: Vec::new(),
    };
    if let [(None, _)] = kinds[..] {
        return vec![row(title.to_owned(), cpus)];
    }
    let rows = kinds
        .iter()
        .map(|(kind, cpus)| row(format!("{} cores", kind.as_deref().unwrap_or("other")), cpus));
    if title.is_empty() {
        return rows.collect();
    }
    vec![Part::new(title, rows.collect())]
}

/// Leaves out the middle of many parts that are alike and hold no mark.
fn folded(topology: &Topology, parts: Vec<(Part, Vec<&Cpu>)>, noun: &str) -> Vec<Part> {
    let plain = |cpus: &[&Cpu]| cpus.iter().all(|cpu| mark(topology, cpu).is_none());
    let alike = parts.iter().all(|(_, cpus)| {
        plain(cpus) && parts.first().is_some_and(|first| in_words(&first.1) == in_words(cpus))
    });
    if parts.len() <= PARTS_SHOWN_MAX || !alike {
        return parts.into_iter().map(|(part, _)| part).collect();
    }
    let last = parts.len() - 1;
    let hidden: CpuSet =
        parts[2..last].iter().flat_map(|(_, cpus)| cpus).map(|cpu| cpu.cpu).collect();
    let title = format!("… {} more {noun} like these, CPUs {hidden}", last - 2);
    let mut shown: Vec<Part> = parts.into_iter().map(|(part, _)| part).collect();
    shown.splice(2..last, [Part::new(title, Vec::new())]);
    shown
}

fn brackets(topology: &Topology, cpus: &[&Cpu]) -> Vec<String> {
    let mut cores: Vec<_> = split(cpus, |cpu| cpu.core).into_values().collect();
    cores.sort_by_key(|cpus| cpus.first().map(|cpu| cpu.cpu));
    let plain = cores.iter().flatten().all(|cpu| mark(topology, cpu).is_none());
    let all = cores.len();
    let mut texts: Vec<String> = cores.iter().map(|cpus| bracket(topology, cpus)).collect();
    if all > CORES_SHOWN_MAX && plain {
        let last = texts.split_off(all - 2);
        texts.truncate(6);
        texts.push(format!("… {} more …", all - 8));
        texts.extend(last);
    }
    texts
}

/// `[0 4]`, `[0-7]`, `[1 (5)]` with CPU 5 offline, `[2 6*]` with CPU 6 not allowed.
fn bracket(topology: &Topology, cpus: &[&Cpu]) -> String {
    let marks: Vec<Option<Mark>> = cpus.iter().map(|cpu| mark(topology, cpu)).collect();
    let set: CpuSet = cpus.iter().map(|cpu| cpu.cpu).collect();
    if cpus.len() > 2 && marks.iter().all(Option::is_none) {
        return format!("[{}]", set.to_string().replace(',', " "));
    }
    let each: Vec<String> = cpus
        .iter()
        .zip(marks)
        .map(|(cpu, mark)| match mark {
            None => cpu.cpu.to_string(),
            Some(Mark::Offline) => format!("({})", cpu.cpu),
            Some(Mark::Forbidden) => format!("{}*", cpu.cpu),
        })
        .collect();
    format!("[{}]", each.join(" "))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Offline,
    Forbidden,
}

fn mark(topology: &Topology, cpu: &Cpu) -> Option<Mark> {
    match (cpu.online, topology.allowed.contains(cpu.cpu)) {
        (false, _) => Some(Mark::Offline),
        (true, false) => Some(Mark::Forbidden),
        (true, true) => None,
    }
}

/// What the marks mean, with the CPUs that carry them.
fn legend(topology: &Topology) -> Option<String> {
    let marked = |wanted: Mark| -> Vec<CpuId> {
        let cpus = topology.cpus.iter().filter(|cpu| mark(topology, cpu) == Some(wanted));
        cpus.map(|cpu| cpu.cpu).collect()
    };
    let mut meanings = Vec::new();
    if let Some(cpu) = marked(Mark::Offline).first() {
        meanings.push(format!("({cpu}) is offline"));
    }
    if let Some(cpu) = marked(Mark::Forbidden).first() {
        meanings.push(format!("{cpu}* is not allowed to this process"));
    }
    (!meanings.is_empty()).then(|| format!("\nEach bracket is a core; {}.\n", meanings.join(", ")))
}

fn size(kib: u64) -> String {
    match kib {
        0 => "of unknown size".to_owned(),
        kib if kib % 1024 == 0 => format!("{} MiB", kib / 1024),
        kib => format!("{kib} KiB"),
    }
}

fn facts(topology: &Topology) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut put = |label: &str, text: String| facts.push((label.to_owned(), text));
    let smt = &topology.smt;
    let state = match (&smt.control, smt.active) {
        (None, _) => "no control".to_owned(),
        (Some(control), Some(true)) => format!("{}, active", control.word()),
        (Some(control), Some(false)) => format!("{}, not active", control.word()),
        (Some(control), None) => control.word(),
    };
    let can = if smt.switchable { "can be switched" } else { "cannot be switched" };
    put("SMT control", format!("{state}; {can}: {}", smt.why));
    for (name, text) in &topology.smt_mitigations {
        put("mitigation", format!("{name}: {text}"));
    }
    for limit in &topology.limits {
        put("limit", limit.clone());
    }
    for (source, cpus) in split(
        &topology.cpus.iter().filter(|cpu| cpu.remembered.is_some()).collect::<Vec<_>>(),
        |cpu| cpu.remembered.clone().unwrap_or_default(),
    ) {
        let cpus: CpuSet = cpus.iter().map(|cpu| cpu.cpu).collect();
        put("siblings", format!("of offline CPUs {cpus}: {source}"));
    }
    put("hypervisor", topology.hypervisor.clone().unwrap_or_else(|| "none seen".to_owned()));
    put("trust", format!("{}: {}", topology.trust, topology.trust_why));
    put("/proc/cpuinfo", cpuinfo(topology));
    if let Some(agree) = &topology.cpuinfo.siblings_agree {
        put("siblings", agreement(agree));
        for difference in agree.differences.iter().take(PARTS_SHOWN_MAX) {
            put("difference", difference.clone());
        }
        if let Some(more) = agree.differences.len().checked_sub(PARTS_SHOWN_MAX + 1) {
            put("difference", format!("and {} more; --json has them all", more + 1));
        }
    }
    facts
}

/// Whether siblings agree in what a core has once.
fn agreement(agree: &SiblingsAgree) -> String {
    let said = |what: &str, agree: Option<bool>| match agree {
        Some(true) => format!("agree in {what}"),
        Some(false) => format!("DIFFER in {what}"),
        None => format!("{what} unknown"),
    };
    format!("{}, {}", said("microcode", agree.microcode), said("feature flags", agree.flags))
}

/// What the article's Listing 1 reads.
fn cpuinfo(topology: &Topology) -> String {
    let info = &topology.cpuinfo;
    let number =
        |number: Option<u32>| number.map_or_else(|| "absent".to_owned(), |n| n.to_string());
    // Both count within a package: alone, "siblings 2" reads like two threads of a core.
    let meant = match (info.siblings, info.cpu_cores) {
        (Some(siblings), Some(cores)) if cores > 0 && siblings % cores == 0 => {
            format!(": {} a core", counted((siblings / cores) as usize, "thread"))
        }
        _ => String::new(),
    };
    format!(
        "{}, ht flag {}, siblings {}, cpu cores {}{meant}",
        counted(info.processors as usize, "processor"),
        if info.ht_flag { "set" } else { "not set" },
        number(info.siblings),
        number(info.cpu_cores)
    )
}
