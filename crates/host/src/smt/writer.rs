//! One writes at a time: a study and the guard that believes it dead must not both put CPUs back.

use super::SwitchError;
use super::saved::{FOLDER, folder};
use crate::root::Root;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::File;

/// The right to write, until it is dropped or its process ends.
#[derive(Debug)]
pub struct Writer {
    _file: File,
}

pub fn wait(root: &Root) -> Result<Writer, SwitchError> {
    let path = root.path(&format!("{FOLDER}/smt.writer"));
    let locked = (|| {
        folder(root)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(open(&path, flags, Mode::RUSR | Mode::WUSR)?);
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
        Ok(file)
    })();
    match locked {
        Ok(file) => Ok(Writer { _file: file }),
        Err(cause) => Err(SwitchError::Lock { path, cause }),
    }
}
