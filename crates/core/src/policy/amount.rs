//! Amounts of CPU and memory.

use std::{cmp::Ordering, fmt};

use orchestra_api::plan::Amounts;
use orchestra_score::quantity::{Quantity, QuantityError};

/// Measured resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Cpu,
    Memory,
}

impl Measure {
    pub(super) const ALL: [Self; 2] = [Self::Cpu, Self::Memory];

    /// Name of its field, in Score and in policies.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }

    /// Format of its amounts, for messages.
    pub(super) const fn form(self) -> &'static str {
        match self {
            Self::Cpu => "cores such as `0.5` or thousandths such as `250m`",
            Self::Memory => "a number with a unit such as `512Mi` or `1.5Gi`",
        }
    }

    pub(super) fn read(self, text: &str) -> Result<Quantity, QuantityError> {
        match self {
            Self::Cpu => Quantity::cpu(text),
            Self::Memory => Quantity::memory(text),
        }
    }

    pub(super) fn text(self, amounts: &Amounts) -> Option<&str> {
        match self {
            Self::Cpu => amounts.cpu.as_deref(),
            Self::Memory => amounts.memory.as_deref(),
        }
    }

    pub(super) fn field(self, amounts: &mut Amounts) -> &mut Option<String> {
        match self {
            Self::Cpu => &mut amounts.cpu,
            Self::Memory => &mut amounts.memory,
        }
    }

    /// Formatted sum: memory in the largest unit that is exact.
    pub(super) fn format(self, sum: Quantity) -> String {
        let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
        let bytes = sum.ceil();
        let unit = units.into_iter().find(|(_, bits)| bytes > 0 && bytes.trailing_zeros() >= *bits);
        match (self, unit) {
            (Self::Memory, Some((unit, bits))) => format!("{}{unit}", bytes >> bits),
            (Self::Memory, None) => bytes.to_string(),
            (Self::Cpu, _) => sum.to_string(),
        }
    }
}

/// An amount in a policy. `1Gi` and `1024Mi` are equal.
#[derive(Clone, Debug)]
pub(super) struct Amount {
    pub(super) text: String,
    pub(super) quantity: Quantity,
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        self.quantity.cmp(&other.quantity)
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.quantity == other.quantity
    }
}

impl Eq for Amount {}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Amounts in a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    pub(super) cpu: Option<Amount>,
    pub(super) memory: Option<Amount>,
}

impl Pair {
    pub(super) fn get(&self, measure: Measure) -> Option<&Amount> {
        match measure {
            Measure::Cpu => self.cpu.as_ref(),
            Measure::Memory => self.memory.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_formatted_in_the_largest_exact_unit() {
        for (measure, text, want) in [
            (Measure::Memory, "1536Mi", "1536Mi"),
            (Measure::Memory, "2048Mi", "2Gi"),
            (Measure::Memory, "1K", "1000"),
            (Measure::Memory, "0", "0"),
            (Measure::Cpu, "1500m", "1.5"),
        ] {
            assert_eq!(measure.format(measure.read(text).unwrap()), want, "{text}");
        }
    }
}
