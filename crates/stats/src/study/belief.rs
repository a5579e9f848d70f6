//! How far the predictions of a simulated study can be believed.

use super::phrase::{counted, signed_percent};
use coretwin_base::simulation::prediction::{Prediction, Score};

/// How far off the models are over the article's rows that were not fitted, where that is known.
pub fn error(prediction: Option<&Prediction>) -> Option<&Score> {
    prediction?.scores.first()
}

/// How far predictions can be believed, to stand beside one.
pub fn belief(prediction: Option<&Prediction>) -> String {
    let Some(Score { mean_error_points: mean, rows, .. }) = error(prediction) else {
        return "unvalidated: no measured figure stands beside this model's".to_owned();
    };
    let rows = counted((*rows).into(), "row");
    format!("the model's own error is {mean:.1} points, the mean over {rows} of the article")
}

/// What is to be said first where a constant predicts better than the models; else `None`.
pub fn beaten(prediction: Option<&Prediction>) -> Option<String> {
    let score = error(prediction)?;
    let Score { mean_error_points: mean, constant_error_points: trivial, constant, .. } = score;
    (mean >= trivial).then(|| {
        format!(
            "Saying {} every time is nearer to the article than these models: {trivial:.1} points of \
             mean error against {mean:.1}.",
            signed_percent(1.0 + constant)
        )
    })
}
