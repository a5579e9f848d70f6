//! `coretwin-worker` for the tests of this crate, which cannot see the executables of another.

use std::process::ExitCode;

fn main() -> ExitCode {
    coretwin_workloads::worker::main()
}
