//! Provisioner files, read.

use std::{collections::BTreeMap, fmt};

use orchestra_score::{Diagnostic, Node, Source, SourceId, node::Value as Parsed, yaml};
use serde_json::{Map, Value as Json};

/// An entry of a provisioner file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Where it comes from: `template://…`.
    pub uri: String,
    /// The type of resource it provides.
    pub type_: String,
    /// The class it is for; any, if there is none.
    pub class: Option<String>,
    /// The id it is for; any, if there is none.
    pub id: Option<String>,
    /// What it is, in the words of its author.
    pub description: String,
    /// The params that it reads, as its author says.
    pub supported_params: Vec<String>,
    /// The outputs that it gives, as its author says.
    pub expected_outputs: Vec<String>,
    /// The templates.
    pub templates: Templates,
    /// What stands under `x-orchestra`, unread.
    pub extension: Map<String, Json>,
    /// Why it cannot be used here, if it cannot: it is of a scheme other than `template`.
    pub refused: Option<String>,
}

/// The templates of an entry; an empty text where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Templates {
    /// Values that the other templates use.
    pub init: String,
    /// What is kept for the next run.
    pub state: String,
    /// A merge patch on what entries share.
    pub shared: String,
    /// The outputs.
    pub outputs: String,
    /// Objects of Kubernetes.
    pub manifests: String,
    /// Parts that only score-compose has, by name.
    pub compose: BTreeMap<String, String>,
}

/// Why a provisioner file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// The place of the entry in the file, from 0; none where the file itself is at fault.
    pub entry: Option<usize>,
    /// A sentence that names what is wrong.
    pub message: String,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry {
            Some(entry) => write!(f, "entry {}: {}", entry + 1, self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for FileFault {}

/// The parts of an entry that only score-compose has, in the order they are evaluated.
pub(super) const COMPOSE_PARTS: [&str; 7] =
    ["directories", "files", "networks", "services", "volumes", "models", "info_logs"];

/// Reads a provisioner file. Templates are not looked at before they are used.
pub fn load(text: &str) -> Result<Vec<Entry>, FileFault> {
    let fault = |message: String| FileFault { entry: None, message };
    let (node, findings) = yaml::parse(&Source::new("provisioners", text), SourceId(0));
    if let Some(error) = findings.into_sorted().into_iter().find(Diagnostic::is_error) {
        return Err(fault(format!("the file cannot be read: {}", error.message)));
    }
    let node = node.ok_or_else(|| fault("there is nothing in the file".to_owned()))?;
    let entries =
        node.as_list().ok_or_else(|| fault("a provisioner file is a list of entries".to_owned()))?;
    entries
        .iter()
        .enumerate()
        .map(|(at, node)| Entry::read(node).map_err(|message| FileFault { entry: Some(at), message }))
        .collect()
}

impl Entry {
    /// Whether it provides resources of this type, class and id.
    pub fn matches(&self, type_: &str, class: &str, id: &str) -> bool {
        self.type_ == type_
            && self.class.as_deref().is_none_or(|own| own == class)
            && self.id.as_deref().is_none_or(|own| own == id)
    }

    /// How much of a resource it names: an id says more than a class, and a class more than nothing.
    pub fn specificity(&self) -> (bool, bool) {
        (self.id.is_some(), self.class.is_some())
    }

    /// Whether it is written for score-compose: it has parts that mean nothing to a cluster.
    pub fn is_for_compose(&self) -> bool {
        !self.templates.compose.is_empty()
    }

    /// Reads an entry that is JSON already.
    pub fn from_json(json: Json) -> Result<Self, String> {
        Self::read(&Node::from(json))
    }

    fn read(node: &Node) -> Result<Self, String> {
        let map = match &node.value {
            Parsed::Map(map) => map,
            Parsed::Null => return Err("`uri` is missing".to_owned()),
            _ => return Err(format!("an entry is a map, and this is {}", node.kind())),
        };
        let mut entry = Self::default();
        let uri = map.get("uri").and_then(|entry| entry.node.as_str()).unwrap_or_default();
        let scheme = scheme(uri)?;
        if scheme != "template" {
            entry.refused = Some(match scheme.as_str() {
                "cmd" => "it runs a command (`cmd://`), which this platform does not".to_owned(),
                other => format!("there is no engine for `{other}://`"),
            });
        }
        for (key, field) in map {
            let wrong = |what: String| format!("`{key}` {what}");
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
                    _ => return Err(wrong(format!("is a map, and this is {}", field.node.kind()))),
                },
                // What an entry of another scheme says beyond this is not for us.
                _ if entry.refused.is_some() => {}
                _ => entry.template(key, &field.node).map_err(wrong)?,
            }
        }
        if entry.type_.is_empty() {
            return Err("`type` is missing".to_owned());
        }
        Ok(entry)
    }

    fn template(&mut self, key: &str, node: &Node) -> Result<(), String> {
        let templates = &mut self.templates;
        let slot = match key {
            "init" => &mut templates.init,
            "state" => &mut templates.state,
            "shared" => &mut templates.shared,
            "outputs" => &mut templates.outputs,
            "manifests" => &mut templates.manifests,
            part if COMPOSE_PARTS.contains(&part) => templates.compose.entry(part.to_owned()).or_default(),
            _ => return Err("is not a field of a provisioner".to_owned()),
        };
        *slot = text(node)?.unwrap_or_default();
        Ok(())
    }
}

/// The scheme of a URI, in small letters.
fn scheme(uri: &str) -> Result<String, String> {
    if uri.is_empty() {
        return Err("`uri` is missing".to_owned());
    }
    if uri.chars().any(|c| c.is_ascii_control()) {
        return Err("`uri` is not a URI".to_owned());
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    scheme.map(str::to_ascii_lowercase).ok_or_else(|| "`uri` has no scheme, such as `template://`".to_owned())
}

/// A scalar as text, as Go reads one into a text field; nothing for null.
fn text(node: &Node) -> Result<Option<String>, String> {
    match &node.value {
        Parsed::Null => Ok(None),
        Parsed::String(text) | Parsed::Timestamp(text) => Ok(Some(text.clone())),
        Parsed::Bool(flag) => Ok(Some(flag.to_string())),
        Parsed::Number(number) => Ok(Some(number.to_string())),
        Parsed::List(_) | Parsed::Map(_) => Err(format!("is text, and this is {}", node.kind())),
    }
}

fn texts(node: &Node) -> Result<Vec<String>, String> {
    match &node.value {
        Parsed::Null => Ok(Vec::new()),
        Parsed::List(list) => list.iter().map(|item| Ok(text(item)?.unwrap_or_default())).collect(),
        _ => Err(format!("is a list of names, and this is {}", node.kind())),
    }
}
