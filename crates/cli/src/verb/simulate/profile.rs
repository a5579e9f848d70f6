//! `coretwin simulate profile`: a profile of a program, from cachegrind's counts and from timing.
//!
//! Cachegrind comes first, because it takes longest. Ctrl-C ends the command; what was counted until then
//! becomes the profile, and the folder of temporary files is removed.

use super::core::preset_of;
use crate::exit::{DONE, INTERRUPTED, usage};
use crate::{out, signals};
use anyhow::{Context, Result, anyhow};
use coretwin_base::caps;
use coretwin_host::cpuinfo::{self, Parsed};
use coretwin_host::root::Root;
use coretwin_lab::host_machine::now_utc;
use coretwin_lab::machine::Stop;
use coretwin_sim::core::profile::{Profile, import};
use coretwin_sim::core::{Preset, length};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::time::ClockId;
use std::fs::{self, DirBuilder, File};
use std::hint::black_box;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Beyond this error the profile is told to be wrong before anything else.
const ERROR_MAX: f64 = 0.10;
/// The kernel tells user time in hundredths of a second; in less, 2 % is not known.
const USER_S_MIN: f64 = 0.5;
/// The clock is calibrated by so many chains of so many cycles, some 10 ms each.
const CHAINS: u32 = 20;
const CHAIN_CYCLES: u64 = 40_000_000;
/// How long a command has to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  coretwin simulate profile --name mycmd -- ./mycmd > mycmd.toml
  coretwin simulate core --preset skylake-sp --thread ./mycmd.toml --thread perl-loop

Runs the command once under valgrind (some 50 times slower), then three times for its user time. Its \
output is dropped. Counted is the process itself, without children and the kernel.
Standard error tells the speed alone: simulated beside measured. Ctrl-C keeps what was counted.")]
pub(crate) struct Args {
    /// Name of the profile
    #[arg(long, default_value = "measured")]
    name: String,
    /// The processor: a name of `simulate core --list`, or a file [default: the nearest to this machine's]
    #[arg(long, value_name = "PRESET|FILE")]
    preset: Option<String>,
    /// Timed runs, of which the fastest counts; 0 leaves timing out
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
    runs: u32,
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let preset = preset_of(&preset_name(args)?)?;
    let stop = signals::stop_flag()?;
    let folder = Folder::new()?;
    let counts = folder.0.join("counts");
    let status =
        ran(&mut counted(&args.command, &preset, &counts), &folder, &stop).map_err(|error| {
            match error.kind() {
                std::io::ErrorKind::NotFound => anyhow!(
                    "cannot start valgrind, which counts instructions and misses: install it \
                 (Debian, Ubuntu: apt install valgrind)"
                ),
                _ => anyhow!("cannot run valgrind: {error}"),
            }
        })?;
    let text = File::open(&counts).and_then(|file| caps::ANSWER.text(file)).unwrap_or_default();
    if !(status.success() || stop.raised()) || (text.is_empty() && !stop.raised()) {
        let said = fs::read_to_string(folder.0.join("said")).unwrap_or_default();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        return Err(usage(format!(
            "the command failed under valgrind ({status}); it said last: {last}"
        )));
    }
    if text.is_empty() {
        out::news("interrupted before anything was counted");
        return Ok(INTERRUPTED);
    }
    let imported =
        import::from_cachegrind("cachegrind's file", &args.name, &text).map_err(usage)?;
    let whole = !stop.raised();
    let mut speed = None;
    if whole {
        let instructions = imported.instructions;
        speed = timed(args, &folder, &stop)?.map(|cycles| instructions / cycles);
    }
    let (simulated, misses) =
        length::alone(&preset, &imported.profile, import::UOPS_PER_INSTRUCTION)
            .map_err(|stuck| anyhow!("{stuck}"))?;
    let facts = Facts { args, preset: &preset.name, simulated, misses, speed };
    for line in facts.lines(whole) {
        out::news(&line);
    }
    for line in &imported.assumed {
        out::news(&format!("assumed: {line}"));
    }
    let text = facts.in_profile(&imported);
    Profile::read(&args.name, &text).context("the profile that was made cannot be read")?;
    out::text(&text)?;
    Ok(if stop.raised() { INTERRUPTED } else { DONE })
}

