//! Rights of a user, as the API decides.

use http::Method;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use orchestra_api::{GROUP, USERS_NAMESPACE, Workload};
use orchestra_score::model::LOCAL_IMAGE;
use serde_json::{Value as Json, json};

use super::{account_user, api_error};
use crate::{args::Format, cmd::platform::Platform, error::CliError, ui};

/// Name of the Workload of a preview.
const PREVIEW: &str = "orchestra-user-add";

/// True if a user has a right in a namespace: a verb on a resource of the group `score.dev`, with a subresource or an empty one.
pub(super) async fn is_allowed(
    platform: &Platform,
    user: &str,
    namespace: &str,
    (verb, resource, subresource): (&str, &str, &str),
) -> Result<bool, CliError> {
    let text = |value: &str| Some(value.to_owned());
    let attributes = ResourceAttributes {
        group: text(GROUP),
        resource: text(resource),
        subresource: text(subresource).filter(|name| !name.is_empty()),
        verb: text(verb),
        namespace: text(namespace),
        ..ResourceAttributes::default()
    };
    let groups = [
        "system:serviceaccounts",
        &format!("system:serviceaccounts:{USERS_NAMESPACE}"),
        "system:authenticated",
    ];
    let spec = SubjectAccessReviewSpec {
        user: Some(account_user(user)),
        groups: Some(groups.map(ToOwned::to_owned).into()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews: Api<SubjectAccessReview> = Api::all(platform.client.clone());
    let review = reviews.create(&PostParams::default(), &review).await;
    let review = review.map_err(|error| api_error(platform, user, error))?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

/// Warnings about new rights in a namespace.
pub(super) async fn warnings(
    platform: &Platform,
    user: &str,
    namespace: &str,
    roles: &[&str],
) -> Result<Vec<String>, CliError> {
    let mut warnings = Vec::new();
    if !is_allowed(platform, user, namespace, ("list", "workloads", "")).await? {
        warnings.push(format!(
            "warning: {user} cannot read workloads in the namespace {namespace} with {}; pass `--role score-viewer` (read only) or \
             `--role score-user`",
            shown_roles(roles)
        ));
    }
    let runs_programs = is_allowed(platform, user, namespace, ("update", "workloads", "origin")).await?;
    if !runs_programs && is_allowed(platform, user, namespace, ("patch", "workloads", "")).await? {
        let programs =
            workloads(platform, namespace).await?.iter().filter(|workload| is_program(workload)).count();
        let count = match programs {
            0 => return Ok(warnings),
            1 => "1 workload of the namespace keeps".to_owned(),
            count => format!("{count} workloads of the namespace keep"),
        };
        warnings.push(format!(
            "warning: {count} running, but no new version starts in {namespace} while {user} has no right to run programs; \
             take the access back with `orchestra user remove {user} -n {namespace}`, or give that right with --run-programs"
        ));
    }
    Ok(warnings)
}

/// Warning about programs that do not run in a namespace although a user was given the right to run them, such as on a platform
/// without `--trust-users`. The preview of a program has the reason.
pub(super) async fn no_programs(platform: &Platform, namespace: &str) -> Option<String> {
    let mut platform = platform.clone();
    namespace.clone_into(&mut platform.namespace);
    let program = json!({
        "apiVersion": orchestra_api::API_VERSION, "kind": "Workload", "metadata": {"name": PREVIEW},
        "spec": {"containers": {"main": {"image": LOCAL_IMAGE, "command": ["true"]}}},
    });
    let body = program.to_string().into_bytes();
    // Other APIs have no previews.
    let response = platform.query(Method::POST, PREVIEW, "plan", body, Format::Json).await.ok()?;
    let plan: Json = serde_json::from_str(&response.text).ok()?;
    refusal(&plan).map(|refusal| format!("warning: {}", ui::printable(refusal)))
}

/// Sentence of a preview that refuses to run a program.
fn refusal(plan: &Json) -> Option<&str> {
    let conditions = plan["status"]["conditions"].as_array()?;
    let denied = conditions.iter().find(|condition| condition["reason"] == "PermissionDenied")?;
    denied["message"].as_str()
}

/// Workloads of a namespace.
pub(super) async fn workloads(platform: &Platform, namespace: &str) -> Result<Vec<Workload>, CliError> {
    let workloads: Api<Workload> = Api::namespaced(platform.client.clone(), namespace);
    match workloads.list(&ListParams::default()).await {
        Ok(listed) => Ok(listed.items),
        // An API without our kinds.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(api_error(platform, "workloads", error)),
    }
}

/// True if a workload runs programs of this machine.
fn is_program(workload: &Workload) -> bool {
    let spec = serde_json::to_value(&workload.spec).unwrap_or_default();
    let containers = spec["containers"].as_object();
    containers.into_iter().flatten().any(|(_, container)| container["image"] == LOCAL_IMAGE)
}

/// Roles in a sentence.
pub(super) fn shown_roles(roles: &[&str]) -> String {
    let names: Vec<String> = roles.iter().map(|role| format!("`{role}`")).collect();
    match names.as_slice() {
        [name] => format!("the role {name}"),
        names => format!("the roles {}", names.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_roles_are_roles() {
        assert_eq!(shown_roles(&["a"]), "the role `a`");
        assert_eq!(shown_roles(&["a", "b"]), "the roles `a` and `b`");
    }
}
