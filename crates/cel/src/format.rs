//! `'…'.format([…])`: clauses are checked when a rule is compiled, and expanded when it runs.

use crate::convert;
use crate::syntax::{Expr, Issue, Kind};
use crate::types::Type;
use crate::value::{Fail, Val};

/// A piece of a format text.
enum Piece<'t> {
    Text(&'t str),
    Clause { letter: char, precision: Option<usize> },
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        pieces.push(Piece::Text(&rest[..at]));
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            pieces.push(Piece::Text("%"));
            rest = after;
            continue;
        }
        let mut precision = None;
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let invalid = "could not parse formatting clause: error while parsing precision: error while converting precision to integer";
            precision = Some(after[..end].parse().ok().filter(|digits| *digits <= 100).ok_or(invalid)?);
            rest = &after[end..];
        }
        let letter = rest.chars().next().ok_or("unexpected end of string")?;
        if !"sdfebxXo".contains(letter) {
            return Err(format!(
                "could not parse formatting clause: unrecognized formatting clause \"{letter}\""
            ));
        }
        rest = &rest[letter.len_utf8()..];
        pieces.push(Piece::Clause { letter, precision });
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// Types that a clause accepts, and the error for others.
fn wanted(letter: char) -> (&'static [&'static str], &'static str) {
    match letter {
        'd' => (&["int", "uint"], "decimal clause can only be used on integers"),
        'f' => (&["double", "string"], "fixed-point clause can only be used on doubles"),
        'e' => (&["double", "string"], "scientific clause can only be used on doubles"),
        'b' => (&["int", "uint", "bool"], "only integers and bools can be formatted as binary"),
        'x' | 'X' => (
            &["int", "uint", "string", "bytes"],
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
        'o' => (&["int", "uint"], "octal clause can only be used on integers"),
        _ => (
            &[
                "list",
                "map",
                "int",
                "uint",
                "double",
                "bool",
                "string",
                "google.protobuf.Timestamp",
                "bytes",
                "google.protobuf.Duration",
                "type",
                "null_type",
            ],
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
             timestamps",
        ),
    }
}

