//! Rows of a plan: suites and workloads in every placement that was asked for, and a command over its
//! thread and copy counts.

use crate::error::Error;
use crate::request::{Counts, Request, Subject};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::Topology;
use coretwin_base::parameters::{ParamValue, Params, WorkloadSpec, label};
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::command::{CommandSpec, FILLED_IN, LoadSpec, ServerSpec};
use coretwin_base::study::plan::{CopyRule, PlanArm, PlanRow, Scale, ThreadRule};
use coretwin_base::study::reading::Better;
use coretwin_base::warning::Warning;
use coretwin_workloads::suites::{self, SuiteRow};
use coretwin_workloads::table;
use coretwin_workloads::workload::Workload;
use std::collections::BTreeSet;

/// Name of the workload and family of a user's own command.
pub(crate) const COMMAND: &str = "command";

/// What `service` stands for where there are rates.
const SERVICE: &str = "service";
pub(crate) const LATENCY: &str = "service/latency";

/// What a bare name means where a suite and a workload share it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Names {
    Suites,
    Workloads,
}

#[derive(Default)]
pub(crate) struct Asked {
    /// Each with whether it is measured only in arms that have its placement.
    rows: Vec<(PlanRow, bool)>,
    /// Rows of a suite that this protocol leaves out.
    left_out: BTreeSet<&'static str>,
}

/// The rows that were asked for. Errors: names, parameters and placements that cannot be, and rows
/// asked for twice.
pub(crate) fn asked(request: &Request, names: Names, topology: &Topology) -> Result<Asked, Error> {
    let asked = match &request.subject {
        Subject::Workloads(specs) => of_workloads(specs, request, names, topology)?,
        Subject::Command { spec, threads, copies, variants, parameters } => {
            if request.placements.iter().any(|placement| *placement != Placement::Free) {
                return Err(Error::Usage(
                    "--placement is for workloads of the table; where a command's tasks run is \
                     decided by its arm, like --arm cpus:0-1"
                        .to_owned(),
                ));
            }
            let counted = !matches!(threads, Counts::Default);
            let commands = [&spec.argv].into_iter().chain(variants.iter().map(|one| &one.argv));
            let is_in = |name: &str, argv: &[String]| argv.iter().any(|arg| arg.contains(name));
            if counted && !commands.clone().any(|argv| is_in("{threads}", argv)) {
                return Err(Error::Usage(
                    "--threads needs {threads} in the command, where the number is filled in"
                        .to_owned(),
                ));
            }
            check_parameters(spec, parameters, commands)?;
            let rows = over(parameters, command_rows(spec, threads, copies));
            Asked { rows: rows.into_iter().map(|row| (row, false)).collect(), ..Asked::default() }
        }
    };
    let mut ids = BTreeSet::new();
    for (row, _) in &asked.rows {
        if !ids.insert(row.id.as_str()) {
            return Err(Error::Usage(format!("the row {} is asked for twice", row.id)));
        }
    }
    Ok(asked)
}

impl Asked {
    pub(crate) fn left_out(&self) -> Option<Warning> {
        let names: Vec<&str> = self.left_out.iter().copied().collect();
        (!names.is_empty()).then(|| {
            Warning::new(
                "left-out",
                format!(
                    "left out of this screening, for they wait for the disk: {}",
                    names.join(", ")
                ),
                format!("to measure them, name them: coretwin study {}", names.join(" ")),
            )
        })
    }

