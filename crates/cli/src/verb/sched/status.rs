//! `coretwin sched status`.

use super::{INTERVAL, view};
use crate::exit::DONE;
use crate::{out, signals};
use anyhow::{Context, Result};
use coretwin_base::openmetrics::{Dialect, Exposition, Family};
use coretwin_base::schema::SCHEMA;
use coretwin_bpf::scheduler::Kind;
use coretwin_host::root::Root;
use coretwin_host::sched_ext::State;
use coretwin_host::sched_ext::record::{self, Core, Record};
use coretwin_report::topology::beside;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub(super) struct How {
    /// Again each second, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Print the facts as JSON; with --watch an object a line
    #[arg(long)]
    json: bool,
    /// Write them as OpenMetrics into this file, replaced as a whole (for a textfile collector); - is
    /// the standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    openmetrics: Option<PathBuf>,
}

pub(super) fn run(root: &Root, how: &How) -> Result<u8> {
    if !how.watch {
        tell(root, how)?;
        return Ok(DONE);
    }
    let stop = signals::stop_flag()?;
    let mut shown = view::Shown::new(out::redraws(&std::io::stdout()));
    while !stop.raised() {
        let next = Instant::now() + INTERVAL;
        match read(root).loaded.filter(|_| !how.json && how.openmetrics.is_none()) {
            Some(record) => shown.show(&record)?,
            None if how.json => out::text(&(serde_json::to_string(&read(root))? + "\n"))?,
            None => tell(root, how)?,
        }
        stop.lets_sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(DONE)
}

fn tell(root: &Root, how: &How) -> Result<()> {
    let status = read(root);
    match &how.openmetrics {
        Some(path) if path.as_os_str() == "-" => out::text(&openmetrics(&status)),
        Some(path) => {
            let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
            out::file(&temporary, openmetrics(&status))
                .and_then(|()| Ok(std::fs::rename(&temporary, path)?))
                .inspect_err(|_| drop(std::fs::remove_file(&temporary)))
                .with_context(|| format!("cannot write {}", path.display()))
        }
        None if how.json => out::json(&status),
        None => out::text(&describe(&status)),
    }
}

fn describe(status: &Status) -> String {
    let mut text = String::new();
    let page = out::page(usize::MAX);
    let mut put =
        |label: &str, fact: String| beside(&mut text, &format!("{label:<12} "), &fact, page);
    match (&status.sched_ext, status.scheduler.as_str()) {
        (None, _) => put(
            "scheduler",
            "the kernel's own; this kernel has no sched_ext (coretwin sched doctor says more)"
                .to_owned(),
        ),
        (_, "kernel") => put("scheduler", "the kernel's own".to_owned()),
        (_, name) => put("scheduler", name.to_owned()),
    }
    if let Some(state) = &status.sched_ext {
        let all = match state.switches_all {
            Some(false) => "; has the tasks that asked for it only",
            _ => "",
        };
        let number = |number: Option<u64>| number.map_or("?".to_owned(), |n| n.to_string());
        put(
            "sched_ext",
            format!(
                "{}{all}; loaded {} times since the boot, {} tasks refused",
                state.state,
                number(state.enable_seq),
                number(state.rejected)
            ),
        );
    }
    if let Some(problem) = &status.problem {
        put("record", format!("{problem}; ask again as root"));
    }
    if let Some(record) = &status.gone {
        put(record.options.policy().name, gone(record));
    }
    if let Some(record) = &status.loaded {
        put("since", format!("{}, held by process {}", record.loaded_utc, holder(record)));
        let changed = record.options.changed();
        put(
            "options",
            if changed.is_empty() { "all at their defaults".to_owned() } else { changed.join(" ") },
        );
        if !record.partners.is_empty() {
            put("partners", record.partners.join(" "));
        }
        put("queues", view::queues(record));
        if record.study.is_some() && record.counters.is_empty() {
            put("counters", "none: nothing is counted while a study measures".to_owned());
        }
        text += &counters(record);
    }
    text
}

fn holder(record: &Record) -> String {
    match &record.study {
        None => record.keeper.process.to_string(),
        Some(study) => {
            format!("{} for the study of process {}", record.keeper.process, study.process)
        }
    }
}

fn gone(record: &Record) -> String {
    let loaded = format!("loaded {}, ", record.loaded_utc);
    loaded
        + &match &record.ending {
            Some(ending) => format!("gone {}: {}", record.counted_utc, ending.story()),
            None => format!(
                "gone after {}: its process {} ended without a word (it was killed?), and the \
                 kernel's own scheduler took over",
                record.counted_utc, record.keeper.process
            ),
        }
}

fn counters(record: &Record) -> String {
    let mut text = String::new();
    // In the order of the table, which groups them.
    for known in view::counters(record) {
        if let Some(value) = record.counters.get(known.name) {
            text += &format!("  {value:>16}  {:<18} {}\n", known.name, known.about);
        }
    }
    for (name, value) in
        record.counters.iter().filter(|(name, _)| view::counter(record, name).is_none())
    {
        text += &format!("  {value:>16}  {name}\n");
    }
    text
}

/// Which scheduler is in charge; with `--watch` an object a line. As OpenMetrics:
/// `coretwin_sched_supported`, `coretwin_sched_in_charge{scheduler="…"}`, `coretwin_sched_ejected`,
/// and while ours is loaded `coretwin_sched_cpus_running`, `coretwin_sched_tasks_waiting` and each
/// counter as `coretwin_sched_NAME_total` (largest values as gauges without `_total`).
#[derive(Serialize)]
struct Status {
    schema: u32,
    /// Which scheduler is in charge: kernel, a policy of ours or another one's own name.
    scheduler: String,
    /// What the kernel tells of sched_ext; none: it has none.
    sched_ext: Option<State>,
    /// Ours, while it is in charge.
    loaded: Option<Record>,
    /// Ours, as it was when it ended otherwise than by being unloaded.
    gone: Option<Record>,
    /// Why the record cannot be read.
    problem: Option<String>,
}

fn read(root: &Root) -> Status {
    let sched_ext = State::read(root);
    let scheduler = State::in_charge(root);
    let (record, problem) = match record::read(root) {
        Ok(record) => (record.filter(|record| record.is_of_this_boot(root)), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let is_loaded = |record: &Record| record.ending.is_none() && record.is_kept(root);
    let (loaded, gone) = match record {
        Some(record) if is_loaded(&record) => (Some(record), None),
        record => (None, record),
    };
    Status { schema: SCHEMA, scheduler, sched_ext, loaded, gone, problem }
}

fn openmetrics(status: &Status) -> String {
    let mut text = Exposition::new(Dialect::OpenMetrics);
    let mut add = |name: &str, counter: bool, help: &str, labels: &[(&str, &str)], value: u64| {
        let name = &format!("coretwin_sched_{name}");
        let family = Family { name, counter, unit: "", help };
        let mut samples = family.samples();
        samples.count(labels, value);
        text.add(&family, &samples);
    };
    let supported = status.sched_ext.is_some().into();
    add("supported", false, "whether the kernel has sched_ext", &[], supported);
    let scheduler = [("scheduler", status.scheduler.as_str())];
    add("in_charge", false, "the scheduler in charge", &scheduler, 1);
    let ejected = status.gone.as_ref().is_some_and(|record| record.ending.is_some());
    let about = "whether the kernel ejected our scheduler since it was loaded last";
    add("ejected", false, about, &[], ejected.into());
    if let Some(record) = &status.loaded {
        let sum = |number: fn(&Core) -> u32| -> u64 {
            record.cores.iter().map(|core| u64::from(number(core))).sum()
        };
        add("cpus_running", false, "CPUs that run a task", &[], sum(|core| core.running));
        add("tasks_waiting", false, "tasks that wait for a CPU", &[], sum(|core| core.queued));
        for (name, value) in &record.counters {
            let Some(counter) = view::counter(record, name) else { continue };
            add(name, matches!(counter.kind, Kind::Sum), counter.about, &[], *value);
        }
    }
    text.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::simulation::core_queue::OPS_NAME;
    use coretwin_base::simulation::live::Options;
    use coretwin_host::fake::sched_ext::{install, put};
    use coretwin_host::sched_ext::record::Ending;

    fn machine() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("folder");
        let root = Root::at(folder.path());
        put(&root, "proc/sys/kernel/random/boot_id", b"this\n").expect("written");
        (folder, root)
    }

    #[test]
    fn without_sched_ext_it_says_so() {
        let (_folder, root) = machine();
        let status = read(&root);
        assert_eq!(status.scheduler, "kernel");
        assert!(describe(&status).contains("no sched_ext"), "{}", describe(&status));
        assert!(openmetrics(&status).contains("coretwin_sched_supported 0\n"));
    }

    #[test]
    fn ours_is_told_with_holder_options_and_counters() {
        let (_folder, root) = machine();
        install(&root, "enabled", Some(OPS_NAME)).expect("installed");
        let own = std::process::id();
        let stat = format!("proc/{own}/stat");
        put(&root, &stat, &std::fs::read(format!("/{stat}")).expect("own")).expect("written");
        let mut options = Options::default();
        options.set("active", "off").expect("known");
        let mut record = Record::new(&root, options, Some(7), "T".to_owned());
        record.counters = [("picked".to_owned(), 5), ("later".to_owned(), 6)].into();
        record::write(&root, &record).expect("written");
        let text = describe(&read(&root));
        for part in [
            "scheduler    core-queue",
            "active=off",
            &format!("process {own} for the study of process 7"),
            "5  picked ",
            "6  later\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let open = openmetrics(&read(&root));
        assert!(open.contains("coretwin_sched_picked_total 5\n"), "{open}");
        assert!(open.contains("coretwin_sched_in_charge{scheduler=\"core-queue\"} 1\n"), "{open}");
        assert!(open.ends_with("# EOF\n"), "{open}");
    }

    #[test]
    fn an_ejection_is_explained_afterwards() {
        let (_folder, root) = machine();
        install(&root, "disabled", None).expect("installed");
        let mut record = Record::new(&root, Options::default(), None, "T".to_owned());
        record::write(&root, &record).expect("written");
        let text = describe(&read(&root));
        assert!(text.contains("ended without a word"), "{text}");
        record.ending = Some(Ending {
            kind: 1026,
            code: 0,
            reason: "runnable task stall".to_owned(),
            message: String::new(),
            explanation: "the watchdog found a task that waited".to_owned(),
            dump: None,
        });
        record::write(&root, &record).expect("written");
        let status = read(&root);
        assert!(describe(&status).contains("gone T: the watchdog found a task"));
        assert!(openmetrics(&status).contains("coretwin_sched_ejected 1\n"));
        put(&root, "proc/sys/kernel/random/boot_id", b"later\n").expect("written");
        assert!(read(&root).gone.is_none());
    }
}
