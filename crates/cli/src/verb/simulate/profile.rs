//! `coretwin simulate profile`: a profile of a program, from cachegrind's counts and from timing.
//!
//! Cachegrind comes first, because it takes longest. Forked children count their parent's work again.
//! Ctrl-C ends the command; what was counted until then becomes the profile, and the folder of temporary
//! files is removed.

use super::core::preset_of;
use crate::exit::{DONE, INTERRUPTED, usage};
use crate::verb::study::file::quoted;
use crate::{out, signals};
use anyhow::{Context, Result, anyhow};
use coretwin_base::caps;
use coretwin_base::origin::Origin;
use coretwin_base::schema::SCHEMA;
use coretwin_host::cpuinfo::{self, Parsed};
use coretwin_host::root::Root;
use coretwin_lab::host_machine::now_utc;
use coretwin_lab::machine::Stop;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::profile::import::{self, Assumed};
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
/// Share of instructions in other processes beyond which user time is not that of the counted one.
const OTHERS_MAX: f64 = 0.05;
/// More files of counts than this are not read.
const PROCESSES_MAX: usize = 1000;
/// Least and greatest share of sources that the uop before produces.
const NEAR: [f64; 2] = [0.02, 0.98];
/// Steps of the search for the measured speed, which ends within 1 %.
const STEPS: u32 = 8;
const NEAR_ENOUGH: f64 = 0.01;
/// How long a command has to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin simulate profile --name mycmd -- ./mycmd > mycmd.toml
  coretwin simulate core --preset skylake-sp --thread ./mycmd.toml --thread perl-loop
  coretwin simulate profile --preset zen4 --json -- gzip -kc FILE

Runs the command under valgrind (some 50 times slower), then three times for its user time. Its output \
is dropped. Counted is the process with the most instructions, without the kernel. \
Dependencies are chosen so that the speed alone is the measured one. Standard error has both speeds. \
Ctrl-C keeps what was counted.")]
pub(crate) struct Args {
    /// Name of the profile
    #[arg(long, default_value = "measured", value_parser = import::name)]
    name: String,
    /// The processor: a name of `simulate core --list`, or a file [default: the nearest to this machine's]
    #[arg(long, value_name = "PRESET|FILE")]
    preset: Option<String>,
    /// Timed runs, of which the fastest counts; 0 leaves timing out
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
    runs: u32,
    /// Print facts and profile as JSON
    #[arg(long)]
    json: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let preset = preset_of(&preset_name(args)?)?;
    let stop = signals::stop_flag()?;
    let folder = Folder::new()?;
    let status = count(args, &preset, &folder, &stop)?;
    // What was ended in the middle may have been written in part.
    let found = match Counted::read(&folder) {
        Err(_) if stop.raised() => None,
        read => read?,
    };
    if !(status.success() || stop.raised()) || (found.is_none() && !stop.raised()) {
        return Err(failed(&folder, status));
    }
    let Some(found) = found else {
        out::news("interrupted before anything was counted");
        return Ok(INTERRUPTED);
    };
    let with = |assumed| -> Result<Made> {
        let imported = import::from_cachegrind("cachegrind", &args.name, &found.text, assumed);
        let imported = imported.map_err(usage)?;
        let per = import::UOPS_PER_INSTRUCTION;
        let (speed, misses) =
            length::alone(&preset, &imported.profile, per).map_err(|stuck| anyhow!("{stuck}"))?;
        Ok(Made { imported, speed, misses })
    };
    let counted = with(Assumed::default())?;
    let mut notes = Vec::new();
    let whole = !stop.raised();
    if !whole {
        notes.push("interrupted: the profile is of the work until then, untimed".to_owned());
    }
    if found.others > OTHERS_MAX {
        notes.push(format!(
            "untimed: {:.0} % of the instructions are of other processes than the one counted; \
             give the program itself",
            100.0 * found.others
        ));
    }
    let mut measured = None;
    if whole && found.others <= OTHERS_MAX {
        let cycles = timed(args, &folder, &stop, &mut notes)?;
        measured = cycles.map(|cycles| counted.imported.instructions / cycles);
    }
    let by_counts = counted.speed;
    let made = match measured {
        Some(speed) => fitted(counted, speed, with)?,
        None => counted,
    };
    let facts = Facts::new(args, &preset.name, by_counts, measured, &made)?;
    for line in notes.iter().chain(&facts.lines()) {
        out::news(line);
    }
    for line in &made.imported.assumed {
        out::news(&format!("assumed: {line}"));
    }
    match args.json {
        true => out::facts(Origin::Measured, &facts)?,
        false => out::text(&facts.profile)?,
    }
    out::news(&format!(
        "next, two of it on one core, the profile kept as {0}.toml: coretwin simulate core --preset {1} \
         --thread ./{0}.toml --thread ./{0}.toml",
        args.name, preset.name
    ));
    Ok(if stop.raised() { INTERRUPTED } else { DONE })
}

