//! A Slurm cluster: a job array, a task each, every task alone on its node with all arms in its one
//! allocation.
//!
//! The fleet's folder lies where every node reaches it. A task that is told of its time limit, or whose
//! node died, is put back into the queue (`--requeue`) and goes on with its journal; see `requeue`.

use super::engine::{Call, Engine, Known, asked};
use super::quote::quoted;
use crate::error::Error;
use coretwin_base::fleet_plan::{FleetPlan, SlurmOptions, SlurmPlace};
use coretwin_store::fleet_folder::{FleetFolder, LOGS};
use std::collections::BTreeMap;

/// The script that is handed to `sbatch`.
const SCRIPT: &str = "fleet.sbatch";

/// A Slurm cluster.
pub(super) struct Slurm(pub(super) SlurmOptions);

impl Engine for Slurm {
    fn files(&self, fleet: &FleetFolder, plan: &FleetPlan) -> Result<Vec<(String, String)>, Error> {
        let folder = std::path::absolute(fleet.folder())
            .map_err(|error| Error::NotPossible(format!("no path of the folder: {error}")))?;
        let folder = folder.display().to_string();
        if folder.contains(['\n', '"', '%']) {
            let why = "the folder of a fleet for Slurm must have no \" and no % in its path";
            return Err(Error::Usage(why.to_owned()));
        }
        Ok(vec![(SCRIPT.to_owned(), self.script(&folder, plan))])
    }

    fn run(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let mut known = queue(call.plan)?;
        // What failed is tried again; what waits or runs already is not doubled.
        known.retain(|_, what| !matches!(what, Known::Failed(_)));
        let free: Vec<u32> =
            tasks.iter().copied().filter(|task| !known.contains_key(task)).collect();
        let mut places: BTreeMap<&SlurmPlace, Vec<u32>> = BTreeMap::new();
        for task in free {
            places.entry(&self.0.places[task as usize]).or_default().push(task);
        }
        let script = call.fleet.path(SCRIPT).display().to_string();
        for (place, tasks) in places {
            let mut args = vec!["--parsable".to_owned(), format!("--array={}", ranges(&tasks))];
            args.extend(match place {
                SlurmPlace::Any => None,
                SlurmPlace::Node(node) => Some(format!("--nodelist={node}")),
                SlurmPlace::Constraint(feature) => Some(format!("--constraint={feature}")),
            });
            args.push(script.clone());
            let tasks_named = ranges(&tasks);
            match asked("sbatch", &args) {
                Err(why) => {
                    (call.say)(&format!("tasks {tasks_named}: refused: {why}"));
                    let why = format!("Slurm refused it: {why}");
                    known.extend(tasks.into_iter().map(|task| (task, Known::Failed(why.clone()))));
                }
                Ok(None) => {
                    return Err(Error::NotPossible(format!(
                        "there is no sbatch here; on a machine of the cluster run: sbatch {}",
                        args.join(" ")
                    )));
                }
                Ok(Some(said)) => {
                    let job = said.trim().split(';').next().unwrap_or_default().to_owned();
                    (call.say)(&format!("tasks {tasks_named}: job {job}"));
                    let about = format!("job {job}");
                    known.extend(tasks.into_iter().map(|t| (t, Known::Waiting(about.clone()))));
                }
            }
        }
        Ok(known)
    }

    fn look(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let mut known = history(call.plan);
        // What is in the queue now is newer than what accounting has of it.
        known.extend(queue(call.plan)?);
        known.retain(|task, _| tasks.contains(task));
        Ok(known)
    }
}

