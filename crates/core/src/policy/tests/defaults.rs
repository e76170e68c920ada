//! Defaults of policies.

use super::*;

#[test]
fn classes_come_from_the_author_then_existing_claims_then_policies() {
    let policies = [
        policy("low", json!({"priority": 1, "defaults": {"classes": {"postgres": "low"}}})),
        policy("high", json!({"priority": 2, "defaults": {"classes": {"postgres": "high"}}})),
        policy("also-high", json!({"priority": 2, "defaults": {"classes": {"postgres": "also"}}})),
    ];
    let named = json!({"db": {"type": "postgres", "class": "mine"}});
    let unnamed = json!({"db": {"type": "postgres"}});
    let other = json!({"db": {"type": "redis"}});
    let by = |name: &str| Source::Policy(name.to_owned());
    for (resources, existing, policies, class, source) in [
        (&named, Some("old"), &policies[..], "mine", Source::Author),
        (&unnamed, Some("old"), &policies[..], "old", Source::Existing),
        (&unnamed, None, &policies[..], "also", by("also-high")),
        (&unnamed, None, &policies[..2], "high", by("high")),
        (&unnamed, None, &policies[..1], "low", by("low")),
        (&unnamed, None, &[], "default", Source::BuiltIn),
        (&other, None, &policies[..], "default", Source::BuiltIn),
    ] {
        let document = with("/resources", resources.clone());
        let none = BTreeMap::new();
        let classes = existing.map(|class: &str| ("db".to_owned(), class.to_owned())).into_iter().collect();
        let subject = Subject {
            namespace: "shop",
            namespace_labels: &none,
            labels: &none,
            document: &document,
            classes: &classes,
        };
        let outcome = apply(policies, &subject);
        assert_eq!(outcome.effective.classes["db"], class);
        assert_eq!(setting(&outcome, "/resources/db/class").source, source);
    }
}

#[test]
fn the_deprovision_policy_comes_from_the_author_then_policies() {
    let keep = [policy("keep", json!({"defaults": {"deprovision": "Orphan"}}))];
    let annotated = |value: &str| json!({"db": {"type": "postgres", "metadata": {"annotations": {"score.dev/deprovision": value}}}});
    let plain = json!({"db": {"type": "postgres"}});
    for (resources, policies, want) in [
        (annotated("Retain"), &keep[..], DeprovisionPolicy::Retain),
        (plain.clone(), &keep[..], DeprovisionPolicy::Orphan),
        (plain, &[], DeprovisionPolicy::Delete),
    ] {
        let outcome = decide(policies, &with("/resources", resources));
        assert_eq!(outcome.effective.deprovision["db"], want);
        assert_eq!(outcome.invalid, []);
    }
    let outcome = decide(&[], &with("/resources", annotated("retain")));
    assert_eq!(
        outcome.invalid,
        [Invalid {
            pointer: "/resources/db/metadata/annotations/score.dev~1deprovision".to_owned(),
            message: "`/resources/db/metadata/annotations/\"score.dev/deprovision\"` is `retain`: write `Delete`, `Retain`, `Orphan` or leave it out.".to_owned(),
        }]
    );
    assert_eq!(outcome.effective.deprovision["db"], DeprovisionPolicy::Retain, "a typo loses no data");
}

#[test]
fn annotations_of_the_author_override_those_of_policies() {
    let policies = [
        policy("b", json!({"defaults": {"annotations": {"team": "b", "cost": "b"}}})),
        policy("a", json!({"defaults": {"annotations": {"team": "a", "zone": "a", "cost": "a"}}})),
    ];
    let outcome = decide(&policies, &with("/metadata/annotations", json!({"cost": "mine", "own": "x"})));
    let want = json!({"cost": "mine", "own": "x", "team": "a", "zone": "a"});
    assert_eq!(serde_json::to_value(&outcome.effective.annotations).unwrap(), want);
    let cost = setting(&outcome, "/metadata/annotations/cost");
    assert_eq!(cost.overridden, [overridden("a", "a"), overridden("b", "b")]);
}

