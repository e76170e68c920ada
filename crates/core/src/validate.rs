//! Step one: validation of the document, with the same codes as `orchestra validate`.

use orchestra_api::{
    Workload,
    condition::{Finding, Reason},
};
use orchestra_score::{
    Code, Diagnostic, Document, Pointer,
    model::{self, FileContent},
};
use serde_json::Value as Json;

use crate::{claims::SEGMENTS, explain::Mistake, sentence::sentence};

/// Valid document of a Workload, or its errors.
pub fn validate(workload: &Workload) -> Result<model::Workload, Vec<Diagnostic>> {
    let report = Document::from_json(workload.document()).check();
    let mut errors: Vec<_> = report.errors().cloned().collect();
    match report.workload {
        Some(document) if errors.is_empty() => {
            errors = unread_files(&document);
            errors.extend(forged_segments(&document));
            if errors.is_empty() { Ok(document) } else { Err(errors) }
        }
        _ => Err(errors),
    }
}

/// Errors about files with a `source`: the client must inline them, since the platform has no folder.
fn unread_files(document: &model::Workload) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for (name, container) in &document.containers {
        for (path, file) in container.files.iter().flatten() {
            if let FileContent::Source(source) = &file.content {
                errors.push(Diagnostic::error(
                    Code::UnreadableFile,
                    Pointer::of(["containers", name, "files", path, "source"]),
                    None,
                    format!("the file `{source}` was not sent along"),
                    "apply the workload with `orchestra apply`, which reads it, or write its text as `content`",
                ));
            }
        }
    }
    errors
}

/// Errors about parameters in the platform's notation of references: a provisioner would read any Secret.
fn forged_segments(document: &model::Workload) -> Vec<Diagnostic> {
    fn visit(value: &Json, at: &Pointer, errors: &mut Vec<Diagnostic>) {
        match value {
            Json::Object(map) => {
                for (key, value) in map {
                    let at = at.key(key);
                    if key == SEGMENTS {
                        let (message, hint) = (
                            format!("the key `{SEGMENTS}` is the platform's own"),
                            "use another key, or a placeholder",
                        );
                        errors.push(Diagnostic::error(Code::UnknownField, at, None, message, hint));
                    } else {
                        visit(value, &at, errors);
                    }
                }
            }
            Json::Array(list) => {
                list.iter().enumerate().for_each(|(index, value)| visit(value, &at.index(index), errors));
            }
            _ => {}
        }
    }
    let mut errors = Vec::new();
    for (key, resource) in document.resources.iter().flatten() {
        if let Some(params) = &resource.params {
            let at = Pointer::of(["resources", key, "params"]);
            visit(&Json::Object(params.clone()), &at, &mut errors);
        }
    }
    errors
}

/// Finding about an invalid document: its first error, and the number of others.
pub fn refuse(errors: &[Diagnostic]) -> Finding {
    let first = errors
        .first()
        .map_or_else(|| "The document cannot be read.".to_owned(), |error| Mistake::from(error).to_string());
    Finding::bad(Reason::SpecInvalid, sentence(&first, errors.len().saturating_sub(1)))
}