impl Slurm {
    fn script(&self, folder: &str, plan: &FleetPlan) -> String {
        let SlurmOptions { time, warn_s, hint, options, .. } = &self.0;
        let mut lines = vec![
            "#!/bin/sh".to_owned(),
            "# A task of a fleet of coretwin. All arms are measured in this one allocation."
                .to_owned(),
            format!("#SBATCH --job-name={}", job_name(plan)),
            "#SBATCH --nodes=1 --ntasks=1 --exclusive --mem=0".to_owned(),
            "# Put back into the queue when its node dies; it goes on with what it measured."
                .to_owned(),
            "#SBATCH --requeue --open-mode=append".to_owned(),
            "# Told before its time is over, it keeps what it measured and asks for more."
                .to_owned(),
            format!("#SBATCH --signal=B:TERM@{warn_s}"),
            format!("#SBATCH --output=\"{folder}/{LOGS}/task-%a.log\""),
            format!("#SBATCH --chdir=\"{folder}\""),
        ];
        lines.extend(hint.as_ref().map(|hint| format!("#SBATCH --hint={hint}")));
        lines.extend(time.as_ref().map(|time| format!("#SBATCH --time={time}")));
        lines.extend(options.iter().map(|option| format!("#SBATCH {option}")));
        lines.push(format!(
            "exec {} fleet run {} --here --task \"$SLURM_ARRAY_TASK_ID\"",
            quoted(&plan.program),
            quoted(folder)
        ));
        lines.join("\n") + "\n"
    }
}

/// Puts the job this process runs in back into the queue.
///
/// # Errors
/// What Slurm says against it.
pub fn requeue(job: &str) -> Result<(), String> {
    match asked("scontrol", &["requeue".to_owned(), job.to_owned()])? {
        Some(_) => Ok(()),
        None => Err("there is no scontrol on this node".to_owned()),
    }
}

/// The jobs of a fleet have this name, so that they are found whoever submitted them.
fn job_name(plan: &FleetPlan) -> String {
    format!("coretwin-{}", plan.short())
}

/// What is in the queue, by task.
fn queue(plan: &FleetPlan) -> Result<BTreeMap<u32, Known>, Error> {
    let args = ["--noheader", "--array", "--states=all", "--format=%K|%T|%r|%N|%A"];
    let mut args: Vec<String> = args.map(str::to_owned).to_vec();
    args.push(format!("--name={}", job_name(plan)));
    match asked("squeue", &args) {
        Ok(Some(text)) => Ok(parse_queue(&text)),
        Ok(None) => Err(Error::NotPossible(
            "there is no squeue here; run this on a machine of the cluster".to_owned(),
        )),
        Err(why) => Err(Error::NotPossible(format!("Slurm does not answer: {why}"))),
    }
}

/// Reads lines of `TASK|STATE|REASON|NODE|JOB`.
fn parse_queue(text: &str) -> BTreeMap<u32, Known> {
    let mut known: BTreeMap<u32, Known> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [task, state, reason, node, job] = fields[..] else { continue };
        let Ok(task) = task.parse() else { continue };
        let new = judged(state, reason, node, job);
        // Of several jobs of a task the one that still does something counts.
        let lives = |one: &Known| !matches!(one, Known::Failed(_));
        if let Some(new) = new
            && (lives(&new) || known.get(&task).is_none_or(|old| !lives(old)))
        {
            known.insert(task, new);
        }
    }
    known
}

/// What a job's state means; none for one that ended well, of which the bundle tells.
fn judged(state: &str, reason: &str, node: &str, job: &str) -> Option<Known> {
    // `CANCELLED by 0` in accounting.
    let state = state.split_whitespace().next().unwrap_or_default();
    Some(match state {
        "COMPLETED" => return None,
        "RUNNING" | "COMPLETING" | "STOPPED" | "SUSPENDED" | "STAGE_OUT" => {
            Known::Running(format!("job {job} on {node}"))
        }
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "RESIZING"
        | "SPECIAL_EXIT" | "RESV_DEL_HOLD" | "SIGNALING" => {
            Known::Waiting(format!("job {job}: {}", reason_in_words(reason)))
        }
        "TIMEOUT" => Known::Failed(format!(
            "job {job}: its time limit came before it was done; run it again, it goes on (give \
             more --time, or a longer --warn)"
        )),
        "NODE_FAIL" => Known::Failed(format!("job {job}: its node {node} failed")),
        "OUT_OF_MEMORY" => Known::Failed(format!("job {job}: it ran out of memory")),
        "CANCELLED" => Known::Failed(format!("job {job}: it was cancelled")),
        other => Known::Failed(format!("job {job}: {other}; its log says why")),
    })
}

fn reason_in_words(reason: &str) -> String {
    match reason {
        "" | "None" => "it is about to start".to_owned(),
        "Resources" | "Priority" => format!("it waits for its turn ({reason})"),
        other => other.to_owned(),
    }
}

