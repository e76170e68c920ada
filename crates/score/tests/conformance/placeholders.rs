//! Placeholders: lexer, references, expanded fields, and validation of documents.

use std::collections::BTreeSet;

use orchestra_score::{
    Code, Document,
    expansion::{self, Content, FileError, Scope, Usage},
    model::{File, Workload},
    placeholder::{ReferenceError, Segment, Token, join, to_text, tokens, walk},
    resource::Uid,
};
use serde_json::{Value as Json, json};

use crate::conformance::{Case, expect_kinds, expect_same, run_all};

#[test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
fn placeholders_are_expanded_as_in_score_go() {
    run_all("placeholders", 170, |case| match case.text("op") {
        "string" => string(case),
        "value" => value(case),
        "file" => file(case),
        "volume-source" => outcome(case, expanded(case)),
        "document" => document(case),
        "validate" => validate(case),
        other => Err(format!("unknown op {other}")),
    });
}

pub(crate) fn kind(error: &ReferenceError) -> &'static str {
    match error {
        ReferenceError::UnknownRoot(_) => "unknown-root",
        ReferenceError::MetadataKeyRequired(_) => "metadata-key-required",
        ReferenceError::ResourceNameRequired(_) => "resource-name-required",
        ReferenceError::OutputKeyRequired(_) => "output-key-required",
        ReferenceError::UnknownResource { .. } => "unknown-resource",
        ReferenceError::KeyNotFound { .. } => "key-not-found",
        ReferenceError::NotAMap { .. } => "not-a-map",
    }
}

/// Scope of a case.
struct CaseScope {
    metadata: Json,
    resources: Json,
    bare: Json,
}

impl CaseScope {
    fn of(case: &Case) -> Self {
        let context = case.get("context");
        let map = |field: &str| context.get(field).cloned().unwrap_or_else(|| json!({}));
        Self { metadata: map("metadata"), resources: map("resources"), bare: map("bare") }
    }
}

impl Scope for CaseScope {
    type Kept = ();

    fn metadata(&self) -> &Json {
        &self.metadata
    }

    fn declares(&self, resource: &str) -> bool {
        self.resources.get(resource).is_some()
    }

    fn output(&self, resource: &str, keys: &[String], written: &str) -> Result<Segment<()>, ReferenceError> {
        Ok(Segment::Literal(to_text(walk(&self.resources[resource], keys, written)?)))
    }

    fn resource(&self, resource: &str) -> Segment<()> {
        Segment::Literal(to_text(&self.bare[resource]))
    }
}

/// Cases with a value for a bare reference are about volume sources.
fn usage(case: &Case) -> Usage {
    if case.get("context").get("bare").is_some() { Usage::VolumeSource } else { Usage::Value }
}

fn joined(segments: &[Segment<()>]) -> Json {
    Json::from(join(segments, |()| String::new()))
}

fn expanded(case: &Case) -> Result<Json, Vec<String>> {
    let usage = if case.text("op") == "volume-source" { Usage::VolumeSource } else { usage(case) };
    expansion::text(&CaseScope::of(case), case.text("input"), usage)
        .map(|segments| joined(&segments))
        .map_err(|errors| kinds(&errors))
}

fn kinds(errors: &[ReferenceError]) -> Vec<String> {
    errors.iter().map(|error| kind(error).to_owned()).collect()
}

fn outcome(case: &Case, result: Result<Json, Vec<String>>) -> Result<(), String> {
    match result {
        Ok(_) if case.error_kinds().is_some() => Err("no error".to_owned()),
        Ok(output) => expect_same("the output", &output, &case.get("expect")["output"]),
        Err(kinds) => {
            let want: Vec<String> =
                serde_json::from_value(case.get("expect")["error"]["kinds"].clone()).unwrap_or_default();
            if kinds == want { Ok(()) } else { Err(format!("errors are {kinds:?}, not {want:?}")) }
        }
    }
}

