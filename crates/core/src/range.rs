//! Ranges of sizes: which Workloads a backend takes, by what they ask for.
//!
//! Both ends belong to the range, and amounts are compared as amounts, not as texts: `1000m` is in `1`.

use std::fmt;

use orchestra_score::quantity::{Quantity, QuantityError};

/// A range of amounts: `2`, `0-8`, `1-` or `-8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    least: Option<Bound>,
    most: Option<Bound>,
}

/// An end of a range: the amount, and how the author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    amount: Quantity,
    text: String,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Processor time.
    Cpu,
    /// Memory.
    Memory,
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// An end of it is no amount.
    #[error("{text:?} is no amount of {measure}: {error}")]
    Amount {
        /// What was written.
        text: String,
        /// What it should measure.
        measure: Measure,
        /// What is wrong with it.
        error: QuantityError,
    },
    /// It has no end at all.
    #[error("the range has no end")]
    NoEnd,
    /// It ends before it begins.
    #[error("the range begins at {least} and ends at {most}, which is less")]
    Empty {
        /// Where it begins.
        least: String,
        /// Where it ends.
        most: String,
    },
}

/// On which side of a range an amount lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Below the least, which is given as it was written.
    Below(String),
    /// Above the most, which is given as it was written.
    Above(String),
}

impl Range {
    /// Reads a range.
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

    /// Where an amount lies if not in the range.
    pub fn misses(&self, amount: Quantity) -> Option<Outside> {
        let below = self.least.as_ref().filter(|least| amount < least.amount);
        let above = self.most.as_ref().filter(|most| amount > most.amount);
        below
            .map(|least| Outside::Below(least.text.clone()))
            .or_else(|| above.map(|most| Outside::Above(most.text.clone())))
    }
}

impl Measure {
    /// Reads one amount.
    pub(crate) fn read(self, text: &str) -> Result<Quantity, QuantityError> {
        match self {
            Self::Cpu => Quantity::cpu(text),
            Self::Memory => Quantity::memory(text),
        }
    }

    /// An amount as people write it: memory in the largest unit that has no fraction.
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
    fn both_ends_belong_to_a_range() {
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

    /// A24: the predecessor read `1` as a thousandth, and `0.5`, `256M` and `1G` as nothing.
    #[test]
    fn amounts_are_read_in_every_unit_and_compared_as_amounts() {
        assert!(holds("1-2", "1", Measure::Cpu));
        assert!(!holds("1-2", "0.5", Measure::Cpu));
        assert!(holds("1Gi", "1024Mi", Measure::Memory));
        assert!(holds("256M-1G", "250Mi", Measure::Memory));
        assert!(!holds("256Mi-", "256M", Measure::Memory));
        assert!(holds("-32Ki", "32768", Measure::Memory));
    }

    #[test]
    fn what_is_no_range_says_why() {
        for (text, message) in [
            ("", "the range has no end"),
            (" - ", "the range has no end"),
            ("8-2", "the range begins at 8 and ends at 2, which is less"),
            ("2-4-8", "\"4-8\" is no amount of cpu: not a number with a unit"),
            ("1Gi", "\"1Gi\" is no amount of cpu: not a number with a unit"),
            (
                &"9".repeat(40),
                &format!("\"{}\" is no amount of cpu: too large or too precise", "9".repeat(40)),
            ),
        ] {
            assert_eq!(Range::parse(text, Measure::Cpu).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_as_people_write_them() {
        for (text, shown) in
            [("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("1G", "1000000000"), ("0.1Ki", "102.4"), ("0", "0")]
        {
            assert_eq!(Measure::Memory.show(Quantity::memory(text).unwrap()), shown, "{text}");
        }
        assert_eq!(Measure::Cpu.show(Quantity::cpu("1024").unwrap()), "1024");
    }

    #[test]
    fn a_miss_names_the_end_as_it_was_written() {
        let range = Range::parse("1Gi-2Gi", Measure::Memory).unwrap();
        assert_eq!(range.misses(Quantity::ZERO), Some(Outside::Below("1Gi".to_owned())));
        assert_eq!(range.misses(Quantity::memory("3G").unwrap()), Some(Outside::Above("2Gi".to_owned())));
    }
}
