//! Every suite: which rows, and of which size by which protocol.
//!
//! A row of a suite keeps its name whatever the protocol; what the protocol sets beside it (a shorter
//! time for `--quick`, the article's for `--protocol 2003`) is in the parameters of the plan's row.
//! What a user sets wins over both. Which rows a family has is known to the family alone.

use crate::workload::{Facts, ParamValue, Params, Placement, Workload};
use crate::{Error, aim9, kernel_2_4, lmbench, service, table};
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::plan::Protocol;
use coretwin_base::suggest;
use std::collections::BTreeSet;

#[derive(Clone, Copy)]
pub struct Suite {
    pub name: &'static str,
    pub about: &'static str,
    parts: &'static [&'static Part],
}

struct Part {
    rows: Rows,
    usual: Settings,
    /// What a screening sets: short, but a sample is 0.2 s at least.
    quick: Settings,
    article: Settings,
}

type Settings = &'static [(&'static str, &'static str)];

enum Rows {
    Listed(fn() -> Vec<String>),
    Sized {
        workload: &'static str,
        param: &'static str,
        article: &'static [i64],
        /// Sizes for this many CPUs; none: the article's suit any machine.
        usual: Option<fn(u32) -> Vec<i64>>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct SuiteRow {
    pub spec: WorkloadSpec,
    pub settings: Params,
    /// The placements it is measured in, where an arm has them; empty: free.
    pub placements: &'static [Placement],
}

impl From<WorkloadSpec> for SuiteRow {
    fn from(spec: WorkloadSpec) -> Self {
        Self { spec, settings: Params::new(), placements: &[] }
    }
}

impl SuiteRow {
    #[must_use]
    pub fn complete(&self) -> WorkloadSpec {
        let mut params = self.settings.clone();
        params.extend(self.spec.params.clone());
        WorkloadSpec { name: self.spec.name.clone(), params }
    }
}

/// Every suite. `chat`, `dbench` and `tbench` are also names of workloads: `run chat` runs that
/// workload once, while `study chat` studies the suite.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "aim9",
        about: "the 59 rows of AIM9 in the article's Table 2, in its order",
        parts: &[&AIM9],
    },
    Suite {
        name: "chat",
        about: "chat with 20, 30, 40 and 50 rooms, the rows of the article's Tables 3 and 4",
        parts: &[&CHAT],
    },
    Suite {
        name: "dbench",
        about: "dbench with a half, one, two and four clients for each CPU; by the protocol of 2003 \
                with the 20 to 120 of the article's Table 5",
        parts: &[&DBENCH],
    },
    Suite {
        name: "tbench",
        about: "tbench with as many clients, after the article's Table 6",
        parts: &[&TBENCH],
    },
    Suite {
        name: "article",
        about: "all of the article's rows: lmbench, aim9, chat, dbench and tbench",
        parts: &[&LMBENCH, &AIM9, &CHAT, &DBENCH, &TBENCH],
    },
    Suite {
        name: "kernel-2.4",
        about: "what Linux 2.4 changed for Hyper-Threading: locks, spinning, delays and stacks, as \
                pairs of rows on two CPUs (serialised MTRR and microcode updates cannot be timed: no \
                program can start one; topology says whether siblings agree)",
        parts: &[&KERNEL_2_4],
    },
    Suite {
        name: "lmbench",
        about: "the 14 rows of LMbench in the article's Table 1, in its order; the pipe in every \
                placement that an arm has",
        parts: &[&LMBENCH],
    },
    Suite {
        name: "lmbench-more",
        about: "what else LMbench measures: context switches, memory, sockets, files, the clock",
        parts: &[&LMBENCH_MORE],
    },
    Suite {
        name: "service",
        about: "what a server answers per second at most, and how long it takes at a rate",
        parts: &[&SERVICE],
    },
];

#[must_use]
pub fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

fn names<W: Workload>(rows: &[W]) -> Vec<String> {
    rows.iter().map(|row| row.name().to_owned()).collect()
}

