//! Lists of machines as people write them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SshHost {
    /// As `ssh` takes it: `user@host`, or a name of its configuration.
    pub(super) destination: String,
    /// Options of its own, like `-p` `2222`.
    pub(super) options: Vec<String>,
}

impl SshHost {
    /// What people call it: with its port, if the list has one.
    pub(super) fn name(&self) -> String {
        match self.port() {
            Some(port) => format!("{}:{port}", self.destination),
            None => self.destination.clone(),
        }
    }

    fn port(&self) -> Option<&str> {
        let option = self.options.iter().position(|option| option == "-p")?;
        self.options.get(option + 1).map(String::as_str)
    }

    /// Where it is, whoever logs in: behind another port there may be another machine.
    fn machine(&self) -> (String, String) {
        let host = self.destination.rsplit('@').next().unwrap_or_default();
        (host.to_ascii_lowercase(), self.port().unwrap_or("22").to_owned())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SlurmPlace {
    Any,
    Node(String),
    /// On one that has these features (`--constraint`).
    Constraint(String),
}

/// Most names a list may stand for; more is a typing error.
const MOST: u64 = 100_000;

/// Reads a host list: a line a host, `[USER@]HOST[:PORT]` and after it options of `ssh`; `#` begins
/// a comment. Errors: naming the line.
pub(super) fn ssh_hosts(text: &str) -> Result<Vec<SshHost>, String> {
    let mut hosts: Vec<SshHost> = Vec::new();
    let mut named = BTreeMap::new();
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(place) = words.next() else { continue };
        let bad = |why: &str| format!("line {number}: '{place}' {why}");
        if place.chars().any(char::is_control) {
            return Err(format!("line {number}: {place:?} has a control character in it"));
        }
        if place.starts_with('-') {
            return Err(bad("is an option; the host comes first"));
        }
        let (destination, port) = match place.rsplit_once(':') {
            // Two colons: an address of IPv6, whose port is given by -p.
            Some((host, port)) if !host.contains(':') => {
                (host, Some(port.parse::<u16>().map_err(|_| bad("has no port behind its colon"))?))
            }
            _ => (place, None),
        };
        if destination.is_empty() || destination.ends_with('@') {
            return Err(bad("names no host"));
        }
        let port = port.map(|port| vec!["-p".to_owned(), port.to_string()]).unwrap_or_default();
        let words: Vec<String> = words.map(str::to_owned).collect();
        ssh_options(&words).map_err(|why| format!("line {number}: {why}"))?;
        let options = port.into_iter().chain(words).collect();
        let host = SshHost { destination: destination.to_owned(), options };
        // Two studies of one machine would disturb each other, and it counts once.
        if let Some(before) = named.insert(host.machine(), number) {
            return Err(bad(&format!("is on line {before}, too")));
        }
        hosts.push(host);
    }
    if hosts.is_empty() { Err("it names no host".to_owned()) } else { Ok(hosts) }
}

/// Options of ssh(1) that take a value.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Refuses words that ssh would take for its host or a command: it has them already.
pub(super) fn ssh_options(words: &[String]) -> Result<(), String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
        let Some(letters) = letters.filter(|letters| !letters.starts_with('-')) else {
            return Err(format!("'{word}' is no option, so ssh would take it for the host"));
        };
        let value = letters.find(|letter| WITH_VALUE.contains(letter));
        if value.is_some_and(|at| at + 1 == letters.len()) && words.next().is_none() {
            return Err(format!("the option '{word}' lacks its value"));
        }
    }
    Ok(())
}

/// Reads a list of nodes as Slurm writes it: `a,b[01-16,20],c`.
pub(super) fn nodes(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for part in outside_brackets(text)? {
        expand(part, &mut found)?;
    }
    if found.is_empty() { Err("it names no node".to_owned()) } else { Ok(found) }
}

