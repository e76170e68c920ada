//! Evaluation of an entry for one resource.

use std::{collections::BTreeMap, fmt};

use orchestra_gotemplate::{
    Error, ErrorKind, Field, Function, Heap, Interpreter, MapKind, Parameter, Template, Value,
};
use serde_json::{Map, Value as Json};

use super::{
    decode::decode,
    entry::{COMPOSE_PARTS, Entry},
    inputs::Inputs,
    manifest,
    secret_ref::encode_secret_ref,
};

/// Result of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// Result of the `init` template.
    pub init: Map<String, Json>,
    /// State for the next run.
    pub state: Map<String, Json>,
    /// Result of the `shared` template: a JSON merge patch.
    pub shared_patch: Map<String, Json>,
    /// Shared state, with the patch applied.
    pub shared: Map<String, Json>,
    /// Outputs.
    pub outputs: Map<String, Json>,
    /// Objects to create.
    pub manifests: Vec<Json>,
    /// Results of the other parts of score-compose, as plain YAML.
    pub parts: Map<String, Json>,
    /// Generated random texts, in order. An output that contains one is a secret.
    pub random_values: Vec<String>,
}

/// Failure of a template. It never contains a rendered value, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Failed template: `init`, `state`, `shared`, `outputs`, `manifests`…; `format` for the entry itself.
    pub stage: String,
    /// Cause.
    pub cause: Cause,
    /// Argument of a `fail` call, for users; random texts and values of the state are redacted.
    pub text: Option<String>,
    /// Message, with the line if there is one.
    pub message: String,
}

/// Cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The entry is invalid.
    Format,
    /// The template has a syntax error.
    Parse,
    /// The execution of the template failed.
    Execute,
    /// The template called `fail`.
    Fail,
    /// The output is not YAML.
    Yaml,
    /// The output is YAML of the wrong shape.
    Shape,
    /// A manifest does not match its kind.
    Manifest,
}

impl Cause {
    /// Name in the conformance data of Score.
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
    /// Evaluates the templates for a resource. The same seed and inputs give the same result.
    pub fn provision(&self, inputs: &Inputs, seed: &[u8]) -> Result<Given, Failure> {
        if let Some(reason) = &self.unsupported {
            return Err(format_failure(format!("`{}` cannot be used: {reason}", self.uri)));
        }
        if inputs.compose.is_none() && self.is_for_compose() {
            return Err(format_failure(format!(
                "`{}` cannot be used: it is for score-compose; only entries with `manifests` are supported",
                self.uri
            )));
        }
        let mut run = Run::new(inputs, seed);
        let templates = &self.templates;
        run.init = run.map("init", &templates.init)?;
        run.state = run.map("state", &templates.state)?;
        let patch = run.map("shared", &templates.shared)?;
        let shared_patch = run.object("shared", &patch)?;
        run.shared = merged(&mut run.interpreter.heap, &run.shared.clone(), &patch);
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
            random_values: run.interpreter.random_strings().to_vec(),
        })
    }

    /// Renders one more template with the result of a run, and parses its output as YAML. `stage` names it in failures. Random
    /// texts in it are no secrets: generate them in `init`.
    pub fn render(&self, stage: &str, text: &str, inputs: &Inputs, given: &Given) -> Result<Json, Failure> {
        let mut run = Run::after(inputs, given, self.uri.as_bytes());
        let value = run.value(stage, text)?;
        run.interpreter.heap.to_json(&value).map_err(|_| too_large(stage))
    }
}

/// Text of a template, rendered with the result of a run.
pub fn render_text(text: &str, inputs: &Inputs, given: &Given, seed: &[u8]) -> Result<String, Failure> {
    Run::after(inputs, given, seed).text("template", text)
}

/// Functions of score-k8s that score-compose does not have.
static CLUSTER_FUNCTIONS: &[Function] =
    &[Function::fixed("encodeSecretRef", &[Parameter::Str, Parameter::Str], |interpreter, args| {
        interpreter.string(encode_secret_ref(args[0].as_str(), args[1].as_str()))
    })];

/// Evaluation of the templates of an entry.
struct Run<'a> {
    inputs: &'a Inputs,
    interpreter: Interpreter,
    /// Fields that all templates have.
    fields: Vec<Field>,
    init: Value,
    state: Value,
    shared: Value,
}

impl<'a> Run<'a> {
    fn new(inputs: &'a Inputs, seed: &[u8]) -> Self {
        let mut interpreter = Interpreter::new(seed);
        let heap = &mut interpreter.heap;
        let fields = inputs.fields(heap);
        let state = heap.map_from_json(&inputs.state);
        let shared = heap.map_from_json(&inputs.shared);
        Self { inputs, interpreter, fields, init: Value::Map(MapKind::Any, None), state, shared }
    }

    fn after(inputs: &'a Inputs, given: &Given, seed: &[u8]) -> Self {
        let mut run = Self::new(inputs, seed);
        run.init = run.interpreter.heap.map_from_json(&given.init);
        run.state = run.interpreter.heap.map_from_json(&given.state);
        run.shared = run.interpreter.heap.map_from_json(&given.shared);
        run
    }

