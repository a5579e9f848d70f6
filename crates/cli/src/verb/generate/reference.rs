//! The pages of the reference: whatever can be named, from the tables that the program runs by.

use super::verbs;
use crate::verb::list;
#[cfg(feature = "sim")]
use crate::verb::simulate;
use anyhow::Result;
use clap::Command;
use coretwin_base::simulation::core_queue;
use coretwin_bpf::core_queue::{COUNTERS, Kind};
use std::fmt::Write;

const INDEX: &str = "\
# Reference

Written by `cargo xtask docs` from the program's own tables; a test fails where it is old.

* [Verbs](verbs.md): every verb with its options and examples
* [Workloads](workloads.md): workloads, suites, arms, placements, machines, schedulers
* [Simulation](simulation.md): processors, profiles, experiments, policies, scenarios, measures
* [Scheduler](scheduler.md): parameters and counters of `core-queue` on a live kernel
* [Records](../../FORMAT.md): every field of every file and of `--json`
";

pub(super) fn pages(command: Command) -> Result<Vec<(&'static str, String)>> {
    let pages = vec![
        ("README.md", INDEX.to_owned()),
        ("verbs.md", help(command)?),
        ("workloads.md", format!("# Workloads\n\n{}", list::markdown()?)),
        #[cfg(feature = "sim")]
        ("simulation.md", simulation()?),
        ("scheduler.md", scheduler()?),
    ];
    Ok(pages)
}

fn help(mut command: Command) -> Result<String> {
    command.build();
    let mut page = "# Verbs\n".to_owned();
    for (words, verb) in verbs(&command) {
        let level = "#".repeat(words.len().min(3) + 1);
        let help = verb.clone().term_width(super::COLUMNS).render_long_help().to_string();
        let help: Vec<&str> = help.trim().lines().map(str::trim_end).collect();
        write!(page, "\n{level} {}\n\n```text\n{}\n```\n", words.join(" "), help.join("\n"))?;
    }
    Ok(page)
}

#[cfg(feature = "sim")]
fn simulation() -> Result<String> {
    let mut page = "# Simulation\n".to_owned();
    for (title, verb, text) in [
        ("The core", "simulate core --list", simulate::core::list()),
        ("The kernel", "simulate sched --list", simulate::sched::list()),
    ] {
        write!(page, "\n## {title}\n\n`coretwin {verb}` prints:\n\n```text\n{text}```\n")?;
    }
    Ok(page)
}

fn scheduler() -> Result<String> {
    let mut page = "# The scheduler core-queue\n\n## Parameters\n\n\
                    `sched start --set NAME=VALUE`, and in arms `@core-queue[NAME=VALUE,…]`.\n\n\
                    | parameter | default | meaning |\n|---|---|---|\n"
        .to_owned();
    for parameter in core_queue::PARAMETERS {
        let default = parameter.word(parameter.default);
        writeln!(page, "| `{}` | {default} | {} |", parameter.name, parameter.about)?;
    }
    page += "\n## Counters\n\nOf `sched status`, its JSON and OpenMetrics.\n\n\
             | counter | value | meaning |\n|---|---|---|\n";
    for counter in COUNTERS {
        let kind = match counter.kind {
            Kind::Sum => "sum",
            Kind::Largest => "largest",
        };
        writeln!(page, "| `{}` | {kind} | {} |", counter.name, counter.about)?;
    }
    Ok(page)
}
