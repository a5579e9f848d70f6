//! Every workload. The list, the help and the tests are made from this table.

use crate::workload::Workload;
use crate::{Error, aim9, chat, dbench, kernel_2_4, lmbench, service, tbench};
use coretwin_base::parameters::{Params, WorkloadSpec};
use coretwin_base::suggest;
use std::path::Path;
use std::sync::LazyLock;

/// Every workload, in order of name.
pub static ALL: LazyLock<Vec<&dyn Workload>> = LazyLock::new(|| {
    let mut all: Vec<&dyn Workload> = Vec::new();
    all.extend(of(aim9::rows::TABLE_2));
    all.extend(of(aim9::rows::MORE));
    all.extend(of(chat::ALL));
    all.extend(of(dbench::ALL));
    all.extend(of(kernel_2_4::ALL));
    all.extend(of(lmbench::rows::TABLE_1));
    lmbench::rows::MORE.iter().for_each(|group| all.extend(of(group.rows)));
    all.extend(of(service::ALL));
    all.extend(of(tbench::ALL));
    all.sort_by_key(|workload| workload.name());
    all
});

fn of<W: Workload>(rows: &'static [W]) -> impl Iterator<Item = &'static dyn Workload> {
    rows.iter().map(|row| row as &dyn Workload)
}

#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.name() == name)
}

/// The workload that was asked for, its parameters checked and defaults filled in; else an error
/// with the nearest name, or the possible range.
pub fn resolve(spec: &WorkloadSpec) -> Result<(&'static dyn Workload, Params), Error> {
    let workload = find(&spec.name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|workload| workload.name()).collect();
        let said = suggest::unknown("workload", &spec.name, &names);
        Error::Unknown(match spec.name.contains('/') && Path::new(&spec.name).exists() {
            true => format!("{said}. A command of your own follows --: -- {}", spec.name),
            false => said,
        })
    })?;
    let known = workload.facts().params;
    if let Some(name) = spec.params.keys().find(|name| known.iter().all(|p| p.name != **name)) {
        let names: Vec<&str> = known.iter().map(|param| param.name).collect();
        let kind = format!("parameter of {}", workload.name());
        return Err(Error::Unknown(suggest::unknown(&kind, name, &names)));
    }
    let mut params = Params::new();
    for param in known {
        let value = spec.params.get(param.name).cloned().unwrap_or_else(|| param.default());
        param.check(workload.name(), &value)?;
        params.insert(param.name.to_owned(), value);
    }
    workload.check(&params)?;
    Ok((workload, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<(&'static dyn Workload, Params), Error> {
        resolve(&WorkloadSpec::parse(text).expect(text))
    }

    #[test]
    fn every_name_is_one_workload_and_every_workload_complete() {
        for pair in ALL.windows(2) {
            assert!(pair[0].name() < pair[1].name(), "{} is there twice", pair[1].name());
        }
        for workload in ALL.iter() {
            let facts = workload.facts();
            let name = facts.name;
            for text in [facts.about, facts.source, facts.analysis] {
                assert!(text.len() > 20, "{name} lacks a text: '{text}'");
            }
            assert!(!facts.unit.is_empty() && !facts.family.is_empty(), "{name}");
            assert!(!facts.roles.is_empty(), "{name}");
            for pair in facts.params.windows(2) {
                assert!(pair[0].name < pair[1].name, "{name}: {} is out of order", pair[1].name);
            }
            let (_, params) = resolved(name).expect("defaults are possible");
            assert_eq!(params.len(), facts.params.len(), "{name}");
            assert!(workload.tasks(&params) > 0 && !workload.needs(&params).is_empty(), "{name}");
        }
    }

    #[test]
    fn wrong_names_and_values_are_explained() {
        for (text, part) in [
            ("chta", "did you mean 'chat'"),
            ("chat:room=20", "did you mean 'rooms'"),
            ("chat:rooms=0", "from 1 to 819"),
            ("chat:rooms=820", "from 1 to 819"),
            ("chat:rooms=many", "from 1 to 819"),
            ("chat:messages=32768", "from 1 to 32767"),
            ("chat:rooms=819,users=21", "at most 16383"),
            ("chat:server=192.0.2.1:9999", "loopback"),
            ("chat:server=here", "ADDRESS:PORT"),
            ("aim9/sive", "did you mean 'aim9/sieve'"),
            ("aim9/sieve:seconds=-1", "from 0 to 1000"),
            ("aim9/sieve:seconds=nan", "from 0 to 1000"),
            ("aim9/sieve:copies=all", "'auto' or a whole number"),
            ("aim9/sieve:dir=/x", "no parameter of aim9/sieve 'dir'"),
            ("aim9/disk_rd:dir=here", "beginning with '/'"),
            ("aim9/disk_rd:file_kib=32769", "from 64 to 32768"),
            ("aim9/sync_disk_rw:calls=21", "at least the number of calls"),
            ("aim9/sort_rtns_1:sort=quick", "'own' or 'libc'"),
        ] {
            let error = resolved(text).err().expect(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