    fn text(&mut self, stage: &str, text: &str) -> Result<String, Failure> {
        let mut fields = self.fields.clone();
        for (name, value) in [("Init", &self.init), ("State", &self.state), ("Shared", &self.shared)] {
            fields.push(Field { name, json: name, value: value.clone() });
        }
        let root = self.interpreter.heap.new_record("*templateprov.Data", fields);
        let functions: &'static [Function] =
            if self.inputs.compose.is_none() { CLUSTER_FUNCTIONS } else { &[] };
        let output = Template::parse(text.trim(), functions)
            .and_then(|template| self.interpreter.render(&template, &root));
        output.map_err(|error| self.failure(stage, error))
    }

    fn failure(&self, stage: &str, Error { line, kind, message }: Error) -> Failure {
        let (cause, message, text) = match kind {
            ErrorKind::Parse => (Cause::Parse, message, None),
            ErrorKind::Execute => (Cause::Execute, message, None),
            ErrorKind::Fail => {
                let text = self.redacted(message);
                (Cause::Fail, text.clone(), Some(text))
            }
        };
        let message = format!("the template `{stage}` failed in line {line}: {message}");
        Failure { stage: stage.to_owned(), cause, text, message }
    }

    /// Text without random values and values of the state, which may be secret.
    fn redacted(&self, text: String) -> String {
        let mut secrets = self.interpreter.random_strings().to_vec();
        for state in [Ok(self.inputs.state.clone()), self.interpreter.heap.to_object(&self.state)] {
            secrets.extend(state.unwrap_or_default().values().flat_map(texts));
        }
        // Short texts are too common to redact.
        secrets.retain(|secret| secret.len() >= 6);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.iter().fold(text, |text, secret| text.replace(secret, "***"))
    }

    fn value(&mut self, stage: &str, text: &str) -> Result<Value, Failure> {
        if text.trim().is_empty() {
            return Ok(Value::Nil);
        }
        let rendered = self.text(stage, text)?;
        decode(&mut self.interpreter.heap, &rendered).map_err(|(cause, message)| Failure {
            stage: stage.to_owned(),
            cause,
            text: None,
            message: format!("the template `{stage}` failed: {message}"),
        })
    }

    /// Template that renders a map; an empty output is an empty map.
    fn map(&mut self, stage: &str, text: &str) -> Result<Value, Failure> {
        match self.value(stage, text)? {
            Value::Nil => Ok(self.interpreter.heap.new_map(MapKind::Any, BTreeMap::new())),
            map @ Value::Map(MapKind::Any, _) => Ok(map),
            // A null key is an empty string.
            Value::Map(MapKind::AnyKeys, at)
                if self.interpreter.heap.map(at).keys().all(String::is_empty) =>
            {
                Ok(Value::Map(MapKind::Any, at))
            }
            _ => Err(shape(stage, "a map with text keys")),
        }
    }

    fn object(&self, stage: &str, value: &Value) -> Result<Map<String, Json>, Failure> {
        self.interpreter.heap.to_object(value).map_err(|_| too_large(stage))
    }

    fn manifests(&mut self, text: &str) -> Result<Vec<Json>, Failure> {
        let stage = "manifests";
        let wanted = || shape(stage, "a list of objects");
        let value = self.value(stage, text)?;
        let list = match self.interpreter.heap.to_json(&value).map_err(|_| too_large(stage))? {
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
                    message: self.redacted(format!("manifest {} {fault}", number + 1)),
                });
            }
        }
        Ok(list)
    }

    /// Part of score-compose.
    fn part(&mut self, part: &str, text: &str) -> Result<Json, Failure> {
        let value = self.value(part, text)?;
        let json = self.interpreter.heap.to_json(&value).map_err(|_| too_large(part))?;
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
        if fits { Ok(json) } else { Err(shape(part, "the shape of this part")) }
    }
}

fn format_failure(message: String) -> Failure {
    Failure { stage: "format".to_owned(), cause: Cause::Format, text: None, message }
}

fn shape(stage: &str, wanted: &str) -> Failure {
    let message = format!("the template `{stage}` must render {wanted}");
    Failure { stage: stage.to_owned(), cause: Cause::Shape, text: None, message }
}

fn too_large(stage: &str) -> Failure {
    let message = format!("the output of the template `{stage}` exceeds the size limit");
    Failure { stage: stage.to_owned(), cause: Cause::Execute, text: None, message }
}

/// All strings in a value.
fn texts(json: &Json) -> Vec<String> {
    match json {
        Json::String(text) => vec![text.clone()],
        Json::Array(items) => items.iter().flat_map(texts).collect(),
        Json::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Map with a JSON merge patch applied: null deletes, maps are merged, any other value replaces.
fn merged(heap: &mut Heap, target: &Value, patch: &Value) -> Value {
    let entries = |heap: &Heap, value: &Value| match value {
        Value::Map(_, at) => heap.map(*at).clone(),
        _ => BTreeMap::new(),
    };
    let mut result = entries(heap, target);
    for (key, value) in entries(heap, patch) {
        match value {
            Value::Nil => {
                result.remove(&key);
            }
            Value::Map(MapKind::Any, _) => {
                let old = result.remove(&key).unwrap_or(Value::Nil);
                let new = merged(heap, &old, &value);
                result.insert(key, new);
            }
            other => {
                result.insert(key, other);
            }
        }
    }
    heap.new_map(MapKind::Any, result)
}
