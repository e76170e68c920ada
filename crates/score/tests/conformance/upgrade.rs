//! Conversion of the list forms of files and volumes to map forms.

use orchestra_score::{Node, normalise::normalise};
use serde_json::Value as Json;

use crate::conformance::{Case, expect_kinds, expect_same, run_all, schema_accepts};

#[test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
fn list_forms_become_the_map_forms_of_the_reference_tools() {
    run_all("upgrade", 35, upgrade);
}

fn upgrade(case: &Case) -> Result<(), String> {
    let valid_before = case.get("valid_before").as_bool().unwrap_or_default();
    if schema_accepts(case.get("input")) != valid_before {
        return Err(format!("before the change valid is not {valid_before}"));
    }
    let mut node = Node::from(case.get("input").clone());
    let changes = normalise(&mut node);
    if case.error_kinds().is_some() {
        let kinds =
            if changes.target_missing.is_empty() { [].into() } else { ["target-missing".to_owned()].into() };
        return expect_kinds(case, &kinds);
    }
    if !changes.is_complete() {
        return Err(format!("cannot be changed: {changes:?}"));
    }
    let output = node.to_json();
    expect_same("the document", &output, &case.get("expect")["output"])?;
    let changed: Vec<_> = changes.changed.iter().map(|pointer| Json::from(pointer.dotted())).collect();
    expect_same("the list of changes", &Json::from(changed), &case.get("expect")["changes"])?;
    match case.get("valid_after").as_bool() {
        Some(valid) if schema_accepts(&output) != valid => {
            Err(format!("after the change valid is not {valid}"))
        }
        _ => Ok(()),
    }
}
