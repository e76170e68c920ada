//! Limits, allow lists, and their messages.

use super::*;

#[test]
fn the_smallest_limit_counts_and_its_policy_is_named() {
    let policies = [
        policy("wide", json!({"priority": 9, "limits": {"memory": "2Gi", "containers": 5, "cpu": "1"}})),
        policy("tight", json!({"limits": {"memory": "1024Mi", "containers": 1, "cpu": "1000m"}})),
        policy("watching", json!({"mode": "Audit", "limits": {"memory": "1Mi"}})),
    ];
    let both = document(json!({
        "apiVersion": "score.dev/v1b1",
        "metadata": {"name": "web"},
        "containers": {
            "main": {"image": ".", "resources": {"limits": {"memory": "1Gi", "cpu": "0.5"}}},
            "side": {"image": ".", "resources": {"requests": {"memory": "512Mi", "cpu": "500m"}}},
        },
    }));
    let outcome = decide(&policies, &both);
    let memory = setting(&outcome, "limits.memory");
    assert_eq!((memory.value.as_str(), &memory.source), ("1024Mi", &Source::Policy("tight".to_owned())));
    assert_eq!(memory.overridden, [overridden("wide", "2Gi")]);
    assert_eq!(
        setting(&outcome, "limits.cpu").source,
        Source::Policy("wide".to_owned()),
        "the first of equals"
    );

    let messages: Vec<_> = outcome.violations.iter().map(|violation| violation.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Policy `tight` allows at most 1 container; `/containers` has 2: use fewer or have the policy changed.",
            "Policy `tight` limits the memory of all containers together to `1024Mi`; the sum of `/containers` is `1536Mi`: lower it or have the policy changed.",
        ]
    );
    assert_eq!(pointers(&outcome.audited), ["/containers"]);
}

#[test]
fn a_container_without_an_amount_violates_its_limit() {
    let limit = policy("size", json!({"limits": {"cpu": "4"}}));
    let outcome = decide(std::slice::from_ref(&limit), &bare());
    assert_eq!(
        outcome.violations,
        [Violation {
            policy: "size".to_owned(),
            pointer: "/containers/main/resources/limits/cpu".to_owned(),
            message: "Policy `size` limits the cpu of all containers together to `4`, but `/containers/main/resources/limits/cpu` is not set: set the maximum or have the policy changed.".to_owned(),
        }]
    );
    let unlimited = with("/containers/main/resources", json!({"limits": {"cpu": "0"}}));
    assert_eq!(
        pointers(&decide(std::slice::from_ref(&limit), &unlimited).violations).len(),
        1,
        "`0` is no limit"
    );

    let defaults = policy("sizes", json!({"defaults": {"requests": {"cpu": "100m"}}}));
    assert_eq!(decide(&[limit, defaults], &bare()).violations, []);
}

#[test]
fn a_request_above_its_own_limit_counts() {
    let limit = [policy("size", json!({"limits": {"cpu": "4"}}))];
    let greedy = json!({"limits": {"cpu": "1"}, "requests": {"cpu": "8"}});
    let outcome = decide(&limit, &with("/containers/main/resources", greedy));
    assert_eq!(pointers(&outcome.violations), ["/containers/main/resources/requests/cpu"]);
}

#[test]
fn dependencies_are_counted() {
    let policies = [policy("few", json!({"limits": {"claims": 1}}))];
    let two = json!({"db": {"type": "postgres"}, "dns": {"type": "dns"}});
    assert_eq!(pointers(&decide(&policies, &with("/resources", two)).violations), ["/resources"]);
    let one = json!({"db": {"type": "postgres"}});
    assert_eq!(decide(&policies, &with("/resources", one)).violations, []);
}

