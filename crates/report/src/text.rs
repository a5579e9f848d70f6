//! The report for a terminal: 100 columns, no colours. Of the figures, the effects are drawn in
//! characters; the others are in the HTML report.

use crate::document::{Block, Column, Document, Headline, Table};
use crate::plot::{Forest, ForestGroup, ForestLine, Plot};
use crate::svg::axis::{Axis, ratio_axis};
use crate::words::{self, shorten};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, TableStyle,
    Width,
};

/// Columns of the terminal that are used.
const WIDTH: usize = 100;
/// Columns of a table, which is indented.
const ROOM: usize = WIDTH - 2;
/// Columns that a column of words needs at least, if it has as much to say.
const WORDS_MIN: usize = 14;
/// Columns of a drawn interval.
const DRAWN: usize = 33;

pub(crate) fn write(document: &Document) -> String {
    let mut out = String::new();
    if let Some(notice) = &document.notice {
        paragraph(&mut out, notice, "");
        out.push('\n');
    }
    for sentence in &document.sentences {
        paragraph(&mut out, sentence, "");
    }
    for headline in &document.headlines {
        paragraph(&mut out, &headline_line(headline), "  ");
    }
    out.push('\n');
    paragraph(&mut out, &format!("{} · {}", document.title, document.facts), "");
    if document.warnings() > 0 {
        let warnings = crate::number::count(document.warnings() as u64, "warning");
        paragraph(&mut out, &format!("{warnings}, see below."), "");
    }
    for section in &document.sections {
        out.push_str(&format!("\n{}\n", section.title.to_uppercase()));
        for block in &section.blocks {
            write_block(&mut out, block);
        }
    }
    out
}

fn headline_line(headline: &Headline) -> String {
    let mut parts = vec![format!("{}: {}", headline.against, headline.effect)];
    parts.extend(headline.interval.clone());
    parts.extend(headline.mark.map(str::to_owned));
    parts.extend(headline.verdict.as_ref().map(|(_, word)| word.clone()));
    parts.push(headline.basis.clone());
    parts.join(" · ")
}

fn write_block(out: &mut String, block: &Block) {
    match block {
        Block::Text(text) => paragraph(out, text, "  "),
        Block::List(lines) => {
            for (index, line) in lines.iter().enumerate() {
                hanging(out, &format!("  {}. ", index + 1), line);
            }
        }
        Block::Warnings(warnings) => {
            for (text, remedy) in warnings {
                hanging(out, "  ! ", text);
                hanging(out, "    → ", remedy);
            }
        }
        Block::Code(lines) => {
            for line in lines {
                out.push_str(&format!("  $ {line}\n"));
            }
        }
        Block::Table(table) if table.folded => {}
        Block::Table(table) => out.push_str(&render(table)),
        Block::Figures(figures) => {
            for figure in figures {
                if let Plot::Forest(plot) = &figure.plot {
                    out.push_str(&format!("  {}\n", figure.title));
                    forest(out, plot);
                    paragraph(out, &figure.caption, "  ");
                }
            }
        }
    }
}

/// Lines of at most [`WIDTH`] columns, each after the indent.
fn paragraph(out: &mut String, text: &str, indent: &str) {
    wrapped(out, text, indent, indent);
}

/// The same with a mark before the first line.
fn hanging(out: &mut String, mark: &str, text: &str) {
    wrapped(out, text, mark, &" ".repeat(mark.chars().count()));
}

fn wrapped(out: &mut String, text: &str, first: &str, rest: &str) {
    words::fill(out, text.split_whitespace(), WIDTH, first, rest);
}

