//! Steps of programs as a scenario file writes them: each a table whose first word says what is done.
//! Loops hold their steps; in the program they become jumps, and names become numbers.

use crate::Result;
use crate::built_in::BuiltIn;
use crate::core::profile;
use crate::document::Table;
use crate::kernel::{Access, Amount, Children, CpuSet, ProfileId, Step, Which};
use coretwin_base::suggest;

const DEPTH_MAX: usize = 16;

/// The most of any time, in µs: an hour.
const MICROSECONDS_MAX: f64 = 3.6e9;

const AMOUNT_MAX: u64 = 1 << 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    kind: &'static str,
    pub(super) names: Vec<String>,
}

impl Names {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, names: Vec::new() }
    }

    pub(super) fn declare(&mut self, table: &Table<'_>, key: &str, name: &str) -> Result<()> {
        if self.names.iter().any(|known| known == name) {
            return Err(table.refuse(key, format!("there are two of the {} '{name}'", self.kind)));
        }
        self.names.push(name.to_owned());
        Ok(())
    }

    /// The number of a name; a new name gets the next.
    pub(super) fn number_or_new(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u32
    }

    pub(super) fn number(&self, table: &mut Table<'_>, key: &str) -> Result<u32> {
        let name = table.words(key)?;
        let number = self.names.iter().position(|known| known == name);
        number.map(|number| number as u32).ok_or_else(|| {
            let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
            match known.is_empty() {
                true => table.refuse(key, format!("there is no {} '{name}', nor any", self.kind)),
                false => table.refuse(key, suggest::unknown(self.kind, name, &known)),
            }
        })
    }

    fn which(&self, table: &mut Table<'_>, key: &str) -> Result<Which> {
        self.number(table, key).map(Which::Number)
    }
}

#[derive(Debug)]
pub(super) struct Vocabulary {
    pub(super) programs: Names,
    pub(super) sockets: Names,
    pub(super) semaphores: Names,
    pub(super) locks: Names,
    pub(super) barriers: Names,
    pub(super) files: Names,
    pub(super) operations: Names,
    pub(super) profiles: Names,
    /// The kind of work where a step names none.
    pub(super) profile: Option<String>,
}

impl Vocabulary {
    pub(super) fn new(profile: Option<String>) -> Self {
        Self {
            programs: Names::new("program"),
            sockets: Names::new("socket"),
            semaphores: Names::new("semaphore"),
            locks: Names::new("lock"),
            barriers: Names::new("barrier"),
            files: Names::new("file"),
            operations: Names::new("operation"),
            profiles: Names::new("profile"),
            profile,
        }
    }
}

/// What a step may say it does: one of these words is in its table.
const VERBS: &str = "compute_us compute_uops system_call_us sleep_us period_us send_bytes \
                     receive_bytes down up lock unlock barrier fork exec wait exit read_bytes \
                     write_bytes synchronise forget disk_bytes yield cpus nice begin done steps";

pub(super) fn program(table: &mut Table<'_>, words: &mut Vocabulary) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    list(table, words, &mut steps, 0)?;
    if steps.is_empty() {
        return Err(table.refuse("steps", "has no step"));
    }
    Ok(steps)
}

fn list(
    table: &mut Table<'_>,
    words: &mut Vocabulary,
    steps: &mut Vec<Step>,
    depth: usize,
) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(table.refuse("steps", format!("more than {DEPTH_MAX} loops in each other")));
    }
    if !table.has("steps") {
        return Err(table.refuse("", "has no 'steps'"));
    }
    table.each("steps", |inner| {
        match inner.has("steps") {
            true => looped(inner, words, steps, depth)?,
            false => steps.push(step(inner, words)?),
        }
        Ok(())
    })?;
    Ok(())
}

