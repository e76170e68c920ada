//! Forwarding of one request to its program, and of the response back. Bodies stream in both directions; hop-by-hop headers are
//! removed; an upgraded connection (a websocket) is copied as bytes.

use std::{convert::Infallible, net::IpAddr, sync::RwLock};

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    HeaderMap, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{self, HeaderName, HeaderValue},
    upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use super::rules::Rules;
use crate::process::forward;

/// Response of the program, or an error of the proxy.
pub(super) type Answer = Response<BoxBody<Bytes, hyper::Error>>;

/// Hop-by-hop headers, besides those that `Connection` names.
const OF_CONNECTION: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Responds to one request.
pub(super) async fn answer(
    rules: &RwLock<Rules>,
    from: IpAddr,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    let host = host(&request).unwrap_or_default().to_owned();
    let path = request.uri().path().to_owned();
    let port = {
        let rules = rules.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match rules.find(&host, &path) {
            Some(port) => port,
            None => return Ok(respond(StatusCode::NOT_FOUND, nothing_there(&rules, &host, &path))),
        }
    };
    Ok(carry(port, from, &host, request).await.unwrap_or_else(|| {
        let place = format!("{host}{path}");
        respond(
            StatusCode::BAD_GATEWAY,
            format!("502 Bad Gateway: the workload behind `{place}` does not respond; check whether it is ready.\n"),
        )
    }))
}

/// Requested host, as it was written.
fn host(request: &Request<Incoming>) -> Option<&str> {
    let authority = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    authority.or_else(|| request.headers().get(header::HOST)?.to_str().ok())
}

fn nothing_there(rules: &Rules, host: &str, path: &str) -> String {
    let hosts: Vec<_> = rules.hosts().into_iter().map(|host| format!("`{host}`")).collect();
    if hosts.is_empty() {
        format!("404 Not Found: no route for `{host}{path}`; no workload has a route yet.\n")
    } else {
        format!("404 Not Found: no route for `{host}{path}`; there are routes for {}.\n", hosts.join(", "))
    }
}

fn respond(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Full::from(text).map_err(|never| match never {}).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

/// Forwards a request to a port and returns the response; `None` if the program does not respond.
async fn carry(port: u16, from: IpAddr, host: &str, mut request: Request<Incoming>) -> Option<Answer> {
    let near = wants_upgrade(request.headers()).then(|| hyper::upgrade::on(&mut request));
    let request = outgoing(from, host, request)?;
    let stream = forward::connect(port).await.ok()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    // Ends with the response, or with the upgraded connection.
    tokio::spawn(connection.with_upgrades());
    let mut answer = sender.send_request(request).await.ok()?;
    let upgraded = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
    if upgraded {
        tokio::spawn(join(near?, hyper::upgrade::on(&mut answer)));
    }
    strip(answer.headers_mut(), upgraded);
    Some(answer.map(http_body_util::BodyExt::boxed))
}

/// Request as the program gets it.
fn outgoing(from: IpAddr, host: &str, mut request: Request<Incoming>) -> Option<Request<Incoming>> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let target: Uri = target.parse().ok()?;
    *request.uri_mut() = target;
    *request.version_mut() = hyper::Version::HTTP_11;
    let headers = request.headers_mut();
    let is_upgrade = wants_upgrade(headers);
    strip(headers, is_upgrade);
    let written = HeaderValue::from_str(host).ok()?;
    headers.insert(header::HOST, written.clone());
    headers.insert(FORWARDED_HOST, written);
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static("http"));
    let mut way: Vec<_> = headers
        .get_all(FORWARDED_FOR)
        .iter()
        .filter_map(|value| value.to_str().ok().map(ToOwned::to_owned))
        .collect();
    way.push(from.to_string());
    headers.insert(FORWARDED_FOR, HeaderValue::from_str(&way.join(", ")).ok()?);
    Some(request)
}

/// True if a connection is to be upgraded.
fn wants_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE) && of_connection(headers).contains(&header::UPGRADE)
}

/// Headers that `Connection` names.
fn of_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Removes hop-by-hop headers, except those of an upgrade.
fn strip(headers: &mut HeaderMap, is_upgrade: bool) {
    let upgrade = headers.get(header::UPGRADE).filter(|_| is_upgrade).cloned();
    for name in of_connection(headers).into_iter().chain(OF_CONNECTION) {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(header::UPGRADE, upgrade);
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
}

/// Copies bytes in both directions until one side closes.
async fn join(near: OnUpgrade, far: OnUpgrade) {
    // The other side sees the connection close.
    if let (Ok(near), Ok(far)) = tokio::join!(near, far) {
        let _ = copy_bidirectional(&mut TokioIo::new(near), &mut TokioIo::new(far)).await;
    }
}
