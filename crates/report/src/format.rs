//! The forms in which a record can be reported. Each kind of record has its table of them, and lists,
//! help and tests are made from the tables.

use crate::Study;
use serde::Serialize;

/// A form in which a record can be reported, by a function of type `Render`.
#[derive(Debug, Clone, Copy)]
pub struct Format<Render> {
    pub name: &'static str,
    pub about: &'static str,
    pub render: Render,
    /// Whether it shows all there is of every reading. The others show no metrics, CPUs and
    /// environment of a run that went well, except of the first of each row and arm.
    pub in_full: bool,
}

impl<Render> Format<Render> {
    pub(crate) const fn new(name: &'static str, about: &'static str, render: Render) -> Self {
        Self { name, about, render, in_full: false }
    }
}

/// The table of a kind of record: the formats that every document has, a line each, then its own.
///
/// `$document` makes a document of a record, with or without figures; `$noun` is what it is called,
/// `$with` says which figures a page has and `$without` that Markdown has none.
macro_rules! document_formats {
    ($document:expr, $noun:literal, $with:literal, $without:literal; $($own:expr),* $(,)?) => {
        &[
            Format::new(
                "text",
                concat!("the whole ", $noun, " for a terminal, 100 columns"),
                |record| crate::text::write(&$document(record, false)),
            ),
            Format::new("html", concat!("one self-contained page", $with), |record| {
                crate::html::write(&$document(record, true))
            }),
            Format::new("md", concat!("the ", $noun, " as Markdown", $without), |record| {
                crate::markdown::write(&$document(record, false))
            }),
            $($own),*
        ]
    };
}
pub(crate) use document_formats;

/// Its summary, as in `summary.json`.
pub fn json(study: &Study<'_>) -> String {
    pretty(study.summary)
}

/// A record, one JSON document that ends its line.
pub(crate) fn pretty<T: Serialize + ?Sized>(record: &T) -> String {
    serde_json::to_string_pretty(record)
        .expect("records have only text keys, so they are always JSON")
        + "\n"
}
