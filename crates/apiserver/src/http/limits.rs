//! Admission of requests within the limits of their callers.

use axum::http::{Method, request::Parts};
use orchestra_limits::{Kind, Permit, Refused};

use super::{
    query::Query,
    route::{Other, Route},
};
use crate::{access::Caller, api::Api, status::Status};

/// Marker of requests from this process: controllers are part of the platform and never wait for other callers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcess;

/// Admits a request, or refuses it after a short wait.
pub(crate) async fn admit(
    api: &Api,
    caller: &Caller,
    route: &Route,
    kind: Kind,
    parts: &Parts,
) -> Result<Permit, Status> {
    let is_probe = matches!(route, Route::Other(Other::Health(_) | Other::Ping(_) | Other::Version));
    if is_probe || parts.extensions.get::<InProcess>().is_some() {
        return Ok(Permit::unlimited());
    }
    Ok(api.limits().admit(&caller.name, kind).await?)
}

/// Lane of a request: watches are long-running.
pub(crate) fn kind(route: &Route, parts: &Parts) -> Kind {
    let is_watch = match (route, parts.uri.query()) {
        (Route::Resource(resource), Some(query)) => {
            parts.method == Method::GET && resource.name.is_empty() && Query::parse(query).flag("watch")
        }
        _ => false,
    };
    if is_watch { Kind::Long } else { Kind::Short }
}

impl From<Refused> for Status {
    fn from(_: Refused) -> Self {
        let message = "Too many requests, please try again later.";
        Self::new(429, "TooManyRequests", message).retry_after(Refused::RETRY_AFTER_SECONDS)
    }
}
