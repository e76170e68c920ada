//! What would be done about a Workload, and why it is as it is.

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
    access::{Ask, authenticate, authorise},
    answer::{Code, Failure, Format},
    body,
    gather::{Gathered, gather, read_sharers},
};

/// Beside a preview, the reason for which what is proposed would be refused: whoever reads the text need not look for
/// it there.
pub const REFUSED: &str = "orchestra-refused";

/// The namespace and the name of a Workload, from the address.
pub(crate) type At = Result<Path<(String, String)>, PathRejection>;

/// Why a Workload is as it is.
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
        explained(&server, &namespace, &name).await
    };
    match explained.await {
        Ok(explained) => format.write(StatusCode::OK, &explained),
        Err(failure) => failure.answer(format),
    }
}

async fn explained(server: &Server, namespace: &str, name: &str) -> Result<Explained, Failure> {
    let gathered = gather(&server.client, server.ground(), namespace, name).await?;
    let mut around = gathered.surroundings(server.engines.as_ref());
    let inputs = existing(gathered, (server.clock)(), namespace, name)?;
    around.claims = read_sharers(&server.client, &inputs).await?;
    Ok(preview::explain(&inputs, &around))
}

/// What an apply or a deletion would do. Nothing is written.
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
        // Everything that it rests on is held meanwhile, which is much for a stack.
        let preview = Box::pin(of_apply(&server, &namespace, &name, proposed)).await?;
        let refusal = preview.refusal();
        Ok((preview, refusal))
    };
    match previewed.await {
        Ok((preview, refusal)) => {
            let refused = refusal.map(|reason| (HeaderName::from_static(REFUSED), reason.to_string()));
            (AppendHeaders(refused), format.write(StatusCode::OK, &preview)).into_response()
        }
        Err(failure) => failure.answer(format),
    }
}

async fn of_apply(
    server: &Server,
    namespace: &str,
    name: &str,
    proposed: Workload,
) -> Result<Preview, Failure> {
    let gathered = gather(&server.client, server.ground(), namespace, name).await?;
    if gathered.namespace.is_none() {
        return Err(no_namespace(namespace));
    }
    let mut around = gathered.surroundings(server.engines.as_ref());
    let inputs = gathered.proposing(proposed, (server.clock)());
    around.claims = read_sharers(&server.client, &inputs).await?;
    Ok(preview::preview(&inputs, &around))
}

async fn of_deletion(server: &Server, namespace: &str, name: &str) -> Result<Preview, Failure> {
    let gathered = gather(&server.client, server.ground(), namespace, name).await?;
    let inputs = existing(gathered, (server.clock)(), namespace, name)?;
    Ok(preview::of_deletion(&inputs))
}

/// Lets a caller pass, and reads which Workload is meant. Who may not ask does not learn what there is.
pub(crate) async fn admit(
    server: &Server,
    at: At,
    extensions: &Extensions,
    verb: &'static str,
    subresource: &'static str,
) -> Result<(String, String), Failure> {
    let caller = authenticate(extensions)?;
    let Path((namespace, name)) =
        at.map_err(|_| Failure::new(Code::BadRequest, "The address cannot be read."))?;
    // A name becomes part of an address of the API, and must stay a name there.
    for text in [&namespace, &name] {
        if !is_name(text) {
            let message = format!("{text:?} cannot be the name of an object: use a-z, 0-9, `-` and `.`.");
            return Err(Failure::new(Code::BadRequest, message));
        }
    }
    let ask = Ask { verb, namespace: &namespace, name: &name, subresource };
    authorise(server.access.as_ref(), caller, &ask).await?;
    Ok((namespace, name))
}

fn is_name(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || c == '-' || c == '.')
}

/// What a decision about a Workload that exists rests on.
fn existing(gathered: Gathered, now: Timestamp, namespace: &str, name: &str) -> Result<Inputs, Failure> {
    let is_namespace = gathered.namespace.is_some();
    gathered
        .inputs(now)
        .ok_or_else(|| if is_namespace { absent(namespace, name) } else { no_namespace(namespace) })
}

pub(crate) fn absent(namespace: &str, name: &str) -> Failure {
    let message = format!(
        "There is no workload {name:?} in the namespace {namespace:?}; `orchestra get -A` lists those that there are."
    );
    Failure::new(Code::NotFound, message)
}

fn no_namespace(namespace: &str) -> Failure {
    let message =
        format!("There is no namespace {namespace:?}; make it with `kubectl create namespace {namespace}`.");
    Failure::new(Code::NotFound, message)
}

/// Refuses parameters that mean nothing here.
pub(crate) fn no_parameters(query: Option<&str>) -> Result<(), Failure> {
    match query.unwrap_or_default() {
        "" => Ok(()),
        query => Err(Failure::new(Code::BadRequest, format!("The parameters {query:?} mean nothing here."))),
    }
}

fn is_deletion(query: Option<&str>) -> Result<bool, Failure> {
    match query.unwrap_or_default() {
        "" | "delete=false" => Ok(false),
        "delete=true" => Ok(true),
        query => Err(Failure::new(
            Code::BadRequest,
            format!("The parameters {query:?} mean nothing here; there is only `delete=true`."),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_lead_elsewhere_is_no_name() {
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
        assert_eq!(is_deletion(None), Ok(false));
        assert_eq!(is_deletion(Some("delete=true")), Ok(true));
        assert!(is_deletion(Some("delete=yes")).is_err() && is_deletion(Some("dryRun=All")).is_err());
    }
}
