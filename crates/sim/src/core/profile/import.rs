//! From counts to a profile: what was counted is used, what was not is assumed and said so.
//!
//! Reads the three forms that `perf stat` writes (the table for people, `-x,` and `-j`), and what cachegrind
//! and callgrind write. The result is a profile's text, so that it can be looked at, corrected and kept.

use super::Profile;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Unfused micro-operations per instruction, as measured for gzip and perl (x86-64).
pub const UOPS_PER_INSTRUCTION: f64 = 1.1;

/// A profile made from counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The profile as text.
    pub text: String,
    /// The same, read.
    pub profile: Profile,
    /// Instructions that were counted.
    pub instructions: f64,
    /// Loads and stores that missed the first level, per 1000 instructions, where both were counted.
    pub first_level_misses: Option<f64>,
    /// Instructions per cycle that were counted: to compare, never used in the profile.
    pub instructions_per_cycle: Option<f64>,
    /// One line for each value that was counted.
    pub counted: Vec<String>,
    /// One line for each value that had to be assumed.
    pub assumed: Vec<String>,
}

/// Makes a profile of this name from the output of `perf stat`.
///
/// # Errors
/// [`Error`] where the text has no counts, no instructions, or counts that contradict each other.
pub fn from_perf_stat(file: &str, name: &str, text: &str) -> Result<Imported> {
    from_counts(&PERF_STAT, file, name, &Counts::read(file, text)?, Assumed::default())
}

/// Makes a profile of this name from a file of `cachegrind --cache-sim=yes --branch-sim=yes`, or of callgrind
/// with the same and `--collect-bus=yes`.
///
/// # Errors
/// [`Error`] as [`from_perf_stat`], and for a line or field that is not theirs.
pub fn from_cachegrind(file: &str, name: &str, text: &str, assumed: Assumed) -> Result<Imported> {
    let counts = Counts::of_valgrind(file, text)?;
    // Of the two, callgrind alone counts locked operations.
    let name_of = counts.first(&[LOCKED]).map_or("cachegrind", |_| "callgrind");
    from_counts(&Counter { name: name_of, ..VALGRIND }, file, name, &counts, assumed)
}

/// What no counter says. It decides the speed alone, so a measured speed decides it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumed {
    /// Share of the sources that the uop before produces: the higher, the slower.
    pub near: f64,
    /// Share of the loads that wait for the load before, as in a list: those that miss first.
    pub chained: f64,
    /// Share of the counted mispredictions and misses of code that cost the processor time.
    pub missed: f64,
}

impl Default for Assumed {
    fn default() -> Self {
        Self { near: 0.42, chained: 0.0, missed: 1.0 }
    }
}

/// The region that misses the first level, and nothing beyond.
const OUTER_BYTES: f64 = 262_144.0;

/// Shares of the distances 2, up to 4, 8, 16, 32 and 1024 among those beyond 1: those of gzip.
const FARTHER: [f64; 6] = [0.103, 0.155, 0.138, 0.207, 0.052, 0.345];

/// Who counted, and what to say where it counted nothing.
struct Counter {
    name: &'static str,
    empty: &'static str,
    no_instructions: &'static str,
}

const PERF_STAT: Counter = Counter {
    name: "perf stat",
    empty: "has no counts: give the output of perf stat, perf stat -x, or perf stat -j",
    no_instructions: "has no count of 'instructions': run perf stat -e instructions,…",
};

const VALGRIND: Counter = Counter {
    name: "cachegrind",
    empty: "has no counts: the lines 'events:' and 'summary:' of cachegrind or callgrind are missing",
    no_instructions: "has no count of instructions (Ir)",
};

/// Cachegrind's events by the names of perf, and callgrind's of locked operations. `Bc` and `Bi` are branches
/// with a condition and to an address in a register.
const OF_VALGRIND: [(&str, &[&str]); 10] = [
    ("instructions", &["Ir"]),
    ("branches", &["Bc", "Bi"]),
    ("branch-misses", &["Bcm", "Bim"]),
    ("L1-dcache-loads", &["Dr"]),
    ("L1-dcache-stores", &["Dw"]),
    ("L1-dcache-load-misses", &["D1mr"]),
    ("L1-dcache-store-misses", &["D1mw"]),
    ("LLC-load-misses", &["DLmr"]),
    ("L1-icache-load-misses", &["I1mr"]),
    (LOCKED, &["Ge"]),
];

