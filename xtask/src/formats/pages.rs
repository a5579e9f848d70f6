//! Which records are explained on which page.

use super::{Page, Record};

const fn record(title: &'static str, of: &'static str) -> Record {
    Record { title, of }
}

pub(super) const PAGES: &[Page] = &[
    Page {
        file: "format-study.md",
        title: "Records of a study",
        about: "For those who read a study's folder, or the JSON of `run`, `report` and `compare`, with programs of \
                their own.",
        records: &[
            record("`plan.json`", "base/src/study/plan.rs:Plan"),
            record(
                "A line of `journal.jsonl`, and `run --json`",
                "base/src/study/reading.rs:Reading",
            ),
            record("`environment.json`", "base/src/machine/environment.rs:Environment"),
            record("`summary.json`", "base/src/study/summary.rs:Summary"),
            record("`compare --format json`", "base/src/study/comparison.rs:StudyComparison"),
            record("`report --format article-json`", "report/src/article/export.rs:Tables"),
        ],
    },
    Page {
        file: "format-fleet.md",
        title: "Records of a fleet",
        about: "For those who make or read bundles, or the JSON of `fleet` and of `compare` of fleets.",
        records: &[
            record("`fleet.json`", "base/src/fleet/plan.rs:FleetPlan"),
            record("`manifest.json` of a bundle", "base/src/fleet/plan.rs:Manifest"),
            record("A line of `merged/members.jsonl`", "base/src/fleet.rs:Member"),
            record("A line of `merged/refused.jsonl`", "base/src/fleet.rs:Refused"),
            record("`fleet status --json`", "lab/src/fleet/status.rs:Status"),
            record("`fleet report --format json`", "base/src/fleet/summary.rs:FleetSummary"),
            record(
                "`compare --format json` of fleets",
                "base/src/fleet/comparison.rs:FleetComparison",
            ),
        ],
    },
    Page {
        file: "format-machine.md",
        title: "Records of a machine, its SMT switch and its scheduler",
        about: "For those who read the JSON of `topology`, `probe`, `survey`, `smt`, `sched` and `list`.",
        records: &[
            record("`topology --json`", "cli/src/verb/topology.rs:Shown"),
            record("`probe --json`", "base/src/account/probe.rs:Probe"),
            record("`survey.json` of a bundle", "base/src/fleet/survey.rs:Survey"),
            record("`smt status --json`", "cli/src/verb/smt/status.rs:Status"),
            record(
                "`smt off`, `on`, `level` and `restore`, with `--json`",
                "cli/src/verb/smt.rs:Done",
            ),
            record("The same with `--dry-run`", "cli/src/verb/smt/change.rs:WouldDo"),
            record("`smt restore --dry-run --json`", "cli/src/verb/smt/undo.rs:WouldDo"),
            record("`smt restore --forget --json`", "cli/src/verb/smt/undo.rs:Forgotten"),
            record("`sched doctor --json`", "cli/src/verb/sched/doctor.rs:Findings"),
            record("`sched status --json`", "cli/src/verb/sched/status.rs:Status"),
            record("`sched scenario --json`", "cli/src/verb/sched/scenario.rs:Record"),
            record("`list --json`", "cli/src/verb/list.rs:Catalogue"),
        ],
    },
    Page {
        file: "format-cputime.md",
        title: "Records of CPU time",
        about: "For those who read the JSON of `cputime`, `account` and `top`, or a recording.",
        records: &[
            record(
                "`cputime --json`, and `cputime.json`",
                "base/src/account/cputime/result.rs:CputimeSummary",
            ),
            record(
                "A line of `factors.jsonl`",
                "base/src/account/cputime/result.rs:MeasuredFactors",
            ),
            record("`account --json`", "base/src/account/summary.rs:AccountSummary"),
            record("`head` of a recording", "base/src/account/recording.rs:RecordingHead"),
            record("`block` of a recording", "base/src/account/recording.rs:RecordingBlock"),
            record("`account --replay --json`", "base/src/account/replay.rs:Replay"),
            record("A line of `top --json`", "top/src/snapshot.rs:Snapshot"),
        ],
    },
    Page {
        file: "format-simulation.md",
        title: "Records of simulations and of `audit`",
        about: "For those who read the JSON of `simulate` and `audit`, or the folder of a sweep. All figures of \
                `simulate` are predicted.",
        records: &[
            record("`simulate core --json`", "base/src/simulation/core_run.rs:CoreRun"),
            record(
                "`known_error` of `simulate core --json`",
                "base/src/simulation/core_run.rs:CoreAccuracy",
            ),
            record("`simulate core --matrix --json`", "base/src/simulation/core_run.rs:CoreMatrix"),
            record(
                "`simulate core --experiment --json`",
                "cli/src/verb/simulate/core.rs:Experiments",
            ),
            record("`simulate core --list --json`", "cli/src/verb/simulate/core.rs:Lists"),
            record("`simulate sched --json`", "base/src/simulation/kernel_run.rs:SchedRun"),
            record("`sweep.json`", "base/src/simulation/sweep.rs:SweepPlan"),
            record("A line of `cells.jsonl`", "base/src/simulation/sweep.rs:SweepCell"),
            record("`audit --json` of a table", "article/src/audit/mod.rs:AuditReport"),
            record("`audit --json` of the claims", "article/src/audit/claims.rs:ClaimsReport"),
            record("`audit --json` of the note", "article/src/audit/note.rs:NoteReport"),
        ],
    },
];
