//! The script format: a list of steps in YAML.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

/// One topic: a sequence of requests that depends on no other script.
#[derive(Debug, Clone)]
pub struct Script {
    /// The file's name without its ending; names the recording and the script's namespace.
    pub topic: String,
    /// What the script is for, in one line.
    pub about: String,
    /// The requests, in order.
    pub steps: Vec<Step>,
}

/// One request, or the collection of what a watch has delivered so far.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A sentence that is unique within the script.
    #[serde(default)]
    pub name: String,
    /// `METHOD /path?query`.
    #[serde(default)]
    pub send: String,
    /// Steps of a fixture that are played here; they must succeed and are not recorded.
    #[serde(default)]
    include: Option<String>,
    /// Headers beside the usual ones; `null` takes a usual one away.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// The body as a value, sent as JSON.
    #[serde(default)]
    pub body: Option<Value>,
    /// The body as it is.
    #[serde(default)]
    pub raw: Option<String>,
    /// The kind of patch, which is its content type.
    #[serde(default)]
    pub patch: Option<Patch>,
    /// Variables to set: a JSON pointer into the answer, or `header:NAME`.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// Repeat the request until its answer is like this; only the last answer is recorded.
    #[serde(default)]
    pub until: Option<Until>,
    /// The answer is a watch: keep it open under this name.
    #[serde(default)]
    pub watch: Option<String>,
    /// Instead of a request: what a watch delivers.
    #[serde(default)]
    pub collect: Option<Collect>,
    /// Compare the body as text, to the letter.
    #[serde(default)]
    pub text: bool,
    /// Compare only these places of the body, since the rest is the cluster's own.
    #[serde(default)]
    pub only: Vec<String>,
    /// Whether the step prepares others and is not recorded.
    #[serde(default)]
    pub setup: bool,
}

/// The patch formats of the API.
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
    /// The media type that names the format.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// What an answer must be like; all that is given must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The HTTP status.
    #[serde(default)]
    pub status: Option<u16>,
    /// Values at places of the body; `null` means that nothing is there.
    #[serde(default)]
    pub at: BTreeMap<String, Value>,
}

/// How much of a watch to take.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// The watch's name.
    pub watch: String,
    /// So many events.
    #[serde(default)]
    pub events: Option<usize>,
    /// Up to and with the first bookmark. Otherwise bookmarks that do not end initial events are
    /// left out, since the server sends them when it likes.
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

/// Why a script cannot be read.
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

    /// How many steps are recorded and compared.
    pub fn recorded_steps(&self) -> usize {
        self.steps.iter().filter(|step| !step.setup).count()
    }

    /// The namespace that belongs to this script alone.
    pub fn namespace(&self) -> String {
        format!("parity-{}", self.topic)
    }

    /// The API group that belongs to this script alone.
    pub fn group(&self) -> String {
        format!("{}.parity.example.org", self.topic)
    }
}

fn parse(path: &Path) -> Result<File, ScriptError> {
    let text = fs::read_to_string(path).map_err(|error| ScriptError::Read(path.to_owned(), error))?;
    // Labels such as `y` and `no` are words.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| ScriptError::Format(path.to_owned(), error.to_string()))
}
