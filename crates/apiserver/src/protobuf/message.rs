//! Description of messages: number, name and type of their fields.

use serde_json::{Map, Value};

/// Fields of a message.
pub(super) type Message = &'static [Field];

/// Field of a message.
#[derive(Debug)]
pub(super) struct Field {
    /// Number on the wire.
    pub(super) number: u32,
    /// Name in JSON.
    pub(super) name: &'static str,
    /// Type of the value, or of each value.
    pub(super) of: Type,
    /// One value, or several.
    pub(super) count: Count,
}

/// Number of values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// One. The last one counts; messages are merged.
    One,
    /// One, absent in JSON if it is zero: `omitempty` without a pointer in Go. It is always on the wire.
    OneUnlessZero,
    /// List.
    Many,
    /// Map with string keys.
    Map,
}

/// Type of a value.
#[derive(Debug)]
pub(super) enum Type {
    /// String.
    Text,
    /// Bytes; base64 in JSON.
    Bytes,
    /// Boolean.
    Flag,
    /// Integer of 32 bits.
    Int32,
    /// Integer of 64 bits.
    Int64,
    /// Float of 64 bits.
    Double,
    /// Time in whole seconds; null for the zero time.
    Time,
    /// Time with microseconds; null for the zero time.
    MicroTime,
    /// Message with JSON text as its only field, number 1.
    Json,
    /// Message.
    Message(&'static Message),
    /// Message whose JSON is made from its fields.
    Wrapped(&'static Message, fn(Map<String, Value>) -> Value),
}

/// Field with one value.
pub(super) const fn one(number: u32, name: &'static str, of: Type) -> Field {
    Field { number, name, of, count: Count::One }
}

/// Field with one value that is absent in JSON if it is zero.
pub(super) const fn set(number: u32, name: &'static str, of: Type) -> Field {
    Field { number, name, of, count: Count::OneUnlessZero }
}

/// List field.
pub(super) const fn many(number: u32, name: &'static str, of: Type) -> Field {
    Field { number, name, of, count: Count::Many }
}

/// Map field.
pub(super) const fn map(number: u32, name: &'static str, of: Type) -> Field {
    Field { number, name, of, count: Count::Map }
}
