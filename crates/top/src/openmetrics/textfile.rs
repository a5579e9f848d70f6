//! A file that is replaced whole: a reader sees the old text or the new one, never half of one. For
//! the textfile collector of Prometheus's node exporter, which wants names ending in `.prom`.

use crate::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes a file beside it and gives it the name. Errors: [`Error::Textfile`] naming the file; none
/// is left beside it then.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Hidden and of another ending, so that no collector reads it before it is whole.
    let beside = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    // One that a crash left; never one that somebody put there for us to follow.
    let _ = fs::remove_file(&beside);
    let written = fs::File::create_new(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|cause| {
        let _ = fs::remove_file(&beside);
        Error::Textfile { path: path.to_owned(), cause }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("coretwin.prom");
        write(&path, "old\n").expect("first");
        let reader = fs::File::open(&path).expect("reader");
        write(&path, "new\n").expect("second");
        assert_eq!(std::io::read_to_string(reader).expect("old file"), "old\n");
        assert_eq!(fs::read_to_string(&path).expect("new file"), "new\n");
        assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("folder");
        let missing = folder.path().join("no/coretwin.prom");
        let error = write(&missing, "x").expect_err("no folder").to_string();
        assert!(error.contains("no/coretwin.prom"), "{error}");
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).expect("folder");
        write(&taken, "x").expect_err("is a folder");
        assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 1);
    }
}
