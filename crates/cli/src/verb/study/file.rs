//! `study -f FILE` and `study --write FILE`: the options of a study as a TOML file. Its fields are the names
//! of the options, so that whatever a command line can say a file can say too.

use super::args::{Args, Line};
use crate::exit::usage;
use crate::{host, out};
use anyhow::{Context, Result, anyhow};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};
use coretwin_base::caps;
use coretwin_base::suggest::unknown;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Options that are about the file itself, or about another study.
const NOT_IN_A_FILE: [&str; 4] = ["file", "write", "resume", "help"];

/// The options of a file and those beside `-f`, of which single ones replace the file's and lists go on.
/// The study's command line is from here on what it would be without the file. Errors: what is wrong, with
/// file, line and field.
pub(super) fn read(path: &Path) -> Result<Args> {
    let text = File::open(path).and_then(|file| caps::MODEL.text(file));
    let text = text.map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
    let beside = beside(host::words());
    let (args, words) = joined(&path.display().to_string(), &text, beside)?;
    host::said(words);
    Ok(args)
}

/// The options of a file's text with others beside it, and all of them as words.
fn joined(name: &str, toml: &str, beside: Vec<String>) -> Result<(Args, Vec<String>)> {
    let file = parse(name, toml)?;
    let (tail, lines) = (file.tail, file.lines);
    let words = [file.words, beside, tail].concat();
    let command = Line::command().args_override_self(true);
    let read =
        command.try_get_matches_from(&words).and_then(|matches| Line::from_arg_matches(&matches));
    let args = read.map_err(|error| said(name, &lines, error))?.into_args();
    // Said once each, so that the words alone are a command line too.
    let once = parse(name, &text(&words)?)?;
    Ok((args, [vec!["coretwin".to_owned()], once.words, once.tail].concat()))
}

/// What was typed after the verb, without the file.
fn beside(words: Vec<String>) -> Vec<String> {
    let mut left = Vec::new();
    let mut words = words.into_iter().skip(2);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-f" | "--file" => drop(words.next()),
            _ if word.starts_with("--file=")
                || (word.starts_with("-f") && !word.starts_with("--")) => {}
            _ => left.push(word),
        }
    }
    left
}

#[derive(Debug)]
struct Read {
    /// `study` and its options.
    words: Vec<String>,
    /// What stands after all options: workloads, and the command behind `--`.
    tail: Vec<String>,
    /// Line of each field.
    lines: BTreeMap<String, usize>,
}

fn parse(name: &str, text: &str) -> Result<Read> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        usage(format!("{name}:{line}: {}", error.message()))
    })?;
    let command = Line::command();
    let mut file =
        Read { words: vec!["study".to_owned()], tail: Vec::new(), lines: BTreeMap::new() };
    let mut measured = Vec::new();
    for (key, value) in table.get_ref() {
        let (line, field) = (line_of(text, key.span().start), key.get_ref().as_ref());
        let bad = |why: String| usage(format!("{name}:{line}: field {field}: {why}"));
        let Some(arg) = in_file(&command).find(|arg| field_of(arg) == field) else {
            let names: Vec<String> = in_file(&command).map(field_of).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(usage(format!("{name}:{line}: {}", unknown("field", field, &names))));
        };
        let values = values(arg, value.get_ref()).map_err(bad)?;
        file.lines.insert(field.to_owned(), line);
        match arg.get_id().as_str() {
            "command" => measured = ["--".to_owned()].into_iter().chain(values.concat()).collect(),
            "workloads" => file.tail.extend(values.concat()),
            _ => file.words.extend(values.into_iter().flat_map(|values| words(arg, values))),
        }
    }
    file.tail.extend(measured);
    Ok(file)
}

fn in_file(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !NOT_IN_A_FILE.contains(&arg.get_id().as_str()))
}

fn field_of(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().to_string(), str::to_owned)
}

/// How many values an option takes at a time.
fn width(arg: &Arg) -> usize {
    arg.get_num_args().map_or(1, |range| range.max_values())
}

fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

/// The values of each time that the option stands there; a flag has none.
fn values(arg: &Arg, value: &DeValue<'_>) -> Result<Vec<Vec<String>>, String> {
    let one = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        other => Err(format!("a text or number was expected, not this {}", kind(other))),
    };
    let all = |values: &[_]| {
        values.iter().map(|value: &toml::Spanned<DeValue<'_>>| one(value.get_ref())).collect()
    };
    let wants = width(arg);
    match (value, arg.get_action()) {
        (DeValue::Boolean(true), ArgAction::SetTrue) => Ok(vec![Vec::new()]),
        (DeValue::Boolean(false), ArgAction::SetTrue) => Ok(Vec::new()),
        (_, ArgAction::SetTrue) => Err("true or false was expected".to_owned()),
        (DeValue::Array(lists), _) if is_list(arg) && (2..usize::MAX).contains(&wants) => {
            let lists = lists.iter().map(|list| match list.get_ref() {
                DeValue::Array(values) if values.len() == wants => all(values),
                _ => Err(format!("lists of {wants} texts were expected, like [[\"n\", …]]")),
            });
            lists.collect()
        }
        (DeValue::Array(values), _) if is_list(arg) => {
            Ok(all(values)?.into_iter().map(|value| vec![value]).collect())
        }
        (DeValue::Array(_), _) => Err("one value was expected, not a list".to_owned()),
        (value, _) if !(is_list(arg) && wants > 1 && wants < usize::MAX) => {
            Ok(vec![vec![one(value)?]])
        }
        _ => Err(format!("lists of {wants} texts were expected, like [[\"n\", …]]")),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "date",
        DeValue::Array(_) => "list",
        DeValue::Table(_) => "table",
        _ => "value",
    }
}

