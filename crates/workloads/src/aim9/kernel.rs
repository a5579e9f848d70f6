//! Rows `page_test` and `brk_test`: the end of the heap moved to and fro, 4 KiB at a time, with the pages
//! touched or not; `fork_test`, `exec_test`, `shell_rtns_1` to `3`, `signal_test`, `jmp_test`: processes made
//! and waited for, signals caught, jumps out of nested calls.
//!
//! Huge pages are switched off for the process of the heap, because one of them would hide the page faults
//! that `page_test` is about. On a kernel whose pages are larger than 4 KiB there are fewer; the metric
//! `page_faults_per_call` tells.

use super::native::{jump, kernel as native};
use super::{Place, Prepared, c_path, made};
use crate::workload::Telling;
use crate::{Context, Error, sys};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const PAGE: isize = 4096;
/// Pages taken away and given again in a turn.
const PAGES: isize = 16;
/// By how much the heap is larger meanwhile, in bytes.
const ROOM: isize = 1 << 20;
/// Distance between written bytes.
const STEP: usize = 128;

pub(super) fn heap(turns: u32, touch: bool) -> Prepared {
    rustix::thread::disable_transparent_huge_pages(true)
        .context("cannot switch off huge pages for the process")?;
    let call = move |faults: &mut u64| {
        let before = if touch { sys::minor_faults() } else { 0 };
        let mut end = native::Break::find();
        let mut moved = end.move_by(ROOM);
        for _ in 0..turns {
            moved &= end.move_by(-PAGES * PAGE);
            for _ in 0..PAGES {
                moved &= end.move_by(PAGE);
                if touch {
                    end.touch_last(PAGE as usize, STEP);
                }
            }
        }
        if !(end.back() && moved) {
            return Err(Error::failed(
                "the kernel does not move the end of the heap; is there a limit on data (ulimit \
                 -d), or on memory?",
            ));
        }
        if touch {
            *faults += sys::minor_faults() - before;
        }
        Ok(())
    };
    made(0, call, move |faults, calls, to| {
        // With larger pages than those of the row, fewer fault.
        let expected = u64::from(turns) * PAGES as u64 * calls;
        let small = rustix::param::page_size() == PAGE as usize;
        to.check("pages_faulted", !touch || !small || *faults >= expected);
        to.higher("page_kib", rustix::param::page_size() as f64 / 1024.0, "KiB");
        if touch && calls > 0 {
            to.higher("page_faults_per_call", *faults as f64 / calls as f64, "faults");
        }
    })
}

/// What the original's process has touched when it forks, in bytes.
const TOUCHED: usize = 1 << 20;

fn children(
    count: u32,
    start: impl Fn() -> io::Result<()> + 'static,
    shell: Option<String>,
) -> Prepared {
    // Memory that every child gets a copy of on paper.
    let touched = black_box(vec![1_u8; TOUCHED]);
    let call = move |(ended, well): &mut (u64, u64)| {
        black_box(&touched);
        for _ in 0..count {
            start().context("cannot fork")?;
            let waited = native::wait_for_all().context("cannot wait for a child")?;
            *ended += u64::from(waited.0);
            *well += u64::from(waited.1);
        }
        Ok(())
    };
    made((0, 0), call, move |(ended, well), calls, to| {
        let expected = calls * u64::from(count);
        to.check("children_waited_for", *ended == expected);
        to.check("children_well", *well == expected);
        if let Some(shell) = &shell {
            to.note("shell", shell);
        }
    })
}

pub(super) fn fork_test(_: &Place) -> Prepared {
    children(100, native::fork_and_exit, None)
}

/// The program is a script of one line, so the kernel starts the shell; as in the original.
pub(super) fn exec_test(place: &Place) -> Prepared {
    script(place.folder()?, "true", "#!/bin/sh\n")?;
    children(5, || native::fork_and_exec(c"./true"), Some(which_shell()))
}

/// A child that asks a shell to run the script of that number, found by `PATH`, that lists the folder.
pub(super) fn shell(place: &Place, number: u32) -> Prepared {
    let folder = place.folder()?;
    script(folder, &format!("aim_{number}.sh"), "#!/bin/sh\nls -l >/dev/null 2>&1\n")?;
    native::search_first(folder);
    let line = c_path(format!("aim_{number}.sh {number}").as_ref())?;
    children(1, move || native::fork_and_shell(&line), Some(which_shell()))
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

const SIGNALS: u32 = 1000;

/// Signals sent to the process itself and caught. The handler installs itself again each time.
pub(super) fn signal_test(_: &Place) -> Prepared {
    let call = |sent: &mut u64| {
        *sent += u64::from(native::catch_signals(SIGNALS));
        Ok(())
    };
    made(0, call, |sent, calls, to| {
        to.check("signals_caught", *sent == calls * u64::from(SIGNALS));
    })
}

/// Jumps of a call, and the number that the nested calls count down from.
const JUMPS: u32 = 1000;
const DEPTH: u32 = 10;

pub(super) fn jmp_test(_: &Place) -> Prepared {
    let call = |landed: &mut u64| {
        for _ in 0..JUMPS {
            *landed += u64::from(black_box(jump::jump_back(black_box(DEPTH))));
        }
        Ok(())
    };
    made(0, call, |landed, calls, to| {
        to.check("jumps_landed", *landed == calls * u64::from(JUMPS));
        to.note("jump", jump::WAY);
    })
}
