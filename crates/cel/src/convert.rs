//! Arithmetic, conversions between types, and times.

use std::rc::Rc;

use crate::time::{self, Timestamp};
use crate::url::Url;
use crate::value::{Fail, Val};

/// An arithmetic operator.
pub(crate) fn arithmetic<'a>(operator: &str, args: &[Val<'a>]) -> Result<Val<'a>, Fail> {
    match args {
        [Val::Int(a), Val::Int(b)] => integers(operator, *a, *b).map(Val::Int),
        [Val::Uint(a), Val::Uint(b)] => unsigned(operator, *a, *b).map(Val::Uint),
        [Val::Double(a), Val::Double(b)] => match operator {
            "_+_" => Ok(Val::Double(a + b)),
            "_-_" => Ok(Val::Double(a - b)),
            "_*_" => Ok(Val::Double(a * b)),
            "_/_" => Ok(Val::Double(a / b)),
            _ => Err(Fail::Overload),
        },
        [Val::Int(a)] => a.checked_neg().map(Val::Int).ok_or_else(|| Fail::error("integer overflow")),
        [Val::Double(a)] => Ok(Val::Double(-a)),
        [Val::String(a), Val::String(b)] if operator == "_+_" => Ok(Val::text(format!("{a}{b}"))),
        [Val::Bytes(a), Val::Bytes(b)] if operator == "_+_" => {
            Ok(Val::Bytes(Rc::from([&**a, &**b].concat())))
        }
        _ => times(operator, args),
    }
}

fn integers(operator: &str, a: i64, b: i64) -> Result<i64, Fail> {
    let result = match operator {
        "_/_" if b == 0 => return Err(Fail::error("division by zero")),
        "_%_" if b == 0 => return Err(Fail::error("modulus by zero")),
        "_+_" => a.checked_add(b),
        "_-_" => a.checked_sub(b),
        "_*_" => a.checked_mul(b),
        "_/_" => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.ok_or_else(|| Fail::error("integer overflow"))
}

fn unsigned(operator: &str, a: u64, b: u64) -> Result<u64, Fail> {
    let result = match operator {
        "_/_" if b == 0 => return Err(Fail::error("division by zero")),
        "_%_" if b == 0 => return Err(Fail::error("modulus by zero")),
        "_+_" => a.checked_add(b),
        "_-_" => a.checked_sub(b),
        "_*_" => a.checked_mul(b),
        "_/_" => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.ok_or_else(|| Fail::error("unsigned integer overflow"))
}

fn times<'a>(operator: &str, args: &[Val<'a>]) -> Result<Val<'a>, Fail> {
    let moved = |time: &Timestamp, nanos: i128| {
        time.plus(nanos).map(Val::Timestamp).ok_or_else(|| Fail::error("timestamp overflow"))
    };
    match (operator, args) {
        ("_+_", [Val::Duration(a), Val::Duration(b)]) => duration(i128::from(*a) + i128::from(*b)),
        ("_-_", [Val::Duration(a), Val::Duration(b)]) => duration(i128::from(*a) - i128::from(*b)),
        (
            "_+_",
            [Val::Timestamp(time), Val::Duration(nanos)] | [Val::Duration(nanos), Val::Timestamp(time)],
        ) => moved(time, i128::from(*nanos)),
        ("_-_", [Val::Timestamp(time), Val::Duration(nanos)]) => moved(time, -i128::from(*nanos)),
        ("_-_", [Val::Timestamp(a), Val::Timestamp(b)]) => duration(a.nanos() - b.nanos()),
        _ => Err(Fail::Overload),
    }
}

fn duration<'a>(nanos: i128) -> Result<Val<'a>, Fail> {
    i64::try_from(nanos).map(Val::Duration).map_err(|_| Fail::error("duration overflow"))
}

/// Conversion or part of a time; none for other functions.
pub(crate) fn call<'a>(function: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>, Fail>> {
    match (function, args) {
        ("bool" | "bytes" | "double" | "duration" | "int" | "string" | "timestamp" | "uint", [value]) => {
            Some(converted(function, value))
        }
        ("url", [Val::String(text)]) => Some(match Url::parse(text) {
            Ok(url) => Ok(Val::Url(Rc::new(url))),
            Err(problem) => {
                Err(Fail::error(format!("URL parse error during conversion from string: {problem}")))
            }
        }),
        ("isURL", [Val::String(text)]) => Some(Ok(Val::Bool(Url::parse(text).is_ok()))),
        (_, [Val::Url(url)]) => url.part(function).map(Ok),
        (_, [Val::Timestamp(time)]) => part(function, *time, 0).map(Ok),
        (_, [Val::Timestamp(time), Val::String(zone)]) => match time::named_zone(zone) {
            Some(offset) => part(function, *time, offset).map(Ok),
            None => Some(Err(Fail::error(format!("unknown time zone {zone}")))),
        },
        (_, [Val::Duration(nanos)]) => {
            let scale = match function {
                "getHours" => 3_600_000_000_000,
                "getMinutes" => 60_000_000_000,
                "getSeconds" => 1_000_000_000,
                "getMilliseconds" => 1_000_000,
                _ => return None,
            };
            Some(Ok(Val::Int(nanos / scale)))
        }
        _ => None,
    }
}

