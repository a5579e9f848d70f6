//! Which two CPUs the experiment is made on, and which third is its control. Pure.

use crate::error::Error;
use coretwin_base::account::cputime::{Pair, Relation};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::{Cpu, Topology};

/// Reads `A,B`: the work's CPU and the neighbour's.
pub fn parse(text: &str) -> Result<(CpuId, CpuId), String> {
    let form = "write it like 0,1: the CPU of the work, then the neighbour's";
    let number = |part: &str| part.trim().parse().map(CpuId).ok();
    let parts: Option<Vec<CpuId>> = text.split(',').map(number).collect();
    match parts.as_deref() {
        Some([work, neighbour]) if work == neighbour => {
            Err(format!("'{text}' is one CPU, and a pair is two; {form}"))
        }
        Some([work, neighbour]) => Ok((*work, *neighbour)),
        _ => Err(format!("'{text}' is not a pair of CPUs; {form}")),
    }
}

/// The pair: the one that is named, else the first two usable siblings, else the first usable pair
/// of a group that `probe` found to share a core, else the first two CPUs. Errors: CPUs that do not
/// exist, are offline or not allowed; a machine of one CPU.
pub fn choose(
    topology: &Topology,
    named: Option<(CpuId, CpuId)>,
    probed: &[CpuSet],
) -> Result<Pair, Error> {
    if let Some((work, neighbour)) = named {
        let cpus: CpuSet = [work, neighbour].into_iter().collect();
        coretwin_host::affinity::validate(topology, &cpus).map_err(|why| {
            Error::NotPossible(format!("--pair {},{}: {why}", work.0, neighbour.0))
        })?;
        let relation = if are_siblings(topology, work, neighbour) {
            Relation::Siblings
        } else if probed.iter().any(|group| cpus.is_subset(group)) {
            Relation::Probed
        } else {
            Relation::Named
        };
        return Ok(Pair { work, neighbour, relation });
    }
    if probed.is_empty() && topology.cores_of(&topology.allowed).is_none() {
        return Err(Error::NotPossible(format!(
            "which CPUs share a core is unknown here ({}); run coretwin probe, or name two CPUs with \
             --pair",
            topology.trust_why
        )));
    }
    let cores = topology.usable_cores();
    let siblings = cores.iter().map(|(_, cpus)| cpus).filter_map(first_two);
    let found = probed.iter().filter_map(|group| first_two(&group.intersection(&topology.allowed)));
    let candidates = siblings
        .map(|pair| (pair, Relation::Siblings))
        .chain(found.map(|pair| (pair, Relation::Probed)))
        .chain(first_two(&topology.allowed).map(|pair| (pair, Relation::Separate)))
        .next();
    let Some(((work, neighbour), relation)) = candidates else {
        return Err(Error::NotPossible(format!(
            "the experiment needs two CPUs, and only {} may be used here",
            topology.allowed
        )));
    };
    Ok(Pair { work, neighbour, relation })
}

fn first_two(cpus: &CpuSet) -> Option<(CpuId, CpuId)> {
    let mut cpus = cpus.iter();
    cpus.next().zip(cpus.next())
}

fn are_siblings(topology: &Topology, a: CpuId, b: CpuId) -> bool {
    let core = |cpu| topology.cpu(cpu).map(|cpu| cpu.core);
    core(a).is_some() && core(a) == core(b)
}

/// The control: a CPU of another core than the pair's, of the same kind of core and behind the same
/// last-level cache. On two separate cores it is the neighbour itself. `None` if there is none.
pub fn control(topology: &Topology, pair: &Pair, probed: &[CpuSet]) -> Option<CpuId> {
    if pair.relation == Relation::Separate {
        return Some(pair.neighbour);
    }
    let work = topology.cpu(pair.work)?;
    let taken: Vec<&Cpu> = pair.cpus().iter().filter_map(|cpu| topology.cpu(cpu)).collect();
    // By the kernel's word, and by contention where the kernel has none.
    let shares_a_core = |other: &Cpu| {
        taken.iter().any(|cpu| cpu.core == other.core)
            || probed.iter().any(|group| {
                group.contains(other.cpu) && taken.iter().any(|cpu| group.contains(cpu.cpu))
            })
    };
    topology
        .cpus
        .iter()
        .filter(|cpu| topology.allowed.contains(cpu.cpu) && !shares_a_core(cpu))
        .find(|cpu| {
            cpu.llc == work.llc && cpu.package == work.package && cpu.core_type == work.core_type
        })
        .map(|cpu| cpu.cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        CpuSet::parse(text).expect("set")
    }

    fn chosen(topology: &Topology, named: Option<&str>, probed: &[CpuSet]) -> String {
        let named = named.map(|text| parse(text).expect("pair"));
        match choose(topology, named, probed) {
            Ok(pair) => {
                let control = control(topology, &pair, probed);
                let control = control.map_or("-".to_owned(), |cpu| cpu.0.to_string());
                format!("{},{} {:?} {control}", pair.work.0, pair.neighbour.0, pair.relation)
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn siblings_come_first_then_what_probe_found_then_what_there_is() {
        let smt = Topology::regular(2, 2, 2);
        assert_eq!(chosen(&smt, None, &[]), "0,1 Siblings 2");
        let mut second_package = smt.clone();
        second_package.allowed = set("4-5");
        assert_eq!(chosen(&second_package, None, &[]), "4,5 Siblings -");
        let hidden = Topology::regular(1, 4, 1);
        assert_eq!(chosen(&hidden, None, &[set("1,3"), set("0,2")]), "1,3 Probed 0");
        assert_eq!(chosen(&hidden, None, &[]), "0,1 Separate 1");
        let mut one = hidden.clone();
        one.allowed = set("2");
        assert!(chosen(&one, None, &[]).contains("needs two CPUs, and only 2"));
        // Which CPUs share a core is not made up where no file tells.
        let unknown = Topology { cores_unknown: set("0-3"), ..hidden };
        assert!(chosen(&unknown, None, &[]).contains("run coretwin probe, or name two CPUs"));
        assert_eq!(chosen(&unknown, None, &[set("1,3")]), "1,3 Probed 0");
    }

    #[test]
    fn a_named_pair_is_called_what_it_is() {
        let smt = Topology::regular(2, 2, 2);
        assert_eq!(chosen(&smt, Some("3,2"), &[]), "3,2 Siblings 0");
        assert_eq!(chosen(&smt, Some("0,2"), &[]), "0,2 Named -");
        assert_eq!(chosen(&smt, Some("0,4"), &[]), "0,4 Named 2");
        let hidden = Topology::regular(1, 4, 1);
        assert_eq!(chosen(&hidden, Some("2,0"), &[set("0,2")]), "2,0 Probed 1");
        // CPU 3 shares a core with one of the pair, so CPU 1 is the control.
        assert_eq!(chosen(&hidden, Some("0,2"), &[set("0,3")]), "0,2 Named 1");
    }

    #[test]
    fn pairs_that_are_none_are_refused_with_words() {
        for (text, part) in [
            ("0", "not a pair"),
            ("0,0", "is one CPU"),
            ("0,1,2", "not a pair"),
            ("a,b", "write it like 0,1"),
            ("0,-1", "not a pair"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let mut machine = Topology::regular(1, 2, 2);
        machine.allowed = set("0-2");
        assert!(chosen(&machine, Some("0,9"), &[]).contains("CPU 9 does not exist"));
        assert!(chosen(&machine, Some("0,3"), &[]).contains("CPU 3 is not allowed"));
    }
}
