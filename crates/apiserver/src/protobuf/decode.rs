//! Decoder of messages into JSON values.

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_cel::time::rfc3339;
use serde_json::{Map, Number, Value};

use super::{
    message::{Count, Field, Message, Type},
    wire::{Malformed, Reader, Wire, low_bits},
};
use crate::json::{self, MAX_DEPTH};

/// Seconds from the year 1, which is the zero time, to the end of the year 9999.
const YEARS: std::ops::RangeInclusive<i64> = ZERO_TIME..=253_402_300_799;
/// The zero time of Go: 0001-01-01T00:00:00Z.
const ZERO_TIME: i64 = -62_135_596_800;

/// Decodes a message into the fields of an object at this level of nesting.
pub(super) fn message(
    message: Message,
    bytes: &[u8],
    into: &mut Map<String, Value>,
    level: usize,
) -> Result<(), Malformed> {
    if level > MAX_DEPTH {
        return Err(Malformed::TooDeep);
    }
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag()? {
        match message.iter().find(|field| field.number == number) {
            Some(field) => read(field, &mut reader, wire, into, level)?,
            None => reader.skip(wire)?,
        }
    }
    Ok(())
}

/// Reads one occurrence of a field.
fn read(
    field: &Field,
    reader: &mut Reader<'_>,
    wire: Wire,
    into: &mut Map<String, Value>,
    level: usize,
) -> Result<(), Malformed> {
    match field.count {
        Count::One | Count::OneUnlessZero => {
            let before = into.remove(field.name);
            let value = value(&field.of, reader, wire, before, level)?;
            let kept = match &value {
                Value::Null => matches!(field.of, Type::Json),
                _ if field.count == Count::One => true,
                Value::Bool(flag) => *flag,
                Value::String(text) => !text.is_empty(),
                Value::Number(number) => number.as_i64() != Some(0),
                Value::Array(_) | Value::Object(_) => true,
            };
            if kept {
                into.insert(field.name.to_owned(), value);
            }
        }
        Count::Many => {
            let item = value(&field.of, reader, wire, None, level + 1)?;
            let list = into.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(item);
            }
        }
        Count::Map => {
            let (key, value) = entry(&field.of, reader.bytes_of(wire)?, level + 1)?;
            let map = into.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(map) = map {
                map.insert(key, value);
            }
        }
    }
    Ok(())
}

/// Entry of a map: field 1 is the key, field 2 the value; both may be left out if they are zero.
fn entry(of: &Type, bytes: &[u8], level: usize) -> Result<(String, Value), Malformed> {
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag()? {
        match number {
            1 => key = text(reader.bytes_of(wire)?),
            2 => found = Some(value(of, &mut reader, wire, None, level)?),
            _ => reader.skip(wire)?,
        }
    }
    let found = match found {
        Some(value) => value,
        None => value(of, &mut Reader::new(&[0]), Wire::Bytes(2), None, level)?,
    };
    Ok((key, found))
}

/// Value of a field; `before` is an earlier one of the same field, with which a message is merged.
fn value(
    of: &Type,
    reader: &mut Reader<'_>,
    wire: Wire,
    before: Option<Value>,
    level: usize,
) -> Result<Value, Malformed> {
    Ok(match of {
        Type::Text => Value::String(text(reader.bytes_of(wire)?)),
        Type::Bytes => Value::String(STANDARD.encode(reader.bytes_of(wire)?)),
        Type::Flag => Value::Bool(reader.varint_of(wire)? != 0),
        Type::Int32 => Value::from(low_bits(reader.varint_of(wire)?).cast_signed()),
        Type::Int64 => Value::from(reader.varint_of(wire)?.cast_signed()),
        Type::Double => {
            Number::from_f64(reader.double_of(wire)?).map(Value::Number).ok_or(Malformed::Number)?
        }
        Type::Time => time(reader.bytes_of(wire)?)?,
        Type::MicroTime => micro_time(reader.bytes_of(wire)?)?,
        Type::Json => embedded_json(reader.bytes_of(wire)?, level)?,
        Type::Message(fields) => {
            let mut object = match before {
                Some(Value::Object(object)) => object,
                _ => Map::new(),
            };
            message(fields, reader.bytes_of(wire)?, &mut object, level + 1)?;
            Value::Object(object)
        }
        Type::Wrapped(fields, unwrap) => {
            let mut object = Map::new();
            message(fields, reader.bytes_of(wire)?, &mut object, level + 1)?;
            unwrap(object)
        }
    })
}

/// Text; bytes that are not UTF-8 become replacement characters, as in JSON bodies.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Seconds and nanoseconds of a time; none for the zero time, which has no bytes.
fn timestamp(bytes: &[u8]) -> Result<Option<(i64, i32)>, Malformed> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag()? {
        match number {
            1 => seconds = reader.varint_of(wire)?.cast_signed(),
            2 => nanos = low_bits(reader.varint_of(wire)?).cast_signed(),
            _ => reader.skip(wire)?,
        }
    }
    Ok(Some((seconds, nanos)))
}

/// Time in whole seconds: the fraction is ignored, as on a real server.
fn time(bytes: &[u8]) -> Result<Value, Malformed> {
    match timestamp(bytes)? {
        None | Some((ZERO_TIME, _)) => Ok(Value::Null),
        Some((seconds, _)) if YEARS.contains(&seconds) => Ok(Value::String(rfc3339(seconds))),
        Some(_) => Err(Malformed::Time),
    }
}

/// Time with six digits after the seconds.
fn micro_time(bytes: &[u8]) -> Result<Value, Malformed> {
    const MICROS: i64 = 1_000_000;
    let Some((seconds, nanos)) = timestamp(bytes)? else { return Ok(Value::Null) };
    let micros = i64::from(nanos / 1000);
    let seconds = seconds.checked_add(micros.div_euclid(MICROS)).ok_or(Malformed::Time)?;
    let micros = micros.rem_euclid(MICROS);
    if !YEARS.contains(&seconds) {
        return Err(Malformed::Time);
    }
    if (seconds, micros) == (ZERO_TIME, 0) {
        return Ok(Value::Null);
    }
    let whole = rfc3339(seconds);
    Ok(Value::String(format!("{}.{micros:06}Z", whole.trim_end_matches('Z'))))
}

/// Value of JSON text in the field 1 of a message; null if it is absent.
fn embedded_json(bytes: &[u8], level: usize) -> Result<Value, Malformed> {
    let mut source: &[u8] = &[];
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.tag()? {
        match number {
            1 => source = reader.bytes_of(wire)?,
            _ => reader.skip(wire)?,
        }
    }
    if source.is_empty() {
        return Ok(Value::Null);
    }
    let value = json::decode(source).map_err(|_| Malformed::Json)?.value;
    if level + levels(&value) > MAX_DEPTH { Err(Malformed::TooDeep) } else { Ok(value) }
}

/// Levels of nesting of a decoded value, which are bounded.
fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or_default(),
        _ => 0,
    }
}