/// An option as it is typed.
fn words(arg: &Arg, values: Vec<String>) -> Vec<String> {
    let long = format!("--{}", field_of(arg));
    match values.as_slice() {
        [one] => vec![format!("{long}={one}")],
        _ => [long].into_iter().chain(values).collect(),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// What the reader of options said, with the line of the field it is about.
fn said(name: &str, lines: &BTreeMap<String, usize>, error: clap::Error) -> anyhow::Error {
    let about = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        _ => String::new(),
    };
    let about = about.trim_start_matches("--").split([' ', '=', '[']).next().unwrap_or_default();
    let text = Line::words_of(error);
    match lines.get(about) {
        Some(line) => usage(format!("{name}:{line}: field {about}: {text}")),
        None => usage(format!("{name}: {text}")),
    }
}

/// Writes the options of this command line as a file; nothing is run. Errors: if it cannot be written, or
/// what was asked for makes no study.
pub(super) fn write(path: &Path, args: &Args) -> Result<()> {
    args.request()?;
    let mut words: Vec<String> = host::words().into_iter().skip(1).collect();
    without_write(&mut words);
    let text = text(&words).with_context(|| format!("writing {}", path.display()))?;
    out::file(path, text.as_bytes())?;
    out::news(&format!("written; run it with: {}", out::command("study -f", path)));
    Ok(())
}

fn without_write(words: &mut Vec<String>) {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    if let Some(at) = words[..end].iter().position(|word| word == "--write") {
        words.drain(at..(at + 2).min(words.len()));
    }
    words.retain(|word| !word.starts_with("--write="));
}

/// The options of `study …` as TOML, in the order of `--help`.
fn text(words: &[String]) -> Result<String> {
    let command = Line::command().args_override_self(true);
    let matches =
        command.clone().try_get_matches_from(words).map_err(|error| anyhow!("{error}"))?;
    let mut text =
        "# coretwin study -f THIS-FILE; fields are the options of coretwin study --help\n"
            .to_owned();
    let typed =
        |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    for arg in in_file(&command).filter(typed) {
        let id = arg.get_id().as_str();
        let raw = matches.get_raw_occurrences(id).into_iter().flatten();
        let raw: Vec<Vec<String>> = raw
            .map(|values| values.map(|value| value.to_str().map(str::to_owned)).collect())
            .collect::<Option<_>>()
            .with_context(|| format!("{} is not UTF-8", field_of(arg)))?;
        let wants = width(arg);
        let value = match arg.get_action() {
            ArgAction::SetTrue => "true".to_owned(),
            _ if !is_list(arg) => {
                shown(raw.iter().flatten().next_back().map_or("", String::as_str))
            }
            _ if (2..usize::MAX).contains(&wants) => {
                list(raw.iter().map(|values| list(values.iter().map(|value| quoted(value)))))
            }
            _ => list(raw.iter().flatten().map(|value| quoted(value))),
        };
        text += &format!("{} = {value}\n", field_of(arg));
    }
    Ok(text)
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// A number as such, if it reads back as it was typed.
fn shown(value: &str) -> String {
    match value.parse::<i64>() {
        Ok(number) if number.to_string() == value => value.to_owned(),
        _ => quoted(value),
    }
}

/// A text as TOML has it: JSON's escapes are among its own, but for the one control sign that JSON leaves.
pub(crate) fn quoted(value: &str) -> String {
    Value::from(value).to_string().replace('\u{7f}', "\\u007F")
}

/// JSON schema of the file.
pub(crate) fn schema() -> Value {
    let command = Line::command();
    let one = json!({"type": ["string", "number"]});
    let property = |arg: &Arg| {
        let wants = width(arg);
        let mut property = match arg.get_action() {
            ArgAction::SetTrue => json!({"type": "boolean"}),
            _ if !is_list(arg) => one.clone(),
            _ if (2..usize::MAX).contains(&wants) => json!({
                "type": "array",
                "items": {"type": "array", "items": one, "minItems": wants, "maxItems": wants},
            }),
            _ => json!({"anyOf": [one, {"type": "array", "items": one}]}),
        };
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        property["description"] = about.into();
        (field_of(arg), property)
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "study.toml: a study of Coretwin, as coretwin study -f reads it",
        "type": "object",
        "additionalProperties": false,
        "properties": in_file(&command).map(property).collect::<serde_json::Map<_, _>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(words: &[&str]) -> Vec<String> {
        ["study"].iter().chain(words).map(|word| (*word).to_owned()).collect()
    }

    /// What the words ask for, and what the file made of them asks for.
    fn both(words: &[String]) -> (Args, Args) {
        let text = text(words).expect("a file");
        let (again, _) =
            joined("study.toml", &text, Vec::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        (Line::read(words.to_vec()).expect("options"), again)
    }

    #[test]
    fn whatever_a_command_line_says_a_file_says_too() {
        for typed in [
            "chat:rooms=20 tbench --placement same-cpu,cores --quick",
            "--arm a=cpus:0 --arm=b=cpus:1 --blocks 4 -- ./x -t {threads} --out",
            "--variant 'a=x \"\\\t{n}' --variant 'b=y\u{7f}é' -L n -1,2 -P m -1 3 -D 0.5",
            "--wait-quiet --target 0.5% --margin=3% --seed 7 --out 007 chat",
            "--fail-on hurts,inconclusive --budget 1h --until verdict --yes -- true",
            "--metric 'a:s=x=([0-9]+)' --metric b=/p --server s --ready r -- l",
        ] {
            let words = shlex::split(&format!("study {typed}")).expect("words");
            let (typed, read) = both(&words);
            assert_eq!(format!("{typed:?}"), format!("{read:?}"), "{words:?}");
        }
    }

    proptest! {
        /// Texts with every sign that a command line can hold.
        #[test]
        fn any_text_comes_back_as_it_was(
            texts in prop::collection::vec("[^\u{0}]*", 3),
            command in prop::collection::vec("[^\u{0}]+", 1..4),
            values in "[^\u{0}-][^\u{0}]*",
            blocks in 1u32..10_000,
            quick in any::<bool>(),
        ) {
            let named = |name: &str, text: &str| format!("--{name}={text}");
            let mut words = line(&["--parameter-list", "n", &values, "--arm", "on"]);
            words.extend(["setup", "prepare", "out"].iter().zip(&texts).map(|(name, text)| named(name, text)));
            words.push(if quick { "--quick".to_owned() } else { named("blocks", &blocks.to_string()) });
            words.push("--".to_owned());
            words.extend(command);
            prop_assume!(Line::read(words.clone()).is_ok());
            let (typed, read) = both(&words);
            prop_assert_eq!(format!("{typed:?}"), format!("{read:?}"));
        }
    }

    #[test]
    fn every_option_but_those_of_the_file_itself_can_stand_in_it() {
        let schema = schema();
        let fields = schema["properties"].as_object().expect("fields");
        let command = Line::command();
        let all = command.get_arguments().map(field_of).filter(|name| name != "help");
        let missing: Vec<String> = all.filter(|name| !fields.contains_key(name)).collect();
        assert_eq!(missing, ["resume", "file", "write"]);
    }

    #[test]
    fn a_broken_file_is_told_by_line_and_field() {
        for (text, wanted) in [
            (
                "quick = true\nblokcs = 4\n",
                "study.toml:2: there is no field 'blokcs'; did you mean 'blocks'?",
            ),
            ("\n\nblocks = 0\n", "study.toml:3: field blocks: "),
            ("quick = 1\n", "study.toml:1: field quick: true or false was expected"),
            (
                "arm = [1, [2]]\n",
                "study.toml:1: field arm: a text or number was expected, not this list",
            ),
            (
                "parameter-list = [[\"n\"]]\n",
                "study.toml:1: field parameter-list: lists of 2 texts",
            ),
            ("blocks = [1]\n", "study.toml:1: field blocks: one value was expected"),
            ("blocks = 4\nquick = true\n", "study.toml:"),
            ("blocks = \n", "study.toml:1: "),
            ("seed = \"x\"\n", "study.toml:1: field seed: "),
        ] {
            let error = joined("study.toml", text, Vec::new()).expect_err(text).to_string();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }

    #[test]
    fn options_beside_a_file_replace_its_own_and_lists_go_on() {
        let text = "blocks = 4\narm = [\"a=cpus:0\"]\ncommand = [\"true\"]\n";
        let typed = line(&["--blocks", "8", "--arm", "b=cpus:1"]).split_off(1);
        for file in ["-f study.toml", "--file study.toml", "--file=study.toml", "-fstudy.toml"] {
            let call = format!("coretwin study {file} --blocks 8 --arm b=cpus:1");
            assert_eq!(beside(call.split(' ').map(str::to_owned).collect()), typed, "{file}");
        }
        let (args, words) = joined("study.toml", text, typed).expect("options");
        let request = args.request().expect("a request");
        assert_eq!((request.blocks, request.arms.len()), (Some(8), 2));
        let once =
            ["coretwin", "study", "--arm=a=cpus:0", "--arm=b=cpus:1", "--blocks=8", "--", "true"];
        assert_eq!(words, once);
    }
}
