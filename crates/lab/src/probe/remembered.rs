//! The last result, kept in the state folder for as long as the machine runs.
//!
//! A file of another boot is none: a virtual machine may have come up elsewhere.

use coretwin_base::account::probe::Probe;
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::topology::{Topology, Trust};
use coretwin_base::schema;
use coretwin_base::warning::Warning;
use coretwin_host::environment;
use coretwin_host::root::Root;
use std::path::Path;

const FILE: &str = "probe.json";

/// Keeps a result, in place of the last one; gives that back if it is better and stays. Errors: the
/// folder cannot be written.
pub fn remember(root: &Root, state: &Path, probe: &Probe) -> std::io::Result<Option<Probe>> {
    let stays = recall(root, state).filter(|last| !last.gives_way_to(probe));
    if stays.is_some() {
        return Ok(stays);
    }
    let text = serde_json::to_vec(probe).map_err(std::io::Error::other)?;
    let new = state.join(format!("{FILE}.{}", std::process::id()));
    std::fs::create_dir_all(state)?;
    std::fs::write(&new, text)?;
    std::fs::rename(&new, state.join(FILE))?;
    Ok(None)
}

/// The last result of this boot, if there is one that means something.
pub fn recall(root: &Root, state: &Path) -> Option<Probe> {
    let text = caps::STATE.read(std::fs::File::open(state.join(FILE)).ok()?).ok()?;
    let probe: Probe = serde_json::from_slice(&text).ok()?;
    let is_ours = schema::check(probe.schema).is_ok()
        && probe.meaningless.is_none()
        && probe.boot_id == environment::session(root).0;
    is_ours.then_some(probe)
}

/// A topology with what a probe says of it: trusted where the probe found what is reported, of
/// every CPU that may be used; else with a sentence that says what it found.
pub fn judged(mut topology: Topology, probe: Option<&Probe>) -> Topology {
    let Some(probe) = probe else { return topology };
    let is_whole = topology.allowed.is_subset(&probe.cpus) && probe.undecided.is_empty();
    let said = sentence(probe);
    if is_whole && probe.agrees_with_reported == Some(true) {
        topology.trust = Trust::Probed;
        topology.trust_why = format!("{said}, just as reported");
    } else {
        topology.trust_why = format!("{}; {said}", topology.trust_why);
    }
    topology
}

/// What has to be said with a study of CPUs that show no siblings.
pub fn warning(topology: &Topology, probe: Option<&Probe>) -> Option<Warning> {
    if topology.has_usable_siblings() {
        return None;
    }
    Some(match probe {
        None => Warning::new(
            "sharing-not-probed",
            "whether these CPUs share cores was not probed; they may, without showing it",
            "run `coretwin probe` before the study",
        ),
        Some(probe) => Warning::new(
            "sharing-probed",
            sentence(probe),
            "CPUs of a hypervisor may move at any time: probe again after the study to see whether \
             it still holds",
        ),
    })
}