const LMBENCH: Part = Part {
    rows: Rows::Listed(|| names(lmbench::rows::TABLE_1)),
    usual: &[],
    quick: &[("sample", "0.2"), ("samples", "5")],
    article: &[],
};

const LMBENCH_MORE: Part = Part { rows: Rows::Listed(lmbench::rows::typed), ..LMBENCH };

const KERNEL_2_4: Part = Part {
    rows: Rows::Listed(|| names(kernel_2_4::ALL)),
    usual: &[],
    quick: &[("seconds", "0.2")],
    article: &[],
};

const SERVICE: Part = Part {
    rows: Rows::Listed(|| names(service::ALL)),
    quick: &[("seconds", "1"), ("warmup", "0.2")],
    ..KERNEL_2_4
};

const AIM9: Part = Part {
    rows: Rows::Listed(|| names(aim9::rows::TABLE_2)),
    // Calls until the time is over, however few: a sync row is then the article's single call.
    article: &[("seconds", "10"), ("calls", "1"), ("calls_max", "1")],
    ..KERNEL_2_4
};

const CHAT: Part = Part {
    rows: Rows::Sized { workload: "chat", param: "rooms", article: &[20, 30, 40, 50], usual: None },
    // A run has the article's work in any case; with it, it lasts long enough.
    usual: &[],
    quick: &[],
    article: &[],
};

const DBENCH: Part = clients("dbench");
const TBENCH: Part = clients("tbench");

/// dbench and tbench are the same in this: by the clock where the article has one pass.
const fn clients(workload: &'static str) -> Part {
    Part {
        rows: Rows::Sized {
            workload,
            param: "clients",
            article: &[20, 30, 60, 90, 120],
            usual: Some(clients_for),
        },
        usual: &[("mode", "timed"), ("seconds", "2"), ("warmup", "1")],
        quick: &[("mode", "timed"), ("seconds", "0.5"), ("warmup", "0.5")],
        article: &[],
    }
}

/// A half, one, two and four clients for each CPU, in powers of two so that machines of about one
/// size have the same rows, and at most 256: a client of dbench has 24 MB of files.
fn clients_for(cpus: u32) -> Vec<i64> {
    let base = i64::from(cpus.clamp(2, 64)).ilog2();
    (-1i64..=2).map(|step| 1 << (i64::from(base) + step)).collect()
}

impl Suite {
    /// Where a workload has the same name, it is meant by parameters, as in `study chat:rooms=20`.
    #[must_use]
    pub fn is_meant(&self, spec: &WorkloadSpec) -> bool {
        spec.name == self.name && (spec.params.is_empty() || table::find(self.name).is_none())
    }

    /// Its rows by this protocol on a machine of `cpus` CPUs, and the names of those left out. A
    /// parameter is given to all rows that have it; it is an error if none has.
    pub fn rows(
        &self,
        protocol: Protocol,
        cpus: u32,
        params: &Params,
    ) -> Result<(Vec<SuiteRow>, Vec<&'static str>), Error> {
        let mut used = BTreeSet::new();
        let (mut rows, mut left_out) = (Vec::new(), Vec::new());
        for part in self.parts {
            for mut spec in part.specs(protocol, cpus)? {
                let facts = table::find(&spec.name).map_or(Facts::USUAL, Workload::facts);
                if facts.is_slow && protocol == Protocol::Quick {
                    left_out.push(facts.name);
                    continue;
                }
                let has = |name: &str| facts.params.iter().any(|param| param.name == name);
                for (name, value) in params.iter().filter(|(name, _)| has(name)) {
                    spec.params.insert(name.clone(), value.clone());
                    used.insert(name.as_str());
                }
                let settings = part.settings(protocol).iter().filter(|(name, _)| has(name));
                let settings = settings
                    .map(|(name, value)| ((*name).to_owned(), ParamValue::parse(value)))
                    .collect();
                // The article knew no placement.
                let is_placed = protocol != Protocol::Article2003;
                let placements = if is_placed { facts.placements } else { &[] };
                rows.push(SuiteRow { spec, settings, placements });
            }
        }
        match params.keys().find(|name| !used.contains(name.as_str())) {
            Some(name) => Err(self.unknown(name, &rows)),
            None => Ok((rows, left_out)),
        }
    }

