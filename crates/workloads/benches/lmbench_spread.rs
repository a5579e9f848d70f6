//! How far the rows of LMbench spread from run to run on this machine: each row so many times, bound
//! to one CPU, the pipe in every placement that there is; mean and coefficient of variation.
//!
//! `cargo bench -p coretwin-workloads --bench lmbench_spread [-- NAME=VALUE …]` with `runs=10`,
//! `cpu=0`, `rows=simple-read,fork-sh` (all), `sample=SECONDS`, `samples=NUMBER` (those of the rows).
//!
//! The spread of the shortest samples stands beside that of the medians: where only the latter is
//! wide, somebody else used the CPU meanwhile.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod support;

use coretwin_base::machine::placement::Placement;
use coretwin_workloads::lmbench::rows::TABLE_1;
use coretwin_workloads::workload::Workload;
use std::process::ExitCode;
use support::{Options, Trouble, deviation, mean};

fn main() -> ExitCode {
    support::main(measure)
}

/// A row in a placement, and what its runs gave.
struct Line {
    row: &'static str,
    placement: &'static str,
    cpus: Vec<u32>,
    roles: Vec<u32>,
    medians: Vec<f64>,
    shortest: Vec<f64>,
}

fn measure(options: &Options) -> Result<(), Trouble> {
    let runs: usize = options.get("runs", "10").parse()?;
    let cpu: u32 = options.get("cpu", "0").parse()?;
    let given = ["sample", "samples"].map(|name| (name, options.get(name, "")));
    let given = given.iter().filter(|(_, value)| !value.is_empty());
    let params: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
    let mut lines = lines(options, cpu)?;
    for _ in 0..runs {
        for line in &mut lines {
            let text = format!("{}:{}", line.row, params.join(","));
            let outcome =
                support::run(text.trim_end_matches(':'), &line.cpus, Placement::Free, &line.roles)?;
            line.medians.push(outcome.value.unwrap_or(f64::NAN));
            line.shortest.push(outcome.metrics["sample_min"].value);
        }
    }
    println!("{runs} runs; coefficient of variation of their medians, and of their minima");
    for line in &lines {
        let share = |values: &[f64]| 100.0 * deviation(values) / mean(values).abs();
        println!(
            "{:<26} {:<9} {:>10.4} µs {:>7.2} % {:>7.2} %",
            line.row,
            line.placement,
            mean(&line.medians),
            share(&line.medians),
            share(&line.shortest)
        );
    }
    Ok(())
}

fn lines(options: &Options, cpu: u32) -> Result<Vec<Line>, Trouble> {
    let mut lines = Vec::new();
    for row in TABLE_1 {
        let row: &'static str = row.name();
        if !options.wants("rows", row.trim_start_matches("lmbench/")) {
            continue;
        }
        let mut add = |placement, cpus: Vec<u32>, roles: Vec<u32>| {
            let (medians, shortest) = (Vec::new(), Vec::new());
            lines.push(Line { row, placement, cpus, roles, medians, shortest });
        };
        if row != "lmbench/pipe-latency" {
            add("one CPU", vec![cpu], Vec::new());
            continue;
        }
        add("one CPU", vec![cpu], vec![cpu, cpu]);
        let all = online()?;
        for (placement, same) in
            [("siblings", [true, true]), ("cores", [false, true]), ("packages", [false, false])]
        {
            let own = place(cpu)?;
            let other = all.iter().copied().filter(|other| *other != cpu).find(|other| {
                let lies = |of: fn(&(u32, u32)) -> u32| {
                    place(*other).is_ok_and(|other| of(&other) == of(&own))
                };
                // Cores have numbers of their own within a package.
                let package = lies(|place| place.1);
                [package && lies(|place| place.0), package] == same
            });
            if let Some(other) = other {
                add(placement, vec![cpu, other], vec![cpu, other]);
            }
        }
        if all.len() > 1 {
            add("free", all, Vec::new());
        }
    }
    Ok(lines)
}

/// Core and package of a CPU.
fn place(cpu: u32) -> Result<(u32, u32), Trouble> {
    let read = |name: &str| -> Result<u32, Trouble> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        Ok(std::fs::read_to_string(path)?.trim().parse()?)
    };
    Ok((read("core_id")?, read("physical_package_id")?))
}

/// CPUs that this process may use.
fn online() -> Result<Vec<u32>, Trouble> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus =
        coretwin_base::machine::cpu_set::CpuSet::parse(line.ok_or("no list of CPUs")?.trim())?;
    Ok(cpus.iter().map(|cpu| cpu.0).collect())
}
