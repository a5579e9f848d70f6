//! How fast the tasks of a scenario run: from all pairs of its kinds of work on the simulated core.

use crate::error::Error;
use crate::simulated_core::{self, Cache};
use coretwin_sim::core::length::Length;
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Preset};
use coretwin_sim::kernel::co_run::CoRun;
use coretwin_sim::kernel::scenario::Scenario;

/// The kind of work that stands for the kernel's own.
const KERNEL: &str = "syscall";

/// The kind of work that stands for an idle CPU that polls.
const POLLING: &str = "spin-pause";

#[derive(Debug, Clone, PartialEq)]
pub struct Speeds {
    /// The preset, or `uniform-1.6`.
    pub origin: String,
    /// The table; its rows are the kernel's and those of the scenario.
    pub table: CoRun,
}

impl Speeds {
    /// Every kind of work is slowed alike, by so many thousandths. Errors: [`Error::Usage`] for a
    /// slowdown that cannot be.
    pub fn uniform(scenario: &Scenario, slowdown: u32) -> Result<Self, Error> {
        let table = scenario.uniform(slowdown).map_err(Error::Usage)?;
        Ok(Self { origin: slowdown_text(slowdown), table })
    }

    /// From runs of a processor's core. `done` hears how many of how many pairs are done. Errors:
    /// as [`simulated_core::matrix`]; [`Error::Usage`] for a profile that is not there.
    pub fn of_preset(
        scenario: &Scenario,
        preset: &Preset,
        cache: Option<&Cache>,
        done: impl FnMut(usize, usize),
    ) -> Result<Self, Error> {
        let own = scenario.profiles.iter().map(String::as_str);
        let more = [KERNEL, POLLING].into_iter();
        let more = more.filter(|name| scenario.profiles.iter().all(|own| own != name));
        let profile = |name: &str| {
            let missing = || Error::Usage(format!("there is no profile '{name}'"));
            Profile::named(name).ok_or_else(missing)
        };
        let profiles: Vec<Profile> = own.chain(more).map(profile).collect::<Result<_, _>>()?;
        let options = Options::default();
        let matrix =
            simulated_core::matrix(preset, &profiles, &options, Some(Length::USUAL), cache, done)?;
        let clock_ghz = f64::from(preset.clock_mhz) / 1000.0;
        let table = CoRun::of_matrix(&matrix, clock_ghz, KERNEL, POLLING).map_err(Error::Usage)?;
        Ok(Self { origin: preset.name.clone(), table })
    }
}

fn slowdown_text(slowdown: u32) -> String {
    format!("uniform-{}", f64::from(slowdown) / 1000.0)
}
