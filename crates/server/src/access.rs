//! Who asks, and what they may ask for.
//!
//! The subresources that are reviewed are virtual: the API does not serve them, roles name them all the same.

use std::collections::BTreeMap;

use axum::http::Extensions;
use futures_util::future::BoxFuture;

use crate::answer::{Code, Failure};

/// The group of administrators.
const ADMINISTRATORS: &str = "system:masters";

/// Who asks. Whoever accepts a request puts it beside the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The name of the user.
    pub user: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// What tells the user from an earlier one of the same name, where that is known.
    pub uid: Option<String>,
    /// What else is known of the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What is asked for: a verb on a virtual subresource of a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    /// The verb, such as `get`.
    pub verb: &'static str,
    /// The namespace of the Workload.
    pub namespace: &'a str,
    /// The name of the Workload.
    pub name: &'a str,
    /// `plan` or `log`.
    pub subresource: &'static str,
}

/// Decides who may ask for what.
pub trait Access: Send + Sync {
    /// Whether a caller may have what it asks for.
    fn review<'a>(&'a self, caller: &'a Caller, ask: &'a Ask<'a>)
    -> BoxFuture<'a, Result<bool, AccessError>>;

    /// Whether a caller may have the metrics, which tell of all namespaces.
    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>>;
}

/// Nobody can tell whether a caller may have what it asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to review the access: {0}")]
pub struct AccessError(pub String);

/// Administrators may have everything, and others nothing: there is nobody else on the embedded API.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdminOnly;

impl Access for AdminOnly {
    fn review<'a>(&'a self, caller: &'a Caller, _: &'a Ask<'a>) -> BoxFuture<'a, Result<bool, AccessError>> {
        self.review_metrics(caller)
    }

    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>> {
        let is_administrator = caller.groups.iter().any(|group| group == ADMINISTRATORS);
        Box::pin(async move { Ok(is_administrator) })
    }
}

/// The caller of a request.
pub(crate) fn authenticate(extensions: &Extensions) -> Result<&Caller, Failure> {
    let unknown = || {
        let message = "It is not known who asks; send the credentials that the kubeconfig names. A cluster's platform takes a bearer token only, not a client certificate: give one with --token, such as `kubectl create token ACCOUNT` makes.";
        Failure::new(Code::Unauthorized, message)
    };
    extensions.get().ok_or_else(unknown)
}

/// Refuses what a caller may not have.
pub(crate) async fn authorise(access: &dyn Access, caller: &Caller, ask: &Ask<'_>) -> Result<(), Failure> {
    if answered(access.review(caller, ask).await)? {
        return Ok(());
    }
    let Ask { verb, namespace, subresource, .. } = ask;
    Err(Failure::new(
        Code::Forbidden,
        format!(
            "User {:?} may not {verb} workloads/{subresource} in the namespace {namespace:?}; ask the platform team for a role that allows it.",
            caller.user
        ),
    ))
}

/// Refuses the metrics to whom they are not for.
pub(crate) async fn authorise_metrics(access: &dyn Access, caller: &Caller) -> Result<(), Failure> {
    if answered(access.review_metrics(caller).await)? {
        return Ok(());
    }
    let message = format!(
        "User {:?} may not read the metrics; ask the platform team for a role with `get` on the URL /metrics.",
        caller.user
    );
    Err(Failure::new(Code::Forbidden, message))
}

fn answered(review: Result<bool, AccessError>) -> Result<bool, Failure> {
    review.map_err(|error| {
        tracing::warn!("{error}");
        Failure::new(Code::Unavailable, "It cannot be told whether you may ask for this; try again later.")
    })
}
