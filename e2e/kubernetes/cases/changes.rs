//! Updates, rollback, deletion, drift and conflicts.

use std::fs;

use orchestra_e2e::platform::Error;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::{
    cluster,
    document::{annotated, of_profile, page, workload},
    space::Space,
    wait::{contains, holds, same, until},
};

/// Kinds that the orchestrator, or Kubernetes on its behalf, creates in a namespace.
pub(super) const CREATED_KINDS: [(&str, &str); 17] = [
    ("score.dev/v1b1", "workloads"),
    ("score.dev/v1b1", "resourceclaims"),
    ("score.dev/v1b1", "workloadplans"),
    ("score.dev/v1b1", "workloadexposures"),
    ("apps/v1", "deployments"),
    ("apps/v1", "statefulsets"),
    ("apps/v1", "replicasets"),
    ("apps/v1", "controllerrevisions"),
    ("batch/v1", "jobs"),
    ("v1", "pods"),
    ("v1", "services"),
    ("v1", "secrets"),
    ("v1", "configmaps"),
    ("v1", "persistentvolumeclaims"),
    ("v1", "serviceaccounts"),
    ("networking.k8s.io/v1", "ingresses"),
    ("networking.k8s.io/v1", "networkpolicies"),
];

/// Names of all objects of a kind in a namespace, except those that every namespace has.
pub(super) async fn names_of(space: &Space, group: &str, plural: &str) -> Result<Vec<String>, Error> {
    let all = space.list(group, plural).await?;
    let names = all.iter().filter_map(|object| object["metadata"]["name"].as_str());
    Ok(names.filter(|name| !["kube-root-ca.crt", "default"].contains(name)).map(ToOwned::to_owned).collect())
}

/// Waits until a service responds with this text.
pub(super) async fn answers(space: &Space, service: &str, text: &str) -> Result<(), Error> {
    until(format!("{service} answers {text}"), async || {
        contains("the answer", &space.ask(&format!("{service}:80"), "").await?, text)
    })
    .await
}

pub(super) async fn update(space: &Space) -> Result<(), Error> {
    let folder = TempDir::new()?;
    let apply = async |version: &str| {
        let file = folder.path().join(format!("{version}.yaml"));
        let score = format!(
            "apiVersion: score.dev/v1b1
metadata: {{name: shop}}
containers:
  app:
    image: {probe}
    command: [sh, -c]
    args: ['mkdir -p /tmp/www; echo \"$TEXT\" > /tmp/www/index.html; exec hold httpd -f -p 8080 -h /tmp/www']
    variables: {{TEXT: this is {version}}}
    readinessProbe: {{httpGet: {{path: /, port: 8080}}}}
service: {{ports: {{web: {{port: 80, targetPort: 8080}}}}}}
",
            probe = cluster::probe()
        );
        fs::write(&file, score)?;
        space.cluster.run(&format!("orchestra apply {} -n {} --wait", file.display(), space.name)).await
    };
    for version in ["v1", "v2", "v1"] {
        apply(version).await?;
        space.until_ready("shop").await?;
        // Ready means that no other version runs.
        let answer = until("it answers", async || space.ask("shop:80", "").await).await?;
        same("the answer", answer.trim(), format!("this is {version}").as_str())?;
    }
    // Applying the same file again creates no new version.
    let before = space.get("apps/v1", "deployments/shop").await?;
    apply("v1").await?;
    space.until_ready("shop").await?;
    let after = space.get("apps/v1", "deployments/shop").await?;
    same(
        "the version after nothing has changed",
        &after["metadata"]["generation"],
        &before["metadata"]["generation"],
    )
}

pub(super) async fn bad_update(space: &Space) -> Result<(), Error> {
    let good = page("shop", "the good version")?;
    let endpoint = space.run(&good).await?["endpoint"].clone();
    let mut bad = page("shop", "the bad version")?;
    bad["spec"]["containers"]["app"]["args"] = json!(["echo nothing works; exit 7"]);
    space.apply(&bad).await?;
    until("the failure is reported", async || {
        let found = space.condition("shop", "RuntimeReady").await?;
        same("the reason", &found["reason"], &json!("RuntimeDegraded"))?;
        let why = found["message"].as_str().unwrap_or_default();
        contains("the message", why, "exit code 7")?;
        contains("the message", &why.to_lowercase(), "previous version")
    })
    .await?;
    answers(space, "shop", "the good version").await?;
    same("the address", &space.workload("shop").await?["status"]["endpoint"], &endpoint)?;
    // An invalid document changes nothing either.
    let mut invalid = page("shop", "the invalid version")?;
    invalid["spec"]["containers"]["app"]["variables"]["X"] = "${resources.none.host}".into();
    space.apply(&invalid).await?;
    space.until("shop", "InputsValid", "False", "SpecInvalid").await?;
    answers(space, "shop", "the good version").await?;
    space.run(&good).await?;
    answers(space, "shop", "the good version").await
}

