//! Which resources there are, which are shared, and in which order they can be provided.
//!
//! As strict as score-go about declarations that disagree, and without its two mistakes: a shared resource
//! appears once, after all dependencies of all its declarations, and a cycle through shared resources is seen.

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

/// The identity of a resource: `postgres.default#shop.db`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uid {
    /// What kind of thing.
    pub type_: String,
    /// Which sort of it.
    pub class: String,
    /// The shared identity, or `workload.name` for a private one. (An id written as `workload.name` is that very
    /// resource of the other workload: Score means it so.)
    pub id: String,
}

impl Uid {
    /// The class of a resource that names none.
    pub const DEFAULT_CLASS: &'static str = "default";

    /// The identity of a resource that a workload declares under a name.
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

// In the order of the written form, which is the order of the reference tools.
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

/// A resource, put together from all its declarations.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The parameters, not yet expanded; those of the first declaration that has any.
    pub params: Option<Map<String, Json>>,
    /// The notes; those of the first declaration that has any.
    pub metadata: Option<Map<String, Json>>,
    /// The workload in whose context the parameters are expanded: the first, by name, that gives any; else the
    /// first that declares the resource. A workload that joins later under a later name changes nothing.
    pub source_workload: String,
    /// What it needs to be there first.
    pub needs: BTreeSet<Uid>,
}

/// What all declarations of a shared resource must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The parameters.
    Params,
    /// The notes.
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

/// Why resources cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// Two declarations disagree.
    #[error("`{workload}` declares the shared resource `{uid}` with other {part} than `{holder}`")]
    Conflict {
        /// In what they disagree.
        part: Part,
        /// The resource.
        uid: Uid,
        /// The workload that comes later.
        workload: String,
        /// The name of the resource in it.
        name: String,
        /// The workload that came first.
        holder: String,
        /// The name of the resource in that one.
        holder_name: String,
    },
    /// Parameters refer to a resource that the workload does not declare.
    #[error(
        "the params of resource `{name}` of `{workload}` refer to the resource `{unknown}`, which is not declared"
    )]
    UnknownResource {
        /// The workload.
        workload: String,
        /// The resource with the parameters.
        name: String,
        /// The one that is not there.
        unknown: String,
    },
    /// Resources need each other, each the next.
    #[error("resources need each other in a circle: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Cycle(Vec<Uid>),
}

/// All resources of some workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// By identity.
    pub declared: BTreeMap<Uid, Declared>,
    /// An order in which each comes after what it needs; by identity where the needs leave it open.
    pub order: Vec<Uid>,
}

/// Puts the resources of workloads together, each by the name of the workload. All errors come at once.
pub fn resolve(
    workloads: &BTreeMap<&str, &BTreeMap<String, Resource>>,
) -> Result<Resources, Vec<ResourceError>> {
    let mut errors = Vec::new();
    let mut declared: BTreeMap<Uid, Declared> = BTreeMap::new();
    // Who gave each part, by workload and name.
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
    let needs = declared.iter().map(|(uid, resource)| (uid.clone(), resource.needs.clone())).collect();
    match layers(&needs) {
        Ok(layers) if errors.is_empty() => Ok(Resources { declared, order: layers.concat() }),
        Ok(_) => Err(errors),
        Err(circles) => {
            errors.extend(circles.into_iter().map(ResourceError::Cycle));
            Err(errors)
        }
    }
}

/// The names of resources that parameters refer to.
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
    fn a_resource_comes_after_what_its_params_refer_to() {
        let resources = all(&[workload(
            "shop",
            &json!({"route": {"type": "route", "params": {"hosts": ["${resources.dns.host}"]}}, "dns": {"type": "dns"}}),
        )])
        .unwrap();
        assert_eq!(order_of(&resources), ["dns.default#shop.dns", "route.default#shop.route"]);
    }

    #[test]
    fn a_shared_resource_appears_once_after_the_needs_of_all_its_declarations() {
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
    fn declarations_that_disagree_name_the_newcomer_and_the_holder() {
        let errors = all(&[
            workload("w1", &json!({"a": {"type": "thing", "id": "shared", "params": {"x": 1}}})),
            workload("w2", &json!({"b": {"type": "thing", "id": "shared", "params": {"x": "1"}}})),
        ])
        .unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "`w2` declares the shared resource `thing.default#shared` with other params than `w1`"
        );
    }

    #[test]
    fn a_circle_is_named_without_what_merely_waits_behind_it() {
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
            "resources need each other in a circle: thing.default#w1.aa, thing.default#w1.bb"
        );
    }
}