    fn unknown(&self, name: &str, rows: &[SuiteRow]) -> Error {
        let workloads = rows.iter().filter_map(|row| table::find(&row.spec.name));
        let known: BTreeSet<&str> = workloads
            .flat_map(|workload| workload.facts().params)
            .map(|param| param.name)
            .collect();
        let known: Vec<&str> = known.into_iter().collect();
        let kind = format!("parameter of any row of {}", self.name);
        Error::Unknown(suggest::unknown(&kind, name, &known))
    }
}

impl Part {
    fn specs(&self, protocol: Protocol, cpus: u32) -> Result<Vec<WorkloadSpec>, Error> {
        match &self.rows {
            Rows::Listed(names) => names()
                .iter()
                .map(|name| WorkloadSpec::parse(name).map_err(|bad| Error::failed(bad.to_string())))
                .collect(),
            Rows::Sized { workload, param, article, usual } => {
                let sizes = match usual {
                    Some(usual) if protocol != Protocol::Article2003 => usual(cpus),
                    _ => article.to_vec(),
                };
                let spec = |size: i64| WorkloadSpec {
                    name: (*workload).to_owned(),
                    params: [((*param).to_owned(), size.into())].into(),
                };
                Ok(sizes.into_iter().map(spec).collect())
            }
        }
    }

