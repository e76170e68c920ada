//! Variables and files, and where the cluster keeps what is in them.
//!
//! What is plain stands in the object itself, or in one `ConfigMap`. What is exactly one secret is taken from where it
//! is. What is put together from texts and secrets is kept in one Secret of our own. All files of a Workload come
//! through one volume, and each is mounted alone, so that it hides nothing of the image.

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

/// The name of the volume with the files.
const FILES: &str = "files";
/// The most that a `ConfigMap` or a Secret holds.
const MOST: usize = 1 << 20;

/// A text, by what is in it.
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

/// What is in a file, and where it is kept.
enum Kept<'a> {
    Text(Text<'a>),
    Bytes(&'a str),
}

impl<'a> Kept<'a> {
    fn of(file: &'a File) -> Self {
        match &file.content {
            FileContent::Text(segments) => Self::Text(Text::of(segments)),
            FileContent::Binary(base64) => Self::Bytes(base64),
        }
    }
}

/// The key of a variable in the Secret of our own.
fn variable_key(container: &str, variable: &str) -> String {
    name::derived(&[container], &["variable", container, variable])
}

/// The key of a file, wherever it is kept.
fn file_key(container: &str, path: &str) -> String {
    name::derived(&[container], &["file", container, path])
}

/// All variables of a plan that are put together, and all files, with their keys.
fn texts(plan: &WorkloadPlanSpec) -> impl Iterator<Item = (String, Kept<'_>)> {
    plan.containers.iter().flat_map(|(name, container)| {
        let variables = container.variables.iter();
        let variables = variables.filter_map(move |(variable, segments)| match Text::of(segments) {
            text @ Text::Composed(_) => Some((variable_key(name, variable), Kept::Text(text))),
            Text::Plain(_) | Text::Secret(_) => None,
        });
        let files = container.files.iter();
        variables.chain(files.map(move |(path, file)| (file_key(name, path), Kept::of(file))))
    })
}

/// The secrets that are put together with other text.
pub(super) fn composed(plan: &WorkloadPlanSpec) -> BTreeSet<SecretKeyRef> {
    let segments = texts(plan).filter_map(|(_, kept)| match kept {
        Kept::Text(Text::Composed(segments)) => Some(segments),
        _ => None,
    });
    let outputs = segments.flatten().filter_map(|segment| match segment {
        Segment::ClaimOutput(output) => Some(output.secret_key_ref.clone()),
        Segment::Literal(_) => None,
    });
    outputs.collect()
}

/// The Secret with what is put together.
pub(super) fn secret(subject: &Subject<'_>, read: &dyn Fn(&SecretKeyRef) -> Vec<u8>) -> Option<Json> {
    let data: Map<String, Json> = texts(subject.plan)
        .filter_map(|(key, kept)| match kept {
            Kept::Text(Text::Composed(segments)) => {
                Some((key, json!(STANDARD.encode(put_together(segments, read)))))
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

fn put_together(segments: &[Segment], read: &dyn Fn(&SecretKeyRef) -> Vec<u8>) -> Vec<u8> {
    let parts = segments.iter().map(|segment| match segment {
        Segment::Literal(text) => text.clone().into_bytes(),
        Segment::ClaimOutput(output) => read(&output.secret_key_ref),
    });
    parts.collect::<Vec<_>>().concat()
}

/// The `ConfigMap` with plain files.
pub(super) fn config_map(subject: &Subject<'_>) -> Option<Json> {
    let (mut data, mut binary) = (Map::new(), Map::new());
    for (key, kept) in texts(subject.plan) {
        match kept {
            Kept::Text(Text::Plain(text)) => drop(data.insert(key, json!(text))),
            Kept::Bytes(base64) => drop(binary.insert(key, json!(base64))),
            Kept::Text(_) => {}
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

/// The variables of a container.
pub(super) fn variables(subject: &Subject<'_>, name: &str, container: &Container) -> Json {
    let from = |secret: &str, key: &str| json!({"secretKeyRef": {"name": secret, "key": key}});
    let variables = container.variables.iter().map(|(variable, segments)| match Text::of(segments) {
        // The cluster leaves out what is empty.
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

/// A text that the cluster expands to itself. There `$(NAME)` is the value of a variable and `$$` one dollar; what
/// follows another dollar is kept only if it is ASCII.
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

/// The mounts of the files of a container, each alone.
pub(super) fn mounts(name: &str, container: &Container) -> Vec<Json> {
    let mount = |path: &String| json!({"name": FILES, "mountPath": super::volume::absolute(path), "subPath": file_key(name, path), "readOnly": true});
    container.files.keys().map(mount).collect()
}

/// The volume with all files.
pub(super) fn volume(subject: &Subject<'_>) -> Option<Json> {
    let mut plain = Vec::new();
    let mut secret: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for (name, container) in &subject.plan.containers {
        for (path, file) in &container.files {
            let place = file_key(name, path);
            let mode = file.mode.as_ref().and_then(|mode| i32::from_str_radix(mode, 8).ok());
            let item = |key: &str| json!({"key": key, "path": place, "mode": mode});
            match Kept::of(file) {
                Kept::Text(Text::Plain(_)) | Kept::Bytes(_) => plain.push(item(&place)),
                Kept::Text(Text::Secret(from)) => {
                    secret.entry(from.name.clone()).or_default().push(item(&from.key));
                }
                Kept::Text(Text::Composed(_)) => {
                    secret.entry(names::composed(subject.name)).or_default().push(item(&place));
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

/// What of it a cluster does not take.
pub(super) fn lacks(plan: &WorkloadPlanSpec) -> Vec<String> {
    let mut lacks = Vec::new();
    for (name, container) in &plan.containers {
        let is_taken = |c: char| c.is_ascii_graphic() || c == ' ';
        for variable in container.variables.keys().filter(|variable| !variable.chars().all(is_taken)) {
            lacks.push(format!(
                "`containers.{name}.variables` has {variable:?}, and names of variables are ASCII here: rename it."
            ));
        }
    }
    let (mut plain, mut secret) = (0, 0);
    for (_, kept) in texts(plan) {
        match kept {
            Kept::Text(Text::Plain(text)) => plain += text.len(),
            Kept::Bytes(base64) => plain += base64.len() / 4 * 3,
            Kept::Text(Text::Composed(segments)) => {
                secret += put_together(segments, &|_| Vec::new()).len();
            }
            Kept::Text(Text::Secret(_)) => {}
        }
    }
    if plain.max(secret) > MOST {
        lacks.push(
            "`files` of all containers hold more than 1 MiB together, which is the most here: put large files into the image or into a volume."
                .to_owned(),
        );
    }
    lacks
}
