//! Previews and explanations of Workloads.

use std::collections::BTreeSet;

use axum::{
    body::Body,
    extract::{Path, RawQuery, State, rejection::PathRejection},
    http::{Extensions, HeaderMap, HeaderName, StatusCode},
    response::{AppendHeaders, IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use k8s_openapi::jiff::Timestamp;
use orchestra_api::Workload;
use orchestra_core::{
    Inputs,
    preview::{self, Preview},
};
use orchestra_limits::{Kind, Permit, Refused};

use crate::{
    Server,
    access::{AccessRequest, authenticate, authorize},
    body,
    error::Error,
    format::Format,
    preview_cost,
    snapshot::{self, Snapshot, read_plans, read_sharers},
};

/// Header of a preview with the reason why the Workload would not be accepted, so that clients need not parse the text.
pub const REFUSED: &str = "orchestra-refused";

/// Namespace and name of a Workload in the path.
pub(crate) type At = Result<Path<(String, String)>, PathRejection>;

/// Handler: explanation of a Workload's status.
pub(crate) async fn explain(
    State(server): State<Server>,
    at: At,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let format = Format::of(&headers);
    let explained = async {
        let Admitted { namespace, name, permit, .. } =
            admit(&server, at, &extensions, Kind::Short, "get", "plan").await?;
        no_parameters(query.as_deref())?;
        permit.reserve(preview_cost::BASE_BYTES).await?;
        let snapshot = snapshot::read(&server.client, server.classes(), &namespace, &name).await?;
        let mut context = snapshot.preview_context(&server);
        let inputs = Box::new(existing(snapshot, (server.clock)(), &namespace, &name)?);
        let (inputs, instances) = permit.work(move || with_instances(inputs)).await?;
        context.claims = read_sharers(&server.client, &namespace, instances).await?;
        context.plans = read_plans(&server.client, &namespace, &context.claims).await?;
        let explain = move || format.respond(StatusCode::OK, &preview::explain(&inputs, &context));
        Ok(permit.work(explain).await.map(|response| (response, permit))?)
    };
    // The inputs are too large for the stack.
    match Box::pin(explained).await {
        Ok((response, permit)) => answer(permit.answer(response).await, format),
        Err(error) => Error::respond(&error, format),
    }
}

/// Handler: preview of an apply or a deletion.
pub(crate) async fn plan(
    State(server): State<Server>,
    at: At,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let format = Format::of(&headers);
    let previewed = async {
        let Admitted { namespace, name, permit, .. } =
            admit(&server, at, &extensions, Kind::Short, "create", "plan").await?;
        let response = if is_deletion(query.as_deref())? {
            permit.reserve(preview_cost::BASE_BYTES).await?;
            of_deletion(&server, &permit, format, &namespace, &name).await?
        } else {
            let proposed = body::read_workload(body, &permit, &headers, &namespace, &name).await?;
            Box::pin(of_apply(&server, &permit, format, &namespace, &name, proposed)).await?
        };
        Ok((response, permit))
    };
    match Box::pin(previewed).await {
        Ok((response, permit)) => answer(permit.answer(response).await, format),
        Err(error) => Error::respond(&error, format),
    }
}

fn respond(preview: &Preview, refusal: Option<String>, format: Format) -> Response {
    let refused = refusal.map(|reason| (HeaderName::from_static(REFUSED), reason));
    (AppendHeaders(refused), format.respond(StatusCode::OK, preview)).into_response()
}

/// Response that holds its permit, or the error of one that is too large to be sent now.
pub(crate) fn answer(response: Result<Response, Refused>, format: Format) -> Response {
    response.unwrap_or_else(|refused| Error::TooManyRequests(refused).respond(format))
}

async fn of_apply(
    server: &Server,
    permit: &Permit,
    format: Format,
    namespace: &str,
    name: &str,
    proposed: Workload,
) -> Result<Response, Error> {
    let snapshot = snapshot::read(&server.client, server.classes(), namespace, name).await?;
    if snapshot.namespace.is_none() {
        return Err(Error::NoSuchNamespace(namespace.to_owned()));
    }
    let mut context = snapshot.preview_context(server);
    let now = (server.clock)();
    let inputs = move || with_instances(Box::new(snapshot.proposing(proposed, now)));
    let (inputs, instances) = permit.work(inputs).await?;
    context.claims = read_sharers(&server.client, namespace, instances).await?;
    context.plans = read_plans(&server.client, namespace, &context.claims).await?;
    let preview = move || {
        let preview = preview::preview(&inputs, &context);
        respond(&preview, preview.refusal().map(|reason| reason.to_string()), format)
    };
    Ok(permit.work(preview).await?)
}

/// Inputs with the instances that the Workload shares, which take a decision to know. Boxed, since the inputs are too large
/// for the stack.
fn with_instances(inputs: Box<Inputs>) -> (Box<Inputs>, BTreeSet<String>) {
    let instances = preview::shared_instances(&inputs);
    (inputs, instances)
}

async fn of_deletion(
    server: &Server,
    permit: &Permit,
    format: Format,
    namespace: &str,
    name: &str,
) -> Result<Response, Error> {
    let snapshot = snapshot::read(&server.client, server.classes(), namespace, name).await?;
    let inputs = Box::new(existing(snapshot, (server.clock)(), namespace, name)?);
    Ok(permit.work(move || respond(&preview::of_deletion(&inputs), None, format)).await?)
}

/// Admitted request for a Workload.
pub(crate) struct Admitted {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) permit: Permit,
    /// Resolves when the caller loses the access.
    pub(crate) revoked: BoxFuture<'static, ()>,
}

/// Authenticates a request, admits it within the limits of its caller, and authorizes it. A caller without permission
/// does not learn which Workloads exist.
pub(crate) async fn admit(
    server: &Server,
    at: At,
    extensions: &Extensions,
    kind: Kind,
    verb: &'static str,
    subresource: &'static str,
) -> Result<Admitted, Error> {
    let caller = authenticate(extensions)?;
    let Path((namespace, name)) = at.map_err(|_| Error::InvalidPath)?;
    // Names become path segments of requests to the API: anything else would allow path traversal.
    for text in [&namespace, &name] {
        if !is_name(text) {
            return Err(Error::InvalidName(text.clone()));
        }
    }
    let permit = server.limits.admit(&caller.user, kind).await?;
    let request = AccessRequest { verb, namespace: &namespace, name: &name, subresource };
    authorize(server.access.as_ref(), caller, &request).await?;
    let revoked = server.access.revoked(caller, &request);
    Ok(Admitted { namespace, name, permit, revoked })
}

fn is_name(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || c == '-' || c == '.')
}

