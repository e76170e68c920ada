//! Canonical form of quantities.
//!
//! Rendered objects are compared with live ones, where `1000m` becomes `1`. So quantities are rendered in the canonical form
//! of the API server: whole numbers with the largest exact unit.

/// Decimal units and their exponents.
const DECIMAL: [(&str, i32); 11] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    // Notation of Score.
    ("K", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
/// Binary units.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Exponent of the smallest unit.
const MIN_EXPONENT: i32 = -9;

/// Canonical form of a quantity; `None` if the text is not one.
pub(super) fn canonical(text: &str) -> Option<String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut mantissa: u128 = format!("{whole}{fraction}").parse().ok()?;
    let mut exponent = -i32::try_from(fraction.len()).ok()?;
    let binary = BINARY.iter().position(|known| *known == unit && !unit.is_empty());
    match binary {
        Some(power) => mantissa = mantissa.checked_mul(1 << (10 * power))?,
        None => exponent += DECIMAL.iter().find(|(known, _)| *known == unit)?.1,
    }
    while exponent < MIN_EXPONENT {
        mantissa = mantissa.div_ceil(10);
        exponent += 1;
    }
    if mantissa == 0 {
        return Some("0".to_owned());
    }
    while mantissa.is_multiple_of(10) {
        mantissa /= 10;
        exponent += 1;
    }
    let whole =
        u32::try_from(exponent).ok().and_then(|tens| mantissa.checked_mul(10_u128.checked_pow(tens)?));
    match whole.filter(|whole| binary.is_some() && *whole >= 1024) {
        Some(whole) => Some(in_binary(whole)),
        None => in_decimal(mantissa, exponent),
    }
}

fn in_binary(mut whole: u128) -> String {
    let mut power = 0;
    while power + 1 < BINARY.len() && whole.is_multiple_of(1024) {
        whole /= 1024;
        power += 1;
    }
    format!("{whole}{}", BINARY[power])
}

fn in_decimal(mut mantissa: u128, mut exponent: i32) -> Option<String> {
    let (largest, smallest) = (18, MIN_EXPONENT);
    while exponent.rem_euclid(3) != 0 || exponent > largest {
        mantissa = mantissa.checked_mul(10)?;
        exponent -= 1;
    }
    let unit = DECIMAL.iter().find(|(_, known)| *known == exponent.max(smallest))?.0;
    Some(format!("{mantissa}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_the_form_of_the_api_server() {
        for (written, canonical_form) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1500m", "1500m"),
            ("0.0005", "500u"),
            ("2", "2"),
            ("2000", "2k"),
            ("0", "0"),
            ("0.0", "0"),
            ("0.0000000001", "1n"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("128Mi", "128Mi"),
            ("1000Ki", "1000Ki"),
            ("0.5Ki", "512"),
            ("0.1Ki", "102400m"),
            ("1.0001Ki", "1024102400u"),
            ("1024", "1024"),
            ("1K", "1k"),
            ("1500M", "1500M"),
            ("1.5G", "1500M"),
            ("1000G", "1T"),
            ("2Ei", "2Ei"),
        ] {
            assert_eq!(canonical(written).as_deref(), Some(canonical_form), "{written}");
        }
        for wrong in ["", "m", "1e3", "-1", "1.2.3", "1Kb"] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_canonical_quantity_is_unchanged() {
        for amount in ["1", "500m", "1Gi", "1536Mi", "100k", "1024102400u"] {
            assert_eq!(canonical(amount).as_deref(), Some(amount));
        }
    }
}
