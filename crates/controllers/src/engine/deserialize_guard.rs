//! Object that deserializes even if its content is invalid: then it has its metadata and the error.
//!
//! One invalid object must not hide all others of a list. kube's own guard copies every object twice; this one borrows the text. It
//! also skips the managed fields, which are half of most objects, unless there are annotations whose manager matters.

use std::{borrow::Cow, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, IgnoredAny},
};
use serde_json::value::RawValue;

/// Object, or the error of its deserialization. It deserializes from JSON in memory only.
#[derive(Clone, Debug)]
pub struct DeserializeGuard<K>(pub Result<K, InvalidObject>);

/// Object that cannot be deserialized.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct InvalidObject {
    /// Error of the deserialization.
    #[source]
    pub error: Arc<serde_json::Error>,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// The whole object.
    pub json: Box<str>,
}

/// Location of the managed fields in the text, and whether there are annotations.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow, default)]
    metadata: OutlineMetadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutlineMetadata<'a> {
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
    annotations: Option<IgnoredAny>,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for DeserializeGuard<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        // serde reads a list as the fields of a struct, in their order.
        if !json.starts_with('{') {
            return Err(D::Error::custom("an object was expected"));
        }
        let Outline { metadata } = serde_json::from_str(json).map_err(D::Error::custom)?;
        let fields = metadata.managed_fields.filter(|_| metadata.annotations.is_none());
        let text = fields.map_or(Cow::Borrowed(json), |fields| without(json, fields.get()));
        match serde_json::from_str(&text) {
            Ok(object) => Ok(Self(Ok(object))),
            Err(error) => {
                let Named { metadata } = serde_json::from_str(&text).map_err(D::Error::custom)?;
                Ok(Self(Err(InvalidObject { error: Arc::new(error), metadata, json: text.into() })))
            }
        }
    }
}

/// Metadata of an object that cannot be deserialized.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    metadata: ObjectMeta,
}

/// Text with an empty list in place of a part of it.
fn without<'a>(text: &'a str, part: &str) -> Cow<'a, str> {
    let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    match (text.get(..start), text.get(start.wrapping_add(part.len())..)) {
        (Some(before), Some(after)) => Cow::Owned([before, "[]", after].concat()),
        _ => Cow::Borrowed(text),
    }
}

impl<K: Resource> Resource for DeserializeGuard<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.as_ref().map_or_else(|invalid| &invalid.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.as_mut().map_or_else(|invalid| &mut invalid.metadata, K::meta_mut)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{ObjectList, WatchEvent};

    use super::*;

    #[test]
    fn managed_fields_of_objects_without_annotations_are_dropped() {
        let text = r#"{"type": "ADDED", "object": {"metadata": {"name": "a", "managedFields": [{"manager": "m"}]},
            "data": {"managedFields": "kept"}}}"#;
        let Ok(WatchEvent::Added(DeserializeGuard(Ok(map)))) =
            serde_json::from_str::<WatchEvent<DeserializeGuard<ConfigMap>>>(text)
        else {
            panic!("it cannot be read");
        };
        let fields = map.metadata.managed_fields.clone().unwrap_or_default();
        assert_eq!((map.metadata.name.as_deref(), fields), (Some("a"), Vec::new()));
        assert_eq!(map.data.unwrap_or_default(), [("managedFields".to_owned(), "kept".to_owned())].into());
    }

    #[test]
    fn managed_fields_of_annotated_objects_are_kept() {
        let text = r#"{"metadata": {"annotations": {"a": "b"}, "managedFields": [{"manager": "m"}]}}"#;
        let Ok(DeserializeGuard(Ok(map))) = serde_json::from_str::<DeserializeGuard<ConfigMap>>(text) else {
            panic!("it cannot be read");
        };
        assert_eq!(map.metadata.managed_fields.map(|fields| fields.len()), Some(1));
    }

    #[test]
    fn an_invalid_object_has_its_name_and_does_not_hide_the_others() {
        let text = r#"{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}, "items": [
            {"metadata": {"name": "bad"}, "data": 7}, {"metadata": {"name": "good"}}]}"#;
        let list: ObjectList<DeserializeGuard<ConfigMap>> =
            serde_json::from_str(text).expect("the list is good");
        let names: Vec<_> =
            list.items.iter().map(|one| (one.meta().name.as_deref(), one.0.is_ok())).collect();
        assert_eq!(names, [(Some("bad"), false), (Some("good"), true)]);
    }

    #[test]
    fn anything_but_an_object_is_an_error() {
        for text in ["7", "[]", r#"{"metadata": 7}"#] {
            assert!(serde_json::from_str::<DeserializeGuard<ConfigMap>>(text).is_err(), "{text}");
        }
    }
}