fn part<'a>(function: &str, time: Timestamp, offset: i64) -> Option<Val<'a>> {
    let time = time.at(offset);
    Some(Val::Int(match function {
        "getFullYear" => time.year().into(),
        "getMonth" => i64::from(time.month()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDate" => time.day().into(),
        "getDayOfWeek" => time.weekday().to_sunday_zero_offset().into(),
        "getHours" => time.hour().into(),
        "getMinutes" => time.minute().into(),
        "getSeconds" => time.second().into(),
        "getMilliseconds" => time.millisecond().into(),
        _ => return None,
    }))
}

/// Converts a value to a type.
fn converted<'a>(to: &str, value: &Val<'a>) -> Result<Val<'a>, Fail> {
    let to_name = match to {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        other => other,
    };
    if value.type_name() == to_name {
        return Ok(value.clone());
    }
    let found = match (to, value) {
        ("string", value) => text(value)?.map(Val::text),
        ("bytes", Val::String(text)) => Some(Val::Bytes(text.as_bytes().into())),
        ("bool", Val::String(text)) => match text.as_ref() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(Val::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(Val::Bool(false)),
            _ => None,
        },
        ("int", value) => integer(value)?,
        ("uint", value) => natural(value)?,
        ("double", value) => double(value),
        ("duration", Val::String(text)) => time::parse_duration(text).map(Val::Duration),
        ("timestamp", Val::String(text)) => Timestamp::parse(text).map(Val::Timestamp),
        ("timestamp", Val::Int(seconds)) => {
            let time = Timestamp::from_nanos(i128::from(*seconds) * 1_000_000_000);
            Some(Val::Timestamp(time.ok_or_else(|| Fail::error("timestamp overflow"))?))
        }
        _ => None,
    };
    match value {
        Val::List(_) | Val::Map(_) | Val::Null | Val::Type(_) | Val::Url(_) if found.is_none() => {
            Err(Fail::Overload)
        }
        _ => found.ok_or_else(|| {
            Fail::error(format!("type conversion error from '{}' to '{to_name}'", value.type_name()))
        }),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "the range is checked")]
fn integer<'a>(value: &Val<'a>) -> Result<Option<Val<'a>>, Fail> {
    let overflow = || Fail::error("integer overflow");
    Ok(match value {
        Val::String(text) => text.parse().ok().map(Val::Int),
        Val::Uint(number) => Some(Val::Int(i64::try_from(*number).map_err(|_| overflow())?)),
        Val::Double(number) if *number > i64::MIN as f64 && *number < i64::MAX as f64 => {
            Some(Val::Int(*number as i64))
        }
        Val::Double(_) => return Err(overflow()),
        Val::Timestamp(time) => Some(Val::Int(time.seconds())),
        Val::Duration(nanos) => Some(Val::Int(*nanos)),
        _ => None,
    })
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn natural<'a>(value: &Val<'a>) -> Result<Option<Val<'a>>, Fail> {
    let overflow = || Fail::error("unsigned integer overflow");
    Ok(match value {
        Val::String(text) if !text.starts_with('+') => text.parse().ok().map(Val::Uint),
        Val::Int(number) => Some(Val::Uint(u64::try_from(*number).map_err(|_| overflow())?)),
        Val::Double(number) if *number >= 0.0 && *number < u64::MAX as f64 => Some(Val::Uint(*number as u64)),
        Val::Double(_) => return Err(overflow()),
        _ => None,
    })
}

#[allow(clippy::cast_precision_loss, reason = "that is what a conversion to double does")]
fn double<'a>(value: &Val<'a>) -> Option<Val<'a>> {
    match value {
        Val::Int(number) => Some(Val::Double(*number as f64)),
        Val::Uint(number) => Some(Val::Double(*number as f64)),
        Val::String(text) => {
            let number: f64 = text.parse().ok()?;
            (number.is_finite() || !text.contains(|c: char| c.is_ascii_digit()))
                .then_some(Val::Double(number))
        }
        _ => None,
    }
}

/// Text of a value, if it has one.
pub(crate) fn text(value: &Val<'_>) -> Result<Option<String>, Fail> {
    Ok(Some(match value {
        Val::String(text) => text.to_string(),
        Val::Bool(value) => value.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => shortest(*number),
        Val::Timestamp(time) => time.text(),
        Val::Duration(nanos) => format!("{}s", seconds(*nanos)),
        Val::Type(name) => (*name).to_owned(),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(Fail::error("invalid UTF-8 in bytes, cannot convert to string")),
        },
        _ => return Ok(None),
    }))
}

/// Nanoseconds as seconds, with the precision of a double.
#[allow(clippy::cast_precision_loss, reason = "the real server goes through a double as well")]
fn seconds(nanos: i64) -> String {
    ((nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9).to_string()
}

/// A key or an index in a message.
pub(crate) fn shown(value: &Val<'_>) -> String {
    text(value).ok().flatten().unwrap_or_else(|| value.type_name().to_owned())
}

/// Shortest text of a double; with an exponent if it is large or small.
fn shortest(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
