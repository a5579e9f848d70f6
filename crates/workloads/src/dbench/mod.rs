//! dbench: clients that make the calls of a file server under load, on files of their own. The
//! article's Table 5.
//!
//! `load` is what a client does; `replay` is a client's loop and clock, `files` what a call does to
//! files; `run` is the process of a client, and the worker's side, which starts all clients and adds
//! up. tbench shares all but the files.
//!
//! How it differs from the original, and why:
//! * the load is read before the clock starts; the original reads and splits its text within it;
//! * a call that is answered otherwise than the load says ends the run: its numbers would be those
//!   of another load;
//! * a read counts with what it brought, where dbench 4 counts what was asked for; in its own load, and
//!   in those of ours, the two are the same;
//! * what counts begins and ends at the same moment for all clients, instead of at ticks of 1 s;
//! * files are in a folder that is made for the run and removed, so that nothing is left of a run
//!   that was ended, and nothing of others is touched.

mod files;
pub mod load;
pub(crate) mod replay;
pub(crate) mod run;

use crate::scratch::{self, DIR, Scratch};
use crate::supervisor::Supervisor;
use crate::workload::{
    Facts, Job, Limit, Need, ParamSpec, Params, Ran, START_S, Telling, Workload, decimal, int,
    needs, text, word, wrong,
};
use crate::{Error, leftovers};
use files::Manner;
use load::Load;
use replay::Phases;
use run::{Clients, Target};

pub static ALL: &[Dbench] = &[Dbench];

/// Ending the clients has this long, in seconds, whatever ended the run.
const CLEANUP_S: f64 = 60.0;
/// What a client's folders need beside its files, in bytes.
const FOLDERS_BYTES: u64 = 1 << 20;
const YES: &str = "yes";
const NO: &str = "no";
const AUTO: &str = "auto";
const CLASSIC: &str = "classic";
const TIMED: &str = "timed";

pub(crate) const CLIENTS: ParamSpec =
    ParamSpec::int("clients", [8, 1, 2000], "client processes (the article: 20 to 120)");
pub(crate) const LOADFILE: ParamSpec = ParamSpec::text(
    "loadfile",
    "netbench-2002",
    "netbench-2002, netbench, or the path of a load file of dbench 4",
);
pub(crate) const MODE: ParamSpec = ParamSpec::text(
    "mode",
    CLASSIC,
    "classic: one pass of the load; timed: passes for so many seconds",
);
pub(crate) const SECONDS: ParamSpec = ParamSpec::decimal(
    "seconds",
    "10",
    [0.1, 3600.0],
    "how long calls count in timed mode, in seconds",
);
pub(crate) const SEED: ParamSpec =
    ParamSpec::int("seed", [1, 0, i64::MAX], "seed of netbench-2002 and netbench");
pub(crate) const WARMUP: ParamSpec = ParamSpec::decimal(
    "warmup",
    "2",
    [0.05, 600.0],
    "how long calls are made before they count in timed mode, in seconds",
);

const PARAMS: &[ParamSpec] = &[
    CLIENTS,
    DIR,
    ParamSpec::text("fsync", NO, "whether each write is followed by fsync: yes or no"),
    LOADFILE,
    MODE,
    ParamSpec::text(
        "resolve",
        AUTO,
        "whether names are looked up without case first: yes, no, or auto as the load does",
    ),
    SECONDS,
    SEED,
    ParamSpec::text("sync", NO, "whether files are opened with O_SYNC: yes or no"),
    WARMUP,
];

pub struct Dbench;

pub(crate) fn check_common(workload: &'static str, params: &Params) -> Result<(), Error> {
    word(workload, params, MODE.name, &[CLASSIC, TIMED])?;
    let file = text(params, LOADFILE.name);
    let why = if load::is_own(&file) {
        return Ok(());
    } else if !file.starts_with('/') {
        "it is netbench-2002, netbench, or a whole path, beginning with '/'".to_owned()
    } else {
        // Said before anything runs, and not by every run of the study.
        match load::find(&file, 0) {
            Ok(_) => return Ok(()),
            Err(Error::System { cause, .. }) => format!("cannot read the load file: {cause}"),
            Err(error) => format!("the load file cannot be used: {error}"),
        }
    };
    Err(wrong(workload, params, LOADFILE.name, why))
}

