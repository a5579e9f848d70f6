//! The rows of LMbench beside those of the Debian package `lmbench`, on this machine: interleaved pairs, bound
//! to one CPU, the pipe by placement; median, range and ratio of our times to theirs, as Markdown. Below each
//! row stand the experiments that show why its ratio is what it is.
//!
//! `cargo bench -p coretwin-workloads --bench lmbench [-- NAME=VALUE …]` with `pairs=5`, `cpu=0`,
//! `rows=simple-read,fork-sh` (all), `cpus=one,two,free` (all), `head=no`, `programs=FOLDER` (where the package's
//! programs are). Else the package, which is non-free, is fetched by an apt with a configuration of its own
//! from the mirror that the machine's sources name, unpacked in a temporary folder, and removed with it.
//!
//! The package was built with a C library before 2.33, so its programs call `stat` and `fstat` by their old
//! names, which make other system calls than those that a program built here would make. `*` marks their
//! program with those two led to this C library's own, as if built here (needs `cc`).

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod support;

use coretwin_base::machine::placement::Placement;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use support::{Options, Trouble, output_of, ratio};

/// A sample of theirs lasts so long, in µs, as ours does.
const ENOUGH: &str = "50000";
/// Where Debian's look for the program that a child becomes. Where there is none they measure how
/// long it takes not to find it, and do not tell.
const HELLO: &str = "/var/tmp/lmbench/hello";

/// How many descriptors their `select` looks at depends on which are free below ten: without those that this
/// program inherits, two.
const NOTHING_INHERITED: &str = r#"exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec "$@""#;

/// What is compared: our row as typed, and their program with its arguments; `FILE` is an empty file.
struct Pair {
    ours: &'static str,
    theirs: &'static str,
    built_here: bool,
    cpus: Cpus,
}

#[derive(Clone, Copy, PartialEq)]
enum Cpus {
    One,
    Two,
    Free,
}

impl Cpus {
    fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
            Self::Free => "free",
        }
    }
}

const fn pair(ours: &'static str, theirs: &'static str) -> Pair {
    Pair { ours, theirs, built_here: false, cpus: Cpus::One }
}

const STAT: &str = "lat_syscall -N 11 stat FILE";
const FSTAT: &str = "lat_syscall -N 11 fstat FILE";
const SELECT: &str = "lat_select -N 11 -n 10 file";
const SELECT_TCP: &str = "lat_select -N 11 -n 10 tcp";
const PIPE: Pair = pair("pipe-latency:samples=3", "lat_pipe -N 3");
const FORK: &str = "lat_proc -N 11 fork";
/// The rows as they are by default, each followed by its experiments.
const PAIRS: [Pair; 22] = [
    pair("simple-syscall", "lat_syscall -N 11 null"),
    pair("simple-read", "lat_syscall -N 11 read"),
    pair("simple-write", "lat_syscall -N 11 write"),
    pair("simple-stat", STAT),
    Pair { built_here: true, ..pair("simple-stat", STAT) },
    pair("simple-fstat", FSTAT),
    Pair { built_here: true, ..pair("simple-fstat", FSTAT) },
    pair("simple-fstat:call=direct", FSTAT),
    pair("simple-open-close", "lat_syscall -N 11 open FILE"),
    pair("select-10-fds", SELECT),
    pair("select-10-fds:looked_at=2", SELECT),
    pair("select-10-tcp-fds", SELECT_TCP),
    pair("select-10-tcp-fds:looked_at=2", SELECT_TCP),
    pair("signal-install", "lat_sig -N 11 install"),
    pair("signal-overhead", "lat_sig -N 11 catch"),
    PIPE,
    Pair { cpus: Cpus::Two, ..PIPE },
    Pair { cpus: Cpus::Free, ..PIPE },
    pair("fork-exit", FORK),
    pair("fork-exit:parent=worker", FORK),
    pair("fork-execve", "lat_proc -N 11 exec"),
    pair("fork-sh", "lat_proc -N 11 shell"),
];

fn main() -> ExitCode {
    support::main(compare)
}

