//! Columns of a table for other people's tools: what each is called, of what type it is, and how it
//! is had from a row. Who writes the table need not know what its rows are.

use std::borrow::Cow;

#[derive(Debug)]
pub struct Column<Row> {
    /// Its name: letters, digits and underscores, the unit last.
    pub name: &'static str,
    pub values: Values<Row>,
}

/// The type of a column, and how its value is had from a row. None is null.
#[derive(Debug)]
pub enum Values<Row> {
    Text(fn(&Row) -> Option<Cow<'_, str>>),
    Count(fn(&Row) -> Option<u64>),
    /// Numbers. One that is not finite is null.
    Number(fn(&Row) -> Option<f64>),
    Flag(fn(&Row) -> Option<bool>),
    /// Moments, in microseconds since 1970-01-01T00:00:00Z.
    Time(fn(&Row) -> Option<i64>),
}

impl<Row> Column<Row> {
    pub const fn text(name: &'static str, value: fn(&Row) -> Option<Cow<'_, str>>) -> Self {
        Self { name, values: Values::Text(value) }
    }

    pub const fn count(name: &'static str, value: fn(&Row) -> Option<u64>) -> Self {
        Self { name, values: Values::Count(value) }
    }

    pub const fn number(name: &'static str, value: fn(&Row) -> Option<f64>) -> Self {
        Self { name, values: Values::Number(value) }
    }

    pub const fn flag(name: &'static str, value: fn(&Row) -> Option<bool>) -> Self {
        Self { name, values: Values::Flag(value) }
    }

    pub const fn time(name: &'static str, value: fn(&Row) -> Option<i64>) -> Self {
        Self { name, values: Values::Time(value) }
    }
}