/// Checks a call of `format`.
pub(crate) fn check(call_at: usize, text: &Expr, list: &Expr, types: &[Type<'_>]) -> Option<Issue> {
    let Some(text) = text.constant_text() else {
        return Some(Issue::unsupported(call_at, "format with a text that is not a constant"));
    };
    let clauses: Vec<char> = match pieces(text) {
        Err(problem) => return Some(Issue::new(call_at, problem)),
        Ok(pieces) => pieces
            .iter()
            .filter_map(|piece| if let Piece::Clause { letter, .. } = piece { Some(*letter) } else { None })
            .collect(),
    };
    if clauses.contains(&'e') {
        return Some(Issue::unsupported(call_at, "the clause %e of format"));
    }
    let Kind::List(args) = &list.kind else { return None };
    if args.len() < clauses.len() {
        return Some(Issue::new(call_at, format!("index {} out of range", args.len())));
    }
    for (letter, arg) in clauses.iter().zip(args) {
        if let Some((at, found)) = misfit(*letter, arg, types) {
            return Some(Issue::new(
                at,
                format!("error during formatting: {}, was given {found}", wanted(*letter).1),
            ));
        }
    }
    if args.len() > clauses.len() {
        let (expected, got) = (clauses.len(), args.len());
        return Some(Issue::new(
            call_at,
            format!("too many arguments supplied to string.format (expected {expected}, got {got})"),
        ));
    }
    None
}

fn misfit(letter: char, arg: &Expr, types: &[Type<'_>]) -> Option<(usize, String)> {
    let found = types.get(arg.id)?;
    if *found != Type::Dyn && !wanted(letter).0.contains(&found.runtime_name().as_str()) {
        return Some((arg.at, found.runtime_name()));
    }
    match &arg.kind {
        Kind::List(_) | Kind::Map(_) if letter == 's' => {
            arg.children().into_iter().find_map(|inner| misfit('s', inner, types))
        }
        _ => None,
    }
}

/// Fills in the clauses.
pub(crate) fn format(text: &str, args: &[Val<'_>]) -> Result<String, Fail> {
    let mut out = String::new();
    let mut next = args.iter().enumerate();
    for piece in pieces(text).map_err(Fail::error)? {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Clause { letter, precision } => {
                let Some((_, arg)) = next.next() else {
                    return Err(Fail::error(format!("index {} out of range", args.len())));
                };
                out.push_str(&clause(letter, precision, arg)?);
            }
        }
    }
    Ok(out)
}

fn clause(letter: char, precision: Option<usize>, arg: &Val<'_>) -> Result<String, Fail> {
    let formatted = match (letter, arg) {
        ('s', value) => shown(value, false)?,
        ('d', Val::Int(number)) => Some(number.to_string()),
        ('d', Val::Uint(number)) => Some(number.to_string()),
        ('f', Val::Double(number)) => Some(fixed(*number, precision.unwrap_or(6))),
        ('f', Val::String(text)) => match text.as_ref() {
            "NaN" => Some(fixed(f64::NAN, 0)),
            "Infinity" => Some(fixed(f64::INFINITY, 0)),
            "-Infinity" => Some(fixed(f64::NEG_INFINITY, 0)),
            _ => None,
        },
        ('b', Val::Bool(value)) => Some(u8::from(*value).to_string()),
        ('b' | 'x' | 'X' | 'o', Val::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            Some(format!("{sign}{}", based(letter, number.unsigned_abs())))
        }
        ('b' | 'x' | 'X' | 'o', Val::Uint(number)) => Some(based(letter, *number)),
        ('x' | 'X', Val::String(text)) => Some(hex(letter, text.as_bytes())),
        ('x' | 'X', Val::Bytes(bytes)) => Some(hex(letter, bytes)),
        _ => None,
    };
    formatted.ok_or_else(|| {
        Fail::error(format!("error during formatting: {}, was given {}", wanted(letter).1, arg.type_name()))
    })
}

fn based(letter: char, number: u64) -> String {
    match letter {
        'b' => format!("{number:b}"),
        'o' => format!("{number:o}"),
        'x' => format!("{number:x}"),
        _ => format!("{number:X}"),
    }
}

fn hex(letter: char, bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| if letter == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") })
        .collect()
}

/// Value for `%s`: strings are plain, but quoted inside lists and maps.
fn shown(value: &Val<'_>, inside: bool) -> Result<Option<String>, Fail> {
    Ok(Some(match value {
        Val::Null => "null".to_owned(),
        Val::List(list) => {
            let mut items = Vec::new();
            for item in list.iter() {
                items.push(shown_inside(&item?)?);
            }
            format!("[{}]", items.join(", "))
        }
        Val::Map(map) => {
            let mut entries = Vec::new();
            for key in map.keys() {
                let value = map
                    .get(&key)?
                    .ok_or_else(|| Fail::error(format!("could not find key: {:?}", convert::shown(&key))))?;
                entries.push((shown_inside(&key)?, shown_inside(&value)?));
            }
            entries.sort();
            let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Val::Double(number) if inside && number.is_finite() => format!("{number:.6}"),
        Val::Double(number) if inside => format!("{:?}", convert::shown(&Val::Double(*number))),
        other => match convert::text(other)? {
            None => return Ok(None),
            Some(text) => match other {
                Val::String(_) if inside => format!("{text:?}"),
                Val::Bytes(_) if inside => format!("b{text:?}"),
                Val::Timestamp(_) if inside => format!("timestamp({text:?})"),
                Val::Duration(_) if inside => format!("duration({text:?})"),
                _ => text,
            },
        },
    }))
}

fn shown_inside(value: &Val<'_>) -> Result<String, Fail> {
    shown(value, true)?
        .ok_or_else(|| Fail::error(format!("no formatting function for {}", value.type_name())))
}

/// A double with a number of decimals, and commas between thousands.
fn fixed(number: f64, decimals: usize) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}∞");
    }
    let text = format!("{:.decimals$}", number.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_rounded_and_grouped() {
        for (number, decimals, text) in [
            (1234.5, 2, "1,234.50"),
            (0.125, 2, "0.12"),
            (0.375, 2, "0.38"),
            (2.675, 2, "2.67"),
            (999.999, 2, "1,000.00"),
            (-1_234_567.0, 0, "-1,234,567"),
            (2.5, 0, "2"),
        ] {
            assert_eq!(fixed(number, decimals), text);
        }
    }
}
