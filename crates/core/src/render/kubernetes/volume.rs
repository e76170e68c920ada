//! Volumes: what their providers call them, as the cluster mounts them.
//!
//! A provider names a volume by a word, which is the name of a `PersistentVolumeClaim`, or of a Secret if that is what
//! was claimed; or it gives the source in the cluster's own terms, of kinds that reach nothing of the node.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Volume as Typed;
use orchestra_api::{
    name,
    plan::{Container, Kind, Segment, Volume, WorkloadPlanSpec},
};
use serde_json::{Value as Json, json};

use super::quantity;

/// Sources that reach nothing of the node and nothing outside of the namespace.
const TAKEN: [&str; 5] = ["configMap", "emptyDir", "ephemeral", "persistentVolumeClaim", "secret"];
/// The type of claims that are secrets.
const SECRET: &str = "secret";

/// The volumes of a plan, each once, by their sources.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    by_source: BTreeMap<String, (String, Json)>,
}

impl Volumes {
    pub(super) fn of(plan: &WorkloadPlanSpec) -> Self {
        let mut volumes = Self::default();
        for volume in plan.containers.values().flat_map(|container| container.volumes.values()) {
            let Ok(source) = source(plan, volume) else { continue };
            let identity = source.to_string();
            let shown = volume.claim.as_deref().unwrap_or("volume");
            let name = name::derived(&[shown], &["volume", &identity]);
            volumes.by_source.entry(identity).or_insert((name, source));
        }
        volumes
    }

    /// As the cluster lists them.
    pub(super) fn list(&self) -> Vec<Json> {
        let volume = |(name, source): &(String, Json)| {
            let mut volume = source.clone();
            volume["name"] = json!(name);
            volume
        };
        self.by_source.values().map(volume).collect()
    }

    /// The mounts of a container.
    pub(super) fn mounts(&self, plan: &WorkloadPlanSpec, container: &Container) -> Vec<Json> {
        let mount = |(path, volume): (&String, &Volume)| {
            let source = source(plan, volume).ok()?;
            let (name, _) = self.by_source.get(&source.to_string())?;
            Some(json!({
                "name": name,
                "mountPath": absolute(path),
                "subPath": volume.path.as_deref().map(inner).filter(|path| !path.is_empty()),
                "readOnly": volume.read_only.then_some(true),
            }))
        };
        container.volumes.iter().filter_map(mount).collect()
    }
}

/// Whether a plan writes to a volume that outlives what runs, so that never two may run at once.
pub(super) fn is_written(plan: &WorkloadPlanSpec) -> bool {
    let volumes = plan.containers.values().flat_map(|container| container.volumes.values());
    let lasts =
        |volume: &Volume| source(plan, volume).is_ok_and(|s| s.get("persistentVolumeClaim").is_some());
    plan.kind == Kind::Service && volumes.into_iter().any(|volume| !volume.read_only && lasts(volume))
}

/// A path in a container, from its root and without a slash at the end.
pub(super) fn absolute(path: &str) -> String {
    format!("/{}", path.trim_matches('/'))
}

/// A path in a volume.
fn inner(path: &str) -> &str {
    path.trim_matches('/')
}

/// What of the volumes and paths a cluster does not take.
pub(super) fn lacks(plan: &WorkloadPlanSpec) -> Vec<String> {
    let mut lacks = Vec::new();
    for (name, container) in &plan.containers {
        for (path, volume) in &container.volumes {
            let field = format!("`containers.{name}.volumes.{path}`");
            if let Err(why) = source(plan, volume) {
                lacks.push(format!("{field} {why}"));
            }
            if volume.path.iter().any(|path| path.split('/').any(|part| part == "..")) {
                lacks.push(format!("{field} must have a `path` inside of the volume, without `..`."));
            }
        }
        let mut seen = BTreeMap::new();
        let files = container.files.keys().map(|path| (path, "files"));
        for (path, field) in files.chain(container.volumes.keys().map(|path| (path, "volumes"))) {
            let place = absolute(path);
            if place == "/" || place.contains(':') || place.split('/').any(|part| part == "..") {
                lacks.push(format!(
                    "`containers.{name}.{field}.{path}` cannot be mounted: write a path below `/`, without `:` and `..`."
                ));
            } else if seen.insert(place, field).is_some() {
                lacks.push(format!(
                    "`containers.{name}.{field}.{path}` stands where something else is mounted already: choose another path."
                ));
            }
        }
    }
    lacks
}

