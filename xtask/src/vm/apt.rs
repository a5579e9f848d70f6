//! The pure half of asking a Debian archive for a kernel: the machine's own apt sources, from which
//! the archive's address comes, the names of kernel packages, and the order of their versions.

use std::cmp::Reverse;

/// An archive of Debian as the machine's own sources name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archive {
    address: String,
    /// Value of `Signed-By`: a keyring, or a key over several lines. None: apt's own keyrings.
    signed_by: Option<String>,
    trusted: Option<String>,
}

/// Names under which an archive of Debian carries its releases; security updates and other people's
/// archives have none of them.
const RELEASES: &[&str] = &[
    "oldoldstable",
    "oldstable",
    "stable",
    "testing",
    "unstable",
    "sid",
    "buster",
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "duke",
];

/// The archives of Debian in a file of sources; which of the two formats it is, its name says
/// (sources.list(5)).
pub(crate) fn archives(file_name: &str, text: &str) -> Vec<Archive> {
    if file_name.ends_with(".sources") {
        stanzas(text).iter().flat_map(|stanza| of_stanza(stanza)).collect()
    } else {
        text.lines().filter_map(of_line).collect()
    }
}

/// The file of sources that asks these archives for these releases.
pub(crate) fn sources(archives: &[Archive], releases: &[&str]) -> String {
    let stanza = |archive: &Archive| {
        let option = |name: &str, value: &Option<String>| {
            value.as_ref().map_or_else(String::new, |value| format!("{name}:{value}\n"))
        };
        format!(
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\nArchitectures: amd64\n{}{}\n",
            archive.address,
            releases.join(" "),
            option("Signed-By", &archive.signed_by),
            option("Trusted", &archive.trusted),
        )
    };
    archives.iter().map(stanza).collect()
}

/// Fields of each stanza: name in lower case, value with its continuation lines.
fn stanzas(text: &str) -> Vec<Vec<(String, String)>> {
    let mut stanzas = vec![Vec::<(String, String)>::new()];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(stanza) = stanzas.last_mut() else { continue };
        if line.trim().is_empty() {
            stanzas.push(Vec::new());
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            stanza.push((name.trim().to_ascii_lowercase(), value.to_owned()));
        }
    }
    stanzas
}

fn of_stanza(stanza: &[(String, String)]) -> Vec<Archive> {
    let field = |name: &str| stanza.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let words = |name: &str| field(name).map_or("", String::as_str).split_whitespace();
    let no = |value: &String| ["no", "false", "without", "off", "disable"].contains(&value.trim());
    let wanted = words("types").any(|word| word == "deb")
        && !field("enabled").is_some_and(no)
        && words("suites").any(|word| RELEASES.contains(&word))
        && words("components").any(|word| word == "main");
    let archive = |address: &str| Archive {
        address: address.to_owned(),
        signed_by: field("signed-by").cloned(),
        trusted: field("trusted").cloned(),
    };
    words("uris").filter(|_| wanted).map(archive).collect()
}

/// Reads `deb [option=value …] ADDRESS RELEASE COMPONENT…`.
fn of_line(line: &str) -> Option<Archive> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let address = words.next()?.to_owned();
    let release = words.next()?;
    let wanted = RELEASES.contains(&release) && words.any(|component| component == "main");
    let option = |name: &str| {
        let mut options = options.split_whitespace().filter_map(|option| option.split_once('='));
        options.find(|(known, _)| *known == name).map(|(_, value)| format!(" {value}"))
    };
    let (signed_by, trusted) = (option("signed-by"), option("trusted"));
    wanted.then_some(Archive { address, signed_by, trusted })
}

/// A kernel's release as `uname -r` tells it without the flavour, such as `6.1.0-50`. Ordered as
/// versions are: by number, and `~` comes before the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Release(String);

impl Release {
    /// Reads a release; it begins with a number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.starts_with(|c: char| c.is_ascii_digit()).then(|| Self(text.to_owned()))
    }

    /// Whether it is this release or one of this series: `7.2` has 7.2.12 and not 7.20.
    pub(crate) fn is_of(&self, series: &str) -> bool {
        self.0
            .strip_prefix(series)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Whether it is older than this one.
    pub(crate) fn is_before(&self, text: &str) -> bool {
        Self::parse(text).is_some_and(|other| *self < other)
    }

    /// Its numbers, each with whether it follows a `~`; the end stands between the two.
    fn key(&self) -> Vec<(i8, u64)> {
        let mut key = Vec::new();
        let mut rank = 1;
        let mut digits = String::new();
        for c in self.0.chars().chain(['.']) {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            if !digits.is_empty() {
                key.push((rank, digits.parse().unwrap_or(u64::MAX)));
                digits.clear();
                rank = 1;
            }
            if c == '~' {
                rank = -1;
            }
        }
        key.push((0, 0));
        key
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key()).then_with(|| self.0.cmp(&other.0))
    }
}

/// Beginnings of the names of packages with a cloud kernel. Since 7.0 the image is in
/// `linux-binary-…`, and `linux-image-…` of such a version is empty; the one to try first comes first.
const PREFIXES: &[&str] = &["linux-binary-", "linux-binary-unsigned-", "linux-image-"];
const FLAVOUR: &str = "-cloud-amd64";