pub(crate) fn load_of(params: &Params) -> Result<(Load, u64), Error> {
    let seed = params.get(SEED.name).and_then(|seed| seed.as_int()).unwrap_or(0);
    let seed = seed.cast_unsigned();
    Ok((load::find(&text(params, LOADFILE.name), seed)?, seed))
}

pub(crate) fn phases_of(params: &Params) -> Phases {
    match text(params, MODE.name).as_str() {
        TIMED => Phases::Timed {
            warm_up_s: decimal(params, WARMUP.name),
            seconds: decimal(params, SECONDS.name),
        },
        _ => Phases::Classic,
    }
}

/// In seconds: a pass of a client is half a second of work, shared by few CPUs.
pub(crate) fn takes_s(params: &Params) -> f64 {
    let pass_s = 0.25 * f64::from(int(params, CLIENTS.name));
    START_S
        + match phases_of(params) {
            Phases::Timed { warm_up_s, seconds } => warm_up_s + seconds + 0.2 * pass_s,
            Phases::Classic => pass_s,
        }
}

impl Workload for Dbench {
    fn facts(&self) -> Facts {
        Facts {
            name: "dbench",
            family: "dbench",
            about: "clients that each make the calls of a file server under load, on files of their own",
            source: "dbench 1 and 4 (after NetBench); Hyper-Threading speeds Linux, Tables 5 and 7",
            unit: run::UNIT,
            params: PARAMS,
            roles: &["client"],
            analysis: "Many processes in the kernel's file system code at once: SMT helps where one sibling waits \
             for memory while the other works, and hurts where both want one lock. On a disk it is the \
             disk that is measured, not SMT. The article saw +9 % to +29 % on Linux 2.4.19.",
            ..Facts::USUAL
        }
    }

    fn tasks(&self, params: &Params) -> u32 {
        int(params, CLIENTS.name)
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        let clients = u64::from(int(params, CLIENTS.name));
        // The clients and the janitor; the worker has three descriptors for each.
        needs(clients + 2, [(Limit::OpenFiles, 3 * clients + 100)])
    }

    fn takes_s(&self, params: &Params) -> f64 {
        takes_s(params)
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        check_common(self.name(), params)?;
        for name in ["sync", "fsync"] {
            word(self.name(), params, name, &[YES, NO])?;
        }
        word(self.name(), params, "resolve", &[YES, NO, AUTO])?;
        scratch::check(self.name(), params)
    }

    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran {
        leftovers::start_janitor(supervisor)?;
        let (load, seed) = load_of(params)?;
        let count = int(params, CLIENTS.name);
        let each = load.live_bytes_max.saturating_add(FOLDERS_BYTES);
        let scratch = Scratch::of(params, each.saturating_mul(u64::from(count)))?;
        let phases = phases_of(params);
        let yes = |name: &str| text(params, name) == YES;
        let manner = Manner {
            synchronous: yes("sync"),
            fsync_writes: yes("fsync"),
            resolve: match text(params, "resolve").as_str() {
                AUTO => load.resolves_names,
                word => word == YES,
            },
        };
        let folder = scratch.folder().to_string_lossy().into_owned();
        let clients = Clients {
            count,
            load: &load,
            seed,
            phases,
            target: Target::Files(manner),
            folder: Some(&folder),
            cpus: job.roles.first(),
            beside: None,
        };
        let ran = run::drive(&clients, supervisor);
        // Before files are removed, every process that could make more must be gone.
        supervisor.last_orders(CLEANUP_S);
        supervisor.end_measured()?;
        let mut measured = run::measure(&load, phases, &ran?);
        if scratch.is_in_memory() {
            let warning = "the files are in memory: no disk takes part, and sync, fsync and flush \
                           cost next to nothing; name a folder on a disk with dir= to measure one";
            measured.note("warning", warning);
        }
        scratch.end(&mut measured)?;
        Ok(measured)
    }
}
