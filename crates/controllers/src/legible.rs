//! An object as a server tells it: read, or known by its metadata alone where it cannot be read.
//!
//! One object that cannot be read must not keep the others from being read. kube's own guard for this copies every
//! object twice before it reads it; this one keeps the text. It also leaves out the managed fields, which are half of
//! most objects: controllers only ask them who wrote which annotation, and so not where there is none.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, IgnoredAny},
};
use serde_json::value::RawValue;

/// An object, or why it cannot be read. It can be read from JSON in memory only.
#[derive(Clone, Debug)]
pub struct Legible<K>(pub Result<K, Illegible>);

/// An object that cannot be read.
#[derive(Clone, Debug)]
pub struct Illegible {
    /// Why not.
    pub error: String,
    /// What it is called, and whose it is.
    pub metadata: ObjectMeta,
}

/// Where the managed fields of an object stand, and whether anybody asks for them.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow, default)]
    metadata: Noted<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Noted<'a> {
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
    annotations: Option<IgnoredAny>,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Legible<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let told = <&RawValue>::deserialize(deserializer)?.get();
        // A list would be read as the fields of an object, in their order.
        if !told.starts_with('{') {
            return Err(D::Error::custom("an object was expected"));
        }
        let Outline { metadata } = serde_json::from_str(told).map_err(D::Error::custom)?;
        let fields = metadata.managed_fields.filter(|_| metadata.annotations.is_none());
        let text = fields.map_or(Cow::Borrowed(told), |fields| without(told, fields.get()));
        match serde_json::from_str(&text) {
            Ok(object) => Ok(Self(Ok(object))),
            Err(error) => {
                let Named { metadata } = serde_json::from_str(&text).map_err(D::Error::custom)?;
                Ok(Self(Err(Illegible { error: error.to_string(), metadata })))
            }
        }
    }
}

/// What is known of an object that cannot be read.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    metadata: ObjectMeta,
}

/// A text with an empty list in the place of one part of it.
fn without<'a>(text: &'a str, part: &str) -> Cow<'a, str> {
    let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    match (text.get(..start), text.get(start.wrapping_add(part.len())..)) {
        (Some(before), Some(after)) => Cow::Owned([before, "[]", after].concat()),
        _ => Cow::Borrowed(text),
    }
}

impl<K: Resource> Resource for Legible<K> {
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
        self.0.as_ref().map_or_else(|illegible| &illegible.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.as_mut().map_or_else(|illegible| &mut illegible.metadata, K::meta_mut)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{ObjectList, WatchEvent};

    use super::*;

    #[test]
    fn an_object_without_annotations_is_read_without_its_managed_fields() {
        let text = r#"{"type": "ADDED", "object": {"metadata": {"name": "a", "managedFields": [{"manager": "m"}]},
            "data": {"managedFields": "kept"}}}"#;
        let Ok(WatchEvent::Added(Legible(Ok(map)))) =
            serde_json::from_str::<WatchEvent<Legible<ConfigMap>>>(text)
        else {
            panic!("it cannot be read");
        };
        let fields = map.metadata.managed_fields.clone().unwrap_or_default();
        assert_eq!((map.metadata.name.as_deref(), fields), (Some("a"), Vec::new()));
        assert_eq!(map.data.unwrap_or_default(), [("managedFields".to_owned(), "kept".to_owned())].into());
    }

    #[test]
    fn who_wrote_an_annotation_is_still_told() {
        let text = r#"{"metadata": {"annotations": {"a": "b"}, "managedFields": [{"manager": "m"}]}}"#;
        let Ok(Legible(Ok(map))) = serde_json::from_str::<Legible<ConfigMap>>(text) else {
            panic!("it cannot be read");
        };
        assert_eq!(map.metadata.managed_fields.map(|fields| fields.len()), Some(1));
    }

    #[test]
    fn an_object_that_cannot_be_read_is_known_by_its_name_and_does_not_hide_the_others() {
        let text = r#"{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}, "items": [
            {"metadata": {"name": "bad"}, "data": 7}, {"metadata": {"name": "good"}}]}"#;
        let list: ObjectList<Legible<ConfigMap>> = serde_json::from_str(text).expect("the list is good");
        let names: Vec<_> =
            list.items.iter().map(|one| (one.meta().name.as_deref(), one.0.is_ok())).collect();
        assert_eq!(names, [(Some("bad"), false), (Some("good"), true)]);
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for text in ["7", "[]", r#"{"metadata": 7}"#] {
            assert!(serde_json::from_str::<Legible<ConfigMap>>(text).is_err(), "{text}");
        }
    }
}
