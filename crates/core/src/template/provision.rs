//! One run of an entry for one resource.

use std::fmt;

use serde_json::{Map, Value as Json};

use super::{entry::Entry, inputs::Inputs};

/// What an entry gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// What the `init` template gave.
    pub init: Map<String, Json>,
    /// What is to be kept for the next run.
    pub state: Map<String, Json>,
    /// What the `shared` template gave: a JSON merge patch.
    pub shared_patch: Map<String, Json>,
    /// What entries share, with the patch applied.
    pub shared: Map<String, Json>,
    /// The outputs.
    pub outputs: Map<String, Json>,
    /// Objects to make.
    pub manifests: Vec<Json>,
    /// What the other parts of an entry of score-compose gave, as plain YAML.
    pub parts: Map<String, Json>,
    /// The random texts that were drawn, in order. An output that contains one is a secret.
    pub drawn: Vec<String>,
}

/// Why a template gave nothing. Never holds a rendered value: those may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The template that failed: `init`, `state`, `shared`, `outputs`, `manifests`…; `format` for the entry itself.
    pub stage: String,
    /// What went wrong.
    pub cause: Cause,
    /// The argument of a `fail` call, which is meant to be read; drawn texts and values of the state are blotted out.
    pub text: Option<String>,
    /// A sentence for people, with the line where there is one.
    pub message: String,
}

/// What went wrong with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The entry itself is not well formed.
    Format,
    /// The text is not a template.
    Parse,
    /// The template could not be carried out.
    Execute,
    /// The template called `fail`.
    Fail,
    /// What came out is not YAML.
    Yaml,
    /// What came out is YAML of another shape than wanted.
    Shape,
    /// A manifest is not what its kind says.
    Manifest,
}

impl Cause {
    /// The name that the conformance data of Score uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Parse => "template-parse",
            Self::Execute => "template-exec",
            Self::Fail => "fail",
            Self::Yaml => "yaml",
            Self::Shape => "shape",
            Self::Manifest => "manifest",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Entry {
    /// Runs the templates for a resource. The same seed and inputs give the same result.
    pub fn provision(&self, inputs: &Inputs, seed: &[u8]) -> Result<Given, Failure> {
        let _ = (inputs, seed);
        Err(Failure {
            stage: "format".to_owned(),
            cause: Cause::Format,
            text: None,
            message: "the template language is not there yet".to_owned(),
        })
    }

    /// Renders one more template, with what a run gave, and reads what comes out as YAML. `stage` names it in failures.
    pub fn render(&self, stage: &str, text: &str, inputs: &Inputs, given: &Given) -> Result<Json, Failure> {
        let _ = (text, inputs, given);
        self.provision(inputs, &[])
            .map(|_| Json::Null)
            .map_err(|failure| Failure { stage: stage.to_owned(), ..failure })
    }
}
