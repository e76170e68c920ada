//! Parser of provisioner files.

use std::collections::BTreeMap;

use orchestra_score::{Diagnostic, Node, Source, SourceId, node::Value as Parsed, yaml};
use serde_json::{Map, Value as Json};

use super::error::{EntryError, FieldError, FileFault, UnsupportedScheme};

/// Entry of a provisioner file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// URI: `template://…`.
    pub uri: String,
    /// Resource type.
    pub type_: String,
    /// Resource class; any if absent.
    pub class: Option<String>,
    /// Resource id; any if absent.
    pub id: Option<String>,
    /// Description.
    pub description: String,
    /// Declared params.
    pub supported_params: Vec<String>,
    /// Declared outputs.
    pub expected_outputs: Vec<String>,
    /// Templates.
    pub templates: Templates,
    /// Value of `x-orchestra`, not parsed.
    pub extension: Map<String, Json>,
    /// Reason why it is not supported: its scheme is not `template`.
    pub unsupported: Option<UnsupportedScheme>,
}

/// Templates of an entry; empty if absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Templates {
    /// Values for the other templates.
    pub init: String,
    /// State for the next run.
    pub state: String,
    /// Merge patch of the shared state.
    pub shared: String,
    /// Outputs.
    pub outputs: String,
    /// Kubernetes objects.
    pub manifests: String,
    /// Parts of score-compose, by name.
    pub compose: BTreeMap<String, String>,
}

/// Parts of score-compose, in order of evaluation.
pub(super) const COMPOSE_PARTS: [&str; 7] =
    ["directories", "files", "networks", "services", "volumes", "models", "info_logs"];

/// Parses a provisioner file. Templates are parsed when they are used.
pub fn load(text: &str) -> Result<Vec<Entry>, FileFault> {
    let (node, findings) = yaml::parse(&Source::new("provisioners", text), SourceId(0));
    if let Some(error) = findings.into_sorted().into_iter().find(Diagnostic::is_error) {
        return Err(FileFault::Yaml(error.message));
    }
    let node = node.ok_or(FileFault::Empty)?;
    let entries = node.as_list().ok_or(FileFault::NotAList)?;
    entries
        .iter()
        .enumerate()
        .map(|(index, node)| Entry::read(node).map_err(|source| FileFault::Entry { index, source }))
        .collect()
}

impl Entry {
    /// True if it provides resources of this type, class and id.
    pub fn matches(&self, type_: &str, class: &str, id: &str) -> bool {
        self.type_ == type_
            && self.class.as_deref().is_none_or(|own| own == class)
            && self.id.as_deref().is_none_or(|own| own == id)
    }

    /// Specificity: an id counts more than a class.
    pub fn specificity(&self) -> (bool, bool) {
        (self.id.is_some(), self.class.is_some())
    }

    /// True if it has parts of score-compose, which a cluster does not support.
    pub fn is_for_compose(&self) -> bool {
        !self.templates.compose.is_empty()
    }

    /// Parses an entry from JSON.
    pub fn from_json(json: Json) -> Result<Self, EntryError> {
        Self::read(&Node::from(json))
    }

    fn read(node: &Node) -> Result<Self, EntryError> {
        let map = match &node.value {
            Parsed::Map(map) => map,
            Parsed::Null => return Err(EntryError::NoUri),
            _ => return Err(EntryError::NotAMap { found: node.type_name() }),
        };
        let mut entry = Self::default();
        let uri = map.get("uri").and_then(|entry| entry.node.as_str()).unwrap_or_default();
        let scheme = scheme(uri)?;
        if scheme != "template" {
            entry.unsupported = Some(match scheme.as_str() {
                "cmd" => UnsupportedScheme::Command,
                _ => UnsupportedScheme::Unknown(scheme),
            });
        }
        for (key, field) in map {
            let wrong = |source| EntryError::Field { field: key.clone(), source };
            match key.as_str() {
                "uri" => entry.uri = text(&field.node).map_err(wrong)?.unwrap_or_default(),
                "type" => entry.type_ = text(&field.node).map_err(wrong)?.unwrap_or_default(),
                "class" => entry.class = text(&field.node).map_err(wrong)?,
                "id" => entry.id = text(&field.node).map_err(wrong)?,
                "description" => entry.description = text(&field.node).map_err(wrong)?.unwrap_or_default(),
                "supported_params" => entry.supported_params = texts(&field.node).map_err(wrong)?,
                "expected_outputs" => entry.expected_outputs = texts(&field.node).map_err(wrong)?,
                "x-orchestra" => match field.node.to_json() {
                    Json::Object(map) => entry.extension = map,
                    _ => return Err(wrong(FieldError::NotAMap { found: field.node.type_name() })),
                },
                // Other fields of an unsupported entry are ignored.
                _ if entry.unsupported.is_some() => {}
                _ => entry.template(key, &field.node).map_err(wrong)?,
            }
        }
        if entry.type_.is_empty() {
            return Err(EntryError::NoType);
        }
        Ok(entry)
    }

    fn template(&mut self, key: &str, node: &Node) -> Result<(), FieldError> {
        let templates = &mut self.templates;
        let slot = match key {
            "init" => &mut templates.init,
            "state" => &mut templates.state,
            "shared" => &mut templates.shared,
            "outputs" => &mut templates.outputs,
            "manifests" => &mut templates.manifests,
            part if COMPOSE_PARTS.contains(&part) => templates.compose.entry(part.to_owned()).or_default(),
            _ => return Err(FieldError::Unknown),
        };
        *slot = text(node)?.unwrap_or_default();
        Ok(())
    }
}

/// Lower-case scheme of a URI.
fn scheme(uri: &str) -> Result<String, EntryError> {
    if uri.is_empty() {
        return Err(EntryError::NoUri);
    }
    if uri.chars().any(|c| c.is_ascii_control()) {
        return Err(EntryError::InvalidUri);
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    scheme.map(str::to_ascii_lowercase).ok_or(EntryError::NoScheme)
}

/// Scalar as text, as in Go; `None` for null.
fn text(node: &Node) -> Result<Option<String>, FieldError> {
    match &node.value {
        Parsed::Null => Ok(None),
        Parsed::String(text) | Parsed::Timestamp(text) => Ok(Some(text.clone())),
        Parsed::Bool(flag) => Ok(Some(flag.to_string())),
        Parsed::Number(number) => Ok(Some(number.to_string())),
        Parsed::List(_) | Parsed::Map(_) => Err(FieldError::NotText { found: node.type_name() }),
    }
}

fn texts(node: &Node) -> Result<Vec<String>, FieldError> {
    match &node.value {
        Parsed::Null => Ok(Vec::new()),
        Parsed::List(list) => list.iter().map(|item| Ok(text(item)?.unwrap_or_default())).collect(),
        _ => Err(FieldError::NotAList { found: node.type_name() }),
    }
}
