//! The bundle of a survey: records of a machine without what tells whose it is.

use super::identity;
use crate::error::Error;
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::fleet::MachineId;
use coretwin_base::fleet::plan::{EngineOptions, FleetPlan, FleetSubject, Task};
use coretwin_base::fleet::survey::{SURVEY, Survey};
use coretwin_base::machine::environment::{Environment, Session};
use coretwin_base::machine::topology::Topology;
use coretwin_base::schema::SCHEMA;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::Reading;
use coretwin_base::warning::Warning;
use coretwin_host::root::Root;
use coretwin_store::fleet_bundle::sha256;
use coretwin_store::{Bundle, CPUTIME, ENVIRONMENT, Extent};
use std::path::Path;
use std::sync::Arc;

/// The file that only a survey's bundle has.
pub const FILE: &str = "survey.json";
/// What stands for a name or a path that is left out.
const OUT: &str = "…";
/// A fact that may hold names of disks, hosts and servers.
const COMMAND_LINE: &str = "kernel.command_line";

/// The plan that the bundles of all surveys are of.
pub fn plan() -> FleetPlan {
    FleetPlan {
        schema: SCHEMA,
        digest: sha256(SURVEY.as_bytes()),
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        engine: EngineOptions { name: "survey".to_owned(), options: Vec::new() },
        program: "coretwin".to_owned(),
        subject: FleetSubject::Study(Vec::new()),
        seed: 0,
        tasks: vec![Task { number: 0, name: "survey".to_owned(), seed: 0, machine: None }],
    }
}

/// Names that no record may hold: of the host, of its user, of paths.
#[derive(Debug, Clone, Default)]
pub struct Private {
    names: Vec<String>,
}

impl Private {
    /// Those of this host and of whoever runs this process, by its variables and `/etc/passwd`.
    pub fn of(root: &Root, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let host = root.fact("proc/sys/kernel/hostname").unwrap_or_default();
        let short = host.split('.').next().unwrap_or_default().to_owned();
        let users = ["USER", "LOGNAME", "SUDO_USER"].into_iter().filter_map(variable);
        let uid = coretwin_host::user::effective_user(root).unwrap_or(u32::MAX).to_string();
        let passwd = root.text("etc/passwd").unwrap_or_default();
        let of_uid = |line: &&str| line.split(':').nth(2) == Some(uid.as_str());
        let listed = passwd.lines().find(of_uid).and_then(|line| line.split(':').next());
        let mut names: Vec<String> =
            [host, short].into_iter().chain(users).chain(listed.map(str::to_owned)).collect();
        // root is everybody's.
        names.retain(|name| !name.is_empty() && name != "root");
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.dedup();
        Self { names }
    }

