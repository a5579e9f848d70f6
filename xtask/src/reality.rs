//! `cargo xtask reality`: what the kernel of this machine does in benchmarks, counted by `perf stat`, on one
//! CPU and on two. The counts are what the simulated `fair` is held against (`crates/sim/tests/reality/`).
//!
//! What else runs here changes the counts. The benchmark therefore has the best nice value, which changes
//! nothing among its own tasks, and of several runs those count in which others had least of its CPUs.

use crate::vm::cost::GROUPS;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A load, and how many operations it has where its sends and writes do not say so.
struct Row {
    name: &'static str,
    /// What `coretwin run` takes; `None`: groups of senders and receivers, so many.
    words: Result<&'static str, u32>,
    operations: Operations,
}

enum Operations {
    Fixed(u64),
    /// This many sends or writes are one operation.
    Of(u64),
}

const ROWS: &[Row] = &[
    Row {
        name: "pipe",
        words: Ok("lmbench/pipe-latency:sample=0.2,samples=3"),
        operations: Operations::Of(2),
    },
    Row { name: "tbench 1", words: Ok(TBENCH_1), operations: Operations::Of(2) },
    Row { name: "tbench 4", words: Ok(TBENCH_4), operations: Operations::Of(2) },
    Row { name: "dbench 4", words: Ok("dbench:clients=4"), operations: Operations::Fixed(180_000) },
    Row { name: "chat 10", words: Ok("chat:rooms=10"), operations: Operations::Fixed(400_000) },
    Row { name: "chat 20", words: Ok("chat:rooms=20"), operations: Operations::Fixed(800_000) },
    Row { name: "groups 4", words: Err(4), operations: Operations::Of(1) },
];
const TBENCH_1: &str = "tbench:clients=1,mode=timed,seconds=1,warmup=0.2";
const TBENCH_4: &str = "tbench:clients=4,mode=timed,seconds=1,warmup=0.2";

/// Runs of each row on each number of CPUs, of which the median is kept.
const RUNS: usize = 5;
/// Runs that are tried for them.
const TRIES: usize = 7;
/// Others may have had this much of the CPUs' time in a quiet one.
const OTHERS_MAX: f64 = 0.1;
const COUNTS: [&str; 9] = [
    "switches",
    "wakeups",
    "preempted",
    "migrations",
    "receives",
    "segments",
    "operations_per_s",
    "others",
    "operations",
];
const FILE: &str = "docs/evidence/reality.csv";
const TRACING: &str = "/sys/kernel/tracing";

/// By name, of one run.
type Counts = BTreeMap<&'static str, f64>;

/// Counts, writes them down, and prints the simulated counts beside them.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    match arguments {
        [word, numbers @ ..] if word == GROUPS => return crate::vm::cost::groups(numbers),
        [] => {}
        _ => bail!("takes nothing"),
    }
    let cargo = |words: &[&str]| -> Result<bool> {
        let mut cargo = Command::new("cargo");
        let status = cargo.args(words).current_dir(root).env("UPDATE_EXPECT", "1").status();
        Ok(status.context("starting cargo")?.success())
    };
    ensure!(cargo(&["build", "--release", "-p", "coretwin", "--bins"])?, "the build failed");
    let text = measured(&crate::target_folder(root).join("release/coretwin"))?;
    std::fs::write(root.join(FILE), &text).with_context(|| format!("writing {FILE}"))?;
    cargo(&["test", "-p", "coretwin-sim", "--test", "reality", "--", "--nocapture"])
}