fn string(case: &Case) -> Result<(), String> {
    if case.text("unescape") != "keep" {
        return outcome(case, expanded(case));
    }
    // For a runtime that removes the escapes itself: tokens restore the string.
    let given = CaseScope::of(case);
    let mut output = String::new();
    for token in tokens(case.text("input")) {
        match token {
            Token::Text(text) => output.push_str(text),
            Token::Dollar => output.push_str("$$"),
            Token::Escaped(text) => {
                output.push('$');
                output.push_str(text);
            }
            Token::Reference(written) => match expansion::resolve(&given, written, Usage::Value) {
                Ok(Segment::Literal(text)) => output.push_str(&text),
                other => return Err(format!("{other:?}")),
            },
        }
    }
    outcome(case, Ok(Json::from(output)))
}

fn value(case: &Case) -> Result<(), String> {
    let result = expansion::params(&CaseScope::of(case), case.get("input"))
        .map(|template| template.join(&mut |()| String::new()))
        .map_err(|errors| errors.iter().map(|at| kind(&at.error).to_owned()).collect());
    outcome(case, result)
}

fn file(case: &Case) -> Result<(), String> {
    let mut input = case.get("input").clone();
    let text = input.as_object_mut().and_then(|file| file.remove("source_text"));
    if text.is_some() {
        input["source"] = json!("beside.txt");
    }
    let file: File = serde_json::from_value(input).map_err(|error| error.to_string())?;
    let result = match expansion::file(&CaseScope::of(case), &file, text.as_ref().and_then(Json::as_str)) {
        Ok(Content::Text(segments)) => Ok(joined(&segments)),
        Ok(Content::Bytes(bytes)) => Ok(Json::from(String::from_utf8_lossy(&bytes).into_owned())),
        Ok(Content::Source(path)) => return Err(format!("{path} was not used")),
        Err(FileError::References(errors)) => Err(kinds(&errors)),
        Err(other) => Err(vec![other.to_string()]),
    };
    outcome(case, result)
}

fn document(case: &Case) -> Result<(), String> {
    let workload: Workload =
        serde_json::from_value(case.get("input").clone()).map_err(|error| error.to_string())?;
    let mut given = CaseScope::of(case);
    for (name, resource) in workload.resources.iter().flatten() {
        given.bare[name] = json!(Uid::of(&workload.metadata.name, name, resource).to_string());
    }
    let expanded = expansion::workload(&given, &workload).map_err(|errors| format!("{errors:?}"))?;
    // Fields that are not expanded stay unchanged.
    let mut output = case.get("input").clone();
    for (name, container) in &expanded.containers {
        let place = &mut output["containers"][name];
        for (variable, segments) in &container.variables {
            place["variables"][variable] = joined(segments);
        }
        for (path, content) in &container.files {
            if let Content::Text(segments) = content {
                place["files"][path]["content"] = joined(segments);
            }
        }
        for (path, segments) in &container.volumes {
            place["volumes"][path]["source"] = joined(segments);
        }
    }
    for (name, template) in &expanded.params {
        output["resources"][name]["params"] = template.join(&mut |()| String::new());
    }
    for (pointer, want) in case.get("expect")["values"].as_object().unwrap() {
        expect_same(pointer, output.pointer(pointer).unwrap_or(&Json::Null), want)?;
    }
    Ok(())
}

fn validate(case: &Case) -> Result<(), String> {
    let report = Document::from_json(case.get("input").clone()).check();
    let kinds: BTreeSet<String> = report
        .errors()
        .filter_map(|error| match error.code {
            Code::MalformedPlaceholder => Some("malformed"),
            Code::InvalidPlaceholder => Some("unsupported-root"),
            Code::UnknownResource => Some("unresolved-resource"),
            _ => None,
        })
        .map(str::to_owned)
        .collect();
    expect_kinds(case, &kinds)
}
