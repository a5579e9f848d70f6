//! A filled table as a document's table: columns of arms, effects, what the article printed, with what a
//! reader must know of single figures as footnotes; and Figures 1 to 3, a bar for each arm.

use crate::document::{Block, Column, Figure, Table};
use crate::number::{self, or_none};
use crate::plot::{Bar, BarGroup, Bars, Plot};
use crate::{Study, effects, words};
use coretwin_article::printed::{Kernel, MEAN, Printed, Remark};
use coretwin_article::tables::{ChatSize, Filled, Line, chat_size};
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::{Protocol, Scale};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::{RowEffect, SuiteEffect};
use coretwin_stats::geometric;
use std::collections::BTreeSet;

struct Shape {
    reference: usize,
    others: Vec<usize>,
    /// The protocol of 2003 has neither intervals nor verdicts.
    is_article: bool,
    with_verdicts: bool,
    with_units: bool,
    /// Whether any line has figures of the article, of 2.4.19 and of 2.5.32.
    printed: bool,
    later: bool,
}

impl Shape {
    fn new(study: &Study<'_>, table: &Filled<'_>) -> Self {
        let reference = study.plan.reference_index();
        let others: Vec<usize> =
            (0..study.plan.arms.len()).filter(|arm| *arm != reference).collect();
        let is_article = study.plan.rules.protocol == Protocol::Article2003;
        let judged =
            |line: &Line<'_>| others.iter().any(|arm| verdict(study, *arm, line).is_some());
        Self {
            reference,
            is_article,
            with_units: table.lines.iter().any(|line| line.row.unit != table.lines[0].row.unit),
            with_verdicts: !is_article && table.lines.iter().any(judged),
            printed: table.lines.iter().any(|line| line.printed.is_some()),
            later: table.lines.iter().any(|line| line.printed_later.is_some()),
            others,
        }
    }

    fn heads(&self, study: &Study<'_>, table: &Filled<'_>) -> Vec<Column> {
        let mut columns =
            vec![if table.sizes { Column::number(table.head) } else { Column::words(table.head) }];
        if self.with_units {
            columns.push(Column::words("Unit"));
        }
        // Beside the unit the terminal has no room for a group of all columns.
        let reference = Column::number(arm_head(study, self.reference));
        columns.push(if self.with_units { reference } else { reference.opening() });
        for (place, arm) in self.others.iter().enumerate() {
            let column = Column::number(arm_head(study, *arm));
            columns.push(if place == 0 { column } else { column.opening() });
            columns.push(Column::number("Speed-up"));
            if !self.is_article {
                columns.push(Column::number(effects::interval_name(study)));
            }
            if self.with_verdicts {
                columns.push(Column::words(words::verdict_column(study)));
            }
        }
        if self.printed {
            columns.push(Column::number("Article noht").opening());
            columns.push(Column::number("Article ht"));
            columns.push(Column::number("Article speed-up"));
        }
        if self.later {
            columns.push(Column::number("Article, 2.5.32"));
        }
        columns
    }

    /// A row: its name, its unit, the value in the reference, and of each other arm value, speed-up,
    /// interval and verdict.
    fn row(
        &self,
        name: &str,
        unit: &str,
        base: Option<f64>,
        of_arm: impl Fn(usize) -> (Option<f64>, [Option<String>; 3]),
    ) -> Vec<String> {
        let mut cells = vec![name.to_owned()];
        if self.with_units {
            cells.push(words::clean(unit));
        }
        cells.push(number::value_or_none(base));
        for arm in &self.others {
            let (value, [speed_up, interval, verdict]) = of_arm(*arm);
            cells.extend([number::value_or_none(value), or_none(speed_up)]);
            if !self.is_article {
                cells.push(or_none(interval));
            }
            if self.with_verdicts {
                cells.push(or_none(verdict));
            }
        }
        cells
    }

