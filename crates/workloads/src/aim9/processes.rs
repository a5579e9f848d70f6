//! Rows `fork_test`, `exec_test`, `shell_rtns_1` to `3`, `signal_test`, `jmp_test`: processes made
//! and waited for, signals caught, jumps out of nested calls.

use super::native::{jump, processes as native};
use super::{Call, Place, c_path};
use crate::copies::Remarks;
use crate::{Context, Error};
use std::ffi::{CStr, CString};
use std::hint::black_box;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What the original's process has touched when it forks, in bytes.
const TOUCHED: usize = 1 << 20;

struct Children {
    count: u32,
    start: fn(&CStr) -> std::io::Result<()>,
    what: CString,
    /// Memory that every child gets a copy of on paper.
    _touched: Vec<u8>,
    ended: u64,
    well: u64,
    calls: u64,
    shell: Option<String>,
}

impl Children {
    fn row(
        count: u32,
        start: fn(&CStr) -> std::io::Result<()>,
        what: &CStr,
        shell: Option<String>,
    ) -> Box<dyn Call> {
        let _touched = black_box(vec![1; TOUCHED]);
        let what = what.to_owned();
        Box::new(Self { count, start, what, _touched, ended: 0, well: 0, calls: 0, shell })
    }
}

impl Call for Children {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..self.count {
            (self.start)(&self.what).context("cannot fork")?;
            let waited = native::wait_for_all();
            let (ended, well) = waited.context("cannot wait for a child")?;
            self.ended += u64::from(ended);
            self.well += u64::from(well);
        }
        self.calls += 1;
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        let expected = self.calls * u64::from(self.count);
        to.check("children_waited_for", self.ended == expected);
        to.check("children_well", self.well == expected);
        if let Some(shell) = &self.shell {
            to.note("shell", shell.clone());
        }
    }
}

pub(super) fn fork_test(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Children::row(100, |_| native::fork_and_exit(), c"", None))
}

/// The program is a script of one line, so the kernel starts the shell; as in the original.
pub(super) fn exec_test(place: &Place) -> Result<Box<dyn Call>, Error> {
    script(place.folder()?, "true", "#!/bin/sh\n")?;
    Ok(Children::row(5, native::fork_and_exec, c"./true", Some(which_shell())))
}

/// A child that asks a shell to run the script of that number, found by `PATH`, that lists the folder.
pub(super) fn shell(place: &Place, number: u32) -> Result<Box<dyn Call>, Error> {
    let folder = place.folder()?;
    script(folder, &format!("aim_{number}.sh"), "#!/bin/sh\nls -l >/dev/null 2>&1\n")?;
    native::search_first(folder);
    let line = c_path(format!("aim_{number}.sh {number}").as_ref())?;
    Ok(Children::row(1, native::fork_and_shell, &line, Some(which_shell())))
}

fn script(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(name);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::write(&path, text)
        .and_then(|()| std::fs::set_permissions(&path, executable))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Which shell `/bin/sh` is: rates of different ones do not compare.
fn which_shell() -> String {
    let path = std::fs::canonicalize("/bin/sh");
    path.map_or_else(|_| "none".to_owned(), |path| path.display().to_string())
}

/// Signals sent to the process itself and caught. The handler installs itself again each time.
struct Signals {
    sent: u64,
    calls: u64,
}

const SIGNALS: u32 = 1000;

impl Call for Signals {
    fn call(&mut self) -> Result<(), Error> {
        self.sent += u64::from(native::catch_signals(SIGNALS));
        self.calls += 1;
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("signals_caught", self.sent == self.calls * u64::from(SIGNALS));
    }
}

pub(super) fn signal_test(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Signals { sent: 0, calls: 0 }))
}

struct Jumps {
    landed: u64,
    calls: u64,
}

/// Jumps of a call, and the number that the nested calls count down from.
const JUMPS: u32 = 1000;
const DEPTH: u32 = 10;

impl Call for Jumps {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..JUMPS {
            self.landed += u64::from(black_box(jump::jump_back(black_box(DEPTH))));
        }
        self.calls += 1;
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("jumps_landed", self.landed == self.calls * u64::from(JUMPS));
        to.note("jump", jump::WAY.to_owned());
    }
}

pub(super) fn jmp_test(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Jumps { landed: 0, calls: 0 }))
}
