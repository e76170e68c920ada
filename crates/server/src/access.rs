//! Authentication and authorization of callers.
//!
//! The reviewed subresources are virtual: the API does not serve them, but roles can name them.

use std::{collections::BTreeMap, fmt, sync::Arc};

use axum::http::Extensions;
use futures_util::future::BoxFuture;

use crate::error::Error;

/// Path without objects whose permission covers the metrics.
pub const METRICS_PATH: &str = "/metrics";

/// Authenticated user. The listener adds it to the extensions of each request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Name of the user.
    pub user: String,
    /// Groups of the user.
    pub groups: Vec<String>,
    /// UID of the user, if known.
    pub uid: Option<String>,
    /// Further attributes of the user.
    pub extra: BTreeMap<String, Vec<String>>,
    /// End of the validity of their credentials, in seconds of Unix time, if known.
    pub expires: Option<i64>,
}

/// Check of the credential of a request, for responses that can outlast it. The listener adds it to the extensions of a
/// request with a token.
#[derive(Clone)]
pub struct CredentialCheck(Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>);

impl CredentialCheck {
    /// Check that returns true until the credential is known to be invalid.
    pub fn new(check: impl Fn() -> BoxFuture<'static, bool> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// True until the credential is known to be invalid.
    pub async fn is_valid(&self) -> bool {
        (self.0)().await
    }
}

impl fmt::Debug for CredentialCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialCheck")
    }
}

/// Verb on a virtual subresource of a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRequest<'a> {
    /// Verb, such as `get`.
    pub verb: &'static str,
    /// Namespace of the Workload.
    pub namespace: &'a str,
    /// Name of the Workload.
    pub name: &'a str,
    /// Virtual subresource: `plan`, `log` or `origin`.
    pub subresource: &'static str,
}

/// Authorizer.
pub trait Access: Send + Sync {
    /// True if the caller has access to the subresource.
    fn review<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a AccessRequest<'a>,
    ) -> BoxFuture<'a, Result<bool, AccessError>>;

    /// Resolves when the caller loses that access, as far as the authorizer notices. Long answers end then.
    fn revoked(&self, caller: &Caller, request: &AccessRequest<'_>) -> BoxFuture<'static, ()> {
        let _ = (caller, request);
        Box::pin(std::future::pending())
    }

    /// True if the caller may read the metrics, which cover all namespaces.
    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>>;
}

/// Failed access review.
#[derive(Debug, thiserror::Error)]
#[error("failed to review the access")]
pub struct AccessError(#[from] kube::Error);

/// Caller of a request.
pub(crate) fn authenticate(extensions: &Extensions) -> Result<&Caller, Error> {
    extensions.get().ok_or(Error::Unauthenticated)
}

/// Checks access to a Workload.
pub(crate) async fn authorize(
    access: &dyn Access,
    caller: &Caller,
    request: &AccessRequest<'_>,
) -> Result<(), Error> {
    if access.review(caller, request).await? {
        return Ok(());
    }
    let AccessRequest { verb, namespace, subresource, .. } = *request;
    Err(Error::Forbidden { user: caller.user.clone(), verb, subresource, namespace: namespace.to_owned() })
}

/// Checks access to the metrics.
pub(crate) async fn authorize_metrics(access: &dyn Access, caller: &Caller) -> Result<(), Error> {
    if access.review_metrics(caller).await? {
        return Ok(());
    }
    Err(Error::MetricsForbidden { user: caller.user.clone() })
}
