//! What figures show, as data; `svg` draws it, `text` writes what it can of it.

use crate::number;
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(crate) enum Plot {
    Forest(Forest),
    RunOrder(RunOrder),
    Distribution(Distribution),
    Bars(Bars),
    Curve(Curve),
    Heat(Heat),
    Load(Load),
}

/// What a figure draws beside the marks of its arms; its legend names those that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sign {
    /// A reading that takes no part in the comparison.
    NotAnalysed,
    Failed,
    Chosen,
}

impl Plot {
    pub(crate) fn arms(&self) -> BTreeSet<usize> {
        match self {
            Self::Forest(plot) => {
                plot.lines().filter(|line| line.ratio.is_some()).map(|line| line.arm).collect()
            }
            Self::RunOrder(plot) => plot.dots.iter().map(|dot| dot.arm).collect(),
            Self::Distribution(plot) => plot.series.iter().map(|series| series.arm).collect(),
            Self::Bars(plot) => plot.bars().map(|bar| bar.arm).collect(),
            Self::Curve(plot) => plot.lines.iter().map(|line| line.arm).collect(),
            Self::Heat(_) => BTreeSet::new(),
            Self::Load(plot) => plot.lines.iter().map(|line| line.arm).collect(),
        }
    }

    pub(crate) fn signs(&self) -> BTreeSet<Sign> {
        let mut signs = BTreeSet::new();
        let mut add = |sign: Sign, is_there: bool| is_there.then(|| signs.insert(sign));
        match self {
            Self::RunOrder(plot) => {
                let left_out = || plot.dots.iter().filter(|dot| !dot.analysed);
                add(Sign::NotAnalysed, left_out().any(|dot| dot.value.is_some()));
                add(Sign::Failed, left_out().any(|dot| dot.value.is_none()));
            }
            Self::Bars(plot) => _ = add(Sign::Failed, plot.bars().any(|bar| bar.value.is_none())),
            Self::Curve(plot) => {
                let chosen = |line: &CurveLine| line.means.iter().any(|m| line.chosen == Some(m.0));
                add(Sign::Chosen, plot.lines.iter().any(chosen));
            }
            Self::Forest(_) | Self::Distribution(_) | Self::Heat(_) | Self::Load(_) => {}
        }
        signs
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Forest {
    pub(crate) groups: Vec<ForestGroup>,
    /// Effects smaller than this share are not material.
    pub(crate) margin: f64,
}

/// A suite or a row, with a line for each arm.
#[derive(Debug, Clone)]
pub(crate) struct ForestGroup {
    pub(crate) label: String,
    /// Whether it is a suite, drawn as the primary result.
    pub(crate) primary: bool,
    pub(crate) lines: Vec<ForestLine>,
}

#[derive(Debug, Clone)]
pub(crate) struct ForestLine {
    /// Index of the arm in the plan, and its name.
    pub(crate) arm: usize,
    pub(crate) name: String,
    /// Ratio; above 1 is better. None: not compared.
    pub(crate) ratio: Option<f64>,
    pub(crate) interval: Option<(f64, f64)>,
    /// Where the next machine is expected, drawn thin behind the interval.
    pub(crate) next: Option<(f64, f64)>,
    /// All of it, or its lack, in words.
    pub(crate) text: String,
}

impl ForestLine {
    pub(crate) fn new(
        arm: usize,
        name: String,
        ratio: Option<f64>,
        interval: Option<(f64, f64)>,
    ) -> Self {
        let text = match (ratio.map(number::effect), interval) {
            (Some(effect), Some((low, high))) => {
                format!("{effect}  ({})", number::interval(low, high))
            }
            (Some(effect), None) => effect,
            (None, _) => "no result".to_owned(),
        };
        Self { arm, name, ratio, interval, next: None, text }
    }
}

impl Forest {
    pub(crate) fn lines(&self) -> impl Iterator<Item = &ForestLine> {
        self.groups.iter().flat_map(|group| &group.lines)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct RunOrder {
    pub(crate) unit: String,
    /// Length of the axis: number of readings of the row.
    pub(crate) readings: u32,
    pub(crate) dots: Vec<Dot>,
}

#[derive(Debug, Clone)]
pub(crate) struct Dot {
    pub(crate) arm: usize,
    pub(crate) order: u32,
    /// None: the run failed.
    pub(crate) value: Option<f64>,
    pub(crate) analysed: bool,
    /// What a pointer resting on it shows.
    pub(crate) title: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Distribution {
    pub(crate) unit: String,
    /// Arms that have readings.
    pub(crate) series: Vec<Sorted>,
}

/// One arm's values in order of size, evenly thinned.
#[derive(Debug, Clone)]
pub(crate) struct Sorted {
    pub(crate) arm: usize,
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Bars {
    pub(crate) unit: String,
    /// What the groups are, like `chat rooms`.
    pub(crate) group: String,
    pub(crate) groups: Vec<BarGroup>,
}

impl Bars {
    pub(crate) fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct BarGroup {
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
}

#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) arm: usize,
    pub(crate) value: Option<f64>,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) title: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) unit: String,
    /// What the count is, like `threads`.
    pub(crate) count: String,
    pub(crate) lines: Vec<CurveLine>,
}

#[derive(Debug, Clone)]
pub(crate) struct CurveLine {
    pub(crate) arm: usize,
    /// Count and mean, in order of count.
    pub(crate) means: Vec<(u32, f64)>,
    pub(crate) dots: Vec<(u32, f64)>,
    pub(crate) chosen: Option<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct Heat {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<HeatRow>,
}

#[derive(Debug, Clone)]
pub(crate) struct HeatRow {
    pub(crate) label: String,
    /// By column; `None` where nothing was measured.
    pub(crate) cells: Vec<Option<HeatCell>>,
}

#[derive(Debug, Clone)]
pub(crate) struct HeatCell {
    /// Ratio; above 1 is better.
    pub(crate) ratio: f64,
    /// Whether the data decide; else it is drawn without colour.
    pub(crate) decided: bool,
    /// What stands in it, and what a pointer resting on it shows.
    pub(crate) text: String,
    pub(crate) title: String,
}

/// Latency over the rate of requests.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Name of the latency, like `p99`.
    pub(crate) unit: String,
    pub(crate) rate: String,
    pub(crate) lines: Vec<LoadLine>,
    /// In seconds, and in words.
    pub(crate) objective: Option<(f64, String)>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoadLine {
    pub(crate) arm: usize,
    /// In order of rate.
    pub(crate) points: Vec<LoadMark>,
    /// Rate at which it meets the objective.
    pub(crate) capacity: Option<f64>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoadMark {
    pub(crate) rate: f64,
    pub(crate) latency_s: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) title: String,
}
