//! Every workload and every suite. The list, the help and the tests are made from these tables.

use crate::Error;
use crate::chat::{CHAT, CHAT_FUTEX, CHAT_NODELAY};
use crate::workload::Workload;
use coretwin_base::param::{Params, WorkloadSpec};
use coretwin_base::suggest;

/// Every workload, in order of name.
pub const ALL: &[&dyn Workload] = &[&CHAT, &CHAT_FUTEX, &CHAT_NODELAY];

/// A named list of workloads.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// The name people type.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Its rows, as people would type them.
    pub rows: &'static [&'static str],
}

/// Every suite. `chat` is also the name of a workload: `run chat` runs that workload once, while
/// `study chat` studies the suite; with parameters, as in `study chat:rooms=20`, it is the
/// workload again.
pub const SUITES: &[Suite] = &[Suite {
    name: "chat",
    about: "chat with 20, 30, 40 and 50 rooms, the rows of the article's Tables 3 and 4",
    rows: &["chat:rooms=20", "chat:rooms=30", "chat:rooms=40", "chat:rooms=50"],
}];

/// The workload of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.name() == name)
}

/// The suite of that name.
#[must_use]
pub fn suite(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

/// The workload that was asked for, its parameters checked and defaults filled in.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name, or [`Error::Param`] with the possible range.
pub fn resolve(spec: &WorkloadSpec) -> Result<(&'static dyn Workload, Params), Error> {
    let workload = find(&spec.name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|workload| workload.name()).collect();
        Error::Unknown(suggest::unknown("workload", &spec.name, &names))
    })?;
    let known = workload.params();
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

/// The rows that a study of that name has: those of the suite, or the one workload.
///
/// # Errors
/// As [`resolve`].
pub fn study_rows(spec: &WorkloadSpec) -> Result<Vec<(&'static dyn Workload, Params)>, Error> {
    match suite(&spec.name) {
        Some(suite) if spec.params.is_empty() => suite
            .rows
            .iter()
            .map(|row| {
                let spec =
                    WorkloadSpec::parse(row).map_err(|bad| Error::failed(bad.to_string()))?;
                resolve(&spec)
            })
            .collect(),
        _ => Ok(vec![resolve(spec)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::param::ParamValue;

    fn resolved(text: &str) -> Result<(&'static dyn Workload, Params), Error> {
        resolve(&WorkloadSpec::parse(text).expect(text))
    }

    #[test]
    fn the_table_is_sorted_and_complete() {
        for pair in ALL.windows(2) {
            assert!(pair[0].name() < pair[1].name(), "{} is out of order", pair[1].name());
        }
        for workload in ALL {
            let name = workload.name();
            for text in [workload.about(), workload.source(), workload.analysis()] {
                assert!(text.len() > 20, "{name} lacks a text: '{text}'");
            }
            assert!(!workload.unit().is_empty() && !workload.family().is_empty(), "{name}");
            for pair in workload.params().windows(2) {
                assert!(pair[0].name < pair[1].name, "{name}: {} is out of order", pair[1].name);
            }
            let (_, params) = resolved(name).expect("defaults are possible");
            assert_eq!(params.len(), workload.params().len(), "{name}");
            assert!(workload.tasks(&params) > 0 && !workload.needs(&params).is_empty(), "{name}");
        }
    }

    #[test]
    fn every_row_of_a_suite_resolves() {
        for suite in SUITES {
            let spec = WorkloadSpec::parse(suite.name).expect(suite.name);
            let rows = study_rows(&spec).expect(suite.name);
            assert_eq!(rows.len(), suite.rows.len());
            assert!(rows.iter().all(|(workload, _)| workload.family() == suite.name));
        }
    }

    #[test]
    fn a_suite_name_with_parameters_is_the_workload() {
        let spec = WorkloadSpec::parse("chat:rooms=3").expect("spec");
        let rows = study_rows(&spec).expect("rows");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].1.get("rooms"), Some(&ParamValue::Int(3)));
        assert_eq!(rows[0].1.get("messages"), Some(&ParamValue::Int(100)));
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
        ] {
            let error = resolved(text).err().expect(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