    fn line(&self, study: &Study<'_>, line: &Line<'_>) -> Vec<String> {
        let base = value(study, self.reference, &line.row.id);
        self.row(&line.label, &line.row.unit, base, |arm| {
            let effect = find(study, arm, &line.row.id);
            let speed_up = effect.and_then(|effect| self.speed_up(effect));
            let interval = effect.and_then(effects::interval_text);
            let value = effect.and_then(|effect| effect.value_arm);
            (value, [speed_up, interval, verdict(study, arm, line)])
        })
    }

    /// The effect; by the article's protocol in whole per cent, as the article prints it.
    fn speed_up(&self, effect: &RowEffect) -> Option<String> {
        let pair = effect.value_reference.zip(effect.value_arm).filter(|_| self.is_article);
        let whole = pair.and_then(|(base, value)| whole_percent(base, value, effect.better));
        whole.or_else(|| effects::effect(effect))
    }

    fn printed(
        &self,
        printed: Option<&Printed>,
        later: Option<&Printed>,
        notes: &mut Footnotes,
    ) -> Vec<String> {
        let mut cells = Vec::new();
        if self.printed {
            cells.extend(printed_cells(printed, notes));
        }
        if self.later {
            cells.push(or_none(
                later.map(|row| notes.marked(percent(&row.speed_up_percent), row.remark.as_ref())),
            ));
        }
        cells
    }

    /// The last row: geometric means, with the effect and interval of the suite.
    fn mean(&self, study: &Study<'_>, table: &Filled<'_>) -> Vec<String> {
        // The suite leaves out rows that failed; means of values would then be of other rows.
        let is_whole = self.others.iter().all(|arm| {
            let suite = suite(study, table, *arm);
            suite.is_none_or(|suite| suite.rows as usize == table.lines.len())
        });
        // Rows of other units have no mean of values.
        let mean = |arm: usize| {
            let values: Option<Vec<f64>> =
                table.lines.iter().map(|line| value(study, arm, &line.row.id)).collect();
            geometric::mean(&values?).filter(|_| table.sizes && is_whole)
        };
        let (base, better) = (mean(self.reference), table.lines[0].row.better);
        self.row("Geometric mean", "", base, |arm| {
            let (suite, own) = (suite(study, table, arm), mean(arm));
            let own = own.filter(|_| base.is_some());
            let pair = base.zip(own);
            let quotient = pair.and_then(|(base, mean)| geometric::ratio(base, mean, better));
            let ratio = suite.and_then(|suite| suite.ratio).or(quotient);
            let speed_up = match (ratio, self.is_article) {
                (Some(ratio), true) => whole_percent(1.0, ratio, Better::Higher),
                (ratio, _) => ratio.map(number::effect),
            };
            let ends = suite.and_then(|suite| suite.low.zip(suite.high));
            let interval = ends.map(|(low, high)| number::interval(low, high));
            let verdict = suite.and_then(|suite| suite.verdict);
            let label = &study.plan.arms[arm].label;
            let verdict = verdict.map(|verdict| words::verdict(study, label, verdict));
            (own, [speed_up, interval, verdict])
        })
    }
}

pub(super) fn table(study: &Study<'_>, filled: &Filled<'_>, notes: &mut Footnotes) -> Table {
    let shape = Shape::new(study, filled);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in &filled.lines {
        let mut cells = shape.line(study, line);
        let (printed, later) = (line.printed.as_ref(), line.printed_later.as_ref());
        cells.append(&mut shape.printed(printed, later, notes));
        rows.push(cells);
    }
    let total = rows.len() > 1;
    if total {
        let mut cells = shape.mean(study, filled);
        // The article's means are over all its rows.
        let [printed, later] = [filled.kernel, Kernel::Development2532].map(|kernel| {
            let is_mean = |row: &&Printed| row.label == MEAN && row.kernel == kernel;
            filled.printed.iter().find(is_mean).filter(|_| has_all(filled, kernel))
        });
        cells.append(&mut shape.printed(printed, later, notes));
        rows.push(cells);
    }
    let caption = format!("Table {}. {}", filled.number, filled.title);
    let note = note(study, filled, &shape, notes);
    Table { total, ..Table::new(caption, shape.heads(study, filled), rows).note(note) }
}

