//! A program that a test starts.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program, by a child. What this process held open for writing, a child that another of its
/// threads forks would hold too, and execve(2) of such a file is ETXTBSY.
///
/// # Errors
/// What the system says.
pub fn program(path: &Path, text: &str) -> io::Result<()> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", "rm -f \"$0\" && cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()?;
    child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()))?;
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{status}"))) }
}
