//! Previews and explanations of Workloads.

use axum::{
    body::Bytes,
    extract::{
        Path, RawQuery, State,
        rejection::{BytesRejection, PathRejection},
    },
    http::{Extensions, HeaderMap, HeaderName, StatusCode},
    response::{AppendHeaders, IntoResponse, Response},
};
use k8s_openapi::jiff::Timestamp;
use orchestra_api::Workload;
use orchestra_core::{
    Inputs,
    preview::{self, Explained, Preview},
};

use crate::{
    Server,
    access::{AccessRequest, authenticate, authorize},
    body,
    error::Error,
    format::Format,
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
        let (namespace, name) = admit(&server, at, &extensions, "get", "plan").await?;
        no_parameters(query.as_deref())?;
        // The inputs are too large for the stack.
        Box::pin(explained(&server, &namespace, &name)).await
    };
    match explained.await {
        Ok(explained) => format.respond(StatusCode::OK, &explained),
        Err(error) => error.respond(format),
    }
}

async fn explained(server: &Server, namespace: &str, name: &str) -> Result<Explained, Error> {
    let snapshot = snapshot::read(&server.client, server.classes(), namespace, name).await?;
    let mut context = snapshot.preview_context(server);
    let inputs = existing(snapshot, (server.clock)(), namespace, name)?;
    context.claims = read_sharers(&server.client, &inputs).await?;
    context.plans = read_plans(&server.client, &inputs, &context.claims).await?;
    Ok(preview::explain(&inputs, &context))
}

/// Handler: preview of an apply or a deletion.
pub(crate) async fn plan(
    State(server): State<Server>,
    at: At,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let format = Format::of(&headers);
    let previewed = async {
        let (namespace, name) = admit(&server, at, &extensions, "create", "plan").await?;
        if is_deletion(query.as_deref())? {
            return of_deletion(&server, &namespace, &name).await.map(|preview| (preview, None));
        }
        let proposed = body::read(body, &headers, &namespace, &name)?;
        // The inputs are too large for the stack.
        let preview = Box::pin(of_apply(&server, &namespace, &name, proposed)).await?;
        let refusal = preview.refusal();
        Ok((preview, refusal))
    };
    match previewed.await {
        Ok((preview, refusal)) => {
            let refused = refusal.map(|reason| (HeaderName::from_static(REFUSED), reason.to_string()));
            (AppendHeaders(refused), format.respond(StatusCode::OK, &preview)).into_response()
        }
        Err(error) => error.respond(format),
    }
}

async fn of_apply(
    server: &Server,
    namespace: &str,
    name: &str,
    proposed: Workload,
) -> Result<Preview, Error> {
    let snapshot = snapshot::read(&server.client, server.classes(), namespace, name).await?;
    if snapshot.namespace.is_none() {
        return Err(Error::NoSuchNamespace(namespace.to_owned()));
    }
    let mut context = snapshot.preview_context(server);
    let inputs = snapshot.proposing(proposed, (server.clock)());
    context.claims = read_sharers(&server.client, &inputs).await?;
    context.plans = read_plans(&server.client, &inputs, &context.claims).await?;
    Ok(preview::preview(&inputs, &context))
}

async fn of_deletion(server: &Server, namespace: &str, name: &str) -> Result<Preview, Error> {
    let snapshot = snapshot::read(&server.client, server.classes(), namespace, name).await?;
    let inputs = existing(snapshot, (server.clock)(), namespace, name)?;
    Ok(preview::of_deletion(&inputs))
}

/// Authenticates and authorizes a request, and returns the namespace and name in its path. A caller without permission
/// does not learn which Workloads exist.
pub(crate) async fn admit(
    server: &Server,
    at: At,
    extensions: &Extensions,
    verb: &'static str,
    subresource: &'static str,
) -> Result<(String, String), Error> {
    let caller = authenticate(extensions)?;
    let Path((namespace, name)) = at.map_err(|_| Error::InvalidPath)?;
    // Names become path segments of requests to the API: anything else would allow path traversal.
    for text in [&namespace, &name] {
        if !is_name(text) {
            return Err(Error::InvalidName(text.clone()));
        }
    }
    let request = AccessRequest { verb, namespace: &namespace, name: &name, subresource };
    authorize(server.access.as_ref(), caller, &request).await?;
    Ok((namespace, name))
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
