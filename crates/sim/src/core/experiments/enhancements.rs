//! The article's list of what Linux 2.4 changed for Hyper-Threading, each with and without, and
//! what an idle sibling costs, by the way it idles.
//!
//! All numbers are predictions of the event-driven core.

use crate::Result;
use crate::core::profile::{Body, Profile, Work, copies};
use crate::core::{Options, Placement, Preset, ThreadInput, simulate};
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::core_run::{CoreEnhancement, CoreEnhancementSide};

/// One change of the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Enhancement {
    /// Its id.
    pub name: &'static str,
    /// The article's words, or the fact behind it.
    pub title: &'static str,
    /// What the threads do, arm by arm; the first is "without".
    arms: fn() -> Vec<Arm>,
}

/// One side of a comparison, before it is run.
struct Arm {
    label: &'static str,
    /// One profile for each thread; `None` is halted.
    threads: [Option<Profile>; 2],
}

/// Every enhancement, in the article's order; the last is the hardware's rule behind the kernel's
/// choice of HLT.
pub const ALL: &[Enhancement] = &[
    Enhancement {
        name: "lock-alignment",
        title: "128-byte lock alignment: a lock shares no line with data of others",
        arms: lock_alignment,
    },
    Enhancement {
        name: "spin-wait-pause",
        title: "Spin-wait loop optimisation: PAUSE in the loop",
        arms: spin_wait,
    },
    Enhancement {
        name: "lock-handoff",
        title: "The same for a contended lock: both threads want it",
        arms: lock_handoff,
    },
    Enhancement { name: "delay-loop", title: "Non-execution based delay loops", arms: delay_loop },
    Enhancement {
        name: "stack-offset",
        title: "Offset user stack to avoid 64K aliasing",
        arms: stack_offset,
    },
    Enhancement {
        name: "idle",
        title: "Partitioned queues are recombined on HLT, not by a polling idle loop",
        arms: idle,
    },
];

impl Enhancement {
    /// Runs every side on the preset.
    ///
    /// # Errors
    /// [`crate::Error::Stuck`] where a run does not end.
    pub fn run(&self, preset: &Preset, options: &Options) -> Result<CoreEnhancement> {
        let mut alone = None;
        let sides = (self.arms)().into_iter().map(|arm| arm.run(preset, options, &mut alone));
        let mut sides: Vec<CoreEnhancementSide> = sides.collect::<Result<_>>()?;
        let without = sides[0].ipc[0];
        sides.iter_mut().for_each(|side| side.ratio = side.ipc[0] / without);
        Ok(CoreEnhancement {
            schema: SCHEMA,
            name: self.name.to_owned(),
            about: self.title.to_owned(),
            preset: preset.name.clone(),
            sides,
            seed: options.seed,
        })
    }
}

impl Arm {
    /// `alone` is how fast the first thread is alone over what it did in the first arm. A run ends when the slower
    /// thread has done enough, so each arm has another stretch of the first thread's work, and work of several phases
    /// has a speed of its own in each: what is told is its speed over the first stretch.
    fn run(
        self,
        preset: &Preset,
        options: &Options,
        alone: &mut Option<f64>,
    ) -> Result<CoreEnhancementSide> {
        let mut copies = copies(self.threads.iter().flatten()).into_iter();
        let inputs = self.threads.iter().map(|profile| match profile {
            Some(profile) => profile.input(preset, options.seed, copies.next().unwrap_or(0)),
            None => ThreadInput::halted(),
        });
        let outcome = simulate(preset, inputs.collect(), options)?;
        let mut ipc = [0, 1].map(|thread| outcome.uops_per_cycle(thread));
        if let [Some(profile), _] = &self.threads
            && matches!(profile.work, Work::Statistical(_))
        {
            let options = Options {
                warmup_uops: outcome.threads[0].warmup_uops,
                measure_uops: outcome.threads[0].uops.max(1),
                settle_uops: 0,
                ..*options
            };
            let input = profile.input(preset, options.seed, 0);
            let here = simulate(preset, vec![input], &options)?.uops_per_cycle(0);
            ipc[0] *= *alone.get_or_insert(here) / here;
        }
        let work: u64 = outcome.threads.iter().map(|thread| thread.uops).sum();
        let per_thousand = |count: u64| count as f64 * 1e3 / work.max(1) as f64;
        let counts = || outcome.threads.iter().map(|thread| thread.counts);
        Ok(CoreEnhancementSide {
            label: self.label.to_owned(),
            ipc,
            ratio: 1.0,
            machine_clears_per_1000: per_thousand(counts().map(|c| c.machine_clears).sum()),
            alias_evictions_per_1000: per_thousand(counts().map(|c| c.alias_evictions).sum()),
        })
    }
}

