//! Verbs with their flags: Go's `fmt/format.go`. Functions return false for a bad verb.

use super::{
    Flags,
    quote::{is_printable, quote, quote_to_ascii},
};
use crate::number;

/// Digits after the point of `%e` and `%f` without a precision.
const DEFAULT_PRECISION: usize = 6;
/// Significant digits of `%#g` without a precision.
const SHARP_DIGITS: usize = 6;
/// Minimum digits of `%U`.
const UNICODE_DIGITS: usize = 4;

/// `padString`: fills up to the width, with zeros on the left if the flag is set.
pub(super) fn pad(out: &mut String, text: &str, flags: Flags) {
    let missing = flags.width.unwrap_or(0).saturating_sub(text.chars().count());
    let fill = if flags.zero && !flags.minus { '0' } else { ' ' };
    if flags.minus {
        out.push_str(text);
    }
    out.extend(std::iter::repeat_n(fill, missing));
    if !flags.minus {
        out.push_str(text);
    }
}

/// Fills up to the width with spaces.
fn pad_with_spaces(out: &mut String, text: &str, flags: Flags) {
    pad(out, text, Flags { zero: false, ..flags });
}

/// `fmtBool`.
pub(super) fn boolean(out: &mut String, value: bool, verb: char, flags: Flags) -> bool {
    let is_known = matches!(verb, 't' | 'v');
    if is_known {
        pad(out, if value { "true" } else { "false" }, flags);
    }
    is_known
}

/// `fmtInteger` of a signed integer.
pub(super) fn signed(out: &mut String, value: i64, verb: char, flags: Flags) -> bool {
    match verb {
        'v' => digits(out, value < 0, value.unsigned_abs(), 'd', flags),
        'd' | 'b' | 'o' | 'O' | 'x' | 'X' => digits(out, value < 0, value.unsigned_abs(), verb, flags),
        // Go prints these of the two's complement.
        _ => return unsigned(out, value.cast_unsigned(), verb, flags),
    }
    true
}

/// `fmtInteger` of an unsigned integer.
pub(super) fn unsigned(out: &mut String, value: u64, verb: char, flags: Flags) -> bool {
    match verb {
        'v' if flags.sharp_v => digits(out, false, value, 'x', Flags { sharp: true, ..flags }),
        'v' => digits(out, false, value, 'd', flags),
        'd' | 'b' | 'o' | 'O' | 'x' | 'X' => digits(out, false, value, verb, flags),
        'c' => pad(out, character(value).encode_utf8(&mut [0; 4]), flags),
        'q' => {
            let text = character(value).to_string();
            let quoted = if flags.plus { quote_to_ascii(&text, '\'') } else { quote(&text, '\'') };
            pad(out, &quoted, flags);
        }
        'U' => unicode(out, value, flags),
        _ => return false,
    }
    true
}

