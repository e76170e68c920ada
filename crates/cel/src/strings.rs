//! Functions on strings. Positions are counted in characters.

use orchestra_re2::Regex;

use crate::value::{Fail, Val};

/// Function on a string; none for other functions.
pub(crate) fn call<'a>(function: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>, Fail>> {
    if let ("size", [Val::Bytes(bytes)]) = (function, args) {
        return Some(Ok(Val::count(bytes.len())));
    }
    let (Val::String(text), rest) = args.split_first()? else { return None };
    let text = text.as_ref();
    Some(match (function, rest) {
        ("size", []) => Ok(Val::count(text.chars().count())),
        ("contains", [Val::String(part)]) => Ok(Val::Bool(text.contains(part.as_ref()))),
        ("startsWith", [Val::String(part)]) => Ok(Val::Bool(text.starts_with(part.as_ref()))),
        ("endsWith", [Val::String(part)]) => Ok(Val::Bool(text.ends_with(part.as_ref()))),
        ("charAt", [Val::Int(at)]) => char_at(text, *at),
        ("indexOf", [Val::String(part)]) => first_index(text, part, 0),
        ("indexOf", [Val::String(part), Val::Int(from)]) => first_index(text, part, *from),
        ("lastIndexOf", [Val::String(part)]) => {
            let length = text.chars().count();
            match part.is_empty() {
                true => Ok(Val::count(length)),
                false if text.len() < part.len() => Ok(Val::Int(-1)),
                false => last_index(text, part, i64::try_from(length).unwrap_or(i64::MAX) - 1),
            }
        }
        ("lastIndexOf", [Val::String(part), Val::Int(from)]) => last_index(text, part, *from),
        ("lowerAscii", []) => Ok(Val::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Val::text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(Val::text(text.trim())),
        ("replace", [Val::String(from), Val::String(to)]) => Ok(Val::text(text.replace(from.as_ref(), to))),
        ("replace", [Val::String(from), Val::String(to), Val::Int(count)]) => {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            Ok(Val::text(text.replacen(from.as_ref(), to, count)))
        }
        ("split", [Val::String(separator)]) => Ok(split(text, separator, -1)),
        ("split", [Val::String(separator), Val::Int(count)]) => Ok(split(text, separator, *count)),
        ("substring", [Val::Int(start)]) => substring(text, *start, None),
        ("substring", [Val::Int(start), Val::Int(end)]) => substring(text, *start, Some(*end)),
        ("strings.quote", []) => Ok(Val::text(quoted(text))),
        _ => return None,
    })
}

/// `matches`, `find` and `findAll`.
pub(crate) fn search<'a>(
    function: &str,
    pattern: &Regex,
    text: &str,
    limit: Option<&Val<'a>>,
) -> Result<Val<'a>, Fail> {
    match function {
        "matches" => Ok(Val::Bool(pattern.is_match(text))),
        "find" => Ok(Val::text(pattern.find(text).map_or("", |found| found.as_str()))),
        _ => {
            let limit = match limit {
                None => usize::MAX,
                Some(Val::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
                Some(_) => return Err(Fail::no_such_overload()),
            };
            Ok(Val::list(
                pattern.find_iter(text).take(limit).map(|found| Val::text(found.as_str())).collect(),
            ))
        }
    }
}

fn out_of_range<'a>(at: i64) -> Result<Val<'a>, Fail> {
    Err(Fail::error(format!("index out of range: {at}")))
}

fn char_at<'a>(text: &str, at: i64) -> Result<Val<'a>, Fail> {
    let Some(place) = usize::try_from(at).ok().filter(|place| *place <= text.chars().count()) else {
        return out_of_range(at);
    };
    Ok(Val::text(text.chars().nth(place).map(String::from).unwrap_or_default()))
}

/// Offset in bytes of a character; none beyond the end.
fn byte_of(text: &str, place: usize) -> Option<usize> {
    text.char_indices().map(|(byte, _)| byte).chain([text.len()]).nth(place)
}

fn first_index<'a>(text: &str, part: &str, from: i64) -> Result<Val<'a>, Fail> {
    if part.is_empty() {
        return Ok(Val::Int(from));
    }
    let Ok(start) = usize::try_from(from) else { return out_of_range(from) };
    let Some(byte) = byte_of(text, start) else { return Ok(Val::Int(-1)) };
    Ok(match text[byte..].find(part) {
        Some(found) => Val::count(start + text[byte..byte + found].chars().count()),
        None => Val::Int(-1),
    })
}

fn last_index<'a>(text: &str, part: &str, from: i64) -> Result<Val<'a>, Fail> {
    if part.is_empty() {
        return Ok(Val::Int(from));
    }
    let Ok(from) = usize::try_from(from) else { return out_of_range(from) };
    let length = text.chars().count();
    if from >= length {
        return Ok(Val::Int(-1));
    }
    let end = byte_of(text, from.saturating_add(part.chars().count()).min(length)).unwrap_or(text.len());
    Ok(match text[..end].rfind(part) {
        Some(found) => Val::count(text[..found].chars().count()),
        None => Val::Int(-1),
    })
}

fn split<'a>(text: &str, separator: &str, count: i64) -> Val<'a> {
    let Ok(count) = usize::try_from(count) else {
        let pieces: Vec<Val<'a>> = if separator.is_empty() {
            text.chars().map(Val::text).collect()
        } else {
            text.split(separator).map(Val::text).collect()
        };
        return Val::list(pieces);
    };
    if count == 0 {
        return Val::list(Vec::new());
    }
    if !separator.is_empty() {
        return Val::list(text.splitn(count, separator).map(Val::text).collect());
    }
    let mut pieces: Vec<Val<'a>> = text.chars().take(count - 1).map(Val::text).collect();
    let rest: String = text.chars().skip(count - 1).collect();
    if !rest.is_empty() {
        pieces.push(Val::text(rest));
    }
    Val::list(pieces)
}

fn substring<'a>(text: &str, start: i64, end: Option<i64>) -> Result<Val<'a>, Fail> {
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Fail::error(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let byte = |place: i64| usize::try_from(place).ok().and_then(|place| byte_of(text, place));
    let Some(from) = byte(start) else { return out_of_range(start) };
    let to = match end {
        None => text.len(),
        Some(end) => match byte(end) {
            Some(to) => to,
            None => return out_of_range(end),
        },
    };
    Ok(Val::text(&text[from..to]))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
