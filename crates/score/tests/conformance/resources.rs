//! Identity, sharing and order of resources.

use std::collections::BTreeMap;

use orchestra_score::{
    expansion::{self, Scope},
    model::Resource,
    placeholder::{ReferenceError, Segment, to_text, walk},
    resource::{Declared, Part, ResourceError, Resources, Uid, resolve},
};
use serde_json::{Value as Json, json};

use crate::conformance::{Case, expect_kinds, expect_same, run_all};

#[test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
fn resources_are_identified_shared_and_ordered_as_score_go_does() {
    run_all("resources", 69, |case| if case.text("op") == "uid" { uid(case) } else { graph(case) });
}

fn uid(case: &Case) -> Result<(), String> {
    let input = case.get("input");
    let mut resource = json!({"type": input["type"]});
    for field in ["class", "id"] {
        if !input[field].is_null() {
            resource[field] = input[field].clone();
        }
    }
    let resource: Resource = serde_json::from_value(resource).map_err(|error| error.to_string())?;
    let uid = Uid::of(input["workload"].as_str().unwrap(), input["name"].as_str().unwrap(), &resource);
    let got = json!({"uid": uid.to_string(), "type": uid.type_, "class": uid.class, "id": uid.id});
    expect_same("the identity", &got, case.get("expect"))
}

struct GraphCase {
    metadata: Json,
    resources: BTreeMap<String, Resource>,
}

fn graph(case: &Case) -> Result<(), String> {
    let mut workloads: BTreeMap<String, GraphCase> = BTreeMap::new();
    for workload in case.get("workloads").as_array().unwrap() {
        let resources = workload.get("resources").cloned().unwrap_or(json!({}));
        let resources = serde_json::from_value(resources).map_err(|error| error.to_string())?;
        let metadata = workload["metadata"].clone();
        workloads.insert(metadata["name"].as_str().unwrap().to_owned(), GraphCase { metadata, resources });
    }
    let resolved =
        match resolve(&workloads.iter().map(|(name, given)| (name.as_str(), &given.resources)).collect()) {
            Ok(resolved) => resolved,
            Err(errors) => {
                let kinds = errors.iter().map(|error| {
                    match error {
                        ResourceError::Conflict { part: Part::Params, .. } => "params-conflict",
                        ResourceError::Conflict { part: Part::Metadata, .. } => "metadata-conflict",
                        ResourceError::UnknownResource { .. } => "unknown-resource",
                        ResourceError::Cycle(_) => "cycle",
                    }
                    .to_owned()
                });
                return expect_kinds(case, &kinds.collect());
            }
        };
    let params = expand_all(case, &workloads, &resolved);
    let want = case.get("expect");
    if let Some(resources) = want.get("resources") {
        let got: BTreeMap<_, _> =
            resolved.declared.iter().map(|(uid, d)| (uid.to_string(), as_json(uid, d))).collect();
        expect_same("the resources", &json!(got), resources)?;
    }
    if let Some(order) = want.get("order") {
        let got: Vec<_> = resolved.order.iter().map(ToString::to_string).collect();
        expect_same("the order", &json!(got), order)?;
    }
    match params {
        Err(kinds) => expect_kinds(case, &kinds.into_iter().collect()),
        Ok(_) if case.error_kinds().is_some() => Err("no error".to_owned()),
        Ok(params) => want.get("params").map_or(Ok(()), |wanted| {
            let got: BTreeMap<_, _> =
                params.into_iter().filter(|(uid, _)| wanted.get(uid).is_some()).collect();
            expect_same("the params", &json!(got), wanted)
        }),
    }
}

fn as_json(uid: &Uid, declared: &Declared) -> Json {
    json!({
        "type": uid.type_, "class": uid.class, "id": uid.id, "params": declared.params,
        "metadata": declared.metadata, "source_workload": declared.source_workload,
    })
}

/// A workload of a case, with the outputs of all resources by identity.
struct WorkloadScope<'c> {
    name: &'c str,
    given: &'c GraphCase,
    outputs: &'c serde_json::Map<String, Json>,
}

impl Scope for WorkloadScope<'_> {
    type Kept = ();

    fn metadata(&self) -> &Json {
        &self.given.metadata
    }

    fn declares(&self, resource: &str) -> bool {
        self.given.resources.contains_key(resource)
    }

    fn output(&self, resource: &str, keys: &[String], written: &str) -> Result<Segment<()>, ReferenceError> {
        let uid = Uid::of(self.name, resource, &self.given.resources[resource]);
        let nothing = json!({});
        let outputs = self.outputs.get(&uid.to_string()).unwrap_or(&nothing);
        Ok(Segment::Literal(to_text(walk(outputs, keys, written)?)))
    }

    fn resource(&self, resource: &str) -> Segment<()> {
        Segment::Literal(resource.to_owned())
    }
}

/// Expands the params of every resource in the context of its source workload, if the case gives outputs.
fn expand_all(
    case: &Case,
    workloads: &BTreeMap<String, GraphCase>,
    resolved: &Resources,
) -> Result<BTreeMap<String, Json>, Vec<String>> {
    let Some(outputs) = case.get("outputs").as_object() else { return Ok(BTreeMap::new()) };
    let mut expanded = BTreeMap::new();
    for (uid, declared) in &resolved.declared {
        let Some(params) = &declared.params else { continue };
        let name = declared.source_workload.as_str();
        let scope = WorkloadScope { name, given: &workloads[name], outputs };
        let template = expansion::params(&scope, &Json::Object(params.clone())).map_err(|errors| {
            errors
                .iter()
                .map(|at| crate::conformance::placeholders::kind(&at.error).to_owned())
                .collect::<Vec<_>>()
        })?;
        expanded.insert(uid.to_string(), template.join(&mut |()| String::new()));
    }
    Ok(expanded)
}
