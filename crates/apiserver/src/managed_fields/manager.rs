//! Field managers of an object: decoder and encoder of `metadata.managedFields`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::fields_v1;
use super::set::Set;

/// All managers of an object by their identity.
pub(super) type Managers = BTreeMap<String, Manager>;

/// Last operation of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// Server-side apply.
    Apply,
    /// All other writes.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A manager and the fields it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manager {
    /// Name from the client.
    pub(super) name: String,
    /// Operation.
    pub(super) operation: Operation,
    /// API version of its fields.
    pub(super) api_version: String,
    /// Subresource; empty for the object itself.
    pub(super) subresource: String,
    /// Time of its last change; RFC 3339 in UTC with whole seconds, so that it sorts as text.
    pub(super) time: Option<String>,
    /// Owned fields.
    pub(super) fields: Set,
}

impl Manager {
    /// Identity of a manager. That of an applier does not depend on the API version.
    pub(super) fn identity(&self) -> String {
        let api_version = match self.operation {
            Operation::Apply => "",
            Operation::Update => self.api_version.as_str(),
        };
        let parts = [
            ("manager", self.name.as_str()),
            ("operation", self.operation.name()),
            ("apiVersion", api_version),
            ("subresource", self.subresource.as_str()),
        ];
        let parts: Vec<_> = parts
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| format!("\"{name}\":{}", json!(text)))
            .collect();
        format!("{{{}}}", parts.join(","))
    }

    /// The manager in a message about a conflict.
    pub(super) fn shown(&self) -> String {
        let mut out = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            out = format!("{out} with subresource {:?}", self.subresource);
        }
        match self.operation {
            Operation::Apply => out,
            Operation::Update => format!("{out} using {}", self.api_version),
        }
    }

    fn encode(&self) -> Value {
        let mut entry = Map::new();
        let mut put = |name: &str, text: &str| {
            if !text.is_empty() {
                entry.insert(name.to_owned(), text.into());
            }
        };
        put("manager", &self.name);
        put("operation", self.operation.name());
        put("apiVersion", &self.api_version);
        put("subresource", &self.subresource);
        put("time", self.time.as_deref().unwrap_or_default());
        put("fieldsType", "FieldsV1");
        entry.insert("fieldsV1".into(), fields_v1::encode(&self.fields));
        Value::Object(entry)
    }

    /// The order of entries: appliers first, then by time.
    fn order(&self, other: &Self) -> Ordering {
        self.operation
            .cmp(&other.operation)
            .then_with(|| self.time.cmp(&other.time))
            .then_with(|| self.name.cmp(&other.name))
            .then_with(|| self.api_version.cmp(&other.api_version))
            .then_with(|| self.subresource.cmp(&other.subresource))
    }
}

/// `metadata.managedFields` of an object. A malformed list counts as absent.
pub(super) fn entries(object: &Value) -> Option<Vec<Entry<'_>>> {
    object.get("metadata")?.get("managedFields")?.as_array()?.iter().map(Entry::read).collect()
}

/// Entry from the client; absent texts are empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry<'v> {
    manager: &'v str,
    operation: &'v str,
    api_version: &'v str,
    subresource: &'v str,
    time: Option<&'v str>,
    fields_type: &'v str,
    fields: Option<&'v Value>,
}

impl<'v> Entry<'v> {
    fn read(entry: &'v Value) -> Option<Self> {
        let entry = entry.as_object()?;
        let present = |name: &str| entry.get(name).filter(|value| !value.is_null());
        let text = |name: &str| present(name).map_or(Some(""), Value::as_str);
        Some(Self {
            manager: text("manager")?,
            operation: text("operation")?,
            api_version: text("apiVersion")?,
            subresource: text("subresource")?,
            time: match present("time") {
                Some(time) => Some(time.as_str()?),
                None => None,
            },
            fields_type: text("fieldsType")?,
            fields: present("fieldsV1"),
        })
    }

    fn decode(&self, index: usize) -> Result<Manager, String> {
        let operation = match self.operation {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".into()),
        };
        if self.api_version.is_empty() {
            return Err("apiVersion must not be empty".into());
        }
        match self.fields_type {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => {
                return Err(format!("invalid fieldsType {other:?} in managed fields entry {index}"));
            }
        }
        let fields = self.fields.map_or_else(|| Ok(Set::default()), fields_v1::decode);
        Ok(Manager {
            name: self.manager.to_owned(),
            operation,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
            time: self.time.map(str::to_owned),
            fields: fields.map_err(|error| format!("error decoding set: {error}"))?,
        })
    }

    fn is_blank(&self) -> bool {
        let texts = [self.manager, self.operation, self.api_version, self.subresource, self.fields_type];
        texts.iter().all(|text| text.is_empty()) && self.time.is_none() && self.fields.is_none()
    }
}

/// True if a client resets the managers: by an empty list, or by a single blank entry.
pub(super) fn is_reset(entries: &[Entry<'_>]) -> bool {
    matches!(entries, []) || matches!(entries, [only] if only.is_blank())
}

/// Managers of an object. The error is a message.
pub(super) fn decode(object: &Value) -> Result<Managers, String> {
    let mut managers = Managers::new();
    for (index, entry) in entries(object).unwrap_or_default().iter().enumerate() {
        let manager = entry.decode(index)?;
        managers.insert(manager.identity(), manager);
    }
    Ok(managers)
}

/// Writes the managers into an object; without managers, removes the field.
pub(super) fn encode(object: &mut Value, managers: Managers) {
    let mut managers: Vec<Manager> = managers.into_values().collect();
    managers.sort_by(Manager::order);
    let Some(object) = object.as_object_mut() else { return };
    if managers.is_empty() {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        return;
    }
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".into(), managers.iter().map(Manager::encode).collect());
    }
}
