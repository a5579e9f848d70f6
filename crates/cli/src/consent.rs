//! The preflight and the user's word: nobody's CPUs are taken without either.

use crate::exit::usage;
use crate::out;
use anyhow::{Result, anyhow};
use coretwin_base::caps;
use coretwin_base::machine::topology::Topology;
use coretwin_host::root::Root;
use coretwin_host::smt::preflight::{self, Finding};
use coretwin_host::smt::target::Target;
use coretwin_report::topology::labelled;
use std::io::{BufRead, IsTerminal};

/// Says what would notice a change, and asks for a typed yes unless it was given already. Whether
/// it was given. Errors: a finding that blocks, or nobody there to be asked.
pub(crate) fn ask(root: &Root, topology: &Topology, target: Target, yes: bool) -> Result<bool> {
    let findings = preflight::findings_for(root, topology, target);
    if !findings.is_empty() {
        out::news(&list(&findings));
    }
    refuse_if_blocked(&findings)?;
    if yes {
        return Ok(true);
    }
    let input = std::io::stdin();
    if !input.is_terminal() {
        let why = "this changes the whole machine and needs your word, and there is no terminal to \
                   ask at; look at --dry-run, and give --yes";
        return Err(usage(why));
    }
    let going = preflight::going(topology, target);
    let what = if going.is_empty() {
        "the whole machine is switched".to_owned()
    } else {
        format!("CPUs {going} of this machine go offline")
    };
    let question = format!(
        "{what}; programs that counted CPUs when they started do not notice. Type yes to go on: "
    );
    let yes = ask_word(&question, &mut input.lock(), &["yes"])?;
    if !yes {
        out::news("nothing was changed");
    }
    Ok(yes)
}

/// Whether one of these words is typed in answer to a question.
pub(crate) fn ask_word(
    question: &str,
    mut input: &mut dyn BufRead,
    words: &[&str],
) -> Result<bool> {
    out::err(question);
    let mut answer = Vec::new();
    caps::REQUEST.line(&mut input, &mut answer)?;
    Ok(words.iter().any(|word| answer.trim_ascii() == word.as_bytes()))
}

/// What a study that switches would be asked and refused, for its `--dry-run`; empty if nothing.
pub(crate) fn foretell(root: &Root, topology: &Topology) -> String {
    let findings = preflight::findings_for(root, topology, Target::Off);
    let mut text = String::new();
    if !findings.is_empty() {
        text += &format!("\n{}\n", list(&findings));
    }
    if !topology.smt.switchable {
        text += &format!("\nWould be refused: {}\n", not_switchable(topology));
    }
    text
}

pub(crate) fn refuse_if_blocked(findings: &[Finding]) -> Result<()> {
    let blocking: Vec<String> = findings
        .iter()
        .filter(|finding| finding.blocks)
        .map(|finding| format!("{}: {}; {}", finding.found, finding.risk, finding.remedy))
        .collect();
    match blocking.is_empty() {
        true => Ok(()),
        false => Err(anyhow!("nothing was changed: {}", blocking.join("; "))),
    }
}

pub(crate) fn list(findings: &[Finding]) -> String {
    let facts: Vec<(String, String)> = findings
        .iter()
        .flat_map(|finding| {
            let label = if finding.blocks { "stands in the way" } else { "found" };
            [
                (label.to_owned(), finding.found.clone()),
                ("  could happen".to_owned(), finding.risk.clone()),
                ("  to do".to_owned(), finding.remedy.clone()),
            ]
        })
        .collect();
    labelled(&facts, out::columns(&std::io::stderr())).trim_end().to_owned()
}

pub(crate) fn not_switchable(topology: &Topology) -> anyhow::Error {
    let why = &topology.smt.why;
    let instead = "what a study can do here is compare one CPU of each core with all: coretwin \
                   study --arm one-per-core --arm on";
    match topology.has_usable_siblings() {
        true => anyhow!("SMT cannot be switched here: {why}; {instead}"),
        false => anyhow!("SMT cannot be switched here: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_host::smt::preflight::Kind;

    fn finding(blocks: bool) -> Finding {
        Finding {
            kind: Kind::Kubelet,
            found: "kubelet (process 7)".to_owned(),
            risk: "it miscounts".to_owned(),
            remedy: "drain it".to_owned(),
            blocks,
        }
    }

    #[test]
    fn only_a_typed_yes_is_a_yes() {
        for (typed, yes) in
            [("yes\n", true), (" yes \n", true), ("y\n", false), ("no\n", false), ("", false)]
        {
            let mut input = std::io::Cursor::new(typed);
            assert_eq!(ask_word("? ", &mut input, &["yes"]).expect("asked"), yes, "{typed:?}");
        }
    }

    #[test]
    fn what_blocks_is_an_error_that_says_what_to_do() {
        assert!(refuse_if_blocked(&[finding(false)]).is_ok());
        let error = refuse_if_blocked(&[finding(false), finding(true)]).expect_err("blocked");
        let expected = "nothing was changed: kubelet (process 7): it miscounts; drain it";
        assert_eq!(error.to_string(), expected);
        let text = list(&[finding(true)]);
        assert!(text.starts_with("stands in the way") && text.contains("drain it"), "{text}");
    }
}