    /// A text without these names, and without paths, which hold others.
    pub fn clean(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_inside = out.chars().next_back().is_some_and(is_of_name);
            let found = match is_inside {
                true => None,
                false if first == '/' => Some(path_length(rest)).filter(|length| *length > 1),
                false => self.names.iter().map(|name| name.as_str()).find_map(|name| {
                    let after = rest.strip_prefix(name)?;
                    (!after.chars().next().is_some_and(is_of_name)).then_some(name.len())
                }),
            };
            match found {
                Some(length) => {
                    out.push_str(OUT);
                    rest = &rest[length..];
                }
                None => {
                    out.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        out
    }

    fn warnings(&self, warnings: &mut Vec<Warning>) {
        for warning in warnings {
            warning.text = self.clean(&warning.text);
            warning.remedy = self.clean(&warning.remedy);
        }
    }

    fn topology(&self, topology: &mut Topology) {
        topology.trust_why = self.clean(&topology.trust_why);
        topology.smt.why = self.clean(&topology.smt.why);
        for limit in &mut topology.limits {
            *limit = self.clean(limit);
        }
        for remembered in topology.cpus.iter_mut().filter_map(|cpu| cpu.remembered.as_mut()) {
            *remembered = self.clean(remembered);
        }
    }

    pub fn survey(&self, mut survey: Survey) -> Survey {
        self.topology(&mut survey.topology);
        survey.facts.remove(COMMAND_LINE);
        for value in survey.facts.values_mut() {
            *value = self.clean(value);
        }
        for step in &mut survey.steps {
            step.result = self.clean(&step.result);
        }
        for check in &mut survey.doctor {
            check.found = self.clean(&check.found);
        }
        if let Some(probe) = &mut survey.probe {
            probe.boot_id.clear();
        }
        survey
    }

    fn plan(&self, mut plan: Plan) -> Plan {
        self.topology(&mut plan.topology);
        self.warnings(&mut plan.warnings);
        plan
    }

    fn environment(&self, mut environment: Environment) -> Environment {
        for facts in environment.facts.values_mut() {
            facts.remove(COMMAND_LINE);
            for value in facts.values_mut() {
                *value = self.clean(value);
            }
        }
        for session in &mut environment.sessions {
            let Session { argv, boot_id, host, .. } = session;
            argv.clear();
            boot_id.clear();
            host.clear();
        }
        self.warnings(&mut environment.warnings);
        environment
    }

    fn reading(&self, mut reading: Reading) -> Reading {
        let cleaned = |text: SharedText| SharedText::from(self.clean(&text));
        reading.cause = reading.cause.take().map(cleaned);
        reading.output = None;
        let notes = reading.notes.iter().map(|(name, text)| (name.clone(), self.clean(text)));
        reading.notes = Arc::new(notes.collect());
        reading
    }

    fn cputime(&self, mut summary: CputimeSummary) -> CputimeSummary {
        self.warnings(&mut summary.warnings);
        for condition in &mut summary.conditions {
            condition.failure = condition.failure.take().map(|text| self.clean(&text));
        }
        summary.too_busy = summary.too_busy.take().map(|text| self.clean(&text));
        summary
    }

    /// Writes a study's plan, journal and environment into another folder. Errors: if they do not
    /// read, or cannot be written.
    pub fn copy_study(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let problem = super::task::unwritable;
        let (study, plan) = Bundle::open(from, None).map_err(problem)?;
        let readings = study.readings(&plan, Extent::Whole).map_err(problem)?.readings;
        let plan = self.plan(plan);
        let copy = Bundle::create(to, &plan, None).map_err(problem)?;
        let (mut journal, _) = copy.journal(&plan).map_err(problem)?;
        for reading in readings {
            journal.append(&self.reading(reading)).map_err(problem)?;
        }
        journal.sync().map_err(problem)?;
        let environment = study.environment().map_err(problem)?;
        copy.write_json(ENVIRONMENT, &self.environment(environment)).map_err(problem)
    }

    /// Writes what an experiment of `cputime` came to into another folder. Errors: as of a study.
    pub fn copy_cputime(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let problem = super::task::unwritable;
        let summary = Bundle::open(from, None).and_then(|(bundle, _)| bundle.cputime());
        let text = serde_json::to_vec_pretty(&self.cputime(summary.map_err(problem)?));
        let write = || std::fs::write(to.join(CPUTIME), text.map_err(std::io::Error::from)?);
        write().map_err(|error| Error::NotPossible(format!("cannot write {CPUTIME}: {error}")))
    }
}

/// Whether a letter can be part of a name.
fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// How long a path at the beginning of a text is.
fn path_length(text: &str) -> usize {
    let ends = |letter: char| letter.is_whitespace() || ",;:()'\"".contains(letter);
    text.find(ends).unwrap_or(text.len())
}

/// An id by which two surveys of a machine are known as such, and which tells nothing else. Without a
/// machine id (containers) each is of its own.
pub fn machine(root: &Root, drawn: u64) -> MachineId {
    match root.fact("etc/machine-id") {
        Some(id) if id.trim().len() >= 32 => identity::of_host(root, ""),
        _ => identity::of_simulated(SURVEY, drawn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private(host: &str, user: &str) -> Private {
        let folder = tempfile::tempdir().expect("folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, text).expect("file");
        };
        file("proc/sys/kernel/hostname", &format!("{host}\n"));
        file("proc/self/status", "Uid:\t1234\t1234\t1234\t1234\n");
        file("etc/passwd", &format!("root:x:0:0::/root:/bin/sh\n{user}:x:1234:1::/:/bin/sh\n"));
        let variable = |name: &str| (name == "SUDO_USER").then(|| "boss".to_owned());
        Private::of(&Root::at(folder.path()), &variable)
    }

    #[test]
    fn names_and_paths_go_and_words_that_hold_them_stay() {
        let private = private("zebra.example.org", "ann");
        for (text, left) in [
            ("zebra.example.org: ann at /home/ann/x, load 1/2", "…: … at …, load 1/2"),
            ("on zebra (boss), by annotation; 6.1.0-zebra", "on … (…), by annotation; 6.1.0-…"),
            ("the cpuset /user.slice/user-1000.slice allows 2-5", "the cpuset … allows 2-5"),
            ("root, 50 MB/s", "root, 50 MB/s"),
            ("", ""),
        ] {
            assert_eq!(private.clean(text), left);
        }
    }
}