/// Every cloud kernel among these packages: its release and package, the newest first.
pub(crate) fn kernels<'a>(packages: impl IntoIterator<Item = &'a str>) -> Vec<(Release, &'a str)> {
    let mut found: Vec<(Release, usize, &str)> = Vec::new();
    for package in packages {
        let name = package.strip_suffix("-unsigned").unwrap_or(package);
        let of_prefix = |(rank, prefix): (usize, &&str)| {
            let release = name.strip_prefix(prefix)?.strip_suffix(FLAVOUR)?;
            Some((Release::parse(release)?, 2 * rank + usize::from(name != package), package))
        };
        found.extend(PREFIXES.iter().enumerate().find_map(of_prefix));
    }
    found.sort_by_key(|(release, rank, _)| (Reverse(release.clone()), *rank));
    found.into_iter().map(|(release, _, package)| (release, package)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str = "\
# a comment
Types: deb deb-src
# another inside
URIs: http://one.example/mirror
  http://two.example/mirror
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://one.example/security
Suites: bookworm-security
Components: main

types: deb
uris: https://node.example/node_20.x
suites: nodistro
components: main

Types: deb
Enabled: no
URIs: http://off.example/mirror
Suites: sid
Components: main

Types: deb-src
URIs: http://source.example/mirror
Suites: sid
Components: main

Types: deb
URIs: http://key.example/mirror/
Suites: trixie
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBA
 -----END PGP PUBLIC KEY BLOCK-----
";

    fn addresses(archives: &[Archive]) -> Vec<&str> {
        archives.iter().map(|archive| archive.address.as_str()).collect()
    }

    #[test]
    fn stanzas_give_the_archives_of_debian_with_their_keys() {
        let found = archives("debian.sources", SOURCES);
        let expected = [
            "http://one.example/mirror",
            "http://two.example/mirror",
            "http://key.example/mirror/",
        ];
        assert_eq!(addresses(&found), expected);
        let text = sources(&found[..1], &["bookworm", "sid"]);
        assert_eq!(
            text,
            "Types: deb\nURIs: http://one.example/mirror\nSuites: bookworm sid\nComponents: main\n\
             Architectures: amd64\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
        );
        // What was written is read again, key block and all.
        let again = archives("private.sources", &sources(&found, &["bookworm"]));
        assert_eq!(again, found);
    }

    #[test]
    fn lines_give_the_archives_of_debian_with_their_options() {
        let text = "\
# deb http://off.example/mirror bookworm main
deb http://plain.example/mirror bookworm main contrib # the mirror
deb\t[ arch=amd64 signed-by=/k.gpg trusted=yes ]  http://options.example/mirror   sid main
deb-src http://source.example/mirror bookworm main
deb http://plain.example/security bookworm-security main
deb https://other.example/apt cloud-sdk-bookworm main
deb http://parts.example/mirror bookworm non-free
deb [broken http://broken.example/mirror bookworm main
deb
";
        let found = archives("sources.list", text);
        assert_eq!(
            addresses(&found),
            ["http://plain.example/mirror", "http://options.example/mirror"]
        );
        let text = sources(&found, &["sid"]);
        assert!(text.contains("Signed-By: /k.gpg\nTrusted: yes\n"), "{text}");
        assert_eq!(archives("x.sources", &text), found);
    }

    #[test]
    fn releases_are_ordered_as_versions() {
        let ordered = [
            "6.1.0-9",
            "6.1.0-50",
            "6.2",
            "6.12.95+deb12",
            "7.3~rc4",
            "7.3",
            "7.3.4+deb13",
            "7.3.4+deb14",
            "7.10",
        ];
        let releases = ordered.map(|text| Release::parse(text).expect("release"));
        assert!(releases.is_sorted_by(|a, b| a < b), "{releases:?}");
        assert_eq!(Release::parse("cloud"), None);
        let release = |text| Release::parse(text).expect("release");
        assert!(release("7.2.12+deb13").is_of("7.2") && release("7.2.12+deb13").is_of("7.2.12"));
        assert!(!release("7.20.1").is_of("7.2") && !release("6.7.2").is_of("7.2"));
    }

    #[test]
    fn the_newest_cloud_kernel_and_its_fullest_package_come_first() {
        let packages = [
            "linux-base-7.3.4+deb13-cloud-amd64",
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-50-cloud-amd64-unsigned",
            "linux-image-6.1.0-50-cloud-amd64",
            "linux-image-6.1.0-50-cloud-amd64-dbg",
            "linux-image-7.2.12+deb13-cloud-amd64",
            "linux-binary-unsigned-7.2.12+deb13-cloud-amd64",
            "linux-binary-7.2.12+deb13-cloud-amd64",
            "linux-binary-unsigned-7.3.4+deb13-cloud-amd64",
            "linux-image-cloud-amd64",
            "linux-image-6.1.0-50-amd64",
        ];
        let found: Vec<&str> = kernels(packages).into_iter().map(|(_, package)| package).collect();
        let expected = [
            "linux-binary-unsigned-7.3.4+deb13-cloud-amd64",
            "linux-binary-7.2.12+deb13-cloud-amd64",
            "linux-binary-unsigned-7.2.12+deb13-cloud-amd64",
            "linux-image-7.2.12+deb13-cloud-amd64",
            "linux-image-6.1.0-50-cloud-amd64",
            "linux-image-6.1.0-50-cloud-amd64-unsigned",
            "linux-image-6.1.0-9-cloud-amd64",
        ];
        assert_eq!(found, expected);
    }
}
