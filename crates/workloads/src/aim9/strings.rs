//! Row `string_rtns`: what the C library does with strings, in the C locale.

use super::native::strings::Strings;
use super::native::system::c_library;
use super::{Call, Place};
use crate::Error;

/// Rounds of a call, each credited as one manipulation.
const ROUNDS: u32 = 100;

struct Manipulate {
    strings: Strings,
    right: bool,
}

impl Call for Manipulate {
    fn call(&mut self) -> Result<(), Error> {
        for round in 0..ROUNDS {
            self.right &= self.strings.round(round);
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("answers", self.right)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library())]
    }
}

pub(super) fn string_rtns(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Manipulate { strings: Strings::new(), right: true }))
}
