//! One run of an entry for one resource.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value as Json};

use super::{
    decode::decode,
    entry::{COMPOSE_PARTS, Entry},
    inputs::Inputs,
    language::{
        machine::{Fault, Machine},
        value::{Field, MapKind, Value},
    },
    manifest,
};

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
        if let Some(reason) = &self.refused {
            return Err(format_failure(format!("`{}` cannot be used: {reason}", self.uri)));
        }
        if inputs.compose.is_none() && self.is_for_compose() {
            return Err(format_failure(format!(
                "`{}` cannot be used: it is written for score-compose, and only `manifests` are used here",
                self.uri
            )));
        }
        let mut run = Run::new(inputs, seed);
        let templates = &self.templates;
        run.init = run.map("init", &templates.init)?;
        run.state = run.map("state", &templates.state)?;
        let patch = run.map("shared", &templates.shared)?;
        let shared_patch = run.object("shared", &patch)?;
        run.shared = merged(&mut run.machine, &run.shared.clone(), &patch);
        let outputs = run.map("outputs", &templates.outputs)?;
        let manifests =
            if inputs.compose.is_none() { run.manifests(&templates.manifests)? } else { Vec::new() };
        let mut parts = Map::new();
        if inputs.compose.is_some() {
            for part in COMPOSE_PARTS {
                let text = templates.compose.get(part).map(String::as_str).unwrap_or_default();
                parts.insert(part.to_owned(), run.part(part, text)?);
            }
        }
        Ok(Given {
            init: run.object("init", &run.init)?,
            state: run.object("state", &run.state)?,
            shared: run.object("shared", &run.shared)?,
            shared_patch,
            outputs: run.object("outputs", &outputs)?,
            manifests,
            parts,
            drawn: std::mem::take(&mut run.machine.draws.drawn),
        })
    }

    /// Renders one more template, with what a run gave, and reads what comes out as YAML. `stage` names it in
    /// failures. Random texts in it are no secrets: draw them in `init`.
    pub fn render(&self, stage: &str, text: &str, inputs: &Inputs, given: &Given) -> Result<Json, Failure> {
        let mut run = Run::after(inputs, given, self.uri.as_bytes());
        let value = run.value(stage, text)?;
        run.machine.heap.to_json(&value).map_err(|_| too_large(stage))
    }
}

/// The text that a template gives, with what a run gave before it.
pub fn render_text(text: &str, inputs: &Inputs, given: &Given, seed: &[u8]) -> Result<String, Failure> {
    Run::after(inputs, given, seed).text("template", text)
}

/// A run of the templates of an entry.
struct Run<'a> {
    inputs: &'a Inputs,
    machine: Machine,
    /// What stays the same for all templates.
    fields: Vec<Field>,
    init: Value,
    state: Value,
    shared: Value,
}

impl<'a> Run<'a> {
    fn new(inputs: &'a Inputs, seed: &[u8]) -> Self {
        let mut machine = Machine::new(seed);
        let fields = inputs.fields(&mut machine);
        let state = machine.heap.object(&inputs.state);
        let shared = machine.heap.object(&inputs.shared);
        Self { inputs, machine, fields, init: Value::Map(MapKind::Any, None), state, shared }
    }

    fn after(inputs: &'a Inputs, given: &Given, seed: &[u8]) -> Self {
        let mut run = Self::new(inputs, seed);
        run.init = run.machine.heap.object(&given.init);
        run.state = run.machine.heap.object(&given.state);
        run.shared = run.machine.heap.object(&given.shared);
        run
    }

    fn text(&mut self, stage: &str, text: &str) -> Result<String, Failure> {
        let mut fields = self.fields.clone();
        for (name, value) in [("Init", &self.init), ("State", &self.state), ("Shared", &self.shared)] {
            fields.push(Field { name, json: name, value: value.clone() });
        }
        let root = self.machine.heap.new_record("*templateprov.Data", fields);
        let cluster = self.inputs.compose.is_none();
        self.machine.render(text, &root, cluster).map_err(|fault| self.failure(stage, fault))
    }

    fn failure(&self, stage: &str, fault: Fault) -> Failure {
        let (cause, line, message, text) = match fault {
            Fault::Parse { line, message } => (Cause::Parse, line, message, None),
            Fault::Execute { line, message } => (Cause::Execute, line, message, None),
            Fault::Failed { line, text } => {
                let text = self.blotted(text);
                (Cause::Fail, line, text.clone(), Some(text))
            }
        };
        let message = format!("the template `{stage}` fails in line {line}: {message}");
        Failure { stage: stage.to_owned(), cause, text, message }
    }

    /// The text without what was drawn and without the texts of the state, which may be secret.
    fn blotted(&self, text: String) -> String {
        let mut secrets = self.machine.draws.drawn.clone();
        for state in [Ok(self.inputs.state.clone()), self.machine.heap.to_object(&self.state)] {
            secrets.extend(state.unwrap_or_default().values().flat_map(texts));
        }
        // Short texts are too common to be told apart.
        secrets.retain(|secret| secret.len() >= 6);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.iter().fold(text, |text, secret| text.replace(secret, "***"))
    }