/// The command under cachegrind, with first levels of the preset's size.
fn counted(command: &[String], preset: &Preset, counts: &Path) -> Command {
    let (first, line_bytes) = (&preset.memory.first, preset.memory.line_bytes);
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"])
        .arg(format!("--D1={},{},{}", first.bytes, first.ways, line_bytes))
        .arg(format!("--cachegrind-out-file={}", counts.display()))
        .arg("--")
        .args(command);
    valgrind
}

/// Cycles of the fastest timed run: its user time × the clock, calibrated beside it. `None` without runs.
fn timed(args: &Args, folder: &Folder, stop: &Stop) -> Result<Option<f64>> {
    let (mut user_s, mut cycle) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..args.runs {
        cycle = cycle.min(cycle_s());
        let before = children_user_s()?;
        let mut command = Command::new(&args.command[0]);
        command.args(&args.command[1..]);
        let status = ran(&mut command, folder, stop).context("cannot run the command")?;
        if stop.raised() {
            break;
        }
        if !status.success() {
            return Err(usage(format!("the command failed when it was timed: {status}")));
        }
        user_s = user_s.min(children_user_s()? - before);
    }
    if user_s < USER_S_MIN {
        out::news(&format!(
            "{user_s:.2} s of user time are too short to know its speed: give it more work"
        ));
        return Ok(None);
    }
    Ok(user_s.is_finite().then(|| user_s / cycle))
}

/// Seconds per cycle: the least time of a chain of one-cycle operations, each on the one before.
fn cycle_s() -> f64 {
    let time = || rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    let nanoseconds = (0..CHAINS).map(|_| {
        let start = time();
        black_box(length::chain(black_box(CHAIN_CYCLES)));
        let end = time();
        (end.tv_sec - start.tv_sec) * 1_000_000_000 + (end.tv_nsec - start.tv_nsec)
    });
    nanoseconds.min().unwrap_or_default() as f64 / 1e9 / CHAIN_CYCLES as f64
}

