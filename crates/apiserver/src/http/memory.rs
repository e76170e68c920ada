//! Memory of values, estimated before they are parsed.
//!
//! The factors are measured: the growth of a process that answers a request with half a million values of one form.
//! A map takes 640 bytes, also with a single key; a change of it is parsed, validated, merged, recorded in `managedFields` and
//! packed, which takes ten copies of a map of maps, and less of anything else.

use axum::http::request::Parts;
use orchestra_limits::{Permit, Values};
use serde::de::IgnoredAny;

use crate::{http::negotiate::Format, protobuf, status::Status, stored_object::StoredObject};

/// Maximum number of maps in a body. An object of the maximum size has some ten thousand.
const MAX_MAPS: usize = 65_536;
/// Requests that need less than this do not reserve it: their number is bounded.
const SMALL_REQUEST_BYTES: usize = 256 * 1024;
/// Copies of the text of values.
const TEXT_COPIES: usize = 5;
/// Values that a short YAML document can have by its aliases.
const ALIASED: Values = Values { all: crate::json::MAX_ALIASED, maps: MAX_MAPS };

/// Memory of a map and of any value.
struct Factors {
    map: usize,
    value: usize,
}

/// Values that are changed and stored.
const CHANGED: Factors = Factors { map: 5800, value: 650 };
/// Values that are parsed and encoded.
const READ: Factors = Factors { map: 1400, value: 200 };

impl Factors {
    fn bytes(&self, length: usize, values: Values) -> usize {
        length * TEXT_COPIES + values.maps * self.map + values.all * self.value
    }
}

/// Memory of a change of a stored object.
pub(crate) fn of_change(object: StoredObject<'_>) -> usize {
    CHANGED.bytes(object.json().len(), Values::in_json(object.json()))
}

/// Memory of an answer with a stored object in a format.
pub(crate) fn of_answer(object: StoredObject<'_>, format: Format) -> usize {
    if format == Format::PLAIN {
        return object.json().len();
    }
    READ.bytes(object.json().len(), Values::in_json(object.json()))
}

/// Memory of a body, once it is decoded; refuses one with too many values.
pub(crate) fn of_body(body: &[u8], media_type: &str) -> Result<usize, Status> {
    let values = if media_type == protobuf::MEDIA_TYPE {
        // An empty message is two bytes.
        let most = body.len() / 2;
        Values { all: most, maps: most.min(MAX_MAPS) }
    } else if media_type.ends_with("yaml") && !is_json(body) {
        Values::in_yaml(body)
    } else {
        Values::in_json(body)
    };
    if values.maps > MAX_MAPS {
        let message = format!("Request entity too large: limit is {MAX_MAPS} objects");
        return Err(Status::new(413, "RequestEntityTooLarge", message));
    }
    let aliased = media_type.ends_with("yaml") && body.contains(&b'&') && !is_json(body);
    Ok(CHANGED.bytes(body.len(), if aliased { ALIASED } else { values }))
}

/// True if a YAML body is decoded as JSON. Nothing of it is kept in memory.
fn is_json(body: &[u8]) -> bool {
    body.first() == Some(&b'{') && serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

/// Permit of a request: unlimited for those of this process.
pub(crate) fn permit(parts: &Parts) -> Permit {
    parts.extensions.get().cloned().unwrap_or_else(Permit::unlimited)
}

/// Reserves the memory of a request, if it is not small.
pub(crate) async fn reserve(parts: &Parts, bytes: usize) -> Result<(), Status> {
    if bytes > SMALL_REQUEST_BYTES {
        permit(parts).reserve(bytes).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(body: &str, media_type: &str) -> Result<usize, u16> {
        of_body(body.as_bytes(), media_type).map_err(|status| status.code)
    }

    #[test]
    fn ordinary_bodies_need_no_reservation_and_those_with_many_values_do() {
        let map = r#"{"metadata":{"name":"a","labels":{"app":"a"}},"data":{"key":"value","other":"value"}}"#;
        for media_type in ["application/json", "application/apply-patch+yaml"] {
            assert!(bytes(map, media_type).unwrap() < SMALL_REQUEST_BYTES, "{media_type}");
            let maps = format!("{{\"a\":[{}0]}}", "{\"\":0},".repeat(1000));
            assert!(bytes(&maps, media_type).unwrap() > 1000 * 2000, "{media_type}");
        }
        let text = format!(r#"{{"data":{{"text":"{}"}}}}"#, "a: {b},".repeat(10_000));
        assert!(bytes(&text, "application/apply-patch+yaml").unwrap() < text.len() * 6);
        assert!(bytes("a: &a {b: {}}\nc: [*a, *a]\n", "application/yaml").unwrap() > 100_000_000);
    }

    #[test]
    fn a_body_with_too_many_maps_is_refused() {
        let maps = format!("{{\"a\":[{}0]}}", "{\"\":0},".repeat(70_000));
        for media_type in ["application/json", "application/merge-patch+json", "application/apply-patch+yaml"]
        {
            assert_eq!(bytes(&maps, media_type), Err(413), "{media_type}");
        }
        assert_eq!(bytes(&"- a: 0\n".repeat(70_000), "application/yaml"), Err(413));
    }
}
