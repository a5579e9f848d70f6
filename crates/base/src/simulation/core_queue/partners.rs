//! Which programs go well together on a core, from pairs that `cputime --with` measured.

use crate::account::cputime::pairs::{PairSlowdown, Pairs, WithCommand};
use crate::account::cputime::result::CputimeSummary;
use std::path::Path;

/// Programs that are told apart at most, and the letters of a name that the kernel keeps (`comm` of proc(5)).
pub const KINDS_MAX: usize = 16;
pub const NAME_BYTES: usize = 15;

/// Programs by name, and what a core does with two of them, in thousandths of what one does alone; 0: not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Partners {
    names: Vec<String>,
    together: Vec<Vec<u32>>,
}

impl Partners {
    /// Reads what `cputime --with … --json` printed. Errors: a sentence that names line or command.
    pub fn read(text: &str) -> Result<Self, String> {
        let summary: CputimeSummary = serde_json::from_str(text)
            .map_err(|error| format!("not what cputime --with … --json prints: {error}"))?;
        if !summary.cpus.relation.is_smt() {
            return Err(
                "its commands did not run on siblings, so it says nothing about pairs on a core"
                    .to_owned(),
            );
        }
        Self::of(&summary.pairs.ok_or("it has no pairs; cputime --with A,B --json has")?)
    }

    /// Commands of the same program are of one kind: such a pair tells what the program does beside itself.
    fn of(pairs: &Pairs) -> Result<Self, String> {
        let programs: Vec<&str> = pairs.commands.iter().map(name_of).collect::<Result<_, _>>()?;
        let mut names: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names.dedup();
        if let [only] = &names[..] {
            return Err(format!(
                "the kernel calls all its commands '{only}': nobody can be told apart"
            ));
        }
        if names.len() > KINDS_MAX {
            let count = names.len();
            return Err(format!("it has {count} programs; {KINDS_MAX} can be told apart"));
        }
        if let Some(two) = names.windows(2).find(|two| kept(&two[0]) == kept(&two[1])) {
            let [one, other] = [&two[0], &two[1]];
            return Err(format!(
                "'{one}' and '{other}' begin alike, and the kernel keeps {NAME_BYTES} bytes of a name"
            ));
        }
        let kind = |command: usize| {
            let program = programs.get(command)?;
            names.iter().position(|name| name == program)
        };
        let mut all = vec![vec![Vec::new(); names.len()]; names.len()];
        for pair in &pairs.pairs {
            let kinds = kind(pair.a).zip(kind(pair.b));
            let (a, b) = kinds.ok_or_else(|| {
                format!(
                    "a pair is of commands {} and {}; it has {}",
                    pair.a,
                    pair.b,
                    programs.len()
                )
            })?;
            let work = work_of(pair)?;
            all[a][b].push(work);
            all[b][a].push(work);
        }
        let mean = |all: &Vec<f64>| (all.iter().sum::<f64>() / all.len().max(1) as f64) as u32;
        let together = all.iter().map(|row| row.iter().map(mean).collect()).collect();
        let partners = Self { names, together };
        match partners.can_choose() {
            true => Ok(partners),
            false => Err(format!(
                "beside no program two others are known, so that there is nothing to choose; name each twice, like \
                 --with a={0},b={0},…",
                programs.first().unwrap_or(&"CMD")
            )),
        }
    }

    /// Whether beside some program what a core does with two others is known.
    fn can_choose(&self) -> bool {
        let known = |row: &Vec<u32>| row.iter().filter(|work| **work > 0).count() > 1;
        self.together.iter().any(known)
    }

