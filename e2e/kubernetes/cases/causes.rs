//! Reasons of failure, each from its real cause, as the committed table says.

use std::fs;

use orchestra_e2e::platform::{Error, project};
use serde_json::{Value as Json, json};

use crate::{
    document::{of_profile, page, workload},
    space::Space,
    suite::Skip,
    wait::{contains, holds, same, until},
};

/// A line of the table.
struct Row {
    cause: String,
    condition: String,
    reason: String,
    names: String,
}

fn rows() -> Result<Vec<Row>, Error> {
    let table = fs::read_to_string(project().join("e2e/kubernetes/causes.md"))?;
    let lines = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| cause "));
    lines
        .map(|line| {
            let cells: Vec<_> =
                line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            let [cause, _, condition, reason, names] =
                <[String; 5]>::try_from(cells).map_err(|cells| format!("a row has the cells {cells:?}"))?;
            Ok(Row { cause, condition, reason, names })
        })
        .collect()
}

/// Waits for what the table says about a cause, in words of a developer.
async fn says(space: &Space, name: &str, cause: &str) -> Result<(), Error> {
    let rows = rows()?;
    let row =
        rows.iter().find(|row| row.cause == cause).ok_or_else(|| format!("{cause} is not in the table"))?;
    let message = space.until(name, &row.condition, "False", &row.reason).await?;
    space.note(&message);
    contains("the message", &message.to_lowercase(), &row.names.to_lowercase())?;
    for noun in ["pod", "deployment", "replicaset", "statefulset", "containerd", "kubelet"] {
        let is_noun =
            |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case(noun);
        holds(format!("{message:?} speaks of a {noun}"), !message.split_whitespace().any(is_noun))?;
    }
    let ready = space.condition(name, "Ready").await?;
    same("Ready has the same reason", &ready["reason"], &json!(row.reason))
}

/// Every reason that a cluster can cause is in the table, and every line of it is a case.
pub(super) fn table() -> Result<(), Error> {
    let rows = rows()?;
    let reasons =
        ["QuotaExceeded", "PermissionDenied", "NetworkUnavailable", "PolicyViolation", "RuntimeDegraded"];
    for reason in reasons {
        holds(format!("{reason} is not in the table"), rows.iter().any(|row| row.reason == reason))?;
    }
    let cases: Vec<_> = super::all().iter().map(|case| case.name).collect();
    for Row { cause, .. } in rows {
        let case = format!("causes: {cause}");
        holds(format!("there is no case {case:?}"), cases.contains(&case.as_str()))?;
    }
    Ok(())
}

/// Less memory than anything asks for.
async fn little_quota(space: &Space) -> Result<(), Error> {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "little"},
        "spec": {"hard": {"requests.memory": "16Mi"}},
    });
    space.apply(&quota).await
}

/// More quota, and it comes by itself.
async fn comes_with_quota(space: &Space) -> Result<(), Error> {
    space.kubectl("delete resourcequota little").await?;
    space.until_ready("shop").await.map(drop)
}

pub(super) async fn quota(space: &Space) -> Result<(), Error> {
    little_quota(space).await?;
    let mut document = page("shop", "too large")?;
    document["spec"]["containers"]["app"]["resources"] = json!({"requests": {"memory": "64Mi"}});
    space.apply(&document).await?;
    says(space, "shop", "too little quota").await?;
    comes_with_quota(space).await
}

pub(super) async fn dependency_quota(space: &Space) -> Result<(), Error> {
    little_quota(space).await?;
    let mut document = page("shop", "without a cache")?;
    document["spec"]["resources"] = json!({"cache": {"type": "redis"}});
    space.apply(&document).await?;
    says(space, "shop", "too little quota for a dependency").await?;
    comes_with_quota(space).await
}

pub(super) async fn admission(space: &Space) -> Result<(), Error> {
    let group = "/apis/admissionregistration.k8s.io/v1";
    let name = &space.name;
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
            }]},
            "validations": [{
                "expression": "has(object.metadata.labels) && 'owner' in object.metadata.labels",
                "message": "every application has an owner: set the label owner",
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}},
        },
    });
    let policies = format!("{group}/validatingadmissionpolicies/{name}");
    let bindings = format!("{group}/validatingadmissionpolicybindings/{name}");
    for path in [&policies, &bindings] {
        space.cluster.delete(path).await?;
    }
    space.cluster.create(&format!("{group}/validatingadmissionpolicies"), &policy).await?;
    space.cluster.create(&format!("{group}/validatingadmissionpolicybindings"), &binding).await?;
    // A policy is in force a moment after it is made.
    let canary = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "canary"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"x": "y"}}, "template": {
            "metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "x", "image": "x"}]},
        }},
    });
    let deployments = format!("{}?dryRun=All", space.path("apps/v1", "deployments"));
    until("the policy is in force", async || {
        let refused = space.cluster.create(&deployments, &canary).await.is_err();
        holds("it lets everything pass", refused)
    })
    .await?;
    let seen = async {
        space.apply(&page("shop", "without owner")?).await?;
        says(space, "shop", "a policy of the organisation").await
    }
    .await;
    for path in [&policies, &bindings] {
        space.cluster.delete(path).await?;
    }
    seen?;
    space.until_ready("shop").await.map(drop)
}