/// The source of a volume in the terms of the cluster, or what is wrong with it.
fn source(plan: &WorkloadPlanSpec, volume: &Volume) -> Result<Json, String> {
    let mut text = String::new();
    for segment in &volume.source {
        match segment {
            Segment::Literal(part) => text.push_str(part),
            Segment::ClaimOutput(_) => {
                return Err(
                    "names its volume by a secret, and a name is not secret: refer to the resource itself."
                        .to_owned(),
                );
            }
        }
    }
    let text = text.trim();
    if text.is_empty() {
        let key = volume.claim.as_deref().unwrap_or_default();
        return Err(format!(
            "mounts the resource `{key}`, which gives no volume (it has no output `source`): use a resource of type `volume`."
        ));
    }
    if text.starts_with('{') {
        return given(text);
    }
    let claim = plan.claims.iter().find(|claim| Some(&claim.key) == volume.claim.as_ref());
    if !is_name(text) {
        return Err(format!("names the volume {text:?}, which is no name here."));
    }
    Ok(match claim {
        Some(claim) if claim.type_ == SECRET => json!({"secret": {"secretName": text}}),
        _ => json!({"persistentVolumeClaim": {"claimName": text}}),
    })
}

/// A source in the terms of the cluster, with nothing in it that the cluster does not know, and amounts as it writes them.
fn given(text: &str) -> Result<Json, String> {
    let not_known = |why: &str| format!("has a source that is not known here ({why}).");
    let source: Json = serde_json::from_str(text).map_err(|_| not_known("it is no JSON"))?;
    let keys: Vec<&String> = source.as_object().into_iter().flat_map(|map| map.keys()).collect();
    let [kind] = keys[..] else { return Err(not_known("it has not exactly one kind")) };
    let kind = kind.clone();
    if !TAKEN.contains(&kind.as_str()) {
        return Err(format!(
            "has a source of the kind `{kind}`, and only {} are taken here.",
            crate::config::words::all(&TAKEN)
        ));
    }
    let mut source = tidy(source).unwrap_or_default();
    if source.get(&kind).is_none() {
        source = json!({&kind: {}});
    }
    let mut volume = source.clone();
    volume["name"] = json!("volume");
    let typed: Typed =
        serde_json::from_value(volume.clone()).map_err(|error| not_known(&error.to_string()))?;
    if serde_json::to_value(typed).ok() != Some(volume) {
        return Err(not_known(&format!("`{kind}` has a field that does not exist")));
    }
    Ok(source)
}

/// A value as the cluster keeps it: without what says nothing, and with canonical amounts.
fn tidy(value: Json) -> Option<Json> {
    match value {
        Json::Object(map) => {
            let kept = map.into_iter().filter(|(key, value)| !(key == "readOnly" && *value == json!(false)));
            let kept = kept.filter_map(|(key, value)| {
                let value = match value {
                    Json::Object(map) if map.is_empty() => Json::Object(map),
                    Json::String(text) if key == "sizeLimit" || key == "storage" => {
                        Json::String(quantity::canonical(&text).unwrap_or(text))
                    }
                    value => tidy(value)?,
                };
                Some((key, value))
            });
            Some(Json::Object(kept.collect()))
        }
        Json::Array(items) if items.is_empty() => None,
        Json::Array(items) => Some(items.into_iter().filter_map(tidy).collect()),
        Json::String(text) if text.is_empty() => None,
        Json::Null => None,
        other => Some(other),
    }
}

fn is_name(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text.starts_with(is_inside)
        && text.ends_with(is_inside)
        && text.chars().all(|c| is_inside(c) || "-.".contains(c))
}
