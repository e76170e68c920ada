//! Script format: a list of steps in YAML.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

use super::protobuf::Protobuf;

/// Independent sequence of requests about one topic.
#[derive(Debug, Clone)]
pub struct Script {
    /// File name without extension; also the name of the recording and the namespace.
    pub topic: String,
    /// Purpose, in one line.
    pub about: String,
    /// Requests, in order.
    pub steps: Vec<Step>,
}

/// Request, or collection of the events of a watch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Unique sentence within the script.
    #[serde(default)]
    pub name: String,
    /// `METHOD /path?query`.
    #[serde(default)]
    pub send: String,
    /// Fixture whose steps are played here; they must succeed and are not recorded.
    #[serde(default)]
    include: Option<String>,
    /// Additional headers; `null` removes a default one.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// Body, sent as JSON.
    #[serde(default)]
    pub body: Option<Value>,
    /// Raw body.
    #[serde(default)]
    pub raw: Option<String>,
    /// Body in protobuf.
    #[serde(default)]
    pub protobuf: Option<Protobuf>,
    /// Body in base64, sent as protobuf.
    #[serde(default)]
    pub base64: Option<String>,
    /// Patch format, which sets the content type.
    #[serde(default)]
    pub patch: Option<Patch>,
    /// Variables to set from a JSON pointer into the response, or from `header:NAME`.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// Repeat the request until its response matches; only the last one is recorded.
    #[serde(default)]
    pub until: Option<Until>,
    /// The response is a watch: keep it open under this name.
    #[serde(default)]
    pub watch: Option<String>,
    /// Collect events of a watch instead of sending a request.
    #[serde(default)]
    pub collect: Option<Collect>,
    /// Compare the body as exact text.
    #[serde(default)]
    pub text: bool,
    /// Compare only these JSON pointers of the body, because the rest depends on the cluster.
    #[serde(default)]
    pub only: Vec<String>,
    /// True for a setup step, which is not recorded.
    #[serde(default)]
    pub setup: bool,
}

/// Patch format of the API.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Patch {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Server-side apply.
    Apply,
    /// Strategic merge patch.
    Strategic,
}

impl Patch {
    /// Media type of the format.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// Expected response; all given criteria must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The HTTP status.
    #[serde(default)]
    pub status: Option<u16>,
    /// Values by JSON pointer into the body; `null` means absent.
    #[serde(default)]
    pub at: BTreeMap<String, Value>,
}

/// Events of a watch to collect.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// Name of the watch.
    pub watch: String,
    /// Number of events.
    #[serde(default)]
    pub events: Option<usize>,
    /// Up to and including the first bookmark. Otherwise bookmarks that do not end initial events are skipped, because
    /// the server sends them at any time.
    #[serde(default)]
    pub bookmark: bool,
    /// Everything until the server ends the watch (this is the default).
    #[serde(default)]
    pub end: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    steps: Vec<Step>,
}

/// Error of a script file.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file is missing or not readable.
    #[error("{0}: {1}")]
    Read(PathBuf, io::Error),
    /// The file is not a script.
    #[error("{0}: {1}")]
    Format(PathBuf, String),
}

impl Script {
    /// All scripts below a parity folder, by topic.
    pub fn all(folder: &Path) -> Result<Vec<Self>, ScriptError> {
        let scripts = folder.join("scripts");
        let read = |error| ScriptError::Read(scripts.clone(), error);
        let mut paths = Vec::new();
        for entry in fs::read_dir(&scripts).map_err(read)? {
            let path = entry.map_err(read)?.path();
            if path.extension().is_some_and(|ending| ending == "yaml") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::read(folder, path)).collect()
    }

    fn read(folder: &Path, path: &Path) -> Result<Self, ScriptError> {
        let file = parse(path)?;
        let mut steps = Vec::new();
        for step in file.steps {
            let Some(fixture) = &step.include else {
                steps.push(step);
                continue;
            };
            let fixture = folder.join("fixtures").join(format!("{fixture}.yaml"));
            for mut step in parse(&fixture)?.steps {
                step.setup = true;
                steps.push(step);
            }
        }
        let topic = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { topic: topic.unwrap_or_default(), about: file.about, steps })
    }

    /// Number of recorded steps.
    pub fn recorded_steps(&self) -> usize {
        self.steps.iter().filter(|step| !step.setup).count()
    }

    /// Namespace of the script.
    pub fn namespace(&self) -> String {
        format!("parity-{}", self.topic)
    }

    /// API group of the script.
    pub fn group(&self) -> String {
        format!("{}.parity.example.org", self.topic)
    }
}

fn parse(path: &Path) -> Result<File, ScriptError> {
    let text = fs::read_to_string(path).map_err(|error| ScriptError::Read(path.to_owned(), error))?;
    // YAML 1.2: `y` and `no` are strings.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| ScriptError::Format(path.to_owned(), error.to_string()))
}
