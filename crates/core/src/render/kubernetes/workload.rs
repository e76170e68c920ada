//! What runs the containers of a plan.
//!
//! A plan of kind Job becomes a Job. A plan that writes to a lasting volume becomes a `StatefulSet` of one, since only
//! that promises never to run two at once, also when a machine is lost or something is evicted; a Deployment starts the
//! next one while the last is still stopping. It is one that does not wait for order, so that a broken revision does
//! not keep the corrected one from starting. Everything else becomes a Deployment, which says nothing about how many
//! run unless the platform does: an autoscaler may.

use orchestra_api::plan::{Container, Kind, Strategy};
use serde_json::{Value as Json, json};

use super::{
    Subject, container, content, list,
    names::{self, Annotations},
    order::{Order, Role, order},
    values::{PodSecurity, Values},
    volume::{self, Volumes},
};

/// How often a job is tried again before it has failed.
const RETRIES: u32 = 2;

/// The object that runs the containers.
pub(super) fn workload(subject: &Subject<'_>, values: &Values) -> Json {
    if subject.plan.kind == Kind::Job {
        return job(subject, values);
    }
    if volume::is_written(subject.plan) {
        return stateful_set(subject, values);
    }
    deployment(subject, values)
}

fn deployment(subject: &Subject<'_>, values: &Values) -> Json {
    let lifecycle = &subject.plan.lifecycle;
    let strategy = match lifecycle.strategy {
        // Written out, so that all of it goes when it is no longer wanted.
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
            "backoffLimit": RETRIES,
            "completions": 1,
            "parallelism": 1,
            "suspend": subject.plan.lifecycle.suspend.then_some(true),
            "template": template,
        },
    })
}

/// What one copy of the Workload is. It bears the revision: a rotated secret changes nothing else here, and is rolled out.
fn template(subject: &Subject<'_>, values: &Values) -> Json {
    // A plan without an order is refused before.
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
            // Whoever names an account wants its token.
            "automountServiceAccountToken": account.is_none().then_some(false),
            "enableServiceLinks": false,
            "imagePullSecrets": list(values.image_pull_secrets.iter().map(|name| json!({"name": name})).collect()),
            "nodeSelector": (!values.node_selector.is_empty()).then_some(&values.node_selector),
            "tolerations": list(values.tolerations.iter().map(|toleration| json!(toleration)).collect()),
            "terminationGracePeriodSeconds": subject.plan.lifecycle.grace_seconds,
        },
    })
}

/// What holds for all containers.
fn security(values: &Values) -> Json {
    let filter = values.pod_security != PodSecurity::None;
    let context = json!({
        "seccompProfile": filter.then(|| json!({"type": "RuntimeDefault"})),
        "runAsNonRoot": values.is_non_root().then_some(true),
        "runAsUser": values.run_as_user,
        "fsGroup": values.fs_group,
        // A volume is not gone through again at every start.
        "fsGroupChangePolicy": values.fs_group.map(|_| "OnRootMismatch"),
    });
    let says_something =
        context.as_object().is_some_and(|context| context.values().any(|value| !value.is_null()));
    if says_something { context } else { Json::Null }
}