fn measured(coretwin: &Path) -> Result<String> {
    // Stays: perf finds it there, and so does everybody else.
    if !Path::new(TRACING).join("events").exists() {
        let mounted = Command::new("mount").args(["-t", "tracefs", "nodev", TRACING]).status();
        ensure!(mounted.context("starting mount")?.success(), "no tracefs: this takes root");
    }
    let word = |words: &[&str]| -> Result<String> {
        let output = Command::new(words[0]).args(&words[1..]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let mut text = format!(
        "# Linux {}, {}\nrow,cpus,runs,{}\n",
        word(&["uname", "-r"])?,
        word(&["date", "+%-d %B %Y"])?,
        COUNTS.map(|name| format!("{name},{name}_least,{name}_most")).join(",")
    );
    for row in ROWS {
        for cpus in ["0", "0,1"] {
            let runs = runs(coretwin, row, cpus)?;
            let count = 1 + cpus.len() / 2;
            write!(text, "{},{count},{}", row.name, runs.len())?;
            for name in COUNTS {
                let mut values: Vec<f64> =
                    runs.iter().filter_map(|run| run.get(name).copied()).collect();
                values.sort_by(f64::total_cmp);
                let at = |place: usize| values.get(place).copied().unwrap_or_default();
                for value in [at(values.len() / 2), at(0), at(values.len() - 1)] {
                    write!(text, ",{value:.5}")?;
                }
            }
            writeln!(text)?;
            crate::print(text.lines().last().unwrap_or_default());
            crate::print("\n");
        }
    }
    Ok(text)
}

/// The runs that count: the first quiet ones, or the quietest of all tries.
fn runs(coretwin: &Path, row: &Row, cpus: &str) -> Result<Vec<Counts>> {
    let mut all: Vec<Counts> = Vec::new();
    while all.len() < TRIES && all.iter().filter(|run| run["others"] <= OTHERS_MAX).count() < RUNS {
        all.push(one(coretwin, row, cpus)?);
    }
    all.sort_by(|a, b| a["others"].total_cmp(&b["others"]));
    all.truncate(RUNS);
    Ok(all)
}

fn one(coretwin: &Path, row: &Row, cpus: &str) -> Result<Counts> {
    let own = std::env::current_exe()?;
    let groups = row.words.as_ref().err().map(u32::to_string);
    let ours = comm(&own);
    // The names of tasks whose events count: workers are started as what /proc calls `exe`.
    let (program, words, comm) = match (&row.words, &groups) {
        (Ok(words), _) => (coretwin, vec!["run", words], "exe"),
        (_, count) => {
            let count = count.as_deref().unwrap_or_default();
            (own.as_path(), vec!["reality", GROUPS, count], ours.as_str())
        }
    };
    let folder = std::env::temp_dir().join(format!("coretwin-reality-{}", std::process::id()));
    let counted = |event: &str, filter: &str| {
        ["-e".to_owned(), event.to_owned(), "--filter".to_owned(), filter.to_owned()]
    };
    let is = |field: &str| format!("{field} == \"{comm}\"");
    let left = is("prev_comm");
    let events = [
        counted("sched:sched_switch", &left),
        counted("sched:sched_switch", &format!("{left} && prev_state == 0")),
        counted("sched:sched_switch", &format!("{left} && prev_state == 0x100")),
        counted("sched:sched_waking", &is("comm")),
        counted("sched:sched_migrate_task", &is("comm")),
        counted("syscalls:sys_enter_recvfrom", &is("COMM")),
        counted("syscalls:sys_enter_read", &is("COMM")),
        counted("syscalls:sys_enter_sendto", &is("COMM")),
        counted("syscalls:sys_enter_write", &is("COMM")),
    ];
    let before = (Spent::now(cpus)?, segments()?);
    let started = std::time::Instant::now();
    // A session of its own has a group of its own where the kernel groups by session.
    let ran = Command::new("setsid")
        .args(["-w", "nice", "-n", "-20", "sh", "-c"])
        .args(["echo -20 2>/dev/null >/proc/self/autogroup; exec \"$@\"", "sh"])
        .args(["perf", "stat", "-a", "-x,", "-o"])
        .arg(&folder)
        .args(events.iter().flatten())
        .args(["--", "taskset", "-c", cpus])
        .arg(program)
        .args(&words)
        .output()
        .context("starting setsid")?;
    let seconds = started.elapsed().as_secs_f64();
    let after = (Spent::now(cpus)?, segments()?);
    ensure!(ran.status.success(), "{}: {}", row.name, String::from_utf8_lossy(&ran.stderr));
    let text = std::fs::read_to_string(&folder).context("reading what perf counted")?;
    std::fs::remove_file(&folder)?;
    let [switches, running, pushed, wakeups, migrations, received, read, sent, written] =
        numbers(&text)?;
    let operations = match row.operations {
        Operations::Fixed(count) => count as f64,
        Operations::Of(count) => (sent + written) / count as f64,
    };
    let busy = after.0.busy - before.0.busy;
    let others = 1.0 - (after.0.ours - before.0.ours) / busy.max(1.0);
    let each = |count: f64| count / operations;
    Ok(BTreeMap::from([
        ("switches", each(switches)),
        ("wakeups", each(wakeups)),
        ("preempted", (running + pushed) / switches),
        ("migrations", each(migrations)),
        ("receives", each(received + read)),
        ("segments", each(after.1 - before.1)),
        ("operations_per_s", operations / seconds),
        ("others", others.max(0.0)),
        ("operations", operations),
    ]))
}

/// What a task of a program is called: the first 15 bytes of its file's name.
fn comm(program: &Path) -> String {
    program.file_name().unwrap_or_default().to_string_lossy().chars().take(15).collect()
}

/// The counts that `perf stat -x,` wrote, in the order of its events.
fn numbers<const N: usize>(text: &str) -> Result<[f64; N]> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let counts = lines.map(|line| {
        let number = line.split(',').next().unwrap_or_default();
        number.parse().with_context(|| format!("perf counted '{line}'"))
    });
    let counts: Vec<f64> = counts.collect::<Result<_>>()?;
    let found = counts.len();
    counts.try_into().ok().with_context(|| format!("perf counted {found} events, not {N}"))
}

/// CPU time in ticks: of these CPUs, whoever had it, and of what this process started and waited for.
struct Spent {
    busy: f64,
    ours: f64,
}

impl Spent {
    fn now(cpus: &str) -> Result<Self> {
        let stat = std::fs::read_to_string("/proc/stat")?;
        let own = std::fs::read_to_string("/proc/self/stat")?;
        let names: Vec<String> = cpus.split(',').map(|cpu| format!("cpu{cpu}")).collect();
        let busy = stat.lines().filter_map(|line| {
            let mut fields = line.split_whitespace();
            let name = fields.next()?.to_owned();
            let ticks: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
            // User, nice, system; interrupts; not idle, not waiting.
            names.contains(&name).then(|| ticks[..3].iter().chain(&ticks[5..7]).sum::<f64>())
        });
        let after_name = own.rsplit(')').next().unwrap_or_default();
        let ours = after_name.split_whitespace().skip(13).take(2);
        Ok(Self { busy: busy.sum(), ours: ours.filter_map(|f| f.parse::<f64>().ok()).sum() })
    }
}

/// Segments that TCP sent on this machine.
fn segments() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/net/snmp")?;
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let pairs = names.split(' ').zip(values.split(' '));
    let sent = { pairs }.find(|(name, _)| *name == "OutSegs").context("no OutSegs")?;
    Ok(sent.1.parse()?)
}

#[cfg(test)]
mod tests {
    use super::{comm, numbers};
    use std::path::Path;

    #[test]
    fn a_task_is_called_by_15_bytes_of_its_programs_name() {
        assert_eq!(comm(Path::new("/here/xtask-of-a-long-name")), "xtask-of-a-long");
    }

    #[test]
    fn what_perf_wrote_is_read_in_its_order_or_refused() {
        let text = "# started on Thu\n\n17,,sched:sched_switch,1,100.00,,\n3,,sched:sched_waking,1,100.00,,\n";
        assert_eq!(numbers::<2>(text).expect("two"), [17.0, 3.0]);
        assert!(numbers::<3>(text).is_err());
        let refused = numbers::<1>("<not supported>,,sched:sched_switch,0,100.00,,\n");
        assert!(refused.expect_err("no number").to_string().contains("not supported"));
    }
}
