//! Plans that a cluster cannot run, and what is said of them.

use orchestra_api::plan::WorkloadPlanSpec;
use orchestra_core::render::kubernetes::lacks;
use serde_json::{Value as Json, json};

fn said(containers: &Json, values: &Json) -> Vec<String> {
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
fn what_a_cluster_cannot_do_is_told_with_the_field_and_the_remedy() {
    let volume = |source: Json| json!({"app": {"image": "i", "volumes": {"/data": {"claim": "data", "source": [source]}}}});
    let secret =
        json!({"claimOutput": {"claim": "data", "output": "x", "secretKeyRef": {"name": "s", "key": "k"}}});
    let probe = json!({"exec": ["true"]});
    for (containers, sentence) in [
        (
            json!({"app": {"image": "."}}),
            "`containers.app.image` is `.`, and a cluster runs images: build one and give it with `--image IMAGE`.",
        ),
        (
            json!({"app": {"image": "i", "requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}}),
            "`containers.app.resources.limits.cpu` is lower than the request: raise it, or lower the request.",
        ),
        (
            json!({"app": {"image": "i", "variables": {"é": [{"literal": "x"}]}}}),
            "`containers.app.variables` has \"é\", and names of variables are ASCII here: rename it.",
        ),
        (
            json!({"app": {"image": "i", "files": {"/a": {"text": [{"literal": "x".repeat((1 << 20) + 1)}]}}}}),
            "`files` of all containers hold more than 1 MiB together, which is the most here: put large files into the image or into a volume.",
        ),
        (
            json!({"app": {"image": "i", "files": {"/": {"text": [{"literal": "x"}]}}}}),
            "`containers.app.files./` cannot be mounted: write a path below `/`, without `:` and `..`.",
        ),
        (
            json!({"app": {"image": "i", "files": {"/data": {"text": [{"literal": "x"}]}}, "volumes": {"/data/": {"source": [{"literal": "pvc"}]}}}}),
            "`containers.app.volumes./data/` stands where something else is mounted already: choose another path.",
        ),
        (
            json!({"app": {"image": "i", "volumes": {"/data": {"claim": "data"}}}}),
            "`containers.app.volumes./data` mounts the resource `data`, which gives no volume (it has no output `source`): use a resource of type `volume`.",
        ),
        (
            json!({"app": {"image": "i", "volumes": {"/data": {"source": [{"literal": "pvc"}], "path": "a/../b"}}}}),
            "`containers.app.volumes./data` must have a `path` inside of the volume, without `..`.",
        ),
        (
            volume(secret),
            "`containers.app.volumes./data` names its volume by a secret, and a name is not secret: refer to the resource itself.",
        ),
        (
            volume(json!({"literal": "not a name"})),
            "`containers.app.volumes./data` names the volume \"not a name\", which is no name here.",
        ),
        (
            volume(json!({"literal": "{\"hostPath\": {\"path\": \"/\"}}"})),
            "`containers.app.volumes./data` has a source of the kind `hostPath`, and only `configMap`, `emptyDir`, `ephemeral`, `persistentVolumeClaim` and `secret` are taken here.",
        ),
        (
            volume(json!({"literal": "{\"emptyDir\": {\"size\": \"1Gi\"}}"})),
            "`containers.app.volumes./data` has a source that is not known here (`emptyDir` has a field that does not exist).",
        ),
        (
            json!({
                "app": {"image": "i"}, "web": {"image": "i"},
                "both": {"image": "i", "before": {"app": "complete", "web": "started"}},
            }),
            "`containers.both.before` must name one state for all: it cannot have ended for some containers and go on for others.",
        ),
        (
            json!({"app": {"image": "i"}, "init": {"image": "i", "before": {"app": "complete"}, "readinessProbe": probe}}),
            "`containers.init.readinessProbe` cannot be checked, since others wait until the container has ended: remove it.",
        ),
        (
            json!({"app": {"image": "i", "before": {"web": "started"}}, "web": {"image": "i", "before": {"app": "started"}}}),
            "`containers` cannot be started: containers wait for each other: app for web for app.",
        ),
    ] {
        assert_eq!(said(&containers, &json!({})), [sentence], "{containers}");
    }
}

#[test]
fn settings_that_are_not_known_are_told() {
    let said = said(&json!({"app": {"image": "i"}}), &json!({"replica": 2}));
    assert!(
        said.len() == 1
            && said[0]
                .starts_with("The settings of the backend `eu` cannot be used (unknown field `replica`"),
        "{said:?}"
    );
    let said = self::said(&json!({"app": {"image": "i"}}), &json!({"expose": "gateway", "domain": "a.org"}));
    assert_eq!(
        said,
        [
            "The settings of the backend `eu` cannot be used (there is no `gateway` that routes could be attached to); ask the platform team to correct its `values`."
        ]
    );
}
