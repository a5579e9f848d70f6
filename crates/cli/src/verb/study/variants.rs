//! Commands against commands: `--variant`, and the parameters that are filled into commands. Options are
//! written as hyperfine has them.

use crate::exit::usage;
use anyhow::Result;
use coretwin_base::parameters::{ParamValue, label};
use coretwin_base::study::plan::Variant;

/// The most combinations of parameters' values.
const VALUES_MAX: usize = 1_000;

/// A command as typed: `[NAME=]CMD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Typed {
    name: Option<String>,
    pub(crate) line: String,
}

pub(crate) fn typed(text: &str) -> Result<Typed, String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
    };
    let (name, line) = match text.split_once('=') {
        Some((name, line)) if is_name(name) => (Some(name.to_owned()), line),
        _ => (None, text),
    };
    match line.trim() {
        "" => Err("it names no command; write it like new='./new --fast'".to_owned()),
        line => Ok(Typed { name, line: line.to_owned() }),
    }
}

/// Parameters with their values: of `-L NAME VALUES` and `-P NAME MIN MAX`, flat as typed. Errors: values
/// that cannot be counted through.
pub(super) fn parameters(
    lists: &[String],
    scans: &[String],
    step: Option<&str>,
) -> Result<Vec<(String, Vec<String>)>> {
    let mut all = Vec::new();
    for list in lists.chunks_exact(2) {
        all.push((list[0].clone(), list[1].split(',').map(str::to_owned).collect()));
    }
    for scan in scans.chunks_exact(3) {
        let values = scanned(&scan[1], &scan[2], step.unwrap_or("1"))
            .map_err(|why| usage(format!("-P {}: {why}", scan[0])))?;
        all.push((scan[0].clone(), values));
    }
    let combined = all.iter().try_fold(1usize, |all, (_, values)| all.checked_mul(values.len()));
    if combined.is_none_or(|combined| combined > VALUES_MAX) {
        return Err(usage(format!(
            "the parameters' values have more than {VALUES_MAX} combinations, each of which would be \
             run in every block; name fewer values"
        )));
    }
    let named = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    match all.iter().find(|(name, _)| name.is_empty() || !named(name)) {
        Some((name, _)) => {
            Err(usage(format!("'{name}' is no name of a parameter; use letters and digits")))
        }
        None => Ok(all),
    }
}

/// From one number to another in steps, in whole units of the last decimal, so that 0.1 thrice is 0.3.
fn scanned(min: &str, max: &str, step: &str) -> Result<Vec<String>, String> {
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, rest)| rest.len());
    let places = [min, max, step].map(decimals).into_iter().max().unwrap_or(0);
    let units = |text: &str| {
        let bad = || format!("'{text}' is not a number with at most 9 decimals");
        let number = text.parse::<f64>().map_err(|_| bad())?;
        let units = number * 10f64.powi(places as i32);
        if places <= 9 && units.abs() < 1e15 { Ok(units.round() as i64) } else { Err(bad()) }
    };
    let (low, high, step) = (units(min)?, units(max)?, units(step)?);
    if step <= 0 || high < low {
        return Err(format!("there is nothing from {min} to {max} in steps of {step}"));
    }
    if (high - low) / step >= VALUES_MAX as i64 {
        return Err(format!("more than {VALUES_MAX} values; give a larger step with -D"));
    }
    let value = |units: i64| format!("{:.places$}", units as f64 / 10f64.powi(places as i32));
    Ok((0..=(high - low) / step).map(|count| value(low + count * step)).collect())
}

/// The commands to compare. One alone is compared with itself at every combination of the parameters'
/// values, which are used up by that.
pub(crate) fn resolve(
    typed: &[Typed],
    shell: Option<&str>,
    parameters: &mut Vec<(String, Vec<String>)>,
) -> Result<Vec<Variant>> {
    let shell = shell_for(typed, shell)?;
    let mut variants = Vec::new();
    for Typed { name, line } in typed {
        let bare = || usage(format!("a quote is left open in the command {line}"));
        let words = shlex::split(line).ok_or_else(bare)?;
        let program = words.first().map(|word| word.rsplit('/').next().unwrap_or_default());
        let name = name.clone().or(program.map(str::to_owned)).unwrap_or_default();
        let argv = match &shell {
            None => words,
            Some(shell) => {
                let own = ["-c".to_owned(), line.clone()];
                shell.iter().cloned().chain(own).collect()
            }
        };
        variants.push(Variant { name, argv, ..Variant::default() });
    }
    if variants.len() == 1 && !parameters.is_empty() {
        variants = at_values(variants, std::mem::take(parameters));
    }
    for (place, variant) in variants.iter().enumerate() {
        if variants[..place].iter().any(|other| other.name == variant.name) {
            return Err(usage(format!(
                "two commands are called '{}'; name them, like old='./a' and new='./b'",
                variant.name
            )));
        }
    }
    Ok(variants)
}

