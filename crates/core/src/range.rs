//! Ranges of amounts: the CPU and memory requests that a backend accepts.
//!
//! Both ends are inclusive, and amounts are compared by value: `1000m` is in `1`.

use std::fmt;

use orchestra_score::quantity::{Quantity, QuantityError};

/// Range of amounts: `2`, `0-8`, `1-` or `-8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    least: Option<Bound>,
    most: Option<Bound>,
}

/// End of a range: the amount and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    amount: Quantity,
    text: String,
}

/// Measured resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// CPU.
    Cpu,
    /// Memory.
    Memory,
}

/// Error of a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// An end is not an amount.
    #[error("{text:?} is not a valid amount of {measure}: {error}")]
    Amount {
        /// Text of the end.
        text: String,
        /// Measured resource.
        measure: Measure,
        /// Error of the amount.
        error: QuantityError,
    },
    /// It has no ends.
    #[error("the range has no ends")]
    NoEnd,
    /// The minimum is above the maximum.
    #[error("the minimum {least} of the range is above its maximum {most}")]
    Empty {
        /// Minimum.
        least: String,
        /// Maximum.
        most: String,
    },
}

/// Side of a range on which an amount lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Below the minimum, with its text.
    Below(String),
    /// Above the maximum, with its text.
    Above(String),
}

impl Range {
    /// Parses a range.
    pub fn parse(text: &str, measure: Measure) -> Result<Self, RangeError> {
        let bound = |text: &str| -> Result<Option<Bound>, RangeError> {
            let text = text.trim();
            if text.is_empty() {
                return Ok(None);
            }
            let amount = measure.read(text).map_err(|error| RangeError::Amount {
                text: text.to_owned(),
                measure,
                error,
            })?;
            Ok(Some(Bound { amount, text: text.to_owned() }))
        };
        let (least, most) = match text.split_once('-') {
            Some((least, most)) => (bound(least)?, bound(most)?),
            None => (bound(text)?, bound(text)?),
        };
        match (&least, &most) {
            (None, None) => Err(RangeError::NoEnd),
            (Some(least), Some(most)) if least.amount > most.amount => {
                Err(RangeError::Empty { least: least.text.clone(), most: most.text.clone() })
            }
            _ => Ok(Self { least, most }),
        }
    }

    /// Side on which an amount is outside of the range.
    pub fn misses(&self, amount: Quantity) -> Option<Outside> {
        let below = self.least.as_ref().filter(|least| amount < least.amount);
        let above = self.most.as_ref().filter(|most| amount > most.amount);
        below
            .map(|least| Outside::Below(least.text.clone()))
            .or_else(|| above.map(|most| Outside::Above(most.text.clone())))
    }
}

impl Measure {
    /// Parses one amount.
    pub(crate) fn read(self, text: &str) -> Result<Quantity, QuantityError> {
        match self {
            Self::Cpu => Quantity::cpu(text),
            Self::Memory => Quantity::memory(text),
        }
    }

    /// Formatted amount: memory in the largest exact unit.
    pub fn show(self, amount: Quantity) -> String {
        const UNITS: [(&str, u128); 3] = [("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
        let text = amount.to_string();
        let whole = amount.ceil();
        let is_whole = whole > 0 && text == whole.to_string();
        let unit =
            UNITS.iter().find(|(_, bytes)| self == Self::Memory && is_whole && whole.is_multiple_of(*bytes));
        unit.map_or(text, |(unit, bytes)| format!("{}{unit}", whole / bytes))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(range: &str, amount: &str, measure: Measure) -> bool {
        let range = Range::parse(range, measure).unwrap();
        range.misses(measure.read(amount).unwrap()).is_none()
    }

    #[test]
    fn both_ends_are_inclusive() {
        for (range, inside, outside) in [
            ("2", &["2", "2000m", "2.0"][..], &["1999m", "2001m", "0"][..]),
            ("0-8", &["0", "0.5", "8"], &["8.001"]),
            ("1-", &["1", "64"], &["999m"]),
            ("-8", &["0", "8"], &["9"]),
            ("500m - 1.5", &["0.5", "1500m"], &["499m", "1.6"]),
        ] {
            for amount in inside {
                assert!(holds(range, amount, Measure::Cpu), "{amount} in {range}");
            }
            for amount in outside {
                assert!(!holds(range, amount, Measure::Cpu), "{amount} not in {range}");
            }
        }
    }

    /// A24: the predecessor read `1` as a thousandth, and could not parse `0.5`, `256M` and `1G`.
    #[test]
    fn amounts_in_all_units_are_compared_by_value() {
        assert!(holds("1-2", "1", Measure::Cpu));
        assert!(!holds("1-2", "0.5", Measure::Cpu));
        assert!(holds("1Gi", "1024Mi", Measure::Memory));
        assert!(holds("256M-1G", "250Mi", Measure::Memory));
        assert!(!holds("256Mi-", "256M", Measure::Memory));
        assert!(holds("-32Ki", "32768", Measure::Memory));
    }

    #[test]
    fn an_invalid_range_has_an_error() {
        for (text, message) in [
            ("", "the range has no ends"),
            (" - ", "the range has no ends"),
            ("8-2", "the minimum 8 of the range is above its maximum 2"),
            ("2-4-8", "\"4-8\" is not a valid amount of cpu: not a number with a unit"),
            ("1Gi", "\"1Gi\" is not a valid amount of cpu: not a number with a unit"),
            (
                &"9".repeat(40),
                &format!("\"{}\" is not a valid amount of cpu: too large or too precise", "9".repeat(40)),
            ),
        ] {
            assert_eq!(Range::parse(text, Measure::Cpu).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn amounts_are_formatted_in_the_largest_exact_unit() {
        for (text, shown) in
            [("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("1G", "1000000000"), ("0.1Ki", "102.4"), ("0", "0")]
        {
            assert_eq!(Measure::Memory.show(Quantity::memory(text).unwrap()), shown, "{text}");
        }
        assert_eq!(Measure::Cpu.show(Quantity::cpu("1024").unwrap()), "1024");
    }

    #[test]
    fn the_text_of_the_violated_end_is_kept() {
        let range = Range::parse("1Gi-2Gi", Measure::Memory).unwrap();
        assert_eq!(range.misses(Quantity::ZERO), Some(Outside::Below("1Gi".to_owned())));
        assert_eq!(range.misses(Quantity::memory("3G").unwrap()), Some(Outside::Above("2Gi".to_owned())));
    }
}
