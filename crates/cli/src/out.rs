//! Writing to standard output, where a closed pipe is not a panic, and to files that users named.

use anyhow::{Context, Result};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

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

/// The folder that a folder of results is to be in, if it is not there.
pub(crate) fn missing_parent(folder: &Path) -> Option<PathBuf> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.filter(|parent| !parent.exists()).map(Path::to_owned)
}

/// Says where results go, and which folder was made for them: it may be a slip of the keyboard.
pub(crate) fn results_go_to(folder: &Path, made: Option<&Path>) {
    let made = made.map(|made| format!(" (made {}, which was not there)", made.display()));
    news(&format!("results go to {}{}", folder.display(), made.unwrap_or_default()));
}

/// Whether lines can be drawn over: a terminal that moves its cursor.
pub(crate) fn redraws(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
