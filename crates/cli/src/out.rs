//! Writing to standard output, where a closed pipe is not a panic, and to files that users named.

use anyhow::{Context, Result};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Prints a text as it is.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a text to the file that somebody named, else prints it.
pub(crate) fn to(named: Option<&Path>, text: &str) -> Result<()> {
    named.map_or_else(|| self::text(text), |path| file(path, text))
}

/// Writes a file whole.
pub(crate) fn file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Prints a record as JSON.
pub(crate) fn json<T: Serialize>(record: &T) -> Result<()> {
    text(&(serde_json::to_string_pretty(record)? + "\n"))
}

/// Prints a line of news on standard error, where it does not mix with results. Where it cannot be
/// written (its disk is full, its reader gone), nobody is told, and the work goes on.
pub(crate) fn news(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether lines can be drawn over: a terminal that moves its cursor.
pub(crate) fn redraws(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
