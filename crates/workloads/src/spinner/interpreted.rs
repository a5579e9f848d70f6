//! The note's spinner, `perl -e 'while(1){}'`, made to count: a tight loop of an interpreter that
//! appends a byte to its counter now and then.

use std::path::{Path, PathBuf};

/// Rounds between two bytes: some milliseconds at most, against which a system call is nothing.
/// The descriptor of the counter is the last argument.
const PERL: &str = "open(my $count, '>>&=', $ARGV[0]) or die $!; \
while (1) { my $i = 0; while ($i < 20000) { $i++ } syswrite($count, '.') or die $! }";

/// The same for Python.
const PYTHON: &str = "\
import os, sys
def spin(count):
    while True:
        i = 0
        while i < 20000:
            i += 1
        os.write(count, b'.')
spin(int(sys.argv[1]))
";

/// Interpreters, in the order in which they are looked for, with their option for a script.
const INTERPRETERS: [(&str, &str, &str); 2] = [("perl", "-e", PERL), ("python3", "-c", PYTHON)];

/// The spinner as a program and its arguments, by the first interpreter that is on `path` (as in
/// `PATH`): perl, else python3. `None` if neither is there.
#[must_use]
pub fn interpreter(path: &str) -> Option<Vec<String>> {
    INTERPRETERS.iter().find_map(|(name, option, script)| {
        let program = find(path, name)?;
        Some(vec![
            program.to_string_lossy().into_owned(),
            (*option).to_owned(),
            (*script).to_owned(),
        ])
    })
}

fn find(path: &str, name: &str) -> Option<PathBuf> {
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join(name))
        .find(|program| rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perl_is_preferred_and_neither_is_none() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().to_string_lossy().into_owned();
        assert_eq!(interpreter(&path), None);
        let link = |name: &str| {
            std::os::unix::fs::symlink("/bin/sh", folder.path().join(name)).expect("link");
        };
        link("python3");
        let python = interpreter(&format!("/nowhere::{path}")).expect("python");
        assert!(python[0].ends_with("/python3") && python[1] == "-c", "{python:?}");
        link("perl");
        assert!(interpreter(&path).expect("perl")[0].ends_with("/perl"));
    }
}
