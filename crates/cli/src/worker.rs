//! `coretwin-worker`: the small process in which measured work runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    coretwin_workloads::worker::main()
}
