//! Rendering of variables and files.
//!
//! Plain values are in the object itself, or in one `ConfigMap`. A value that is exactly one secret refers to its Secret. A
//! value composed of text and secrets is in one Secret of the Workload. All files of a Workload are in one volume, and each
//! is mounted alone, so it hides nothing of the image.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_api::{
    name,
    plan::{Container, File, FileContent, Segment, WorkloadPlanSpec},
    reference::SecretKeyRef,
};
use serde_json::{Map, Value as Json, json};

use super::{
    Subject, list,
    names::{self, Annotations},
};

/// Name of the volume with the files.
const FILES: &str = "files";
/// Maximum size of a `ConfigMap` or a Secret.
const MAX_BYTES: usize = 1 << 20;

/// Text, by its parts.
enum Text<'a> {
    Plain(String),
    Secret(&'a SecretKeyRef),
    Composed(&'a [Segment]),
}

impl<'a> Text<'a> {
    fn of(segments: &'a [Segment]) -> Self {
        let mut plain = String::new();
        let mut secrets = Vec::new();
        for segment in segments {
            match segment {
                Segment::Literal(text) => plain.push_str(text),
                Segment::ClaimOutput(output) => secrets.push(&output.secret_key_ref),
            }
        }
        match secrets[..] {
            [] => Self::Plain(plain),
            [only] if plain.is_empty() => Self::Secret(only),
            _ => Self::Composed(segments),
        }
    }
}

/// Content of a file.
enum Content<'a> {
    Text(Text<'a>),
    Bytes(&'a str),
}

impl<'a> Content<'a> {
    fn of(file: &'a File) -> Self {
        match &file.content {
            FileContent::Text(segments) => Self::Text(Text::of(segments)),
            FileContent::Binary(base64) => Self::Bytes(base64),
        }
    }
}

/// Key of a variable in the Secret of the Workload.
fn variable_key(container: &str, variable: &str) -> String {
    name::derived(&[container], &["variable", container, variable])
}

/// Key of a file.
fn file_key(container: &str, path: &str) -> String {
    name::derived(&[container], &["file", container, path])
}

/// Composed variables and all files of a plan, with their keys.
fn texts(plan: &WorkloadPlanSpec) -> impl Iterator<Item = (String, Content<'_>)> {
    plan.containers.iter().flat_map(|(name, container)| {
        let variables = container.variables.iter();
        let variables = variables.filter_map(move |(variable, segments)| match Text::of(segments) {
            text @ Text::Composed(_) => Some((variable_key(name, variable), Content::Text(text))),
            Text::Plain(_) | Text::Secret(_) => None,
        });
        let files = container.files.iter();
        variables.chain(files.map(move |(path, file)| (file_key(name, path), Content::of(file))))
    })
}

/// Secrets that are composed with other text.
pub(super) fn composed(plan: &WorkloadPlanSpec) -> BTreeSet<SecretKeyRef> {
    let segments = texts(plan).filter_map(|(_, content)| match content {
        Content::Text(Text::Composed(segments)) => Some(segments),
        _ => None,
    });
    let outputs = segments.flatten().filter_map(|segment| match segment {
        Segment::ClaimOutput(output) => Some(output.secret_key_ref.clone()),
        Segment::Literal(_) => None,
    });
    outputs.collect()
}

/// Secret with composed values.
pub(super) fn secret(subject: &Subject<'_>, read: &dyn Fn(&SecretKeyRef) -> Vec<u8>) -> Option<Json> {
    let data: Map<String, Json> = texts(subject.plan)
        .filter_map(|(key, content)| match content {
            Content::Text(Text::Composed(segments)) => {
                Some((key, json!(STANDARD.encode(compose(segments, read)))))
            }
            _ => None,
        })
        .collect();
    let name = names::composed(subject.name);
    (!data.is_empty()).then(|| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
            "metadata": names::metadata(subject, &name, Annotations::Revision),
        })
    })
}

fn compose(segments: &[Segment], read: &dyn Fn(&SecretKeyRef) -> Vec<u8>) -> Vec<u8> {
    let parts = segments.iter().map(|segment| match segment {
        Segment::Literal(text) => text.clone().into_bytes(),
        Segment::ClaimOutput(output) => read(&output.secret_key_ref),
    });
    parts.collect::<Vec<_>>().concat()
}