    /// Programs of which nobody measured what they do beside themselves.
    pub fn alone(&self) -> impl Iterator<Item = &str> {
        let is = |(kind, _): &(usize, &String)| self.together(*kind, *kind) == 0;
        self.names.iter().enumerate().filter(is).map(|(_, name)| name.as_str())
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What a core does with two programs, by number, in thousandths of what one does alone; 0: not known.
    pub fn together(&self, one: usize, other: usize) -> u32 {
        self.together.get(one).and_then(|row| row.get(other)).copied().unwrap_or(0)
    }
}

/// The file name of a command's program, of which the kernel keeps the first bytes.
fn name_of(command: &WithCommand) -> Result<&str, String> {
    let program = command.argv.first().filter(|_| !command.row);
    let name = program.and_then(|it| Path::new(it).file_name()).and_then(|it| it.to_str());
    name.filter(|it| !it.contains(char::is_control)).ok_or_else(|| {
        format!("'{}' is no program that the kernel knows by name", command.name.escape_debug())
    })
}

/// What the kernel keeps of a name.
pub fn kept(name: &str) -> &[u8] {
    &name.as_bytes()[..name.len().min(NAME_BYTES)]
}

/// What both sides of a pair do, in thousandths of what one does alone.
fn work_of(pair: &PairSlowdown) -> Result<f64, String> {
    let sides = [pair.slowdown_a, pair.slowdown_b];
    match sides.iter().all(|slowdown| (0.1..=1000.0).contains(slowdown)) {
        true => Ok(sides.iter().map(|slowdown| 1000.0 / slowdown).sum()),
        false => {
            let PairSlowdown { a, b, .. } = pair;
            Err(format!("slowdowns of commands {a} and {b} are {sides:?}, not within 0.1 and 1000"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::cputime::estimate::Estimate;

    fn command(program: &str) -> WithCommand {
        WithCommand { name: program.to_owned(), argv: vec![program.to_owned()], row: false }
    }

    fn pair(a: usize, b: usize, slowdown_a: f64, slowdown_b: f64) -> PairSlowdown {
        let core_yield = Estimate { value: 1.0, low: None, high: None };
        let (low_a, high_a, low_b, high_b) = (None, None, None, None);
        PairSlowdown { a, b, slowdown_a, low_a, high_a, slowdown_b, low_b, high_b, core_yield }
    }

    #[test]
    fn what_a_core_does_with_two_programs_is_taken_from_their_slowdowns() {
        let commands = ["/usr/bin/gzip", "a-name-of-more-than-15", "gzip"].map(command).to_vec();
        let measured = vec![pair(0, 1, 1.25, 2.0), pair(0, 2, 1.6, 1.6), pair(2, 1, 1.25, 4.0)];
        let partners = Partners::of(&Pairs { commands, pairs: measured, placement: None });
        let partners = partners.expect("partners");
        assert_eq!(partners.names(), ["a-name-of-more-than-15", "gzip"]);
        assert_eq!(kept(&partners.names()[0]), b"a-name-of-more-");
        let together = |one, other| partners.together(one, other);
        assert_eq!([together(0, 1), together(1, 0)], [1175, 1175]);
        assert_eq!([together(1, 1), together(0, 0), together(7, 0)], [1250, 0, 0]);
        assert_eq!(partners.alone().collect::<Vec<_>>(), ["a-name-of-more-than-15"]);
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let of = |commands: Vec<WithCommand>, pairs: Vec<PairSlowdown>| {
            Partners::of(&Pairs { commands, pairs, placement: None }).expect_err("refused")
        };
        let two = vec![command("a"), command("b")];
        let row = WithCommand { row: true, ..command("chat") };
        for (why, part) in [
            (of(vec![row], vec![]), "'chat' is no program"),
            (of(vec![command("a\x1b")], vec![]), "'a\\u{1b}' is no program"),
            (of(vec![command("sh"), command("/bin/sh")], vec![]), "all its commands 'sh'"),
            (of(two.clone(), vec![pair(0, 2, 1.0, 1.0)]), "commands 0 and 2; it has 2"),
            (of(two.clone(), vec![pair(0, 1, 1.0, 1.0)]), "name each twice, like --with a=a,b=a"),
            (
                of(["a-long-long-name1", "a-long-long-name2"].map(command).to_vec(), vec![]),
                "begin alike",
            ),
            (of(two, vec![pair(0, 0, 0.0, 1.0)]), "[0.0, 1.0]"),
            (of((0..17).map(|it| command(&it.to_string())).collect(), vec![]), "17 programs"),
            (Partners::read("{").expect_err("refused"), "line 1"),
        ] {
            assert!(why.contains(part), "{why}");
        }
    }
}
