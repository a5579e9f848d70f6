//! Addresses sent through a preset's caches without any timing: misses only, for experiments that ask
//! where pages lie.

use super::page_map::{PageMap, Space};
use super::tags::Tags;
use crate::core::preset::WritePolicy;
use crate::core::{Placement, Preset};

/// The caches of one thread alone.
pub(crate) struct Walk {
    map: PageMap,
    space: Space,
    line_bits: u32,
    through: bool,
    levels: Vec<Tags>,
    /// Of the last level, so far.
    pub(crate) misses: u64,
}

impl Walk {
    /// Empty caches, with the page map of this seed.
    pub(crate) fn new(preset: &Preset, seed: u64, placement: Placement) -> Self {
        let memory = &preset.memory;
        let threads = usize::from(preset.ways);
        let tags = |cache| Tags::of_cache(cache, memory.line_bytes, threads, false);
        Self {
            map: PageMap::new(seed),
            space: Space { data: 1, code: 1, page_bits: 12, placement },
            line_bits: memory.line_bytes.trailing_zeros(),
            through: memory.write_policy == WritePolicy::Through,
            levels: std::iter::once(&memory.first).chain(&memory.outer).map(tags).collect(),
            misses: 0,
        }
    }

    /// One access. Every level without the line gets it; a store goes on outwards where the first
    /// level writes through.
    pub(crate) fn access(&mut self, address: u64, store: bool) {
        let line = (self.map.data(&self.space, address) >> self.line_bits) as u32;
        let last = self.levels.len() - 1;
        for (level, tags) in self.levels.iter_mut().enumerate() {
            let hit = tags.touch(0, line);
            // Writing through, the first level does not fetch a line for a store.
            let passes = level == 0 && store && self.through;
            if !hit {
                self.misses += u64::from(level == last);
                if !passes {
                    let _ = tags.insert(0, line, false);
                }
            }
            if hit && !passes {
                return;
            }
        }
    }
}
