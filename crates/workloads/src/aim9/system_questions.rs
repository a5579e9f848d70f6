//! Row `misc_rtns_1`: twenty-one questions to C library and kernel. Most of the time goes to the
//! names of users and groups, so to how this machine looks those up. Standard input is `/dev/null`.

use super::native::system::{ask_everything, c_library};
use super::{Call, Place};
use crate::Error;

/// Rounds of a call, each credited as one.
const ROUNDS: u32 = 10;

struct Questions(bool);

impl Call for Questions {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..ROUNDS {
            self.0 &= ask_everything();
        }
        Ok(())
    }

    fn checks(&mut self) -> Vec<(&'static str, bool)> {
        vec![("answers", self.0)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("c_library", c_library()), ("standard_input", "/dev/null".to_owned())]
    }
}

pub(super) fn misc_rtns_1(_: &Place) -> Result<Box<dyn Call>, Error> {
    Ok(Box::new(Questions(true)))
}
