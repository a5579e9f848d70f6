//! The report as one self-contained HTML page: no script, no request leaves it.

mod style;

use crate::document::{Block, Document, Figure, Headline, Section, Table};
use crate::number;
use crate::plot::Sign;
use crate::svg;
use coretwin_base::study::summary::Verdict;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeSet;

/// Nothing may be loaded, from anywhere; a browser holds the page to it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

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
                title { (document.marks.join(", ")) " · " (document.title) " – " (document.kind) }
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

fn opening(document: &Document) -> Markup {
    let sentences = html! { @for text in &document.sentences { p { (tied(text)) } } };
    html! {
        header {
            p class="eyebrow" { (document.kind) " · " b { (document.title) } }
            @if document.headlines.is_empty() { (badges(&document.marks, None)) }
            @if let Some(notice) = &document.notice { p class="notice" { (tied(notice)) } }
            // One big number stands beside its sentence, several stand below.
            div class=[(document.headlines.len() == 1).then_some("answer")] {
                div {
                    h1 { (tied(&document.answer())) }
                    @if document.headlines.len() > 1 {
                        details class="full" { summary { "In full, arm by arm" } (sentences) }
                    } @else {
                        (sentences)
                    }
                }
                div class="cards" {
                    @for headline in &document.headlines { (card(document, headline)) }
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

fn card(document: &Document, headline: &Headline) -> Markup {
    let marks = headline.marks(document);
    html! {
        div class={ "card " (class(marks.first().unwrap_or(&""))) } {
            (badges(&marks, headline.verdict.as_ref()))
            p class="big" { (headline.effect) }
            @if let Some(interval) = &headline.interval { p { (interval) } }
            p { (headline.against) }
            p class="small" { (headline.basis) }
        }
    }
}

/// How a figure may be read, and the verdict: in words, which colour and frame only support.
fn badges(marks: &[&str], verdict: Option<&(Verdict, String)>) -> Markup {
    html! {
        p class="badges" {
            @for mark in marks { span class={ "badge " (class(mark)) } { (mark) } " " }
            @if let Some((verdict, word)) = verdict {
                span class={ "badge " (class(&verdict.to_string())) } { (word) }
            }
        }
    }
}

/// The class of a mark: `no-direction-visible`.
fn class(mark: &str) -> String {
    mark.to_lowercase().replace(' ', "-")
}

/// A number stays on the line of its per cent sign.
fn tied(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

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
            Block::Table(table) => html! {
                @for piece in table.pieces() {
                    @if piece.folded {
                        details { summary { (piece.caption) } (self.table(&piece)) }
                    } @else {
                        (self.table(&piece))
                    }
                }
            },
            Block::Figures(figures) => self.figures(figures),
        }
    }

    /// One wide figure with its words beside it, or a grid of small ones under one legend.
    fn figures(&mut self, figures: &[Figure]) -> Markup {
        let legend = self.legend(figures);
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

    /// The marks that are drawn, and no other; one arm alone needs none.
    fn legend(&self, figures: &[Figure]) -> Markup {
        let arms: BTreeSet<usize> = figures.iter().flat_map(|it| it.plot.arms()).collect();
        let signs: BTreeSet<Sign> = figures.iter().flat_map(|it| it.plot.signs()).collect();
        let arms = arms.iter().filter(|_| arms.len() > 1 || !signs.is_empty());
        let arms =
            arms.filter_map(|arm| Some((svg::legend_mark(*arm), self.arms.get(*arm)?.as_str())));
        let keys: Vec<(String, &str)> =
            arms.chain(signs.iter().map(|sign| svg::legend_sign(*sign))).collect();
        html! {
            @if !keys.is_empty() {
                ul class="legend" aria-label="Legend" {
                    @for (mark, name) in &keys { li { (PreEscaped(mark)) (name) } }
                }
            }
        }
    }

    fn table(&self, table: &Table) -> Markup {
        let class = |index: usize| match &table.columns[index] {
            column if column.number => Some("n"),
            column if ["Unit", "Arm"].contains(&column.name.as_str()) => Some("short"),
            column if ["Verdict", "Result"].contains(&column.name.as_str()) => Some("verdict"),
            _ => None,
        };
        let last = table.rows.len().saturating_sub(1);
        html! {
            div class="block" {
                div class="scroll" tabindex="0" role="region" aria-label=(table.caption) {
                    table class=[(table.columns.len() > 8).then_some("many")] {
                        // Folded, the summary has said it.
                        @if !table.folded { caption { span { (tied(&table.caption)) } } }
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