fn looped(
    table: &mut Table<'_>,
    words: &mut Vocabulary,
    steps: &mut Vec<Step>,
    depth: usize,
) -> Result<()> {
    let from = steps.len() as u32;
    let forever = table.flag("forever")?;
    let times = match (forever, table.has("repeat")) {
        (true, false) => None,
        (false, true) => Some(less_one(amount(table, "repeat")?)),
        _ => return Err(table.refuse("steps", "needs either repeat = N or forever = true")),
    };
    list(table, words, steps, depth + 1)?;
    if !steps[from as usize..].iter().any(Step::takes_time) {
        return Err(table.refuse("steps", "a loop of zero length: nothing in it takes time"));
    }
    steps.push(match times {
        Some(times) => Step::Repeat { from, times },
        None => Step::Forever { from },
    });
    Ok(())
}

/// The engine counts repetitions beyond the first time.
fn less_one(times: Amount) -> Amount {
    let less = |times: u64| times.saturating_sub(1);
    match times {
        Amount::Fixed(times) => Amount::Fixed(less(times)),
        Amount::Between(low, high) => Amount::Between(less(low), less(high)),
        Amount::Mean(mean) => Amount::Mean(less(mean)),
    }
}

fn step(table: &mut Table<'_>, words: &mut Vocabulary) -> Result<Step> {
    let keys = table.keys();
    let mut verbs = VERBS.split(' ').filter(|verb| keys.contains(verb));
    let verb = verbs.next();
    if let (Some(verb), Some(second)) = (verb, verbs.next()) {
        let why = format!("a step does one thing, and this one has '{verb}': make it two steps");
        return Err(table.refuse(second, why));
    }
    let Some(verb) = verb else {
        let nearest = |key| suggest::nearest(key, VERBS.split(' '));
        let near = keys.iter().find_map(|key| Some((*key, nearest(key)?)));
        return Err(match near {
            Some((key, verb)) => table.refuse(key, format!("is unknown; did you mean '{verb}'?")),
            None => {
                let known = VERBS.replace(' ', ", ");
                table.refuse("", format!("does nothing; a step has one of {known}"))
            }
        });
    };
    let known = [("next", Access::Next), ("random", Access::Random)];
    let access = |table: &mut Table<'_>| table.choice_or("access", &known, Access::Next);
    let count = |table: &mut Table<'_>| table.whole_or("count", 1..=1_000_000, 1);
    let children = [("one", Children::One), ("all", Children::All)];
    let amount = |table: &mut Table<'_>| amount(table, verb);
    Ok(match verb {
        "compute_us" => Step::ComputeFor { ns: amount(table)?, profile: profile(table, words)? },
        "compute_uops" => Step::Compute { uops: amount(table)?, profile: profile(table, words)? },
        "system_call_us" => Step::SystemCall { ns: amount(table)? },
        "sleep_us" => Step::Sleep { ns: amount(table)? },
        "period_us" => Step::Period { ns: time(table.number(verb, 0.001..=MICROSECONDS_MAX)?) },
        "send_bytes" => {
            Step::Send { bytes: amount(table)?, socket: words.sockets.which(table, "socket")? }
        }
        "receive_bytes" => {
            Step::Receive { bytes: amount(table)?, socket: words.sockets.which(table, "socket")? }
        }
        "down" => {
            Step::Down { semaphore: words.semaphores.which(table, verb)?, count: count(table)? }
        }
        "up" => Step::Up { semaphore: words.semaphores.which(table, verb)?, count: count(table)? },
        "lock" => Step::Lock(words.locks.which(table, verb)?),
        "unlock" => Step::Unlock(words.locks.which(table, verb)?),
        "barrier" => Step::Barrier { barrier: words.barriers.which(table, verb)? },
        "fork" => {
            let program = words.programs.number(table, verb)?;
            Step::Fork { program, thread: table.flag("thread")? }
        }
        "wait" => Step::Wait(table.choice(verb, &children)?),
        "read_bytes" | "write_bytes" => {
            let (bytes, file) = (amount(table)?, words.files.which(table, "file")?);
            let access = access(table)?;
            match verb {
                "read_bytes" => Step::Read { file, bytes, access },
                _ => Step::Write { file, bytes, access },
            }
        }
        "synchronise" => Step::Synchronise(words.files.which(table, verb)?),
        "forget" => Step::Forget(words.files.which(table, verb)?),
        "disk_bytes" => Step::Disk { bytes: amount(table)? },
        "cpus" => Step::SetMask(cpus(table, verb)?),
        "nice" => Step::SetNice(table.whole(verb, -20..=19)?),
        "done" => Step::Done(words.operations.number_or_new(table.words(verb)?)),
        word => plain(table, word)?,
    })
}