/// `fmt.fmtInteger`: sign, prefix and digits.
fn digits(out: &mut String, is_negative: bool, magnitude: u64, verb: char, flags: Flags) {
    let sign = match (is_negative, flags.plus, flags.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let (prefix, digits) = match verb {
        'b' => ("0b", format!("{magnitude:b}")),
        'o' => ("0", format!("{magnitude:o}")),
        'O' => ("0o", format!("{magnitude:o}")),
        'x' => ("0x", format!("{magnitude:x}")),
        'X' => ("0X", format!("{magnitude:X}")),
        _ => ("", magnitude.to_string()),
    };
    let length = match (flags.precision, flags.width) {
        (Some(0), _) if magnitude == 0 => return pad_with_spaces(out, "", flags),
        (Some(precision), _) => precision,
        // Zeros fill the width without the sign, but with the prefix added to it.
        (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(sign.len()),
        _ => 0,
    };
    let zeros = "0".repeat(length.saturating_sub(digits.len()));
    let digits = zeros + &digits;
    let prefix = match verb {
        'o' if digits.starts_with('0') || !flags.sharp => "",
        // `%#O` has both prefixes.
        'O' if flags.sharp && !digits.starts_with('0') => "0o0",
        'O' => prefix,
        _ if flags.sharp => prefix,
        _ => "",
    };
    pad_with_spaces(out, &format!("{sign}{prefix}{digits}"), flags);
}

fn character(code: u64) -> char {
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// `fmtUnicode`.
fn unicode(out: &mut String, code: u64, flags: Flags) {
    let length = flags.precision.unwrap_or(0).max(UNICODE_DIGITS);
    let mut text = format!("U+{code:0length$X}");
    let printable = u32::try_from(code).ok().and_then(char::from_u32).filter(|c| is_printable(*c));
    if let (true, Some(c)) = (flags.sharp, printable) {
        text.extend([' ', '\'', c, '\'']);
    }
    pad_with_spaces(out, &text, flags);
}

/// `fmtFloat`.
pub(super) fn float(out: &mut String, value: f64, verb: char, flags: Flags) -> bool {
    let (verb, precision) = match verb {
        'v' => ('g', flags.precision),
        'g' | 'G' => (verb, flags.precision),
        'e' | 'E' | 'f' => (verb, Some(flags.precision.unwrap_or(DEFAULT_PRECISION))),
        'F' => ('f', Some(flags.precision.unwrap_or(DEFAULT_PRECISION))),
        _ => return false,
    };
    let text = number::with_precision(value, verb, precision);
    let (sign, mut body) = match text.strip_prefix('-') {
        Some(body) => ("-", body.to_owned()),
        None => ("+", text.strip_prefix('+').unwrap_or(&text).to_owned()),
    };
    let sign = match (sign, flags.plus, flags.space) {
        ("+", false, true) => " ",
        // Go prints the sign of an infinity.
        ("+", false, false) if !value.is_infinite() => "",
        (sign, ..) => sign,
    };
    if !value.is_finite() {
        pad_with_spaces(out, &format!("{sign}{body}"), flags);
        return true;
    }
    if flags.sharp {
        body = with_point(&body, verb, precision);
    }
    let length = sign.len() + body.len();
    match flags.width {
        Some(width) if flags.zero && !flags.minus && width > length => {
            out.push_str(sign);
            out.push_str(&"0".repeat(width - length));
            out.push_str(&body);
        }
        _ => pad(out, &format!("{sign}{body}"), flags),
    }
    true
}

/// `%#…` of a float: always a point, and the trailing zeros of `%g`.
fn with_point(body: &str, verb: char, precision: Option<usize>) -> String {
    let (mantissa, exponent) = body.split_at(body.find(['e', 'E']).unwrap_or(body.len()));
    let wanted = match verb {
        'g' | 'G' => precision.unwrap_or(SHARP_DIGITS),
        _ => 0,
    };
    let significant = mantissa.chars().filter(char::is_ascii_digit).skip_while(|c| *c == '0').count();
    let mut out = mantissa.to_owned();
    let mut present = significant;
    if !out.contains('.') {
        // A lone zero counts as a digit.
        present += usize::from(out == "0");
        out.push('.');
    }
    out.push_str(&"0".repeat(wanted.saturating_sub(present)));
    out + exponent
}

/// `fmtString`.
pub(super) fn text(out: &mut String, text: &str, verb: char, flags: Flags) -> bool {
    match verb {
        'v' if flags.sharp_v => string(out, text, 'q', flags),
        'v' | 's' => string(out, text, 's', flags),
        'q' => string(out, text, 'q', flags),
        'x' | 'X' => bytes(out, text.as_bytes(), verb, flags),
        _ => return false,
    }
    true
}

/// `fmtS` and `fmtQ`: the precision is the number of characters.
pub(super) fn string(out: &mut String, text: &str, verb: char, flags: Flags) {
    let end = flags.precision.and_then(|precision| text.char_indices().nth(precision));
    let text = &text[..end.map_or(text.len(), |(at, _)| at)];
    if verb == 's' {
        pad(out, text, flags);
    } else if flags.sharp && can_backquote(text) {
        pad(out, &format!("`{text}`"), flags);
    } else if flags.plus {
        pad(out, &quote_to_ascii(text, '"'), flags);
    } else {
        pad(out, &quote(text, '"'), flags);
    }
}

/// `strconv.CanBackquote`.
fn can_backquote(text: &str) -> bool {
    !text.chars().any(|c| matches!(c, '`' | '\u{7f}' | '\u{feff}') || (c < ' ' && c != '\t'))
}

/// `fmtSbx`: the precision is the number of bytes.
fn bytes(out: &mut String, bytes: &[u8], verb: char, flags: Flags) {
    let length = flags.precision.unwrap_or(bytes.len()).min(bytes.len());
    let pairs: Vec<String> = bytes[..length]
        .iter()
        .map(|byte| if verb == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") })
        .collect();
    let prefix = match (flags.sharp && length > 0, verb) {
        (false, _) => "",
        (true, 'x') => "0x",
        (true, _) => "0X",
    };
    let separator = if flags.space { format!(" {prefix}") } else { String::new() };
    pad(out, &format!("{prefix}{}", pairs.join(&separator)), flags);
}
