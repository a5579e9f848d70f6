//! Which shell `/bin/sh` is. One runs a program in a child of its own, another becomes it, so times
//! of different ones do not compare.

use coretwin_base::caps;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Where Debian and its descendants list packages (dpkg(1)).
const DPKG: &str = "/var/lib/dpkg";
/// Where Alpine does (apk(5)).
const APK: &str = "/lib/apk/db/installed";

/// Its path, and package and version where they can be learnt without asking a program.
pub(super) fn about() -> String {
    let Ok(path) = std::fs::canonicalize("/bin/sh") else { return "none".to_owned() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let version = version_dpkg(Path::new(DPKG), &path, &name).or_else(|| {
        let installed = text(Path::new(APK))?;
        field(&installed, &format!("P:{name}"), "V:")
    });
    match version {
        Some(version) => format!("{} ({name} {version})", path.display()),
        None => path.display().to_string(),
    }
}

/// The version of the package of that name, if it is the one that the file belongs to.
fn text(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len().min(caps::MACHINE.bytes);
    // In one piece, which is given back whole: memory that stayed would be copied by every fork.
    let mut text = String::with_capacity(usize::try_from(size).ok()? + 1);
    file.take(size).read_to_string(&mut text).ok()?;
    Some(text)
}

fn version_dpkg(database: &Path, path: &Path, name: &str) -> Option<String> {
    let files = text(&database.join(format!("info/{name}.list")))?;
    let path = path.to_str()?;
    // Packages from before /bin became /usr/bin name it so.
    let older = path.strip_prefix("/usr").unwrap_or(path);
    files.lines().find(|line| [path, older].contains(line))?;
    let status = text(&database.join("status"))?;
    field(&status, &format!("Package: {name}"), "Version: ")
}

/// A field of the paragraph that has that line.
fn field(paragraphs: &str, line: &str, name: &str) -> Option<String> {
    let mut paragraphs = paragraphs.split("\n\n");
    let paragraph = paragraphs.find(|paragraph| paragraph.lines().any(|one| one == line))?;
    paragraph.lines().find_map(|one| one.strip_prefix(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_files_package() {
        let database = tempfile::tempdir().expect("folder");
        std::fs::create_dir(database.path().join("info")).expect("folder");
        let write = |name: &str, text: &str| {
            std::fs::write(database.path().join(name), text).expect("written");
        };
        let version = |path: &str, name: &str| version_dpkg(database.path(), Path::new(path), name);
        assert_eq!(version("/usr/bin/dash", "dash"), None, "nothing is listed");
        write("info/dash.list", "/.\n/bin\n/bin/dash\n");
        write("status", "Package: ash\nVersion: 1\n\nPackage: dash\nVersion: 0.5.12-2\n");
        assert_eq!(version("/usr/bin/dash", "dash").as_deref(), Some("0.5.12-2"));
        assert_eq!(version("/opt/bin/dash", "dash"), None, "somebody's own");
        assert!(about().starts_with('/'), "{}", about());
    }
}