/// `ConfigMap` with plain files.
pub(super) fn config_map(subject: &Subject<'_>) -> Option<Json> {
    let (mut data, mut binary) = (Map::new(), Map::new());
    for (key, content) in texts(subject.plan) {
        match content {
            Content::Text(Text::Plain(text)) => drop(data.insert(key, json!(text))),
            Content::Bytes(base64) => drop(binary.insert(key, json!(base64))),
            Content::Text(_) => {}
        }
    }
    let is_needed = !data.is_empty() || !binary.is_empty();
    let some = |map: Map<String, Json>| if map.is_empty() { Json::Null } else { Json::Object(map) };
    let name = names::files(subject.name);
    is_needed.then(|| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": some(data), "binaryData": some(binary),
            "metadata": names::metadata(subject, &name, Annotations::Bare),
        })
    })
}

/// Variables of a container.
pub(super) fn variables(subject: &Subject<'_>, name: &str, container: &Container) -> Json {
    let from = |secret: &str, key: &str| json!({"secretKeyRef": {"name": secret, "key": key}});
    let variables = container.variables.iter().map(|(variable, segments)| match Text::of(segments) {
        // The API server drops empty values.
        Text::Plain(text) if text.is_empty() => json!({"name": variable}),
        Text::Plain(text) => json!({"name": variable, "value": literal(&text)}),
        Text::Secret(secret) => json!({"name": variable, "valueFrom": from(&secret.name, &secret.key)}),
        Text::Composed(_) => {
            let key = variable_key(name, variable);
            json!({"name": variable, "valueFrom": from(&names::composed(subject.name), &key)})
        }
    });
    list(variables.collect())
}

/// Text that the cluster expands to itself: `$(NAME)` is the value of a variable and `$$` one dollar there, and a character
/// after any other dollar is kept only if it is ASCII.
pub(super) fn literal(text: &str) -> String {
    let mut protected = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        protected.push(c);
        let is_kept = |next: &char| next.is_ascii() && !['$', '('].contains(next);
        if c == '$' && rest.peek().is_some_and(|next| !is_kept(next)) {
            protected.push('$');
        }
    }
    protected
}

/// Mounts of the files of a container.
pub(super) fn mounts(name: &str, container: &Container) -> Vec<Json> {
    let mount = |path: &String| json!({"name": FILES, "mountPath": super::volume::absolute(path), "subPath": file_key(name, path), "readOnly": true});
    container.files.keys().map(mount).collect()
}

/// Volume with all files.
pub(super) fn volume(subject: &Subject<'_>) -> Option<Json> {
    let mut plain = Vec::new();
    let mut secret: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for (name, container) in &subject.plan.containers {
        for (path, file) in &container.files {
            let own_key = file_key(name, path);
            let mode = file.mode.as_ref().and_then(|mode| i32::from_str_radix(mode, 8).ok());
            let item = |key: &str| json!({"key": key, "path": own_key, "mode": mode});
            match Content::of(file) {
                Content::Text(Text::Plain(_)) | Content::Bytes(_) => plain.push(item(&own_key)),
                Content::Text(Text::Secret(from)) => {
                    secret.entry(from.name.clone()).or_default().push(item(&from.key));
                }
                Content::Text(Text::Composed(_)) => {
                    secret.entry(names::composed(subject.name)).or_default().push(item(&own_key));
                }
            }
        }
    }
    let mut sources = Vec::new();
    if !plain.is_empty() {
        sources.push(json!({"configMap": {"name": names::files(subject.name), "items": plain}}));
    }
    sources.extend(secret.into_iter().map(|(name, items)| json!({"secret": {"name": name, "items": items}})));
    (!sources.is_empty()).then(|| json!({"name": FILES, "projected": {"sources": sources}}))
}

/// Parts that a cluster does not support.
pub(super) fn lacks(plan: &WorkloadPlanSpec) -> Vec<String> {
    let mut lacks = Vec::new();
    for (name, container) in &plan.containers {
        let is_valid = |c: char| c.is_ascii_graphic() || c == ' ';
        for variable in container.variables.keys().filter(|variable| !variable.chars().all(is_valid)) {
            lacks.push(format!(
                "`containers.{name}.variables` has {variable:?}, but names of variables must be ASCII: rename it."
            ));
        }
    }
    let (mut plain, mut secret) = (0, 0);
    for (_, content) in texts(plan) {
        match content {
            Content::Text(Text::Plain(text)) => plain += text.len(),
            Content::Bytes(base64) => plain += base64.len() / 4 * 3,
            Content::Text(Text::Composed(segments)) => {
                secret += compose(segments, &|_| Vec::new()).len();
            }
            Content::Text(Text::Secret(_)) => {}
        }
    }
    if plain.max(secret) > MAX_BYTES {
        lacks.push(
            "`files` of all containers exceed the limit of 1 MiB in total: put large files into the image or into a volume."
                .to_owned(),
        );
    }
    lacks
}