/// What accounting has of the fleet's jobs; nothing where there is no accounting.
fn history(plan: &FleetPlan) -> BTreeMap<u32, Known> {
    let args = ["--noheader", "--allocations", "--parsable2", "--array", "--starttime=now-30days"];
    let mut args: Vec<String> = args.map(str::to_owned).to_vec();
    args.push("--format=JobID,State,NodeList".to_owned());
    args.push(format!("--name={}", job_name(plan)));
    let text = asked("sacct", &args).ok().flatten().unwrap_or_default();
    let mut known = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [id, state, node] = fields[..] else { continue };
        let Some((job, Ok(task))) =
            id.split_once('_').map(|(job, task)| (job, task.parse::<u32>()))
        else {
            continue;
        };
        // In order of time: the last one counts.
        match judged(state, "", node, job) {
            Some(found) => known.insert(task, found),
            None => known.remove(&task),
        };
    }
    known
}

/// Task numbers as `--array` takes them: `0-2,5`.
fn ranges(tasks: &[u32]) -> String {
    let mut tasks = tasks.to_vec();
    tasks.sort_unstable();
    let text = |run: &[u32]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    tasks.chunk_by(|a, b| a + 1 == *b).map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::plan::{FleetRequest, draw};
    use coretwin_base::fleet_plan::{EngineOptions, FleetSubject};
    use expect_test::expect;

    fn options() -> SlurmOptions {
        SlurmOptions {
            places: vec![SlurmPlace::Any, SlurmPlace::Node("n1".to_owned())],
            time: Some("2:00:00".to_owned()),
            warn_s: 120,
            hint: Some("multithread".to_owned()),
            options: vec!["--partition=long".to_owned()],
        }
    }

    #[test]
    fn the_script_is_what_a_cluster_needs() {
        let mut plan = draw(FleetRequest {
            engine: EngineOptions::Slurm(options()),
            names: vec!["any-0".to_owned(), "n1".to_owned()],
            machines: Vec::new(),
            program: "/opt/core twin/coretwin".to_owned(),
            subject: FleetSubject::Study(vec!["chat".to_owned()]),
            seed: 1,
        })
        .expect("a plan");
        plan.digest = "0123456789abcdef".repeat(4);
        let script = Slurm(options()).script("/shared/fleet", &plan);
        expect![[r#"
            #!/bin/sh
            # A task of a fleet of coretwin. All arms are measured in this one allocation.
            #SBATCH --job-name=coretwin-0123456789ab
            #SBATCH --nodes=1 --ntasks=1 --exclusive --mem=0
            # Put back into the queue when its node dies; it goes on with what it measured.
            #SBATCH --requeue --open-mode=append
            # Told before its time is over, it keeps what it measured and asks for more.
            #SBATCH --signal=B:TERM@120
            #SBATCH --output="/shared/fleet/log/task-%a.log"
            #SBATCH --chdir="/shared/fleet"
            #SBATCH --hint=multithread
            #SBATCH --time=2:00:00
            #SBATCH --partition=long
            exec '/opt/core twin/coretwin' fleet run /shared/fleet --here --task "$SLURM_ARRAY_TASK_ID"
        "#]]
        .assert_eq(&script);
    }

    #[test]
    fn arrays_are_written_in_ranges() {
        assert_eq!(ranges(&[5, 0, 1, 2, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[3]), "3");
    }

    #[test]
    fn of_a_queue_what_still_does_something_counts() {
        let text = "0|CANCELLED|None||7\n0|RUNNING|None|n1|9\n1|PENDING|Resources||9\n2|TIMEOUT|TimeLimit|n2|9\n3|COMPLETED|None|n1|9\nN/A|PENDING|x||1\nnonsense\n";
        let known = parse_queue(text);
        assert_eq!(known[&0], Known::Running("job 9 on n1".to_owned()));
        assert!(matches!(&known[&1], Known::Waiting(why) if why.contains("Resources")));
        assert!(matches!(&known[&2], Known::Failed(why) if why.contains("--time")));
        assert_eq!(known.len(), 3);
    }
}