/// The table, in parts below each other where it is too wide.
fn render(table: &Table) -> String {
    let mut text = format!("\n  {}\n", table.caption);
    for part in parts(table) {
        let mut drawn = comfy_table::Table::new();
        drawn
            .load_style(style())
            .set_width(u16::try_from(ROOM).unwrap_or(u16::MAX))
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(part.iter().map(|index| table.columns[*index].name.as_str()));
        for row in &table.rows {
            drawn.add_row(part.iter().map(|index| row[*index].as_str()));
        }
        for (position, index) in part.iter().enumerate() {
            if let Some(column) = drawn.column_mut(position) {
                align(column, &table.columns[*index]);
            }
        }
        for line in drawn.lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    if let Some(note) = &table.note {
        paragraph(&mut text, note, "  ");
    }
    text
}

/// Which columns stand side by side; the first column heads every part.
fn parts(table: &Table) -> Vec<Vec<usize>> {
    let need = |index: usize| {
        let cells = table.rows.iter().map(|row| row[index].chars().count());
        let widest = cells.chain([table.columns[index].name.chars().count()]).max().unwrap_or(0);
        // Words wrap, numbers do not.
        let need = if table.columns[index].number { widest } else { widest.min(WORDS_MIN) };
        need + 2
    };
    let mut shown = (0..table.columns.len()).filter(|index| !table.columns[*index].detail);
    let Some(first) = shown.next() else { return Vec::new() };
    let shown: Vec<usize> = shown.collect();
    let mut parts = vec![vec![first]];
    let mut width = need(first);
    for (place, &index) in shown.iter().enumerate() {
        // A group that does not fit here but would on a line of its own is not torn.
        let others = shown[place + 1..].iter().take_while(|other| !table.columns[**other].opens);
        let group = need(index) + others.map(|other| need(*other)).sum::<usize>();
        let torn = table.columns[index].opens && width + group > ROOM && width > need(first);
        if torn || width + need(index) > ROOM {
            parts.push(vec![first]);
            width = need(first);
        }
        width += need(index);
        if let Some(part) = parts.last_mut() {
            part.push(index);
        }
    }
    parts
}

fn align(column: &mut comfy_table::Column, wanted: &Column) {
    column.set_padding((0, 1));
    if wanted.number {
        column.set_cell_alignment(CellAlignment::Right);
        // Numbers are never broken; words wrap.
        column.set_constraint(ColumnConstraint::ContentWidth);
    } else {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(44)));
    }
}

fn style() -> TableStyle {
    TableStyle::new()
        .header_separator(LineStyle::none().fill('─').junction('─'))
        .header_lines(ContentLineStyle::none().junction(' '))
        .content_lines(ContentLineStyle::none().junction(' '))
}

/// One line for each effect: `├───●───┤` on an axis of log ratios, `│` where there is none.
fn forest(out: &mut String, forest: &Forest) {
    let axis = ratio_axis(forest, 0.0, (DRAWN - 1) as f64);
    let many_arms = forest.groups.iter().any(|group| group.lines.len() > 1);
    let label = |group: &ForestGroup, line: &ForestLine| {
        if many_arms { format!("{} · {}", group.label, line.name) } else { group.label.clone() }
    };
    let lines: Vec<(String, bool, &ForestLine)> = forest
        .groups
        .iter()
        .flat_map(|group| {
            group.lines.iter().map(move |line| (label(group, line), group.primary, line))
        })
        .collect();
    let widest = lines.iter().map(|(label, ..)| label.chars().count()).max().unwrap_or(0);
    let width = widest.min(30);
    for (label, primary, line) in lines {
        let label = shorten(&label, width);
        let drawn = interval(line, primary, forest.margin, &axis);
        out.push_str(format!("  {label:width$}  {drawn}  {}", line.text).trim_end());
        out.push('\n');
    }
}

fn interval(line: &ForestLine, primary: bool, margin: f64, axis: &Axis) -> String {
    let column = |ratio: f64| axis.position(ratio).round().clamp(0.0, (DRAWN - 1) as f64) as usize;
    let mut cells = vec![' '; DRAWN];
    cells[column(1.0 - margin)..=column(1.0 + margin)].fill('·');
    cells[column(1.0)] = '│';
    if let Some(ratio) = line.ratio {
        if let Some((low, high)) = line.interval {
            let (low, high) = (column(low.min(high)), column(high.max(low)));
            cells[low..=high].fill('─');
            cells[low] = '├';
            cells[high] = '┤';
        }
        cells[column(ratio)] = if primary { '◆' } else { '●' };
    }
    cells.into_iter().collect()
}
