//! HTTP layer: from a request to a verb, and from its answer to a response.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod negotiate;
pub(crate) mod query;
pub(crate) mod route;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};

use orchestra_limits::Kind;

use crate::{
    access::{self, Permit, Session, attributes::Attributes},
    api::Api,
    audit::Recording,
    discovery,
    status::Status,
    verbs,
};
use negotiate::Format;
use query::Query;
use route::Route;

/// Answers a request: authenticate → limit → authorise → (decode → admit → store, by the verb) → record. Nothing of the body is read
/// before the verb.
pub(crate) async fn handle(State(api): State<Api>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut recording = api.record(&parts);
    let mut response = match access::authenticate(&api, &parts) {
        Ok(session) => answer_within_limits(&api, session, parts, body, &mut recording).await,
        Err(_) => refuse(&Status::unauthorized(), &parts),
    };
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    recording.finish(response).await
}

/// Answers an authenticated request once its caller has room for it: limit → authorise → answer.
async fn answer_within_limits(
    api: &Api,
    session: Session,
    mut parts: Parts,
    body: Body,
    recording: &mut Recording,
) -> Response {
    let route = route::route(&api.registry(), parts.uri.path());
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let wanted = Arc::new(Attributes::of(&route, &parts.method, parts.uri.path(), &query));
    let kind = limits::kind(&route, &parts);
    recording.caller(Arc::clone(&session.caller));
    recording.target(&wanted, route.kind(), kind == Kind::Long);
    let slot = match limits::admit(api, &session.caller, &route, kind, &parts).await {
        Ok(slot) => slot,
        Err(status) => return refuse(&status, &parts),
    };
    parts.extensions.insert(slot.clone());
    if let Some(created) = recording.created() {
        parts.extensions.insert(created);
    }
    let permit = access::authorise(api, session, wanted, &parts, recording);
    let response = match permit {
        Ok(permit) => answer_authorised(api, permit, route, query, &parts, body).await,
        Err(status) => refuse(&status, &parts),
    };
    let is_write = !matches!(parts.method, Method::GET | Method::HEAD);
    // The rest of the request is not needed for its answer.
    drop(parts);
    if is_write {
        // The write is done: a client that is told to retry would write again.
        return slot.answer_unreserved(response);
    }
    slot.answer(response).await.unwrap_or_else(|refused| Status::from(refused).into_response())
}

/// Answers an authorised request.
async fn answer_authorised(
    api: &Api,
    permit: Permit,
    route: Route,
    query: Query,
    parts: &Parts,
    body: Body,
) -> Response {
    match route {
        Route::Resource(resource) => verbs::answer(api, permit, resource, query, parts, body).await,
        Route::Other(other) => discovery::answer(api, &other, parts),
        Route::NoPart(kind, name) => {
            let warnings: Vec<String> = kind.deprecation.iter().cloned().collect();
            Status::not_found(&kind, &name).warn(&warnings).into_response()
        }
        Route::NoResource => Status::no_such_resource().into_response(),
        Route::Nothing => page_not_found(),
    }
}

/// Response to a request that is not answered, in the format that it asks for if possible.
fn refuse(status: &Status, parts: &Parts) -> Response {
    let pretty = Query::parse(parts.uri.query().unwrap_or_default()).optional_flag("pretty");
    let format = negotiate::negotiate(&parts.headers, pretty).unwrap_or(Format::PLAIN);
    let mut response = status.respond(format);
    if status.code != 401 {
        let value = HeaderValue::from_static("nosniff");
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, value);
    }
    response
}

/// Response to an unknown path: text, not a `Status`.
pub(crate) fn page_not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// A line of text.
pub(crate) fn text(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
