//! Selection of the objects of a list or a watch.

use serde_json::Value;

use super::Call;
use crate::{
    kinds::Kind,
    selectors::{FieldSelector, LabelSelector},
    status::Status,
    store::Key,
    stored_object::StoredObject,
};

/// Filter of a list or watch.
#[derive(Debug)]
pub(crate) struct Selection {
    namespace: Option<String>,
    labels: LabelSelector,
    fields: FieldSelector,
    /// True if the key of an object is not enough.
    by_content: bool,
}

impl Selection {
    /// Reads the selectors of a request.
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, Status> {
        let kind = call.kind();
        let labels = LabelSelector::parse(call.query.get("labelSelector")).map_err(Status::bad_request)?;
        let fields = FieldSelector::parse(call.query.get("fieldSelector")).map_err(Status::bad_request)?;
        for requirement in fields.requirements() {
            known_field(kind, &requirement.field)?;
        }
        let by_content = !labels.is_empty()
            || fields.requirements().iter().any(|requirement| !is_in_key(&requirement.field));
        let namespace = &call.target.namespace;
        let namespace = (!namespace.is_empty()).then(|| namespace.clone());
        Ok(Self { namespace, labels, fields, by_content })
    }

    /// Namespace; none for all.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// True if everything in the namespace matches.
    pub(crate) fn is_all(&self) -> bool {
        self.labels.is_empty() && self.fields.requirements().is_empty()
    }

    /// True if at most one object can match.
    pub(crate) fn is_single(&self, kind: &Kind) -> bool {
        let named =
            self.fields.requirements().iter().any(|one| one.field == "metadata.name" && !one.is_negated);
        named && (self.namespace.is_some() || !kind.namespaced)
    }

    /// True if an object matches.
    pub(crate) fn matches(&self, kind: &Kind, key: &Key, record: StoredObject<'_>) -> bool {
        let in_namespace = self.namespace.as_deref().is_none_or(|namespace| namespace == &*key.namespace);
        if !in_namespace || self.is_all() {
            return in_namespace;
        }
        let object = if self.by_content { record.object(kind) } else { Value::Null };
        let labels = object["metadata"]["labels"].as_object();
        self.labels.matches(labels)
            && self.fields.matches(&|field| match field {
                "metadata.name" | "name" => Some(key.name.to_string()),
                "metadata.namespace" => Some(key.namespace.to_string()),
                field => Some(field_of(&object, field)),
            })
    }
}

fn is_in_key(field: &str) -> bool {
    matches!(field, "metadata.name" | "metadata.namespace")
}

/// Text of a field; empty if absent.
fn field_of(object: &Value, path: &str) -> String {
    let found = path.split('.').try_fold(object, |value, field| value.get(field));
    match found {
        Some(Value::String(text)) => text.clone(),
        // The field `source` of an event is its component.
        Some(Value::Object(source)) => source
            .get("component")
            .or_else(|| object.get("reportingComponent"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

fn known_field(kind: &Kind, field: &str) -> Result<(), Status> {
    let known = field == "metadata.name"
        || field == "metadata.namespace" && (kind.namespaced || kind.custom)
        || kind.selectable.iter().any(|known| known == field);
    if known {
        return Ok(());
    }
    let message = if kind.custom || !kind.selectable.is_empty() {
        format!("field label not supported: {field}")
    } else {
        format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    };
    Err(Status::bad_request(message))
}
