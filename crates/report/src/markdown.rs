//! The report as Markdown: every section and table, without the figures.

use crate::document::{Block, Document, Table};

/// A document as Markdown.
pub(crate) fn write(document: &Document) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    line(&format!("# {}: {}\n", document.kind, escape(&document.title)));
    if let Some(notice) = &document.notice {
        line(&format!("> **{}**\n", escape(notice)));
    }
    for sentence in &document.sentences {
        line(&format!("**{}**\n", escape(sentence)));
    }
    for headline in &document.headlines {
        let words = headline.mark.into_iter();
        let words = words.chain(headline.verdict.as_ref().map(|(_, word)| word.as_str()));
        let verdict: String = words.map(|word| format!(", {word}")).collect();
        let interval = headline.interval.as_ref().map(|text| format!(", {text}"));
        line(&format!(
            "- {}: **{}**{}{verdict} ({})",
            escape(&headline.against),
            escape(&headline.effect),
            escape(&interval.unwrap_or_default()),
            escape(&headline.basis)
        ));
    }
    line(&format!("\n{}", escape(&document.facts)));
    for section in &document.sections {
        out.push_str(&format!("\n## {}\n", section.title));
        for block in &section.blocks {
            write_block(&mut out, block);
        }
    }
    out
}

fn write_block(out: &mut String, block: &Block) {
    match block {
        Block::Text(text) => out.push_str(&format!("\n{}\n", escape(text))),
        Block::List(lines) => {
            out.push('\n');
            for (index, line) in lines.iter().enumerate() {
                out.push_str(&format!("{}. {}\n", index + 1, escape(line)));
            }
        }
        Block::Warnings(warnings) => {
            out.push('\n');
            for (text, remedy) in warnings {
                out.push_str(&format!("- {} *{}*\n", escape(text), escape(remedy)));
            }
        }
        Block::Code(lines) => {
            out.push('\n');
            for line in lines {
                // Four blanks need no fence, which a line could close.
                out.push_str(&format!("    {line}\n"));
            }
        }
        Block::Table(table) => out.push_str(&render(table)),
        Block::Figures { .. } => {}
    }
}

fn render(table: &Table) -> String {
    let mut out = format!("\n**{}**\n\n", escape(&table.caption));
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.collect();
        format!("| {} |\n", cells.join(" | "))
    };
    out.push_str(&line(&mut table.columns.iter().map(|column| escape(&column.name))));
    let rule = |number: bool| if number { "---:" } else { "---" }.to_owned();
    out.push_str(&line(&mut table.columns.iter().map(|column| rule(column.number))));
    for row in &table.rows {
        out.push_str(&line(&mut row.iter().map(|text| cell(text))));
    }
    if let Some(note) = &table.note {
        out.push_str(&format!("\n{}\n", escape(note)));
    }
    out
}

/// A cell never begins a line, so `#SBATCH` stays what is pasted into a script.
fn cell(text: &str) -> String {
    escape(text).replace("\\#", "#")
}

/// Keeps text from being read as markup.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
