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

    /// Learns of a miss at a physical line; the lines to fetch.
    #[inline]
    pub(super) fn miss(&mut self, line: u32) -> impl Iterator<Item = u32> + use<> {
        let (degree, direction) = match self.description {
            Description::None => (0, 0),
            Description::NextLine { degree } => (degree, 1),
            Description::Stream { degree, .. } => (degree, self.follow(line)),
        };
        let page_lines = self.page_lines;
        let ahead = (1..=i32::from(degree)).filter(move |_| direction != 0);
        ahead
            .map(move |ahead| line.wrapping_add_signed(ahead * direction))
            .filter(move |next| next / page_lines == line / page_lines)
    }

    /// The direction of the sequence that a line continues; 0 where there is none yet.
    fn follow(&mut self, line: u32) -> i32 {
        let page = line / self.page_lines;
        let trackers = &mut self.trackers[..self.count];
        let Some(last) = trackers.len().checked_sub(1) else { return 0 };
        let found = trackers.iter().position(|tracker| tracker.page == page);
        let place = found.unwrap_or(last);
        let mut tracker = trackers[place];
        trackers.copy_within(0..place, 1);
        if found.is_none() {
            trackers[0] = Tracker { page, last: line, run: 0 };
            return 0;
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
        if tracker.run.abs() < 2 { 0 } else { tracker.run.signum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_followed_both_ways_and_stay_in_their_page() {
        let stream = Description::Stream { trackers: 4, degree: 2 };
        let mut prefetcher = Prefetcher::new(stream, 64);
        let mut miss = |line| prefetcher.miss(line).collect::<Vec<u32>>();
        assert!([10, 11].map(&mut miss).iter().all(Vec::is_empty));
        assert_eq!(miss(12), [13, 14]);
        assert!([130, 129].map(&mut miss).iter().all(Vec::is_empty));
        assert!(miss(128).is_empty(), "the page begins at line 128");
        assert_eq!(miss(13), [14, 15], "the other is not forgotten");
    }
}
