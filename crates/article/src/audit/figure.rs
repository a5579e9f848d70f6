//! A printed figure: its digits, the values it can stand for, and the misprints it can suffer.

use std::fmt;

/// The most digits a figure may have: every such number is exact in an `f64`.
pub(crate) const DIGITS_MAX: usize = 15;

/// A decimal number as printed. The digits are kept, because a misprint is one of digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    negative: bool,
    /// 0 to 9 each, most significant first, those after the point included.
    digits: Vec<u8>,
    /// How many of the digits stand after the point.
    decimals: usize,
}

/// How a printed figure was made from the value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// To the nearest: the value is within half a unit of the last digit.
    Rounded,
    /// Further digits cut off: the value is up to one unit further from zero.
    Truncated,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Whether the two share a value. The slack of 1e-12 is for the rounding of our own sums, far
    /// below the last of 15 digits.
    pub fn meets(self, other: Self) -> bool {
        let slack = 1e-12 * self.low.abs().max(other.low.abs());
        self.low <= other.high + slack && other.low <= self.high + slack
    }
}

/// How a figure was misprinted, the likelier kinds first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edit {
    Digit,
    Neighbours,
    Sign,
    Apart,
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digit => "one digit wrong",
            Self::Neighbours => "two neighbouring digits swapped",
            Self::Sign => "the sign wrong",
            Self::Apart => "two digits swapped",
        })
    }
}

impl Figure {
    /// Reads `1.10`, `-35`, `231,509` or `47%`.
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bare = text.trim().trim_end_matches('%').trim_end();
        let (negative, bare) = match bare.strip_prefix(['-', '\u{2212}']) {
            Some(rest) => (true, rest),
            None => (false, bare.strip_prefix('+').unwrap_or(bare)),
        };
        let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
        let whole = without_separators(whole).ok_or("has commas that do not part thousands")?;
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("is not a number; write it like 1234, 1,234 or -5.67".to_owned());
        }
        if digits.len() > DIGITS_MAX {
            return Err(format!("has more than {DIGITS_MAX} digits"));
        }
        let digits = digits.bytes().map(|byte| byte - b'0').collect();
        Ok(Self { negative, digits, decimals: fraction.len() })
    }

    pub fn value(&self) -> f64 {
        let mantissa = self.digits.iter().fold(0_u64, |sum, &digit| sum * 10 + u64::from(digit));
        let size = mantissa as f64 / power_of_ten(self.decimals);
        if self.negative { -size } else { size }
    }

    /// Digits after the point.
    pub fn decimals(&self) -> usize {
        self.decimals
    }

    /// The values it can stand for.
    pub fn interval(&self, precision: Precision) -> Interval {
        let unit = 1.0 / power_of_ten(self.decimals);
        let value = self.value();
        match precision {
            Precision::Rounded => Interval { low: value - unit / 2.0, high: value + unit / 2.0 },
            // Cut-off digits leave zero from both sides.
            Precision::Truncated => Interval {
                low: if value <= 0.0 { value - unit } else { value },
                high: if value >= 0.0 { value + unit } else { value },
            },
        }
    }

    pub(crate) fn misprints(&self) -> Vec<(Self, Edit)> {
        let mut found = Vec::new();
        for position in 0..self.digits.len() {
            for digit in (0..10).filter(|&digit| digit != self.digits[position]) {
                let mut other = self.clone();
                other.digits[position] = digit;
                found.push((other, Edit::Digit));
            }
            for second in position + 1..self.digits.len() {
                if self.digits[position] != self.digits[second] {
                    let mut other = self.clone();
                    other.digits.swap(position, second);
                    let edit = if second == position + 1 { Edit::Neighbours } else { Edit::Apart };
                    found.push((other, edit));
                }
            }
        }
        if self.digits.iter().any(|&digit| digit != 0) {
            found.push((Self { negative: !self.negative, ..self.clone() }, Edit::Sign));
        }
        // Nobody prints 0513; a leading zero is at home only before the point.
        found.retain(|(other, _)| other.digits[0] != 0 || other.digits.len() == other.decimals + 1);
        found
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = self.digits.len() - self.decimals;
        let text =
            |digits: &[u8]| -> String { digits.iter().map(|d| char::from(b'0' + d)).collect() };
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{}", text(&self.digits[..point]))?;
        if self.decimals > 0 {
            write!(f, ".{}", text(&self.digits[point..]))?;
        }
        Ok(())
    }
}

fn without_separators(whole: &str) -> Option<String> {
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let parted = whole.contains(',');
    let well_parted =
        !parted || (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    well_parted.then(|| whole.replace(',', ""))
}

/// 10 to the power, exact up to [`DIGITS_MAX`].
fn power_of_ten(power: usize) -> f64 {
    (0..power).fold(1.0, |product, _| product * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn figure(text: &str) -> Figure {
        Figure::parse(text).expect(text)
    }

    #[test]
    fn reads_what_tables_print() {
        for (text, value) in [
            ("1.10", 1.1),
            ("231,509", 231_509.0),
            ("-35%", -35.0),
            ("\u{2212}1", -1.0),
            (".5", 0.5),
        ] {
            assert_eq!(figure(text).value(), value, "{text}");
        }
        assert_eq!(figure("231,509").to_string(), "231509");
        for text in ["", "-", "4x7", "1e5", "12,34", "1,,234", "nan", "1.2.3", "1234567890123456"] {
            assert!(Figure::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn stands_for_the_values_that_print_so() {
        let rounded = figure("1.10").interval(Precision::Rounded);
        assert!((rounded.low - 1.095).abs() < 1e-12 && (rounded.high - 1.105).abs() < 1e-12);
        assert_eq!(figure("-4").interval(Precision::Truncated), Interval { low: -5.0, high: -4.0 });
        assert_eq!(figure("0").interval(Precision::Truncated), Interval { low: -1.0, high: 1.0 });
    }

    #[test]
    fn the_misprints_of_a_figure_hold_its_neighbours_and_no_leading_zero() {
        let found = figure("105").misprints();
        let has = |text: &str, edit| found.contains(&(figure(text), edit));
        assert!(has("150", Edit::Neighbours) && has("501", Edit::Apart) && has("195", Edit::Digit));
        assert!(has("-105", Edit::Sign) && !found.iter().any(|(other, _)| other.value() == 15.0));
        assert!(figure("1.10").misprints().contains(&(figure("0.10"), Edit::Digit)));
    }

    proptest! {
        #[test]
        fn a_misprint_can_be_undone(text in "-?[1-9][0-9]{0,6}(\\.[0-9]{1,3})?") {
            let original = figure(&text);
            for (other, edit) in original.misprints() {
                prop_assert!(other != original);
                prop_assert!(other.misprints().contains(&(original.clone(), edit)), "{other}");
            }
        }

        #[test]
        fn never_panics(text in "\\PC{0,30}") {
            let _ = Figure::parse(&text);
        }
    }
}
