//! The hardware prefetcher: which lines a first-level miss triggers.

use crate::core::preset::{Prefetcher as Description, limits};

/// One sequence within a physical page.
#[derive(Debug, Clone, Copy, Default)]
struct Tracker {
    page: u32,
    last: u32,
    /// Steps in the same direction, negative downwards.
    run: i32,
}

/// The prefetcher; sequences never leave their physical page.
#[derive(Debug, Clone)]
pub(super) struct Prefetcher {
    description: Description,
    /// Most recent first.
    trackers: [Tracker; limits::TRACKERS],
    count: usize,
    page_lines: u32,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Announced {
    lines: [u32; limits::DEGREE],
    count: usize,
}

impl Announced {
    pub(super) fn lines(&self) -> &[u32] {
        &self.lines[..self.count]
    }

    fn push(&mut self, line: u32) {
        if self.count < limits::DEGREE {
            self.lines[self.count] = line;
            self.count += 1;
        }
    }
}

impl Prefetcher {
    pub(super) fn new(description: Description, line_bytes: u16) -> Self {
        let count = match description {
            Description::Stream { trackers, .. } => usize::from(trackers).min(limits::TRACKERS),
            _ => 0,
        };
        // No physical page: every tracker is free.
        let free = Tracker { page: u32::MAX, last: 0, run: 0 };
        let page_lines = 4096 / u32::from(line_bytes);
        Self { description, trackers: [free; limits::TRACKERS], count, page_lines }
    }

    /// Learns of a miss at a physical line.
    #[inline]
    pub(super) fn miss(&mut self, line: u32) -> Announced {
        let mut announced = Announced::default();
        match self.description {
            Description::None => {}
            Description::NextLine { degree } => {
                for ahead in 1..=u32::from(degree) {
                    let next = line + ahead;
                    if next / self.page_lines == line / self.page_lines {
                        announced.push(next);
                    }
                }
            }
            Description::Stream { degree, .. } => self.follow(line, degree, &mut announced),
        }
        announced
    }

    fn follow(&mut self, line: u32, degree: u8, announced: &mut Announced) {
        let page = line / self.page_lines;
        let trackers = &mut self.trackers[..self.count];
        let Some(last) = trackers.len().checked_sub(1) else { return };
        let found = trackers.iter().position(|tracker| tracker.page == page);
        let place = found.unwrap_or(last);
        let mut tracker = trackers[place];
        trackers.copy_within(0..place, 1);
        if found.is_none() {
            trackers[0] = Tracker { page, last: line, run: 0 };
            return;
        }
        let step = i64::from(line) - i64::from(tracker.last);
        tracker.run = match step {
            0 => tracker.run,
            1..=2 => tracker.run.max(0) + 1,
            -2..=-1 => tracker.run.min(0) - 1,
            _ => 0,
        };
        tracker.last = line;
        trackers[0] = tracker;
        if tracker.run.abs() < 2 {
            return;
        }
        for ahead in 1..=i64::from(degree) {
            let next = i64::from(line) + ahead * i64::from(tracker.run.signum());
            if next >= 0 && next / i64::from(self.page_lines) == i64::from(page) {
                announced.push(next as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_followed_both_ways_and_stay_in_their_page() {
        let stream = Description::Stream { trackers: 4, degree: 2 };
        let mut prefetcher = Prefetcher::new(stream, 64);
        for line in [10, 11] {
            assert_eq!(prefetcher.miss(line).lines(), [] as [u32; 0]);
        }
        assert_eq!(prefetcher.miss(12).lines(), [13, 14]);
        for line in [130, 129] {
            assert_eq!(prefetcher.miss(line).lines(), [] as [u32; 0]);
        }
        assert_eq!(prefetcher.miss(128).lines(), [] as [u32; 0], "the page begins at line 128");
        assert_eq!(prefetcher.miss(13).lines(), [14, 15], "the other is not forgotten");
    }
}