pub(super) async fn deletion(space: &Space) -> Result<(), Error> {
    let mut document = of_profile(page("shop", "soon gone")?, "public");
    document["spec"]["containers"]["app"]["files"] = json!({"/etc/shop.conf": {"content": "plain"}, "/etc/key": {"content": "${resources.keys.password}"}});
    document["spec"]["containers"]["app"]["volumes"] = json!({"/data": {"source": "${resources.data}"}});
    document["spec"]["resources"] = json!({
        "keys": {"type": "secret", "params": {"keys": ["password"]}}, "data": {"type": "volume"}, "cache": {"type": "redis"},
    });
    space.run(&document).await?;
    space.run(&page("other", "still there")?).await?;
    space.delete("shop").await?;
    answers(space, "other", "still there").await?;
    space.delete("other").await?;
    until("nothing is left", async || {
        for (group, plural) in CREATED_KINDS {
            same(plural, names_of(space, group, plural).await?, Vec::new())?;
        }
        Ok(())
    })
    .await
}

pub(super) async fn namespace(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "soon gone")?;
    document["spec"]["resources"] = json!({"db": {"type": "postgres"}});
    document["spec"]["containers"]["app"]["variables"]["DB"] = "${resources.db.host}".into();
    space.run(&document).await?;
    let path = format!("/api/v1/namespaces/{}", space.name);
    space.cluster.delete(&path).await?;
    until("the namespace is deleted", async || {
        if space.cluster.is_absent(&path).await? {
            return Ok(());
        }
        Err(space.cluster.get(&path).await?["status"]["conditions"].to_string().into())
    })
    .await
}

pub(super) async fn autoscaler(space: &Space) -> Result<(), Error> {
    space.run(&page("shop", "v1")?).await?;
    space.kubectl("scale deployment shop --replicas=3").await?;
    until("three run", async || {
        let status = &space.get("apps/v1", "deployments/shop").await?["status"];
        same("ready", &status["readyReplicas"], &json!(3))
    })
    .await?;
    space.run(&page("shop", "v2")?).await?;
    let live = space.get("apps/v1", "deployments/shop").await?;
    same("replicas after an update", &live["spec"]["replicas"], &json!(3))?;
    answers(space, "shop", "v2").await
}

pub(super) async fn put_back(space: &Space) -> Result<(), Error> {
    space.run(&page("shop", "v1")?).await?;
    space.kubectl("delete service shop --wait=false").await?;
    until("the service is back", async || space.get("v1", "services/shop").await.map(drop)).await?;
    answers(space, "shop", "v1").await?;
    space.kubectl("set env deployment/shop TEXT=theirs EXTRA=theirs").await?;
    until("our variable is back", async || {
        let live = space.get("apps/v1", "deployments/shop").await?;
        let variables = live["spec"]["template"]["spec"]["containers"][0]["env"].to_string();
        contains("variables", &variables, r#"{"name":"TEXT","value":"v1"}"#)
    })
    .await?;
    space.kubectl("delete deployment shop --wait=false").await?;
    until("it runs again", async || {
        holds(
            "nothing runs",
            !space.get("apps/v1", "deployments/shop").await?["status"]["readyReplicas"].is_null(),
        )
    })
    .await?;
    space.until_ready("shop").await?;
    answers(space, "shop", "v1").await
}

pub(super) async fn foreign(space: &Space) -> Result<(), Error> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "labels": {"of": "somebody-else"}},
        "spec": {"ports": [{"port": 1234}], "selector": {"of": "somebody-else"}},
    });
    let theirs = space.cluster.create(&space.path("v1", "services"), &service).await?;
    space.apply(&page("shop", "ours")?).await?;
    let why = until("it is reported", async || {
        let found = space.condition("shop", "RuntimeReady").await?;
        holds(found.to_string(), found["status"] == "False" && found["reason"] != "RuntimeProvisioning")?;
        Ok(found)
    })
    .await?;
    contains("the message", why["message"].as_str().unwrap_or_default(), "shop")?;
    let now = space.get("v1", "services/shop").await?;
    same("their object", &now["metadata"]["resourceVersion"], &theirs["metadata"]["resourceVersion"])?;
    // Deletion of the workload keeps it.
    space.delete("shop").await?;
    let now = space.get("v1", "services/shop").await?;
    same(
        "their object after deletion",
        &now["metadata"]["resourceVersion"],
        &theirs["metadata"]["resourceVersion"],
    )?;
    space.apply(&page("shop", "ours")?).await?;
    space.kubectl("delete service shop").await?;
    space.until_ready("shop").await?;
    answers(space, "shop", "ours").await
}

pub(super) async fn suspend(space: &Space) -> Result<(), Error> {
    let document =
        workload("shop", r#"{containers: {app: {image: PROBE, command: [hold, sleep, "3600"]}}}"#)?;
    space.run(&document).await?;
    space.apply(&annotated(document.clone(), "score.dev/suspend", "true")).await?;
    until("nothing runs", async || same("running", space.list("v1", "pods").await?.len(), 0)).await?;
    space.apply(&document).await?;
    until("it runs again", async || {
        let pod: Json = space.pod("shop").await?;
        same("phase", &pod["status"]["phase"], &json!("Running"))
    })
    .await?;
    space.until_ready("shop").await.map(drop)
}
