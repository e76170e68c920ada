//! Registry of the served kinds: the built-in ones, and those of the stored definitions.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Checks, Column, Custom, Kind, builtin};
use crate::{
    crd,
    metadata::NameRule,
    schema::{Checker, ScalePaths, Schema},
    store::Revision,
};

/// Served kinds at one revision.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    kinds: Vec<Arc<Kind>>,
    /// By group, version and plural.
    by_path: HashMap<(String, String, String), Arc<Kind>>,
    /// One kind for each resource in the store.
    by_resource: HashMap<Arc<str>, Arc<Kind>>,
    /// Kinds of each definition by its name, with a fingerprint of the definition.
    made: HashMap<String, (u64, Vec<Arc<Kind>>)>,
}

impl Registry {
    /// Registry for these definitions. Reuses the unchanged kinds of the previous one.
    pub(crate) fn build(definitions: &[Value], previous: &Self, now: Revision) -> Self {
        let mut registry = Self::default();
        for kind in builtin_kinds(previous, now) {
            registry.add(kind);
        }
        let served: Vec<&Value> = definitions
            .iter()
            .filter(|definition| {
                crd::conditions::status(definition, "Established") == "True"
                    || crd::name_conflicts::conflicts(definition, definitions).is_empty()
            })
            .collect();
        for definition in served {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            // A definition cannot replace a built-in kind.
            if registry.kinds.iter().any(|kind| !kind.custom && *kind.resource == *name) {
                continue;
            }
            let content = fingerprint(&[&definition["spec"], &definition["metadata"]["deletionTimestamp"]]);
            let kinds = match previous.made.get(&name) {
                Some((before, kinds)) if *before == content => kinds.clone(),
                _ => kinds_of(definition, now).into_iter().map(Arc::new).collect(),
            };
            for kind in &kinds {
                registry.add(Arc::clone(kind));
            }
            registry.made.insert(name, (content, kinds));
        }
        registry
    }

    fn add(&mut self, kind: Arc<Kind>) {
        let path = (kind.group.clone(), kind.version.clone(), kind.plural.clone());
        self.by_path.insert(path, Arc::clone(&kind));
        if kind.view.is_none() {
            self.by_resource.entry(Arc::clone(&kind.resource)).or_insert_with(|| Arc::clone(&kind));
        }
        self.kinds.push(kind);
    }

    /// The kind at `/apis/{group}/{version}/{plural}`.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// Kind of an object reference.
    pub(crate) fn find_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        self.kinds.iter().find(|candidate| candidate.kind == kind && candidate.api_version() == api_version)
    }

    /// Kind of the objects of a resource in the store.
    pub(crate) fn find_resource(&self, resource: &str) -> Option<&Arc<Kind>> {
        self.by_resource.get(resource)
    }

    /// All kinds, the built-in ones first.
    pub(crate) fn kinds(&self) -> &[Arc<Kind>] {
        &self.kinds
    }

    /// One kind for each resource in the store.
    pub(crate) fn resources(&self) -> Vec<&Arc<Kind>> {
        let mut resources: Vec<&Arc<Kind>> = Vec::new();
        for kind in &self.kinds {
            if kind.view.is_none() && !resources.iter().any(|known| known.resource == kind.resource) {
                resources.push(kind);
            }
        }
        resources
    }

    /// The groups and their versions, the preferred one first; the core group is left out.
    pub(crate) fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for kind in self.kinds.iter().filter(|kind| !kind.group.is_empty()) {
            let versions = groups.entry(&kind.group).or_default();
            if !versions.contains(&kind.version.as_str()) {
                versions.push(&kind.version);
            }
        }
        groups
            .into_iter()
            .map(|(group, mut versions)| {
                versions.sort_by(|a, b| crd::order::compare(b, a));
                (group.to_owned(), versions.into_iter().map(str::to_owned).collect())
            })
            .collect()
    }

    /// The kinds of a group in a version, by plural.
    pub(crate) fn in_version(&self, group: &str, version: &str) -> Vec<&Arc<Kind>> {
        let mut kinds: Vec<_> =
            self.kinds.iter().filter(|kind| kind.group == group && kind.version == version).collect();
        kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
        kinds
    }
}

fn builtin_kinds(previous: &Registry, now: Revision) -> Vec<Arc<Kind>> {
    let known: Vec<_> = previous.kinds.iter().filter(|kind| !kind.custom).cloned().collect();
    if known.is_empty() { builtin::kinds(now).into_iter().map(Arc::new).collect() } else { known }
}

