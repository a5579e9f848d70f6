//! What must hold between the figures of a table, and whether it does.
//!
//! Every printed figure is an interval ([`Figure::interval`]). A relation holds if the values that
//! its sources can stand for give a value that its result can stand for, all rounded; failing that,
//! if it does so with some of them truncated.

use super::figure::{Figure, Interval, Precision};
use super::table::Place;

/// A cell with a figure, by its index in [`Model::cells`].
pub(super) type CellId = usize;

/// How a column follows from two others, `first` being the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Formula {
    /// 100 · (second/first − 1): of rates, or a plain change.
    Gain,
    /// 100 · (first/second − 1): of times, the gain in speed.
    GainOfTimes,
    /// 100 · (1 − second/first): of times, the share saved.
    Saved,
    /// second/first.
    Ratio,
    /// first/second.
    InverseRatio,
}

impl Formula {
    fn value(self, first: f64, second: f64) -> f64 {
        match self {
            Self::Gain => 100.0 * (second / first - 1.0),
            Self::GainOfTimes => 100.0 * (first / second - 1.0),
            Self::Saved => 100.0 * (1.0 - second / first),
            Self::Ratio => second / first,
            Self::InverseRatio => first / second,
        }
    }

    /// Every formula is monotone in both sources: its extremes lie at the corners.
    fn interval(self, first: Interval, second: Interval) -> Interval {
        let corners = [
            self.value(first.low, second.low),
            self.value(first.low, second.high),
            self.value(first.high, second.low),
            self.value(first.high, second.high),
        ];
        Interval {
            low: corners.into_iter().fold(f64::INFINITY, f64::min),
            high: corners.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// The formula in the words of the table's headers.
    pub(super) fn describe(self, first: &str, second: &str) -> String {
        match self {
            Self::Gain => format!("100 × ({second} / {first} − 1)"),
            Self::GainOfTimes => format!("100 × ({first} / {second} − 1)"),
            Self::Saved => format!("100 × (1 − {second} / {first})"),
            Self::Ratio => format!("{second} / {first}"),
            Self::InverseRatio => format!("{first} / {second}"),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Relation {
    /// A percentage or a ratio of two cells.
    Derived { formula: Formula, first: CellId, second: CellId, result: CellId },
    /// A geometric mean; `log_sums` of the members' ends, rounded and truncated.
    GeometricMean { members: Vec<CellId>, log_sums: [Interval; 2], result: CellId },
    /// Counts that add up.
    Sum { parts: Vec<CellId>, result: CellId },
    /// A count that is a fixed multiple of another.
    Product { source: CellId, factor: f64, result: CellId },
    /// A single-threaded process cannot use more CPU time than passes: user + system ≤ real.
    CpuTime { user: CellId, system: CellId, real: CellId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// With every figure rounded to the nearest.
    ByRounding,
    /// Only with some figure truncated.
    ByTruncation,
    No,
}

/// A figure tried in place of a printed one.
pub(super) type Trial<'a> = Option<(CellId, &'a Figure)>;

/// The figures of a table and what must hold between them.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) cells: Vec<(Place, Figure)>,
    pub(super) relations: Vec<Relation>,
    /// For each cell, the relations it enters.
    entered: Vec<Vec<usize>>,
}

impl Relation {
    pub(super) fn geometric_mean(model: &Model, members: Vec<CellId>, result: CellId) -> Self {
        let log_sums = [Precision::Rounded, Precision::Truncated].map(|precision| {
            members.iter().fold(Interval { low: 0.0, high: 0.0 }, |sum, &member| {
                let logs = log_interval(&model.cells[member].1, precision);
                Interval { low: sum.low + logs.low, high: sum.high + logs.high }
            })
        });
        Self::GeometricMean { members, log_sums, result }
    }

    pub(super) fn result(&self) -> CellId {
        match *self {
            Self::Derived { result, .. }
            | Self::GeometricMean { result, .. }
            | Self::Sum { result, .. }
            | Self::Product { result, .. } => result,
            Self::CpuTime { real, .. } => real,
        }
    }

    /// Every cell that enters, the result last.
    pub(super) fn cells(&self) -> Vec<CellId> {
        let mut cells = match self {
            Self::Derived { first, second, .. } => vec![*first, *second],
            Self::GeometricMean { members, .. } => members.clone(),
            Self::Sum { parts, .. } => parts.clone(),
            Self::Product { source, .. } => vec![*source],
            Self::CpuTime { user, system, .. } => vec![*user, *system],
        };
        cells.push(self.result());
        cells
    }

    /// The stable word for programs.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Derived { formula: Formula::Ratio | Formula::InverseRatio, .. } => "ratio",
            Self::Derived { .. } => "speed-up",
            Self::GeometricMean { .. } => "geometric-mean",
            Self::Sum { .. } => "sum",
            Self::Product { .. } => "product",
            Self::CpuTime { .. } => "cpu-time",
        }
    }
}

impl Model {
    pub(super) fn add_cell(&mut self, place: Place, figure: Figure) -> CellId {
        self.cells.push((place, figure));
        self.entered.push(Vec::new());
        self.cells.len() - 1
    }

    pub(super) fn add(&mut self, relation: Relation) {
        for cell in relation.cells() {
            self.entered[cell].push(self.relations.len());
        }
        self.relations.push(relation);
    }

    /// Puts another figure into a cell for good.
    pub(super) fn replace(&mut self, cell: CellId, figure: Figure) {
        self.cells[cell].1 = figure;
        for entered in self.entered[cell].clone() {
            if let Relation::GeometricMean { members, result, .. } = &self.relations[entered] {
                let fresh = Relation::geometric_mean(self, members.clone(), *result);
                self.relations[entered] = fresh;
            }
        }
    }

    pub(super) fn entered_by(&self, cell: CellId) -> &[usize] {
        &self.entered[cell]
    }

    /// Whether a relation holds, with a trial figure in place.
    pub(super) fn holds(&self, relation: &Relation, trial: Trial<'_>) -> Holds {
        use Precision::{Rounded, Truncated};
        let result = self.figure(relation.result(), trial);
        let meets = |sources, output| {
            self.interval(relation, trial, sources).meets(self.printed(relation, result, output))
        };
        if meets(Rounded, Rounded) {
            Holds::ByRounding
        } else if [(Rounded, Truncated), (Truncated, Rounded), (Truncated, Truncated)]
            .into_iter()
            .any(|(sources, output)| meets(sources, output))
        {
            Holds::ByTruncation
        } else {
            Holds::No
        }
    }

    /// The result as computed from the printed sources.
    pub(super) fn recomputed(&self, relation: &Relation, trial: Trial<'_>) -> f64 {
        let value = |cell: CellId| self.figure(cell, trial).value();
        match relation {
            Relation::Derived { formula, first, second, .. } => {
                formula.value(value(*first), value(*second))
            }
            Relation::GeometricMean { members, .. } => {
                let sum: f64 = members.iter().map(|&member| libm::log(value(member))).sum();
                libm::exp(sum / members.len() as f64)
            }
            Relation::Sum { parts, .. } => parts.iter().map(|&part| value(part)).sum(),
            Relation::Product { source, factor, .. } => value(*source) * factor,
            Relation::CpuTime { user, system, .. } => value(*user) + value(*system),
        }
    }

    /// A cell's figure, or the one tried in its place.
    pub(super) fn figure<'a>(&'a self, cell: CellId, trial: Trial<'a>) -> &'a Figure {
        match trial {
            Some((tried, figure)) if tried == cell => figure,
            _ => &self.cells[cell].1,
        }
    }

    /// What the result can stand for. Counts are exact.
    fn printed(&self, relation: &Relation, result: &Figure, precision: Precision) -> Interval {
        match relation {
            Relation::Sum { .. } | Relation::Product { .. } => count_interval(result, precision),
            _ => result.interval(precision),
        }
    }

    fn interval(&self, relation: &Relation, trial: Trial<'_>, precision: Precision) -> Interval {
        let of = |cell: CellId| self.figure(cell, trial).interval(precision);
        let count = |cell: CellId| count_interval(self.figure(cell, trial), precision);
        match relation {
            Relation::Derived { formula, first, second, .. } => {
                formula.interval(of(*first), of(*second))
            }
            Relation::GeometricMean { members, log_sums, result } => {
                let mut sum = log_sums[usize::from(precision == Precision::Truncated)];
                // Only one figure differs from the stored sum, so no member is visited.
                if let Some((cell, figure)) = trial.filter(|(cell, _)| cell != result) {
                    let (old, new) = (&self.cells[cell].1, figure);
                    let (old, new) = (log_interval(old, precision), log_interval(new, precision));
                    sum.low += new.low - old.low;
                    sum.high += new.high - old.high;
                }
                let root = |sum: f64| libm::exp(sum / members.len() as f64);
                Interval { low: root(sum.low), high: root(sum.high) }
            }
            Relation::Sum { parts, .. } => {
                parts.iter().fold(Interval { low: 0.0, high: 0.0 }, |sum, &part| {
                    let part = count(part);
                    Interval { low: sum.low + part.low, high: sum.high + part.high }
                })
            }
            Relation::Product { source, factor, .. } => {
                let source = count(*source);
                Interval { low: source.low * factor, high: source.high * factor }
            }
            Relation::CpuTime { user, system, .. } => {
                Interval { low: of(*user).low + of(*system).low, high: f64::INFINITY }
            }
        }
    }
}

fn count_interval(figure: &Figure, precision: Precision) -> Interval {
    if figure.decimals() == 0 {
        return Interval { low: figure.value(), high: figure.value() };
    }
    figure.interval(precision)
}

fn log_interval(figure: &Figure, precision: Precision) -> Interval {
    let ends = figure.interval(precision);
    Interval { low: libm::log(ends.low), high: libm::log(ends.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(formula: Formula, texts: [&str; 3]) -> Holds {
        let mut model = Model::default();
        let [first, second, result] = [0, 1, 2].map(|column| {
            model.add_cell((0, column), Figure::parse(texts[column]).expect(texts[column]))
        });
        let relation = Relation::Derived { formula, first, second, result };
        model.holds(&relation, None)
    }

    #[test]
    fn a_percentage_holds_by_rounding_by_truncation_or_not() {
        assert_eq!(derived(Formula::Gain, ["137792", "207788", "51"]), Holds::ByRounding);
        assert_eq!(derived(Formula::Gain, ["144454", "213509", "47"]), Holds::ByTruncation);
        assert_eq!(derived(Formula::Gain, ["144454", "231509", "47"]), Holds::No);
        assert_eq!(derived(Formula::GainOfTimes, ["581.55", "617.11", "-6"]), Holds::ByRounding);
        assert_eq!(derived(Formula::Saved, ["10.0", "5.0", "50"]), Holds::ByRounding);
        assert_eq!(derived(Formula::InverseRatio, ["10.0", "5.0", "2.0"]), Holds::ByRounding);
        assert_eq!(derived(Formula::Ratio, ["10.0", "5.0", "2.0"]), Holds::No);
    }

    #[test]
    fn the_short_cut_of_a_trial_gives_the_mean_of_the_whole() {
        let mut model = Model::default();
        let texts = ["137792", "138832", "144454", "137745", "139678"];
        let cells: Vec<CellId> = texts
            .iter()
            .enumerate()
            .map(|(row, text)| model.add_cell((row, 0), Figure::parse(text).expect(text)))
            .collect();
        let relation = Relation::geometric_mean(&model, cells[..4].to_vec(), cells[4]);
        assert_eq!(model.holds(&relation, None), Holds::ByRounding);
        let other = Figure::parse("144544").expect("figure");
        assert_eq!(model.holds(&relation, Some((cells[2], &other))), Holds::No);
        let mean = model.recomputed(&relation, Some((cells[2], &other)));
        let ends = model.interval(&relation, Some((cells[2], &other)), Precision::Rounded);
        assert!(ends.low < mean && mean < ends.high && ends.high - ends.low < 1.01);
    }

    #[test]
    fn counts_are_exact_and_times_are_not() {
        let mut model = Model::default();
        let cell = |model: &mut Model, text: &str| {
            model.add_cell((0, 0), Figure::parse(text).expect(text))
        };
        let [rooms, connections] = ["20", "401"].map(|text| cell(&mut model, text));
        let product = Relation::Product { source: rooms, factor: 20.0, result: connections };
        assert_eq!(model.holds(&product, None), Holds::No);
        let [user, system, real] = ["10.05", "0.24", "10.28"].map(|text| cell(&mut model, text));
        let time = Relation::CpuTime { user, system, real };
        assert_eq!(model.holds(&time, None), Holds::ByRounding);
        let less = Figure::parse("10.18").expect("figure");
        assert_eq!(model.holds(&time, Some((real, &less))), Holds::No);
    }
}
