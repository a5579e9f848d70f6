//! The report as Markdown: every section and table, without the figures.

use crate::document::{Block, Document, Table};

pub(crate) fn write(document: &Document) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    line(&format!("# {}\n", escape(&document.answer())));
    let marks: String = document.marks.iter().map(|mark| format!("**{mark}** · ")).collect();
    line(&format!("{marks}{}: {}\n", document.kind, escape(&document.title)));
    if let Some(notice) = &document.notice {
        line(&format!("> **{}**\n", escape(notice)));
    }
    for sentence in &document.sentences {
        line(&format!("{}\n", escape(sentence)));
    }
    for headline in &document.headlines {
        let marks = headline.marks(document);
        let words = marks.into_iter().chain(headline.verdict.as_ref().map(|(_, word)| &**word));
        let words: String = words.map(|word| format!(", {word}")).collect();
        let interval = headline.interval.as_ref().map(|text| format!(", {text}"));
        line(&format!(
            "- {}: **{}**{}{words} ({})",
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
        Block::Table(table) => table.pieces().iter().for_each(|piece| out.push_str(&render(piece))),
        Block::Figures(_) => {}
    }
}

/// A table under its caption; a folded one is unfolded by those who render Markdown to HTML.
fn render(table: &Table) -> String {
    let caption = escape(&table.caption);
    let mut out = match table.folded {
        true => format!("\n<details><summary>{caption}</summary>\n\n"),
        false => format!("\n**{caption}**\n\n"),
    };
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
    if table.folded {
        out.push_str("\n</details>\n");
    }
    out
}

/// A cell never begins a line, so `#SBATCH` stays what is pasted into a script.
fn cell(text: &str) -> String {
    escape(text).replace("\\#", "#")
}

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
