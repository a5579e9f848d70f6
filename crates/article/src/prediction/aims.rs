//! What the models were to reach, told in numbers whether they did or not.

use super::pairs::{NEWER, OLDER};
use super::scores::CONSTANT;
use coretwin_base::simulation::prediction::{Aim, PredictedRow, Prediction};
use coretwin_stats::study::phrase::signed_percent;

/// Mean absolute error over Tables 4 to 7 that was aimed at, in points.
const ERROR_POINTS: f64 = 6.0;

/// Rows of Tables 4 to 7: an aim over fewer would say less than it seems to.
const ROWS: u32 = 28;

/// How far a curve may lie from the article's and still show the same, in points.
const CURVE_POINTS: f64 = 5.0;

/// The three workloads with sizes, whose order is asked for.
const FAMILIES: [&str; 3] = ["chat", "dbench", "tbench"];

/// Every aim that the rows suffice to judge.
pub(super) fn of(prediction: &Prediction) -> Vec<Aim> {
    let mut aims = errors(prediction);
    aims.extend([OLDER, NEWER].into_iter().filter_map(|kernel| order(prediction, kernel)));
    aims.extend(decline(&prediction.rows, OLDER, true));
    aims.extend(decline(&prediction.rows, NEWER, false));
    aims
}

fn errors(prediction: &Prediction) -> Vec<Aim> {
    let Some(score) = prediction.scores.first().filter(|score| score.rows == ROWS) else {
        return Vec::new();
    };
    let (error, constant) = (score.mean_error_points, score.constant_error_points);
    let over = error - ERROR_POINTS;
    vec![
        Aim {
            aim: format!(
                "speed-ups of Tables 4 to 7: mean absolute error of at most {ERROR_POINTS} points"
            ),
            found: match over > 0.0 {
                true => format!("{error:.1} points, missed by {over:.1}"),
                false => format!("{error:.1} points"),
            },
            met: over <= 0.0,
        },
        Aim {
            aim: format!("better than the constant {}", signed_percent(1.0 + CONSTANT)),
            found: format!("{error:.1} points against {constant:.1}"),
            met: error < constant,
        },
    ]
}

/// Whether the workloads gain in the article's order.
fn order(prediction: &Prediction, scheduler: &str) -> Option<Aim> {
    let gain = |family: &str| {
        let mut gains = prediction.gains.iter();
        let gain = gains.find(|gain| gain.family == family && gain.scheduler == scheduler)?;
        Some((gain.speed_up, gain.article?))
    };
    let gains: Option<Vec<(&str, (f64, f64))>> =
        FAMILIES.iter().map(|family| Some((*family, gain(family)?))).collect();
    let gains = gains?;
    let ordered = |of: fn(&(f64, f64)) -> f64| {
        let mut sorted: Vec<(&str, f64)> =
            gains.iter().map(|(family, pair)| (*family, of(pair))).collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
        sorted
    };
    let (own, article) = (ordered(|pair| pair.0), ordered(|pair| pair.1));
    let names = |sorted: &[(&str, f64)]| {
        let named: Vec<String> = sorted
            .iter()
            .map(|(family, share)| format!("{family} {}", signed_percent(1.0 + share)))
            .collect();
        named.join(", ")
    };
    Some(Aim {
        aim: format!("order of the workloads under {scheduler}: {}", names(&article)),
        found: names(&own),
        met: own.iter().zip(&article).all(|(own, article)| own.0 == article.0),
    })
}

/// Of chat's rate from the fewest rooms to the most it is asked that it falls as in the article where
/// it was fitted, and does not fall where it was not.
fn decline(rows: &[PredictedRow], scheduler: &str, is_fitted: bool) -> Option<Aim> {
    let of_rooms = |rooms: &str| {
        let mut rows = rows.iter().filter(|row| row.family == "chat" && row.scheduler == scheduler);
        rows.find(|row| row.label == rooms)
    };
    let (few, many) = (of_rooms("20")?, of_rooms("50")?);
    let own = many.value_off / few.value_off;
    let article = many.article_off / few.article_off;
    let (met, how) = match is_fitted {
        true => (100.0 * (own - article).abs() <= CURVE_POINTS, "fitted"),
        false => (100.0 * (1.0 - own) <= CURVE_POINTS, "not fitted"),
    };
    Some(Aim {
        aim: format!(
            "chat from 20 to 50 rooms without SMT under {scheduler} ({how}): {}",
            signed_percent(article)
        ),
        found: signed_percent(own),
        met,
    })
}
