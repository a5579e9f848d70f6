//! Numbers inside sentences, in the style of the tables.

/// "1 CPU", "16 CPUs", "1,600 threads".
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", separated(&number.to_string()))
}

/// How far a ratio lies from 1, without direction: "3.1 %", "1,931 %"; a factor where a percentage
/// no longer tells one result from another.
pub(crate) fn percent(ratio: f64) -> String {
    let percent = libm::fabs(ratio - 1.0) * 100.0;
    if ratio > 0.0 && ratio < 0.01 {
        format!("a factor of {}", separated(&format!("{:.0}", 1.0 / ratio)))
    } else if percent >= 999.5 {
        format!("{} %", separated(&format!("{percent:.0}")))
    } else {
        format!("{percent:.1} %")
    }
}

/// "+3.1 %", "−2.0 %", "±0.0 %".
pub(crate) fn signed_percent(ratio: f64) -> String {
    let text = percent(ratio);
    let sign = if text == "0.0 %" {
        "±"
    } else if ratio < 1.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{text}")
}

/// Puts a comma between thousands.
fn separated(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
