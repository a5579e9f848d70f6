//! A Slurm cluster: a job array, a task each, every task alone on its node with all arms in its one
//! allocation.
//!
//! The fleet's folder lies where every node reaches it. A task that is told of its time limit, or whose
//! node died, is put back into the queue (`--requeue`) and goes on with its journal; see `run_again`.

use super::child::{asked, quoted};
use super::engine::{Call, Engine, Known, numbered, seconds};
use super::hosts::{SlurmPlace, constraints, nodes};
use crate::error::Error;
use coretwin_base::fleet::plan::FleetPlan;
use coretwin_store::fleet_folder::{FleetFolder, LOGS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

const SCRIPT: &str = "fleet.sbatch";

#[derive(clap::Args, Serialize, Deserialize)]
pub(super) struct Slurm {
    /// A task for each of these nodes, like n[01-16],gpu1
    #[serde(skip)]
    #[arg(long, value_name = "NODES", help_heading = "Slurm")]
    nodes: Option<String>,
    /// So many tasks on nodes of each type, like zen4=4,icelake=4
    #[serde(skip)]
    #[arg(long, value_name = "FEATURE=N,…", conflicts_with = "nodes", help_heading = "Slurm")]
    constraint: Option<String>,
    /// Where each task may run, in the tasks' order.
    #[arg(skip)]
    places: Vec<SlurmPlace>,
    /// Time limit of a job, as Slurm reads it
    // None: the partition's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "TIME", help_heading = "Slurm")]
    time: Option<String>,
    /// How long before the limit a study is told to stop and keep what it has
    #[arg(long = "warn", value_name = "TIME", default_value = "2m", value_parser = seconds, help_heading = "Slurm")]
    warn_s: u64,
    /// What Slurm is told of SMT: multithread, or none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, default_value = "multithread", value_parser = ["multithread", "none"], help_heading = "Slurm")]
    hint: Option<String>,
    /// An option for sbatch, repeatable, like --sbatch-option=--partition=long
    #[arg(
        id = "sbatch_options",
        long = "sbatch-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Slurm"
    )]
    options: Vec<String>,
}

impl Engine for Slurm {
    fn draw(&mut self, wanted: Option<usize>) -> Result<Vec<String>, String> {
        let places: Vec<(String, SlurmPlace)> = match (&self.nodes, &self.constraint) {
            (Some(list), _) => {
                let nodes = nodes(list).map_err(|why| format!("--nodes: {why}"))?;
                nodes.into_iter().map(|n| (n.clone(), SlurmPlace::Node(n))).collect()
            }
            (_, Some(list)) => constraints(list).map_err(|why| format!("--constraint: {why}"))?,
            _ => numbered("any", wanted, ", or which: --nodes LIST, --constraint TYPE=N")?
                .into_iter()
                .map(|name| (name, SlurmPlace::Any))
                .collect(),
        };
        self.leaves_time()?;
        if let Some(word) = self.options.iter().find(|word| !word.starts_with('-')) {
            return Err(format!("--sbatch-option: '{word}' is no option"));
        }
        self.hint = self.hint.take().filter(|hint| hint != "none");
        let (names, places) = places.into_iter().unzip();
        self.places = places;
        Ok(names)
    }

    fn places(&self) -> Option<usize> {
        Some(self.places.len())
    }

    fn program(&self) -> io::Result<String> {
        Ok(std::env::current_exe()?.display().to_string())
    }

    fn run_again(&self) -> Option<Result<(), String>> {
        let job = std::env::var("SLURM_JOB_ID").ok()?;
        Some(match asked("scontrol", &["requeue", &job]) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err("there is no scontrol on this node".to_owned()),
            Err(why) => Err(why),
        })
    }

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
            places.entry(&self.places[task as usize]).or_default().push(task);
        }
        let mut submission = Submission { call, known, full: None };
        for (place, tasks) in places {
            submission.submit(place, &tasks)?;
        }
        Ok(submission.known)
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
    /// Refuses a time limit that Slurm would not read, or that comes before its own warning.
    fn leaves_time(&self) -> Result<(), String> {
        let Some(text) = &self.time else { return Ok(()) };
        let warn = self.warn_s;
        match time_limit(text)? {
            Some(limit_s) if limit_s <= warn => Err(format!(
                "--time {text} is {limit_s} s, and --warn tells the study to stop {warn} s before its \
                 end: nothing is left to measure in; give more --time, or a shorter --warn"
            )),
            _ => Ok(()),
        }
    }

    fn script(&self, folder: &str, plan: &FleetPlan) -> String {
        let Self { time, warn_s, hint, options, .. } = self;
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

struct Submission<'a> {
    call: &'a Call<'a>,
    known: BTreeMap<u32, Known>,
    /// Slurm's words, once it has no room for any job at all.
    full: Option<String>,
}

