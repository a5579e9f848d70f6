//! Writing to standard output, where a closed pipe is not a panic.

use anyhow::Result;
use serde::Serialize;
use std::io::Write;

/// Prints a text as it is.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a record as JSON.
pub(crate) fn json<T: Serialize>(record: &T) -> Result<()> {
    text(&(serde_json::to_string_pretty(record)? + "\n"))
}

/// Prints a line of news on standard error, where it does not mix with results.
#[expect(clippy::print_stderr, reason = "news for people belong on standard error")]
pub(crate) fn news(line: &str) {
    eprintln!("{line}");
}