pub(super) fn chat_sizes(study: &Study<'_>, filled: &Filled<'_>) -> Table {
    let line = |line: &Line<'_>| {
        let ChatSize { rooms, connections, threads, sent, received, total } =
            chat_size(study.plan, study.readings, line.row);
        let mut cells = vec![rooms.to_string()];
        let counts = [connections, threads, sent, received, total];
        cells.extend(counts.map(|n| or_none(n.map(number::whole))));
        cells
    };
    let names = ["Chat rooms", "Connections", "Threads", "Sent", "Received", "Messages in all"];
    let rows = filled.lines.iter().map(line).collect();
    let caption = "Table 3. Chat: what a number of rooms makes";
    Table::new(caption, names.map(Column::number).into(), rows)
}

/// Whether the lines are just the article's.
fn has_all(filled: &Filled<'_>, kernel: Kernel) -> bool {
    let of_kernel = |row: &&Printed| row.kernel == kernel && row.label != MEAN;
    filled.printed.iter().filter(of_kernel).count() == filled.lines.len()
        && filled.lines.iter().all(|line| line.printed.is_some())
}

/// What the article printed, where no line of the study's own table has a counterpart in it.
pub(super) fn printed_alone(filled: &Filled<'_>, notes: &mut Footnotes) -> Option<Table> {
    let has_rows = filled.printed.iter().any(|row| row.kernel == Kernel::Stable2419);
    if !filled.sizes || !has_rows || filled.lines.iter().any(|line| line.printed.is_some()) {
        return None;
    }
    let line = |row: &Printed| {
        let label = if row.label == MEAN { "Geometric mean" } else { &row.label };
        let mut cells = vec![label.to_owned()];
        cells.extend(printed_cells(Some(row), notes));
        let later = filled.printed.iter();
        let later = later.filter(|other| other.kernel == Kernel::Development2532);
        let later = later.into_iter().find(|other| other.label == row.label);
        cells
            .push(or_none(later.map(|later| {
                notes.marked(percent(&later.speed_up_percent), later.remark.as_ref())
            })));
        cells
    };
    let rows = filled.printed.iter().filter(|row| row.kernel == Kernel::Stable2419);
    let rows: Vec<Vec<String>> = rows.map(line).collect();
    let heads = [filled.head, "Article noht", "Article ht", "Article speed-up", "Article, 2.5.32"];
    let caption = format!("Table {} as the article printed it", filled.number);
    let parts = notes.once(sizes_note(filled)).into_iter().chain(notes.text());
    let note = parts.collect::<Vec<_>>().join(" ");
    let columns = heads.map(Column::number).into();
    Some(Table { total: true, ..Table::new(caption, columns, rows).note(note) })
}

fn printed_cells(printed: Option<&Printed>, notes: &mut Footnotes) -> [String; 3] {
    match printed {
        None => [number::NONE, number::NONE, number::NONE].map(str::to_owned),
        Some(row) => [
            number::as_printed(&row.noht),
            number::as_printed(&row.ht),
            notes.marked(percent(&row.speed_up_percent), row.remark.as_ref()),
        ],
    }
}

fn percent(printed: &str) -> String {
    format!("{printed} %").replace('-', "−")
}