/// Inputs of a decision about an existing Workload.
fn existing(snapshot: Snapshot, now: Timestamp, namespace: &str, name: &str) -> Result<Inputs, Error> {
    let has_namespace = snapshot.namespace.is_some();
    snapshot.inputs(now).ok_or_else(|| {
        if has_namespace {
            no_such_workload(namespace, name)
        } else {
            Error::NoSuchNamespace(namespace.to_owned())
        }
    })
}

pub(crate) fn no_such_workload(namespace: &str, name: &str) -> Error {
    Error::NoSuchWorkload { namespace: namespace.to_owned(), name: name.to_owned() }
}

/// Rejects query parameters.
pub(crate) fn no_parameters(query: Option<&str>) -> Result<(), Error> {
    match query.unwrap_or_default() {
        "" => Ok(()),
        query => Err(Error::InvalidQuery { query: query.to_owned(), supported: "none is supported here" }),
    }
}

fn is_deletion(query: Option<&str>) -> Result<bool, Error> {
    match query.unwrap_or_default() {
        "" | "delete=false" => Ok(false),
        "delete=true" => Ok(true),
        query => {
            Err(Error::InvalidQuery { query: query.to_owned(), supported: "only `delete=true` is supported" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_traverse_paths() {
        for text in ["", "..", ".", "a/b", "../secrets", "a?b", "a#b", "A", "a b", "a-", "ä", "a%2fb"] {
            assert!(!is_name(text), "{text:?}");
        }
        for text in ["a", "web", "node-postgres-app", "3scale", "a.b"] {
            assert!(is_name(text), "{text:?}");
        }
        assert!(!is_name(&"a".repeat(254)));
    }

    #[test]
    fn only_delete_is_a_parameter() {
        assert!(matches!(is_deletion(None), Ok(false)));
        assert!(matches!(is_deletion(Some("delete=true")), Ok(true)));
        assert!(is_deletion(Some("delete=yes")).is_err() && is_deletion(Some("dryRun=All")).is_err());
    }
}
