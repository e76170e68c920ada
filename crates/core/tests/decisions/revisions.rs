//! Stability of revisions. A change of the revision rolls out a Workload, so an upgrade of the platform must not change the
//! revision of an unchanged plan: the recorded plans here must stay.

use std::fs;

use orchestra_api::plan::WorkloadPlanSpec;
use orchestra_core::{lint::lint, plan, revision};
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Value as Json, json};

use crate::decisions::{
    fixture::{CONFIG, Fixture},
    table,
};

const FOLDER: &str = "crates/core/tests/revisions";

/// Recorded Workloads with their plans.
fn recorded() -> Vec<(String, Json)> {
    let mut files: Vec<_> =
        fs::read_dir(table::path(FOLDER)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let (node, findings) = yaml::parse(&Source::new(&name, text), SourceId(0));
        assert!(!findings.has_errors(), "{name}: {findings:?}");
        (name, node.unwrap().to_json())
    };
    files.into_iter().map(read).collect()
}

fn plan_of(kept: &Json) -> WorkloadPlanSpec {
    serde_json::from_value(kept["plan"].clone()).unwrap()
}

#[test]
fn a_workload_has_the_plan_of_earlier_versions() {
    let kept = recorded();
    assert!(kept.len() >= 5, "only {} plans are kept", kept.len());
    for (name, kept) in kept {
        let mut fixture = Fixture::new(CONFIG);
        let or_empty = |part: &str| kept.get(part).cloned().unwrap_or_else(|| json!({}));
        fixture.write(or_empty("labels"), or_empty("annotations"), kept["spec"].clone());
        fixture.settle();
        let plan = fixture.plan.unwrap_or_else(|| panic!("{name}: {:#?}", fixture.workload)).spec;
        let text = yaml::to_yaml(&json!({"plan": plan})).unwrap();
        assert_eq!(json!(plan), kept["plan"], "{name} now has this plan, and everything is rolled:\n{text}");
    }
}

#[test]
fn a_plan_without_instances_of_an_earlier_version_is_unchanged() {
    let (_, kept) = recorded().into_iter().find(|(name, _)| name == "route.yaml").unwrap();
    let mut fixture = Fixture::new(CONFIG);
    fixture.write(json!({}), json!({}), kept["spec"].clone());
    fixture.settle();
    for claim in fixture.plan.iter_mut().flat_map(|plan| &mut plan.spec.claims) {
        claim.instance = None;
    }
    let decision = plan(&fixture.inputs().unwrap());
    assert_eq!(decision.plan, None);
}

#[test]
fn a_recorded_plan_has_its_recorded_revision() {
    for (name, kept) in recorded() {
        let plan = plan_of(&kept);
        assert_eq!(revision::of(&plan), plan.revision, "{name}");
        assert_eq!(lint(&plan), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_revision_survives_a_round_trip_through_json() {
    for (name, kept) in recorded() {
        let plan = plan_of(&kept);
        let read: WorkloadPlanSpec =
            serde_json::from_str(&serde_json::to_string_pretty(&plan).unwrap()).unwrap();
        assert_eq!((revision::of(&read), &read), (plan.revision.clone(), &plan), "{name}");
    }
}

#[test]
fn empty_and_unknown_fields_do_not_change_a_revision() {
    for (name, kept) in recorded() {
        let plan = plan_of(&kept);
        let mut later = kept["plan"].clone();
        // A server with another definition, or a later version, may add these.
        for (field, nothing) in [
            ("requirements", json!([])),
            ("ports", json!({})),
            ("exposures", json!([])),
            ("claims", json!([])),
            ("labels", json!({})),
            ("values", json!({})),
            ("lifecycle", json!({})),
            ("region", Json::Null),
        ] {
            if later.get(field).is_none() {
                later[field] = nothing;
            }
        }
        later["notYetInvented"] = json!({"a": 1});
        for container in later["containers"].as_object_mut().unwrap().values_mut() {
            container["notYetInvented"] = json!(true);
        }
        let later: WorkloadPlanSpec = serde_json::from_value(later).unwrap();
        assert_eq!(revision::of(&later), plan.revision, "{name}");
    }
}

#[test]
fn a_revision_changes_with_every_part_of_the_content_and_nothing_else() {
    for (name, kept) in recorded() {
        let plan = plan_of(&kept);
        let of = |change: fn(&mut WorkloadPlanSpec)| {
            let mut plan = plan.clone();
            change(&mut plan);
            revision::of(&plan)
        };
        assert_eq!(of(|plan| plan.observed_workload_generation += 1), plan.revision, "{name}");
        assert_eq!(of(|plan| plan.revision.clear()), plan.revision, "{name}");
        let changes: [fn(&mut WorkloadPlanSpec); 8] = [
            |plan| plan.workload_ref.uid.push('x'),
            |plan| plan.runtime_class.push('x'),
            |plan| plan.backend_id.push('x'),
            |plan| plan.lifecycle.suspend = true,
            |plan| drop(plan.labels.insert("x".to_owned(), "x".to_owned())),
            |plan| drop(plan.annotations.insert("x".to_owned(), "x".to_owned())),
            |plan| drop(plan.values.insert("x".to_owned(), Json::Null)),
            |plan| plan.containers.values_mut().for_each(|container| container.image.push('x')),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            assert_ne!(of(change), plan.revision, "{name}: change {index}");
        }
    }
}
