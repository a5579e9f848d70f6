//! The loader of a build without BPF: its shape, and no value of it.

use super::{Room, SiblingMap, Window};
use crate::Error;
use std::convert::Infallible;

#[derive(Debug)]
pub struct Overlap(Infallible);

impl Overlap {
    pub fn start(_map: &SiblingMap, _room: Room) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    pub fn follow_children(&self, _tgid: u32) -> Result<(), Error> {
        match self.0 {}
    }

    pub fn window(&mut self) -> Result<Window, Error> {
        match self.0 {}
    }
}
