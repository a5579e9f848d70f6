//! The report as one self-contained HTML page.

use crate::Study;
use crate::document::{Block, Document, Table};
use maud::{DOCTYPE, Markup, html};

/// The report as one self-contained HTML page.
#[must_use]
pub fn html(study: &Study<'_>) -> String {
    let document = Document::new(study);
    html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (document.title) } }
            body {
                @if let Some(notice) = &document.notice { p { strong { (notice) } } }
                @for sentence in &document.sentences { h1 { (sentence) } }
                @for section in &document.sections {
                    h2 id=(section.id) { (section.title) }
                    @for block in &section.blocks { (piece(block)) }
                }
            }
        }
    }
    .into_string()
}

fn piece(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Text(text) => p { (text) },
            Block::List(lines) => ol { @for line in lines { li { (line) } } },
            Block::Warnings(warnings) => ul {
                @for (text, remedy) in warnings { li { (text) " " em { (remedy) } } }
            },
            Block::Code(lines) => pre { (lines.join("\n")) },
            Block::Table(table) => (rendered(table)),
            Block::Figures { .. } => {},
        }
    }
}

fn rendered(table: &Table) -> Markup {
    html! {
        table {
            caption { (table.caption) }
            thead { tr { @for column in &table.columns { th scope="col" { (column.name) } } } }
            tbody { @for row in &table.rows { tr { @for cell in row { td { (cell) } } } } }
        }
    }
}
