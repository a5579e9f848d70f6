//! Scores: mean absolute error and rank correlation, beside the error of a constant.

use super::pairs::{NEWER, OLDER, PATCHED};
use coretwin_base::simulation::prediction::{PredictedRow, Score, Standing};

/// The prediction that needs no model: every speed-up is 28 %, the whole per cent that lies nearest to
/// the article's 28 speed-ups of Tables 4 to 7 (mean absolute error 9.3 points).
pub(crate) const CONSTANT: f64 = 0.28;

/// The score over Tables 4 to 7 first; then each table and family, Tables 1 and 2 where rows of theirs
/// were not fitted, and Molnar's patch against Table 7. Scores without rows are left out.
pub(super) fn of(rows: &[PredictedRow]) -> Vec<Score> {
    let scored = |wanted: &dyn Fn(&PredictedRow) -> bool| -> Vec<&PredictedRow> {
        rows.iter().filter(|row| row.standing == Standing::Scored && wanted(row)).collect()
    };
    let mut scores = vec![
        score("Tables 4 to 7", &scored(&|row| row.table >= 4)),
        score("Tables 4 to 6, Linux 2.4.19", &scored(&|row| (4..=6).contains(&row.table))),
        score("Table 7, Linux 2.5.32", &scored(&|row| row.table == 7)),
    ];
    for (family, table) in [("chat", 4), ("dbench", 5), ("tbench", 6)] {
        let of_family = |row: &PredictedRow| row.family == family;
        scores.push(score(&format!("Table {table}, {family}"), &scored(&|row| row.table == table)));
        let over = format!("Table 7, {family}");
        scores.push(score(&over, &scored(&|row| row.table == 7 && of_family(row))));
    }
    for table in [1, 2] {
        let over = format!("Table {table}, rows not fitted");
        scores.push(score(&over, &scored(&|row| row.table == table)));
    }
    for patched in PATCHED {
        let beside: Vec<&PredictedRow> =
            rows.iter().filter(|row| row.table == 7 && row.scheduler == patched).collect();
        scores.push(score(&format!("Table 7, beside it {patched}"), &beside));
    }
    scores.into_iter().flatten().collect()
}

fn score(over: &str, rows: &[&PredictedRow]) -> Option<Score> {
    if rows.is_empty() {
        return None;
    }
    let mean = |error: &dyn Fn(&PredictedRow) -> f64| {
        rows.iter().map(|row| error(row).abs()).sum::<f64>() / rows.len() as f64
    };
    let predicted: Vec<f64> = rows.iter().map(|row| row.speed_up).collect();
    let article: Vec<f64> = rows.iter().map(|row| row.article_speed_up).collect();
    let known = [OLDER, NEWER, PATCHED[0], PATCHED[1]];
    let is_of = |name: &&str| rows.iter().any(|row| row.scheduler == **name);
    Some(Score {
        over: over.to_owned(),
        schedulers: known
            .iter()
            .filter(|name| is_of(name))
            .map(|name| (*name).to_owned())
            .collect(),
        rows: rows.len() as u32,
        mean_error_points: mean(&|row| row.error_points),
        constant_error_points: mean(&|row| 100.0 * (CONSTANT - row.article_speed_up)),
        constant: CONSTANT,
        rank_correlation: rank_correlation(&predicted, &article),
    })
}

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs. None
/// for lists of other lengths, for fewer than three values, and where one list is all alike.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 3 {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    // Ranks have the same mean, whatever the ties.
    let middle = (a.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| {
        x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (spread > 0.0).then(|| product(&a, &b) / spread)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let same = values.iter().filter(|other| *other == value).count();
        below as f64 + (same as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_ties_are_shared() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn correlation_of_ranks_is_one_for_any_rising_curve() {
        let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-12);
        assert!(near(rank_correlation(&[1.0, 2.0, 9.0], &[0.1, 5.0, 5.5]), 1.0));
        assert!(near(rank_correlation(&[1.0, 2.0, 9.0], &[3.0, 2.0, 1.0]), -1.0));
        // Kendall, Rank Correlation Methods: with n = 4 and one swap of neighbours, 1 - 6*2/(4*15).
        assert!(near(rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]), 0.8));
        assert_eq!(rank_correlation(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(rank_correlation(&[1.0, 2.0], &[1.0, 2.0]), None);
    }
}
