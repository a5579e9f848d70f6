//! Who runs this program, and on whose behalf.

use crate::root::Root;
use coretwin_base::job::RunAs;

/// The effective user of this process, from `/proc/self/status`; none if it cannot be read.
#[must_use]
pub fn effective_user(root: &Root) -> Option<u32> {
    let status = root.text("proc/self/status").ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(1)?.parse().ok()
}

/// The user who typed `sudo`, `doas` or `pkexec`, if there is one and we are root: measured work
/// runs as that user. The words of the environment are believed because only root could misuse
/// them here, to become somebody lesser.
#[must_use]
pub fn invoking_user(root: &Root) -> Option<RunAs> {
    invoking_user_of(root, &|name| std::env::var(name).ok())
}

/// [`invoking_user`] with the environment given.
pub fn invoking_user_of(root: &Root, variable: &dyn Fn(&str) -> Option<String>) -> Option<RunAs> {
    if effective_user(root) != Some(0) {
        return None;
    }
    let passwd = root.text("etc/passwd").unwrap_or_default();
    let users: Vec<RunAs> = passwd.lines().filter_map(user_of_line).collect();
    let id = |name: &str| variable(name).and_then(|value| value.parse::<u32>().ok());
    let found = match id("SUDO_UID").or_else(|| id("PKEXEC_UID")) {
        Some(uid) => users.into_iter().find(|user| user.uid == uid).or_else(|| {
            // A user of a directory service stands in no file; sudo tells all we need.
            Some(RunAs {
                uid,
                gid: id("SUDO_GID")?,
                name: variable("SUDO_USER")?,
                home: variable("SUDO_HOME").unwrap_or_else(|| "/".to_owned()),
            })
        }),
        None => {
            let name = variable("DOAS_USER")?;
            users.into_iter().find(|user| user.name == name)
        }
    };
    found.filter(|user| user.uid != 0)
}

/// A line of passwd(5): name, password, uid, gid, comment, home, shell.
fn user_of_line(line: &str) -> Option<RunAs> {
    let fields: Vec<&str> = line.split(':').collect();
    Some(RunAs {
        uid: fields.get(2)?.parse().ok()?,
        gid: fields.get(3)?.parse().ok()?,
        name: (*fields.first()?).to_owned(),
        home: (*fields.get(5)?).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(uid: u32) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("folder");
        for sub in ["proc/self", "etc"] {
            std::fs::create_dir_all(folder.path().join(sub)).expect("create");
        }
        let status = format!("Name:\tx\nUid:\t1000\t{uid}\t{uid}\t{uid}\n");
        std::fs::write(folder.path().join("proc/self/status"), status).expect("write");
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\n\
                      ada:x:1000:100:Ada:/home/ada:/bin/bash\n";
        std::fs::write(folder.path().join("etc/passwd"), passwd).expect("write");
        let root = Root::at(folder.path());
        (folder, root)
    }

    fn asked(uid: u32, variables: &[(&str, &str)]) -> Option<RunAs> {
        let (_folder, root) = root(uid);
        let variable = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        invoking_user_of(&root, &variable)
    }

    #[test]
    fn only_root_on_somebodys_behalf_has_an_invoking_user() {
        let ada = asked(0, &[("SUDO_UID", "1000"), ("SUDO_GID", "100")]).expect("ada");
        assert_eq!((ada.name.as_str(), ada.gid, ada.home.as_str()), ("ada", 100, "/home/ada"));
        assert_eq!(asked(0, &[("DOAS_USER", "ada")]), Some(ada));
        assert_eq!(asked(1000, &[("SUDO_UID", "1000")]), None);
        assert_eq!(asked(0, &[("SUDO_UID", "0")]), None);
        assert_eq!(asked(0, &[]), None);
        assert_eq!(asked(0, &[("SUDO_UID", "many")]), None);
    }

    #[test]
    fn a_user_of_a_directory_service_is_taken_from_sudo() {
        let far = [("SUDO_UID", "70001"), ("SUDO_GID", "70000"), ("SUDO_USER", "bob")];
        let bob = asked(0, &far).expect("bob");
        assert_eq!((bob.uid, bob.gid, bob.name.as_str()), (70_001, 70_000, "bob"));
        assert_eq!(asked(0, &far[..1]), None);
    }
}
