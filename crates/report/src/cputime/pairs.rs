//! Commands beside each other: who may share a core, and what it costs to place them otherwise.

use super::estimate;
use crate::brief::Brief;
use crate::document::{Block, Column, ColumnOf, Figure, Outline, Table};
use crate::number;
use crate::plot::{Heat, HeatCell, HeatRow, Plot};
use crate::words::{clean, shell_line, shorten};
use coretwin_base::account::cputime::Relation;
use coretwin_base::account::cputime::pairs::{Objective, PairSlowdown, Pairs, Placement};
use coretwin_base::account::cputime::result::{CputimeSummary, Estimate};
use coretwin_stats::confidence;

/// Commands in a table of all beside all; more are in the list of pairs.
const MATRIX_MAX: usize = 12;

pub(super) const METHOD: [&str; 4] = [
    "A command is measured once, while another one is started again and again until it has ended.",
    "The placement is the best of all (exact). Regret: what it costs more than the best one at most, if \
     every slowdown is within its interval.",
    "Random: the mean of random placements, which is what a scheduler that knows no slowdowns gives over \
     time. The gain over it is counted on blocks that the placement was not chosen from.",
    "Slowdowns are of two commands on an idle machine: what all commands do to shared caches, memory and \
     clock together comes on top.",
];

pub(super) fn headline(pairs: &Pairs) -> Option<String> {
    let first = pairs.placement.as_ref()?.pairs.iter().find_map(|(a, b)| Some((*a, (*b)?)))?;
    let found = slowdowns(pairs, first.0, first.1)?;
    let name = |at| shorten(&name(pairs, at), 24);
    Some(format!(
        "{} beside {}: {:.2} × the time alone.",
        name(first.0),
        name(first.1),
        found.0.value
    ))
}

/// The word that the answer begins with, and the answer.
pub(super) fn answer(summary: &CputimeSummary, pairs: &Pairs) -> (&'static str, String) {
    let cpus = &summary.cpus;
    let Some(placement) = &pairs.placement else {
        let why = "not every pair has a block of both sides that counts";
        return ("NO RESULT", format!("NO RESULT: {why}."));
    };
    let who = placed(pairs, placement).join(", ");
    match cpus.relation {
        Relation::Separate => {
            return (
                "NOT SMT",
                format!(
                    "NOT SMT: no siblings are visible, so who may share a core is not known. Taking \
                     turns on CPU {}, this costs least: {who}.",
                    cpus.work.0
                ),
            );
        }
        Relation::Named => {
            return (
                "NOT SMT",
                format!(
                    "NOT SMT: CPUs {} and {} share no known core. On these two this costs least: {who}.",
                    cpus.work.0, cpus.neighbour.0
                ),
            );
        }
        Relation::Siblings | Relation::Probed => {}
    }
    let more = |ratio: f64| 100.0 * (ratio - 1.0);
    let Some(gain) = placement.gain else {
        return ("INTERIM", format!("INTERIM: too few blocks to tell it from chance: {who}."));
    };
    match (gain.low, gain.high) {
        (Some(low), _) if low > 1.0 => (
            "PLACE",
            format!("PLACE {who}: random placements cost {:.1} % more.", more(gain.value)),
        ),
        (_, Some(high)) if high < 1.0 => (
            "RANDOM",
            format!(
                "RANDOM placements cost {:.1} % less than those chosen from these slowdowns.",
                -more(gain.value)
            ),
        ),
        _ => (
            "ANY",
            "ANY placement may be as good: the intervals do not tell them apart.".to_owned(),
        ),
    }
}

