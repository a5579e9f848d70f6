//! Work beside rulers: what it fights for, and how well that predicts pairs.

use super::estimate;
use crate::brief::Brief;
use crate::document::{Block, Column, ColumnOf, Figure, Outline, Table};
use crate::number;
use crate::plot::{Bar, BarGroup, Bars, Plot};
use crate::words::clean;
use coretwin_base::account::cputime::pairs::WithCommand;
use coretwin_base::account::cputime::result::CputimeSummary;
use coretwin_base::account::cputime::rulers::{
    BesideRuler, Predicted, Predictions, Rulers, Signature, resource,
};
use coretwin_base::account::cputime::{Relation, SpinnerKind};
use coretwin_stats::confidence;

pub(super) const METHOD: [&str; 3] = [
    "A ruler fights for one resource and takes its share of fetch, issue and retirement as well: compare \
     rulers with each other, and each with itself on both CPUs, not with 1.",
    "Caches' rulers are as large as three quarters of this machine's; other loops are the same everywhere.",
    "Each pair is predicted from the other pairs alone. By rulers: 1 + k·Σ (loss to a ruler × what the other \
     makes that ruler lose ÷ what it loses to itself), k by least squares. By means: the mean slowdown of the \
     one × the mean slowdown beside the other ÷ the mean of all.",
];

/// The rulers that were measured beside it, the one that slows it most first.
fn sorted(signature: &Signature) -> Vec<&BesideRuler> {
    let mut all: Vec<_> = signature.beside.iter().collect();
    all.sort_by(|a, b| b.slowdown.value.total_cmp(&a.slowdown.value));
    all
}

/// The word that the answer begins with, and the answer.
pub(super) fn answer(summary: &CputimeSummary, rulers: &Rulers) -> (&'static str, String) {
    let all = rulers.signatures.first().map(sorted).unwrap_or_default();
    let (Some(most), Some(least)) = (all.first(), all.last()) else {
        return ("NO RESULT", "NO RESULT: no block beside a ruler counts.".to_owned());
    };
    let said = |it: &BesideRuler| format!("{} ({:.2})", resource(it.ruler), it.slowdown.value);
    let cpus = &summary.cpus;
    let range = format!("{:.2} to {:.2} times", least.slowdown.value, most.slowdown.value);
    match cpus.relation {
        Relation::Separate => {
            let why = "no siblings are visible, so what it fights for within a core is not known";
            let turns = format!("Taking turns on CPU {}, rulers slow it {range}", cpus.work.0);
            return ("NOT SMT", format!("NOT SMT: {why}. {turns}."));
        }
        Relation::Named => {
            let (a, b) = (cpus.work.0, cpus.neighbour.0);
            let why = format!("CPUs {a} and {b} share no known core; on these two");
            return ("NOT SMT", format!("NOT SMT: {why} rulers slow it {range}."));
        }
        Relation::Siblings | Relation::Probed => {}
    }
    // All whose intervals reach that of the first, which is one among them.
    let reaches = |it: &&&BesideRuler| it.slowdown.high >= most.slowdown.low;
    let Some(next) = all.get(1).filter(|_| most.slowdown.low.is_some()) else {
        return ("INTERIM", format!("INTERIM: one block; it is slowed most by {}.", said(most)));
    };
    if !reaches(&next) {
        return ("FIGHTS", format!("FIGHTS most for {}; least for {}.", said(most), said(least)));
    }
    let alike = all.iter().take_while(reaches).count();
    if alike == all.len() {
        return ("NO RULER", format!("NO RULER stands out: they slow it {range}."));
    }
    let names: Vec<String> = all.iter().take(alike.min(4)).map(|it| said(it)).collect();
    let more = if alike > 4 { ", …" } else { "" };
    (
        "FIGHTS",
        format!("FIGHTS most for one of {}{more}; least for {}.", names.join(", "), said(least)),
    )
}

pub(super) fn headline(rulers: &Rulers) -> Option<String> {
    let first = rulers.signatures.first()?;
    let most = *sorted(first).first()?;
    let what = resource(most.ruler);
    Some(format!("Beside the ruler for {what}: {:.2} × the time alone.", most.slowdown.value))
}

pub(super) fn brief(summary: &CputimeSummary, rulers: &Rulers) -> Brief {
    if summary.too_busy.is_some() {
        let said = "TOO BUSY to say: others disturbed every block, so nothing was kept.";
        return Brief::new("TOO BUSY", said);
    }
    let (word, said) = answer(summary, rulers);
    let sorted = rulers.signatures.first().map(sorted).unwrap_or_default();
    let each =
        sorted.iter().map(|it| format!("{} {}", resource(it.ruler), estimate(Some(it.slowdown))));
    Brief::new(word, said).line("interval", each.take(4))
}

