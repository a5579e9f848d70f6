//! Who runs this program, and on whose behalf.

use crate::Error;
use crate::root::Root;
use coretwin_base::study::job::RunAs;

/// The effective user of this process, from `/proc/self/status`; `None` if it cannot be read.
pub fn effective_user(root: &Root) -> Option<u32> {
    let status = root.text("proc/self/status").ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(1)?.parse().ok()
}

/// The user who typed `sudo`, `doas` or `pkexec`, if there is one and we are root: measured work
/// runs as that user. The words of the environment are believed because only root could misuse them
/// here, to become somebody lesser. Errors: we are root, and the environment names a user that
/// cannot be found: to go on as root would give the measured command more than its owner meant.
pub fn invoking_user(root: &Root) -> Result<Option<RunAs>, Error> {
    invoking_user_of(root, &|name| {
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    })
}

pub(crate) fn invoking_user_of(
    root: &Root,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<RunAs>, Error> {
    if effective_user(root) != Some(0) {
        return Ok(None);
    }
    let named = ["SUDO_UID", "PKEXEC_UID", "DOAS_USER"]
        .into_iter()
        .find_map(|name| Some((name, variable(name)?)));
    let Some((name, value)) = named else { return Ok(None) };
    let passwd = root.text("etc/passwd").unwrap_or_default();
    let mut users = passwd.lines().filter_map(user_of_line);
    let found = match name {
        "DOAS_USER" => users.find(|user| user.name == value).ok_or("no user has that name"),
        // The largest number means "no change" to setuid(2), and would leave us root.
        _ => match value.parse::<u32>().ok().filter(|uid| *uid != u32::MAX) {
            None => Err("that is not the number of a user"),
            Some(0) => return Ok(None),
            // A user of a directory service stands in no file; sudo tells all we need.
            Some(uid) => users
                .find(|user| user.uid == uid)
                .or_else(|| user_of_sudo(uid, variable).filter(|_| name == "SUDO_UID"))
                .ok_or("no user has that number in /etc/passwd, and sudo tells no more"),
        },
    };
    match found {
        Ok(user) => Ok(Some(user).filter(|user| user.uid != 0)),
        Err(why) => Err(Error::InvokingUser { name, value, why }),
    }
}

/// A user as sudo(8) describes it; `None` if it does not.
fn user_of_sudo(uid: u32, variable: &dyn Fn(&str) -> Option<String>) -> Option<RunAs> {
    Some(RunAs {
        uid,
        gid: variable("SUDO_GID")?.parse().ok().filter(|gid| *gid != u32::MAX)?,
        name: variable("SUDO_USER").filter(|name| !name.is_empty())?,
        home: variable("SUDO_HOME").unwrap_or_else(|| "/".to_owned()),
    })
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
        let status = format!("Name:\tx\nUid:\t1000\t{uid}\t{uid}\t{uid}\n");
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\n\
                      ada:x:1000:100:Ada:/home/ada:/bin/bash\n";
        crate::fake::of_files(&[("proc/self/status", &status), ("etc/passwd", passwd)])
    }

    fn asked(uid: u32, variables: &[(&str, &str)]) -> Result<Option<RunAs>, String> {
        let (_folder, root) = root(uid);
        let variable = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        invoking_user_of(&root, &variable).map_err(|error| error.to_string())
    }

    #[test]
    fn only_root_on_somebodys_behalf_has_an_invoking_user() {
        let ada = asked(0, &[("SUDO_UID", "1000"), ("SUDO_GID", "100")]).expect("ada");
        let user = ada.as_ref().expect("ada");
        assert_eq!((user.name.as_str(), user.gid, user.home.as_str()), ("ada", 100, "/home/ada"));
        assert_eq!(asked(0, &[("PKEXEC_UID", "1000")]), Ok(ada.clone()));
        assert_eq!(asked(0, &[("DOAS_USER", "ada")]), Ok(ada));
        for nobody in [&[("SUDO_UID", "0")], &[("DOAS_USER", "root")]] {
            assert_eq!(asked(0, nobody), Ok(None));
        }
        assert_eq!(asked(0, &[]), Ok(None));
        assert_eq!(asked(1000, &[("SUDO_UID", "1000")]), Ok(None));
        assert_eq!(asked(1000, &[("SUDO_UID", "many")]), Ok(None));
    }

    #[test]
    fn a_user_of_a_directory_service_is_taken_from_sudo() {
        let far = [("SUDO_UID", "70001"), ("SUDO_GID", "70000"), ("SUDO_USER", "bob")];
        let bob = asked(0, &far).expect("known").expect("bob");
        assert_eq!((bob.uid, bob.gid, bob.name.as_str()), (70_001, 70_000, "bob"));
    }

    #[test]
    fn root_does_not_run_on_behalf_of_a_user_who_cannot_be_found() {
        let group = ("SUDO_GID", "70000");
        for (variables, part) in [
            (&[("SUDO_UID", "many")][..], "SUDO_UID=\"many\""),
            (&[("SUDO_UID", "")], "not the number of a user"),
            (&[("SUDO_UID", "-1")], "not the number of a user"),
            (&[("SUDO_UID", "4294967295")], "not the number of a user"),
            (&[("SUDO_UID", "4294968296")], "not the number of a user"),
            (&[("SUDO_UID", "70001")], "no user has that number"),
            (&[("SUDO_UID", "70001"), group], "no user has that number"),
            (&[("SUDO_UID", "70001"), group, ("SUDO_USER", "")], "no user has that number"),
            (
                &[("SUDO_UID", "70001"), ("SUDO_GID", "4294967295"), ("SUDO_USER", "bob")],
                "no user has that number",
            ),
            (&[("PKEXEC_UID", "70001"), group, ("SUDO_USER", "bob")], "PKEXEC_UID=\"70001\""),
            (&[("DOAS_USER", "eve")], "no user has that name"),
        ] {
            let error = asked(0, variables).expect_err(part);
            assert!(error.contains(part) && error.contains("unset"), "{variables:?}: {error}");
        }
    }
}
