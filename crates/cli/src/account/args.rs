//! What is typed after `coretwin account`.

use crate::basis::Basis;
use coretwin_base::units::parse_duration;
use std::time::Duration;

/// Watched for so long if nothing else is said.
const LENGTH: Duration = Duration::from_secs(10);

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin account -- make -j8
  coretwin account --pid 1234 --for 1m --yield 1.3:1.2-1.4
  coretwin account --cgroup /system.slice/nginx.service
  sudo coretwin account --all --for 10s --json
  coretwin account --siblings 0+1 -- ./mycmd     as if CPUs 0 and 1 shared a core

Raw time is what the kernel counts. Of it, shared time ran beside a busy sibling. Capacity is the
seconds of a whole core that were used: what a bill wants. Alone-equivalent is how long the same
work would have run with no sibling busy: what tuning wants. Measure yield and slowdown of your
work with coretwin cputime; they are then taken from there.

Exit status: 0 done, 1 the command failed or still runs, 130 interrupted.")]
pub(crate) struct Args {
    /// A command with its arguments, after `--`
    #[arg(last = true, value_name = "CMD", required_unless_present_any = ["pid", "cgroup", "all"])]
    pub(super) command: Vec<String>,
    /// A process that runs, with everything that descends from it
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "cgroup", "all"])]
    pub(super) pid: Option<u32>,
    /// A cgroup and those below it: its folder, or its path as in /proc/PID/cgroup
    #[arg(long, value_name = "PATH", conflicts_with_all = ["command", "all"])]
    pub(super) cgroup: Option<String>,
    /// Everything that runs on this machine
    #[arg(long, conflicts_with = "command")]
    pub(super) all: bool,
    /// How long to watch [default: a command to its end, else 10s]; a command goes on after it
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(super) length: Option<Duration>,
    #[command(flatten)]
    pub(super) basis: Basis,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    /// How long to watch at most.
    pub(super) fn length(&self) -> Option<Duration> {
        self.length.or(self.command.is_empty().then_some(LENGTH))
    }
}