/// Locked operations, by perf's name.
const LOCKED: &str = "mem_inst_retired.lock_loads";

/// A profile's name.
///
/// # Errors
/// What is wrong with it.
pub fn name(text: &str) -> std::result::Result<String, &'static str> {
    let is_bad = |c: char| c.is_control() || matches!(c, '"' | '\\');
    match text.trim().is_empty() || text.contains(is_bad) {
        true => Err("the profile's name must be one line of text without quotes"),
        false => Ok(text.to_owned()),
    }
}

fn from_counts(
    by: &Counter,
    file: &str,
    name: &str,
    counts: &Counts,
    assumed: Assumed,
) -> Result<Imported> {
    let refuse = |problem: &str| Error::Text { file: file.to_owned(), problem: problem.to_owned() };
    let name = &self::name(name).map_err(refuse)?;
    if counts.0.is_empty() {
        return Err(refuse(by.empty));
    }
    let Some(instructions) = counts.first(&["instructions"]).filter(|count| *count > 0.0) else {
        return Err(refuse(by.no_instructions));
    };
    for (part, whole) in [
        ("branch-misses", "branches"),
        ("branches", "instructions"),
        ("L1-dcache-loads", "instructions"),
        ("L1-dcache-load-misses", "L1-dcache-loads"),
    ] {
        if let (Some(part_count), Some(whole_count)) =
            (counts.first(&[part]), counts.first(&[whole]))
            && part_count > whole_count
        {
            return Err(refuse(&format!(
                "'{part}' ({part_count}) is more than '{whole}' ({whole_count})"
            )));
        }
    }
    let uops = instructions * UOPS_PER_INSTRUCTION;
    let mut writer = Writer { by: by.name, uops, values: assumed, ..Writer::default() };
    let text = writer.profile(name, counts, instructions);
    let profile = Profile::read(file, &text)?;
    let cycles = counts.first(&["cycles", "cpu-cycles"]).filter(|cycles| *cycles > 0.0);
    let missed =
        ["L1-dcache-load-misses", "L1-dcache-store-misses"].map(|event| counts.first(&[event]));
    let missed = missed[0].zip(missed[1]).map(|(loads, stores)| loads + stores);
    Ok(Imported {
        profile,
        instructions,
        first_level_misses: missed.map(|missed| 1000.0 * missed / instructions),
        text,
        instructions_per_cycle: cycles.map(|cycles| instructions / cycles),
        counted: writer.counted,
        assumed: writer.assumed,
    })
}

/// What perf writes in place of a count, and what to do about it.
const NOT_COUNTED: [&str; 2] = ["<not supported>", "<not counted>"];
const NO_COUNTERS: &str =
    "perf could not count instructions there; without counters: coretwin simulate profile -- CMD";

/// Counts by event, without modifiers.
struct Counts(BTreeMap<String, f64>);

impl Counts {
    fn read(file: &str, text: &str) -> Result<Self> {
        let (mut counts, mut not_counted) = (BTreeMap::new(), None);
        for (number, line) in (1..).zip(text.lines()) {
            let refuse = |problem: &str| Error::Text {
                file: format!("{file}:{number}"),
                problem: problem.to_owned(),
            };
            let is_json = line.trim_start().starts_with('{');
            if is_json && !line.trim_end().trim_end_matches([',', ']']).ends_with('}') {
                return Err(refuse("the line is cut off"));
            }
            // Of the cores of a hybrid machine one kind may have run nothing.
            if NOT_COUNTED.iter().any(|words| line.contains(words)) && line.contains("instructions")
            {
                not_counted.get_or_insert_with(|| refuse(NO_COUNTERS));
            }
            let found = json_line(line).or_else(|| csv_line(line)).or_else(|| table_line(line));
            if let Some((event, count)) = found {
                // The cores of a hybrid machine are counted apart.
                *counts.entry(event).or_insert(0.0) += count;
            }
        }
        match not_counted {
            Some(why) if !counts.contains_key("instructions") => Err(why),
            _ => Ok(Self(counts)),
        }
    }

