//! The columns of datasets: of names that every tool takes.

use coretwin_report::dataset::{
    effect_columns, fleet_effect_columns, metric_columns, reading_columns,
};
use std::collections::BTreeSet;

#[test]
fn every_column_is_there_once_by_a_name_that_every_tool_takes() {
    fn names<Row>(columns: Vec<coretwin_base::column::Column<Row>>) -> Vec<&'static str> {
        columns.iter().map(|column| column.name).collect()
    }
    for table in [
        names(reading_columns()),
        names(metric_columns()),
        names(effect_columns()),
        names(fleet_effect_columns()),
    ] {
        let once: BTreeSet<_> = table.iter().collect();
        assert_eq!(once.len(), table.len(), "{table:?}");
        for name in table {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(plain) && name != "machine" && name != "workload", "{name}");
        }
    }
}
