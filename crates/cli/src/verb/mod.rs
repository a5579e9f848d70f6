//! The verbs: a file of the verb's name here, and a line of the table below.

/// Makes verbs, and the call of each, from their table.
macro_rules! verbs {
    (enum $verbs:ident { $($(#[$about:meta])* $name:ident($module:ident),)+ }) => {
        #[derive(clap::Subcommand)]
        pub(crate) enum $verbs {
            $($(#[$about])* $name(Box<$module::Args>),)+
        }

        impl $verbs {
            #[expect(unused_doc_comments, reason = "the help of a verb stands on its variant")]
            pub(crate) fn run(&self) -> Result<u8> {
                match self {
                    $($(#[$about])* Self::$name(args) => $module::run(args),)+
                }
            }
        }
    };
}

mod account;
mod audit;
mod compare;
mod cputime;
#[cfg(feature = "fleet")]
mod fleet;
mod generate;
mod list;
mod probe;
mod report;
mod run;
#[cfg(feature = "sched")]
pub(crate) mod sched;
mod serve;
#[cfg(feature = "sim")]
mod simulate;
mod smt;
pub(crate) mod study;
#[cfg(feature = "fleet")]
mod survey;
mod top;
mod topology;

use anyhow::Result;

verbs! {
    enum Verb {
        /// Cores, siblings, caches, SMT control, and how far it can be trusted
        Topology(topology),
        /// The SMT switch: look, switch, undo
        Smt(smt),
        /// Every workload, suite, arm, placement, machine and scheduler policy
        List(list),
        /// One workload or command, once; its reading
        Run(run),
        /// Which CPUs really share a core, by measurement
        Probe(probe),
        /// A workload's server alone, for a client elsewhere on this machine
        Serve(serve),
        /// Compare arms, interleaved: tables, figures, verdict
        Study(study),
        /// Tables and figures of a study, made anew from its journal
        Report(report),
        /// Two studies: what became of effects and values; the article's Table 7 with intervals
        Compare(compare),
        /// What a CPU second is worth beside a busy sibling: work alone and beside spinners
        Cputime(cputime),
        /// What CPU time is worth beside busy siblings: of a command, process, cgroup or all
        Account(account),
        /// Live: cores, sibling overlap, capacity left, corrected time of tasks; JSON, OpenMetrics
        Top(top),
        #[cfg(feature = "fleet")]
        /// A machine that nobody has measured yet, in ten minutes: one bundle to send
        Survey(survey),
        #[cfg(feature = "fleet")]
        /// A study on many machines, through Slurm, Kubernetes or ssh
        Fleet(fleet),
        /// Recompute a published table: ratios, geometric means, misprints
        Audit(audit),
        #[cfg(feature = "sched")]
        /// The scheduler with one queue per core, on a live kernel (sched_ext)
        Sched(sched),
        #[cfg(feature = "sim")]
        /// The simulated core: threads that share it, where their cycles go
        Simulate(simulate),
        /// Completions, man pages and the reference, from this program's own definition
        Generate(generate),
    }
}