    fn settings(&self, protocol: Protocol) -> Settings {
        match protocol {
            Protocol::Quick => self.quick,
            Protocol::Article2003 => self.article,
            Protocol::Modern | Protocol::Fixed => self.usual,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::parameters::label;

    const PROTOCOLS: [Protocol; 4] =
        [Protocol::Modern, Protocol::Fixed, Protocol::Quick, Protocol::Article2003];

    fn rows(name: &str, protocol: Protocol) -> Vec<SuiteRow> {
        find(name).expect(name).rows(protocol, 2, &Params::new()).expect(name).0
    }

    fn names(rows: &[SuiteRow]) -> Vec<String> {
        rows.iter().map(|row| label(&row.spec.name, &row.spec.params)).collect()
    }

    #[test]
    fn every_row_of_a_suite_resolves_by_every_protocol() {
        for suite in SUITES {
            for protocol in PROTOCOLS {
                let rows = rows(suite.name, protocol);
                assert!(!rows.is_empty());
                for row in &rows {
                    let (workload, params) = table::resolve(&row.complete()).expect(suite.name);
                    if find(workload.facts().family).is_some() && suite.name != "article" {
                        assert_eq!(workload.facts().family, suite.name);
                    }
                    for (name, value) in &row.settings {
                        assert_eq!(params.get(name), Some(value), "{}", row.spec.name);
                    }
                }
                let mut names = names(&rows);
                names.sort();
                names.dedup();
                assert_eq!(names.len(), rows.len(), "{}: a row twice", suite.name);
            }
        }
    }

    #[test]
    fn a_suite_name_with_parameters_is_the_workload_if_there_is_one() {
        let meant = |text: &str| {
            let spec = WorkloadSpec::parse(text).expect(text);
            find(&spec.name).is_some_and(|suite| suite.is_meant(&spec))
        };
        assert!(meant("chat") && !meant("chat:rooms=3"));
        assert!(meant("aim9") && meant("aim9:seconds=0.2"));
        assert!(!meant("aim9/sieve"));
    }

    #[test]
    fn parameters_of_a_suite_go_to_the_rows_that_have_them() {
        let aim9 = find("aim9").expect("suite");
        let spec = WorkloadSpec::parse("aim9:file_kib=64,seconds=0.3").expect("spec");
        let (rows, _) = aim9.rows(Protocol::Quick, 2, &spec.params).expect("rows");
        let whole = aim9::rows::TABLE_2.iter().filter(|row| !row.facts().is_slow).count();
        assert_eq!(rows.len(), whole);
        assert!(rows.iter().all(|row| row.spec.params.contains_key("seconds")));
        assert_eq!(rows.iter().filter(|row| row.spec.params.contains_key("file_kib")).count(), 5);
        // What the user sets wins over the protocol.
        let seconds = rows[0].complete().params.get("seconds").map(ParamValue::to_string);
        assert_eq!(seconds.as_deref(), Some("0.3"));
        let wrong = WorkloadSpec::parse("aim9:second=1").expect("spec");
        let error = aim9.rows(Protocol::Modern, 2, &wrong.params).expect_err("unknown").to_string();
        assert!(error.contains("did you mean 'seconds'"), "{error}");
    }

    #[test]
    fn a_screening_has_the_same_rows_but_for_those_it_leaves_out_by_name() {
        for suite in SUITES {
            let suite_rows = |protocol| suite.rows(protocol, 2, &Params::new()).expect(suite.name);
            let (usual, nothing) = suite_rows(Protocol::Modern);
            let (quick, left_out) = suite_rows(Protocol::Quick);
            assert!(nothing.is_empty());
            let mut kept = names(&usual);
            kept.retain(|name| !left_out.contains(&name.as_str()));
            assert_eq!(names(&quick), kept, "{}", suite.name);
            assert_eq!(usual.len() - quick.len(), left_out.len(), "{}", suite.name);
            assert!(left_out.iter().all(|name| name.starts_with("aim9/sync_")), "{left_out:?}");
        }
    }

    #[test]
    fn the_articles_sizes_are_those_of_its_tables() {
        let sizes = |name: &str, size: &str| -> Vec<i64> {
            let rows = rows(name, Protocol::Article2003);
            rows.iter().filter_map(|row| row.spec.params.get(size)?.as_int()).collect()
        };
        assert_eq!(rows("aim9", Protocol::Article2003).len(), 59);
        assert_eq!(sizes("chat", "rooms"), [20, 30, 40, 50]);
        for name in ["dbench", "tbench"] {
            assert_eq!(sizes(name, "clients"), [20, 30, 60, 90, 120]);
            for row in rows(name, Protocol::Article2003) {
                let (_, params) = table::resolve(&row.complete()).expect(name);
                assert_eq!(params["mode"].to_string(), "classic", "one pass, as the original");
            }
        }
        for row in rows("aim9", Protocol::Article2003) {
            let (_, params) = table::resolve(&row.complete()).expect("row");
            assert_eq!(params["seconds"], ParamValue::Int(10), "{}", row.spec.name);
            assert_eq!(params["calls"], ParamValue::Int(1), "{}", row.spec.name);
        }
    }

    #[test]
    fn the_pipe_is_measured_in_every_placement_but_by_the_articles_protocol() {
        let placed = |suite: &str, protocol| -> Vec<String> {
            let rows = rows(suite, protocol);
            let placed = rows.iter().filter(|row| !row.placements.is_empty());
            placed.map(|row| format!("{} {}", row.spec.name, row.placements.len())).collect()
        };
        assert_eq!(placed("article", Protocol::Quick), ["lmbench/pipe-latency 5"]);
        assert_eq!(placed("lmbench", Protocol::Modern), ["lmbench/pipe-latency 5"]);
        assert!(placed("article", Protocol::Article2003).is_empty());
        assert_eq!(placed("kernel-2.4", Protocol::Modern).len(), kernel_2_4::ALL.len());
    }

    #[test]
    fn sizes_follow_the_machine() {
        assert_eq!(clients_for(1), [1, 2, 4, 8]);
        assert_eq!(clients_for(2), [1, 2, 4, 8]);
        assert_eq!(clients_for(12), [4, 8, 16, 32]);
        assert_eq!(clients_for(16), [8, 16, 32, 64]);
        assert_eq!(clients_for(1024), [32, 64, 128, 256]);
    }
}
