//! Writing to standard output, where a closed pipe is not a panic, to standard error, and to files that
//! users named. Whatever is printed goes through here and [`printable`]: part of it may be text of
//! other users, files and machines.

use anyhow::{Context, Result};
use coretwin_base::origin::Origin;
use coretwin_base::printable::printable;
use coretwin_report::Brief;
use rustix::fs::OFlags;
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Without a terminal, a line about what goes on at most this often.
pub(crate) const PLAIN_EVERY: Duration = Duration::from_secs(60);

pub(crate) fn text(text: &str) -> Result<()> {
    over(0, text)
}

/// Prints a text in place of so many lines above the cursor of a terminal (ECMA-48: up, and clear what
/// is below).
pub(crate) fn over(lines: usize, text: &str) -> Result<()> {
    let up = if lines > 0 { format!("\x1b[{lines}A\x1b[J") } else { String::new() };
    out_raw(&(up + &printable(text)))
}

fn out_raw(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write standard output")
}

/// Prints an answer as it fits the terminal. Its words are clean; printed raw, for its colours.
pub(crate) fn brief(brief: &Brief) -> Result<()> {
    let out = std::io::stdout();
    out_raw(&brief.render(columns(&out), paints(&out)))
}

/// The same with what more there is.
pub(crate) fn brief_of(whole: Brief, more: &str) -> Result<()> {
    brief(&whole.whole("more", &format!("the same with --full: {more}"), ""))
}

/// Columns of a terminal, from 60 to 200; 80 where there is none.
pub(crate) fn columns(stream: &impl AsFd) -> usize {
    let columns = tcgetwinsize(stream).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { 80 } else { columns.clamp(60, 200) }
}

/// Columns of a page: those of the terminal, else so many.
pub(crate) fn page(without_terminal: usize) -> usize {
    let out = std::io::stdout();
    if out.is_terminal() { columns(&out) } else { without_terminal }
}

fn paints(stream: &impl IsTerminal) -> bool {
    redraws(stream) && !no_color()
}

/// Whether the user wants no colours anywhere: `NO_COLOR` is set and not empty, or `CLICOLOR` is 0.
pub(crate) fn no_color() -> bool {
    let is = |name: &str, wanted: fn(&OsStr) -> bool| {
        std::env::var_os(name).is_some_and(|value| wanted(&value))
    };
    is("NO_COLOR", |value| !value.is_empty()) || is("CLICOLOR", |value| value == "0")
}

pub(crate) fn to(named: Option<&Path>, text: &str) -> Result<()> {
    named.map_or_else(|| self::text(text), |path| file(path, text))
}

/// Writes a file whole: the one of that name, and no other. Where somebody else put a link, hard or
/// symbolic, root would write what that leads to.
pub(crate) fn file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    open(path)
        .and_then(|mut file| file.write_all(bytes.as_ref()))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn open(path: &Path) -> std::io::Result<File> {
    let user = rustix::process::geteuid();
    // Links of root's own (/dev/stdout) and of unprivileged users are followed, as a shell does.
    let is_trusted = !user.is_root() || path.symlink_metadata().is_ok_and(|link| link.uid() == 0);
    let flags = if is_trusted { OFlags::empty() } else { OFlags::NOFOLLOW };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let of = file.metadata()?;
    if !of.is_file() {
        return Ok(file);
    }
    if of.nlink() > 1 {
        let why = "it has a second name (a hard link), and what stands there would be lost; \
                   remove it or name another file";
        return Err(std::io::Error::other(why));
    }
    file.set_len(0)?;
    Ok(file)
}

pub(crate) fn json<T: Serialize>(record: &T) -> Result<()> {
    text(&(serde_json::to_string_pretty(record)? + "\n"))
}

/// Prints a record as JSON, else a text of it.
pub(crate) fn json_or<T: Serialize>(
    json: bool,
    record: &T,
    text: impl FnOnce() -> String,
) -> Result<()> {
    if json { self::json(record) } else { self::text(&text()) }
}

pub(crate) fn facts<T: Serialize>(origin: Origin, record: &T) -> Result<()> {
    #[derive(Serialize)]
    struct Facts<'a, T> {
        origin: Origin,
        #[serde(flatten)]
        record: &'a T,
    }
    json(&Facts { origin, record })
}

/// Prints a line of news on standard error, where it does not mix with results. Where it cannot be
/// written (its disk is full, its reader gone), nobody is told, and the work goes on.
pub(crate) fn news(line: &str) {
    let stderr = std::io::stderr();
    let page = if stderr.is_terminal() { columns(&stderr) } else { usize::MAX };
    let mut text = String::new();
    for line in line.split('\n') {
        match line.chars().count() > page {
            true => coretwin_report::topology::beside(&mut text, "", line, page),
            false => text += &format!("{line}\n"),
        }
    }
    err(&text);
}

pub(crate) fn err(text: &str) {
    let _ = std::io::stderr().write_all(printable(text).as_bytes());
}

/// The folder that a folder of results is to be in, if it is not there.
pub(crate) fn missing_parent(folder: &Path) -> Option<PathBuf> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.filter(|parent| !parent.exists()).map(Path::to_owned)
}

/// Where results go, and which folder was made for them: it may be a slip of the keyboard.
pub(crate) fn results_go_to(folder: &Path, made: Option<&Path>) -> String {
    let made = made.map(|made| format!(" (made {}, which was not there)", made.display()));
    format!("results go to {}{}", folder.display(), made.unwrap_or_default())
}

/// A command of ours on a file or folder, as a shell takes it.
pub(crate) fn command(words: &str, path: &Path) -> String {
    let path = path.display().to_string();
    format!("coretwin {words} {}", coretwin_report::shell_line(&[path]))
}

/// Whether lines can be drawn over: a terminal that moves its cursor.
pub(crate) fn redraws(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_second_name_is_not_written() {
        let folder = tempfile::tempdir().expect("folder");
        let [own, precious, link] = ["a", "b", "c"].map(|name| folder.path().join(name));
        for text in ["longer", "x"] {
            file(&own, text).expect("written");
            assert_eq!(std::fs::read_to_string(&own).expect("read"), text);
        }
        std::fs::write(&precious, "precious").expect("written");
        std::fs::hard_link(&precious, &link).expect("link");
        let why = format!("{:#}", file(&link, "x").expect_err("two names"));
        assert!(why.contains("a hard link"), "{why}");
        if rustix::process::geteuid().is_root() {
            std::fs::remove_file(&link).expect("removed");
            std::os::unix::fs::symlink(&precious, &link).expect("link");
            file(&link, "precious").expect("a link of root's own");
            std::os::unix::fs::lchown(&link, Some(1234), None).expect("root may");
            assert!(file(&link, "x").is_err(), "somebody else's");
        }
        assert_eq!(std::fs::read_to_string(&precious).expect("read"), "precious");
    }
}
