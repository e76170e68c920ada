//! Decoder of request bodies in protobuf, which typed clients of Go prefer: `kubectl create namespace`, leader election,
//! event recorders. Answers are JSON, which the same clients accept.
//!
//! A generic decoder (`decode`) over the wire format (`wire`) is driven by tables of messages (`messages`), and returns
//! the JSON that the client would have sent. Like the generated decoders of a real server it skips unknown fields,
//! accepts any bytes as text, and refuses malformed bodies. A body cannot nest deeper than a JSON body.

mod decode;
mod message;
mod messages;
#[cfg(test)]
mod tests;
mod wire;

use serde_json::{Map, Value};

use self::wire::{Reader, Wire};

pub(crate) use self::wire::Malformed;

/// Media type of these bodies.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// First bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// Decodes the object in a body, of this kind unless the body names another one. An object of an unexpected kind has no
/// fields but `apiVersion` and `kind`, which the caller checks for all formats.
pub(crate) fn decode(body: &[u8], api_version: &str, kind: &str) -> Result<Value, Malformed> {
    let envelope = Envelope::read(body)?;
    let mut fields = Map::new();
    let given = |name: &str, expected: &str| name.is_empty() || name == expected;
    if given(&envelope.kind, kind)
        && (given(&envelope.api_version, api_version) || kind == messages::DELETE_OPTIONS)
    {
        let message = messages::find(api_version, kind).ok_or(Malformed::UnknownKind)?;
        decode::message(message, envelope.object, &mut fields, 1)?;
    }
    for (name, text) in [("apiVersion", envelope.api_version), ("kind", envelope.kind)] {
        if !text.is_empty() {
            fields.insert(name.to_owned(), Value::String(text));
        }
    }
    Ok(Value::Object(fields))
}

/// `runtime.Unknown`: the type of an object, and its message.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    object: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body.strip_prefix(MAGIC).ok_or(Malformed::NoMagic)?);
        if reader.is_empty() {
            return Err(Malformed::Truncated);
        }
        let mut envelope = Self::default();
        while let Some((number, wire)) = reader.tag()? {
            match number {
                1 => envelope.read_type(reader.bytes_of(wire)?)?,
                2 => envelope.object = reader.bytes_of(wire)?,
                _ => reader.skip(wire)?,
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes);
        let text = |reader: &mut Reader<'_>, wire: Wire| {
            Ok(String::from_utf8_lossy(reader.bytes_of(wire)?).into_owned())
        };
        while let Some((number, wire)) = reader.tag()? {
            match number {
                1 => self.api_version = text(&mut reader, wire)?,
                2 => self.kind = text(&mut reader, wire)?,
                _ => reader.skip(wire)?,
            }
        }
        Ok(())
    }
}
