//! Messages about plans that a cluster cannot run.

use orchestra_api::plan::WorkloadPlanSpec;
use orchestra_core::render::kubernetes::lacks;
use serde_json::{Value as Json, json};

fn messages(containers: &Json, values: &Json) -> Vec<String> {
    let plan: WorkloadPlanSpec = serde_json::from_value(json!({
        "workloadRef": {"name": "shop", "uid": "u1"}, "observedWorkloadGeneration": 1, "revision": "r1",
        "runtimeClass": "kubernetes", "backendId": "eu", "profile": "web", "kind": "Service",
        "containers": containers, "values": values,
        "claims": [{"key": "data", "name": "c1", "type": "volume", "class": "default"}],
    }))
    .unwrap();
    lacks(&plan)
}

#[test]
fn an_unsupported_plan_is_described_with_the_field_and_the_remedy() {
    let volume = |source: Json| json!({"app": {"image": "i", "volumes": {"/data": {"claim": "data", "source": [source]}}}});
    let secret =
        json!({"claimOutput": {"claim": "data", "output": "x", "secretKeyRef": {"name": "s", "key": "k"}}});
    let probe = json!({"exec": ["true"]});
    for (containers, sentence) in [
        (
            json!({"app": {"image": "."}}),
            "`containers.app.image` is `.`, but a cluster needs an image: build one and pass it with `--image IMAGE`.",
        ),
        (
            json!({"app": {"image": "i", "requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}}),
            "`containers.app.resources.limits.cpu` is lower than the request: raise it, or lower the request.",
        ),
        (
            json!({"app": {"image": "i", "variables": {"é": [{"literal": "x"}]}}}),
            "`containers.app.variables` has \"é\", but names of variables must be ASCII: rename it.",
        ),
        (
            json!({"app": {"image": "i", "files": {"/a": {"text": [{"literal": "x".repeat((1 << 20) + 1)}]}}}}),
            "`files` of all containers exceed the limit of 1 MiB in total: put large files into the image or into a volume.",
        ),
        (
            json!({"app": {"image": "i", "files": {"/": {"text": [{"literal": "x"}]}}}}),
            "`containers.app.files./` cannot be mounted: write a path below `/`, without `:` and `..`.",
        ),
        (
            json!({"app": {"image": "i", "files": {"/data": {"text": [{"literal": "x"}]}}, "volumes": {"/data/": {"source": [{"literal": "pvc"}]}}}}),
            "`containers.app.volumes./data/` conflicts with another mount at the same path: choose another path.",
        ),
        (
            json!({"app": {"image": "i", "volumes": {"/data": {"claim": "data"}}}}),
            "`containers.app.volumes./data` mounts the resource `data`, which is not a volume (it has no output `source`): use a resource of type `volume`.",
        ),
        (
            json!({"app": {"image": "i", "volumes": {"/data": {"source": [{"literal": "pvc"}], "path": "a/../b"}}}}),
            "`containers.app.volumes./data` must have a `path` inside of the volume, without `..`.",
        ),
        (
            volume(secret),
            "`containers.app.volumes./data` has a secret as the name of its volume: refer to the resource itself.",
        ),
        (
            volume(json!({"literal": "not a name"})),
            "`containers.app.volumes./data` has the volume \"not a name\", which is not a valid name.",
        ),
        (
            volume(json!({"literal": "{\"hostPath\": {\"path\": \"/\"}}"})),
            "`containers.app.volumes./data` has a source of the kind `hostPath`; supported kinds: `configMap`, `emptyDir`, `ephemeral`, `persistentVolumeClaim` and `secret`.",
        ),
        (
            volume(json!({"literal": "{\"emptyDir\": {\"size\": \"1Gi\"}}"})),
            "`containers.app.volumes./data` has an invalid source (`emptyDir` has an unknown field).",
        ),
        (
            json!({
                "app": {"image": "i"}, "web": {"image": "i"},
                "both": {"image": "i", "before": {"app": "complete", "web": "started"}},
            }),
            "`containers.both.before` must have one state for all: the container cannot complete for some and keep running for others.",
        ),
        (
            json!({"app": {"image": "i"}, "init": {"image": "i", "before": {"app": "complete"}, "readinessProbe": probe}}),
            "`containers.init.readinessProbe` has no effect, since others wait until the container has completed: remove it.",
        ),
        (
            json!({"app": {"image": "i", "before": {"web": "started"}}, "web": {"image": "i", "before": {"app": "started"}}}),
            "`containers` cannot be started: dependency cycle in `before`: app → web → app.",
        ),
    ] {
        assert_eq!(messages(&containers, &json!({})), [sentence], "{containers}");
    }
}

#[test]
fn invalid_settings_are_described() {
    let found = messages(&json!({"app": {"image": "i"}}), &json!({"replica": 2}));
    assert!(
        found.len() == 1
            && found[0].starts_with("The values of the backend `eu` are invalid (unknown field `replica`"),
        "{found:?}"
    );
    let found = messages(&json!({"app": {"image": "i"}}), &json!({"expose": "gateway", "domain": "a.org"}));
    assert_eq!(
        found,
        [
            "The values of the backend `eu` are invalid (`expose: gateway` needs a `gateway`); correct its `values` in the orchestrator config."
        ]
    );
}
