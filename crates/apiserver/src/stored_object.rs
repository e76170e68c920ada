//! Stored form of an object: its JSON without apiVersion and kind, which depend on the requested version, and with an empty
//! resourceVersion, which is the revision of the change and known only once it is made. Reading joins the parts, without
//! parsing.
//!
//! ```text
//!  offset of the version (4 bytes) | fingerprint of the schema (8 bytes) | {"data":{…},"metadata":{…,"resourceVersion":"",…}}
//! ```

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{
    json,
    kinds::{Checks, Kind},
    store::Revision,
};

const HEAD: usize = 12;

/// Packs an object for the store.
pub(crate) fn pack(kind: &Kind, object: &Value) -> Bytes {
    let mut bytes = vec![0; HEAD];
    let mut place = 0;
    bytes.push(b'{');
    for (name, value) in object.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(metadata)) => {
                comma(&mut bytes);
                bytes.extend_from_slice(b"\"metadata\":");
                place = pack_metadata(&mut bytes, metadata);
            }
            _ => {
                comma(&mut bytes);
                json::encode_into(&mut bytes, &Value::String(name.clone()));
                bytes.push(b':');
                json::encode_into(&mut bytes, value);
            }
        }
    }
    bytes.push(b'}');
    let place = u32::try_from(place - HEAD.min(place)).unwrap_or_default();
    bytes[..4].copy_from_slice(&place.to_le_bytes());
    bytes[4..HEAD].copy_from_slice(&kind.stored_fingerprint.to_le_bytes());
    bytes.into()
}

/// Packs metadata, with the version in its alphabetical place; returns its offset.
fn pack_metadata(bytes: &mut Vec<u8>, metadata: &Map<String, Value>) -> usize {
    const VERSION: &str = "resourceVersion";
    let mut place = None;
    let write_version = |bytes: &mut Vec<u8>| {
        comma(bytes);
        bytes.extend_from_slice(b"\"resourceVersion\":\"");
        let place = bytes.len();
        bytes.push(b'"');
        place
    };
    bytes.push(b'{');
    for (name, value) in metadata.iter().filter(|(name, _)| *name != VERSION) {
        if name.as_str() > VERSION && place.is_none() {
            place = Some(write_version(bytes));
        }
        comma(bytes);
        json::encode_into(bytes, &Value::String(name.clone()));
        bytes.push(b':');
        json::encode_into(bytes, value);
    }
    let place = place.unwrap_or_else(|| write_version(bytes));
    bytes.push(b'}');
    place
}

fn comma(bytes: &mut Vec<u8>) {
    if bytes.last() != Some(&b'{') {
        bytes.push(b',');
    }
}

/// Packed object and its revision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredObject<'a> {
    /// The change.
    pub revision: Revision,
    /// Bytes made by [`pack`].
    pub bytes: &'a [u8],
}

impl StoredObject<'_> {
    /// True if the stored form is that of the kind, so that it need not be parsed.
    pub(crate) fn is_current(&self, kind: &Kind) -> bool {
        self.is_in(kind.fingerprint)
    }

    fn is_in(&self, shape: u64) -> bool {
        self.bytes.get(4..HEAD) == Some(shape.to_le_bytes().as_slice())
    }

    /// JSON before and after the version.
    pub(crate) fn halves(&self) -> (&[u8], &[u8]) {
        let place = self
            .bytes
            .first_chunk::<4>()
            .and_then(|place| usize::try_from(u32::from_le_bytes(*place)).ok())
            .unwrap_or_default();
        self.json().split_at_checked(place).unwrap_or_default()
    }

    /// The JSON, with an empty version.
    pub(crate) fn json(&self) -> &[u8] {
        self.bytes.get(HEAD..).unwrap_or_default()
    }

    /// Writes the object, without apiVersion and kind.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (before, after) = self.halves();
        out.extend_from_slice(before);
        out.extend_from_slice(self.revision.0.to_string().as_bytes());
        out.extend_from_slice(after);
    }

    /// Writes the object with apiVersion and kind.
    pub(crate) fn write_as(&self, kind: &Kind, out: &mut Vec<u8>) {
        let (before, after) = self.halves();
        write_type(kind, out);
        out.push(b',');
        out.extend_from_slice(before.get(1..).unwrap_or_default());
        out.extend_from_slice(self.revision.0.to_string().as_bytes());
        out.extend_from_slice(after);
    }

    /// Object in its stored form, without apiVersion and kind.
    pub(crate) fn stored(&self) -> Value {
        // Stored bytes come from `pack`; a damaged store is refused when it is opened.
        let mut object: Value = serde_json::from_slice(self.json()).unwrap_or_default();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.insert("resourceVersion".to_owned(), Value::String(self.revision.0.to_string()));
        }
        object
    }

    /// Object converted to a kind.
    pub(crate) fn object(&self, kind: &Kind) -> Value {
        let mut object = self.stored();
        if !self.is_current(kind) {
            if let Some(view) = &kind.view {
                (view.from_stored)(&mut object);
            } else if let Checks::Custom(custom) = &kind.checks {
                if !self.is_in(kind.stored_fingerprint) {
                    let kept = kind.storage.as_deref().unwrap_or(&custom.checker);
                    kept.prune(&mut object);
                    kept.fill_defaults(&mut object);
                }
                if kind.storage.is_some() {
                    custom.checker.prune(&mut object);
                }
            }
        }
        if let Value::Object(fields) = &mut object {
            fields.insert("apiVersion".to_owned(), Value::String(kind.api_version()));
            fields.insert("kind".to_owned(), Value::String(kind.kind.clone()));
        }
        object
    }
}

/// `{"apiVersion":"v1","kind":"ConfigMap"`
pub(crate) fn write_type(kind: &Kind, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"apiVersion\":");
    json::encode_into(out, &Value::String(kind.api_version()));
    out.extend_from_slice(b",\"kind\":");
    json::encode_into(out, &Value::String(kind.kind.clone()));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at once")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unpacked_object_equals_the_packed_one_with_its_revision() {
        let kind = Kind { kind: "ConfigMap".to_owned(), version: "v1".to_owned(), ..Kind::default() };
        for metadata in
            [json!({"name": "a"}), json!({"name": "a", "uid": "u", "resourceVersion": "7"}), json!({})]
        {
            let object = json!({"apiVersion": "x", "kind": "y", "data": {"k": "v"}, "metadata": metadata});
            let bytes = pack(&kind, &object);
            let record = StoredObject { revision: Revision(42), bytes: &bytes };
            let mut expected = object;
            expected["apiVersion"] = json!("v1");
            expected["kind"] = json!("ConfigMap");
            expected["metadata"]["resourceVersion"] = json!("42");
            assert_eq!(record.object(&kind), expected);
            let mut text = Vec::new();
            record.write_as(&kind, &mut text);
            assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
        }
    }
}
