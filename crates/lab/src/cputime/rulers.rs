//! The work, or each command, beside each ruler (`--rulers`): a spinner for each shared resource of a core.

use super::pairs::{beside, one};
use super::{Request, SPINNER};
use crate::probe;
use coretwin_base::account::cputime::rulers::RULERS;
use coretwin_base::account::cputime::{Condition, Place, Relation, Spinner, SpinnerKind};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::Topology;

/// A ruler of a cache is as large as this machine's.
pub(super) fn spinner(kind: SpinnerKind, topology: &Topology) -> Spinner {
    let level = match kind {
        SpinnerKind::L1d => Some(1),
        SpinnerKind::L2 => Some(2),
        _ => None,
    };
    let size = level.and_then(|level| probe::smallest_cache_kib(topology, level));
    Spinner { kind, argv: size.iter().map(u64::to_string).collect() }
}

/// Each command (or the one work) beside each ruler, each ruler alone, and beside itself.
pub(super) fn conditions(request: &Request) -> Vec<Condition> {
    if !request.rulers {
        return Vec::new();
    }
    let pair = &request.pair;
    let (place, neighbour) = beside(pair);
    let both = if pair.relation == Relation::Separate { one(pair.work) } else { pair.cpus() };
    let mut works = vec![(None, String::new())];
    if !request.commands.is_empty() {
        let commands = request.commands.iter().enumerate();
        works = commands.map(|(at, it)| (Some(at), format!("{} beside ", it.name))).collect();
    }
    let rulers = || RULERS.into_iter().map(|(ruler, _)| ruler);
    let mut all = Vec::new();
    for (work, prefix) in works {
        all.extend(rulers().map(|ruler| Condition {
            name: format!("{prefix}ruler:{}", ruler.name()),
            place,
            has_work: true,
            spinners: 1,
            work_cpus: one(pair.work),
            spinner_cpus: one(neighbour),
            work,
            beside: None,
            ruler: Some(ruler),
        }));
    }
    for (spinners, cpus, twice) in [(1, one(neighbour), ""), (2, both, " twice")] {
        all.extend(rulers().map(|ruler| Condition {
            name: format!("{SPINNER} {}{twice}", ruler.name()),
            place: Place::Alone,
            has_work: false,
            spinners,
            work_cpus: CpuSet::new(),
            spinner_cpus: cpus.clone(),
            work: None,
            beside: None,
            ruler: Some(ruler),
        }));
    }
    all
}
