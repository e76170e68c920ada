//! Explanations, previews and events.

use http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
};
use orchestra_api::{
    ConditionStatus, ConditionType, ResourceClaim, WorkloadExposure, WorkloadPlan, crd, label,
};
use orchestra_testkit::scripted::{ProvisionScript, RunScript};
use serde_json::{Value as Json, json};

use crate::platform::{CANARY, Platform};

const WEB: &str = "/orchestra/v1/namespaces/default/workloads/web";

fn with_database(greeting: &str) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {
            "DB": "postgres://u:${resources.db.password}@${resources.db.host}/", "GREETING": greeting,
        }}},
        "service": {"ports": {"http": {"port": 80}}},
        "resources": {"db": {"type": "postgres"}},
    })
}

/// Spec that the CRD accepts and the validator rejects.
fn with_unknown_resource() -> Json {
    json!({"containers": {"app": {"image": "nginx", "variables": {"A": "${resources.nothing.host}"}}}})
}

fn actions(preview: &Json) -> Vec<(&str, &str)> {
    let changes = preview["changes"].as_array().unwrap().iter();
    changes.map(|change| (change["action"].as_str().unwrap(), change["kind"].as_str().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ready_workload_is_explained_and_its_plan_contains_no_secret() {
    let mut platform = Platform::start().await;
    platform.apply("web", &with_database("hello")).await;
    platform.until_ready("web").await;
    platform.stop_controllers().await;

    let reply = platform.get(&format!("{WEB}/explain"), "text/plain").await;
    assert_eq!(reply.kind, "text/plain; charset=utf-8");
    assert_eq!(
        reply.text,
        "Workload default/web is ready. It runs on here (scripted) with the profile web-service. It is reached at \
         http://web.default.example.test. It depends on db (postgres, default).\n\n\
         Where it runs:\n  profile web-service: profile of the current placement\n  \
         backend here (scripted, priority 0): accepts the workload\n  stays on here\n\n\
         What it depends on:\n  db (postgres, default), provided by the engine `builtin`: Bound: Ready.\n"
    );
    let reply = platform.get(&format!("{WEB}/explain"), "application/json").await;
    assert_eq!((reply.kind.as_str(), &reply.json()["ready"]), ("application/json", &json!(true)));
    assert!(!reply.text.contains(CANARY), "{}", reply.text);

    let before = platform.versions().await;
    let unchanged = platform.plan("web", &with_database("hello")).await;
    assert!(actions(&unchanged).iter().all(|(action, _)| *action == "Unchanged"), "{unchanged:#}");
    let changed = platform.plan("web", &with_database("bye")).await;
    assert!(!changed.to_string().contains(CANARY), "{changed:#}");
    let yaml = "apiVersion: score.dev/v1b1\nkind: Workload\nspec:\n  containers: {app: {image: caddy}}\n";
    let reply = platform.post(&format!("{WEB}/plan"), "text/plain", "application/yaml", yaml).await;
    assert!(reply.text.contains("/containers/app/image \"nginx\" -> \"caddy\"\n"), "{}", reply.text);
    assert!(
        reply.text.contains("- dependency db (postgres, default): deleted with its data; once"),
        "{}",
        reply.text
    );
    let reply = platform.post(&format!("{WEB}/plan?delete=true"), "text/plain", "", "").await;
    assert!(
        reply.text.starts_with(
            "- address: withdrawn\n- plan (web-service on here): the workload is stopped\n\
             - dependency db (postgres, default): deleted with its data\n- workload web: after everything else is gone\n"
        ),
        "{}",
        reply.text
    );
    assert_eq!(platform.versions().await, before, "a preview writes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_explanation_of_a_waiting_workload_has_the_cause_and_the_next_step() {
    let platform = Platform::start().await;
    platform.provisioner.script("postgres", ProvisionScript::Make);
    platform.apply("web", &with_database("hello")).await;
    platform.until("web", ConditionType::ClaimsReady, ConditionStatus::False).await;
    platform
        .env
        .eventually("the message of the provisioner is shown", async || {
            let reply = platform.get(&format!("{WEB}/explain"), "text/plain").await;
            let quotes = reply.text.contains(
                "  db (postgres, default), provided by the engine `builtin`: Binding: It is being made.\n",
            );
            if quotes { Ok(Some(reply)) } else { Err(reply.text) }
        })
        .await;
    let reply = platform.get(&format!("{WEB}/explain"), "text/plain").await;
    let next = "Next: Wait for the resource `db`; if it takes long, check the provisioner of `postgres`.\n";
    assert!(reply.text.ends_with(next), "{}", reply.text);
    let shown = platform.plan("web", &with_database("hello")).await;
    assert_eq!(shown["pending"][0]["resource"], "db");
    let plan = shown["changes"].as_array().unwrap().iter().find(|change| change["kind"] == "WorkloadPlan");
    assert_eq!(plan.unwrap()["note"], "once its dependencies are ready");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_without_its_label_is_in_the_preview() {
    let mut platform = Platform::start().await;
    platform.apply("web", &with_database("hello")).await;
    platform.until_ready("web").await;
    platform.stop_controllers().await;
    let claims: Api<ResourceClaim> = Api::default_namespaced(platform.env.client());
    let [claim] = claims.list(&ListParams::default()).await.unwrap().items.try_into().unwrap();
    let unlabelled = Patch::Merge(json!({"metadata": {"labels": {label::WORKLOAD: null}}}));
    claims.patch(&claim.name_any(), &PatchParams::default(), &unlabelled).await.unwrap();
    let preview = platform.plan("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    assert!(actions(&preview).contains(&("Delete", "ResourceClaim")), "{preview:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_that_its_runtime_cannot_run_is_previewed_and_explained_as_refused() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    platform.runtime.script(
        "default",
        "web",
        RunScript::Lack("`containers.app.image` must be `.`.".to_owned()),
    );
    let refused = "The backend `here` cannot run this: `containers.app.image` must be `.`.";
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    let preview = platform.plan("web", &spec).await.to_string();
    assert!(preview.contains(refused), "{preview}");
    platform.apply("web", &spec).await;
    let reply = platform.get(&format!("{WEB}/explain"), "text/plain").await;
    assert!(reply.text.contains(refused), "{}", reply.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_controllers_do_what_the_preview_shows() {
    let platform = Platform::start().await;
    let specs = [
        json!({"containers": {"app": {"image": "nginx"}}}),
        with_database("hello"),
        with_database("bye"),
        json!({"containers": {"app": {"image": "nginx"}}, "resources": {"cache": {"type": "redis"}}}),
        with_unknown_resource(),
    ];
    for spec in &specs {
        let shown = platform.plan("web", spec).await;
        platform.apply("web", spec).await;
        let valid = if spec == &specs[4] { ConditionStatus::False } else { ConditionStatus::True };
        let workload = platform.until("web", ConditionType::InputsValid, valid).await;
        let messages = |status: &Json| {
            let conditions = status["conditions"].as_array().unwrap().iter();
            let valid = conditions.filter(|condition| condition["type"] == "InputsValid");
            valid.map(|condition| condition["message"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(messages(&shown["status"]), messages(&json!(workload.status)));
        if valid == ConditionStatus::True {
            platform.until_ready("web").await;
        }
        let again = platform.plan("web", spec).await;
        let plan_of = |preview: &Json| {
            let changes = preview["changes"].as_array().unwrap().iter();
            let plans = changes.filter(|change| change["kind"] == "WorkloadPlan").cloned();
            plans.collect::<Vec<_>>()
        };
        assert!(plan_of(&again).iter().all(|plan| plan["action"] == "Unchanged"), "{again:#}");
        // Every previewed value that is known before binding is the actual one.
        let api: kube::Api<orchestra_api::WorkloadPlan> =
            kube::Api::default_namespaced(platform.env.client());
        let actual = json!(api.get("web").await.unwrap().spec);
        for field in plan_of(&shown).iter().flat_map(|plan| plan["fields"].as_array().into_iter().flatten()) {
            let pointer = field["pointer"].as_str().unwrap();
            let after = field.get("after");
            let is_known = !after.is_some_and(|after| after.to_string().contains("(known after binding)"));
            if is_known && pointer != "/claims" {
                assert_eq!(actual.pointer(pointer), after, "{pointer}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_preview_forecasts_the_conditions_that_claims_lead_to() {
    let platform = Platform::start().await;
    let using = |resource: &Json| {
        json!({
            "containers": {"app": {"image": "nginx", "variables": {"A": "${resources.it.host}"}}},
            "resources": {"it": resource},
        })
    };
    let shared = |size: u8| json!({"type": "postgres", "id": "orders", "params": {"size": size}});
    platform.apply("first", &using(&shared(1))).await;
    platform.until_ready("first").await;
    let summary = |status: &Json| {
        let conditions = status["conditions"].as_array().unwrap().iter();
        conditions.map(|it| json!([it["type"], it["reason"], it["message"]])).collect::<Vec<_>>()
    };
    let cases = [
        (json!({"type": "mongodb"}), "BindingFailed"),
        (json!({"type": "elasticsearch"}), "BindingFailed"),
        (json!({"type": "queue"}), "BindingPending"),
        (shared(2), "BindingFailed"),
    ];
    for (number, (resource, reason)) in cases.iter().enumerate() {
        let name = format!("web-{number}");
        let shown = platform.plan(&name, &using(resource)).await;
        assert_eq!(shown["status"]["conditions"][1]["reason"], *reason, "{shown:#}");
        platform.apply(&name, &using(resource)).await;
        platform
            .env
            .eventually(format!("{name} has the forecast conditions"), async || {
                let workload = platform.until(&name, ConditionType::Ready, ConditionStatus::False).await;
                let (actual, forecast) = (summary(&json!(workload.status)), summary(&shown["status"]));
                if actual == forecast { Ok(Some(())) } else { Err(format!("{actual:#?}\n{forecast:#?}")) }
            })
            .await;
    }
    // Outputs of the engine `static` are known in advance, so the plan is complete.
    let shown = platform.plan("web", &using(&json!({"type": "service"}))).await;
    let plan = shown["changes"].as_array().unwrap().iter().find(|change| change["kind"] == "WorkloadPlan");
    assert_eq!(plan.unwrap().get("note"), None, "{shown:#}");
    assert!(plan.unwrap().to_string().contains("flags.example.test"), "{shown:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_preview_reports_the_faults_of_an_invalid_document() {
    let platform = Platform::start().await;
    let shown = platform.plan("web", &json!({"containers": {"app": {"image": "nginx", "env": {}}}})).await;
    // The API would store the Workload; the controllers would do nothing else.
    let titles: Vec<_> = shown["changes"].as_array().unwrap().iter().map(|change| &change["title"]).collect();
    assert_eq!(titles, ["workload web"]);
    let mistake = &shown["explanation"]["mistakes"][0];
    assert_eq!(
        (&mistake["code"], &mistake["pointer"]),
        (&json!("UNKNOWN_FIELD"), &json!("/containers/app/env"))
    );
    let valid = &shown["status"]["conditions"][0];
    assert_eq!((&valid["type"], &valid["status"]), (&json!("InputsValid"), &json!("False")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn previews_use_the_config_that_the_controllers_use() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    let maps: Api<ConfigMap> = Api::namespaced(platform.env.client(), "score-system");
    for broken in [json!({"config.yaml": "kind: Nonsense"}), json!({"config.yaml": null, "other": "x"})] {
        let patch = Patch::Merge(json!({"data": broken}));
        maps.patch("orchestrator-config", &PatchParams::default(), &patch).await.unwrap();
        let shown = platform.plan("web", &spec).await;
        assert_eq!(shown["changes"][1]["title"], "plan (web-service on here)", "{broken}: {shown:#}");
    }
    maps.delete("orchestrator-config", &DeleteParams::default()).await.unwrap();
    let shown = platform.plan("web", &spec).await;
    assert_eq!(shown["changes"][1]["title"], "plan (web-service on here)", "{shown:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_sorted_by_time() {
    let mut platform = Platform::start().await;
    platform.apply("web", &with_unknown_resource()).await;
    platform.until("web", ConditionType::Ready, ConditionStatus::False).await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.until_ready("web").await;
    platform.apply("other", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.until_ready("other").await;
    platform.stop_controllers().await;
    let reply = platform.get(&format!("{WEB}/events"), "application/json").await.json();
    let reasons: Vec<_> = reply["events"].as_array().unwrap().iter().map(|event| &event["reason"]).collect();
    assert_eq!(reasons, ["SpecInvalid", "Succeeded"], "{reply:#}");
    let reply = platform.get(&format!("{WEB}/events"), "text/plain").await;
    assert!(reply.text.lines().next().unwrap().contains("Warning  SpecInvalid: "), "{}", reply.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_deletion_is_explained() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.until_ready("web").await;
    platform.runtime.script("default", "web", RunScript::StopForever);
    platform.delete("web").await;
    platform
        .env
        .eventually("the deletion waits for the runtime", async || {
            let reply = platform.get(&format!("{WEB}/explain"), "text/plain").await;
            let waits = reply.text.starts_with("Workload default/web is being deleted.\n")
                && reply.text.contains("waiting for the runtime `scripted` to stop it");
            if waits { Ok(Some(())) } else { Err(reply.text) }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_claims_plans_and_exposures_do_not_block_plan_and_explain_and_are_noted() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let web = json!({"containers": {"app": {"image": "nginx"}}});
    platform.apply("web", &web).await;
    for definition in crd::all() {
        let mut definition = json!(definition);
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut spec = any.clone();
        // The CRD of claims declares this field as selectable.
        spec["properties"] = json!({"workloadRef": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"name": {"type": "string"}},
        }});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": any}});
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
        platform.env.install(definition).await;
    }
    for (resource, spec) in [
        (ApiResource::erase::<ResourceClaim>(&()), json!({"workloadRef": {"name": "web"}})),
        (ApiResource::erase::<WorkloadPlan>(&()), json!({"containers": []})),
        (ApiResource::erase::<WorkloadExposure>(&()), json!({"runtimeClass": {}})),
    ] {
        let api: Api<DynamicObject> = Api::default_namespaced_with(platform.env.client(), &resource);
        let object = json!({
            "apiVersion": "score.dev/v1b1", "kind": resource.kind,
            "metadata": {"name": "web", "labels": {"score.dev/workload": "web"}}, "spec": spec,
        });
        api.patch("web", &PatchParams::apply("test"), &Patch::Apply(object)).await.unwrap();
    }
    let shown = platform.plan("web", &web).await;
    let explained = platform.get(&format!("{WEB}/explain"), "application/json").await;
    assert_eq!(explained.status, StatusCode::OK, "{explained:?}");
    for json in [shown, explained.json()] {
        let notes: Vec<_> = json["explanation"]["notes"].as_array().unwrap().iter().collect();
        let expected =
            ["claim", "plan", "exposure"].map(|noun| format!("The {noun} `web` cannot be deserialized."));
        assert_eq!(notes.len(), expected.len(), "{notes:?}");
        for (note, expected) in notes.into_iter().zip(&expected) {
            assert!(note.as_str().unwrap().starts_with(expected), "{note}");
        }
    }
}