#[test]
fn every_list_must_allow_an_image() {
    let hub = policy("hub", json!({"allow": {"registries": ["docker.io", "registry.example.org"]}}));
    let own = policy("registries", json!({"allow": {"registries": ["registry.example.org"]}}));
    let from = |image: &str| with("/containers/main/image", json!(image));
    assert_eq!(decide(std::slice::from_ref(&hub), &from("nginx")).violations, []);
    let both = [hub, own];
    assert_eq!(
        decide(&both, &from("nginx")).violations,
        [Violation {
            policy: "registries".to_owned(),
            pointer: "/containers/main/image".to_owned(),
            message: "Policy `registries` allows images from `registry.example.org` only; `/containers/main/image` is `nginx`: use an image from there or have the policy changed.".to_owned(),
        }]
    );
    assert_eq!(decide(&both, &from("registry.example.org/web:1")).violations, []);
    assert_eq!(decide(&both, &from(".")).violations, [], "an image that is set at deployment");
    let nothing = [policy("closed", json!({"allow": {"registries": []}}))];
    assert_eq!(decide(&nothing, &from("nginx")).violations.len(), 1, "an empty list allows nothing");
}

#[test]
fn resources_are_allowed_by_type_effective_class_and_id() {
    let policies = [
        policy("classes", json!({"defaults": {"classes": {"redis": "tiny"}}})),
        policy(
            "menu",
            json!({"allow": {"resources": [
                {"type": "postgres", "class": "small"}, {"type": "redis", "class": "tiny"}, {"type": "dns"},
                {"type": "s3", "id": "shared.*"}, {"type": "s3", "id": "media"},
            ]}}),
        ),
    ];
    for (resource, want) in [
        (json!({"type": "postgres", "class": "small"}), true),
        (json!({"type": "postgres", "class": "small", "id": "any"}), true),
        (json!({"type": "postgres", "class": "large"}), false),
        (json!({"type": "postgres"}), false),
        (json!({"type": "redis"}), true),
        (json!({"type": "dns", "class": "fancy"}), true),
        (json!({"type": "s3", "id": "shared.logs"}), true),
        (json!({"type": "s3", "id": "media"}), true),
        (json!({"type": "s3", "id": "media2"}), false),
        (json!({"type": "s3"}), false),
        (json!({"type": "kafka"}), false),
    ] {
        let outcome = decide(&policies, &with("/resources", json!({"it": resource})));
        assert_eq!(outcome.violations.is_empty(), want, "{resource}");
    }
    let large = json!({"db": {"type": "postgres", "class": "large"}});
    assert_eq!(
        decide(&policies, &with("/resources", large)).violations[0].message,
        "Policy `menu` allows the resources `postgres.small` only; `/resources/db` is `postgres.large`: use one of these or have the policy changed."
    );
}

#[test]
fn profiles_that_all_lists_allow_are_left_to_placement() {
    let policies = [
        policy("a", json!({"allow": {"profiles": ["web", "batch"]}})),
        policy("b", json!({"allow": {"profiles": ["batch", "gpu"]}})),
        policy("c", json!({"mode": "Audit", "allow": {"profiles": []}})),
        policy("d", json!({})),
    ];
    let outcome = decide(&policies, &bare());
    assert_eq!(outcome.effective.allowed_profiles, Some(BTreeSet::from(["batch".to_owned()])));
    assert_eq!(outcome.violations, [], "no profile is named");
    assert_eq!(decide(&policies[2..], &bare()).effective.allowed_profiles, None);

    let outcome = decide(&policies, &with("/metadata/annotations", json!({"score.dev/profile": "web"})));
    assert_eq!(
        outcome.violations[0].message,
        "Policy `b` allows the profiles `batch` and `gpu` only; `/metadata/annotations/\"score.dev/profile\"` is `web`: use one of these or have the policy changed."
    );
    assert_eq!((outcome.violations.len(), outcome.audited.len()), (1, 1));
}

#[test]
fn the_last_accepted_version_of_an_invalid_policy_stays_in_force() {
    let mut faulty = policy("registries", json!({"allow": {"registries": ["https://registry.example.org"]}}));
    let good = policy("registries", json!({"allow": {"registries": ["registry.example.org"]}}));
    let document = with("/containers/main/image", json!("nginx"));
    let open = decide(std::slice::from_ref(&faulty), &document);
    assert_eq!((open.faults.len(), open.violations.len()), (1, 0), "no version was ever accepted");
    let status = orchestra_api::policy::PlatformPolicyStatus::default();
    let in_force = Some(Box::new(good.spec));
    faulty.status = Some(orchestra_api::policy::PlatformPolicyStatus { in_force, ..status });
    let closed = decide(&[faulty], &document);
    assert_eq!((closed.faults.len(), closed.violations.len()), (1, 1));
}
