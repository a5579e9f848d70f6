//! Rows `page_test` and `brk_test`: the end of the heap moved to and fro, 4 KiB at a time, with the
//! pages touched or not.
//!
//! Huge pages are switched off for the process, because one of them would hide the page faults
//! that `page_test` is about. On a kernel whose pages are larger than 4 KiB there are fewer; the
//! metric `page_faults_per_call` tells.

use super::Call;
use super::native::heap::{self, Break};
use crate::copies::Remarks;
use crate::{Context, Error};

const PAGE: isize = 4096;
/// Pages taken away and given again in a turn.
const PAGES: isize = 16;
/// By how much the heap is larger meanwhile, in bytes.
const ROOM: isize = 1 << 20;
/// Distance between written bytes.
const STEP: usize = 128;

struct Heap {
    turns: u32,
    touch: bool,
    calls: u64,
    faults: u64,
}

impl Call for Heap {
    fn call(&mut self) -> Result<(), Error> {
        let before = if self.touch { heap::minor_faults() } else { 0 };
        let mut end = Break::find();
        let mut moved = end.move_by(ROOM);
        for _ in 0..self.turns {
            moved &= end.move_by(-PAGES * PAGE);
            for _ in 0..PAGES {
                moved &= end.move_by(PAGE);
                if self.touch {
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
        self.calls += 1;
        if self.touch {
            self.faults += heap::minor_faults() - before;
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        // With larger pages than those of the row, fewer fault.
        let expected = u64::from(self.turns) * PAGES as u64 * self.calls;
        let small = rustix::param::page_size() == PAGE as usize;
        to.check("pages_faulted", !self.touch || !small || self.faults >= expected);
        to.metric("page_kib", rustix::param::page_size() as f64 / 1024.0, "KiB");
        if self.touch && self.calls > 0 {
            let each = self.faults as f64 / self.calls as f64;
            to.metric("page_faults_per_call", each, "faults");
        }
    }
}

pub(super) fn prepare(turns: u32, touch: bool) -> Result<Box<dyn Call>, Error> {
    rustix::thread::disable_transparent_huge_pages(true)
        .context("cannot switch off huge pages for the process")?;
    Ok(Box::new(Heap { turns, touch, calls: 0, faults: 0 }))
}