/// What it found, how good it is, and when that was.
pub fn sentence(probe: &Probe) -> String {
    let sets = |sets: &[CpuSet]| {
        let sets: Vec<String> = sets.iter().map(|set| format!("{{{set}}}")).collect();
        sets.join(" ")
    };
    let mut said = format!("a probe until {} found ", probe.valid_until_utc);
    said += &match (probe.groups.is_empty(), probe.alone.is_empty()) {
        (true, true) => "nothing that can be said".to_owned(),
        (true, false) => format!("that none of the CPUs {} shares a core", probe.alone),
        (false, _) => {
            format!("that CPUs {} share a core or the time of one", sets(&probe.groups))
        }
    };
    if !probe.undecided.is_empty() {
        said += &format!(", and could not decide on CPUs {}", probe.undecided);
    }
    format!("{said} ({})", probe.quality())
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::machine::cpu_set::CpuId;

    fn found(root: &Root) -> Probe {
        let topology = Topology::regular(1, 2, 1);
        let request = super::super::Request {
            cpus: topology.allowed.clone(),
            budget_s: 1.0,
            exclusive: false,
            caches: false,
            seed: 1,
        };
        let findings = coretwin_account::probe::Findings {
            alone: topology.allowed.clone(),
            ..Default::default()
        };
        super::super::record(root, &topology, &request, findings, Vec::new(), 0.0)
    }

    #[test]
    fn a_result_holds_until_the_next_boot() {
        let (root, state) = (Root::system(), tempfile::tempdir().expect("folder"));
        assert_eq!(recall(&root, state.path()), None);
        let probe = found(&root);
        assert_eq!(remember(&root, state.path(), &probe).expect("written"), None);
        assert_eq!(recall(&root, state.path()).as_ref(), Some(&probe));
        let other = Probe { boot_id: "another".into(), ..probe };
        remember(&root, state.path(), &other).expect("written");
        assert_eq!(recall(&root, state.path()), None);
        std::fs::write(state.path().join(FILE), "{").expect("written");
        assert_eq!(recall(&root, state.path()), None);
    }

    #[test]
    fn a_worse_result_does_not_stand_in_for_a_better_one() {
        let (root, state) = (Root::system(), tempfile::tempdir().expect("folder"));
        let good = Probe { confidence: 0.999, rounds: 30, ..found(&root) };
        let [one, both] = ["1", "0-1"].map(|list| CpuSet::parse(list).expect("list"));
        let nothing = Probe { undecided: both.clone(), alone: CpuSet::new(), ..good.clone() };
        let part = Probe { undecided: one.clone(), alone: CpuSet::new(), ..good.clone() };
        let keep = |probe: &Probe| remember(&root, state.path(), probe).expect("written");
        assert_eq!(keep(&nothing), None, "there was none");
        assert_eq!(keep(&good), None, "it decides more");
        assert_eq!(keep(&nothing).as_ref(), Some(&good));
        assert_eq!(keep(&part).as_ref(), Some(&good));
        assert_eq!(recall(&root, state.path()).as_ref(), Some(&good));
        // A hypervisor has moved its CPUs: as sure as before, but otherwise.
        let moved = Probe { groups: vec![both], alone: CpuSet::new(), ..good.clone() };
        assert_eq!(keep(&moved), None);
        assert_eq!(recall(&root, state.path()), Some(moved));
        // How good it is goes with it wherever it is used.
        let said = sentence(&good);
        assert!(said.contains("2 of 2 CPUs decided, confidence 99.9 %"), "{said}");
        assert!(sentence(&nothing).contains("(undecided; 0 % of 30 rounds disturbed)"));
    }

    #[test]
    fn trust_follows_what_was_found() {
        let probe = found(&Root::system());
        let mut topology = Topology::regular(1, 2, 1);
        topology.trust = Trust::Unknown;
        let judge = |probe: &Probe| judged(topology.clone(), Some(probe));
        assert_eq!(judge(&probe).trust, Trust::Probed);
        let hidden = Probe {
            groups: vec![[CpuId(0), CpuId(1)].into_iter().collect()],
            alone: CpuSet::new(),
            agrees_with_reported: Some(false),
            ..probe.clone()
        };
        let judgement = judge(&hidden);
        assert_eq!(judgement.trust, Trust::Unknown);
        assert!(judgement.trust_why.contains("that CPUs {0-1} share a core"), "{judgement:?}");
        let part = Probe { cpus: [CpuId(0)].into_iter().collect(), ..probe.clone() };
        assert_eq!(judge(&part).trust, Trust::Unknown, "CPU 1 was not probed");
        assert_eq!(warning(&topology, None).expect("no siblings").kind, "sharing-not-probed");
        assert_eq!(warning(&topology, Some(&probe)).expect("told").kind, "sharing-probed");
        assert_eq!(warning(&Topology::regular(1, 2, 2), None), None);
    }
}