/// Commands at every combination of the parameters' values, which are their names.
fn at_values(commands: Vec<Variant>, parameters: Vec<(String, Vec<String>)>) -> Vec<Variant> {
    let mut all = parameters.into_iter().fold(commands, |commands, (name, values)| {
        let with = |variant: &Variant, value: &String| {
            let mut variant = variant.clone();
            variant.params.insert(name.clone(), ParamValue::parse(value));
            variant
        };
        let at = |variant| values.iter().map(move |value| with(variant, value));
        commands.iter().flat_map(at).collect()
    });
    for variant in &mut all {
        variant.name = label("", &variant.params).trim_start_matches(':').to_owned();
    }
    all
}

/// The shell of all commands; `None` if they need none. One that only starts programs would add the same
/// time to each, which makes their ratio smaller than it is.
fn shell_for(typed: &[Typed], shell: Option<&str>) -> Result<Option<Vec<String>>> {
    let needs_one = |line: &str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        line.contains(|c| "|&;<>()$`*?[]#~!\n".contains(c)) || first.contains('=')
    };
    match shell {
        Some("none") => Ok(None),
        None if !typed.iter().any(|one| needs_one(&one.line)) => Ok(None),
        Some("default") | None => Ok(Some(vec!["/bin/sh".to_owned()])),
        Some(shell) => match shlex::split(shell).filter(|words| !words.is_empty()) {
            Some(words) => Ok(Some(words)),
            None => Err(usage(format!("--shell: '{shell}' names no shell"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str], shell: Option<&str>) -> Vec<Variant> {
        let typed: Vec<Typed> = lines.iter().map(|line| typed(line).expect(line)).collect();
        resolve(&typed, shell, &mut Vec::new()).expect("variants")
    }

    #[test]
    fn a_shell_is_there_for_all_commands_or_for_none() {
        let plain = of(&["./old 'a b' {x}", "fast=./new {x}"], None);
        assert_eq!(plain[0].argv, ["./old", "a b", "{x}"]);
        assert_eq!([&*plain[0].name, &*plain[1].name], ["old", "fast"]);
        for lines in [["a=X=1 ./old", "b=./new"], ["a=./old > /dev/null", "b=./new"]] {
            let argv: Vec<_> = of(&lines, None).into_iter().map(|one| one.argv).collect();
            assert!(argv.iter().all(|argv| argv[..2] == ["/bin/sh", "-c"]), "{argv:?}");
        }
        assert_eq!(of(&["a=echo *", "b=x"], Some("none"))[0].argv, ["echo", "*"]);
        assert_eq!(of(&["a=x", "b=y"], Some("bash -e"))[0].argv, ["bash", "-e", "-c", "x"]);
        for (line, shell) in
            [("gzip -c f", None), ("gzip -c f > g", None), ("gzip -c f", Some("bash -e"))]
        {
            assert_eq!(of(&[&format!("a={line}"), "b=x"], shell)[0].typed(), line);
        }
    }

    #[test]
    fn scans_count_through_in_the_decimals_that_were_typed() {
        assert_eq!(scanned("0", "0.3", "0.1").expect("scan"), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(scanned("1", "6", "2").expect("scan"), ["1", "3", "5"]);
        assert_eq!(scanned("-1", "1", "1").expect("scan"), ["-1", "0", "1"]);
        for (min, max, step) in
            [("2", "1", "1"), ("0", "1", "0"), ("x", "1", "1"), ("0", "1e9", "1")]
        {
            assert!(scanned(min, max, step).is_err(), "{min} {max} {step}");
        }
    }

    #[test]
    fn one_command_is_compared_at_the_values_of_its_parameters() {
        let mut parameters = vec![
            ("n".to_owned(), vec!["1".to_owned(), "2".to_owned()]),
            ("m".to_owned(), vec!["a".to_owned(), "b".to_owned()]),
        ];
        let typed = [typed("make -j {n} {m}").expect("typed")];
        let variants = resolve(&typed, None, &mut parameters).expect("variants");
        let names: Vec<&str> = variants.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["m=a,n=1", "m=b,n=1", "m=a,n=2", "m=b,n=2"]);
        assert!(parameters.is_empty());
    }

    #[test]
    fn two_of_one_name_and_open_quotes_are_refused() {
        for lines in [["gcc -O2", "gcc -O3"], ["a='x", "b=y"]] {
            let typed: Vec<Typed> = lines.iter().map(|line| typed(line).expect(line)).collect();
            assert!(resolve(&typed, None, &mut Vec::new()).is_err(), "{lines:?}");
        }
        assert!(typed("new= ").is_err());
    }
}
