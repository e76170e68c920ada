//! Condition reasons from real failures, as listed in `causes.md`.

use std::fs;

use orchestra_e2e::platform::{Error, project};
use serde_json::{Value as Json, json};

use crate::{
    document::{of_profile, page, workload},
    space::Space,
    suite::Skip,
    wait::{contains, holds, same, until},
};

/// Row of the table.
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

/// Waits for the condition of a cause in the table, and checks that its message has no runtime nouns.
async fn reports(space: &Space, name: &str, cause: &str) -> Result<(), Error> {
    let rows = rows()?;
    let row =
        rows.iter().find(|row| row.cause == cause).ok_or_else(|| format!("{cause} is not in the table"))?;
    let message = space.until(name, &row.condition, "False", &row.reason).await?;
    space.note(&message);
    contains("the message", &message.to_lowercase(), &row.names.to_lowercase())?;
    for noun in ["pod", "deployment", "replicaset", "statefulset", "containerd", "kubelet"] {
        let is_noun =
            |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case(noun);
        holds(format!("{message:?} mentions a {noun}"), !message.split_whitespace().any(is_noun))?;
    }
    let ready = space.condition(name, "Ready").await?;
    same("Ready has the same reason", &ready["reason"], &json!(row.reason))
}

/// Checks that the table has every reason that a cluster can cause, and that every row is a case.
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

/// Sets a quota below every request.
async fn little_quota(space: &Space) -> Result<(), Error> {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "little"},
        "spec": {"hard": {"requests.memory": "16Mi"}},
    });
    space.apply(&quota).await
}

/// Removes the quota, and waits until the Workload is ready without further action.
async fn recovers_with_quota(space: &Space) -> Result<(), Error> {
    space.kubectl("delete resourcequota little").await?;
    space.until_ready("shop").await.map(drop)
}

pub(super) async fn quota(space: &Space) -> Result<(), Error> {
    little_quota(space).await?;
    let mut document = page("shop", "too large")?;
    document["spec"]["containers"]["app"]["resources"] = json!({"requests": {"memory": "64Mi"}});
    space.apply(&document).await?;
    reports(space, "shop", "insufficient quota").await?;
    recovers_with_quota(space).await
}

pub(super) async fn dependency_quota(space: &Space) -> Result<(), Error> {
    little_quota(space).await?;
    let mut document = page("shop", "without a cache")?;
    document["spec"]["resources"] = json!({"cache": {"type": "redis"}});
    space.apply(&document).await?;
    reports(space, "shop", "insufficient quota for a dependency").await?;
    recovers_with_quota(space).await
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
    // A policy takes effect with a delay.
    let canary = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "canary"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"x": "y"}}, "template": {
            "metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "x", "image": "x"}]},
        }},
    });
    let deployments = format!("{}?dryRun=All", space.path("apps/v1", "deployments"));
    until("the policy is in force", async || {
        let refused = space.cluster.create(&deployments, &canary).await.is_err();
        holds("it admits everything", refused)
    })
    .await?;
    let seen = async {
        space.apply(&page("shop", "without owner")?).await?;
        reports(space, "shop", "an admission policy").await
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
    reports(space, "shop", "pod security").await?;
    // An image that does not run as root passes the same check without further settings.
    space
        .apply(&workload("plain", "{containers: {app: {image: nginxinc/nginx-unprivileged:1.27-alpine}}}")?)
        .await?;
    space.until_ready("plain").await.map(drop)
}

pub(super) async fn image(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "never")?;
    document["spec"]["containers"]["app"]["image"] = "localhost/there-is-no-such-image:1".into();
    space.apply(&document).await?;
    reports(space, "shop", "an image that cannot be pulled").await
}

pub(super) async fn crash(space: &Space) -> Result<(), Error> {
    let spec =
        "{containers: {app: {image: PROBE, command: [sh, -c, 'echo there is no configuration; exit 7']}}}";
    space.apply(&workload("shop", spec)?).await?;
    reports(space, "shop", "a crash loop").await
}

pub(super) async fn probe(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "never ready")?;
    document["spec"]["containers"]["app"]["readinessProbe"] =
        json!({"httpGet": {"path": "/no-such-page", "port": 8080}});
    space.apply(&document).await?;
    reports(space, "shop", "a failing readiness probe").await
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
    reports(space, "shop", "a failing liveness probe").await
}

pub(super) async fn unschedulable(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "never")?;
    document["spec"]["containers"]["app"]["resources"] = json!({"requests": {"cpu": "1000"}});
    space.apply(&document).await?;
    reports(space, "shop", "insufficient node resources").await
}

/// Removes the permission to create jobs from the orchestrator, and restores it.
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
        holds("no role has rules for jobs", !changed.is_empty())?;
        let spec = "{containers: {app: {image: PROBE, command: [sh, -c, 'true']}}}";
        space.apply(&of_profile(workload("import", spec)?, "batch-job")).await?;
        reports(space, "import", "a missing permission").await
    }
    .await;
    for (path, rules) in &changed {
        space.cluster.merge(path, rules).await?;
    }
    seen?;
    space.until_ready("import").await.map(drop)
}

/// Needs a hook of the cluster provider, which the README describes.
pub(super) async fn network(space: &Space) -> Result<(), Error> {
    match space.cluster.provider("E2E_BREAK_NETWORK").await {
        None => {
            return Err(
                Skip("E2E_BREAK_NETWORK is not set: no command to break the network of a node").into()
            );
        }
        Some(broken) => broken?,
    };
    let seen = async {
        space.apply(&page("shop", "without network")?).await?;
        reports(space, "shop", "a broken node network").await
    }
    .await;
    if let Some(mended) = space.cluster.provider("E2E_MEND_NETWORK").await {
        mended?;
    }
    seen?;
    space.until_ready("shop").await.map(drop)
}
