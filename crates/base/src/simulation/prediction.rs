//! What a simulated study predicted of SMT, kernel by kernel, beside what the article printed.
//!
//! A pair is the boot without SMT and the one with it, under one policy. Speed-ups are shares: 0.28 is
//! 28 %, and better with SMT is above 0. Errors are in percentage points, prediction less article.

use serde::{Deserialize, Serialize};

/// What a simulated study predicts of SMT, kernel by kernel, beside what the article printed.
/// Speed-ups are shares (0.28 is 28 %), better with SMT above 0; errors are in percentage points,
/// prediction less article.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    pub gains: Vec<Gain>,
    pub rows: Vec<PredictedRow>,
    pub scores: Vec<Score>,
    pub aims: Vec<Aim>,
    pub samples: Vec<Sample>,
}

/// How much of a family's load was simulated, and what the seed moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub family: String,
    /// The smallest part of its load that a run simulated; 1 is all of it.
    pub fraction: f64,
    /// Fewest and most runs, each with a seed of its own, whose mean a reading is.
    #[serde(default)]
    pub runs: [u32; 2],
    /// What another seed moves a printed value by: the standard error of the mean of a row's readings,
    /// from the runs within them where there are several, over that mean; the largest of any row and arm.
    pub spread: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    pub family: String,
    pub scheduler: String,
    pub arm_off: String,
    pub arm_on: String,
    /// Speed-up of the family: its rows weigh equally.
    pub speed_up: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Throughput of a core with two busy siblings over that with one, less 1, in the runs.
    pub processor: Option<f64>,
    /// The article's speed-up of the family on that kernel: of its geometric means.
    pub article: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictedRow {
    pub table: u8,
    pub scheduler: String,
    pub family: String,
    /// The article's name of the row, or its size.
    pub label: String,
    pub row: String,
    pub value_off: f64,
    pub value_on: f64,
    pub article_off: f64,
    /// The article's value with SMT; a misprint is mended.
    pub article_on: f64,
    pub speed_up: f64,
    pub article_speed_up: f64,
    pub error_points: f64,
    pub standing: Standing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It takes part in the scores.
    Scored,
    /// Its own figure was fitted, so that its error says nothing.
    Fitted(String),
    /// The article's figure says nothing about SMT.
    LeftOut(String),
    /// Shown beside the row of the kernel that the article measured: Molnar's patch.
    Beside,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Over what, like `Tables 4 to 7`.
    pub over: String,
    pub schedulers: Vec<String>,
    pub rows: u32,
    pub mean_error_points: f64,
    /// The same of the prediction that every speed-up is [`Score::constant`], in points.
    pub constant_error_points: f64,
    /// That constant, a share.
    pub constant: f64,
    /// Rank correlation of predicted and printed speed-ups (Spearman); `None` for fewer than three
    /// rows, or where one side is all alike.
    pub rank_correlation: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aim {
    /// What was aimed at, in words.
    pub aim: String,
    /// What came out.
    pub found: String,
    /// Whether it was met.
    pub met: bool,
}
