//! Numbers as people read them. Every table, figure and sentence writes its numbers here.

use crate::words;
use coretwin_base::study::plan::Scale;
use coretwin_stats::study::phrase::{separated, signed_percent};

pub(crate) const NONE: &str = "–";

/// A whole number with thousands separated: `164,071`.
pub(crate) fn whole(value: u64) -> String {
    separated(&value.to_string())
}

/// A measured value with four significant digits, or its whole part if that is longer; an exact
/// whole number as such: `164,071`, `132.8`, `11.16`, `0.001234`, `400`.
pub(crate) fn value(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if size != 0.0 && !(1e-4..1e12).contains(&size) {
        return format!("{value:.3e}").replace('-', "−");
    }
    let decimals = match size {
        s if s >= 999.95 || s.fract() == 0.0 => 0,
        s if s >= 99.995 => 1,
        s if s >= 9.9995 => 2,
        s if s >= 0.99995 => 3,
        s if s >= 0.1 => 4,
        s if s >= 0.01 => 5,
        s if s >= 0.001 => 6,
        _ => 7,
    };
    let text = format!("{value:.decimals$}");
    signed(&separated(text.trim_start_matches('-')), value < 0.0)
}

/// A number as somebody printed it, digit by digit, with thousands separated.
pub(crate) fn as_printed(digits: &str) -> String {
    let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    if plain { separated(digits) } else { digits.replace('-', "−") }
}

pub(crate) fn value_or_none(number: Option<f64>) -> String {
    or_none(number.map(value))
}

pub(crate) fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.to_owned())
}

/// A short value for axes: `160k`, `1.2M`, `0.5`.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, suffix) = match size {
        s if s >= 1e12 || (s > 0.0 && s < 1e-3) => return format!("{value:.1e}").replace('-', "−"),
        s if s >= 1e9 => (value / 1e9, "G"),
        s if s >= 1e6 => (value / 1e6, "M"),
        s if s >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Rounded to six digits first, so that 0.1 + 0.2 is written 0.3.
    let text = format!("{scaled:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let negative = text.starts_with('-') && text != "-0";
    signed(&format!("{}{suffix}", text.trim_start_matches('-')), negative)
}

/// A latency with three digits: `840 us`, `1.27 ms`, `2.5 s`.
pub(crate) fn latency(seconds: f64) -> String {
    let (scaled, unit) = match seconds {
        s if s < 0.999_5e-6 => (s * 1e9, "ns"),
        s if s < 0.999_5e-3 => (s * 1e6, "µs"),
        s if s < 0.999_5 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    let text = format!("{scaled:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// The effect of a ratio, written as sentences write it: 1.241 is `+24.1 %`.
pub(crate) fn effect(ratio: f64) -> String {
    if ratio.is_finite() { signed_percent(ratio) } else { NONE.to_owned() }
}

/// An interval of ratios: `+22.0 to +26.3 %`.
pub(crate) fn interval(low: f64, high: f64) -> String {
    let (low, high) = (effect(low), effect(high));
    let both = low.ends_with('%') && high.ends_with('%');
    let low = if both { low.trim_end_matches(" %") } else { &low };
    format!("{low} to {high}")
}

/// An effect on its scale: a percentage, or a difference in the row's unit.
pub(crate) fn effect_on(scale: Scale, unit: &str, value: f64) -> String {
    match scale {
        Scale::Ratio => effect(value),
        Scale::Raw => format!("{} {}", difference(value), words::clean(unit)),
    }
}

/// An interval of effects on their scale.
pub(crate) fn interval_on(scale: Scale, low: f64, high: f64) -> String {
    match scale {
        Scale::Ratio => interval(low, high),
        Scale::Raw => format!("{} to {}", difference(low), difference(high)),
    }
}

/// A share as a percentage without needless digits: 0.02 is `2 %`, 0.005 is `0.5 %`.
pub(crate) fn share(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A difference with its sign and three significant digits: `+1.20`, `−0.0750`.
pub(crate) fn difference(number: f64) -> String {
    let size = number.abs();
    let text = match size {
        s if (1e-6..100.0).contains(&s) => {
            let decimals = (2.0 - s.log10().floor()).max(0.0) as usize;
            let sign = if number < 0.0 { "−" } else { "" };
            format!("{sign}{size:.decimals$}")
        }
        _ => value(number),
    };
    if number > 0.0 { format!("+{text}") } else { text }
}

/// A p-value: `0.031`, `< 0.001`.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

pub(crate) fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .map(|value| (value, value))
        .reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
}

/// `1 block`, `12 blocks`; thousands separated.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", whole(number))
}

/// `250th`, `1st`, `22nd`, `13th`.
pub(crate) fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (1, r) if r != 11 => "st",
        (2, r) if r != 12 => "nd",
        (3, r) if r != 13 => "rd",
        _ => "th",
    };
    format!("{}{ending}", whole(number))
}

fn signed(text: &str, negative: bool) -> String {
    let zero = text.chars().all(|c| matches!(c, '0' | '.' | ','));
    if negative && !zero { format!("−{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_four_digits() {
        for (number, text) in [
            (164_070.6, "164,071"),
            (271.83, "271.8"),
            (11.16, "11.16"),
            (999.97, "1,000"),
            (1.1, "1.100"),
            (0.001_234, "0.001234"),
            (-4.29, "−4.290"),
            (0.0, "0"),
            (-0.0, "0"),
            (400.0, "400"),
            (1e-7, "1.000e−7"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(value(number), text);
        }
    }

    #[test]
    fn effects_are_signed_percentages() {
        for (ratio, text) in [
            (1.241, "+24.1 %"),
            (0.98, "−2.0 %"),
            (1.0, "±0.0 %"),
            (0.999_99, "±0.0 %"),
            (51.0, "+5,000 %"),
            (f64::INFINITY, "–"),
            // No time and no rate can fall by 100 %.
            (0.000_4, "÷2,500"),
            (12_000.0, "×12,000"),
        ] {
            assert_eq!(effect(ratio), text);
        }
        assert_eq!(interval(1.22, 1.263), "+22.0 to +26.3 %");
        assert_eq!(interval(0.005, 1.5), "÷200 to +50.0 %");
    }

    #[test]
    fn axis_labels_are_short() {
        for (number, text) in [
            (0.1 + 0.2, "0.3"),
            (160_000.0, "160k"),
            (1_250_000.0, "1.25M"),
            (9_500.0, "9500"),
            (-2.5, "−2.5"),
            (-0.0, "0"),
            (0.0002, "2.0e−4"),
        ] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn ordinals_and_counts_read_well() {
        for (number, text) in
            [(1, "1st"), (2, "2nd"), (11, "11th"), (250, "250th"), (1_003, "1,003rd")]
        {
            assert_eq!(ordinal(number), text);
        }
        assert_eq!(count(1, "block"), "1 block");
        assert_eq!(count(1_000_000, "reading"), "1,000,000 readings");
        assert_eq!(share(0.005), "0.5 %");
        let differences = [1.2, -0.075, 0.0, 12_345.6].map(difference);
        assert_eq!(differences, ["+1.20", "−0.0750", "0", "+12,346"]);
    }
}
