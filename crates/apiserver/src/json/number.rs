//! Numbers as Go prints them.

use serde_json::Number;

/// A number in JSON.
pub(super) fn json_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => json_float(float),
        _ => number.to_string(),
    }
}

/// The shortest digits that mean the same number; an exponent only for the very small and the very large.
fn json_float(float: f64) -> String {
    // What is kept is read again before it is shown, and then there is no negative zero.
    if float == 0.0 {
        return "0".to_owned();
    }
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        with_signed_exponent(&scientific(float), 1)
    } else {
        plain(float)
    }
}

/// The shortest digits without an exponent. Of two that are as near, those that end with an even digit.
fn plain(float: f64) -> String {
    let shortest = float.to_string();
    let even = |decimals: usize| format!("{float:.decimals$}");
    even_if_same(float, shortest, even)
}

/// The shortest digits with an exponent. Of two that are as near, those that end with an even digit.
fn scientific(float: f64) -> String {
    let shortest = format!("{float:e}");
    let even = |decimals: usize| format!("{float:.decimals$e}");
    even_if_same(float, shortest, even)
}

fn even_if_same(float: f64, shortest: String, even: impl FnOnce(usize) -> String) -> String {
    let decimals = shortest
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.bytes().take_while(u8::is_ascii_digit).count());
    if decimals == 0 {
        return shortest;
    }
    Some(even(decimals)).filter(|even| even.parse() == Ok(float)).unwrap_or(shortest)
}

/// The power of ten from which on [`general_float`] prints an exponent.
const LARGE: i32 = 6;

/// The format `%g` of Go: an exponent of two digits for the small and the large.
pub(super) fn general_float(float: f64) -> String {
    general(&scientific(float), || plain(float))
}

/// Like [`general_float`], with the digits that a 32-bit number needs.
pub(super) fn general_short_float(float: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the keys of a YAML map are printed with this precision"
    )]
    let float = float as f32;
    general(&format!("{float:e}"), || float.to_string())
}

fn general(scientific: &str, plain: impl FnOnce() -> String) -> String {
    let (_, exponent) = split_exponent(scientific);
    if (-4..LARGE).contains(&exponent) { plain() } else { with_signed_exponent(scientific, 2) }
}

fn split_exponent(scientific: &str) -> (&str, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

fn with_signed_exponent(scientific: &str, width: usize) -> String {
    let (digits, exponent) = split_exponent(scientific);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:0width$}", exponent.unsigned_abs())
}

/// What a number is after it went through a text: a number without a fraction becomes an integer.
pub(super) fn reread(number: &Number) -> Number {
    if !number.is_f64() {
        return number.clone();
    }
    json_number(number).parse::<i64>().map_or_else(|_| number.clone(), Number::from)
}