/// Runs the command under valgrind; how it ended. Each process writes a file of its own.
fn count(args: &Args, preset: &Preset, folder: &Folder, stop: &Stop) -> Result<ExitStatus> {
    let counts = folder.0.join("counts.%p");
    out::news("counting instructions and misses under valgrind, some 50 times slower than alone");
    let mut valgrind = counted(&args.command, preset, &counts);
    ran(&mut valgrind, folder, stop).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => anyhow!(
            "cannot start valgrind, which counts instructions and misses: install it \
             (Debian, Ubuntu: apt install valgrind)"
        ),
        _ => anyhow!("cannot run valgrind: {error}"),
    })
}

fn failed(folder: &Folder, status: ExitStatus) -> anyhow::Error {
    let said = fs::read_to_string(folder.0.join("said")).unwrap_or_default();
    // Lines of valgrind itself begin so.
    let is_its_own = |line: &&str| !line.trim().is_empty() && !line.starts_with(['=', '-']);
    let last = said.lines().rev().find(is_its_own).unwrap_or("nothing");
    usage(format!("the command failed under valgrind ({status}); it said last: {last}"))
}

/// A profile, and what it does alone.
struct Made {
    imported: import::Imported,
    /// Instructions per cycle.
    speed: f64,
    /// First-level misses per 1000 instructions.
    misses: f64,
}

/// The profile that is as fast alone as was measured. It is made slower by chains of loads, and then by
/// nearer sources; faster by farther sources, and then by fewer mispredictions and misses of code.
fn fitted(counted: Made, speed: f64, with: impl Fn(Assumed) -> Result<Made>) -> Result<Made> {
    let usual = Assumed::default();
    let chained = |chained| with(Assumed { chained, ..usual });
    let near = |near, chained| with(Assumed { near, chained, ..usual });
    let missed = |missed| with(Assumed { near: NEAR[0], missed, ..usual });
    if counted.speed > speed {
        return match chained(1.0)?.speed <= speed {
            true => between([0.0, 1.0], speed, chained),
            false => between([usual.near, NEAR[1]], speed, |value| near(value, 1.0)),
        };
    }
    match near(NEAR[0], 0.0)?.speed > speed {
        true => between([NEAR[0], usual.near], speed, |value| near(value, 0.0)),
        false => between([0.0, 1.0], speed, missed),
    }
}

/// Bisects from a value that is fast to one that is slow. Beyond both, the nearer end.
fn between(
    [mut fast, mut slow]: [f64; 2],
    speed: f64,
    with: impl Fn(f64) -> Result<Made>,
) -> Result<Made> {
    let ends = (with(fast)?, with(slow)?);
    if ends.0.speed <= speed {
        return Ok(ends.0);
    }
    let mut best = ends.1;
    for _ in 0..STEPS {
        if (best.speed / speed - 1.0).abs() < NEAR_ENOUGH {
            break;
        }
        let half = f64::midpoint(fast, slow);
        let made = with(half)?;
        *(if made.speed > speed { &mut fast } else { &mut slow }) = half;
        if (made.speed / speed - 1.0).abs() < (best.speed / speed - 1.0).abs() {
            best = made;
        }
    }
    Ok(best)
}

/// What cachegrind wrote of the process with the most instructions.
struct Counted {
    text: String,
    /// Share of the instructions that other processes have.
    others: f64,
}

impl Counted {
    /// `None` if nothing was counted.
    fn read(folder: &Folder) -> Result<Option<Self>> {
        let (mut most, mut of_all, mut text) = (0.0, 0.0, String::new());
        let entries = fs::read_dir(&folder.0).context("cannot read the folder of counts")?;
        for entry in entries.take(PROCESSES_MAX) {
            let entry = entry.context("cannot read the folder of counts")?;
            if !entry.file_name().as_encoded_bytes().starts_with(b"counts.") {
                continue;
            }
            let own = File::open(entry.path()).and_then(|file| caps::ANSWER.text(file));
            let own = own.context("cannot read what cachegrind wrote")?;
            if own.is_empty() {
                continue;
            }
            let imported = import::from_cachegrind("cachegrind", "one", &own, Assumed::default());
            let instructions = imported.map_err(usage)?.instructions;
            of_all += instructions;
            if instructions > most {
                (most, text) = (instructions, own);
            }
        }
        Ok((of_all > 0.0).then(|| Self { text, others: 1.0 - most / of_all }))
    }
}

