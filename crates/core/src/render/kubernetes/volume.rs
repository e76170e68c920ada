//! Rendering of volumes.
//!
//! The output `source` of a claim is the name of a `PersistentVolumeClaim`, or of a Secret for a claim of that type; or it is
//! a volume source as JSON, of kinds without access to the node.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Volume as Typed;
use orchestra_api::{
    name,
    plan::{Container, Kind, Segment, Volume, WorkloadPlanSpec},
};
use serde_json::{Value as Json, json};

use super::quantity;

/// Volume sources without access to the node or to other namespaces.
const SUPPORTED_SOURCES: [&str; 5] =
    ["configMap", "emptyDir", "ephemeral", "persistentVolumeClaim", "secret"];
/// Type of claims that are secrets.
const SECRET: &str = "secret";

/// Volumes of a plan, without duplicates, by their sources.
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

    /// Volumes of a pod.
    pub(super) fn list(&self) -> Vec<Json> {
        let volume = |(name, source): &(String, Json)| {
            let mut volume = source.clone();
            volume["name"] = json!(name);
            volume
        };
        self.by_source.values().map(volume).collect()
    }

    /// Mounts of a container.
    pub(super) fn mounts(&self, plan: &WorkloadPlanSpec, container: &Container) -> Vec<Json> {
        let mount = |(path, volume): (&String, &Volume)| {
            let source = source(plan, volume).ok()?;
            let (name, _) = self.by_source.get(&source.to_string())?;
            Some(json!({
                "name": name,
                "mountPath": absolute(path),
                "subPath": volume.path.as_deref().map(relative).filter(|path| !path.is_empty()),
                "readOnly": volume.read_only.then_some(true),
            }))
        };
        container.volumes.iter().filter_map(mount).collect()
    }
}

/// True if a service writes to a persistent volume, so two pods must never run at once.
pub(super) fn is_stateful(plan: &WorkloadPlanSpec) -> bool {
    let volumes = plan.containers.values().flat_map(|container| container.volumes.values());
    let is_persistent =
        |volume: &Volume| source(plan, volume).is_ok_and(|s| s.get("persistentVolumeClaim").is_some());
    plan.kind == Kind::Service && volumes.into_iter().any(|volume| !volume.read_only && is_persistent(volume))
}

/// Absolute path in a container, without a trailing slash.
pub(super) fn absolute(path: &str) -> String {
    format!("/{}", path.trim_matches('/'))
}

/// Relative path in a volume.
fn relative(path: &str) -> &str {
    path.trim_matches('/')
}

/// Unsupported volumes and paths.
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
            let mount_path = absolute(path);
            if mount_path == "/" || mount_path.contains(':') || mount_path.split('/').any(|part| part == "..")
            {
                lacks.push(format!(
                    "`containers.{name}.{field}.{path}` cannot be mounted: write a path below `/`, without `:` and `..`."
                ));
            } else if seen.insert(mount_path, field).is_some() {
                lacks.push(format!(
                    "`containers.{name}.{field}.{path}` conflicts with another mount at the same path: choose another path."
                ));
            }
        }
    }
    lacks
}

/// Source of a volume, or an error.
fn source(plan: &WorkloadPlanSpec, volume: &Volume) -> Result<Json, String> {
    let mut text = String::new();
    for segment in &volume.source {
        match segment {
            Segment::Literal(part) => text.push_str(part),
            Segment::ClaimOutput(_) => {
                return Err(
                    "has a secret as the name of its volume: refer to the resource itself.".to_owned()
                );
            }
        }
    }
    let text = text.trim();
    if text.is_empty() {
        let key = volume.claim.as_deref().unwrap_or_default();
        return Err(format!(
            "mounts the resource `{key}`, which is not a volume (it has no output `source`): use a resource of type `volume`."
        ));
    }
    if text.starts_with('{') {
        return parsed(text);
    }
    let claim = plan.claims.iter().find(|claim| Some(&claim.key) == volume.claim.as_ref());
    if !is_name(text) {
        return Err(format!("has the volume {text:?}, which is not a valid name."));
    }
    Ok(match claim {
        Some(claim) if claim.type_ == SECRET => json!({"secret": {"secretName": text}}),
        _ => json!({"persistentVolumeClaim": {"claimName": text}}),
    })
}

/// Volume source from JSON, without unknown fields and with canonical quantities.
fn parsed(text: &str) -> Result<Json, String> {
    let invalid = |why: &str| format!("has an invalid source ({why}).");
    let source: Json = serde_json::from_str(text).map_err(|_| invalid("not JSON"))?;
    let keys: Vec<&String> = source.as_object().into_iter().flat_map(|map| map.keys()).collect();
    let [kind] = keys[..] else { return Err(invalid("not exactly one kind")) };
    let kind = kind.clone();
    if !SUPPORTED_SOURCES.contains(&kind.as_str()) {
        return Err(format!(
            "has a source of the kind `{kind}`; supported kinds: {}.",
            crate::config::name_rules::all(&SUPPORTED_SOURCES)
        ));
    }
    let mut source = canonical(source).unwrap_or_default();
    if source.get(&kind).is_none() {
        source = json!({&kind: {}});
    }
    let mut volume = source.clone();
    volume["name"] = json!("volume");
    let typed: Typed = serde_json::from_value(volume.clone()).map_err(|error| invalid(&error.to_string()))?;
    if serde_json::to_value(typed).ok() != Some(volume) {
        return Err(invalid(&format!("`{kind}` has an unknown field")));
    }
    Ok(source)
}

/// Value in the form of the API server: without empty fields, and with canonical quantities.
fn canonical(value: Json) -> Option<Json> {
    match value {
        Json::Object(map) => {
            let kept = map.into_iter().filter(|(key, value)| !(key == "readOnly" && *value == json!(false)));
            let kept = kept.filter_map(|(key, value)| {
                let value = match value {
                    Json::Object(map) if map.is_empty() => Json::Object(map),
                    Json::String(text) if key == "sizeLimit" || key == "storage" => {
                        Json::String(quantity::canonical(&text).unwrap_or(text))
                    }
                    value => canonical(value)?,
                };
                Some((key, value))
            });
            Some(Json::Object(kept.collect()))
        }
        Json::Array(items) if items.is_empty() => None,
        Json::Array(items) => Some(items.into_iter().filter_map(canonical).collect()),
        Json::String(text) if text.is_empty() => None,
        Json::Null => None,
        other => Some(other),
    }
}

fn is_name(text: &str) -> bool {
    let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text.starts_with(is_alphanumeric)
        && text.ends_with(is_alphanumeric)
        && text.chars().all(|c| is_alphanumeric(c) || "-.".contains(c))
}