/// A body of this file as a profile whose threads share their data.
fn written(name: &str, text: &str) -> Option<Profile> {
    let body = Body::parse(text, 0).unwrap_or_else(|(line, problem)| panic!("{line}: {problem}"));
    Some(Profile {
        name: name.to_owned(),
        title: name.to_owned(),
        shares_data: true,
        page_bytes: 4096,
        placement: Placement::Random,
        work: Work::Body(body),
        solo: Vec::new(),
        provenance: Vec::new(),
    })
}

/// The first thread reads a lock's word and its own data; the second writes a counter of its own,
/// which lies in the lock's line or not.
fn lock_alignment() -> Vec<Arm> {
    // One name: threads of one program find each other's data by it.
    let reader = "load @0x0\nint_alu <1 x3\nload @0x8\nint_alu <1 x3\nint_alu\ncompare <1\nbranch <1 taken\n";
    let writer = |at: &str| {
        format!(
            "load @{at}\nint_alu <1\nstore <1 <1 @{at}\nint_alu x6\ncompare <1\nbranch <1 taken\n"
        )
    };
    let arm = |label, at: &str| Arm {
        label,
        threads: [written("locks", reader), written("locks", &writer(at))],
    };
    vec![arm("the neighbour's data in the lock's line", "0x20"), arm("128 bytes apart", "0x80")]
}

/// A thread at work while its sibling waits.
fn spin_wait() -> Vec<Arm> {
    let arm = |label, first, second| Arm {
        label,
        threads: [Profile::named(first), Profile::named(second)],
    };
    vec![
        arm("gzip beside a waiting loop without PAUSE", "gzip-source", "spin"),
        arm("gzip beside a waiting loop with PAUSE", "gzip-source", "spin-pause"),
    ]
}

/// Two threads that hand a lock to each other.
fn lock_handoff() -> Vec<Arm> {
    let arm = |label, name| Arm { label, threads: [Profile::named(name), Profile::named(name)] };
    vec![
        arm("waiting without PAUSE", "lock-handoff"),
        arm("waiting with PAUSE", "lock-handoff-pause"),
    ]
}

/// Work beside a sibling that delays by executing, or by PAUSE.
fn delay_loop() -> Vec<Arm> {
    let busy = "int_alu <3\ncompare <1\nbranch <1 taken\n";
    let quiet = "nop pause\nint_alu <4\ncompare <1\nbranch <1 taken\n";
    let arm =
        |label, text| Arm { label, threads: [Profile::named("perl-loop"), written("delay", text)] };
    vec![arm("the sibling counts down", busy), arm("the sibling waits with PAUSE", quiet)]
}

fn stack_offset() -> Vec<Arm> {
    let arm = |label, name| Arm { label, threads: [Profile::named(name), Profile::named(name)] };
    vec![
        arm("stacks exactly 64 KiB apart", "stack-alias-64k"),
        arm("stacks moved against each other", "stack-offset"),
    ]
}

fn idle() -> Vec<Arm> {
    let arm = |label, idle: Option<Profile>| Arm {
        label,
        threads: [Profile::named("gzip-source"), idle],
    };
    vec![
        arm("the sibling polls", Profile::named("spin")),
        arm("the sibling polls with PAUSE", Profile::named("spin-pause")),
        arm("the sibling is halted", None),
    ]
}
