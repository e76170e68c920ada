//! Placeholder expansion of a workload: the expanded fields, and the scope that resolves references.
//!
//! A [`Scope`] resolves a reference to text or to a reference of its own (to a secret, for example), which the expanded
//! value keeps as a segment until the runtime needs the text.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value as Json;

use crate::{
    model::{File, FileContent, Workload},
    placeholder::{At, Reference, ReferenceError, Segment, Template, expand, expand_value, to_text, walk},
    pointer::Pointer,
};

/// Scope that resolves the references of one workload.
pub trait Scope {
    /// Reference kept in place of text.
    type Kept;

    /// Metadata of the workload.
    fn metadata(&self) -> &Json;

    /// True if the workload declares the resource.
    fn declares(&self, resource: &str) -> bool;

    /// Output of a declared resource. `written` is the reference, for errors.
    fn output(
        &self,
        resource: &str,
        keys: &[String],
        written: &str,
    ) -> Result<Segment<Self::Kept>, ReferenceError>;

    /// The declared resource itself, for the source of a volume.
    fn resource(&self, resource: &str) -> Segment<Self::Kept>;
}

/// Field that a string is expanded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Variable, file or parameter: an output is required.
    Value,
    /// Source of a volume: a resource without an output is allowed.
    VolumeSource,
}

/// Resolves one reference.
pub fn resolve<S: Scope>(scope: &S, written: &str, usage: Usage) -> Result<Segment<S::Kept>, ReferenceError> {
    match Reference::parse(written)? {
        Reference::Metadata(keys) => Ok(Segment::Literal(to_text(walk(scope.metadata(), &keys, written)?))),
        Reference::Resource { name, .. } if !scope.declares(&name) => {
            Err(ReferenceError::UnknownResource { reference: written.to_owned(), name })
        }
        Reference::Resource { name, keys } if keys.is_empty() => match usage {
            Usage::VolumeSource => Ok(scope.resource(&name)),
            Usage::Value => Err(ReferenceError::OutputKeyRequired(written.to_owned())),
        },
        Reference::Resource { name, keys } => scope.output(&name, &keys, written),
    }
}

/// Expands one string.
pub fn text<S: Scope>(
    scope: &S,
    text: &str,
    usage: Usage,
) -> Result<Vec<Segment<S::Kept>>, Vec<ReferenceError>> {
    expand(text, |written| resolve(scope, written, usage))
}

/// Expands the parameters of a resource, at any depth.
pub fn params<S: Scope>(scope: &S, params: &Json) -> Result<Template<S::Kept>, Vec<At<ReferenceError>>> {
    expand_value(params, &mut |written| resolve(scope, written, Usage::Value))
}

/// Expanded content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<R> {
    /// Text as segments.
    Text(Vec<Segment<R>>),
    /// Bytes, not expanded.
    Bytes(Vec<u8>),
    /// Path of a source file that was not read; the path is not expanded.
    Source(String),
}

/// Expansion error of a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Placeholders without a value.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    References(Vec<ReferenceError>),
    /// Invalid base64 in `binaryContent`.
    #[error("invalid base64 in `binaryContent`")]
    NotBase64,
}

/// Expands a file. `source_text` is the content of the `source` file, if the caller has read it.
pub fn file<S: Scope>(
    scope: &S,
    file: &File,
    source_text: Option<&str>,
) -> Result<Content<S::Kept>, FileError> {
    let written = match (&file.content, source_text) {
        (FileContent::BinaryContent(encoded), _) => {
            return decode_base64(encoded).map(Content::Bytes).ok_or(FileError::NotBase64);
        }
        (FileContent::Content(text), _) => text,
        (FileContent::Source(_), Some(text)) => text,
        (FileContent::Source(path), None) => return Ok(Content::Source(path.clone())),
    };
    if file.no_expand == Some(true) {
        return Ok(Content::Text(vec![Segment::Literal(written.to_owned())]));
    }
    text(scope, written, Usage::Value).map(Content::Text).map_err(FileError::References)
}

/// Decodes base64 with padding; line breaks are ignored, as in a YAML block.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    STANDARD.decode(text).ok()
}

/// Workload with all placeholders expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Expanded<R> {
    /// Containers by name.
    pub containers: BTreeMap<String, Container<R>>,
    /// Parameters of resources that have any, by name.
    pub params: BTreeMap<String, Template<R>>,
}

/// Expanded fields of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Container<R> {
    /// Environment variables, by name.
    pub variables: BTreeMap<String, Vec<Segment<R>>>,
    /// Files, by path.
    pub files: BTreeMap<String, Content<R>>,
    /// Sources of volumes, by path.
    pub volumes: BTreeMap<String, Vec<Segment<R>>>,
}

/// Field that cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpanded {
    /// JSON pointer of the field.
    pub pointer: Pointer,
    /// Reason.
    pub error: FileError,
}

