//! Identity, sharing and provisioning order of resources.
//!
//! As strict as score-go about conflicting declarations, without its two bugs: a shared resource appears once, after
//! the dependencies of all its declarations, and a cycle through shared resources is detected.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value as Json};

use crate::{
    graph::layers,
    model::Resource,
    placeholder::{Reference, Token, tokens},
};

/// Identity of a resource: `postgres.default#shop.db`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uid {
    /// Type.
    pub type_: String,
    /// Class.
    pub class: String,
    /// Shared id, or `workload.name` for a private resource. (An id of the form `workload.name` is the resource of that
    /// workload, as Score specifies.)
    pub id: String,
}

impl Uid {
    /// Default class.
    pub const DEFAULT_CLASS: &'static str = "default";

    /// Identity of the resource `name` of a workload.
    pub fn of(workload: &str, name: &str, resource: &Resource) -> Self {
        Self {
            type_: resource.type_.clone(),
            class: resource.class.clone().unwrap_or_else(|| Self::DEFAULT_CLASS.to_owned()),
            id: resource.id.clone().unwrap_or_else(|| format!("{workload}.{name}")),
        }
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}#{}", self.type_, self.class, self.id)
    }
}

// Order of the written form, as in the reference tools.
impl Ord for Uid {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        fn written(uid: &Uid) -> impl Iterator<Item = u8> + '_ {
            [uid.type_.as_str(), ".", &uid.class, "#", &uid.id].into_iter().flat_map(str::bytes)
        }
        written(self).cmp(written(other))
    }
}

impl PartialOrd for Uid {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Resource merged from all its declarations.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Parameters, not yet expanded, of the first declaration that has any.
    pub params: Option<Map<String, Json>>,
    /// Metadata of the first declaration that has any.
    pub metadata: Option<Map<String, Json>>,
    /// Workload whose scope expands the parameters: the first, by name, that has any; else the first that declares the
    /// resource. A workload with a later name changes nothing.
    pub source_workload: String,
    /// Dependencies, from placeholders in the parameters.
    pub needs: BTreeSet<Uid>,
}

/// Part that must be equal in all declarations of a shared resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// `params`.
    Params,
    /// `metadata`.
    Metadata,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Params => "params",
            Self::Metadata => "metadata",
        })
    }
}

/// Invalid set of resources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// Conflicting declarations.
    #[error("conflicting {part} for shared resource `{uid}`: workloads `{workload}` and `{holder}` differ")]
    Conflict {
        /// Conflicting part.
        part: Part,
        /// Shared resource.
        uid: Uid,
        /// Later workload.
        workload: String,
        /// Resource name in the later workload.
        name: String,
        /// First workload.
        holder: String,
        /// Resource name in the first workload.
        holder_name: String,
    },
    /// Undefined resource in parameters.
    #[error("undefined resource `{unknown}` in params of resource `{name}` of workload `{workload}`")]
    UnknownResource {
        /// Workload.
        workload: String,
        /// Resource with the parameters.
        name: String,
        /// Undefined resource.
        unknown: String,
    },
    /// Dependency cycle; each resource depends on the next one.
    #[error("dependency cycle between resources: {}", .0.iter().chain(.0.first()).map(ToString::to_string).collect::<Vec<_>>().join(" → "))]
    Cycle(Vec<Uid>),
}

/// All resources of a set of workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// Resources by identity.
    pub declared: BTreeMap<Uid, Declared>,
    /// Provisioning order: each after its dependencies, otherwise by identity.
    pub order: Vec<Uid>,
}

/// Merges the resources of workloads, by workload name. Returns all errors at once.
pub fn resolve(
    workloads: &BTreeMap<&str, &BTreeMap<String, Resource>>,
) -> Result<Resources, Vec<ResourceError>> {
    let mut errors = Vec::new();
    let mut declared: BTreeMap<Uid, Declared> = BTreeMap::new();
    // First declaration of each part: workload and resource name.
    let mut holders: BTreeMap<(Uid, Part), (&str, &str)> = BTreeMap::new();
    for (workload, resources) in workloads {
        for (name, resource) in *resources {
            let uid = Uid::of(workload, name, resource);
            let entry = declared.entry(uid.clone()).or_insert_with(|| Declared {
                params: None,
                metadata: None,
                source_workload: (*workload).to_owned(),
                needs: BTreeSet::new(),
            });
            if entry.params.is_none() && resource.params.is_some() {
                (*workload).clone_into(&mut entry.source_workload);
            }
            for (part, held, given) in [
                (Part::Params, &mut entry.params, &resource.params),
                (Part::Metadata, &mut entry.metadata, &resource.metadata),
            ] {
                let Some(given) = given else { continue };
                let (holder, holder_name) = *holders.entry((uid.clone(), part)).or_insert((workload, name));
                if held.get_or_insert_with(|| given.clone()) != given {
                    errors.push(ResourceError::Conflict {
                        part,
                        uid: uid.clone(),
                        workload: (*workload).to_owned(),
                        name: name.clone(),
                        holder: holder.to_owned(),
                        holder_name: holder_name.to_owned(),
                    });
                }
            }
            for needed in references(resource.params.as_ref()) {
                match resources.get(&needed) {
                    Some(other) => {
                        entry.needs.insert(Uid::of(workload, &needed, other));
                    }
                    None => errors.push(ResourceError::UnknownResource {
                        workload: (*workload).to_owned(),
                        name: name.clone(),
                        unknown: needed,
                    }),
                }
            }
        }
    }
    let dependencies = declared.iter().map(|(uid, resource)| (uid.clone(), resource.needs.clone())).collect();
    match layers(&dependencies) {
        Ok(layers) if errors.is_empty() => Ok(Resources { declared, order: layers.concat() }),
        Ok(_) => Err(errors),
        Err(cycles) => {
            errors.extend(cycles.into_iter().map(ResourceError::Cycle));
            Err(errors)
        }
    }
}

