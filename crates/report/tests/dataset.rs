//! The columns of datasets: explained, and of names that every tool takes.

use coretwin_report::dataset::{
    effect_columns, fleet_effect_columns, metric_columns, reading_columns,
};
use std::collections::BTreeSet;

#[test]
fn every_column_is_explained_in_the_format() {
    let format = concat!(env!("CARGO_MANIFEST_DIR"), "/../../FORMAT.md");
    let format = std::fs::read_to_string(format).expect("FORMAT.md");
    let (_, section) = format.split_once("## A dataset").expect("its section");
    let (section, _) = section.split_once("\n## ").expect("its end");
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
            assert!(section.contains(&format!("`{name}`")), "FORMAT.md says nothing of {name}");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(plain) && name != "machine" && name != "workload", "{name}");
        }
    }
}
