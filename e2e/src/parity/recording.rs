//! Recorded responses.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Normalised responses of a server to a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Responses, in the order of the steps.
    pub steps: Vec<Answer>,
    /// Names of the resource versions, the oldest first.
    pub versions: Vec<String>,
}

/// Response to one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Name of the step.
    pub step: String,
    /// Request line of the step, or the watch that it collects.
    pub request: String,
    /// HTTP status; absent for a collection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// Compared headers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub headers: BTreeMap<String, Vec<String>>,
    /// Body.
    #[serde(flatten)]
    pub content: Content,
}

/// Form of a body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// JSON, or YAML converted to JSON.
    Body(Value),
    /// Anything else.
    Text(String),
    /// Events of a watch; the last one may state that the watch ended or stalled.
    Events(Vec<Value>),
    /// Open watch.
    Watch(String),
}

impl Recording {
    /// Reads a stored recording.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    /// Stores the recording in a reviewable form.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(path, text)
    }
}
