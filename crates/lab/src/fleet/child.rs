//! Programs whose output comes from elsewhere: of it no more is held than is asked for. And how a shell
//! takes a word.

use coretwin_base::caps;
use std::io::{self, Read, Write};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};

/// Most bytes of the end of standard error that are kept; people read a few lines.
const COMPLAINT: usize = 64 << 10;

pub(super) struct Said<T> {
    pub(super) status: ExitStatus,
    pub(super) out: T,
    /// The end of its standard error.
    pub(super) err: Vec<u8>,
}

/// Runs a program to its end, and takes its standard output as it comes. If that fails, the program
/// is killed. Errors: it cannot be started, or what `take` says.
pub(super) fn listen<T>(
    command: &mut Command,
    input: &[u8],
    take: impl FnOnce(&mut ChildStdout) -> io::Result<T>,
) -> io::Result<Said<T>> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (out, err) = std::thread::scope(|scope| {
        // If the other side does not want it, its answer says why.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        let err = scope.spawn(move || stderr.map(end_of).unwrap_or_default());
        let out = stdout.ok_or(io::ErrorKind::BrokenPipe.into()).and_then(|mut out| take(&mut out));
        if out.is_err() {
            let _ = child.kill();
        }
        (out, err.join().unwrap_or_default())
    });
    let status = child.wait()?;
    Ok(Said { status, out: out?, err })
}

/// The end of what comes, all of which is read.
fn end_of(mut from: impl Read) -> Vec<u8> {
    let (mut end, mut buffer) = (Vec::new(), [0; 8192]);
    loop {
        match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return end.split_off(end.len().saturating_sub(COMPLAINT)),
            Ok(count) => {
                end.extend_from_slice(&buffer[..count]);
                if end.len() > 2 * COMPLAINT {
                    end.drain(..end.len() - COMPLAINT);
                }
            }
        }
    }
}

/// Runs a program of the cluster to its end; what it printed. `None` if it is not installed here.
pub(super) fn asked(program: &str, args: &[&str]) -> Result<Option<String>, String> {
    let text = asked_for(program, args, |out| caps::ANSWER.read(out))?;
    Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
}

pub(super) fn asked_for<T>(
    program: &str,
    args: &[&str],
    take: impl FnOnce(&mut ChildStdout) -> io::Result<T>,
) -> Result<Option<T>, String> {
    match listen(Command::new(program).args(args), &[], take) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot hear {program}: {error}")),
        Ok(said) if said.status.success() => Ok(Some(said.out)),
        Ok(said) => Err(last_words(&said.err)
            .unwrap_or_else(|| format!("{program} failed ({}) and said nothing", said.status))),
    }
}

pub(super) fn last_words(said: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(2)..].join("; ");
    (!last.is_empty()).then_some(last)
}

/// Whether a bundle from elsewhere may have this name: a plain one, without folders.
pub(super) fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain)
}

/// Puts a word in single quotes, unless it needs none.
pub(super) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caps::ANSWER;

    #[test]
    fn no_more_is_held_than_is_asked_for() {
        let shell = |script: &str| {
            listen(Command::new("sh").args(["-c", script]), b"in", |out| ANSWER.text(out))
        };
        let said = shell("cat; head -c 300000 /dev/zero >&2; echo end >&2; exit 3").expect("ran");
        assert_eq!((said.status.code(), said.out.as_str()), (Some(3), "in"));
        assert!(said.err.len() == COMPLAINT && said.err.ends_with(b"end\n"));
        let told = shell("exec cat /dev/zero").err().expect("too much").to_string();
        assert!(told.contains("more than 64 MiB"), "{told}");
    }

    #[test]
    fn a_shell_gives_back_what_was_quoted() {
        for word in ["a b", "it's", "$HOME", "", "a\nb", "`x`", "plain/path-1", "\\"] {
            let echoed = Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&echoed.stdout), word);
        }
    }
}
