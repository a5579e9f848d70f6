//! The loader of a build without BPF.

use super::{Room, SiblingMap, Window};
use crate::Error;
use std::convert::Infallible;

/// The program in the kernel; there is none in this build.
#[derive(Debug)]
pub struct Overlap(Infallible);

impl Overlap {
    /// Would load and start the program.
    ///
    /// # Errors
    /// [`Error::NotBuilt`], always.
    pub fn start(_map: &SiblingMap, _room: Room) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// Would follow a process's children.
    ///
    /// # Errors
    /// None; there is no value to call it on.
    pub fn follow_children(&self, _tgid: u32) -> Result<(), Error> {
        match self.0 {}
    }

    /// Would end the window.
    ///
    /// # Errors
    /// None; there is no value to call it on.
    pub fn window(&mut self) -> Result<Window, Error> {
        match self.0 {}
    }
}
