//! Options of `coretwin cputime`.

use crate::exit::usage;
use crate::options::{Limit, drawn_seed, limit};
use crate::verb::study::variants::{self, Typed};
use anyhow::Result;
use coretwin_base::account::cputime::pairs::{COMMANDS_MAX, Objective, WithCommand};
use coretwin_base::account::cputime::{Spinner, SpinnerKind};
use coretwin_base::machine::cpu_set::CpuId;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::plan::DISTURBED_SHARE_MAX;
use coretwin_base::study::plan::Variant;
use coretwin_base::suggest;
use coretwin_base::units::parse_duration;
use coretwin_lab::cputime::pair;
use coretwin_lab::launcher::worker_path;
use coretwin_workloads::{ROW, table};
use std::path::PathBuf;
use std::time::Duration;

const SPINNERS_MAX: u32 = 64;

#[derive(clap::Args, Debug)]
#[command(after_help = "\
Conditions, taken in turn in every block: the work alone; beside spinners on the sibling (siblings), \
on its own CPU (same-cpu: what a machine without SMT does), with work and spinners free on both CPUs \
of the core (free), and on another core behind the same last-level cache (cores: the control for clock \
and shared caches); and each spinner alone. Both sides are measured.

Spinners: interpreted (the note's loop, by perl or python3), native, pause, chase, stream, a \
ruler (--rulers), or a command of yours, which runs until it is killed; the lines it prints are its progress.

--rulers asks what it fights for: the work runs beside a loop for each shared resource of a core (front \
end, integer and vector ports, load and store, L1D, L2, TLB, branch predictor, memory, PAUSE), and both \
are timed. It describes. With --with it also predicts each pair from the others, and says whether that \
beats the product of mean slowdowns.

--with A,B,C asks instead who may share a core: each command is measured alone and beside each other \
one, which is started again until the first has ended. The placement is the best of all, beside what \
random pairs and the order as typed cost. Give --with once for each command to have commas in them. A \
row of coretwin list is one too: the time it takes for its unit is what is compared.

Examples:
  coretwin cputime                                gzip -9, within five minutes
  coretwin cputime --budget 1m                    within one, with wider intervals
  coretwin cputime -- ./mywork --input small      your own work; it should take 0.1 s or more
  coretwin cputime --repeat 50 -- ./short         work of milliseconds, 50 times for one piece
  coretwin cputime --spinner stream --spinners 1 -- ./mywork      beside one that streams memory
  coretwin cputime --spinner './load --loop' -- ./mywork          beside a load of your own
  coretwin cputime --pair 0,1                     where the machine shows no siblings
  coretwin cputime --rulers -- ./mywork           what it fights for, in about two minutes
  coretwin cputime --with ./a,./b,./c,./d         each beside each; which should share cores
  coretwin cputime --with aim9/sieve --with tbench:seconds=2 --with ./mywork      rows of ours too
  coretwin cputime --with db='./db --scan' --with web=./web --with './zip {1,2}' --least worst
  coretwin cputime --json | jq '.conditions[] | [.name, .slowdown]'")]
pub(crate) struct Args {
    /// The work, after `--` (default: gzip -9 over text from a seed, about a second of it)
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
    /// Numbers of spinners, a condition each on every placement
    #[arg(long, value_delimiter = ',', default_value = "0,1,2,4", value_name = "LIST",
        value_parser = spinner_count)]
    pub(crate) spinners: Vec<u32>,
    /// What spins: interpreted, native, pause, chase, stream, or a shell line of your own
    #[arg(long, default_value = "interpreted", value_name = "KIND|CMD")]
    spinner: String,
    /// The work, or each command, beside a ruler for each shared resource of a core: what it fights for
    #[arg(long, conflicts_with_all = ["spinners", "spinner"])]
    pub(crate) rulers: bool,
    /// Commands or rows, each beside each other one, and which of them should share cores
    #[arg(long, value_name = "[NAME=]CMD,...", value_parser = some_text,
        conflicts_with_all = ["command", "spinners", "spinner"])]
    pub(crate) with: Vec<String>,
    /// What a placement makes least: the sum of all slowdowns, or the worst of them
    #[arg(long, value_name = "WHAT", default_value_t = Objective::Sum, requires = "with",
        value_parser = objective)]
    pub(crate) least: Objective,
    /// Cores to place them on (default: as few as hold them, two a core)
    #[arg(long, requires = "with", value_parser = cores)]
    pub(crate) cores: Option<usize>,
    /// The work's CPU and the neighbour's (default: the first two siblings)
    #[arg(long, value_name = "A,B", value_parser = pair::parse)]
    pub(crate) pair: Option<(CpuId, CpuId)>,
    /// Run the command so often for one piece of work
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) repeat: u32,

    /// Longest time the whole may take (default: 5m; of --rulers alone 2m, or what three blocks take)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,
    /// Exactly this many blocks, whatever they take (default: 8, or as many as the budget allows)
    #[arg(long, conflicts_with = "budget", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) blocks: Option<u32>,
    /// End a run after this long; it is then a failed condition
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Set a run aside if the hypervisor took more of the CPUs' time; 100% never does
    #[arg(long, value_name = "SHARE", default_value_t = Limit(DISTURBED_SHARE_MAX), value_parser = limit)]
    pub(crate) steal_limit: Limit,
    /// Set a run aside if other processes used more of the CPUs' time; 100% never does
    #[arg(long, value_name = "SHARE", default_value_t = Limit(DISTURBED_SHARE_MAX), value_parser = limit)]
    pub(crate) others_limit: Limit,
    /// Before the first block, wait until others leave the CPUs, at most so long (without TIME: 1h)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
        default_missing_value = "1h", value_parser = parse_duration)]
    pub(crate) wait_quiet: Option<Duration>,
    /// Seed of the data and of every random choice (default: drawn, and stored with the plan)
    #[arg(long)]
    seed: Option<u64>,

    /// Folder for plan, journal and report (default: cputime-DATE-TIME)
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the experiment in this folder, by its own plan
    #[arg(long, value_name = "DIR", conflicts_with_all = ["command", "spinners", "spinner", "rulers",
        "with", "least", "cores", "pair", "repeat", "budget", "blocks", "timeout", "steal_limit", "others_limit", "seed"])]
    pub(crate) resume: Option<PathBuf>,
    /// Print all of it, not the answer in seven lines
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const BUDGET: Duration = Duration::from_secs(300);
const BUDGET_RULERS: Duration = Duration::from_secs(120);