/// Which rule predicted the measured pairs better; `None` where none was predicted.
pub(super) fn better(rulers: &Rulers) -> Option<String> {
    let predictions = rulers.predictions.as_ref()?;
    let Predictions { difference, error_rulers, error_means, .. } = predictions;
    let word = match (difference.low, difference.high) {
        (_, Some(high)) if high < 0.0 => "rulers predict pairs better than the product of means",
        (Some(low), _) if low > 0.0 => "the product of mean slowdowns predicts pairs better",
        _ => "neither rule predicts pairs better for certain",
    };
    Some(format!(
        "{word}: error {} by rulers, {} by means",
        percent(*error_rulers),
        percent(*error_means)
    ))
}

fn percent(log: f64) -> String {
    format!("{:.1} %", 100.0 * log)
}

pub(super) fn add_to(outline: &mut Outline, summary: &CputimeSummary, rulers: &Rulers) {
    let mut blocks: Vec<Block> =
        rulers.signatures.iter().map(|it| Block::Table(table(rulers, it))).collect();
    blocks.push(figure(rulers));
    outline.add("signature", "What it fights for", blocks);
    let commands = summary.pairs.as_ref().map(|pairs| &pairs.commands[..]).unwrap_or_default();
    if let Some(predictions) = &rulers.predictions {
        let said = better(rulers).map(|text| Block::Text(format!("{text}."))).into_iter();
        let tables = [of_rules(predictions), of_sides(predictions, commands)].map(Block::Table);
        outline.add("predicted", "Pairs by rule", said.chain(tables).collect());
    }
}

fn table(rulers: &Rulers, signature: &Signature) -> Table {
    let itself = |it: &BesideRuler| {
        let scale = rulers.scales.iter().find(|scale| scale.ruler == it.ruler);
        estimate(scale.map(|scale| scale.slowdown))
    };
    let columns: [ColumnOf<'_, &BesideRuler>; 5] = [
        (Column::words("Resource"), &|it| resource(it.ruler).to_owned()),
        (Column::words("Ruler"), &|it| it.ruler.name().to_owned()),
        (Column::number("work beside it"), &|it| estimate(Some(it.slowdown))),
        (Column::number("it beside the work"), &|it| estimate(it.ruler_slowdown)),
        (Column::number("it beside itself"), &|it| itself(it)),
    ];
    let caption = format!("{} beside each ruler: time over time alone", clean(&signature.work));
    Table::of(caption, &sorted(signature), columns)
        .note(format!("The largest first. In brackets: {} over blocks.", confidence::interval()))
}

fn of_rules(predictions: &Predictions) -> Table {
    let row = |rule: &str, error: f64| vec![rule.to_owned(), percent(error)];
    let rows = vec![
        row("rulers", predictions.error_rulers),
        row("product of mean slowdowns", predictions.error_means),
        row("mean of the other pairs", predictions.error_constant),
    ];
    let difference = [
        Some(predictions.difference.value),
        predictions.difference.low,
        predictions.difference.high,
    ];
    let [value, low, high] =
        difference.map(|part| number::or_none(part.map(|part| percent(part).replace('-', "−"))));
    let columns = Column::list(["Rule", "#mean error"]);
    Table::new("Errors of predictions of pairs, each made from the other pairs", columns, rows).note(
        format!(
            "Rulers less means: {value} [{low}, {high}], {} over pairs, as if they shared no command.",
            confidence::interval()
        ),
    )
}

fn of_sides(predictions: &Predictions, commands: &[WithCommand]) -> Table {
    let name = |at: usize| commands.get(at).map_or_else(String::new, |it| clean(&it.name));
    let columns: [ColumnOf<'_, Predicted>; 5] = [
        (Column::words("Slowdown of"), &|it| name(it.work)),
        (Column::words("beside"), &|it| name(it.beside)),
        (Column::number("measured"), &|it| format!("{:.3}", it.measured)),
        (Column::number("by rulers"), &|it| format!("{:.3}", it.by_rulers)),
        (Column::number("by means"), &|it| format!("{:.3}", it.by_means)),
    ];
    Table::of("Predictions beside what was measured", &predictions.sides, columns)
}

fn figure(rulers: &Rulers) -> Block {
    let kinds = rulers.signatures.first().map(sorted).unwrap_or_default();
    let bar = |(arm, signature): (usize, &Signature), ruler| {
        let it = signature.beside.iter().find(|it| it.ruler == ruler)?;
        Some(Bar {
            arm,
            value: Some(it.slowdown.value),
            interval: it.slowdown.low.zip(it.slowdown.high),
            title: format!(
                "{} beside {}: {}",
                clean(&signature.work),
                resource(ruler),
                estimate(Some(it.slowdown))
            ),
        })
    };
    let group = |ruler: SpinnerKind| BarGroup {
        label: ruler.name().to_owned(),
        bars: rulers.signatures.iter().enumerate().filter_map(|it| bar(it, ruler)).collect(),
    };
    let groups = kinds.iter().map(|it| group(it.ruler)).collect();
    let plot = Bars { unit: "× alone".to_owned(), group: "rulers".to_owned(), groups };
    let caption = format!("By ruler, with {}s.", confidence::interval());
    Figure::block("Time beside a ruler, over time alone".to_owned(), caption, Plot::Bars(plot))
}