pub(super) fn brief(summary: &CputimeSummary, pairs: &Pairs) -> Brief {
    if summary.too_busy.is_some() {
        let said = "TOO BUSY to say: others disturbed every block, so nothing was kept.";
        return Brief::new("TOO BUSY", said);
    }
    let (word, said) = answer(summary, pairs);
    let brief = Brief::new(word, said);
    let Some(placement) = &pairs.placement else { return brief };
    let rivals = &placement.rivals;
    let gain = placement.gain.map(|gain| format!("random over this {}", estimate(Some(gain))));
    let regret = placement.regret.map(|regret| format!("regret at most {regret:.2}"));
    brief.line("interval", gain.into_iter().chain(regret)).line(
        "cost",
        [
            format!("{} {:.2}", objective(placement.objective), placement.cost),
            format!("random {:.2}", rivals.random),
            format!("in order {:.2}", rivals.in_order),
            format!("at worst {:.2}", rivals.worst),
        ],
    )
}

pub(super) fn add_to(outline: &mut Outline, summary: &CputimeSummary, pairs: &Pairs) {
    if let Some(placement) = &pairs.placement {
        outline.add("placement", "Placement", placement_blocks(summary, pairs, placement));
    }
    let mut blocks = vec![Block::Table(list(pairs))];
    if (2..=MATRIX_MAX).contains(&pairs.commands.len()) {
        blocks.insert(0, Block::Table(matrix(pairs)));
    }
    blocks.push(figure(pairs));
    outline.add("pairs", "Each beside each", blocks);
}

fn objective(objective: Objective) -> &'static str {
    match objective {
        Objective::Sum => "sum of slowdowns",
        Objective::Worst => "worst slowdown",
    }
}

fn name(pairs: &Pairs, at: usize) -> String {
    pairs.commands.get(at).map_or_else(String::new, |command| clean(&command.name))
}

/// `a with b`, and `c alone`.
fn placed(pairs: &Pairs, placement: &Placement) -> Vec<String> {
    let name = |at| name(pairs, at);
    let one = |(a, b): &(usize, Option<usize>)| match b {
        Some(b) => format!("{} with {}", name(*a), name(*b)),
        None => format!("{} alone", name(*a)),
    };
    placement.pairs.iter().map(one).collect()
}

/// Of a beside b, and of b beside a.
fn slowdowns(pairs: &Pairs, a: usize, b: usize) -> Option<(Estimate, Estimate)> {
    let found = pairs.pairs.iter().find(|it| (it.a, it.b) == (a.min(b), a.max(b)))?;
    let (one, other) = sides(found);
    Some(if a < b { (one, other) } else { (other, one) })
}

fn sides(it: &PairSlowdown) -> (Estimate, Estimate) {
    (
        Estimate { value: it.slowdown_a, low: it.low_a, high: it.high_a },
        Estimate { value: it.slowdown_b, low: it.low_b, high: it.high_b },
    )
}

fn placement_blocks(summary: &CputimeSummary, pairs: &Pairs, placement: &Placement) -> Vec<Block> {
    let rivals = &placement.rivals;
    let names = placed(pairs, placement);
    let seats = placement.pairs.iter().zip(&names).enumerate().map(|(at, ((a, b), name))| {
        let found = b.and_then(|b| slowdowns(pairs, *a, b));
        let cpus = placement.cores.get(at).map(ToString::to_string);
        vec![
            name.clone(),
            estimate(found.map(|found| found.0)),
            estimate(found.map(|found| found.1)),
            number::or_none(cpus),
        ]
    });
    let columns = Column::list(["Together", "#of the first", "#of the second", "CPUs"]);
    let who = Table::new("Slowdowns beside each other", columns, seats.collect());
    let regret = match placement.regret {
        Some(regret) => format!("Regret at most {regret:.3}. "),
        None => String::new(),
    };
    let gain = match placement.gain {
        Some(gain) => {
            format!("On blocks it was not chosen from, random over it: {}.", estimate(Some(gain)))
        }
        None => "Too few blocks to try it on one that it was not chosen from.".to_owned(),
    };
    let cost = |what: &str, cost: f64| {
        let over = 100.0 * (cost / placement.cost - 1.0);
        vec![what.to_owned(), format!("{cost:.3}"), format!("{over:+.1} %").replace('-', "−")]
    };
    let rows = vec![
        cost("this one", placement.cost),
        cost("random: a scheduler that knows no slowdowns", rivals.random),
        cost("in the order typed", rivals.in_order),
        cost("the worst one", rivals.worst),
    ];
    let columns = vec![
        Column::words("Placement"),
        Column::number(objective(placement.objective)),
        Column::number("over this one"),
    ];
    let costs = Table::new("What placements cost", columns, rows).note(regret + &gain);
    let mut blocks = vec![Block::Table(who), Block::Table(costs)];
    match placement.cores.is_empty() {
        true if summary.cpus.relation.is_smt() => blocks.push(Block::Text(
            "The kernel does not tell of enough cores with siblings to place them all.".to_owned(),
        )),
        true => {}
        false => blocks.push(Block::Code(lines(pairs, placement))),
    }
    blocks
}

