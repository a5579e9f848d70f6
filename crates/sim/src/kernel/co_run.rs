//! How fast work goes: alone, beside other work on its core, beside an idle sibling. Data, made by
//! runs of the simulated core (or by measurement) and handed to the simulated kernel.

use coretwin_base::simulation::core_run::CoreMatrix;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ProfileId(pub u16);

impl ProfileId {
    /// The kernel's own work: system calls. Every table has it first.
    pub const KERNEL: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One in fixed point: a speed that is the same as alone.
pub const ONE: u32 = 1 << 16;

/// One in fixed point of uops per ns; speeds alone are multiples of a millionth of that.
pub const UOP_PER_NS: u64 = 1 << 20;

pub const PROFILES_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkProfile {
    pub name: String,
    /// Its speed alone, in uops per ns, times [`UOP_PER_NS`].
    pub alone: u64,
    /// What part of the machine's full cache refill it needs when its data is not in the caches,
    /// times [`ONE`].
    pub refill: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoRun {
    profiles: Vec<WorkProfile>,
    /// `beside[p][q]`: speed of `p` beside `q` over alone, times ONE; row by row.
    beside: Vec<u32>,
    /// Speed of `p` beside a sibling that polls for work, over alone.
    polling: Vec<u32>,
    /// Speed of `p` beside a sibling that was taken offline, over alone.
    offline: Vec<u32>,
    /// The kind of work that going through the scheduler's lists is; `None`: of the kind of the task for
    /// which it is done.
    walking: Option<ProfileId>,
}

impl CoRun {
    /// A table. `beside(p, q)` is the speed of `p` beside `q` over alone, `polling(p)` beside a polling
    /// sibling, `offline(p)` beside a sibling that was taken offline; all times [`ONE`]. An error if
    /// there is no profile or too many, or a speed is 0 or above twice that alone.
    pub fn new(
        profiles: Vec<WorkProfile>,
        beside: impl Fn(usize, usize) -> u32,
        polling: impl Fn(usize) -> u32,
        offline: impl Fn(usize) -> u32,
    ) -> Result<Self, String> {
        let count = profiles.len();
        if count == 0 || count > PROFILES_MAX {
            return Err(format!("a co-run table has 1 to {PROFILES_MAX} profiles, not {count}"));
        }
        for profile in &profiles {
            // 64 uops a ns is beyond any core; the bound keeps the arithmetic exact.
            if profile.alone == 0 || profile.alone > 64 * UOP_PER_NS {
                return Err(format!(
                    "profile {}: a speed above 0 and up to 64 uops a ns",
                    profile.name
                ));
            }
        }
        let table = Self {
            beside: (0..count * count).map(|at| beside(at / count, at % count)).collect(),
            polling: (0..count).map(polling).collect(),
            offline: (0..count).map(offline).collect(),
            profiles,
            walking: None,
        };
        let all = table.beside.iter().chain(&table.polling).chain(&table.offline);
        match all.clone().all(|speed| (1..=2 * ONE).contains(speed)) {
            true => Ok(table),
            false => {
                Err("a speed beside others is above 0 and at most twice that alone".to_owned())
            }
        }
    }

    /// Every kind of work is slowed by the same factor beside any other: `slowdown` in thousandths,
    /// 1000 for none. A polling sibling slows by `polling`. Names follow `kernel`, and each runs one
    /// uop a ns alone, so that uops are nanoseconds.
    pub fn uniform(names: &[&str], slowdown: u32, polling: u32) -> Result<Self, String> {
        let speed = |slowdown: u32| {
            (1000 * u64::from(ONE)).checked_div(u64::from(slowdown)).unwrap_or(0) as u32
        };
        let named =
            |name: &str| WorkProfile { name: name.to_owned(), alone: UOP_PER_NS, refill: ONE };
        let profiles = std::iter::once("kernel").chain(names.iter().copied()).map(named).collect();
        Self::new(profiles, |_, _| speed(slowdown), |_| speed(polling), |_| ONE)
    }

    /// From every pair of some profiles on the simulated core at this clock. The profile `kernel`
    /// stands for the kernel's own work, `polling` for a sibling that polls for work; all keep their
    /// names too. A sibling that is offline leaves the core to the other, and every kind of work needs
    /// all of the machine's refill: the core's tables say nothing of either.
    pub fn of_matrix(
        matrix: &CoreMatrix,
        clock_ghz: f64,
        kernel: &str,
        polling: &str,
    ) -> Result<Self, String> {
        let place = |name: &str| {
            let found = matrix.profiles.iter().position(|profile| profile == name);
            found.ok_or_else(|| format!("the matrix has no profile {name}"))
        };
        let (kernel, polling) = (place(kernel)?, place(polling)?);
        // Row n + 1 of the table is row n of the matrix; row 0 is the kernel's.
        let row = |index: usize| index.checked_sub(1).unwrap_or(kernel);
        let speed = |slowdown: f64| (f64::from(ONE) / slowdown) as u32;
        let named = |index: usize| WorkProfile {
            name: match index {
                0 => "kernel".to_owned(),
                index => matrix.profiles[index - 1].clone(),
            },
            alone: (matrix.alone_ipc[row(index)] * clock_ghz * UOP_PER_NS as f64) as u64,
            refill: ONE,
        };
        Self::new(
            (0..=matrix.profiles.len()).map(named).collect(),
            |own, other| speed(matrix.slowdown[row(own)][row(other)]),
            |own| speed(matrix.slowdown[row(own)][polling]),
            |_| ONE,
        )
    }

    /// The same, where going through the scheduler's lists is work of this profile.
    pub fn with_walks(self, name: &str) -> Result<Self, String> {
        let walking = self.named(name).ok_or_else(|| format!("there is no profile {name}"))?;
        Ok(Self { walking: Some(walking), ..self })
    }

    /// The kind of work that going through the scheduler's lists is for a task of this kind.
    #[inline]
    pub(crate) fn walking(&self, home: ProfileId) -> ProfileId {
        self.walking.unwrap_or(home)
    }

    pub fn profiles(&self) -> &[WorkProfile] {
        &self.profiles
    }

    pub fn named(&self, name: &str) -> Option<ProfileId> {
        let index = self.profiles.iter().position(|profile| profile.name == name)?;
        Some(ProfileId(index as u16))
    }

    pub(crate) fn profile(&self, profile: ProfileId) -> &WorkProfile {
        &self.profiles[profile.index()]
    }

    /// Speed of work over alone, times ONE, beside one sibling that does this.
    #[inline]
    pub(crate) fn beside(&self, work: ProfileId, sibling: Occupant) -> u32 {
        match sibling {
            Occupant::Works(other) => {
                self.beside[work.index() * self.profiles.len() + other.index()]
            }
            Occupant::Polls => self.polling[work.index()],
            Occupant::Offline => self.offline[work.index()],
            Occupant::Halts => ONE,
        }
    }
}

/// What a hardware thread does, as its siblings feel it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occupant {
    Works(ProfileId),
    Halts,
    Polls,
    Offline,
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::schema::SCHEMA;

    #[test]
    fn a_matrix_of_the_core_becomes_speeds() {
        let matrix = CoreMatrix {
            schema: SCHEMA,
            preset: "test".to_owned(),
            profiles: ["work", "call", "poll"].map(str::to_owned).to_vec(),
            alone_ipc: vec![2.0, 0.5, 1.0],
            slowdown: vec![vec![1.6, 1.25, 1.0], vec![1.5, 2.0, 1.0], vec![1.0; 3]],
            throughput: Vec::new(),
            slowdown_by_formula: Vec::new(),
            cached: 0,
            seed: 1,
            warmup_uops: 0,
            measure_uops: 0,
        };
        let table = CoRun::of_matrix(&matrix, 1.5, "call", "poll").expect("a table");
        let work = table.named("work").expect("its own name");
        assert_eq!(table.profile(work).alone, 3 * UOP_PER_NS);
        assert_eq!(table.profile(ProfileId::KERNEL).alone, 3 * UOP_PER_NS / 4);
        assert_eq!(table.beside(work, Occupant::Works(work)), ONE * 10 / 16);
        assert_eq!(table.beside(work, Occupant::Works(ProfileId::KERNEL)), ONE * 4 / 5);
        assert_eq!(table.beside(ProfileId::KERNEL, Occupant::Works(work)), ONE * 2 / 3);
        assert_eq!(table.beside(work, Occupant::Polls), ONE);
        let none = CoRun::of_matrix(&matrix, 1.5, "call", "spin").expect_err("no such profile");
        assert!(none.contains("no profile spin"));
        let zero = CoRun::uniform(&["busy"], 0, 1000).expect_err("no speed");
        assert!(zero.contains("above 0"));
    }
}
