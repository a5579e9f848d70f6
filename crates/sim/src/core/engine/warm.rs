//! Caches as a long run leaves them: the outer levels hold what the threads touch again and again.
//!
//! Work that touches hundreds of KB here and there fills a cache within tens of millions of
//! micro-operations, which no run can wait for; until then siblings in the same code would fill it for
//! each other. Warming the tags without time is usual (Wunderlich, Wenisch, Falsafi and Hoe, "SMARTS",
//! ISCA 2003: functional warming).

use super::MAX_THREADS;
use super::memory::Memory;
use crate::core::{ThreadInput, Touched};

/// What each thread touches; nothing where the run begins with empty caches.
pub(super) type AllTouched = [Vec<Touched>; MAX_THREADS];

/// Takes what the threads touch out of their inputs.
pub(super) fn take(inputs: &mut [ThreadInput<'_>], warm: bool) -> AllTouched {
    let mut all = AllTouched::default();
    for (of, input) in all.iter_mut().zip(inputs) {
        *of = std::mem::take(&mut input.touched);
        if !warm || input.stream.is_none() {
            of.clear();
        }
    }
    all
}

impl Memory {
    /// Leaves in the outer levels what the threads touch: the largest first, which is touched most thinly,
    /// and what is of one size line by line in turns, beginning with the thread `first`.
    pub(super) fn warm(&mut self, touched: &AllTouched, first: usize) {
        let Some(most) = self.outermost_bytes() else { return };
        let mut all: Vec<(u64, usize, Touched)> = Vec::new();
        for turn in 0..MAX_THREADS {
            let thread = (first + turn) % MAX_THREADS;
            all.extend(touched[thread].iter().map(|one| (one.bytes.min(most), thread, *one)));
        }
        all.sort_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
        for alike in all.chunk_by(|one, other| one.0 == other.0) {
            for offset in (0..alike[0].0).step_by(self.line_bytes()) {
                for (_, thread, Touched { code, start, .. }) in alike {
                    self.place(*thread, *code, start + offset);
                }
            }
        }
        for (_, thread, Touched { code, start, bytes }) in &all {
            if !code {
                self.place_entries(*thread, *start, *bytes);
            }
        }
    }
}