impl Args {
    pub(crate) fn budget(&self) -> Duration {
        let is_signature = self.rulers && self.with.is_empty();
        self.budget.unwrap_or(if is_signature { BUDGET_RULERS } else { BUDGET })
    }

    pub(crate) fn spinner(&self) -> Result<Spinner> {
        let path = std::env::var("PATH").unwrap_or_default();
        let named = SpinnerKind::NAMED.iter().find(|(name, ..)| *name == self.spinner);
        Ok(match named {
            Some((_, SpinnerKind::Interpreted, _)) => {
                let argv = coretwin_workloads::spinner::interpreter(&path).ok_or_else(|| {
                    usage(
                        "the note's spinner is a loop of perl or python3, and neither is here; \
                         install one, or take another with --spinner native",
                    )
                })?;
                Spinner { kind: SpinnerKind::Interpreted, argv }
            }
            Some((_, kind, _)) => Spinner { kind: *kind, argv: Vec::new() },
            None => {
                if !is_command(&self.spinner, &path) {
                    let names = SpinnerKind::NAMED.map(|(name, ..)| name);
                    return Err(usage(suggest::unknown("spinner", &self.spinner, &names)));
                }
                let shell = ["/bin/sh", "-c", &self.spinner].map(str::to_owned);
                Spinner { kind: SpinnerKind::Command, argv: shell.to_vec() }
            }
        })
    }

    /// The commands that are put beside each other; none if that is not asked.
    pub(crate) fn commands(&self) -> Result<Vec<WithCommand>> {
        let lines: Vec<&str> = match &self.with[..] {
            [] => return Ok(Vec::new()),
            [one] => one.split(',').collect(),
            several => several.iter().map(String::as_str).collect(),
        };
        if !(2..=COMMANDS_MAX).contains(&lines.len()) {
            return Err(usage(format!(
                "--with needs 2 to {COMMANDS_MAX} commands, and {} named; write them like ./a,./b,./c",
                match lines.len() {
                    1 => "1 is".to_owned(),
                    count => format!("{count} are"),
                }
            )));
        }
        let typed = lines.iter().map(|line| variants::typed(line.trim()));
        let typed =
            typed.collect::<Result<Vec<_>, _>>().map_err(|why| usage(format!("--with: {why}")))?;
        let found = variants::resolve(&typed, None, &mut Vec::new())?;
        let command = |(it, typed): (Variant, &Typed)| {
            let row = row(&typed.line)?;
            let argv = row.clone().unwrap_or(it.argv);
            Ok(WithCommand { name: it.name, argv, row: row.is_some() })
        };
        found.into_iter().zip(&typed).map(command).collect()
    }

    pub(crate) fn seed(&self) -> Result<u64> {
        self.seed.map_or_else(drawn_seed, Ok)
    }
}

/// The command that runs a row of ours, where a line names one. Errors: parameters that it does not have.
fn row(line: &str) -> Result<Option<Vec<String>>> {
    let Ok(spec) = WorkloadSpec::parse(line) else { return Ok(None) };
    if table::find(&spec.name).is_none() {
        return Ok(None);
    }
    table::resolve(&spec).map_err(usage)?;
    let worker = worker_path().map_err(coretwin_lab::Error::NotPossible)?;
    let argv = [worker.to_string_lossy().into_owned(), ROW.to_owned(), line.to_owned()];
    Ok(Some(argv.to_vec()))
}

fn spinner_count(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|count| *count <= SPINNERS_MAX).ok_or_else(|| {
        format!("'{text}' is not a number from 0 to {SPINNERS_MAX}; write the list like 0,1,2,4")
    })
}

fn some_text(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it names no command; write it like ./a,./b,./c".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn objective(text: &str) -> Result<Objective, String> {
    text.parse().map_err(|_| {
        let names = Objective::ALL.map(|objective| objective.to_string());
        suggest::unknown("objective", text, &names.each_ref().map(String::as_str))
    })
}

fn cores(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|cores| (1..=COMMANDS_MAX).contains(cores));
    number.ok_or_else(|| format!("'{text}' is not a number from 1 to {COMMANDS_MAX}"))
}

/// Whether a text can be a shell line: more than a word, or a program that is there.
fn is_command(text: &str, path: &str) -> bool {
    let is_word = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '/');
    !text.trim().is_empty()
        && (!is_word || path.split(':').any(|folder| PathBuf::from(folder).join(text).is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_kind_is_no_command() {
        assert!(is_command("sleep 5", ""));
        assert!(is_command("./spin", ""));
        assert!(is_command("sh", "/nowhere:/bin"));
        assert!(!is_command("natve", "/bin"));
        assert!(!is_command("  ", "/bin"));
    }
}
