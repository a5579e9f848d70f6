//! What is typed after `coretwin account`.

use crate::basis::Basis;
use std::time::Duration;

const LENGTH: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin account -- make -j8
  coretwin account --pid 1234 --for 1m --yield 1.3:1.2-1.4
  coretwin account --cgroup /system.slice/nginx.service
  sudo coretwin account --all --for 10s --json
  coretwin account --siblings 0+1 -- ./mycmd     as if CPUs 0 and 1 shared a core

Raw time is what the kernel counts. Of it, shared time ran beside a busy sibling. Capacity is the \
seconds of a whole core that were used: what a bill wants. Alone-equivalent is how long the same \
work would have run with no sibling busy: what tuning wants. Measure yield and slowdown of your \
work with coretwin cputime; they are then taken from there.

Exit status: with a command, that of the command, 128 and the signal's number if a signal ended it; \
124 it goes on after --for, 125 coretwin failed (message on standard error), 126 the command cannot \
be run, 127 there is none of that name. Without one, 0 done, 3 not possible here, 130 interrupted. \
A slip in the options is 2, before anything runs. A signal to coretwin is passed on to every process \
of the command, and what was measured is printed.")]
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
    #[arg(long = "for", value_name = "TIME", value_parser = crate::basis::length)]
    pub(super) length: Option<Duration>,
    #[command(flatten)]
    pub(super) basis: Basis,
    /// Print all of it, not the answer in seven lines
    #[arg(long, conflicts_with = "json")]
    pub(super) full: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(super) fn length(&self) -> Option<Duration> {
        self.length.or(self.command.is_empty().then_some(LENGTH))
    }
}
