//! What the reader of the command line says of slips, in words for people who write no Rust.

use crate::out;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use coretwin_base::printable::is_steering;
use std::path::Path;

const WORDS: [(&str, &str); 5] = [
    ("invalid digit found in string", "it is not a whole number"),
    ("cannot parse integer from empty string", "it is not a whole number"),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    ("invalid float literal", "it is not a number"),
];

pub(crate) fn in_words(error: clap::Error) -> clap::Error {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        _ => return error,
    };
    match (error.kind(), error.get(ContextKind::InvalidValue)) {
        (ErrorKind::UnknownArgument, _) if is_number(&argument) => clap::Error::raw(
            ErrorKind::UnknownArgument,
            format!(
                "'{argument}…' is no option, and no number here is below 0; a text that begins with \
                 - is written with =, like --name=-text\n"
            ),
        ),
        // Some verbs take a command and nothing else.
        (ErrorKind::UnknownArgument, _) if is_command(&argument) => clap::Error::raw(
            ErrorKind::UnknownArgument,
            format!("unexpected argument '{argument}'; a command follows --, like -- {argument}\n"),
        ),
        (ErrorKind::ValueValidation, Some(ContextValue::String(value))) => {
            let said = std::error::Error::source(&error).map(ToString::to_string);
            let said = said.unwrap_or_default();
            match WORDS.iter().find(|(from, _)| *from == said) {
                Some((_, words)) => clap::Error::raw(
                    ErrorKind::ValueValidation,
                    format!("invalid value '{value}' for '{argument}': {words}\n"),
                ),
                None => error,
            }
        }
        _ => error,
    }
}

/// Prints the error, or the help that was asked for, and ends. Its colours are for words that steer
/// no terminal.
pub(crate) fn exit(error: clap::Error) -> ! {
    let plain = error.render().to_string();
    if !error.use_stderr() || !plain.contains(|c| is_steering(c) && !matches!(c, '\n' | '\t')) {
        error.exit();
    }
    out::err(&plain);
    std::process::exit(error.exit_code())
}

fn is_number(argument: &str) -> bool {
    argument.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a program or a file is at this path.
fn is_command(argument: &str) -> bool {
    argument.contains('/') && !argument.starts_with('-') && Path::new(argument).exists()
}
