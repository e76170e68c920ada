//! Properties of arbitrary policies and Workloads.

use orchestra_api::PlatformPolicy;
use orchestra_score::model::Workload;
use proptest::{collection, prelude::*, sample};
use serde_json::{Value as Json, json};

use super::{
    super::{Effective, Source, amount::Measure},
    decide, document, policy,
};

fn maybe(values: &'static [&'static str]) -> impl Strategy<Value = Option<Json>> {
    prop::option::of(sample::select(values).prop_map(|value| json!(value)))
}

/// Map of the fields that have a value.
fn object(fields: &[(&str, Option<Json>)]) -> Json {
    let present = fields.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    Json::Object(present.collect())
}

fn amounts() -> impl Strategy<Value = Json> {
    let cpu = maybe(&["100m", "0.1", "250m", "1", "4"]);
    let memory = maybe(&["64Mi", "128Mi", "1Gi", "1024Mi", "2Gi"]);
    (cpu, memory).prop_map(|(cpu, memory)| object(&[("cpu", cpu), ("memory", memory)]))
}

fn spec() -> impl Strategy<Value = Json> {
    let defaults = (
        amounts(),
        amounts(),
        maybe(&["web", "batch"]),
        maybe(&["small", "large"]),
        maybe(&["Delete", "Retain", "Orphan"]),
        maybe(&["shop", "bank"]),
    );
    let defaults = defaults.prop_map(|(requests, limits, profile, class, deprovision, team)| {
        let classes = Some(object(&[("postgres", class)]));
        let annotations = Some(object(&[("team", team)]));
        object(&[
            ("requests", Some(requests)),
            ("limits", Some(limits)),
            ("profile", profile),
            ("classes", classes),
            ("deprovision", deprovision),
            ("annotations", annotations),
        ])
    });
    let lists = (
        prop::option::of(collection::vec(sample::select(&["docker.io", "example.org/a"][..]), 0..3)),
        prop::option::of(collection::vec(sample::select(&["web", "batch"][..]), 0..3)),
    );
    let allow = lists.prop_map(|(registries, profiles)| {
        object(&[
            ("registries", registries.map(|list| json!(list))),
            ("profiles", profiles.map(|list| json!(list))),
        ])
    });
    (0..3i32, sample::select(&["Enforce", "Audit"][..]), defaults, amounts(), allow).prop_map(
        |(priority, mode, defaults, limits, allow)| {
            json!({"priority": priority, "mode": mode, "defaults": defaults, "limits": limits, "allow": allow})
        },
    )
}

/// Policies, and the same shuffled.
fn policies() -> impl Strategy<Value = (Vec<PlatformPolicy>, Vec<PlatformPolicy>)> {
    collection::vec(spec(), 0..5).prop_flat_map(|specs| {
        let named = specs.into_iter().enumerate().map(|(index, spec)| policy(&format!("p{index}"), spec));
        let policies: Vec<_> = named.collect();
        (Just(policies.clone()), Just(policies).prop_shuffle())
    })
}

/// Document as JSON, with no request above its limit.
fn workload() -> impl Strategy<Value = Json> {
    let container = (amounts(), amounts()).prop_map(|(mut requests, limits)| {
        for measure in Measure::ALL {
            let read = |amounts: &Json| measure.read(amounts[measure.name()].as_str()?).ok();
            if read(&limits).is_some_and(|limit| read(&requests) > Some(limit)) {
                requests[measure.name()] = limits[measure.name()].clone();
            }
        }
        json!({"image": "nginx", "resources": {"requests": requests, "limits": limits}})
    });
    let containers = collection::btree_map(sample::select(&["main", "side"][..]), container, 1..3);
    (containers, maybe(&["small", "mine"]), maybe(&["Retain"]), maybe(&["mine"])).prop_map(
        |(containers, class, deprovision, team)| {
            let annotations = object(&[("score.dev/deprovision", deprovision)]);
            let metadata = Some(json!({"annotations": annotations}));
            let db = object(&[("type", Some(json!("postgres"))), ("class", class), ("metadata", metadata)]);
            json!({
                "apiVersion": "score.dev/v1b1",
                "metadata": {"name": "web", "annotations": object(&[("team", team)])},
                "containers": containers,
                "resources": {"db": db},
            })
        },
    )
}

/// Document with all effective settings written out.
fn written_out(mut document: Json, effective: &Effective) -> Workload {
    for (name, compute) in &effective.compute {
        document["containers"][name]["resources"] = serde_json::to_value(compute).unwrap();
    }
    for (key, class) in &effective.classes {
        document["resources"][key]["class"] = json!(class);
    }
    for (key, policy) in &effective.deprovision {
        document["resources"][key]["metadata"]["annotations"]["score.dev/deprovision"] = json!(policy);
    }
    document["metadata"]["annotations"] = json!(effective.annotations);
    self::document(document)
}

proptest! {
    #[test]
    fn the_order_of_policies_never_matters((policies, shuffled) in policies(), workload in workload()) {
        let workload = document(workload);
        prop_assert_eq!(decide(&policies, &workload), decide(&shuffled, &workload));
    }

    #[test]
    fn writing_the_defaults_out_changes_nothing((policies, _) in policies(), workload in workload()) {
        let first = decide(&policies, &document(workload.clone()));
        let second = decide(&policies, &written_out(workload, &first.effective));
        prop_assert_eq!(&first.effective, &second.effective);
        prop_assert_eq!(first.violations, second.violations);
        prop_assert_eq!(first.audited, second.audited);
    }

    #[test]
    fn the_author_always_wins((policies, _) in policies(), workload in workload()) {
        let alone = decide(&[], &document(workload.clone()));
        let outcome = decide(&policies, &document(workload));
        for own in alone.explanation.iter().filter(|setting| setting.source == Source::Author) {
            let kept = outcome.explanation.iter().find(|setting| setting.field == own.field);
            prop_assert_eq!(kept.map(|kept| (&kept.value, &kept.source)), Some((&own.value, &own.source)));
        }
    }

    #[test]
    fn no_request_is_above_its_limit((policies, _) in policies(), workload in workload()) {
        let outcome = decide(&policies, &document(workload));
        for compute in outcome.effective.compute.values() {
            for measure in Measure::ALL {
                let read = |amounts| measure.read(measure.text(amounts)?).ok();
                if let (Some(request), Some(limit)) = (read(&compute.requests), read(&compute.limits)) {
                    prop_assert!(request <= limit, "{:?}", compute);
                }
            }
        }
    }

    #[test]
    fn another_policy_never_removes_all_violations((policies, _) in policies(), spec in spec(), workload in workload()) {
        let mut spec = spec;
        spec["defaults"] = json!({});
        let mut more = policies.clone();
        more.push(policy("more", spec));
        let workload = document(workload);
        let (before, after) = (decide(&policies, &workload), decide(&more, &workload));
        prop_assert!(before.violations.is_empty() || !after.violations.is_empty());
    }
}
