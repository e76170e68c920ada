//! Overrides: file, properties, image.

use std::collections::BTreeSet;

use orchestra_score::{
    Code, Document, Node, Source,
    overrides::{
        OverrideError, applicable_to, merge, merge_patch, parse_path, parse_property, set, set_image,
    },
};
use serde_json::{Value as Json, json};

use crate::conformance::{Case, expect_kinds, expect_same, parse_yaml, run_all, schema_accepts};

#[test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
fn overrides_change_documents_as_the_reference_tools_do() {
    run_all("overrides", 112, |case| {
        let over = case.get("override");
        if case.text("op") == "path" {
            return expect_same(
                "the path",
                &json!(parse_path(case.text("override"))),
                &case.get("expect")["output"],
            );
        }
        if let Some(documents) = case.get("document").as_array() {
            let result = applicable_to(documents.len()).map_err(|error| kind(&error));
            return outcome(case, &Node::from(Json::Null), result);
        }
        let mut node = Node::from(case.get("document").clone());
        let result = match case.text("op") {
            "set" => {
                let path: Vec<String> = serde_json::from_value(over["path"].clone()).unwrap();
                set(&mut node, &path, over.get("value").cloned().unwrap_or(Json::Null).into())
                    .map_err(|e| kind(&e))
            }
            "map-merge" => {
                merge_patch(&mut node, over.clone().into());
                Ok(())
            }
            "property" => properties(&mut node, over),
            "file" => file(&mut node, over),
            "pipeline" => {
                file(&mut node, &over["file"]).and_then(|()| properties(&mut node, &over["properties"]))
            }
            "image" => set_image(&mut node, over.as_str().map(|image| json!(image).into()).as_ref())
                .map(drop)
                .map_err(|e| kind(&e)),
            other => return Err(format!("unknown op {other}")),
        };
        outcome(case, &node, result)?;
        through_document(case)
    });
}

/// The same through [`Document`], as on the command line.
fn through_document(case: &Case) -> Result<(), String> {
    let over = case.get("override");
    let mut document = Document::from_json(case.get("document").clone());
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let properties = |document: &mut Document, over: &Json| match over {
        Json::Array(list) => list.iter().for_each(|argument| document.set_property(&text(argument))),
        argument => document.set_property(&text(argument)),
    };
    match case.text("op") {
        "property" => properties(&mut document, over),
        "file" => document.merge(Source::new("overrides.yaml", text(over))),
        "pipeline" => {
            document.merge(Source::new("overrides.yaml", text(&over["file"])));
            properties(&mut document, &over["properties"]);
        }
        "image" if !over.is_null() => document.set_image(&text(over)),
        _ => return Ok(()),
    }
    let got = document.root().map_or(Json::Null, Node::to_json);
    let refused = document
        .check()
        .errors()
        .any(|error| matches!(error.code, Code::InvalidOverride | Code::InvalidSyntax));
    match case.error_kinds() {
        Some(_) if refused => Ok(()),
        Some(_) => Err("not refused by the document".to_owned()),
        None => expect_same("the document after its own way", &got, &case.get("expect")["output"]),
    }
}

fn outcome(case: &Case, node: &Node, result: Result<(), String>) -> Result<(), String> {
    match result {
        Err(kind) => expect_kinds(case, &BTreeSet::from([kind])),
        Ok(()) if case.error_kinds().is_some() => Err("no error".to_owned()),
        Ok(()) => {
            let output = node.to_json();
            expect_same("the document", &output, &case.get("expect")["output"])?;
            match case.get("valid_after").as_bool() {
                Some(valid) if schema_accepts(&output) != valid => {
                    Err(format!("valid afterwards is not {valid}"))
                }
                _ => Ok(()),
            }
        }
    }
}

fn properties(node: &mut Node, over: &Json) -> Result<(), String> {
    let arguments: Vec<&str> = match over {
        Json::Array(list) => list.iter().filter_map(Json::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    for argument in arguments {
        let (path, value) = parse_property(argument).map_err(|error| kind(&error))?;
        let value = if value.trim().is_empty() {
            Json::Null.into()
        } else {
            parse_yaml(value).ok_or_else(|| "bad-yaml".to_owned())?
        };
        set(node, &parse_path(path), value).map_err(|error| kind(&error))?;
    }
    Ok(())
}

fn file(node: &mut Node, over: &Json) -> Result<(), String> {
    let over = match over {
        Json::String(text) if text.is_empty() => return Ok(()),
        Json::String(text) => parse_yaml(text).filter(|over| over.as_map().is_some()).ok_or("bad-yaml")?,
        other => other.clone().into(),
    };
    merge(node, over);
    Ok(())
}

fn kind(error: &OverrideError) -> String {
    match error {
        OverrideError::NoEquals => "no-equals",
        OverrideError::EmptyPath => "empty-path",
        OverrideError::TooDeep => "too-deep",
        OverrideError::BadIndex { .. } => "bad-index",
        OverrideError::OutOfRange { .. } => "out-of-range",
        OverrideError::NotAContainer { .. } => "not-a-container",
        OverrideError::NotOneDocument(_) => "too-many-files",
        OverrideError::ImageMissing(_) => "image-missing",
    }
    .to_owned()
}
