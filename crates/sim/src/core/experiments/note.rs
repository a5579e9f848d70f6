//! The note's experiment on its four machines: `gzip -9` beside `perl -e 'while(1){}'` on the
//! sibling, predicted and measured, and which of a preset's values the prediction hangs on.
//!
//! Nothing here is fitted to a co-run: presets and profiles were made from documents and from
//! single threads. A prediction that misses is reported as a miss.

use crate::core::preset::Policy;
use crate::core::profile::Profile;
use crate::core::{Comparison, Options, Preset, Stuck, compare};

/// One of the note's machines.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// The preset that stands for it.
    pub preset: &'static str,
    /// User time beside one spinner over user time alone, means of the printed runs.
    pub measured: f64,
    /// Which runs.
    pub source: &'static str,
}

/// The note's machines, in its order.
pub const MACHINES: [Machine; 4] = [
    Machine {
        preset: "p4-northwood",
        measured: 1.487,
        source: "Pentium 4 2.8, NetBSD 4: 14.96, 14.97, 14.95 s over 10.05, 10.05, 10.08 s",
    },
    Machine {
        preset: "westmere",
        measured: 1.498,
        source: "X5650, Linux 2.6.38: 16.90, 16.80, 16.71 s over 11.27, 11.18, 11.21 s",
    },
    Machine {
        preset: "sandybridge",
        measured: 1.410,
        source: "i7-2600, NetBSD 7: 14.24, 14.26 s over 10.06, 10.17, 10.08 s; the run of 13.69 s \
                 took 14.63 s of real time and is left out",
    },
    Machine {
        preset: "ivybridge",
        measured: 1.398,
        source: "E5-1650 v2, Linux 3.13: 17.02, 16.92, 16.82 s over 12.06, 12.03, 12.23 s",
    },
];

/// The profiles that may stand for what was compressed, which the note does not say.
pub const DATA: [&str; 4] = ["gzip", "gzip-words", "gzip-source", "gzip-binary"];

/// How far a prediction may be off to count as a hit.
pub const ERROR_MAX: f64 = 0.08;

/// What was fitted, none of it to two threads.
pub const FITTED: &str = "for each of the three kinds of data, how far the loads of gzip's search and of the \
    rest of it reach, scaled so that one thread misses as often as a whole run under callgrind does: 9 numbers; \
    and for executables the share of missed branches in the search, to the speed alone on a Zen 5: 1 number.";

/// `work` beside the note's spinner.
///
/// # Errors
/// [`Stuck`] as [`crate::core::simulate`].
pub fn beside_spinner(
    preset: &Preset,
    work: &Profile,
    spinner: &Profile,
    options: &Options,
) -> Result<Comparison, Box<Stuck>> {
    let input = |thread| match thread {
        0 => work.input(preset, options.seed, 0),
        _ => spinner.input(preset, options.seed, u16::from(spinner.name == work.name)),
    };
    compare(preset, 2, &input, options)
}

/// A change of a preset, to see what hangs on it.
#[derive(Clone, Copy)]
pub struct Change {
    /// What is changed, and how.
    pub name: &'static str,
    /// Changes it.
    pub apply: fn(&mut Preset),
}

/// The changes of the sensitivity table. The first changes nothing.
pub const CHANGES: &[Change] = &[
    Change { name: "as the preset says", apply: |_| {} },
    Change { name: "schedulers without cap or reserve", apply: competitive_schedulers },
    Change { name: "schedulers halved", apply: halved_schedulers },
    Change {
        name: "reorder buffer shared competitively",
        apply: |preset| preset.reorder_buffer.policy = Policy::Competitive,
    },
    Change { name: "two threads renamed in one cycle", apply: |p| p.rename.threads_per_cycle = 2 },
    Change {
        name: "two threads fetched in one cycle",
        apply: |p| p.front_end.fetch.threads_per_cycle = 2,
    },
    Change { name: "rename and fetch one narrower", apply: narrower },
    Change {
        name: "mispredictions 5 cycles dearer",
        apply: |p| p.front_end.mispredict_cycles += 5,
    },
    Change {
        name: "mispredictions 5 cycles cheaper",
        apply: |p| p.front_end.mispredict_cycles -= 5,
    },
    Change { name: "first level a cycle slower", apply: |p| p.memory.first.load_cycles += 1 },
    Change {
        name: "second level a third faster",
        apply: |preset| {
            if let Some(second) = preset.memory.outer.first_mut() {
                second.load_cycles -= second.load_cycles / 3;
            }
        },
    },
    Change {
        name: "predictor of four times the size",
        apply: |p| p.front_end.predictor.entries *= 4,
    },
    Change { name: "first level of four times the size", apply: |p| p.memory.first.bytes *= 4 },
];

fn competitive_schedulers(preset: &mut Preset) {
    for scheduler in &mut preset.schedulers {
        scheduler.resource.policy = Policy::Competitive;
    }
}

fn halved_schedulers(preset: &mut Preset) {
    for scheduler in &mut preset.schedulers {
        scheduler.resource.policy = Policy::Static;
    }
}

fn narrower(preset: &mut Preset) {
    preset.rename.width -= 1;
    preset.front_end.fetch.width -= 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_and_every_profile_exists_and_every_change_can_be_made() {
        for machine in MACHINES {
            let preset = Preset::named(machine.preset).expect("a built-in preset");
            for change in CHANGES {
                let mut changed = preset.clone();
                (change.apply)(&mut changed);
                assert_eq!(changed == preset, change.name == CHANGES[0].name, "{}", change.name);
            }
        }
        assert!(DATA.iter().all(|name| Profile::named(name).is_some()));
    }
}
