//! Files that describe what is simulated, named where a built-in one could be.

use crate::exit::usage;
use anyhow::Result;
use coretwin_base::caps;
use std::fs::File;
use std::path::Path;

/// Whether a name is that of a file: it has a slash, or ends in `.toml`.
pub(crate) fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml")
}

pub(crate) fn text_of(file: &str) -> Result<String> {
    let cap = if file.ends_with(".json") { &caps::RT_APP } else { &caps::MODEL };
    let text = File::open(file).and_then(|file| cap.text(file));
    text.map_err(|error| usage(format!("cannot read {file}: {error}")))
}
