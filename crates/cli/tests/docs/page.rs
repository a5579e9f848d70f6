//! The commands of a page: what is to be typed, how it is to end, what it shows.
//!
//! A block ```` ```console ```` is a session: lines after `$ ` are typed, the others shown, with `…` for
//! whatever differs from run to run. Of a block ```` ```sh ```` every line is typed. A comment after a command, or on
//! a line of its own for the lines up to the next empty one, may say `exit 3` (how it ends), or `needs …` or
//! `takes …` (why it is not run by the test but only checked, as what begins with `sudo` is).

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) command: String,
    /// Exit status it must have.
    pub(crate) status: i32,
    /// Whether it is only checked: why.
    pub(crate) checked_only: Option<String>,
    /// What it shows, line by line.
    pub(crate) shown: Vec<String>,
}

/// Reads a page.
pub(crate) fn commands(text: &str) -> Vec<Typed> {
    let mut found: Vec<Typed> = Vec::new();
    let mut block: Option<&str> = None;
    let mut reason: Option<String> = None;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(kind.trim()) };
            reason = None;
            continue;
        }
        let console = match block {
            Some("console") => true,
            Some("sh") => false,
            _ => continue,
        };
        let typed = if console { line.strip_prefix("$ ") } else { Some(line) };
        let Some(typed) = typed else {
            if let Some(last) = found.last_mut() {
                last.shown.push(line.trim_end().to_owned());
            }
            continue;
        };
        if typed.trim().is_empty() {
            reason = None;
            continue;
        }
        if let Some(comment) = typed.strip_prefix('#') {
            reason = why_not(comment.trim()).or(reason);
            continue;
        }
        let mut command = typed.to_owned();
        while command.ends_with('\\') {
            let Some((_, more)) = lines.next() else { break };
            command.truncate(command.len() - 1);
            command += more.trim();
        }
        // A document that is written by the command, up to its end mark.
        if let Some((_, mark)) = command.split_once("<<'") {
            let mark = mark.trim_end_matches('\'').to_owned();
            for (_, more) in lines.by_ref() {
                command = format!("{command}\n{more}");
                if more == mark {
                    break;
                }
            }
        }
        found.push(typed_as(index + 1, &command, reason.as_deref()));
    }
    found
}

fn typed_as(line: usize, text: &str, reason: Option<&str>) -> Typed {
    let (command, comment) = match text.rsplit_once("  # ").or_else(|| text.rsplit_once(" # ")) {
        Some((command, comment)) => (command.trim_end(), comment.trim()),
        None => (text, ""),
    };
    let by_sudo = command.starts_with("sudo ").then(|| "needs root".to_owned());
    let status = comment.split("exit ").nth(1).and_then(|rest| rest.split([' ', ';']).next());
    Typed {
        line,
        command: command.to_owned(),
        status: status.and_then(|number| number.parse().ok()).unwrap_or(0),
        checked_only: why_not(comment).or(by_sudo).or_else(|| reason.map(str::to_owned)),
        shown: Vec::new(),
    }
}

/// The reason in a comment not to run a command.
fn why_not(comment: &str) -> Option<String> {
    ["needs ", "takes "].iter().find_map(|word| {
        let at = comment.find(word)?;
        let begins = at == 0 || comment[..at].ends_with([' ', '(']);
        begins.then(|| comment[at..].trim_end_matches(')').to_owned())
    })
}

/// The first line shown that the output has not, after those before it.
pub(crate) fn missing<'a>(shown: &'a [String], output: &str) -> Option<&'a str> {
    let mut lines = output.lines();
    shown.iter().map(String::as_str).find(|&line| {
        let open = line.is_empty() || line == "…";
        !open && !lines.any(|other| fits(line, other.trim_end()))
    })
}

/// Whether a line is as shown, `…` standing for anything.
fn fits(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn pages_are_read() {
    let page = "\
text\n```console\n$ a b  # exit 3\nshown …\n\nmore\n$ c  # quick (takes minutes)\n```\n```text\n$ no\n```\n\
```sh\n# needs Slurm\nd \\\n  e\nf\n\ng 'x # y'\nsudo h\ncat > i <<'END'\nj\nEND\nk\n```\n";
    let found = commands(page);
    let short: Vec<(&str, i32, Option<&str>)> = found
        .iter()
        .map(|typed| (typed.command.as_str(), typed.status, typed.checked_only.as_deref()))
        .collect();
    assert_eq!(
        short,
        [
            ("a b", 3, None),
            ("c", 0, Some("takes minutes")),
            ("d e", 0, Some("needs Slurm")),
            ("f", 0, Some("needs Slurm")),
            ("g 'x", 0, None),
            ("sudo h", 0, Some("needs root")),
            ("cat > i <<'END'\nj\nEND", 0, None),
            ("k", 0, None),
        ]
    );
    assert_eq!((found[0].line, found[0].shown.join("|")), (3, "shown …||more".to_owned()));
}

#[test]
fn what_is_shown_is_found_in_order() {
    let shown = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    let output = "one 17 two\nthree\nfour 4\n";
    assert_eq!(missing(&shown(&["one … two", "…", "four …"]), output), None);
    assert_eq!(missing(&shown(&["four …", "three"]), output), Some("three"));
    assert_eq!(missing(&shown(&["thre"]), output), Some("thre"));
    assert_eq!(missing(&shown(&["… 17 … x"]), output), Some("… 17 … x"));
}