/// Kinds of a definition, one per served version.
fn kinds_of(definition: &Value, since: Revision) -> Vec<Kind> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().map(text).collect() };
    let group = text(&spec["group"]);
    let (plural, name) = (text(&names["plural"]), text(&names["kind"]));
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let storage = versions.iter().find(|version| version["storage"] == true).unwrap_or(&Value::Null);
    // Only versions other than the stored one need it.
    let storage_checker = OnceCell::new();
    let storage_checker = || storage_checker.get_or_init(|| Arc::new(Checker::new(&schema_of(storage))));
    let mut kinds = Vec::new();
    for version in spec["versions"].as_array().into_iter().flatten() {
        if version["served"] != Value::Bool(true) {
            continue;
        }
        let schema = Arc::new(schema_of(version));
        let api_version = format!("{group}/{}", text(&version["name"]));
        let deprecation = (version["deprecated"] == Value::Bool(true)).then(|| {
            let own = version["deprecationWarning"].as_str().map(str::to_owned);
            own.unwrap_or_else(|| match successor(version, versions) {
                Some(better) => {
                    format!("{api_version} {name} is deprecated; use {group}/{better} {name}")
                }
                None => format!("{api_version} {name} is deprecated"),
            })
        });
        kinds.push(Kind {
            group: group.clone(),
            version: text(&version["name"]),
            plural: plural.clone(),
            singular: text(&names["singular"]),
            kind: name.clone(),
            list_kind: text(&names["listKind"]),
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            namespaced: spec["scope"] == "Namespaced",
            status: version["subresources"].get("status").is_some(),
            scale: scale_paths(version),
            custom: true,
            columns: columns(&version["additionalPrinterColumns"]),
            selectable: version["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
                .collect(),
            resource: format!("{plural}.{group}").into(),
            name_rule: NameRule::Dns1123Subdomain,
            generation: true,
            create_on_update: false,
            unconditional_update: false,
            delete_collection: true,
            read_only: false,
            checks: Checks::Custom(Arc::new(Custom {
                checker: checker(&schema, version),
                rules: orchestra_cel::Rules::compile(&schema),
            })),
            view: None,
            deprecation,
            since,
            returns_deleted: false,
            review: None,
            blank: None,
            fingerprint: fingerprint(&[&version["schema"]]),
            stored_fingerprint: fingerprint(&[&storage["schema"]]),
            storage: (version["name"] != storage["name"]).then(|| Arc::clone(storage_checker())),
            terminating: definition["metadata"].get("deletionTimestamp").is_some(),
            storage_hash: storage_hash(&group, storage["name"].as_str().unwrap_or_default(), &name),
            schema,
        });
    }
    kinds
}

fn schema_of(version: &Value) -> Schema {
    // A stored definition is valid, so its schema can be read.
    let alone = json!({"spec": {"versions": [version]}});
    let definition = crd::decode(&alone).unwrap_or_default();
    let source = definition.versions.into_iter().next().and_then(|version| version.schema);
    source.map(|source| source.schema).unwrap_or_default()
}

/// Checker of a schema, with the paths of the scale subresource.
fn checker(schema: &Schema, version: &Value) -> Checker {
    let checker = Checker::new(schema);
    match scale_paths(version) {
        Some(paths) => checker.with_scale(paths),
        None => checker,
    }
}

/// Fields of the scale subresource.
fn scale_paths(version: &Value) -> Option<ScalePaths> {
    let scale = &version["subresources"]["scale"];
    let path = |name: &str| scale[name].as_str().map(str::to_owned);
    Some(ScalePaths {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        label_selector: path("labelSelectorPath"),
    })
}

/// The best version to use instead of a deprecated one.
fn successor<'a>(deprecated: &Value, versions: &'a [Value]) -> Option<&'a str> {
    let own = deprecated["name"].as_str()?;
    versions
        .iter()
        .filter(|version| version["served"] == true && version["deprecated"] != true)
        .filter_map(|version| version["name"].as_str())
        .filter(|name| crd::order::compare(name, own).is_gt())
        .max_by(|a, b| crd::order::compare(a, b))
}

fn columns(columns: &Value) -> Vec<Column> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    columns
        .as_array()
        .into_iter()
        .flatten()
        .map(|column| Column {
            name: text(&column["name"]),
            kind: text(&column["type"]),
            format: text(&column["format"]),
            description: text(&column["description"]),
            priority: column["priority"].as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or_default(),
            json_path: text(&column["jsonPath"]),
        })
        .collect()
}

fn fingerprint(values: &[&Value]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for value in values {
        value.to_string().hash(&mut hasher);
    }
    hasher.finish()
}

/// Hash of the storage version, by which clients detect a change of it.
fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{group}/{version}/{kind}").as_bytes());
    STANDARD.encode(digest.as_ref().get(..8).unwrap_or_default())
}