/// Their programs and what they need.
struct Theirs {
    programs: PathBuf,
    /// As deep below /tmp as our own file is, and as LMbench's is by default.
    file: PathBuf,
    /// The library that leads `stat` and `fstat` to this C library's.
    shim: PathBuf,
}

fn compare(options: &Options) -> Result<(), Trouble> {
    // An interrupt ends the programs that run, and with them the row; what was made here is removed.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let pairs: usize = options.get("pairs", "5").parse()?;
    let cpu: u32 = options.get("cpu", "0").parse()?;
    let place = tempfile::tempdir()?;
    let programs = match options.get("programs", "") {
        folder if folder.is_empty() => fetched(place.path())?,
        folder => PathBuf::from(folder),
    };
    let file = place.path().join("lmbench/lmbench");
    fs::create_dir(place.path().join("lmbench"))?;
    fs::write(&file, "")?;
    let theirs = Theirs { programs, file, shim: place.path().join("shim.so") };
    make_shim(&theirs.shim)?;
    let hello = Path::new(HELLO);
    let folder = hello.parent().filter(|folder| !folder.exists());
    if let Some(folder) = folder {
        fs::create_dir(folder)?;
        fs::copy(theirs.programs.join("hello"), hello)?;
    }
    if options.get("head", "yes") == "yes" {
        println!(
            "| row | CPUs | theirs | ours, µs: median (range; spread) | theirs, µs | ours / theirs |\n\
             |---|---|---|---|---|---|"
        );
    }
    let asked = |pair: &&Pair| {
        options.wants("rows", pair.ours.split(':').next().unwrap_or(""))
            && options.wants("cpus", pair.cpus.name())
    };
    let done = PAIRS.iter().filter(asked).try_for_each(|pair| row(pair, cpu, pairs, &theirs));
    if let Some(folder) = folder {
        fs::remove_dir_all(folder)?;
    }
    done
}

fn row(pair: &Pair, first: u32, pairs: usize, theirs: &Theirs) -> Result<(), Trouble> {
    let text = format!("lmbench/{}", pair.ours);
    let (cpus, roles) = match pair.cpus {
        Cpus::One if pair.ours == PIPE.ours => (vec![first], vec![first, first]),
        Cpus::One => (vec![first], Vec::new()),
        // The original's own choice of two.
        Cpus::Two => (vec![0, 1], vec![0, 1]),
        Cpus::Free => (vec![0, 1], Vec::new()),
    };
    let ours = || -> Result<f64, Trouble> {
        Ok(support::run(&text, &cpus, Placement::Free, &roles)?.value.unwrap_or(f64::NAN))
    };
    let theirs = || theirs.run(pair, &cpus);
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for number in 0..pairs {
        if number % 2 == 0 {
            our_times.push(ours()?);
            their_times.push(theirs()?);
        } else {
            their_times.push(theirs()?);
            our_times.push(ours()?);
        }
    }
    let (ratio, low, high) = ratio(&our_times, &their_times);
    println!(
        "| `{}` | {} | {}{} | {} | {} | {ratio:.3} ({low:.3} to {high:.3}) |",
        pair.ours,
        pair.cpus.name(),
        pair.theirs,
        if pair.built_here { " *" } else { "" },
        told(&mut our_times),
        told(&mut their_times)
    );
    Ok(())
}

/// Median, range, and that as a share of the median.
fn told(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (times.first(), times.last()) else { return String::new() };
    let median = times[times.len() / 2];
    format!("{median:.4} ({low:.4} to {high:.4}; {:.1} %)", 100.0 * (high - low) / median)
}

