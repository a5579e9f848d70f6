//! A program that does nothing at every switch: what any costs there, beside which a benchmark sets
//! the others.

use crate::Error;
use crate::object::{embedded, load, open, refused};
use libbpf_rs::{Link, Object};

/// The name of the object.
const OBJECT: &str = "empty";

/// The program in the kernel; it goes when this value does.
#[derive(Debug)]
pub struct Empty {
    _link: Link,
    _object: Object,
}

impl Empty {
    /// Loads and starts the program.
    ///
    /// # Errors
    /// [`Error`] says what the kernel lacks or forbids.
    pub fn start() -> Result<Self, Error> {
        let object = load(OBJECT, open(OBJECT, embedded!("empty"))?)?;
        let program = object.progs_mut().next().ok_or_else(|| Error::Failed {
            what: "looking for the program".to_owned(),
            reason: "the object has none".to_owned(),
        })?;
        let link = program.attach().map_err(|error| refused(OBJECT, &error))?;
        Ok(Self { _link: link, _object: object })
    }
}
