//! HTTP layer: from a request to a verb, and from its answer to a response.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod limits;
pub(crate) mod negotiate;
pub(crate) mod query;
pub(crate) mod route;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};

use orchestra_limits::Connection;

use crate::{
    access::{self, Caller},
    api::Api,
    discovery,
    status::Status,
    verbs,
};
use route::Route;

/// Answers a request: authenticate → limit → authorise → (decode → admit → store, by the verb).
pub(crate) async fn handle(State(api): State<Api>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let route = route::route(&api.registry(), parts.uri.path());
    let caller = access::authenticate(&parts.extensions).cloned();
    if let (Some(caller), Some(connection)) = (&caller, parts.extensions.get::<Connection>()) {
        connection.authenticated(&caller.name);
    }
    let permit = match limits::admit(&api, caller.as_ref(), &route, &parts).await {
        Ok(permit) => permit,
        Err(status) => return status.into_response(),
    };
    parts.extensions.insert(permit.clone());
    let response = answer(&api, caller.as_ref(), route, &parts, body).await;
    // The rest of the request is not needed for its answer.
    drop(parts);
    permit.answer(response).await.unwrap_or_else(|refused| Status::from(refused).into_response())
}

async fn answer(api: &Api, caller: Option<&Caller>, route: Route, parts: &Parts, body: Body) -> Response {
    let mut response = match access::authorise(caller, &route) {
        Err(status) => status.into_response(),
        Ok(()) => match route {
            Route::Resource(resource) => verbs::answer(api, resource, parts, body).await,
            Route::Other(other) => discovery::answer(api, &other, parts),
            Route::NoPart(kind, name) => {
                let warnings: Vec<String> = kind.deprecation.iter().cloned().collect();
                Status::not_found(&kind, &name).warn(&warnings).into_response()
            }
            Route::NoResource => Status::no_such_resource().into_response(),
            Route::Nothing => page_not_found(),
        },
    };
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
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