/// Names of resources that parameters refer to.
fn references(params: Option<&Map<String, Json>>) -> BTreeSet<String> {
    fn visit(value: &Json, found: &mut BTreeSet<String>) {
        match value {
            Json::String(text) => {
                for token in tokens(text) {
                    if let Token::Reference(reference) = token
                        && let Ok(Reference::Resource { name, .. }) = Reference::parse(reference)
                    {
                        found.insert(name);
                    }
                }
            }
            Json::Array(list) => list.iter().for_each(|item| visit(item, found)),
            Json::Object(map) => map.values().for_each(|item| visit(item, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    params.into_iter().flat_map(Map::values).for_each(|value| visit(value, &mut found));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workload(name: &str, resources: &Json) -> (String, BTreeMap<String, Resource>) {
        (name.to_owned(), serde_json::from_value(resources.clone()).unwrap())
    }

    fn all(workloads: &[(String, BTreeMap<String, Resource>)]) -> Result<Resources, Vec<ResourceError>> {
        resolve(&workloads.iter().map(|(name, resources)| (name.as_str(), resources)).collect())
    }

    fn order_of(resources: &Resources) -> Vec<String> {
        resources.order.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_resource_comes_after_the_resources_in_its_params() {
        let resources = all(&[workload(
            "shop",
            &json!({"route": {"type": "route", "params": {"hosts": ["${resources.dns.host}"]}}, "dns": {"type": "dns"}}),
        )])
        .unwrap();
        assert_eq!(order_of(&resources), ["dns.default#shop.dns", "route.default#shop.route"]);
    }

    #[test]
    fn a_shared_resource_appears_once_after_the_dependencies_of_all_its_declarations() {
        let resources = all(&[
            workload(
                "w1",
                &json!({"shared": {"type": "thing", "id": "shared", "params": {"x": "${resources.dep.o}"}}, "dep": {"type": "zdep"}}),
            ),
            workload("w2", &json!({"shared": {"type": "thing", "id": "shared"}})),
        ])
        .unwrap();
        assert_eq!(order_of(&resources), ["zdep.default#w1.dep", "thing.default#shared"]);
        assert_eq!(resources.declared.len(), 2);
    }

    #[test]
    fn an_id_that_names_the_private_resource_of_another_workload_is_that_resource() {
        let resources = all(&[
            workload("w1", &json!({"db": {"type": "postgres"}})),
            workload("w2", &json!({"other": {"type": "postgres", "id": "w1.db"}})),
        ])
        .unwrap();
        assert_eq!(order_of(&resources), ["postgres.default#w1.db"]);
    }

    #[test]
    fn conflicting_declarations_name_both_workloads() {
        let errors = all(&[
            workload("w1", &json!({"a": {"type": "thing", "id": "shared", "params": {"x": 1}}})),
            workload("w2", &json!({"b": {"type": "thing", "id": "shared", "params": {"x": "1"}}})),
        ])
        .unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "conflicting params for shared resource `thing.default#shared`: workloads `w2` and `w1` differ"
        );
    }

    #[test]
    fn a_cycle_is_reported_without_its_dependents() {
        let errors = all(&[workload(
            "w1",
            &json!({
                "aa": {"type": "thing", "params": {"x": "${resources.bb.o}"}},
                "bb": {"type": "thing", "params": {"x": "${resources.aa.o}"}},
                "cc": {"type": "thing", "params": {"x": "${resources.aa.o}"}},
            }),
        )])
        .unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "dependency cycle between resources: thing.default#w1.aa → thing.default#w1.bb → thing.default#w1.aa"
        );
    }
}
