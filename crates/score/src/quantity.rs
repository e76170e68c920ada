//! Exact quantities of memory and CPU.

use std::{cmp::Ordering, fmt};

/// Exact quantity: `mantissa / 10^decimals` bytes or cores.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    mantissa: u128,
    decimals: u32,
}

/// Invalid quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a number with a known unit.
    #[error("not a number with a unit")]
    Malformed,
    /// Too large, or too many digits.
    #[error("too large or too precise")]
    OutOfRange,
}

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self { mantissa: 0, decimals: 0 };

    /// Memory: `512Mi`, `1.5Gi`, `128`.
    pub fn memory(text: &str) -> Result<Self, QuantityError> {
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit: u128 = match unit {
            "" => 1,
            "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            "T" => 1_000_000_000_000,
            "P" => 1_000_000_000_000_000,
            "E" => 1_000_000_000_000_000_000,
            "Ki" => 1 << 10,
            "Mi" => 1 << 20,
            "Gi" => 1 << 30,
            "Ti" => 1 << 40,
            "Pi" => 1 << 50,
            "Ei" => 1 << 60,
            _ => return Err(QuantityError::Malformed),
        };
        Self::decimal(number)?.times(unit)
    }

    /// CPU: `500m`, `0.5`, `2`.
    pub fn cpu(text: &str) -> Result<Self, QuantityError> {
        match text.strip_suffix('m') {
            Some(millis) if !millis.contains('.') => {
                let Self { mantissa, decimals } = Self::decimal(millis)?;
                Ok(Self { mantissa, decimals: decimals + 3 }.normal())
            }
            Some(_) => Err(QuantityError::Malformed),
            None => Self::decimal(text),
        }
    }

    /// Quantity times `factor` as an integer, rounded up; `None` on overflow.
    pub fn count(self, factor: u64) -> Option<u64> {
        let divisor = 10_u128.checked_pow(self.decimals)?;
        let scaled = self.mantissa.checked_mul(u128::from(factor))?.div_ceil(divisor);
        u64::try_from(scaled).ok()
    }

    fn decimal(text: &str) -> Result<Self, QuantityError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty()
            || !digits(whole)
            || !digits(fraction)
            || (text.contains('.') && fraction.is_empty())
        {
            return Err(QuantityError::Malformed);
        }
        let fraction = fraction.trim_end_matches('0');
        let decimals = u32::try_from(fraction.len()).ok().filter(|count| *count <= 18);
        let mantissa = format!("{whole}{fraction}").parse().map_err(|_| QuantityError::OutOfRange)?;
        Ok(Self { mantissa, decimals: decimals.ok_or(QuantityError::OutOfRange)? })
    }

    /// Product with an integer.
    pub fn times(self, factor: u128) -> Result<Self, QuantityError> {
        let mantissa = self.mantissa.checked_mul(factor).ok_or(QuantityError::OutOfRange)?;
        Ok(Self { mantissa, ..self }.normal())
    }

    /// Sum.
    pub fn plus(self, other: Self) -> Result<Self, QuantityError> {
        let decimals = self.decimals.max(other.decimals);
        let sum = self.scaled(decimals).zip(other.scaled(decimals)).and_then(|(a, b)| a.checked_add(b));
        sum.map(|mantissa| Self { mantissa, decimals }.normal()).ok_or(QuantityError::OutOfRange)
    }

    /// Units (bytes, cores), rounded up.
    pub fn ceil(self) -> u128 {
        self.mantissa.div_ceil(10u128.pow(self.decimals))
    }

    /// Thousandths of a unit, rounded up.
    pub fn ceil_millis(self) -> u128 {
        match self.decimals.checked_sub(3) {
            Some(decimals) => self.mantissa.div_ceil(10u128.pow(decimals)),
            None => self.mantissa.saturating_mul(10u128.pow(3 - self.decimals)),
        }
    }

    fn scaled(self, decimals: u32) -> Option<u128> {
        self.mantissa.checked_mul(10u128.checked_pow(decimals - self.decimals)?)
    }

    fn normal(mut self) -> Self {
        while self.decimals > 0 && self.mantissa.is_multiple_of(10) {
            self.mantissa /= 10;
            self.decimals -= 1;
        }
        self
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let decimals = self.decimals.max(other.decimals);
        match (self.scaled(decimals), other.scaled(decimals)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // Only a huge integer overflows at the scale of the other's fraction.
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = 10u128.pow(self.decimals);
        write!(f, "{}", self.mantissa / scale)?;
        if self.decimals > 0 {
            write!(f, ".{:0width$}", self.mantissa % scale, width = self.decimals as usize)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_counted_in_any_unit_and_rounded_up() {
        assert_eq!(Quantity::cpu("250m").unwrap().count(100_000), Some(25_000));
        assert_eq!(Quantity::memory("1.5Ki").unwrap().count(1), Some(1536));
        assert_eq!(Quantity::cpu("0.0005").unwrap().count(1000), Some(1));
        assert_eq!(Quantity::memory("16Ei").unwrap().count(1), None);
    }

    #[test]
    fn quantities_are_exact() {
        for (text, bytes) in [
            ("128", "128"),
            ("1K", "1000"),
            ("1Ki", "1024"),
            ("1.5Gi", "1610612736"),
            ("0.1Ki", "102.4"),
            ("0.0", "0"),
            ("1Ei", "1152921504606846976"),
            ("1.10M", "1100000"),
        ] {
            assert_eq!(Quantity::memory(text).unwrap().to_string(), bytes, "{text}");
        }
        for (text, cores) in
            [("0", "0"), ("0.24", "0.24"), ("100m", "0.1"), ("1500m", "1.5"), ("2", "2"), ("1.0", "1")]
        {
            assert_eq!(Quantity::cpu(text).unwrap().to_string(), cores, "{text}");
        }
    }

    #[test]
    fn equal_quantities_in_different_units_are_equal() {
        assert_eq!(Quantity::cpu("500m"), Quantity::cpu("0.5"));
        assert_eq!(Quantity::memory("1Gi"), Quantity::memory("1024Mi"));
        assert!(Quantity::memory("1G").unwrap() < Quantity::memory("1Gi").unwrap());
        assert!(Quantity::cpu("0.1").unwrap() > Quantity::cpu("99m").unwrap());
    }

    #[test]
    fn rounding_is_always_up() {
        assert_eq!(Quantity::memory("0.1Ki").unwrap().ceil(), 103);
        assert_eq!(Quantity::cpu("0.0001").unwrap().ceil_millis(), 1);
        assert_eq!(Quantity::cpu("2").unwrap().ceil_millis(), 2000);
    }

    #[test]
    fn sums_and_multiples_keep_every_digit() {
        let sum = Quantity::cpu("100m").unwrap().plus(Quantity::cpu("0.25").unwrap()).unwrap();
        assert_eq!(sum.to_string(), "0.35");
        assert_eq!(sum.times(4).unwrap().to_string(), "1.4");
    }

    #[test]
    fn an_invalid_quantity_is_refused() {
        for text in ["", ".5", "1.", "1k", "1KB", "-1", "1e3", "Gi"] {
            assert_eq!(Quantity::memory(text), Err(QuantityError::Malformed), "{text}");
        }
        for text in ["", "m", "1.5m", "1M"] {
            assert_eq!(Quantity::cpu(text), Err(QuantityError::Malformed), "{text}");
        }
        assert_eq!(Quantity::memory(&"9".repeat(40)), Err(QuantityError::OutOfRange));
        assert_eq!(
            Quantity::memory("99999999999999999999999999999999999999Ei"),
            Err(QuantityError::OutOfRange)
        );
    }
}