/// User time of this process's children that have ended, and of theirs.
fn children_user_s() -> Result<f64> {
    let line = fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    let fields = line.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let ticks = fields.split_whitespace().nth(13).and_then(|field| field.parse::<u64>().ok());
    let ticks = ticks.context("/proc/self/stat has no user time of children")?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Runs a command in a process group of its own, which is ended when the stop flag is raised.
fn ran(command: &mut Command, folder: &Folder, stop: &Stop) -> std::io::Result<ExitStatus> {
    let said = File::create(folder.0.join("said"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).process_group(0);
    let mut group = Group(command.spawn()?);
    let mut asked = None;
    loop {
        if let Some(status) = group.0.try_wait()? {
            return Ok(status);
        }
        if stop.raised() {
            match asked {
                // Cachegrind writes what it has counted when the program ends by a signal.
                None => {
                    group.signal(Signal::INT);
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => group.signal(Signal::KILL),
                Some(_) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A child and its process group, which ends with this.
struct Group(Child);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // An error means that it has ended.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// A folder for temporary files, removed with this.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("coretwin-profile-{}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What was measured and simulated of the program alone.
struct Facts<'a> {
    args: &'a Args,
    preset: &'a str,
    simulated: f64,
    misses: f64,
    speed: Option<f64>,
}

impl Facts<'_> {
    fn lines(&self, whole: bool) -> Vec<String> {
        let mut lines = Vec::new();
        if !whole {
            lines.push("interrupted: the profile is of the work until then, untimed".to_owned());
        }
        let Some(speed) = self.speed else {
            lines.push(format!(
                "alone on {}: {:.3} instructions per cycle predicted, none measured",
                self.preset, self.simulated
            ));
            return lines;
        };
        let error = self.simulated / speed - 1.0;
        if error.abs() > ERROR_MAX {
            lines.push(format!(
                "the profile is {:+.1} % off alone: correct it before you trust what it says of pairs",
                100.0 * error
            ));
        }
        lines.push(format!(
            "alone on {}: {:.3} instructions per cycle predicted, {speed:.3} measured ({:+.1} %)",
            self.preset,
            self.simulated,
            100.0 * error
        ));
        lines
    }

    /// The profile's text with what was measured.
    fn in_profile(&self, imported: &import::Imported) -> String {
        let Some(speed) = self.speed else { return imported.text.clone() };
        let command = shlex::try_join(self.args.command.iter().map(String::as_str));
        let command = command.unwrap_or_default();
        let date = now_utc();
        let date = date.get(..10).unwrap_or_default();
        let solo = format!(
            "solo = [\n  {{ preset = \"{}\", instructions_per_cycle = {speed:.3}, \
             uops_per_instruction = {}, first_level_misses = {:.1}, command = {command:?}, \
             date = \"{date}\", source = \"instructions and misses: cachegrind; cycles: least user time \
             of {} runs over the least time of a chain of adds; simulated here: {:.3} a cycle, \
             {:.1} misses\", confidence = \"medium\" }},\n]\n",
            self.preset,
            import::UOPS_PER_INSTRUCTION,
            imported.first_level_misses.unwrap_or_default(),
            self.args.runs,
            self.simulated,
            self.misses,
        );
        imported.text.replacen("\n\n[[phase]]", &format!("\n{solo}\n[[phase]]"), 1)
    }
}

fn preset_name(args: &Args) -> Result<String> {
    if let Some(name) = &args.preset {
        return Ok(name.clone());
    }
    let cpu = cpuinfo::read(&Root::system()).context("cannot read this machine's processor")?;
    let name = nearest(&cpu).ok_or_else(|| {
        usage("no preset is near this machine's processor: give one of simulate core --list by --preset")
    })?;
    Ok(name.to_owned())
}

/// The preset of the processor's own core design.
fn nearest(cpu: &Parsed) -> Option<&'static str> {
    let first = |key: &str| cpu.first.get(key).map(String::as_str);
    let number = |key: &str| first(key).and_then(|text| text.parse::<u32>().ok());
    if first("cpu").is_some_and(|name| name.starts_with("POWER9")) {
        return Some("power9-smt4");
    }
    let (family, model) = (number("cpu family")?, number("model")?);
    Some(match (first("vendor_id")?, family, model) {
        ("AuthenticAMD", 23, 0..=0x2f) => "zen1",
        ("AuthenticAMD", 25, 0x10..=0x1f | 0x60..=0xaf) => "zen4",
        ("AuthenticAMD", 25, _) => "zen3",
        ("AuthenticAMD", 26, _) => "zen5",
        ("GenuineIntel", 15, 0..=2) => "p4-northwood",
        ("GenuineIntel", 6, 0x1a | 0x1e | 0x1f | 0x25 | 0x2c | 0x2e | 0x2f) => "westmere",
        ("GenuineIntel", 6, 0x2a | 0x2d) => "sandybridge",
        ("GenuineIntel", 6, 0x3a | 0x3e) => "ivybridge",
        ("GenuineIntel", 6, 0x4e | 0x55 | 0x5e | 0x8e | 0x9e) => "skylake-sp",
        ("GenuineIntel", 6, 0x8f | 0x97 | 0x9a | 0xb7 | 0xba | 0xbf | 0xcf) => "golden-cove",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_the_preset_of_its_design() {
        let of = |vendor: &str, family: u32, model: u32| {
            let text = format!(
                "processor : 0\nvendor_id : {vendor}\ncpu family : {family}\nmodel : {model}\n"
            );
            nearest(&cpuinfo::parse(&text))
        };
        assert_eq!(of("AuthenticAMD", 25, 0x11), Some("zen4"));
        assert_eq!(of("AuthenticAMD", 25, 0x21), Some("zen3"));
        assert_eq!(of("GenuineIntel", 6, 0xcf), Some("golden-cove"));
        // Haswell has no preset, and is not passed off as another.
        assert_eq!(of("GenuineIntel", 6, 0x3f), None);
    }
}
