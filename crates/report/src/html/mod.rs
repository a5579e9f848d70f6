//! The report as one self-contained HTML page: no script, no request leaves it.

mod style;

use crate::document::{Block, Document, Figure, Headline, Section, Table};
use crate::number;
use crate::svg;
use coretwin_base::study::summary::Verdict;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Nothing may be loaded, from anywhere; a browser holds the page to it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A document as one self-contained HTML page.
pub(crate) fn write(document: &Document) -> String {
    let mut page = Page { arms: &document.arms, figures: 0 };
    let sections: Vec<Markup> =
        document.sections.iter().map(|section| page.section(section)).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (document.title) " – " (document.kind) }
                style { (PreEscaped(style::STYLE)) }
            }
            body {
                main {
                    (opening(document))
                    @for section in &sections { (section) }
                    footer class="small" { "Made by Coretwin from the records alone." }
                }
            }
        }
    }
    .into_string()
}

/// The verdict, before anything else.
fn opening(document: &Document) -> Markup {
    html! {
        header {
            @if let Some(notice) = &document.notice { p class="notice" { (tied(notice)) } }
            p class="eyebrow" { (document.kind) " · " b { (document.title) } }
            // One big number stands beside its sentence, several stand below.
            div class=[(document.headlines.len() == 1).then_some("answer")] {
                div {
                    @match document.sentences.split_first() {
                        Some((first, others)) => {
                            h1 { (tied(first)) }
                            @for sentence in others { p class="lead" { (tied(sentence)) } }
                        }
                        None => h1 { "There is no result yet." },
                    }
                }
                div class="cards" {
                    @for headline in &document.headlines { (card(headline)) }
                }
            }
            p class="facts" {
                (document.facts)
                @if document.warnings() > 0 {
                    " · "
                    a href="#warnings" { (number::count(document.warnings() as u64, "warning")) }
                }
            }
            nav aria-label="Sections" {
                @for section in &document.sections {
                    a href={ "#" (section.id) } { (section.title) }
                }
            }
        }
    }
}

fn card(headline: &Headline) -> Markup {
    html! {
        div class="card" {
            p { (headline.against) }
            p class="big" { (headline.effect) }
            @if let Some(interval) = &headline.interval { p { (interval) } }
            @if let Some(mark) = headline.mark {
                p { span class="badge inconclusive" { (mark) } }
            }
            @if let Some((verdict, word)) = &headline.verdict {
                p { span class={ "badge " (tone(*verdict)) } { (word) } }
            }
            p class="small" { (headline.basis) }
        }
    }
}

/// A number stays on the line of its per cent sign.
fn tied(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// Class of a verdict. The colour only supports the word.
fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Helps => "helps",
        Verdict::Hurts => "hurts",
        Verdict::NoMaterialDifference => "no-material-difference",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// What the pieces of the page need to know of it.
struct Page<'a> {
    arms: &'a [String],
    /// Figures so far; each gets a number of its own.
    figures: usize,
}

impl Page<'_> {
    fn section(&mut self, section: &Section) -> Markup {
        let blocks: Vec<Markup> = section.blocks.iter().map(|block| self.block(block)).collect();
        html! {
            section id=(section.id) {
                h2 { (section.title) }
                @for block in &blocks { (block) }
            }
        }
    }

    fn block(&mut self, block: &Block) -> Markup {
        match block {
            Block::Text(text) => html! { p { (tied(text)) } },
            Block::List(lines) => html! { ol { @for line in lines { li { (tied(line)) } } } },
            Block::Warnings(warnings) => html! {
                ul class="warnings" {
                    @for (text, remedy) in warnings { li { (tied(text)) span { (tied(remedy)) } } }
                }
            },
            Block::Code(lines) => html! { pre tabindex="0" { (lines.join("\n")) } },
            Block::Table(table) if table.folded => html! {
                details { summary { (table.caption) } (self.table(table)) }
            },
            Block::Table(table) => self.table(table),
            Block::Figures { arms, figures } => self.figures(arms, figures),
        }
    }

    /// One wide figure with its words beside it, or a grid of small ones under one legend.
    fn figures(&mut self, arms: &[usize], figures: &[Figure]) -> Markup {
        let legend = self.legend(arms);
        match figures {
            [figure] if svg::is_wide(&figure.plot) => {
                let drawn = self.drawn(figure);
                html! {
                    figure class="span" {
                        (drawn)
                        figcaption { b { (figure.title) } (tied(&figure.caption)) (legend) }
                    }
                }
            }
            figures => {
                let drawn: Vec<Markup> = figures.iter().map(|figure| self.drawn(figure)).collect();
                html! {
                    (legend)
                    div class="grid" {
                        @for (figure, drawn) in figures.iter().zip(&drawn) {
                            figure {
                                figcaption { b { (figure.title) } (tied(&figure.caption)) }
                                (drawn)
                            }
                        }
                    }
                }
            }
        }
    }

    fn drawn(&mut self, figure: &Figure) -> Markup {
        self.figures += 1;
        let id = format!("figure-{}", self.figures);
        PreEscaped(svg::draw(&figure.plot, &id, &figure.title, &figure.caption))
    }

    fn legend(&self, arms: &[usize]) -> Markup {
        html! {
            @if !arms.is_empty() {
                ul class="legend" aria-label="Arms" {
                    @for arm in arms {
                        @if let Some(name) = self.arms.get(*arm) {
                            li { (PreEscaped(svg::legend_mark(*arm))) (name) }
                        }
                    }
                }
            }
        }
    }

    fn table(&self, table: &Table) -> Markup {
        let class = |index: usize| match &table.columns[index] {
            column if column.number => Some("n"),
            column if column.name == "Unit" => Some("short"),
            column if ["Verdict", "Result"].contains(&column.name.as_str()) => Some("verdict"),
            _ => None,
        };
        let last = table.rows.len().saturating_sub(1);
        html! {
            div class="block" {
                div class="scroll" tabindex="0" role="region" aria-label=(table.caption) {
                    table class=[(table.columns.len() > 8).then_some("many")] {
                        caption { span { (tied(&table.caption)) } }
                        thead { tr {
                            @for column in &table.columns {
                                th scope="col" class={
                                    @if column.number { "n" }
                                    @if column.name.chars().count() < 14 { " short" }
                                } { (column.name) }
                            }
                        } }
                        tbody {
                            @for (number, row) in table.rows.iter().enumerate() {
                                tr class=[(table.total && number == last).then_some("total")] {
                                    @for (index, cell) in row.iter().enumerate() {
                                        @if index == 0 {
                                            th scope="row" class=[class(index)] { (cell) }
                                        } @else {
                                            td class=[class(index)] { (cell) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                @if let Some(note) = &table.note { p class="note" { (tied(note)) } }
            }
        }
    }
}
