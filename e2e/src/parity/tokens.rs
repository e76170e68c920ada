//! Names for values that differ from run to run.
//!
//! A UID or version is named after the step of its first occurrence: `uid:3` and `rv:3`, or `rv:3.2` for the second new one
//! in that response. Equal values have the same name, which reveals no-op writes. An additional revision does not change
//! later names.

use std::collections::{BTreeMap, HashMap};

use regex_lite::{Captures, Regex};
use serde_json::Value;

const UUID: &str = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/// Times since 2024 are from the server; scripts use older ones, which are compared.
const TIME: &str = r"20(?:2[4-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)";
const VERSION_IN_TEXT: &str = r"(?i)(resource ?version[^0-9]{0,40}|current: |\()(\d+)";
const HASH: &str = r"hash=[0-9A-F]+";
const JWT: &str = r"eyJ[0-9A-Za-z_-]+\.eyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+";

pub(super) struct Tokens {
    uuid: Regex,
    time: Regex,
    version: Regex,
    hash: Regex,
    jwt: Regex,
    uids: HashMap<String, String>,
    versions: BTreeMap<u64, String>,
    generated: Vec<(String, String)>,
}

impl Tokens {
    pub(super) fn new() -> Result<Self, regex_lite::Error> {
        Ok(Self {
            uuid: Regex::new(UUID)?,
            time: Regex::new(TIME)?,
            version: Regex::new(VERSION_IN_TEXT)?,
            hash: Regex::new(HASH)?,
            jwt: Regex::new(JWT)?,
            uids: HashMap::new(),
            versions: BTreeMap::new(),
            generated: Vec::new(),
        })
    }

    /// Registers all values in the response to a step.
    pub(super) fn register(&mut self, step: usize, value: &Value) {
        let mut new = (0, 0);
        self.visit(step, value, &mut new);
    }

    fn visit(&mut self, step: usize, value: &Value, new: &mut (usize, usize)) {
        match value {
            Value::String(text) => {
                for uid in self.uuid.find_iter(text) {
                    self.uids.entry(uid.as_str().to_owned()).or_insert_with(|| {
                        new.0 += 1;
                        name("uid", step, new.0)
                    });
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.visit(step, item, new)),
            Value::Object(fields) => {
                if let (Some(version), false) = (own_version(value), is_collection(value)) {
                    self.versions.entry(version).or_insert_with(|| {
                        new.1 += 1;
                        name("rv", step, new.1)
                    });
                }
                self.learn_generated(&value["metadata"]);
                fields.values().for_each(|field| self.visit(step, field, new));
            }
            _ => {}
        }
    }

    fn learn_generated(&mut self, metadata: &Value) {
        if let (Some(base), Some(full)) = (metadata["generateName"].as_str(), metadata["name"].as_str())
            && full.starts_with(base)
            && !self.generated.iter().any(|(known, _)| known == full)
        {
            let number = self.generated.len() + 1;
            self.generated.push((full.to_owned(), format!("{base}<generated {number}>")));
        }
    }

    /// Names of the versions, the oldest first.
    pub(super) fn versions(&self) -> Vec<String> {
        self.versions.values().cloned().collect()
    }

    /// Name of an object's version.
    pub(super) fn version(&self, version: u64) -> String {
        self.versions.get(&version).cloned().unwrap_or_else(|| "<version>".to_owned())
    }

    /// Name of the version of a collection or bookmark. Because of other writers it may be any version between two writes of
    /// the script, so it is named after the last write that it covers.
    pub(super) fn covering(&self, version: u64) -> String {
        match self.versions.range(..=version).next_back() {
            Some((_, name)) => format!(">={name}"),
            None => ">=0".to_owned(),
        }
    }

    /// Text with all values replaced by their names.
    pub(super) fn text(&self, text: &str) -> String {
        let text = self.uuid.replace_all(text, |found: &Captures| {
            self.uids.get(&found[0]).cloned().unwrap_or_else(|| "<uid>".to_owned())
        });
        let text = self.time.replace_all(&text, |found: &Captures| {
            found.get(1).map_or("<time>".to_owned(), |part| format!("<time, {} digits>", part.len() - 1))
        });
        let text = self.jwt.replace_all(&text, "<token>");
        let mut text = self.hash.replace_all(&text, "hash=<hash>").into_owned();
        for (full, name) in &self.generated {
            text = text.replace(full, name);
        }
        text
    }

    /// Message, in which versions are plain numbers.
    pub(super) fn message(&self, text: &str) -> String {
        let text = self.text(text);
        if !text.to_lowercase().replace(' ', "").contains("resourceversion") {
            return text;
        }
        let name = |found: &Captures| {
            match found[2].parse() {
                // Zero and one are from scripts, or not versions.
                Ok(0 | 1) => found[0].to_owned(),
                // The current version of the server does not depend on the script.
                Ok(version) if !found[1].starts_with("current") => {
                    format!("{}{}", &found[1], self.version(version))
                }
                _ => format!("{}<version>", &found[1]),
            }
        };
        self.version.replace_all(&text, name).into_owned()
    }
}

/// Version in the metadata of a value.
pub(super) fn own_version(value: &Value) -> Option<u64> {
    value["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// True if the version of a value covers many objects.
pub(super) fn is_collection(value: &Value) -> bool {
    let kind = value["kind"].as_str().unwrap_or_default();
    let bookmark = value["metadata"]["name"].is_null() && value["metadata"]["uid"].is_null();
    value.get("items").is_some() || kind == "Table" || kind.ends_with("List") || bookmark
}

fn name(what: &str, step: usize, number: usize) -> String {
    if number == 1 { format!("{what}:{step}") } else { format!("{what}:{step}.{number}") }
}