/// The command under cachegrind, with first levels of the preset's size.
fn counted(command: &[String], preset: &Preset, counts: &Path) -> Command {
    let (first, line_bytes) = (&preset.memory.first, preset.memory.line_bytes);
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"])
        .args(["--trace-children=yes", "--vgdb=no"])
        .arg(format!("--D1={},{},{}", first.bytes, first.ways, line_bytes))
        .arg(format!("--cachegrind-out-file={}", counts.display()))
        .arg("--")
        .args(command);
    valgrind
}

/// Cycles of the fastest timed run: its user time × the clock, calibrated beside it. `None` without runs.
fn timed(
    args: &Args,
    folder: &Folder,
    stop: &Stop,
    notes: &mut Vec<String>,
) -> Result<Option<f64>> {
    let (mut user_s, mut cycle) = (f64::INFINITY, f64::INFINITY);
    for run in 1..=args.runs {
        out::news(&format!("timing it, run {run} of {}", args.runs));
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
        notes.push(format!(
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
        // What the command left running goes too: a shell's background jobs ignore an interrupt.
        self.signal(Signal::KILL);
        let _ = self.0.wait();
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
#[derive(serde::Serialize)]
struct Facts {
    schema: u32,
    name: String,
    preset: String,
    command: Vec<String>,
    instructions: f64,
    /// Instructions per cycle of the profile from the counts alone.
    predicted: f64,
    /// The same as it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<f64>,
    /// The same of the profile as it was made.
    simulated: f64,
    /// First-level misses per 1000 instructions, counted and simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    misses: Option<f64>,
    simulated_misses: f64,
    assumed: Vec<String>,
    /// The profile's text.
    profile: String,
}

impl Facts {
    fn new(
        args: &Args,
        preset: &str,
        predicted: f64,
        measured: Option<f64>,
        made: &Made,
    ) -> Result<Self> {
        let mut facts = Self {
            schema: SCHEMA,
            name: args.name.clone(),
            preset: preset.to_owned(),
            command: args.command.clone(),
            instructions: made.imported.instructions,
            predicted,
            measured,
            simulated: made.speed,
            misses: made.imported.first_level_misses,
            simulated_misses: made.misses,
            assumed: made.imported.assumed.clone(),
            profile: made.imported.text.clone(),
        };
        if let Some(speed) = measured {
            let solo = facts.solo(speed, args.runs)?;
            let at = "\n\n[[phase]]";
            facts.profile = facts.profile.replacen(at, &format!("\n{solo}\n[[phase]]"), 1);
        }
        Profile::read(&args.name, &facts.profile)
            .context("the profile that was made cannot be read")?;
        Ok(facts)
    }

    fn lines(&self) -> Vec<String> {
        let (preset, predicted) = (&self.preset, self.predicted);
        let Some(measured) = self.measured else {
            return vec![format!(
                "alone on {preset}: {predicted:.3} instructions per cycle predicted, none measured"
            )];
        };
        let off = |speed: f64| 100.0 * (speed / measured - 1.0);
        let mut lines = Vec::new();
        if off(self.simulated).abs() > 100.0 * ERROR_MAX {
            lines.push(format!(
                "the profile is {:+.1} % off alone: correct it before you trust what it says of pairs",
                off(self.simulated)
            ));
        }
        lines.push(format!(
            "alone on {preset}: {measured:.3} instructions per cycle measured, {predicted:.3} by the \
             counts alone ({:+.1} %), {:.3} as it was made ({:+.1} %)",
            off(predicted),
            self.simulated,
            off(self.simulated)
        ));
        lines
    }

    /// The measured facts, as a profile has them.
    fn solo(&self, measured: f64, runs: u32) -> Result<String> {
        let command = shlex::try_join(self.command.iter().map(String::as_str));
        let command = quoted(&command.context("the command cannot be quoted")?);
        let date = now_utc();
        Ok(format!(
            "solo = [\n  {{ preset = {}, instructions_per_cycle = {measured:.4}, \
             uops_per_instruction = {}, first_level_misses = {:.1}, command = {command}, \
             date = \"{}\", source = \"instructions and misses: cachegrind; cycles: least user time \
             of {runs} runs over the least time of a chain of adds; simulated: {:.3} a cycle by the \
             counts alone, {:.3} as made, {:.1} misses\", confidence = \"medium\" }},\n]\n",
            quoted(&self.preset),
            import::UOPS_PER_INSTRUCTION,
            self.misses.unwrap_or_default(),
            date.get(..10).unwrap_or_default(),
            self.predicted,
            self.simulated,
            self.simulated_misses,
        ))
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