    /// The rows in the arms that have their placement. Errors: [`Error::NotPossible`] if an arm
    /// does not have a placement that was asked for by name.
    pub(crate) fn placed(
        self,
        arms: &[PlanArm],
        topology: &Topology,
    ) -> Result<Vec<PlanRow>, Error> {
        let mut rows = Vec::new();
        for (mut row, where_possible) in self.rows {
            let mut able: Vec<String> = Vec::new();
            for arm in arms {
                match possible(&row, where_possible, arm, topology) {
                    Ok(()) => able.push(arm.label.clone()),
                    Err(_) if where_possible => {}
                    Err(why) => {
                        return Err(Error::NotPossible(format!(
                            "row {} in arm {}: {why}; leave out that placement or that arm",
                            row.id, arm.label
                        )));
                    }
                }
            }
            if able.is_empty() {
                continue;
            }
            if able.len() < arms.len() {
                row.arms = able;
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(Error::NotPossible(
                "no arm has the placements of these rows, which need two CPUs of different cores or \
                 of one; name arms with more CPUs, or --placement free"
                    .to_owned(),
            ));
        }
        Ok(rows)
    }
}

/// Whether an arm has a row's placement. Which CPUs a boot has is not known before it; then what was
/// asked for by name is believed, and of a suite's placements those that any machine has.
fn possible(
    row: &PlanRow,
    where_possible: bool,
    arm: &PlanArm,
    topology: &Topology,
) -> Result<(), String> {
    match (&arm.state, row.placement) {
        (ArmState::Boot(_), Placement::Free | Placement::SameCpu) => Ok(()),
        (ArmState::Boot(_), _) if where_possible => Err("its CPUs are not known yet".to_owned()),
        (ArmState::Boot(_), _) => Ok(()),
        _ => roles(row, arm, topology).map(drop),
    }
}

/// The CPU set of each role of a row in an arm; empty where every role has the whole arm. Errors: a
/// sentence, if the arm has no CPUs that stand so to each other.
pub(crate) fn roles(
    row: &PlanRow,
    arm: &PlanArm,
    topology: &Topology,
) -> Result<Vec<CpuSet>, String> {
    let count = table::find(&row.workload).map_or(1, |workload| workload.facts().roles.len());
    coretwin_host::placement::roles(topology, &arm.cpus, row.placement, count)
}

fn of_workloads(
    specs: &[WorkloadSpec],
    request: &Request,
    names: Names,
    topology: &Topology,
) -> Result<Asked, Error> {
    let mut asked = Asked::default();
    for spec in specs {
        let renamed;
        let spec = match spec.name.as_str() {
            SERVICE if request.load.is_some() => {
                let name = LATENCY.to_owned();
                renamed = WorkloadSpec { name, params: spec.params.clone() };
                &renamed
            }
            _ => spec,
        };
        let usage = |error: coretwin_workloads::Error| Error::Usage(error.to_string());
        let cpus = u32::try_from(topology.allowed.len()).unwrap_or(u32::MAX);
        let given = match suites::find(&spec.name) {
            Some(suite) if names == Names::Suites && suite.is_meant(spec) => {
                let (rows, left_out) =
                    suite.rows(request.protocol, cpus, &spec.params).map_err(usage)?;
                asked.left_out.extend(left_out);
                rows
            }
            _ => vec![SuiteRow::from(spec.clone())],
        };
        for row in given {
            // Checked with as many threads as the largest arm can have, then filled in for each.
            let mut complete = row.complete();
            let told = complete.params.iter_mut().filter(|(_, value)| value.is_threads());
            let told: Params = told
                .map(|(name, value)| {
                    (name.clone(), std::mem::replace(value, i64::from(cpus).into()))
                })
                .collect();
            let (workload, mut params) = table::resolve(&complete).map_err(usage)?;
            params.extend(told);
            asked.add(&row, workload, &params, &request.placements);
        }
    }
    if asked.rows.is_empty() {
        return Err(Error::Usage(
            "no row is left: the placements asked for need workloads with two or more roles"
                .to_owned(),
        ));
    }
    Ok(asked)
}

impl Asked {
    fn add(
        &mut self,
        row: &SuiteRow,
        workload: &'static dyn Workload,
        params: &Params,
        placements: &[Placement],
    ) {
        let by_suite = placements.is_empty() && !row.placements.is_empty();
        let placements = match placements {
            [] if by_suite => row.placements,
            [] => &[Placement::Free],
            placements => placements,
        };
        let facts = workload.facts();
        for placement in placements {
            let free = *placement == Placement::Free;
            if !free && facts.roles.len() < 2 {
                continue;
            }
            let mut id = label(&row.spec.name, &row.spec.params);
            if !free {
                id.push_str(&format!("@{placement}"));
            }
            let plan_row = PlanRow {
                id,
                workload: facts.name.to_owned(),
                family: facts.family.to_owned(),
                params: params.clone(),
                placement: *placement,
                threads: match params.values().any(ParamValue::is_threads) {
                    true => ThreadRule::Arm,
                    false => ThreadRule::Fixed(workload.tasks(params)),
                },
                copies: workload.copies(params),
                unit: facts.unit.to_owned(),
                better: facts.better,
                scale: facts.scale,
                arms: Vec::new(),
            };
            self.rows.push((plan_row, by_suite));
        }
    }
}

/// Whether a row's work grows with the threads of its arm.
pub(crate) fn follows_threads(row: &PlanRow, request: &Request) -> bool {
    let is_told = match &request.subject {
        Subject::Command { spec, .. } => spec.uses_threads(),
        Subject::Workloads(_) => true,
    };
    row.copies == CopyRule::PerCpu || (row.threads == ThreadRule::Arm && is_told)
}

/// Refuses parameters that are something else already, or would change nothing.
fn check_parameters<'a>(
    spec: &'a CommandSpec,
    parameters: &[(String, Vec<String>)],
    commands: impl Iterator<Item = &'a Vec<String>> + Clone,
) -> Result<(), Error> {
    let server = spec.server.iter().map(|server| &server.command);
    let hooks = || server.clone().chain(&spec.prepare).chain(&spec.cleanup);
    for (place, (name, _)) in parameters.iter().enumerate() {
        let placeholder = format!("{{{name}}}");
        let is_used =
            commands.clone().flatten().chain(hooks()).any(|word| word.contains(&placeholder));
        let why = if FILLED_IN.contains(&name.as_str()) || name == "copies" {
            format!("the parameter {name} is filled in for each run already; give it another name")
        } else if parameters[..place].iter().any(|(other, _)| other == name) {
            format!("the parameter {name} is given twice")
        } else if !is_used {
            format!(
                "the parameter {name} needs {placeholder} in the command, where its values are filled in"
            )
        } else {
            continue;
        };
        return Err(Error::Usage(why));
    }
    Ok(())
}

