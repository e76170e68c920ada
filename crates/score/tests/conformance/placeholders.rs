//! Placeholders: lexing, references, the places where they are expanded, and the check of a whole document.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_score::{
    Code, Document,
    model::{File, FileContent, Workload},
    placeholder::{
        Reference, ReferenceError, Segment, Token, expand, expand_value, join, to_text, tokens, walk,
    },
    resource::Uid,
};
use serde_json::{Value as Json, json};

use crate::{Case, expect_kinds, expect_same, run_all};

#[test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
fn placeholders_mean_what_they_mean_in_score_go() {
    run_all("placeholders", 170, |case| match case.text("op") {
        "string" => string(case),
        "value" => value(case),
        "file" => file(case),
        "volume-source" => outcome(case, expanded(case.text("input"), &Scope::of(case))),
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

/// What references resolve to in a case.
struct Scope {
    metadata: Json,
    resources: Json,
    bare: Json,
}

impl Scope {
    fn of(case: &Case) -> Self {
        let context = case.get("context");
        Self {
            metadata: context.get("metadata").cloned().unwrap_or(json!({})),
            resources: context.get("resources").cloned().unwrap_or(json!({})),
            bare: context.get("bare").cloned().unwrap_or(json!({})),
        }
    }

    fn lookup(&self, written: &str) -> Result<Segment<()>, ReferenceError> {
        let value = match Reference::parse(written)? {
            Reference::Metadata(keys) => walk(&self.metadata, &keys, written)?.clone(),
            Reference::Resource { name, keys } => {
                let outputs = self.resources.get(&name).ok_or_else(|| ReferenceError::UnknownResource {
                    reference: written.to_owned(),
                    name: name.clone(),
                })?;
                if keys.is_empty() {
                    let bare = self.bare.get(&name);
                    bare.ok_or_else(|| ReferenceError::OutputKeyRequired(written.to_owned()))?.clone()
                } else {
                    walk(outputs, &keys, written)?.clone()
                }
            }
        };
        Ok(Segment::Literal(to_text(&value)))
    }
}

fn expanded(text: &str, scope: &Scope) -> Result<Json, Vec<String>> {
    expand(text, |written| scope.lookup(written))
        .map(|segments| Json::from(join(&segments, |()| String::new())))
        .map_err(|errors| errors.iter().map(|error| kind(error).to_owned()).collect())
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
    let scope = Scope::of(case);
    if case.text("unescape") == "keep" {
        // For a runtime that removes the escapes itself: tokens give the text back as it was.
        let mut output = String::new();
        for token in tokens(case.text("input")) {
            match token {
                Token::Text(text) => output.push_str(text),
                Token::Dollar => output.push_str("$$"),
                Token::Escaped(text) => {
                    output.push('$');
                    output.push_str(text);
                }
                Token::Reference(written) => match scope.lookup(written) {
                    Ok(Segment::Literal(text)) => output.push_str(&text),
                    other => return Err(format!("{other:?}")),
                },
            }
        }
        return outcome(case, Ok(Json::from(output)));
    }
    outcome(case, expanded(case.text("input"), &scope))
}

fn value(case: &Case) -> Result<(), String> {
    let scope = Scope::of(case);
    let result = expand_value(case.get("input"), &mut |written| scope.lookup(written))
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
    outcome(case, file_text(&file, text.as_ref().and_then(Json::as_str), &Scope::of(case)))
}

fn file_text(file: &File, source_text: Option<&str>, scope: &Scope) -> Result<Json, Vec<String>> {
    let text = match &file.content {
        FileContent::BinaryContent(encoded) => {
            let bytes = STANDARD.decode(encoded).map_err(|error| vec![error.to_string()])?;
            return Ok(Json::from(String::from_utf8_lossy(&bytes).into_owned()));
        }
        FileContent::Content(text) => text,
        FileContent::Source(_) => source_text.unwrap_or_default(),
    };
    if file.no_expand == Some(true) { Ok(Json::from(text)) } else { expanded(text, scope) }
}

fn document(case: &Case) -> Result<(), String> {
    let workload: Workload =
        serde_json::from_value(case.get("input").clone()).map_err(|error| error.to_string())?;
    let scope = Scope::of(case);
    let mut volume_scope = Scope::of(case);
    for (name, resource) in workload.resources.iter().flatten() {
        volume_scope.bare[name] = json!(Uid::of(&workload.metadata.name, name, resource).to_string());
    }
    let mut output = case.get("input").clone();
    let fail = |kinds: Vec<String>| format!("{kinds:?}");
    for (name, container) in &workload.containers {
        for (variable, text) in container.variables.iter().flatten() {
            output["containers"][name]["variables"][variable] = expanded(text, &scope).map_err(fail)?;
        }
        for (target, file) in container.files.iter().flatten() {
            if let FileContent::Content(_) = file.content {
                output["containers"][name]["files"][target]["content"] =
                    file_text(file, None, &scope).map_err(fail)?;
            }
        }
        for (target, volume) in container.volumes.iter().flatten() {
            output["containers"][name]["volumes"][target]["source"] =
                expanded(&volume.source, &volume_scope).map_err(fail)?;
        }
    }
    for (name, resource) in workload.resources.iter().flatten() {
        if let Some(params) = &resource.params {
            let template = expand_value(&Json::Object(params.clone()), &mut |written| scope.lookup(written))
                .map_err(|errors| format!("{errors:?}"))?;
            output["resources"][name]["params"] = template.join(&mut |()| String::new());
        }
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