/// Reads `FEATURE=COUNT,…`: so many nodes of each type.
pub(super) fn constraints(text: &str) -> Result<Vec<(String, SlurmPlace)>, String> {
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (feature, count) = part.rsplit_once('=').unwrap_or((part, "1"));
        let count: u64 = count
            .parse()
            .ok()
            .filter(|count| (1..=MOST).contains(count))
            .ok_or_else(|| format!("'{part}': write it like zen4=8"))?;
        let place = SlurmPlace::Constraint(feature.to_owned());
        found.extend((0..count).map(|one| (format!("{feature}-{one}"), place.clone())));
    }
    if found.is_empty() { Err("it names no feature".to_owned()) } else { Ok(found) }
}

/// The parts between commas, those in brackets not counted.
fn outside_brackets(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0u32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => {
                depth = depth.checked_sub(1).ok_or_else(|| format!("'{text}': ] without ["))?;
            }
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("'{text}': [ without ]"));
    }
    parts.push(&text[start..]);
    Ok(parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect())
}

fn expand(part: &str, found: &mut Vec<String>) -> Result<(), String> {
    let bad = || format!("'{part}' is no list of nodes; write it like n[01-16],gpu1");
    let Some((head, rest)) = part.split_once('[') else {
        found.push(part.to_owned());
        return Ok(());
    };
    let (inside, tail) = rest.split_once(']').ok_or_else(bad)?;
    for range in inside.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u64, u64) =
            (low.parse().map_err(|_| bad())?, high.parse().map_err(|_| bad())?);
        if to < from || to - from >= MOST || found.len() as u64 > MOST {
            return Err(bad());
        }
        for number in from..=to {
            expand(&format!("{head}{number:0width$}{tail}", width = low.len()), found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_list_has_users_ports_options_and_comments() {
        let text = "# mine\nroot@a:2222 -i key\n\nb  # plain\nfe80::1\n";
        let host = |destination: &str, options: &[&str]| SshHost {
            destination: destination.to_owned(),
            options: options.iter().map(|&word| word.to_owned()).collect(),
        };
        let expected =
            [host("root@a", &["-p", "2222", "-i", "key"]), host("b", &[]), host("fe80::1", &[])];
        assert_eq!(ssh_hosts(text), Ok(expected.to_vec()));
        assert_eq!(ssh_hosts("\u{feff}b").expect("a mark before")[0], host("b", &[]));
        let given = "h1 -4 -i key -oUser=x -o Port=3 -vi key -lme -J a,b";
        assert_eq!(ssh_hosts(given).expect("options").len(), 1);
        for (text, part) in [
            ("a\n-oProxyCommand=x", "line 2"),
            ("a:b", "port"),
            ("u@", "no host"),
            ("", "no host"),
            ("a\nh1 word", "line 2: 'word' is no option"),
            ("h1 -i key word", "'word' is no option"),
            ("h1 -oUser=x -- word", "'--' is no option"),
            ("h1 -", "'-' is no option"),
            ("h1 -4i", "lacks its value"),
            ("h1\nh2\nh1", "line 3: 'h1' is on line 1, too"),
            ("h1:7\nh1\nann@H1:22", "line 3: 'ann@H1:22' is on line 2, too"),
            ("h1\ne\u{1b}[2J", "line 2: \"e\\u{1b}[2J\" has a control"),
        ] {
            assert!(ssh_hosts(text).expect_err(text).contains(part), "{text}");
        }
    }

    #[test]
    fn node_lists_expand_as_slurm_does() {
        let expand = |text: &str| nodes(text).map(|list| list.join(" "));
        assert_eq!(expand("a,n[08-10,2]x, b"), Ok("a n08x n09x n10x n2x b".to_owned()));
        assert_eq!(expand("r[1-2]n[1-2]"), Ok("r1n1 r1n2 r2n1 r2n2".to_owned()));
        for text in
            ["n[3-1]", "n[1", "n]1", "n[a-b]", "", "n[0-999999999]", "n[1][0-99999][0-99999]"]
        {
            assert!(nodes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn node_types_are_counted() {
        let found = constraints("zen4=2,icx").expect("constraints");
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["zen4-0", "zen4-1", "icx-0"]);
        assert!(constraints("zen4=0").is_err() && constraints("").is_err());
    }
}