/// How the values came about, and what is to be known of the article's. Each thing is said once, of the
/// first table that it holds of, but for the unit.
fn note(study: &Study<'_>, filled: &Filled<'_>, shape: &Shape, notes: &mut Footnotes) -> String {
    let row = filled.lines[0].row;
    let better = row.better.name();
    let unit = (!shape.with_units).then(|| words::clean(&row.unit));
    let same = filled.lines.iter().all(|line| line.row.better == row.better);
    let mut parts: Vec<String> = match (unit, same) {
        (Some(unit), true) => vec![format!("Data are {unit}: {better} is better.")],
        (Some(unit), false) => vec![format!("Data are {unit}.")],
        (None, true) => vec![format!("In every row {better} is better.")],
        (None, false) => Vec::new(),
    };
    let mut add = |text: &str| parts.extend(notes.once(text));
    add(match (shape.is_article, filled.number) {
        (true, 1) => "Values are means of all runs.",
        (true, _) => "Values of Tables 2 to 7 are geometric means of all runs.",
        (false, _) => "Values are geometric means of all runs.",
    });
    if filled.lines.iter().any(|line| line.row.scale == Scale::Raw) {
        add("A row that can be 0 is compared by difference and takes no part in the mean.");
    }
    let has_suite = shape.others.iter().any(|arm| suite(study, filled, *arm).is_some());
    if has_suite && filled.lines.len() > 1 && !shape.is_article {
        add("The interval of the mean is that of the suite, by block.");
    }
    if shape.printed && filled.sizes {
        add(sizes_note(filled));
    }
    if let Some(way) = way(filled).filter(|_| study.summary.origin != Origin::Simulated) {
        add(&way);
    }
    parts.extend(notes.text());
    parts.join(" ")
}

/// Parameters of LMbench's rows that decide what a call costs, and so what it compares with.
const WAYS: [&str; 4] = ["call", "looked_at", "parent", "program"];

/// Which way the rows went; `None` for tables without such rows, and for studies of before the parameters.
fn way(filled: &Filled<'_>) -> Option<String> {
    let of_row = |line: &Line<'_>| -> Vec<String> {
        let given = |name: &&str| Some(format!("{name}={}", line.row.params.get(*name)?));
        WAYS.iter().filter_map(given).collect()
    };
    let ways: BTreeSet<String> = filled.lines.iter().flat_map(of_row).collect();
    let ways = Vec::from_iter(ways).join(", ");
    (filled.number == 1 && !ways.is_empty()).then(|| format!("Rows ran with {ways}."))
}

fn sizes_note(filled: &Filled<'_>) -> &'static str {
    match filled.number {
        4 => {
            "The article speaks of messages sent; its program counts messages sent and received, as \
             here."
        }
        5 | 6 => {
            "The article's program credits 132 MB for each client's pass; here the bytes moved are \
             counted."
        }
        _ => "",
    }
}

/// Release of the arm's kernel and name of the arm, as the article has it.
fn arm_head(study: &Study<'_>, arm: usize) -> String {
    let name = words::arm_name(study, arm);
    let label = study.plan.arms.get(arm).map(|arm| arm.label.as_str());
    let moments = study.environment.moments.values();
    let mut releases = moments
        .filter(|moment| Some(moment.arm.as_str()) == label)
        .filter_map(|moment| study.environment.facts.get(&moment.facts)?.get("kernel.release"));
    let Some(first) = releases.next() else { return name };
    if releases.any(|other| other != first) {
        return name;
    }
    let short = first.split('-').next().unwrap_or_default();
    format!("{} {name}", words::shorten(&words::clean(short), 12))
}

fn whole_percent(base: f64, value: f64, better: Better) -> Option<String> {
    let percent = geometric::speed_up_percent(base, value, better)?;
    Some(format!("{percent} %").replace('-', "−"))
}

pub(super) fn verdict(study: &Study<'_>, arm: usize, line: &Line<'_>) -> Option<String> {
    let effect = find(study, arm, &line.row.id)?;
    match effect.verdict {
        Some(verdict) => Some(words::verdict(study, &effect.arm, verdict)),
        None if effect.ratio.is_none() && effect.failed > 0 => Some("FAILED".to_owned()),
        None => words::not_run(study, effect),
    }
}

/// The suite of just these lines, in an arm.
fn suite<'a>(study: &Study<'a>, filled: &Filled<'_>, arm: usize) -> Option<&'a SuiteEffect> {
    let family = &filled.lines[0].row.family;
    let rows = study.plan.rows.iter().filter(|row| row.family == *family).count();
    let label = study.plan.arms[arm].label.as_str();
    let mut suites = study.summary.suites.iter().filter(|_| rows == filled.lines.len());
    suites.find(|suite| suite.suite == *family && suite.arm == label)
}

pub(super) fn find<'a>(study: &Study<'a>, arm: usize, row: &str) -> Option<&'a RowEffect> {
    let label = study.plan.arms[arm].label.as_str();
    study.summary.rows.iter().find(|effect| effect.row == row && effect.arm == label)
}

