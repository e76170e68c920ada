//! Formatting of floats, as in Go.

/// Smallest exponent that `%v` and `%g` print.
const MIN_LARGE_EXPONENT: i32 = 6;

/// Shortest form, as of `%v` and `%g`.
pub(crate) fn general(float: f64) -> String {
    if let Some(word) = special(float) {
        return word.to_owned();
    }
    let (negative, digits, exponent) = shortest(float);
    let body = if (-4..MIN_LARGE_EXPONENT).contains(&exponent) {
        positional(&digits, exponent)
    } else {
        scientific(&digits, exponent)
    };
    if negative { format!("-{body}") } else { body }
}

fn special(float: f64) -> Option<&'static str> {
    if float.is_nan() {
        Some("NaN")
    } else if float.is_infinite() {
        Some(if float > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        None
    }
}

/// Sign, shortest digits that round-trip, and the exponent of the first digit.
fn shortest(float: f64) -> (bool, String, i32) {
    split(&format!("{float:e}"))
}

fn split(scientific: &str) -> (bool, String, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    (mantissa.starts_with('-'), digits, exponent.parse().unwrap_or(0))
}

fn scientific(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs())
}

fn positional(digits: &str, exponent: i32) -> String {
    let count = digits.len();
    match usize::try_from(exponent) {
        Ok(exponent) if exponent + 1 >= count => format!("{digits}{}", "0".repeat(exponent + 1 - count)),
        Ok(exponent) => format!("{}.{}", &digits[..=exponent], &digits[exponent + 1..]),
        Err(_) => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            format!("0.{}{digits}", "0".repeat(zeros))
        }
    }
}

/// Number of Go's JSON encoder; `None` for infinities and NaN.
pub(crate) fn json(float: f64) -> Option<String> {
    if special(float).is_some() {
        return None;
    }
    let (negative, digits, exponent) = shortest(float);
    let size = float.abs();
    let body = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // Go drops the leading zero of a negative exponent only.
        scientific(&digits, exponent).replace("e-0", "e-")
    } else {
        positional(&digits, exponent)
    };
    Some(if negative { format!("-{body}") } else { body })
}

/// `%e`, `%f` and `%g` with a precision.
pub(crate) fn with_precision(float: f64, verb: char, precision: Option<usize>) -> String {
    if let Some(word) = special(float) {
        return word.to_owned();
    }
    let text = match verb.to_ascii_lowercase() {
        'e' => {
            let (negative, digits, exponent) = split(&format!("{float:.*e}", precision.unwrap_or(6)));
            format!("{}{}", if negative { "-" } else { "" }, scientific(&digits, exponent))
        }
        'f' => format!("{float:.*}", precision.unwrap_or(6)),
        _ => match precision {
            None => general(float),
            Some(precision) => {
                let wanted = precision.max(1);
                let (negative, digits, exponent) = split(&format!("{float:.*e}", wanted - 1));
                let kept = digits.trim_end_matches('0');
                let digits = if kept.is_empty() { "0" } else { kept };
                let limit = i32::try_from(wanted).unwrap_or(i32::MAX);
                let body = if (-4..limit).contains(&exponent) {
                    positional(digits, exponent)
                } else {
                    scientific(digits, exponent)
                };
                format!("{}{body}", if negative { "-" } else { "" })
            }
        },
    };
    if verb.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}