fn plain(table: &mut Table<'_>, word: &str) -> Result<Step> {
    if !table.flag(word)? {
        return Err(table.refuse(word, "is false; leave the step out instead"));
    }
    Ok(match word {
        "exec" => Step::Exec,
        "exit" => Step::Exit,
        "yield" => Step::Yield,
        _ => Step::Begin,
    })
}

fn profile(table: &mut Table<'_>, words: &mut Vocabulary) -> Result<ProfileId> {
    let name = match (table.has("profile"), &words.profile) {
        (true, _) => table.words("profile")?.to_owned(),
        (false, Some(name)) => name.clone(),
        (false, None) => {
            return Err(table.refuse("", "names no 'profile', and the scenario has none either"));
        }
    };
    known_profile(table, "profile", &name)?;
    Ok(ProfileId(words.profiles.number_or_new(&name) as u16 + 1))
}

pub(super) fn known_profile(table: &Table<'_>, key: &str, name: &str) -> Result<()> {
    let found = BuiltIn::find(profile::table::ALL, "profile", name);
    found.map(|_| ()).map_err(|problem| table.refuse(key, problem))
}

/// CPUs: a list as `0,2-3`, or `all`.
pub(super) fn cpus(table: &mut Table<'_>, key: &str) -> Result<Option<CpuSet>> {
    match table.words(key)? {
        "all" => Ok(None),
        text => match CpuSet::parse(text) {
            Ok(set) if !set.is_empty() => Ok(Some(set)),
            Ok(_) => Err(table.refuse(key, "names no CPU")),
            Err(error) => Err(table.refuse(key, format!("is no list of CPUs: {error}"))),
        },
    }
}

fn time(microseconds: f64) -> u64 {
    libm::round(microseconds * 1000.0) as u64
}

/// An amount: `5` always, `[2, 8]` evenly between, `{ mean = 5 }` exponentially. A time if its key ends in
/// `_us`, else a whole number.
fn amount(table: &mut Table<'_>, key: &str) -> Result<Amount> {
    let is_time = key.ends_with("_us");
    let most = if is_time { MICROSECONDS_MAX } else { AMOUNT_MAX as f64 };
    let scaled = |number: f64| if is_time { time(number) } else { number as u64 };
    let found = if table.holds_list(key) {
        let numbers = table.numbers(key, 0.0..=most)?;
        let [low, high] = numbers[..] else {
            return Err(table.refuse(key, "must hold two numbers, the least and the most"));
        };
        if low > high {
            return Err(table.refuse(key, format!("goes from {low} down to {high}")));
        }
        Amount::Between(scaled(low), scaled(high))
    } else if table.holds_table(key) {
        Amount::Mean(scaled(table.section(key, |inner| inner.number("mean", 0.001..=most))?))
    } else if is_time {
        Amount::Fixed(scaled(table.number(key, 0.0..=most)?))
    } else {
        Amount::Fixed(table.whole(key, 0..=AMOUNT_MAX)?)
    };
    match key == "repeat" && found == Amount::Fixed(0) {
        true => Err(table.refuse(key, "is 0; leave the loop out instead")),
        false => Ok(found),
    }
}