    fn of_valgrind(file: &str, text: &str) -> Result<Self> {
        let refuse = |place: &str, problem: &str| {
            Err(Error::Text { file: format!("{file}{place}"), problem: problem.to_owned() })
        };
        let after = |key: &str| {
            let mut lines = (1..).zip(text.lines());
            lines.find_map(|(number, line)| Some((number, line.strip_prefix(key)?)))
        };
        let (Some((_, events)), Some((line, sums))) = (after("events:"), after("summary:")) else {
            return refuse("", VALGRIND.empty);
        };
        let events: Vec<&str> = events.split_whitespace().collect();
        let fields: Vec<&str> = sums.split_whitespace().collect();
        if events.len() != fields.len() {
            let problem = format!("{} counts for {} events", fields.len(), events.len());
            return refuse(&format!(":{line}: summary"), &problem);
        }
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (event, field) in events.into_iter().zip(fields) {
            let place = format!(":{line}: {event}");
            let Ok(count) = field.parse::<u64>() else {
                return refuse(&place, &format!("'{field}' is not a count"));
            };
            if sums.insert(event, count as f64).is_some() {
                return refuse(&place, "is there twice");
            }
        }
        let of = |(event, parts): (&str, &[&str])| {
            let counts: Vec<f64> =
                parts.iter().filter_map(|part| sums.get(part).copied()).collect();
            (counts.len() == parts.len()).then(|| (event.to_owned(), counts.iter().sum()))
        };
        Ok(Self(OF_VALGRIND.into_iter().filter_map(of).collect()))
    }

    fn first(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.0.get(*name).copied())
    }
}

/// `"counter-value" : "123.000000", … "event" : "instructions:u"`
fn json_line(line: &str) -> Option<(String, f64)> {
    let text_of = |key: &str| {
        let after = line.split_once(&format!("\"{key}\""))?.1.split_once(':')?.1.trim_start();
        after.strip_prefix('"')?.split_once('"').map(|(text, _)| text)
    };
    let line_is_json = line.trim_start().starts_with(['{', '[']);
    line_is_json.then_some(())?;
    Some((event(text_of("event")?)?, number(text_of("counter-value")?)?))
}

/// `123,,instructions:u,1000,100.00,,` with any separator that `-x` was given, of the usual ones.
fn csv_line(line: &str) -> Option<(String, f64)> {
    [';', '\t', '|', ','].into_iter().find_map(|separator| {
        let fields: Vec<&str> = line.split(separator).collect();
        // With -I or -A, columns of time and CPU come first.
        fields.windows(3).find_map(|three| Some((event(three[2])?, number(three[0])?)))
    })
}

/// `     1,234,567      instructions:u    #    1.2  insn per cycle`
fn table_line(line: &str) -> Option<(String, f64)> {
    // Its heading repeats the command, which may hold anything.
    if line.contains("counter stats for") {
        return None;
    }
    // Not blanks of every kind: some languages group digits with narrow ones.
    let words: Vec<&str> = line.split('#').next()?.split_ascii_whitespace().collect();
    // With -I or -A, columns of time and CPU come first.
    words.windows(2).find_map(|pair| Some((event(pair[1])?, grouped(pair[0])?)))
}

/// An event without unit, modifiers and the name of its counter: `cpu_core/branches/u`.
fn event(text: &str) -> Option<String> {
    let text = text.trim();
    // In a table's line, what looks like a field may be half of it.
    if text.contains(char::is_whitespace) {
        return None;
    }
    let name = match text.split_once('/') {
        Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
        None => text.split(':').next().unwrap_or_default(),
    };
    let name = if name == "branch-instructions" { "branches" } else { name };
    (!name.is_empty() && name.starts_with(char::is_alphabetic)).then(|| name.to_owned())
}

/// A whole number, digits grouped as in any language.
fn grouped(text: &str) -> Option<f64> {
    let digits = text.replace([',', '.', '\'', '’', '\u{202f}', '\u{a0}'], "");
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| number(&digits))?
}

/// A number with a decimal point, or the comma of other languages.
fn number(text: &str) -> Option<f64> {
    text.trim()
        .replace(',', ".")
        .parse()
        .ok()
        .filter(|count: &f64| count.is_finite() && *count >= 0.0)
}

/// Writes the text, and keeps account of what was counted and what assumed.
#[derive(Default)]
struct Writer {
    by: &'static str,
    uops: f64,
    values: Assumed,
    counted: Vec<String>,
    assumed: Vec<String>,
}

