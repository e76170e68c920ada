//! Answers, as they come and as they are stored.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a server answered to a script, without what differs from run to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The answers, in the order of the steps.
    pub steps: Vec<Answer>,
    /// The names that the answers give to resource versions, from the oldest to the newest.
    pub versions: Vec<String>,
}

/// The answer to one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The step's name.
    pub step: String,
    /// The step's request line, or the watch it collects.
    pub request: String,
    /// The HTTP status; a collection has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// All headers that say something about the answer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub headers: BTreeMap<String, Vec<String>>,
    /// What was in the body.
    #[serde(flatten)]
    pub content: Content,
}

/// The forms of a body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// JSON, or YAML read as JSON.
    Body(Value),
    /// Anything else.
    Text(String),
    /// The events of a watch; the last one may say that the watch ended or stalled.
    Events(Vec<Value>),
    /// A watch that stays open.
    Watch(String),
}

impl Recording {
    /// Reads a stored recording.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    /// Stores the recording for people to review.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(path, text)
    }
}