/// `taskset` lines, and the CPUs of each core as systemd and cpusets take them.
fn lines(pairs: &Pairs, placement: &Placement) -> Vec<String> {
    let mut lines = Vec::new();
    for ((a, b), cpus) in placement.pairs.iter().zip(&placement.cores) {
        let each = [Some(*a), *b].into_iter().flatten().filter_map(|at| pairs.commands.get(at));
        for (command, cpu) in each.zip(cpus.iter()) {
            lines.push(format!("taskset -c {} {}", cpu.0, clean(&shell_line(&command.argv))));
        }
    }
    for (cpus, name) in placement.cores.iter().zip(placed(pairs, placement)) {
        lines.push(format!("AllowedCPUs={cpus}   # {name}; of a cpuset: cpuset.cpus"));
    }
    lines
}

fn matrix(pairs: &Pairs) -> Table {
    let count = pairs.commands.len();
    let columns = (0..count).map(|at| Column::number(shorten(&name(pairs, at), 12)));
    let columns = std::iter::once(Column::words("Slowdown of, beside")).chain(columns).collect();
    let rows = (0..count).map(|a| {
        let cell =
            |b| number::or_none(slowdowns(pairs, a, b).map(|of| format!("{:.3}", of.0.value)));
        std::iter::once(name(pairs, a)).chain((0..count).map(cell)).collect()
    });
    Table::new("Time beside the column's command over time alone", columns, rows.collect())
}

fn list(pairs: &Pairs) -> Table {
    let columns: [ColumnOf<'_, PairSlowdown>; 5] = [
        (Column::words("First"), &|it| name(pairs, it.a)),
        (Column::words("Second"), &|it| name(pairs, it.b)),
        (Column::number("first beside second"), &|it| estimate(Some(sides(it).0))),
        (Column::number("second beside first"), &|it| estimate(Some(sides(it).1))),
        (Column::number("both, of one alone"), &|it| estimate(Some(it.core_yield))),
    ];
    Table::of("Both sides of each pair", &pairs.pairs, columns).note(format!(
        "In brackets: {} over blocks. Both: progress of each over its own alone, summed; below 1 they \
         had better run one after the other.",
        confidence::interval()
    ))
}

fn figure(pairs: &Pairs) -> Block {
    let count = pairs.commands.len();
    let cell = |a: usize, b: usize| {
        let of = slowdowns(pairs, a, b)?.0;
        let decided = of.low.is_some_and(|low| low > 1.0) || of.high.is_some_and(|high| high < 1.0);
        Some(HeatCell {
            ratio: 1.0 / of.value,
            decided,
            text: format!("{:.2}", of.value),
            title: format!("{} beside {}: {}", name(pairs, a), name(pairs, b), estimate(Some(of))),
        })
    };
    let rows = (0..count).map(|a| HeatRow {
        label: name(pairs, a),
        cells: (0..count).map(|b| cell(a, b)).collect(),
    });
    let columns = (0..count).map(|at| name(pairs, at)).collect();
    let plot = Plot::Heat(Heat { columns, rows: rows.collect() });
    let caption =
        "The row's command beside the column's; without colour where the interval holds 1.";
    Figure::block("Time beside another, over time alone".to_owned(), caption, plot)
}
