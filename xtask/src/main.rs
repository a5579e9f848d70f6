//! Chores of the repository, one file each: `cargo xtask CHORE`.

#![forbid(unsafe_code)]

mod check_all;
mod docs;
mod facts;
mod formats;
mod fuzz;
mod mutate;
mod notices;
mod package;
mod peers;
mod python;
mod random;
mod reality;
mod site;
mod soak;
mod stages;
mod study;
mod test;
mod tidy;
mod vm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
cargo xtask CHORE

  tidy              crate edges, sizes, docs, purity, banned words, file types
  test              everything a change must pass; minutes per stage      (make test)
  check-all [NAME]  the long checks, all or those named                   (make check-all)
  check-all --short the same, each as short as it goes; less than an hour
  vm [SUITE] [ARGS]       boots real kernels with SMT and checks there; vm --list
  docs              writes docs/reference, from the program's own tables, and the pictures in docs
  package [TARGET]  a Debian package and an archive of static programs, in target/package
  facts             dependencies, licences, sizes of the programs, unsafe blocks
  site              documentation, figures and a report as static pages, in target/site
  peers             other schedulers for sched_ext into target/peers, for `vm schedcost --boot peers...`
  python            DuckDB and pandas in target/python, for tests that read our datasets
  soak [MINUTES]    memory of top, account and the servers while they run, 10 minutes of real time
  reality           counts switches and wake-ups of benchmarks on this kernel, beside the simulated ones
  study [ARGS]      builds, then studies chat on this machine             (make study)
  seeds             writes the seed corpora of the fuzz targets
  mutate [NAME...]  plants faults in a copy of the tree, each of which its test must catch
  fuzz [TARGET] [SECONDS]   fuzzes one target or all, an hour each
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let result = match arguments.first().map(String::as_str) {
        _ if vm::init::is_one() => vm::init::run(&arguments),
        Some("tidy") => tidy::run(&root()),
        Some("test") => test::run(&root()),
        Some("check-all") => check_all::run(&root(), rest),
        Some("vm") => vm::run(&root(), rest),
        Some("docs") => docs::run(&root()),
        Some("package") => package::run(&root(), rest),
        Some("site") => site::run(&root()),
        Some("facts") => facts::run(&root()),
        Some("peers") => peers::run(&root()),
        Some("python") => python::run(&root()),
        Some("soak") => soak::run(&root(), rest),
        Some("reality") => reality::run(&root(), rest),
        Some("study") => study::run(&root(), rest),
        Some("seeds") => fuzz::seeds(&root()),
        Some("mutate") => mutate::run(&root(), rest),
        Some("fuzz") => fuzz::run(&root(), rest),
        None | Some("help" | "--help" | "-h") => {
            print(HELP);
            return ExitCode::SUCCESS;
        }
        Some(other) => Err(anyhow::anyhow!("there is no chore '{other}'\n\n{HELP}")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            print(&format!("xtask: {error:#}\n"));
            ExitCode::from(2)
        }
    }
}

/// The folder of the workspace that `cargo xtask` was called in. In a target folder that two clones share
/// this program may have been compiled in the other.
fn root() -> PathBuf {
    let compiled_in = || env!("CARGO_MANIFEST_DIR").into();
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(compiled_in);
    Path::new(&manifest).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Where cargo builds: inside the clone unless CARGO_TARGET_DIR says otherwise.
fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// How long something takes: as many minutes as the variable says, or these.
fn minutes(variable: &str, usual: u64) -> anyhow::Result<Duration> {
    minutes_of(std::env::var(variable).ok().as_deref(), usual).ok_or_else(|| {
        anyhow::anyhow!("{variable} is to be a number of minutes, from 0.1 to 100000")
    })
}

/// Whole seconds, which is what programs take.
fn minutes_of(given: Option<&str>, usual: u64) -> Option<Duration> {
    let Some(text) = given else { return Some(Duration::from_secs(60 * usual)) };
    let minutes: f64 = text.parse().ok()?;
    (0.1..=100_000.0)
        .contains(&minutes)
        .then(|| Duration::from_secs((60.0 * minutes).round() as u64))
}

/// What every build of a chore turns on; `make` has installed what it needs. Cargo alone builds without.
const FEATURES: [&str; 2] = ["--features", "bpf,parquet"];

/// Prints for people.
#[expect(clippy::print_stdout, reason = "the one place where chores print")]
fn print(text: &str) {
    print!("{text}");
}

#[cfg(test)]
mod tests {
    use super::minutes_of;

    #[test]
    fn minutes_are_those_given_or_the_usual_ones() {
        let seconds = |given| minutes_of(given, 60).map(|length| length.as_secs());
        assert_eq!((seconds(None), seconds(Some("1"))), (Some(3600), Some(60)));
        assert_eq!((seconds(Some("0.2")), seconds(Some("2.5"))), (Some(12), Some(150)));
        for wrong in ["0", "soon", "-1", "inf", "NaN", "1e9", ""] {
            assert_eq!(seconds(Some(wrong)), None, "{wrong}");
        }
    }
}
