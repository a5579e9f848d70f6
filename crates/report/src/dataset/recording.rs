//! Tables of a recording: `minutes`, `cores`, `groups`. A row is a block, of the machine, a core or a cgroup.

use coretwin_base::account::recording::{OTHERS, RecordingBlock, Session};
use coretwin_base::column::Column;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One block of one thing; times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct OverlapRow {
    from: i64,
    elapsed_s: f64,
    name: Option<String>,
    alone_s: f64,
    beside_s: f64,
    waited_low_s: Option<f64>,
    waited_high_s: Option<f64>,
}

type Columns = Vec<Column<OverlapRow>>;

fn begin() -> Columns {
    vec![
        Column::time("from_utc", |row| row.from.checked_mul(1_000_000)),
        Column::number("elapsed_s", |row| Some(row.elapsed_s)),
    ]
}

fn times() -> Columns {
    vec![
        Column::number("alone_s", |row| Some(row.alone_s)),
        Column::number("beside_s", |row| Some(row.beside_s)),
    ]
}

fn name(row: &OverlapRow) -> Option<Cow<'_, str>> {
    row.name.as_deref().map(Cow::Borrowed)
}

/// Core time with one CPU busy and with more, and how long tasks waited.
pub fn minute_columns() -> Vec<Column<OverlapRow>> {
    let waited = [
        Column::number("waited_low_s", |row: &OverlapRow| row.waited_low_s),
        Column::number("waited_high_s", |row: &OverlapRow| row.waited_high_s),
    ];
    begin().into_iter().chain(times()).chain(waited).collect()
}

pub fn core_columns() -> Vec<Column<OverlapRow>> {
    begin().into_iter().chain([Column::text("cpus", name)]).chain(times()).collect()
}

pub fn group_columns() -> Vec<Column<OverlapRow>> {
    let waited = Column::number("waited_s", |row: &OverlapRow| row.waited_low_s);
    begin()
        .into_iter()
        .chain([Column::text("cgroup", name)])
        .chain(times())
        .chain([waited])
        .collect()
}

fn row(block: &RecordingBlock) -> OverlapRow {
    OverlapRow {
        from: block.from,
        elapsed_s: block.elapsed_s,
        name: None,
        alone_s: 0.0,
        beside_s: 0.0,
        waited_low_s: None,
        waited_high_s: None,
    }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1e3
}

pub fn minutes(sessions: &[Session]) -> Vec<OverlapRow> {
    let blocks = sessions.iter().flat_map(|session| &session.blocks);
    let of = |block: &RecordingBlock| OverlapRow {
        alone_s: block.busy.get(1).map_or(0.0, |span| span.value),
        beside_s: block.busy.iter().skip(2).map(|span| span.value).sum(),
        waited_low_s: Some(block.waiting.low_s),
        waited_high_s: block.waiting.high_s,
        ..row(block)
    };
    blocks.map(of).collect()
}

pub fn cores(sessions: &[Session]) -> Vec<OverlapRow> {
    let mut rows = Vec::new();
    for session in sessions {
        for block in &session.blocks {
            for (cpus, times) in session.head.siblings.cores.iter().zip(&block.cores) {
                rows.push(OverlapRow {
                    name: Some(cpus.to_string()),
                    alone_s: times.first().map_or(0.0, |ms| seconds(u64::from(*ms))),
                    beside_s: times.iter().skip(1).map(|ms| seconds(u64::from(*ms))).sum(),
                    ..row(block)
                });
            }
        }
    }
    rows
}

pub fn groups(sessions: &[Session]) -> Vec<OverlapRow> {
    let mut rows = Vec::new();
    for session in sessions {
        let mut names: BTreeMap<u32, &str> = BTreeMap::from([(OTHERS, "(others)")]);
        for block in &session.blocks {
            names.extend(block.names.iter().map(|(number, name)| (*number, name.as_str())));
            for group in &block.groups {
                rows.push(OverlapRow {
                    name: names.get(&group.0).map(|name| (*name).to_owned()),
                    alone_s: seconds(group.1),
                    beside_s: seconds(group.2),
                    waited_low_s: group.3.map(seconds),
                    ..row(block)
                });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::recording::{RecordedGroup, RecordingHead, Waiting};
    use coretwin_base::account::{MethodName, Siblings, SiblingsOrigin, Span};
    use coretwin_base::machine::cpu_set::CpuSet;
    use coretwin_base::origin::Origin;
    use coretwin_base::schema::SCHEMA;

    #[test]
    fn rows_have_the_times_of_the_block_and_names_stay_known() {
        let set = |text: &str| CpuSet::parse(text).expect("CPUs");
        let head = RecordingHead {
            schema: SCHEMA,
            origin: Origin::Measured,
            started: 0,
            every_s: 10.0,
            method: MethodName::Ebpf,
            siblings: Siblings {
                origin: SiblingsOrigin::Kernel,
                cores: vec![set("0-1"), set("2-3")],
            },
            cpu_model: None,
        };
        let block = |from: i64, names: &[(u32, &str)]| RecordingBlock {
            from,
            elapsed_s: 10.0,
            busy: [8.0, 9.0, 3.0].map(|it| Span { value: it, low: it, high: it }).to_vec(),
            cores: vec![vec![5_000, 1_000], vec![4_000, 2_000]],
            names: names.iter().map(|(number, name)| (*number, (*name).to_owned())).collect(),
            groups: vec![RecordedGroup(1, 6_000, 3_000, Some(500)), RecordedGroup(0, 0, 1, None)],
            unseen: 0,
            waiting: Waiting { low_s: 1.0, high_s: Some(2.0) },
        };
        let sessions = [Session { head, blocks: vec![block(60, &[(1, "/db")]), block(70, &[])] }];
        let all = minutes(&sessions);
        let found = |row: &OverlapRow| (row.from, row.alone_s, row.beside_s, row.waited_high_s);
        assert_eq!(all.iter().map(found).collect::<Vec<_>>()[1], (70, 9.0, 3.0, Some(2.0)));
        let all = cores(&sessions);
        let found = |row: &OverlapRow| (row.name.clone(), row.alone_s, row.beside_s);
        assert_eq!((all.len(), found(&all[1])), (4, (Some("2-3".to_owned()), 4.0, 2.0)));
        let all = groups(&sessions);
        assert_eq!((all.len(), found(&all[2])), (4, (Some("/db".to_owned()), 6.0, 3.0)));
        assert_eq!(all[2].waited_low_s, Some(0.5));
        assert_eq!(all[3].name.as_deref(), Some("(others)"));
        let names =
            |columns: Vec<Column<OverlapRow>>| columns.iter().map(|it| it.name).collect::<Vec<_>>();
        assert_eq!(
            names(group_columns()),
            ["from_utc", "elapsed_s", "cgroup", "alone_s", "beside_s", "waited_s"]
        );
    }
}
