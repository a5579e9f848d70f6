//! A fleet's folder, read for a comparison.

use crate::exit::usage;
use crate::out;
use anyhow::Result;
use coretwin_base::fleet::Fleet;
use coretwin_lab::fleet::merge::merge;
use coretwin_store::fleet_folder::FleetFolder;
use std::path::Path;

/// The machines of a fleet, by its bundles; nothing is written.
pub(super) fn read(folder: &Path) -> Result<Fleet> {
    let (fleet, plan) = FleetFolder::open(folder)?;
    let shown = folder.display();
    let merged = merge(&plan, &fleet.bundles()?, fleet.folder(), |_| ());
    if merged.sweep.is_some() {
        let why =
            format!("{shown} holds a sweep of the simulated kernel, which has no arms to compare");
        return Err(usage(why));
    }
    if merged.fleet.members.is_empty() {
        let why = format!(
            "{shown} has no bundle that counts; what is missing, and how to finish: coretwin fleet status \
             {shown}"
        );
        return Err(usage(why));
    }
    for refused in &merged.fleet.refused {
        out::news(&format!("{shown}: does not count: {}: {}", refused.file, refused.reason));
    }
    Ok(merged.fleet)
}