pub(super) fn value(study: &Study<'_>, arm: usize, row: &str) -> Option<f64> {
    if arm == study.plan.reference_index() {
        let mut effects = study.summary.rows.iter().filter(|effect| effect.row == row);
        return effects.find_map(|effect| effect.value_reference);
    }
    find(study, arm, row)?.value_arm
}

/// Marks of footnotes; more kinds of remark than these there are not.
const MARKS: [&str; 4] = ["¹", "²", "³", "⁴"];

/// What is said below the tables of a section: footnotes, whose marks are the same in all of them, and
/// what was said before.
#[derive(Default)]
pub(super) struct Footnotes {
    marked: Vec<String>,
    said: BTreeSet<String>,
}

impl Footnotes {
    fn marked(&mut self, text: String, remark: Option<&Remark>) -> String {
        let Some(remark) = remark else { return text };
        let sentence = remark.sentence();
        let place = self.marked.iter().position(|known| *known == sentence).unwrap_or_else(|| {
            self.marked.push(sentence);
            self.marked.len() - 1
        });
        format!("{text} {}", MARKS.get(place).unwrap_or(&"*"))
    }

    /// The sentence, unless it is empty or was said of a table before.
    pub(super) fn once(&mut self, text: &str) -> Option<String> {
        (!text.is_empty() && self.said.insert(text.to_owned())).then(|| text.to_owned())
    }

    fn text(&mut self) -> Vec<String> {
        let marked = self.marked.iter().zip(MARKS.iter().chain(std::iter::repeat(&"*")));
        let notes: Vec<String> = marked.map(|(text, mark)| format!("{mark} {text}")).collect();
        notes.iter().filter_map(|note| self.once(note)).collect()
    }
}

pub(super) fn figure(study: &Study<'_>, table: &Filled<'_>) -> Option<Block> {
    let reference = study.plan.reference_index();
    let arms = 0..study.plan.arms.len();
    let unit = words::clean(&table.lines.first()?.row.unit);
    let bar = |arm: usize, line: &Line<'_>| {
        let value = value(study, arm, &line.row.id);
        let name = words::arm_name(study, arm);
        // The comparison is paired, so the interval that matters is that of the ratio.
        let interval = find(study, arm, &line.row.id)
            .filter(|effect| arm != reference && effect.better == Better::Higher)
            .and_then(|effect| Some((effect.value_reference?, effect.low?, effect.high?)))
            .map(|(base, low, high)| (base * low, base * high));
        let title = format!("{name}: {} {unit}", number::value_or_none(value));
        Bar { arm, value, interval, title }
    };
    let groups = table.lines.iter().map(|line| BarGroup {
        label: line.label.clone(),
        bars: arms.clone().map(|arm| bar(arm, line)).collect(),
    });
    let mut caption = format!("Mean throughput for each number of {}.", table.counted);
    let mut bars = table.lines.iter().flat_map(|line| arms.clone().map(|arm| bar(arm, line)));
    if bars.any(|bar| bar.interval.is_some()) {
        let against = words::arm_name(study, reference);
        caption.push_str(&format!(
            " Error bars are the {} of the paired ratio to {against}, drawn on its mean.",
            effects::interval_name(study)
        ));
    }
    let plot = Plot::Bars(Bars {
        unit: unit.clone(),
        group: table.counted.to_owned(),
        groups: groups.collect(),
    });
    let title = format!("Figure {}. {}", table.figure?, table.title);
    Some(Figure::block(title, caption, plot))
}
