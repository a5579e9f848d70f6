//! Which method, and why not a better one.

use crate::Error;
use crate::bounds::Bounds;
use crate::ebpf::Ebpf;
use crate::method::Method;
use crate::sampled::{Effort, Sampled};
use coretwin_base::account::{MethodName, Siblings};
use coretwin_host::root::Root;

pub struct Chosen {
    pub method: Box<dyn Method>,
    /// Why not a better one and what would make it possible; empty for the best.
    pub why: String,
}

/// Starts the method that was asked for, else the best that is possible. Errors: [`Error::Method`] if
/// the one that was asked for is not possible, or none is.
pub fn start(
    root: &Root,
    siblings: &Siblings,
    asked: Option<MethodName>,
    effort: Effort,
) -> Result<Chosen, Error> {
    let mut why = Vec::new();
    let mut last = None;
    for name in asked.map_or(MethodName::ALL.to_vec(), |name| vec![name]) {
        let mut method: Box<dyn Method> = match name {
            MethodName::Ebpf => Box::new(Ebpf::new(root, siblings.clone())),
            MethodName::Sampled => Box::new(Sampled::new(root, siblings.clone(), effort)),
            MethodName::Bounds => Box::new(Bounds::new(root, siblings.clone(), effort)),
        };
        match method.start() {
            Ok(()) => return Ok(Chosen { method, why: why.join("; ") }),
            Err(error) => {
                why.push(error.to_string());
                last = Some(error);
            }
        }
    }
    Err(last.unwrap_or_else(|| Error::Target("no method is known".to_owned())))
}