impl Writer {
    /// A value per micro-operation from a count, or the assumed one; and its source.
    fn share(&mut self, what: &str, count: Option<f64>, assumed: f64) -> (f64, String) {
        if let Some(count) = count {
            let line = format!("{what}: {count:.0} counted by {}", self.by);
            self.counted.push(line.clone());
            return (count / self.uops, line);
        }
        let line = format!("{what}: assumed {assumed:.3} per micro-operation, not counted");
        self.assumed.push(line.clone());
        (assumed, line)
    }

    fn profile(&mut self, name: &str, counts: &Counts, instructions: f64) -> String {
        self.assumed.push(format!("{UOPS_PER_INSTRUCTION} micro-operations per instruction"));
        let (branches, branch_source) = self.share("branches", counts.first(&["branches"]), 0.19);
        let (loads, load_source) = self.share(
            "loads",
            counts.first(&["L1-dcache-loads", "mem_inst_retired.all_loads"]),
            0.22,
        );
        let (stores, store_source) = self.share(
            "stores",
            counts.first(&["L1-dcache-stores", "mem_inst_retired.all_stores"]),
            0.10,
        );
        let (locked, locked_text) = self.locked(counts);
        // A locked operation was counted as a load and as a store.
        let (loads, stores) = ((loads - locked).max(0.0), (stores - locked).max(0.0));
        let rest = 1.0 - branches - loads - stores - locked;
        // Instructions that do two of these things can leave less than nothing.
        let scale = if rest < 0.05 { 0.95 / (branches + loads + stores + locked) } else { 1.0 };
        let [branches, loads, stores, locked] =
            [branches, loads, stores, locked].map(|share| share * scale);
        let integer = 1.0 - round(branches) - round(loads) - round(stores) - round(locked);
        // Rounded down: more branches than there are int_alu cannot follow a compare.
        let compared = integer / round(branches).max(1e-9);
        let compared = (compared.min(0.9) * 1e4).floor() / 1e4;
        let mut text = format!(
            "# From the counts of {} over {instructions:.0} instructions.\n\
             name = \"{name}\"\ntitle = \"{name}, from counts\"\nkind = \"statistical\"\n\n\
             [[phase]]\nname = \"all\"\n\
             length = {{ uops = 1000000, source = \"one phase\", confidence = \"low\" }}\n\
             mix = {{ int_alu = {integer:.4}, load = {:.4}, store = {:.4}, branch = {:.4}, \
             atomic = {:.4}, compared = {compared:.4}, \
             source = \"{branch_source}; {load_source}; {store_source}; {locked_text}\", \
             confidence = \"medium\" }}\n",
            self.by,
            round(loads),
            round(stores),
            round(branches),
            round(locked),
        );
        text += &self.sources();
        text += &self.branches(counts);
        text += &self.code(counts);
        if round(loads) + round(stores) + round(locked) > 0.0 {
            text += &self.regions(counts, loads, loads + stores + locked);
        }
        text
    }

    /// Locked operations: they wait for all that is older, which decides the speed of what has many.
    fn locked(&mut self, counts: &Counts) -> (f64, String) {
        self.share("locked operations", counts.first(&[LOCKED]), 0.0)
    }

    fn sources(&mut self) -> String {
        let near = round(self.values.near.clamp(0.0, 1.0));
        let beyond = FARTHER[..5].iter().map(|share| round(share * (1.0 - near)));
        let mut shares: Vec<f64> = std::iter::once(near).chain(beyond).collect();
        shares.push(round(1.0 - shares.iter().sum::<f64>()).max(0.0));
        let shares: Vec<String> = shares.iter().map(|share| format!("{share:.4}")).collect();
        let source = match self.values.near == Assumed::default().near {
            true => "assumed: those of gzip",
            false => "chosen so that the speed alone is the measured one",
        };
        self.assumed.push(format!("distances between producers and users: {source}"));
        format!(
            "sources = {{ none = 0.09, two = 0.35, up_to = [1, 2, 4, 8, 16, 32, 1024], \
             share = [{}], source = \"{source}\", confidence = \"low\" }}\n",
            shares.join(", ")
        )
    }

