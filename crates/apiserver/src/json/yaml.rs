//! YAML bodies and answers. A real server converts YAML to JSON, by the rules of YAML 1.1.

use serde::de::DeserializeSeed as _;
use serde_json::Value;
use serde_saphyr::{Error, options::DuplicateKeyPolicy};

use super::{
    decode::{DecodeError, Decoded, Findings, Seed, decode},
    encode::with_integers,
};

/// Levels of nesting in YAML. The decoder of YAML takes more of the stack for each than that of JSON.
const MAX_YAML_DEPTH: usize = 64;
/// Values that the aliases of one document may expand to.
pub(crate) const MAX_ALIASED: usize = 50_000;
/// Values in one document. The size of the body is bounded too: this bounds the memory that small values take.
const MAX_NODES: usize = 1_000_000;

/// Decodes the first document of a YAML body. Most bodies are JSON, which is YAML too, and is decoded as JSON.
pub(crate) fn decode_yaml(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    if bytes.first() == Some(&b'{')
        && let Ok(Decoded { value, duplicates }) = decode(bytes)
    {
        return Ok(Decoded { value: with_integers(&value), duplicates });
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| DecodeError("yaml: the body is not UTF-8".to_owned()))?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_YAML_DEPTH,
            flow_nesting_limit: MAX_YAML_DEPTH,
            max_events: 2 * MAX_NODES,
            max_nodes: MAX_NODES,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIASED },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let mut findings = Findings { floats_may_be_integers: true, ..Findings::default() };
    let mut value = Value::Null;
    let end = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        value = Seed::root(&mut findings).deserialize(deserializer)?;
        Ok(())
    });
    match end {
        Ok(()) | Err(Error::MultipleDocuments { .. }) => {
            Ok(Decoded { value, duplicates: findings.duplicates })
        }
        Err(error) => Err(DecodeError(format!("yaml: {error}"))),
    }
}

/// Encodes a value as a YAML document.
pub(crate) fn encode_yaml(value: &Value) -> String {
    // Writing a value to memory cannot fail: its keys are strings and its nesting is bounded.
    serde_saphyr::to_string(&with_integers(value)).unwrap_or_default()
}
