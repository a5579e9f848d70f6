//! `coretwin generate`: completions, man pages and the reference, from the command line's own
//! definition and the program's own tables.

mod figures;

use crate::exit::DONE;
use crate::out;
#[cfg(feature = "sim")]
use crate::verb::simulate;
use crate::verb::{list, study};
use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use coretwin_base::json_schema;
use coretwin_bpf::programs::PROGRAMS;
use coretwin_bpf::scheduler::Kind;
#[cfg(feature = "fleet")]
use coretwin_lab::fleet::{merge::merge, survey};
#[cfg(feature = "fleet")]
use coretwin_store::fleet_folder::bundles_in;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Width of help that is written to files, whatever terminal is there.
const COLUMNS: usize = 100;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin generate completions bash > ~/.local/share/bash-completion/completions/coretwin
  coretwin generate completions fish > ~/.config/fish/completions/coretwin.fish
  coretwin generate man ~/.local/share/man/man1
  coretwin generate reference docs/reference")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Completions for a shell, to standard output
    Completions {
        #[arg(value_parser = clap::value_parser!(Shell))]
        shell: Shell,
    },
    /// A man page for every verb, into a folder
    Man { folder: PathBuf },
    /// The reference as Markdown, into a folder: verbs, workloads, simulation, counters, figures
    Reference { folder: PathBuf },
    /// The table of processors measured, from the bundles of surveys in a folder
    #[cfg(feature = "fleet")]
    Machines { folder: PathBuf },
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let command = crate::Cli::command().term_width(COLUMNS).disable_help_subcommand(true);
    match &args.what {
        What::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command.clone(), "coretwin", &mut script);
            out::text(&String::from_utf8(script)?)?;
        }
        What::Man { folder } => man(command, folder)?,
        #[cfg(feature = "fleet")]
        What::Machines { folder } => {
            if !folder.is_dir() {
                return Err(crate::exit::usage(format!("{} is no folder", folder.display())));
            }
            let bundles = bundles_in(folder)?;
            let found = merge(&survey::plan(), &bundles, folder, |_| ());
            out::text(&coretwin_report::machines(&found.fleet))?;
        }
        What::Reference { folder } => {
            make(folder)?;
            for (name, text) in pages(command)? {
                out::file(&folder.join(name), text.as_bytes())?;
            }
        }
    }
    Ok(DONE)
}

/// One page for each verb, `coretwin-study.1`, and one for all.
fn man(mut command: Command, folder: &Path) -> Result<()> {
    make(folder)?;
    command.build();
    for (words, verb) in verbs(&command) {
        let name = words.join("-");
        let title: &'static str = Box::leak(name.clone().into_boxed_str());
        let mut verb = verb.clone().name(title);
        // Examples in lines as they are; the generator would fill them like prose.
        let notes = verb.get_after_long_help().or(verb.get_after_help()).map(ToString::to_string);
        verb = verb.after_help(None::<&str>).after_long_help(None::<&str>);
        let page = clap_mangen::Man::new(verb)
            .manual("Coretwin")
            .source(concat!("coretwin ", env!("CARGO_PKG_VERSION")))
            .date("");
        let mut text = Vec::new();
        page.render(&mut text).context("writing a man page")?;
        if let Some(notes) = notes {
            text.extend_from_slice(
                format!(".SH NOTES\n.nf\n{}\n.fi\n", verbatim(&notes)).as_bytes(),
            );
        }
        out::file(&folder.join(format!("{name}.1")), &text)?;
    }
    Ok(())
}

/// Text for lines that are not filled: no line is a request, no backslash an escape.
fn verbatim(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Every verb that is shown, the program itself first, each with the words that name it.
fn verbs(command: &Command) -> Vec<(Vec<String>, &Command)> {
    let mut found = vec![(vec![command.get_name().to_owned()], command)];
    let mut at = 0;
    while let Some((words, verb)) = found.get(at).cloned() {
        let below = verb.get_subcommands().filter(|verb| !verb.is_hide_set());
        let below: Vec<_> = below
            .map(|verb| ([&words[..], &[verb.get_name().to_owned()]].concat(), verb))
            .collect();
        let next = at + 1;
        found.splice(next..next, below);
        at = next;
    }
    found
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))
}