pub(super) async fn pod_security(space: &Space) -> Result<(), Error> {
    let enforce = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    space.cluster.merge(&format!("/api/v1/namespaces/{}", space.name), &enforce).await?;
    space.apply(&page("shop", "as root")?).await?;
    says(space, "shop", "pod security").await?;
    // What does not run as root passes the same check, and nobody had to ask for it.
    space
        .apply(&workload("plain", "{containers: {app: {image: nginxinc/nginx-unprivileged:1.27-alpine}}}")?)
        .await?;
    space.until_ready("plain").await.map(drop)
}

pub(super) async fn image(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "never")?;
    document["spec"]["containers"]["app"]["image"] = "localhost/there-is-no-such-image:1".into();
    space.apply(&document).await?;
    says(space, "shop", "an image that cannot be had").await
}

pub(super) async fn crash(space: &Space) -> Result<(), Error> {
    let spec =
        "{containers: {app: {image: PROBE, command: [sh, -c, 'echo there is no configuration; exit 7']}}}";
    space.apply(&workload("shop", spec)?).await?;
    says(space, "shop", "a program that ends again and again").await
}

pub(super) async fn probe(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "never ready")?;
    document["spec"]["containers"]["app"]["readinessProbe"] =
        json!({"httpGet": {"path": "/no-such-page", "port": 8080}});
    space.apply(&document).await?;
    says(space, "shop", "a probe that fails").await
}

pub(super) async fn liveness(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r#"
        containers:
          app:
            image: PROBE
            command: [sh, -c, "trap 'exit 3' TERM; while :; do sleep 0.2; done"]
            livenessProbe: {exec: {command: ["false"]}}
        "#,
    )?;
    space.apply(&document).await?;
    says(space, "shop", "a program that a probe has ended").await
}

pub(super) async fn unschedulable(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "never")?;
    document["spec"]["containers"]["app"]["resources"] = json!({"requests": {"cpu": "1000"}});
    space.apply(&document).await?;
    says(space, "shop", "more than any node has").await
}

/// The orchestrator may do everything but make jobs, until it may again.
pub(super) async fn permission(space: &Space) -> Result<(), Error> {
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let mut changed: Vec<(String, Json)> = Vec::new();
    for role in space.cluster.list(roles).await? {
        let name = role["metadata"]["name"].as_str().unwrap_or_default();
        let rules = role["rules"].as_array().cloned().unwrap_or_default();
        let is_about_jobs =
            |rule: &Json| rule["resources"].as_array().is_some_and(|all| all.contains(&json!("jobs")));
        if !name.starts_with("score-") || !rules.iter().any(is_about_jobs) {
            continue;
        }
        let mut without = rules.clone();
        for rule in &mut without {
            if let Some(resources) = rule["resources"].as_array_mut() {
                resources.retain(|resource| resource != "jobs");
                if resources.is_empty() {
                    resources.push("nothing".into());
                }
            }
        }
        let path = format!("{roles}/{name}");
        space.cluster.merge(&path, &json!({"rules": without})).await?;
        changed.push((path, json!({"rules": rules})));
    }
    let seen = async {
        holds("no role is about jobs", !changed.is_empty())?;
        let spec = "{containers: {app: {image: PROBE, command: [sh, -c, 'true']}}}";
        space.apply(&of_profile(workload("import", spec)?, "batch-job")).await?;
        says(space, "import", "a right taken away").await
    }
    .await;
    for (path, rules) in &changed {
        space.cluster.merge(path, rules).await?;
    }
    seen?;
    space.until_ready("import").await.map(drop)
}

/// Only who provides the cluster can break its network; the hooks are described in the README.
pub(super) async fn network(space: &Space) -> Result<(), Error> {
    match space.cluster.provider("E2E_BREAK_NETWORK").await {
        None => return Err(Skip("E2E_BREAK_NETWORK does not say how to break the network of a node").into()),
        Some(broken) => broken?,
    };
    let seen = async {
        space.apply(&page("shop", "without network")?).await?;
        says(space, "shop", "a network that cannot be set up").await
    }
    .await;
    if let Some(mended) = space.cluster.provider("E2E_MEND_NETWORK").await {
        mended?;
    }
    seen?;
    space.until_ready("shop").await.map(drop)
}
