//! Tidy CSV: one line per reading, of every phase and status; RFC 4180 quoting.
//!
//! Effects per row are in the summary (`json`). Metrics become one column for each name that any
//! reading has, `metric.NAME`, in the unit that the reading gives it. An empty field is a missing
//! value.

use crate::Study;
use crate::dataset::{csv_columns, csv_rows};
use coretwin_base::column::{Column, Values};
use coretwin_base::printable::printable;
use std::collections::BTreeSet;
use std::fmt::Write;

pub fn csv(study: &Study<'_>) -> String {
    let metrics: BTreeSet<&str> =
        study.readings.iter().flat_map(|r| r.metrics.keys().map(String::as_str)).collect();
    let columns = csv_columns();
    let mut out = head(&columns);
    for name in &metrics {
        out.push(',');
        field(&mut out, &format!("metric.{name}"));
    }
    out.push('\n');
    for row in csv_rows(study.plan, study.readings) {
        line(&mut out, &columns, &row);
        for name in &metrics {
            out.push(',');
            if let Some(metric) = row.reading.metrics.get(*name) {
                number(&mut out, metric.value);
            }
        }
        out.push('\n');
    }
    out
}

pub(crate) fn table<'a, Row: 'a>(
    columns: &[Column<Row>],
    rows: impl Iterator<Item = &'a Row>,
) -> String {
    let mut out = head(columns) + "\n";
    for row in rows {
        line(&mut out, columns, row);
        out.push('\n');
    }
    out
}

fn head<Row>(columns: &[Column<Row>]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(",")
}

fn line<Row>(out: &mut String, columns: &[Column<Row>], row: &Row) {
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        match &column.values {
            Values::Text(value) => field(out, &value(row).unwrap_or_default()),
            Values::Count(value) => whole(out, value(row)),
            Values::Number(value) => number(out, value(row).unwrap_or(f64::NAN)),
            Values::Flag(value) => whole(out, value(row)),
            Values::Time(value) => whole(out, value(row)),
        }
    }
}

fn whole(out: &mut String, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        put(out, format_args!("{value}"));
    }
}

/// Writing to a string cannot fail.
fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

/// A number that is not finite has no place in a table of numbers: its field stays empty.
pub(crate) fn number(out: &mut String, value: f64) {
    if value.is_finite() {
        put(out, format_args!("{value}"));
    }
}

/// A text, quoted where it would break a line. One that a spreadsheet would take for a formula has an
/// apostrophe before it, and what steers a terminal is written as `\u001b`.
pub(crate) fn field(out: &mut String, text: &str) {
    let mut text = printable(text);
    if text.starts_with(['=', '+', '-', '@', '\t']) && text.parse::<f64>().is_err() {
        text.to_mut().insert(0, '\'');
    }
    if text.contains([',', '"', '\n']) {
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(&text);
    }
}

/// A verdict or a change as records have it: `no-material-difference`; empty where there is none.
pub(crate) fn word(said: Option<impl std::fmt::Display>) -> String {
    said.map_or_else(String::new, |said| said.to_string().to_lowercase().replace(' ', "-"))
}

/// Numbers that may be missing, each behind a comma.
pub(crate) fn optional(out: &mut String, numbers: &[Option<f64>]) {
    for value in numbers {
        out.push(',');
        match value {
            // A p-value may be far too small to be written out.
            Some(value) if *value > 0.0 && *value < 1e-6 => out.push_str(&format!("{value:e}")),
            Some(value) => number(out, *value),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_formulas_and_steer_no_terminal() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+1+1", "'+1+1"),
            ("-1+1", "'-1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("\r=1\u{1b}[2J", "\\u000d=1\\u001b[2J"),
            ("-5.5", "-5.5"),
            ("a=b", "a=b"),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut out = String::new();
            field(&mut out, text);
            assert_eq!(out, cell, "{text:?}");
        }
    }

    #[test]
    fn quotes_what_would_break_a_line() {
        let quoted = |text: &str| {
            let mut out = String::new();
            field(&mut out, text);
            out
        };
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\"\nend"), "\"say \"\"x\"\"\nend\"");
    }
}
