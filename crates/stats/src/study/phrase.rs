//! Numbers inside sentences, in the style of the tables.

/// "1 CPU", "16 CPUs", "1,600 threads".
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", separated(&number.to_string()))
}

/// Below this ratio, and above [`RATIO_MAX`], a percentage no longer tells one result from another.
const RATIO_MIN: f64 = 0.01;
const RATIO_MAX: f64 = 10_000.0;

/// How far a ratio lies from 1, without direction: "3.1 %", "1,931 %", "a factor of 2,981".
pub fn percent(ratio: f64) -> String {
    match far(ratio) {
        Some(factor) => format!("a factor of {factor}"),
        None => size(ratio),
    }
}

/// The same with its direction: "+3.1 %", "−2.0 %", "±0.0 %", "÷2,981", "×12,000".
pub fn signed_percent(ratio: f64) -> String {
    if let Some(factor) = far(ratio) {
        return format!("{}{factor}", if ratio < 1.0 { '÷' } else { '×' });
    }
    let text = size(ratio);
    let sign = if text == "0.0 %" {
        "±"
    } else if ratio < 1.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{text}")
}

/// The factor, or one over it, of a ratio that is too far from 1 for a percentage: "2,981".
pub(crate) fn far(ratio: f64) -> Option<String> {
    let far = ratio > 0.0 && !(RATIO_MIN..RATIO_MAX).contains(&ratio);
    far.then(|| separated(&format!("{:.0}", f64::max(ratio, 1.0 / ratio))))
}

fn size(ratio: f64) -> String {
    let percent = libm::fabs(ratio - 1.0) * 100.0;
    if percent >= 999.5 {
        format!("{} %", separated(&format!("{percent:.0}")))
    } else {
        format!("{percent:.1} %")
    }
}

/// Most names in one sentence.
const NAMES_MAX: usize = 8;

/// The first few names, and how many more there are.
pub(crate) fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The digits of a number with a comma between the thousands of its whole part: `164,071`.
pub fn separated(digits: &str) -> String {
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text.push_str(rest);
    text
}