/// Fetches the package into the folder; where its programs are.
fn fetched(folder: &Path) -> Result<PathBuf, Trouble> {
    let release = fs::read_to_string("/etc/os-release")?;
    let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let name = name.ok_or("/etc/os-release names no release of Debian")?;
    let targets = output_of(Command::new("apt-get").args([
        "indextargets",
        "--format=$(CODENAME) $(REPO_URI)",
        "Identifier: Packages",
        "Component: main",
    ]))?;
    let mirror = targets.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let mirror = mirror.ok_or("apt knows no archive of this release; run apt-get update")?;
    for part in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(part))?;
    }
    // Proxies are the machine's; hooks and further sources are not.
    let dump = output_of(Command::new("apt-config").arg("dump"))?;
    let of_machine =
        |line: &&str| line.starts_with("Acquire::") && !line.starts_with("Acquire::IndexTargets");
    let mut lines: Vec<String> = dump.lines().filter(of_machine).map(str::to_owned).collect();
    let own = folder.display();
    lines.extend(
        ["Dir::Etc::Parts \"/dev/null\";", "Dir::Etc::main \"/dev/null\";"].map(str::to_owned),
    );
    lines.extend([
        format!("Dir::Etc::sourcelist \"{own}/sources.list\";"),
        "Dir::Etc::sourceparts \"/dev/null\";".to_owned(),
        format!("Dir::State::lists \"{own}/lists\";"),
        format!("Dir::Cache \"{own}/cache\";"),
        "APT::Sandbox::User \"root\";".to_owned(),
        "Acquire::Languages \"none\";".to_owned(),
    ]);
    fs::write(folder.join("apt.conf"), lines.join("\n") + "\n")?;
    fs::write(folder.join("sources.list"), format!("deb {mirror} {name} non-free\n"))?;
    for what in [&["update"][..], &["download", "lmbench"]] {
        let mut apt = Command::new("apt-get");
        apt.args(["--quiet", "--quiet"]).args(what).current_dir(folder);
        output_of(apt.env("APT_CONFIG", folder.join("apt.conf")))?;
    }
    let files = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let package = files.filter(|path| path.extension().is_some_and(|end| end == "deb")).last();
    let unpacked = folder.join("unpacked");
    let package = package.ok_or("apt-get left no package")?;
    output_of(Command::new("dpkg-deb").arg("-x").arg(package).arg(&unpacked))?;
    let mut folders = fs::read_dir(unpacked.join("usr/lib/lmbench/bin"))?.flatten();
    let found = folders.find(|entry| entry.path().join("lat_syscall").exists());
    Ok(found.ok_or("the package has no lat_syscall")?.path())
}

/// The old names, as C libraries before 2.33 had them, led to the new.
const SHIM: &str = "\
struct stat;
int stat(const char *path, struct stat *to);
int fstat(int file, struct stat *to);
int __xstat(int version, const char *path, struct stat *to) { return stat(path, to); }
int __fxstat(int version, int file, struct stat *to) { return fstat(file, to); }
";

fn make_shim(library: &Path) -> Result<(), Trouble> {
    let source = library.with_extension("c");
    fs::write(&source, SHIM)?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O2", "-w", "-o"]).arg(library).arg(source);
    output_of(&mut cc).map(drop)
}

impl Theirs {
    /// One run of theirs: the time it tells, in µs.
    fn run(&self, pair: &Pair, cpus: &[u32]) -> Result<f64, Trouble> {
        let file = self.file.to_string_lossy();
        let mut words =
            pair.theirs.split(' ').map(|word| if word == "FILE" { &*file } else { word });
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        let mut command = Command::new("sh");
        command.args(["-c", NOTHING_INHERITED, "sh", "taskset", "--cpu-list", &cpus.join(",")]);
        command.arg("env").env("ENOUGH", ENOUGH);
        if pair.cpus == Cpus::Two {
            command.arg("LMBENCH_SCHED=UNIQUE");
        }
        if pair.built_here {
            command.arg(format!("LD_PRELOAD={}", self.shim.display()));
        }
        command.arg(self.programs.join(words.next().unwrap_or(""))).args(words);
        let said = String::from_utf8_lossy(&command.output()?.stderr).into_owned();
        let told = said.lines().find_map(|line| line.split_once(": ")?.1.split_once(" micro"));
        let time = told.and_then(|(time, _)| time.parse().ok());
        time.ok_or_else(|| format!("{} tells no time: {said}", pair.theirs).into())
    }
}
