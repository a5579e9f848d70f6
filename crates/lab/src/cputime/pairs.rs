//! Commands beside each other (`--with`) as conditions: each alone, and each beside each other one. The
//! one beside is a spinner that starts its command again whenever it has ended.

use super::Request;
use coretwin_base::account::cputime::pairs::WithCommand;
use coretwin_base::account::cputime::{Condition, Pair, Place, Relation, Spinner, SpinnerKind};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};

/// Runs a command until it is killed or fails; its folder is the first word, none if that is empty.
const AGAIN: &str =
    "[ -z \"$0\" ] || cd -- \"$0\" || exit; while :; do \"$@\" > /dev/null || exit; done";

pub(super) fn again(command: &WithCommand, folder: Option<&str>) -> Spinner {
    let shell = ["/bin/sh", "-c", AGAIN, folder.unwrap_or_default()].map(str::to_owned);
    let argv = shell.into_iter().chain(command.argv.iter().cloned()).collect();
    Spinner { kind: SpinnerKind::Command, argv }
}

/// Where two meet: on the neighbour's CPU, or else both on one.
pub(super) fn beside(pair: &Pair) -> (Place, CpuId) {
    match pair.relation {
        Relation::Siblings | Relation::Probed => (Place::Siblings, pair.neighbour),
        Relation::Named => (Place::Pair, pair.neighbour),
        Relation::Separate => (Place::SameCpu, pair.work),
    }
}

pub(super) fn one(cpu: CpuId) -> CpuSet {
    [cpu].into_iter().collect()
}

/// Each command alone, then each beside each other one.
pub(super) fn conditions(request: &Request) -> Vec<Condition> {
    let pair = &request.pair;
    let (place, neighbour) = beside(pair);
    let commands = || request.commands.iter().enumerate();
    let alone = commands().map(|(a, command)| Condition {
        name: command.name.clone(),
        place: Place::Alone,
        has_work: true,
        spinners: 0,
        work_cpus: one(pair.work),
        spinner_cpus: CpuSet::new(),
        work: Some(a),
        beside: None,
        ruler: None,
    });
    let beside = commands().flat_map(|(a, work)| {
        let others = commands().filter(move |(b, _)| a != *b);
        others.map(move |(b, other)| Condition {
            name: format!("{} beside {}", work.name, other.name),
            place,
            has_work: true,
            spinners: 1,
            work_cpus: one(pair.work),
            spinner_cpus: one(neighbour),
            work: Some(a),
            beside: Some(b),
            ruler: None,
        })
    });
    alone.chain(beside).collect()
}