/// Expands variables, file contents, volume sources and parameters of a workload. Returns all errors at once.
pub fn workload<S: Scope>(scope: &S, workload: &Workload) -> Result<Expanded<S::Kept>, Vec<Unexpanded>> {
    let mut errors = Vec::new();
    let mut fail = |pointer: Pointer, error: FileError| errors.push(Unexpanded { pointer, error });
    let mut containers = BTreeMap::new();
    for (name, container) in &workload.containers {
        let at = Pointer::of(["containers", name]);
        let mut expanded =
            Container { variables: BTreeMap::new(), files: BTreeMap::new(), volumes: BTreeMap::new() };
        for (variable, value) in container.variables.iter().flatten() {
            match text(scope, value, Usage::Value) {
                Ok(segments) => drop(expanded.variables.insert(variable.clone(), segments)),
                Err(found) => fail(at.key("variables").key(variable), FileError::References(found)),
            }
        }
        for (path, given) in container.files.iter().flatten() {
            match file(scope, given, None) {
                Ok(content) => drop(expanded.files.insert(path.clone(), content)),
                Err(error) => fail(at.key("files").key(path), error),
            }
        }
        for (path, volume) in container.volumes.iter().flatten() {
            match text(scope, &volume.source, Usage::VolumeSource) {
                Ok(segments) => drop(expanded.volumes.insert(path.clone(), segments)),
                Err(found) => fail(at.key("volumes").key(path).key("source"), FileError::References(found)),
            }
        }
        containers.insert(name.clone(), expanded);
    }
    let mut all_params = BTreeMap::new();
    for (name, resource) in workload.resources.iter().flatten() {
        let Some(given) = &resource.params else { continue };
        match params(scope, &Json::Object(given.clone())) {
            Ok(template) => drop(all_params.insert(name.clone(), template)),
            Err(found) => {
                for At { path, error } in found {
                    let at = Pointer::of(["resources", name, "params"]);
                    let pointer = path.iter().fold(at, |at, part| at.key(part));
                    fail(pointer, FileError::References(vec![error]));
                }
            }
        }
    }
    if errors.is_empty() { Ok(Expanded { containers, params: all_params }) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Platform(Json);

    impl Scope for Platform {
        type Kept = String;

        fn metadata(&self) -> &Json {
            &self.0
        }

        fn declares(&self, resource: &str) -> bool {
            resource != "nope"
        }

        fn output(
            &self,
            resource: &str,
            keys: &[String],
            _: &str,
        ) -> Result<Segment<String>, ReferenceError> {
            Ok(match keys.join(".").as_str() {
                "password" => Segment::Reference(format!("secret of {resource}")),
                other => Segment::Literal(format!("<{resource} {other}>")),
            })
        }

        fn resource(&self, resource: &str) -> Segment<String> {
            Segment::Literal(format!("the {resource}"))
        }
    }

    fn expanded(container: &Json) -> Result<Expanded<String>, Vec<Unexpanded>> {
        let document = json!({
            "apiVersion": "score.dev/v1b1", "metadata": {"name": "shop"}, "containers": {"main": container},
            "resources": {"db": {"type": "postgres", "params": {"for": ["${metadata.name}", 1]}}},
        });
        workload(&Platform(json!({"name": "shop"})), &serde_json::from_value(document).unwrap())
    }

    #[test]
    fn a_secret_stays_a_reference_beside_the_text_around_it() {
        let expanded = expanded(&json!({
            "image": "x",
            "variables": {"URL": "pg://${resources.db.user}:${resources.db.password}@${metadata.name}"},
            "files": {"/raw": {"content": "${x}", "noExpand": true}, "/bytes": {"binaryContent": "aGk="}, "/beside": {"source": "./${x}"}},
            "volumes": {"/data": {"source": "${resources.data}"}},
        }))
        .unwrap();
        let main = &expanded.containers["main"];
        assert_eq!(
            main.variables["URL"],
            [
                Segment::Literal("pg://<db user>:".to_owned()),
                Segment::Reference("secret of db".to_owned()),
                Segment::Literal("@shop".to_owned()),
            ]
        );
        assert_eq!(main.files["/raw"], Content::Text(vec![Segment::Literal("${x}".to_owned())]));
        assert_eq!(main.files["/bytes"], Content::Bytes(b"hi".to_vec()));
        assert_eq!(main.files["/beside"], Content::Source("./${x}".to_owned()));
        assert_eq!(main.volumes["/data"], [Segment::Literal("the data".to_owned())]);
        assert_eq!(expanded.params["db"].join(&mut Clone::clone), json!({"for": ["shop", 1]}));
    }

    #[test]
    fn all_fields_that_cannot_be_expanded_are_reported() {
        let errors = expanded(&json!({
            "image": "x",
            "variables": {"A": "${resources.db}", "B": "${resources.nope.x}"},
            "files": {"/a": {"content": "${metadata.x}"}, "/b": {"binaryContent": "?"}},
        }))
        .unwrap_err();
        let found: Vec<_> = errors.iter().map(|e| (e.pointer.as_str(), e.error.to_string())).collect();
        assert_eq!(
            found,
            [
                (
                    "/containers/main/variables/A",
                    "invalid placeholder `${resources.db}`: missing output of the resource".to_owned()
                ),
                (
                    "/containers/main/variables/B",
                    "undefined resource `nope` in placeholder `${resources.nope.x}`".to_owned()
                ),
                (
                    "/containers/main/files/~1a",
                    "placeholder `${metadata.x}` has no value: `x` not found".to_owned()
                ),
                ("/containers/main/files/~1b", "invalid base64 in `binaryContent`".to_owned()),
            ]
        );
    }
}
