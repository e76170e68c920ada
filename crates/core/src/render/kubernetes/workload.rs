//! Rendering of the Deployment, `StatefulSet` or Job of a plan.
//!
//! A plan of kind Job becomes a Job. A plan that writes to a persistent volume becomes a `StatefulSet` with one replica,
//! since only that never runs two pods at once, even after the loss of a node or an eviction; a Deployment starts the next
//! pod while the last is still stopping. Its pod management is parallel, so a broken revision does not block the corrected
//! one. Any other plan becomes a Deployment, which sets replicas only if the backend does: an autoscaler may.

use orchestra_api::plan::{Container, Kind, Strategy};
use serde_json::{Value as Json, json};

use crate::job::MAX_ATTEMPTS;

use super::{
    Subject, container, content, list,
    names::{self, Annotations},
    order::{Order, Role, order},
    values::{PodSecurity, Values},
    volume::{self, Volumes},
};

/// Object that runs the containers.
pub(super) fn workload(subject: &Subject<'_>, values: &Values) -> Json {
    if subject.plan.kind == Kind::Job {
        return job(subject, values);
    }
    if volume::is_stateful(subject.plan) {
        return stateful_set(subject, values);
    }
    deployment(subject, values)
}

fn deployment(subject: &Subject<'_>, values: &Values) -> Json {
    let lifecycle = &subject.plan.lifecycle;
    let strategy = match lifecycle.strategy {
        // Explicit, so all of it is removed with the strategy.
        Strategy::Rolling => {
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}})
        }
        Strategy::Recreate => json!({"type": "Recreate"}),
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": names::metadata(subject, subject.name, Annotations::All),
        "spec": {
            "replicas": if lifecycle.suspend { Some(0) } else { values.replicas },
            "selector": {"matchLabels": names::selector(subject)},
            "strategy": strategy,
            "template": template(subject, values),
        },
    })
}

fn stateful_set(subject: &Subject<'_>, values: &Values) -> Json {
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": names::metadata(subject, &names::stateful(subject.name), Annotations::All),
        "spec": {
            "replicas": u32::from(!subject.plan.lifecycle.suspend),
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": names::selector(subject)},
            "template": template(subject, values),
        },
    })
}

fn job(subject: &Subject<'_>, values: &Values) -> Json {
    let mut template = template(subject, values);
    template["spec"]["restartPolicy"] = json!("Never");
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": names::metadata(subject, subject.name, Annotations::All),
        "spec": {
            "backoffLimit": MAX_ATTEMPTS - 1,
            "completions": 1,
            "parallelism": 1,
            "suspend": subject.plan.lifecycle.suspend.then_some(true),
            "template": template,
        },
    })
}

/// Pod template. It has the revision: a rotated secret changes nothing else here, and must be rolled out.
fn template(subject: &Subject<'_>, values: &Values) -> Json {
    // A plan without a start order is unsupported, and never rendered.
    let Order { first, main } = order(subject.plan).unwrap_or_default();
    let volumes = Volumes::of(subject.plan);
    let one = |name: &str, role: Role, offers: bool| {
        let given: &Container = subject.plan.containers.get(name)?;
        Some(container::container(subject, values, &volumes, (name, given, role), offers))
    };
    let before = first.iter().filter_map(|(name, role)| one(name, *role, false));
    let all = main.iter().enumerate().filter_map(|(index, name)| one(name, Role::Main, index == 0));
    let mut mounted: Vec<Json> = content::volume(subject).into_iter().collect();
    mounted.extend(volumes.list());
    let account = values.service_account_name.as_ref();
    json!({
        "metadata": {"labels": names::labels(subject), "annotations": Annotations::All.of(subject)},
        "spec": {
            "initContainers": list(before.collect()),
            "containers": list(all.collect()),
            "volumes": list(mounted),
            "securityContext": security(values),
            "serviceAccountName": account,
            // A named account is used for its token.
            "automountServiceAccountToken": account.is_none().then_some(false),
            "enableServiceLinks": false,
            "imagePullSecrets": list(values.image_pull_secrets.iter().map(|name| json!({"name": name})).collect()),
            "nodeSelector": (!values.node_selector.is_empty()).then_some(&values.node_selector),
            "tolerations": list(values.tolerations.iter().map(|toleration| json!(toleration)).collect()),
            "terminationGracePeriodSeconds": subject.plan.lifecycle.grace_seconds,
        },
    })
}

/// Security context of the pod.
fn security(values: &Values) -> Json {
    let has_seccomp = values.pod_security != PodSecurity::None;
    let context = json!({
        "seccompProfile": has_seccomp.then(|| json!({"type": "RuntimeDefault"})),
        "runAsNonRoot": values.is_non_root().then_some(true),
        "runAsUser": values.run_as_user,
        "fsGroup": values.fs_group,
        // Not at every start.
        "fsGroupChangePolicy": values.fs_group.map(|_| "OnRootMismatch"),
    });
    let is_set = context.as_object().is_some_and(|context| context.values().any(|value| !value.is_null()));
    if is_set { context } else { Json::Null }
}