    fn branches(&mut self, counts: &Counts) -> String {
        let missed = match (counts.first(&["branch-misses"]), counts.first(&["branches"])) {
            (Some(misses), Some(branches)) if branches > 0.0 => {
                self.counted
                    .push(format!("mispredicted branches: {misses:.0} counted by {}", self.by));
                misses / branches
            }
            _ => {
                self.assumed.push("mispredicted branches: 2 %".to_owned());
                0.02
            }
        };
        let (counted, missed) = (missed, missed * self.values.missed);
        let kept = match self.values.missed < 1.0 {
            true => format!(", {:.2} % kept for the measured speed", missed * 100.0),
            false => String::new(),
        };
        // Branches that go either way one time in five are where mispredictions come from.
        let (bias, unsure) =
            if missed <= 0.2 { (0.8, missed / 0.2) } else { (1.0 - missed.min(0.5), 1.0) };
        let (unsure, sure) = (round(unsure), 1.0 - round(unsure));
        self.assumed.push("half of the branches are taken and half wait for a load".to_owned());
        format!(
            "branches = {{ taken = 0.5, on_loads = 0.5, bias = [1.0, {bias:.4}], \
             share = [{sure:.4}, {unsure:.4}], source = \"{}: {:.2} % of branches missed, \
             or assumed{kept}\", confidence = \"low\" }}\n",
            self.by,
            counted * 100.0
        )
    }

    fn code(&mut self, counts: &Counts) -> String {
        let misses = counts.first(&["L1-icache-load-misses"]);
        let (per_uop, source) = self.share("code misses", misses, 0.0005);
        // A loop that fits, or one with excursions that miss once per line of 16 uops.
        let cold = round((per_uop * 16.0 * self.values.missed).min(0.9));
        let (bytes, hot) = if cold > 0.0 { (262_144, 16_384) } else { (16_384, 16_384) };
        format!(
            "code = {{ bytes = {bytes}, hot_bytes = {hot}, hot_share = {:.4}, \
             source = \"{source}\", confidence = \"low\" }}\n",
            1.0 - cold
        )
    }

    /// Regions that miss as often as was counted: one that fits each level.
    fn regions(&mut self, counts: &Counts, loads: f64, accesses: f64) -> String {
        let first = counts.first(&["L1-dcache-load-misses"]);
        let (missed, first_source) = self.share("first-level misses", first, 0.01);
        let last = counts.first(&["LLC-load-misses", "cache-misses"]);
        let (memory, last_source) = self.share("last-level misses", last, 0.0005);
        // Stores are held to miss as often as loads, where theirs are not counted. A part of the outer
        // region is in the first level at any time.
        let (missed, of) = match counts.first(&["L1-dcache-store-misses"]) {
            Some(of_stores) => (
                (missed + of_stores / self.uops) * OUTER_BYTES / (OUTER_BYTES - 32_768.0),
                accesses,
            ),
            None => (missed, loads),
        };
        let share_of = |share: f64, of: f64| round((share / of.max(1e-9)).clamp(0.0, 0.9));
        let memory = share_of(memory, loads).min(share_of(missed, of));
        let outer = round((share_of(missed, of) - memory).max(0.0));
        let near = 1.0 - outer - memory;
        // Only loads wait for others.
        if self.values.chained > 0.0 {
            self.assumed.push(format!(
                "{:.0} % of the loads wait for one another, those that miss first: chosen so that the \
                 speed alone is the measured one",
                100.0 * self.values.chained
            ));
        }
        let mut chains = (self.values.chained * loads / accesses * 1e4).floor() / 1e4;
        let mut region = |share: f64, bytes: u64, source: &str| {
            let chased = round(share.min(chains));
            chains -= chased;
            let line = |share: f64, chase: &str| {
                format!(
                    "  {{ share = {share:.4}, bytes = {bytes}, pattern = \"random\", {chase}\
                     source = \"{source}\", confidence = \"low\" }},\n"
                )
            };
            let rest = round(share - chased);
            match (chased > 0.0, rest > 0.0) {
                (false, _) => line(rest, ""),
                (true, false) => line(chased, "chase = true, "),
                (true, true) => line(chased, "chase = true, ") + &line(rest, ""),
            }
        };
        let memory = region(memory, 67_108_864, &last_source);
        let outer = region(outer, OUTER_BYTES as u64, &first_source);
        format!("regions = [\n{}{outer}{memory}]\n", region(near, 4096, "what does not miss"))
    }
}

/// To the four digits that are written, so that sums stay exact.
fn round(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}
