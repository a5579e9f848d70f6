//! In place of the loader in a build without programs for the kernel.

use super::{End, Options, Statistics, Trial};
use crate::Error;
use std::convert::Infallible;

/// The loaded scheduler; there is none in this build.
#[derive(Debug)]
pub struct Scheduler(Infallible);

impl Scheduler {
    /// Answers that this build has no scheduler.
    ///
    /// # Errors
    /// Always [`Error::NotBuilt`].
    pub fn load(_: &Options) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// The same for trials.
    ///
    /// # Errors
    /// Always [`Error::NotBuilt`].
    pub fn load_for_trial(_: &Options, _: &Trial) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// Never called: there is no scheduler.
    ///
    /// # Errors
    /// None.
    pub fn statistics(&self) -> Result<Statistics, Error> {
        match self.0 {}
    }

    /// Never called: there is no scheduler.
    ///
    /// # Errors
    /// None.
    pub fn poll_end(&self) -> Result<Option<End>, Error> {
        match self.0 {}
    }

    /// Never called: there is no scheduler.
    ///
    /// # Errors
    /// None.
    pub fn stop(self) -> Result<(Statistics, End), Error> {
        match self.0 {}
    }
}