#[test]
fn a_profile_of_the_author_overrides_the_default() {
    let policies = [policy("p", json!({"defaults": {"profile": "batch"}}))];
    let outcome = decide(&policies, &bare());
    assert_eq!(outcome.effective.profile, Some(("batch".to_owned(), "p".to_owned())));
    assert_eq!(outcome.effective.annotations, BTreeMap::new());

    let outcome = decide(&policies, &with("/metadata/annotations", json!({"score.dev/profile": "web"})));
    assert_eq!(outcome.effective.profile, None);
    assert_eq!(outcome.effective.annotations["score.dev/profile"], "web");
    let profile = setting(&outcome, "/metadata/annotations/score.dev~1profile");
    assert_eq!(
        (&profile.source, &profile.overridden[..]),
        (&Source::Author, &[overridden("p", "batch")][..])
    );
}

#[test]
fn default_amounts_apply_field_by_field_and_never_contradict_the_author() {
    let high = json!({"priority": 9, "defaults": {"requests": {"cpu": "200m"}, "limits": {"cpu": "1"}}});
    let low =
        json!({"defaults": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}}});
    let policies = [policy("low", low), policy("high", high)];
    for (what, author, requests, limits) in [
        (
            "nothing is set",
            json!({}),
            json!({"cpu": "200m", "memory": "64Mi"}),
            json!({"cpu": "1", "memory": "1Gi"}),
        ),
        (
            "the author's request",
            json!({"requests": {"cpu": "300m"}}),
            json!({"cpu": "300m", "memory": "64Mi"}),
            json!({"cpu": "1", "memory": "1Gi"}),
        ),
        (
            "a default request above the author's limit is lowered to it",
            json!({"limits": {"cpu": "0.1"}}),
            json!({"cpu": "0.1", "memory": "64Mi"}),
            json!({"cpu": "0.1", "memory": "1Gi"}),
        ),
        (
            "a default limit below the author's request is ignored",
            json!({"requests": {"memory": "2Gi"}}),
            json!({"cpu": "200m", "memory": "2Gi"}),
            json!({"cpu": "1"}),
        ),
        (
            "a default limit equal to the author's request stays",
            json!({"requests": {"memory": "1024Mi"}}),
            json!({"cpu": "200m", "memory": "1024Mi"}),
            json!({"cpu": "1", "memory": "1Gi"}),
        ),
    ] {
        let outcome = decide(&policies, &with("/containers/main/resources", author));
        let compute = serde_json::to_value(&outcome.effective.compute["main"]).unwrap();
        assert_eq!(compute, json!({"requests": requests, "limits": limits}), "{what}");
    }
}

#[test]
fn the_explanation_notes_overridden_defaults() {
    let spec = json!({"defaults": {"requests": {"cpu": "200m"}, "limits": {"memory": "64Mi"}}});
    let author = json!({"limits": {"cpu": "100m"}, "requests": {"memory": "1Gi"}});
    let outcome = decide(&[policy("p", spec)], &with("/containers/main/resources", author));

    let request = setting(&outcome, "/containers/main/resources/requests/cpu");
    assert_eq!((request.value.as_str(), &request.source), ("100m", &Source::Policy("p".to_owned())));
    assert_eq!(
        request.note.as_deref(),
        Some("the default `200m` of policy `p` is above the limit and is lowered to it")
    );
    let limit = setting(&outcome, "/containers/main/resources/limits/memory");
    assert_eq!((limit.value.as_str(), &limit.source), ("none", &Source::Author));
    assert_eq!(limit.overridden, [overridden("p", "64Mi")]);
    assert_eq!(
        limit.note.as_deref(),
        Some("the default `64Mi` of policy `p` is below the request `1Gi` of the author and is ignored")
    );
}

#[test]
fn a_default_request_above_the_default_limit_of_another_policy_is_lowered() {
    let policies = [
        policy("a", json!({"defaults": {"requests": {"cpu": "2"}}})),
        policy("b", json!({"defaults": {"limits": {"cpu": "500m"}}})),
    ];
    let compute = &decide(&policies, &bare()).effective.compute["main"];
    assert_eq!(
        (compute.requests.cpu.as_deref(), compute.limits.cpu.as_deref()),
        (Some("500m"), Some("500m"))
    );
}
