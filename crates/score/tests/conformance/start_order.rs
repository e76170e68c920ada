//! Start order of containers.

use std::collections::BTreeMap;

use orchestra_score::{
    model::Container,
    start_order::{StartOrderError, start_order},
};
use serde_json::{Value as Json, json};

use crate::conformance::{Case, expect_kinds, expect_same, run_all};

#[test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
fn containers_start_in_the_order_of_before() {
    run_all("before", 34, order);
}

fn order(case: &Case) -> Result<(), String> {
    let containers: BTreeMap<String, Container> =
        serde_json::from_value(case.get("input")["containers"].clone()).map_err(|error| error.to_string())?;
    let declarations = containers.iter().map(|(name, container)| (name.clone(), container.into())).collect();
    match start_order(&declarations) {
        Err(errors) => {
            let kinds = errors.iter().map(|error| {
                match error {
                    StartOrderError::UnknownContainer { .. } => "unknown-container",
                    StartOrderError::SelfReference(_) => "self-reference",
                    StartOrderError::Cycle(_) => "cycle",
                    StartOrderError::ProbeRequired { .. } => "probe-required",
                }
                .to_owned()
            });
            expect_kinds(case, &kinds.collect())
        }
        Ok(order) => {
            let want = case.get("expect");
            let mut edges: Vec<Json> = order
                .edges
                .iter()
                .map(|edge| json!({"first": edge.first, "then": edge.then, "ready": edge.ready}))
                .collect();
            let mut wanted =
                want["edges"].as_array().cloned().ok_or("an order, where an error is expected")?;
            edges.sort_by_key(Json::to_string);
            wanted.sort_by_key(Json::to_string);
            expect_same("the edges", &Json::from(edges), &Json::from(wanted))?;
            expect_same("the layers", &json!(order.layers), &want["layers"])?;
            expect_same("the primary", &json!(order.primary), &want["primary"])?;
            expect_same("those that exit", &json!(order.exits), &want["exits"])
        }
    }
}
