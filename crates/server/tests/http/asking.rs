//! What a caller is told.

use orchestra_api::{ConditionStatus, ConditionType};
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

/// A mistake that the API itself does not see.
fn refers_to_nothing() -> Json {
    json!({"containers": {"app": {"image": "nginx", "variables": {"A": "${resources.nothing.host}"}}}})
}

fn actions(preview: &Json) -> Vec<(&str, &str)> {
    let changes = preview["changes"].as_array().unwrap().iter();
    changes.map(|change| (change["action"].as_str().unwrap(), change["kind"].as_str().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ready_workload_is_explained_with_what_was_chosen_and_its_plan_holds_no_secret() {
    let mut platform = Platform::start().await;
    platform.apply("web", &with_database("hello")).await;
    platform.until_ready("web").await;
    platform.end().await;

    let said = platform.get(&format!("{WEB}/explain"), "text/plain").await;
    assert_eq!(said.kind, "text/plain; charset=utf-8");
    assert_eq!(
        said.text,
        "Workload default/web is ready. It runs on here (scripted) with the profile web-service. It is reached at \
         http://web.default.example.test. It depends on db (postgres, default).\n\n\
         Where it runs:\n  profile web-service: the workload was placed under it\n  \
         backend here (scripted, priority 0): takes the workload\n  stays on here, where it is\n\n\
         What it depends on:\n  db (postgres, default), provided by the engine `builtin`: Bound: Ready to use.\n"
    );
    let said = platform.get(&format!("{WEB}/explain"), "application/json").await;
    assert_eq!((said.kind.as_str(), &said.json()["ready"]), ("application/json", &json!(true)));
    assert!(!said.text.contains(CANARY), "{}", said.text);

    let before = platform.versions().await;
    let unchanged = platform.plan("web", &with_database("hello")).await;
    assert!(actions(&unchanged).iter().all(|(action, _)| *action == "Unchanged"), "{unchanged:#}");
    let changed = platform.plan("web", &with_database("bye")).await;
    assert!(!changed.to_string().contains(CANARY), "{changed:#}");
    let yaml = "apiVersion: score.dev/v1b1\nkind: Workload\nspec:\n  containers: {app: {image: caddy}}\n";
    let said = platform.post(&format!("{WEB}/plan"), "text/plain", "application/yaml", yaml).await;
    assert!(said.text.contains("/containers/app/image \"nginx\" -> \"caddy\"\n"), "{}", said.text);
    assert!(
        said.text.contains("- dependency db (postgres, default): removed with its data; once"),
        "{}",
        said.text
    );
    let said = platform.post(&format!("{WEB}/plan?delete=true"), "text/plain", "", "").await;
    assert!(
        said.text.starts_with(
            "- address: withdrawn\n- plan (web-service on here): what runs is stopped\n\
             - dependency db (postgres, default): removed with its data\n- workload web: when nothing is left of it\n"
        ),
        "{}",
        said.text
    );
    assert_eq!(platform.versions().await, before, "a preview writes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_workload_is_explained_from_its_cause_to_what_to_do() {
    let platform = Platform::start().await;
    platform.provisioner.script("postgres", ProvisionScript::Make);
    platform.apply("web", &with_database("hello")).await;
    platform.until("web", ConditionType::ClaimsReady, ConditionStatus::False).await;
    platform
        .env
        .eventually("the provisioner is quoted", async || {
            let said = platform.get(&format!("{WEB}/explain"), "text/plain").await;
            let quotes = said.text.contains(
                "  db (postgres, default), provided by the engine `builtin`: Binding: It is being made.\n",
            );
            if quotes { Ok(Some(said)) } else { Err(said.text) }
        })
        .await;
    let said = platform.get(&format!("{WEB}/explain"), "text/plain").await;
    let next = "Next: Wait for the resource `db`; if it takes long, ask the platform team who provides `postgres`.\n";
    assert!(said.text.ends_with(next), "{}", said.text);
    let shown = platform.plan("web", &with_database("hello")).await;
    assert_eq!(shown["pending"][0]["resource"], "db");
    let plan = shown["changes"].as_array().unwrap().iter().find(|change| change["kind"] == "WorkloadPlan");
    assert_eq!(plan.unwrap()["note"], "once its dependencies are ready");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shown_is_what_the_controllers_then_do() {
    let platform = Platform::start().await;
    let specs = [
        json!({"containers": {"app": {"image": "nginx"}}}),
        with_database("hello"),
        with_database("bye"),
        json!({"containers": {"app": {"image": "nginx"}}, "resources": {"cache": {"type": "redis"}}}),
        refers_to_nothing(),
    ];
    for spec in &specs {
        let shown = platform.plan("web", spec).await;
        platform.apply("web", spec).await;
        let valid = if spec == &specs[4] { ConditionStatus::False } else { ConditionStatus::True };
        let workload = platform.until("web", ConditionType::InputsValid, valid).await;
        let says = |status: &Json| {
            let conditions = status["conditions"].as_array().unwrap().iter();
            let valid = conditions.filter(|condition| condition["type"] == "InputsValid");
            valid.map(|condition| condition["message"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(says(&shown["status"]), says(&json!(workload.status)));
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
        // Every field that was foreseen and known is as foreseen.
        let api: kube::Api<orchestra_api::WorkloadPlan> =
            kube::Api::default_namespaced(platform.env.client());
        let held = json!(api.get("web").await.unwrap().spec);
        for field in plan_of(&shown).iter().flat_map(|plan| plan["fields"].as_array().into_iter().flatten()) {
            let pointer = field["pointer"].as_str().unwrap();
            let after = field.get("after");
            let is_known = !after.is_some_and(|after| after.to_string().contains("(known after binding)"));
            if is_known && pointer != "/claims" {
                assert_eq!(held.pointer(pointer), after, "{pointer}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_claims_come_to_is_foreseen_as_the_controllers_then_say_it() {
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
    let says = |status: &Json| {
        let conditions = status["conditions"].as_array().unwrap().iter();
        let told = conditions.map(|told| json!([told["type"], told["reason"], told["message"]]));
        told.collect::<Vec<_>>()
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
            .eventually(format!("{name} says what was foreseen"), async || {
                let workload = platform.until(&name, ConditionType::Ready, ConditionStatus::False).await;
                let (said, foreseen) = (says(&json!(workload.status)), says(&shown["status"]));
                if said == foreseen { Ok(Some(())) } else { Err(format!("{said:#?}\n{foreseen:#?}")) }
            })
            .await;
    }
    // What exists already needs nobody: the plan is known to the last value.
    let shown = platform.plan("web", &using(&json!({"type": "service"}))).await;
    let plan = shown["changes"].as_array().unwrap().iter().find(|change| change["kind"] == "WorkloadPlan");
    assert_eq!(plan.unwrap().get("note"), None, "{shown:#}");
    assert!(plan.unwrap().to_string().contains("flags.example.test"), "{shown:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_document_is_judged_as_everywhere() {
    let platform = Platform::start().await;
    let shown = platform.plan("web", &json!({"containers": {"app": {"image": "nginx", "env": {}}}})).await;
    // The API would store it, and nothing else would happen.
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
async fn the_last_good_document_counts_while_the_platforms_has_faults() {
    let mut platform = Platform::start().await;
    platform.end().await;
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    platform.configure("orchestrator-config", "kind: Nonsense").await;
    let shown = platform.plan("web", &spec).await;
    assert_eq!(shown["changes"][1]["title"], "plan (web-service on here)", "{shown:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_a_workload_are_told_the_newest_last() {
    let mut platform = Platform::start().await;
    platform.apply("web", &refers_to_nothing()).await;
    platform.until("web", ConditionType::Ready, ConditionStatus::False).await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.until_ready("web").await;
    platform.apply("other", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.until_ready("other").await;
    platform.end().await;
    let said = platform.get(&format!("{WEB}/events"), "application/json").await.json();
    let reasons: Vec<_> = said["events"].as_array().unwrap().iter().map(|event| &event["reason"]).collect();
    assert_eq!(reasons, ["SpecInvalid", "Succeeded"], "{said:#}");
    let said = platform.get(&format!("{WEB}/events"), "text/plain").await;
    assert!(said.text.lines().next().unwrap().contains("Warning  SpecInvalid: "), "{}", said.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_waits_is_explained() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.until_ready("web").await;
    platform.runtime.script("default", "web", RunScript::Cling);
    platform.delete("web").await;
    platform
        .env
        .eventually("the deletion waits for the runtime", async || {
            let said = platform.get(&format!("{WEB}/explain"), "text/plain").await;
            let waits = said.text.starts_with("Workload default/web is being deleted.\n")
                && said.text.contains("waiting for the runtime `scripted` to stop it");
            if waits { Ok(Some(())) } else { Err(said.text) }
        })
        .await;
}
