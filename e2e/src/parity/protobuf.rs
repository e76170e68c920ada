//! Encoder of protobuf bodies, from fields by number.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::target::TargetError;

/// Media type of these bodies.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Object in protobuf.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Protobuf {
    /// Version in the envelope.
    #[serde(default)]
    api_version: String,
    /// Kind in the envelope.
    #[serde(default)]
    kind: String,
    /// Fields of the message: pairs of a number and a value, which is a text, an integer, a message of the same form, or
    /// `{base64: …}`.
    #[serde(default)]
    message: Value,
}

impl Protobuf {
    /// Body of a request; `fill` replaces the variables in a value.
    pub(super) fn body(&self, fill: impl Fn(&Value) -> Value) -> Result<Bytes, TargetError> {
        let mut of = Vec::new();
        field(&mut of, 1, &fill(&Value::String(self.api_version.clone())))?;
        field(&mut of, 2, &fill(&Value::String(self.kind.clone())))?;
        let mut body = b"k8s\0".to_vec();
        bytes(&mut body, 1, &of)?;
        bytes(&mut body, 2, &message(&fill(&self.message))?)?;
        bytes(&mut body, 3, b"")?;
        bytes(&mut body, 4, b"")?;
        Ok(body.into())
    }
}

fn message(fields: &Value) -> Result<Vec<u8>, TargetError> {
    let mut out = Vec::new();
    for pair in fields.as_array().into_iter().flatten() {
        let number = pair[0].as_u64().ok_or_else(|| format!("not the number of a field: {pair}"))?;
        field(&mut out, number, &pair[1])?;
    }
    Ok(out)
}

fn field(out: &mut Vec<u8>, number: u64, value: &Value) -> Result<(), TargetError> {
    match value {
        Value::String(text) => bytes(out, number, text.as_bytes()),
        Value::Array(_) => bytes(out, number, &message(value)?),
        Value::Object(_) => {
            bytes(out, number, &STANDARD.decode(value["base64"].as_str().unwrap_or_default())?)
        }
        _ => {
            let integer = value.as_i64().ok_or_else(|| format!("not a value of a field: {value}"))?;
            varint(out, number << 3)?;
            varint(out, integer.cast_unsigned())
        }
    }
}

fn bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) -> Result<(), TargetError> {
    varint(out, number << 3 | 2)?;
    varint(out, u64::try_from(bytes.len())?)?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn varint(out: &mut Vec<u8>, mut value: u64) -> Result<(), TargetError> {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f)? | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value)?);
    Ok(())
}