    fn value(&mut self, stage: &str, text: &str) -> Result<Value, Failure> {
        if text.trim().is_empty() {
            return Ok(Value::Nil);
        }
        let rendered = self.text(stage, text)?;
        decode(&mut self.machine, &rendered).map_err(|(cause, message)| Failure {
            stage: stage.to_owned(),
            cause,
            text: None,
            message: format!("the template `{stage}` fails: {message}"),
        })
    }

    /// A template that gives a map; nothing is an empty one.
    fn map(&mut self, stage: &str, text: &str) -> Result<Value, Failure> {
        match self.value(stage, text)? {
            Value::Nil => Ok(self.machine.heap.new_map(MapKind::Any, BTreeMap::new())),
            map @ Value::Map(MapKind::Any, _) => Ok(map),
            // A key that is nothing is an empty text.
            Value::Map(MapKind::AnyKeys, at) if self.machine.heap.map(at).keys().all(String::is_empty) => {
                Ok(Value::Map(MapKind::Any, at))
            }
            _ => Err(shape(stage, "a map with text keys")),
        }
    }

    fn object(&self, stage: &str, value: &Value) -> Result<Map<String, Json>, Failure> {
        self.machine.heap.to_object(value).map_err(|_| too_large(stage))
    }

    fn manifests(&mut self, text: &str) -> Result<Vec<Json>, Failure> {
        let stage = "manifests";
        let wanted = || shape(stage, "a list of objects");
        let value = self.value(stage, text)?;
        let list = match self.machine.heap.to_json(&value).map_err(|_| too_large(stage))? {
            Json::Null => Vec::new(),
            Json::Array(list) => list,
            _ => return Err(wanted()),
        };
        for (number, manifest) in list.iter().enumerate() {
            let none = Map::new();
            let map = match manifest {
                Json::Object(map) => map,
                Json::Null => &none,
                _ => return Err(wanted()),
            };
            if let Some(fault) = manifest::fault(map) {
                return Err(Failure {
                    stage: stage.to_owned(),
                    cause: Cause::Manifest,
                    text: None,
                    message: self.blotted(format!("manifest {} {fault}", number + 1)),
                });
            }
        }
        Ok(list)
    }

    /// A part that only score-compose has.
    fn part(&mut self, part: &str, text: &str) -> Result<Json, Failure> {
        let value = self.value(part, text)?;
        let json = self.machine.heap.to_json(&value).map_err(|_| too_large(part))?;
        let fits = |wanted: fn(&Json) -> bool| {
            json.as_object().is_some_and(|map| map.values().all(wanted)) || json.is_null()
        };
        let fits = match part {
            "directories" => fits(|value| value.is_boolean() || value.is_null()),
            "files" => fits(|value| value.is_string() || value.is_null()),
            "info_logs" => match &json {
                Json::Array(list) => list.iter().all(Json::is_string),
                other => other.is_null(),
            },
            _ => fits(|value| value.is_object() || value.is_null()),
        };
        if fits { Ok(json) } else { Err(shape(part, "what such a part is")) }
    }
}

fn format_failure(message: String) -> Failure {
    Failure { stage: "format".to_owned(), cause: Cause::Format, text: None, message }
}

fn shape(stage: &str, wanted: &str) -> Failure {
    let message = format!("the template `{stage}` must give {wanted}");
    Failure { stage: stage.to_owned(), cause: Cause::Shape, text: None, message }
}

fn too_large(stage: &str) -> Failure {
    let message = format!("the template `{stage}` gives more than a template may");
    Failure { stage: stage.to_owned(), cause: Cause::Execute, text: None, message }
}

/// All texts in a value.
fn texts(json: &Json) -> Vec<String> {
    match json {
        Json::String(text) => vec![text.clone()],
        Json::Array(items) => items.iter().flat_map(texts).collect(),
        Json::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// A map with a JSON merge patch applied: null deletes, maps are merged, everything else replaces.
fn merged(machine: &mut Machine, target: &Value, patch: &Value) -> Value {
    let entries = |machine: &Machine, value: &Value| match value {
        Value::Map(_, at) => machine.heap.map(*at).clone(),
        _ => BTreeMap::new(),
    };
    let mut result = entries(machine, target);
    for (key, value) in entries(machine, patch) {
        match value {
            Value::Nil => {
                result.remove(&key);
            }
            Value::Map(MapKind::Any, _) => {
                let old = result.remove(&key).unwrap_or(Value::Nil);
                let new = merged(machine, &old, &value);
                result.insert(key, new);
            }
            other => {
                result.insert(key, other);
            }
        }
    }
    machine.heap.new_map(MapKind::Any, result)
}
