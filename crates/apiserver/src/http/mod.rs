//! HTTP layer: from a request to a verb, and from its answer to a response.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod negotiate;
pub(crate) mod query;
pub(crate) mod route;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};

use crate::{
    access::{self, Session},
    api::Api,
    discovery,
    status::Status,
    verbs,
};
use negotiate::Format;
use query::Query;
use route::Route;

/// Answers a request: authenticate → limit → authorise → (decode → admit → store, by the verb). Nothing of the body is read
/// before the verb.
pub(crate) async fn handle(State(api): State<Api>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match access::authenticate(&api, &parts) {
        Ok(session) => answer_within_limits(&api, session, parts, body).await,
        Err(_) => refuse(&Status::unauthorized(), &parts),
    };
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    response
}

/// Answers an authenticated request once its caller has room for it: limit → authorise → answer.
async fn answer_within_limits(api: &Api, session: Session, mut parts: Parts, body: Body) -> Response {
    let route = route::route(&api.registry(), parts.uri.path());
    let slot = match limits::admit(api, &session.caller, &route, &parts).await {
        Ok(slot) => slot,
        Err(status) => return refuse(&status, &parts),
    };
    parts.extensions.insert(slot.clone());
    let response = answer_session(api, session, route, &parts, body).await;
    let is_write = !matches!(parts.method, Method::GET | Method::HEAD);
    // The rest of the request is not needed for its answer.
    drop(parts);
    if is_write {
        // The write is done: a client that is told to retry would write again.
        return slot.answer_unreserved(response);
    }
    slot.answer(response).await.unwrap_or_else(|refused| Status::from(refused).into_response())
}

/// Answers an admitted request: authorise → answer.
async fn answer_session(api: &Api, session: Session, route: Route, parts: &Parts, body: Body) -> Response {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let permit = match access::authorise(api, session, &route, parts, &query) {
        Ok(permit) => permit,
        Err(status) => return refuse(&status, parts),
    };
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
