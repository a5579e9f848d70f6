//! The loader of a build without BPF: its shape, and no value of it.

use super::{Decision, End, Statistics, Wish};
use crate::Error;
use std::convert::Infallible;

#[derive(Debug)]
pub struct Scheduler(Infallible);

impl Scheduler {
    pub fn load(_: &Wish) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    pub fn statistics(&self) -> Result<Statistics, Error> {
        match self.0 {}
    }

    pub fn decisions(&self) -> Result<Vec<Decision>, Error> {
        match self.0 {}
    }

    pub fn poll_end(&self) -> Result<Option<End>, Error> {
        match self.0 {}
    }

    pub fn dump(&self) -> Result<String, Error> {
        match self.0 {}
    }

    pub fn stop(self) -> Result<(Statistics, End), Error> {
        match self.0 {}
    }
}