/// These rows with every combination of the parameters' values.
fn over(parameters: &[(String, Vec<String>)], rows: Vec<PlanRow>) -> Vec<PlanRow> {
    parameters.iter().fold(rows, |rows, (name, values)| {
        let with = |row: &PlanRow, value: &String| {
            let mut params = row.params.clone();
            params.insert(name.clone(), ParamValue::parse(value));
            PlanRow { id: label(COMMAND, &params), params, ..row.clone() }
        };
        rows.iter().flat_map(|row| values.iter().map(move |value| with(row, value))).collect()
    })
}

/// The usable CPUs of cores of which no arm has a CPU: equal in all arms, so that what runs there favours
/// none. Where an arm is a boot, whose CPUs are not known, there are none.
pub(crate) fn spare_cpus(arms: &[PlanArm], topology: &Topology) -> CpuSet {
    if arms.iter().any(|arm| matches!(arm.state, ArmState::Boot(_))) {
        return CpuSet::new();
    }
    let used = arms.iter().fold(CpuSet::new(), |all, arm| all.union(&arm.cpus));
    let cores = topology.usable_cores().into_iter().map(|(_, cpus)| cpus);
    let known = cores.map(|cpus| cpus.difference(&topology.cores_unknown));
    let spare = known.filter(|cpus| cpus.intersection(&used).is_empty());
    spare.fold(CpuSet::new(), |all, cpus| all.union(&cpus))
}

/// A command with a row's parameters and an arm's variant filled in, in its hooks too. What depends on the
/// run itself is filled in by the worker.
pub(crate) fn filled(spec: &CommandSpec, row: &PlanRow, arm: &PlanArm) -> CommandSpec {
    let variant = arm.variant.as_ref();
    let fill = |text: &String| {
        let name = variant.map_or("{variant}", |variant| variant.name.as_str());
        let text = text.replace("{variant}", name);
        let own = variant.iter().flat_map(|variant| &variant.params).chain(&row.params);
        let own = own.filter(|(name, _)| !["threads", "copies"].contains(&name.as_str()));
        own.fold(text, |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), &value.to_string())
        })
    };
    let argv = variant.map_or(&spec.argv, |variant| &variant.argv);
    CommandSpec {
        argv: argv.iter().map(fill).collect(),
        server: spec.server.clone().map(|server| ServerSpec {
            command: fill(&server.command),
            ready: server.ready.as_ref().map(fill),
            ..server
        }),
        prepare: spec.prepare.as_ref().map(fill),
        cleanup: spec.cleanup.as_ref().map(fill),
        load: spec.load.as_deref().map(|load| {
            Box::new(LoadSpec {
                latencies: load.latencies.as_ref().map(fill),
                rate: row.rate().map(|rate| rate.per_second(0.0)),
                ..load.clone()
            })
        }),
        ..spec.clone()
    }
}

fn command_rows(spec: &CommandSpec, threads: &Counts, copies: &Counts) -> Vec<PlanRow> {
    let thread_rules: Vec<ThreadRule> = match threads {
        Counts::Default => vec![ThreadRule::Arm],
        Counts::Auto => vec![ThreadRule::Screened],
        Counts::List(list) => list.iter().map(|count| ThreadRule::Fixed(*count)).collect(),
    };
    let copy_rules: Vec<CopyRule> = match copies {
        Counts::Default => vec![CopyRule::Fixed(1)],
        Counts::Auto => vec![CopyRule::PerCpu],
        Counts::List(list) => list.iter().map(|count| CopyRule::Fixed(*count)).collect(),
    };
    let primary = spec.metrics.iter().find(|metric| metric.primary);
    let (unit, better) = match (primary, copies) {
        // Its latency, as the worker has it.
        _ if spec.load.is_some() => ("µs".to_owned(), Better::Lower),
        (Some(metric), _) => (metric.unit.clone(), metric.better),
        (None, Counts::Default) => ("s".to_owned(), Better::Lower),
        (None, _) => ("runs/s".to_owned(), Better::Higher),
    };
    let mut rows = Vec::new();
    for thread_rule in &thread_rules {
        for copy_rule in &copy_rules {
            let mut params = Params::new();
            if let ThreadRule::Fixed(count) = thread_rule {
                params.insert("threads".to_owned(), (i64::from(*count)).into());
            }
            if let (CopyRule::Fixed(count), Counts::List(_)) = (copy_rule, copies) {
                params.insert("copies".to_owned(), (i64::from(*count)).into());
            }
            rows.push(PlanRow {
                id: label(COMMAND, &params),
                workload: COMMAND.to_owned(),
                family: COMMAND.to_owned(),
                params,
                placement: Placement::Free,
                threads: *thread_rule,
                copies: *copy_rule,
                unit: unit.clone(),
                better,
                scale: Scale::Ratio,
                arms: Vec::new(),
            });
        }
    }
    rows
}