impl Submission<'_> {
    /// Submits tasks of one place. Where there is room for some of them only, these are submitted.
    fn submit(&mut self, place: &SlurmPlace, tasks: &[u32]) -> Result<(), Error> {
        if let Some(why) = self.full.clone() {
            self.refused(tasks, &why);
            return Ok(());
        }
        let array = format!("--array={}", ranges(tasks));
        let script = self.call.fleet.path(SCRIPT).display().to_string();
        let place_option = match place {
            SlurmPlace::Any => None,
            SlurmPlace::Node(node) => Some(format!("--nodelist={node}")),
            SlurmPlace::Constraint(feature) => Some(format!("--constraint={feature}")),
        };
        let mut args = vec!["--parsable", &array];
        args.extend(place_option.as_deref());
        args.push(&script);
        match asked("sbatch", &args) {
            Err(why) if is_limit(&why) && tasks.len() > 1 => {
                let (first, second) = tasks.split_at(tasks.len() / 2);
                self.submit(place, first)?;
                let last = first.last().and_then(|task| self.known.get(task));
                if matches!(last, Some(Known::Failed(_))) {
                    self.refused(second, &why);
                    return Ok(());
                }
                self.submit(place, second)?;
            }
            Err(why) => {
                if is_full(&why) {
                    self.full = Some(why.clone());
                }
                self.refused(tasks, &why);
            }
            Ok(None) => {
                return Err(Error::NotPossible(format!(
                    "there is no sbatch here; on a machine of the cluster run: sbatch {}",
                    args.join(" ")
                )));
            }
            Ok(Some(said)) => {
                let job = said.trim().split(';').next().unwrap_or_default().to_owned();
                (self.call.say)(&format!("tasks {}: job {job}", ranges(tasks)));
                let waits = Known::Waiting(format!("job {job}"));
                self.known.extend(tasks.iter().map(|task| (*task, waits.clone())));
            }
        }
        Ok(())
    }

    /// Says of tasks that Slurm took them not, and leaves that in their logs for `fleet status`.
    fn refused(&mut self, tasks: &[u32], why: &str) {
        let fleet = self.call.fleet;
        let remedy = if is_full(why) || is_limit(why) {
            "the queue is full; run it again when there is room".to_owned()
        } else {
            format!("mend its options in {}, and run it again", fleet.path(SCRIPT).display())
        };
        (self.call.say)(&format!("tasks {}: refused: {why}; {remedy}", ranges(tasks)));
        let why = format!("Slurm refused it: {why}; {remedy}");
        for task in tasks {
            // A log that cannot be written costs the words of a later status, and nothing else.
            let log = fs::File::options().append(true).create(true).open(fleet.log(*task));
            let _ = log.and_then(|mut log| writeln!(log, "{why}"));
            self.known.insert(*task, Known::Failed(why.clone()));
        }
    }
}

/// Whether the controller takes no job at all for now. `sbatch` has tried for minutes then.
fn is_full(why: &str) -> bool {
    why.contains("Resource temporarily unavailable")
}

/// Whether a limit of jobs is reached that fewer tasks may keep to (`MaxSubmitJobs` of an account).
fn is_limit(why: &str) -> bool {
    why.contains("violates accounting/QOS policy") || why.contains("MaxSubmitJob")
}

/// Reads a time limit as Slurm does: `MIN`, `MIN:SEC`, `H:MIN:SEC`, `DAYS-H`, `DAYS-H:MIN`,
/// `DAYS-H:MIN:SEC`; in s, none without limit.
fn time_limit(text: &str) -> Result<Option<u64>, String> {
    if ["infinite", "unlimited"].contains(&text.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    let bad = || {
        format!(
            "--time '{text}' is no time limit of Slurm; write minutes, like 90, or like 2:00:00, \
             or 1-12:00:00 with days"
        )
    };
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(days), rest),
        None => (None, text),
    };
    let number = |part: &str| match part.bytes().all(|byte| byte.is_ascii_digit()) {
        true => part.parse::<u32>().map(u64::from).map_err(|_| bad()),
        false => Err(bad()),
    };
    let parts: Vec<u64> = rest.split(':').map(number).collect::<Result<_, _>>()?;
    let seconds = match (days, &parts[..]) {
        (None, [min]) => min * 60,
        (None, [min, s]) => min * 60 + s,
        (Some(_), [h]) => h * 3600,
        (Some(_), [h, min]) => h * 3600 + min * 60,
        (_, [h, min, s]) => h * 3600 + min * 60 + s,
        _ => return Err(bad()),
    };
    Ok(Some(seconds + days.map(number).transpose()?.unwrap_or(0) * 86_400))
}

/// The jobs of a fleet have this name, so that they are found whoever submitted them.
fn job_name(plan: &FleetPlan) -> String {
    format!("coretwin-{}", plan.short())
}