const INDEX: &str = "\
# Reference

To look up any option, name or field. Written by `cargo xtask docs` from the program's own tables and the doc comments
of its records; a test fails where it is old.

* [Verbs](verbs.md): every verb with its options and examples
* [Workloads](workloads.md): workloads, suites, arms, placements, machines, schedulers
* [Simulation](simulation.md): processors, profiles, experiments, policies, scenarios, measures
* [Scheduler](scheduler.md): parameters and counters of the schedulers for a live kernel
* [Study files](study-file.schema.json): JSON schema of what `study -f` reads
* [Plans](plan.schema.json) and [lines of journals](journal-line.schema.json): the same of what a study writes
* Records, every field of every file and of `--json`: [studies](format-study.md), [fleets](format-fleet.md),
  [machines](format-machine.md), [CPU time](format-cputime.md), [simulations](format-simulation.md); what holds for
  all is in [FORMAT.md](../../FORMAT.md)
* [Figures](figures.md): columns of datasets, metrics for monitors
* [Input limits](input-limits.md): how much is read of each input
* [Tests of the threat model](threat-tests.md)
";

fn pages(command: Command) -> Result<Vec<(&'static str, String)>> {
    let pages = vec![
        ("README.md", INDEX.to_owned()),
        ("verbs.md", help(command)?),
        ("workloads.md", format!("# Workloads\n\n{}", list::markdown()?)),
        #[cfg(feature = "sim")]
        ("simulation.md", simulation()?),
        ("scheduler.md", scheduler()?),
        ("figures.md", figures::page()?),
        ("input-limits.md", figures::input_limits()?),
        ("study-file.schema.json", serde_json::to_string_pretty(&study::file::schema())? + "\n"),
        ("plan.schema.json", serde_json::to_string_pretty(&json_schema::plan())? + "\n"),
        (
            "journal-line.schema.json",
            serde_json::to_string_pretty(&json_schema::journal_line())? + "\n",
        ),
    ];
    Ok(pages)
}

fn help(mut command: Command) -> Result<String> {
    command.build();
    let mut page = "# Verbs\n".to_owned();
    for (words, verb) in verbs(&command) {
        let level = "#".repeat(words.len().min(3) + 1);
        let help = verb.clone().term_width(COLUMNS).render_long_help().to_string();
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
    let mut page = "# Schedulers for a live kernel\n".to_owned();
    for program in PROGRAMS {
        let policy = program.policy();
        writeln!(
            page,
            "\n## {}\n\n{}.\n\n`sched start --policy {0} --set NAME=VALUE`, and in arms \
             `@{0}[NAME=VALUE,…]`.\n\n| parameter | default | meaning |\n|---|---|---|",
            policy.name, policy.title
        )?;
        for parameter in policy.parameters {
            let default = parameter.word(parameter.default);
            writeln!(page, "| `{}` | {default} | {} |", parameter.name, parameter.about)?;
        }
        page += "\nOf `sched status`, its JSON and OpenMetrics:\n\n\
                 | counter | value | meaning |\n|---|---|---|\n";
        for counter in program.counters {
            let kind = match counter.kind {
                Kind::Sum => "sum",
                Kind::Largest => "largest",
            };
            writeln!(page, "| `{}` | {kind} | {} |", counter.name, counter.about)?;
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound_and_every_verb_is_found_once_after_its_parent() {
        crate::Cli::command().debug_assert();
        let mut command = crate::Cli::command().disable_help_subcommand(true);
        command.build();
        let names: Vec<String> =
            verbs(&command).into_iter().map(|(words, _)| words.join(" ")).collect();
        let place = |name: &str| names.iter().position(|other| other == name).expect(name);
        assert_eq!(names[0], "coretwin");
        assert!(place("coretwin simulate") < place("coretwin simulate core"));
        assert!(place("coretwin simulate core") < place("coretwin generate"));
        assert!(!names.iter().any(|name| name.contains("keep") || name.contains("help")));
        let mut once = names.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), names.len());
    }
}
