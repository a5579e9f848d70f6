//! A kernel without sched_ext: the scheduler says so, and everything else works.

use crate::vm::guest::{Guest, json_of, output};
use anyhow::{Result, ensure};

pub(super) fn run(guest: &mut Guest) -> Result<()> {
    guest.check("sched start is refused with the reason", || {
        let refused = output("coretwin", &["sched", "start", "--detach"])?;
        let said = String::from_utf8_lossy(&refused.stderr);
        ensure!(refused.status.code() == Some(3), "{}: {said}", refused.status);
        ensure!(said.contains("sched_ext"), "{said}");
        Ok(())
    })?;
    guest.check("sched status names the kernel's own scheduler", || {
        let status = json_of("coretwin", &["sched", "status", "--json"])?;
        ensure!(status["scheduler"] == "kernel", "{status}");
        Ok(())
    })?;
    guest.check("a scenario runs under the kernel's own scheduler", || {
        let arguments = ["sched", "scenario", "two-on-siblings", "--kernel", "--json"];
        let record = json_of("coretwin", &arguments)?;
        ensure!(record["operations"]["turn"].as_u64() > Some(0), "{record}");
        Ok(())
    })?;
    Ok(())
}