fn queue(plan: &FleetPlan) -> Result<BTreeMap<u32, Known>, Error> {
    let name = format!("--name={}", job_name(plan));
    let args = ["--noheader", "--array", "--states=all", "--format=%K|%T|%r|%N|%A", &name];
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

/// What a job's state means; `None` for one that ended well, of which the bundle tells.
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
            Known::Waiting(format!("job {job}: {}", reason_in_words(reason, job)))
        }
        "TIMEOUT" => Known::Failed(format!(
            "job {job}: its time limit came before it was done; run it again, it goes on (give \
             more --time, or a longer --warn)"
        )),
        "NODE_FAIL" => Known::Failed(format!("job {job}: its node {node} failed")),
        "OUT_OF_MEMORY" => Known::Failed(format!("job {job}: it ran out of memory")),
        "CANCELLED" => Known::Failed(format!("job {job}: it was cancelled")),
        other => Known::Failed(format!("job {job}: {other}")),
    })
}

/// Why a job waits, and what can be done about it, by the reason that `squeue` gives.
fn reason_in_words(reason: &str, job: &str) -> String {
    let kind = reason.split([',', ' ']).next().unwrap_or_default();
    let words = match kind {
        "" | "None" => return "it is about to start".to_owned(),
        "Resources" | "Priority" => "it waits for its turn",
        "BeginTime" => "it was put back, and starts again in a minute or two",
        "ReqNodeNotAvail" | "NodeDown" => {
            "its node is not there; it starts when the node is back, and the other tasks go on"
        }
        "PartitionDown" | "PartitionInactive" => {
            "its partition is closed; it starts when an administrator opens it"
        }
        "PartitionTimeLimit" | "PartitionNodeLimit" | "PartitionConfig" | "BadConstraints" => {
            return format!(
                "it will never start: it asks for what its partition does not give ({reason}); \
                 scancel {job}, mend {SCRIPT}, run again"
            );
        }
        "JobHeldUser" | "JobHeldAdmin" => {
            return format!("it is held ({reason}); scontrol release {job}");
        }
        limit if limit.starts_with("Assoc") || limit.starts_with("QOS") => {
            "a limit of your account is reached; it starts when other jobs are done"
        }
        _ => return reason.to_owned(),
    };
    format!("{words} ({reason})")
}

/// What accounting has of the fleet's jobs; nothing where there is no accounting.
fn history(plan: &FleetPlan) -> BTreeMap<u32, Known> {
    let (name, since) = (format!("--name={}", job_name(plan)), "--starttime=now-30days");
    let args = ["--noheader", "--allocations", "--parsable2", "--array", since];
    let args = [&args[..], &["--format=JobID,State,NodeList", &name]].concat();
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
    use crate::fleet::plan::draw;
    use coretwin_base::fleet::plan::{EngineOptions, FleetSubject};
    use expect_test::expect;

    fn slurm() -> Slurm {
        Slurm {
            nodes: None,
            constraint: None,
            places: vec![SlurmPlace::Any, SlurmPlace::Node("n1".to_owned())],
            time: Some("2:00:00".to_owned()),
            warn_s: 120,
            hint: Some("multithread".to_owned()),
            options: vec!["--partition=long".to_owned()],
        }
    }

    #[test]
    fn the_script_is_what_a_cluster_needs() {
        let engine = EngineOptions::of("slurm", &slurm()).expect("options");
        let names = vec!["any-0".to_owned(), "n1".to_owned()];
        let study = FleetSubject::Study(vec!["chat".to_owned()]);
        let program = "/opt/core twin/coretwin".to_owned();
        let mut plan = draw(engine, names, &[], program, study, 1).expect("a plan");
        plan.digest = "0123456789abcdef".repeat(4);
        let script = slurm().script("/shared/fleet", &plan);
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
    fn time_limits_are_read_as_slurm_reads_them() {
        for (text, seconds) in [
            ("2", 120),
            ("1:30", 90),
            ("2:00:00", 7200),
            ("1-12", 129_600),
            ("1-12:30", 131_400),
            ("0-0:00:05", 5),
        ] {
            assert_eq!(time_limit(text), Ok(Some(seconds)), "{text}");
        }
        assert_eq!(time_limit("UNLIMITED"), Ok(None));
        for text in ["foo", "", "-5", "1h", "1:2:3:4", "1-", "99999999999", "+5", "1-1:1:1:1"] {
            assert!(time_limit(text).is_err_and(|why| why.contains("2:00:00")), "{text}");
        }
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
        let never = reason_in_words("PartitionTimeLimit", "9");
        assert!(never.contains("never start") && never.contains("scancel 9"), "{never}");
        let gone = reason_in_words("ReqNodeNotAvail, UnavailableNodes:n2", "9");
        assert!(gone.contains("UnavailableNodes:n2") && gone.contains("go on"), "{gone}");
        assert_eq!(reason_in_words("Unheard", "9"), "Unheard");
        assert!(matches!(&known[&2], Known::Failed(why) if why.contains("--time")));
        assert_eq!(known.len(), 3);
    }
}
