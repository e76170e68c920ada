//! Numbers as Go prints them.

/// From this exponent on, `%v` and `%g` write one.
const LARGE: i32 = 6;

/// The shortest form, as `%v` and `%g` give it.
pub(crate) fn general(float: f64) -> String {
    if let Some(word) = special(float) {
        return word.to_owned();
    }
    let (negative, digits, exponent) = shortest(float);
    let body = if (-4..LARGE).contains(&exponent) {
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

/// Sign, shortest digits that give the number back, and the exponent of the first.
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

/// As Go's JSON has it; nothing for what JSON does not have.
pub(super) fn json(float: f64) -> Option<String> {
    if special(float).is_some() {
        return None;
    }
    let (negative, digits, exponent) = shortest(float);
    let size = float.abs();
    let body = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // A single digit of a negative exponent has no zero before it.
        scientific(&digits, exponent).replace("e-0", "e-")
    } else {
        positional(&digits, exponent)
    };
    Some(if negative { format!("-{body}") } else { body })
}

/// `%e`, `%f` and `%g` with a precision.
pub(super) fn with_precision(float: f64, verb: char, precision: Option<usize>) -> String {
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
