//! Log of accesses: a line for each request of a user for a Workload, and for each refused one. Bodies, queries and tokens are
//! not in it.
//!
//! On a cluster, it is a part of the log of the process; the embedded platform has an audit log for the same requests.

use std::net::SocketAddr;

use axum::{
    extract::Request,
    http::{Method, Uri},
    response::Response,
};

use crate::access::AccessRequest;

/// Permission that a request for a Workload needs; `None` for other requests. Names are not checked.
pub fn required_access<'a>(method: &Method, uri: &'a Uri) -> Option<AccessRequest<'a>> {
    let path: Vec<&str> = uri.path().split('/').collect();
    let ["", "orchestra", "v1", "namespaces", namespace, "workloads", name, page] = path.as_slice() else {
        return None;
    };
    let subresource = match *page {
        "explain" | "plan" => "plan",
        "events" | "logs" => "log",
        "origin" => "origin",
        _ => return None,
    };
    let verb = match *method {
        Method::POST => "create",
        Method::PUT => "update",
        _ => "get",
    };
    Some(AccessRequest { verb, namespace, name, subresource })
}

/// True if the answer is followed until the client leaves.
pub fn is_followed(uri: &Uri) -> bool {
    uri.path().ends_with("/logs")
        && uri.query().unwrap_or_default().split('&').any(|pair| pair == "follow=true")
}

/// Request whose answer will be logged.
pub(crate) struct Access {
    method: Method,
    uri: Uri,
    source: Option<SocketAddr>,
}

impl Access {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
            source: request.extensions().get().copied(),
        }
    }

    /// Logs the answer to a user; `None` if they are unknown. Unknown ones can send any number of requests, so that they are
    /// only logged for debugging.
    pub(crate) fn log(&self, user: Option<&str>, response: &Response) {
        let code = response.status().as_u16();
        let Some(user) = user else {
            tracing::debug!(target: "orchestra::access", code, "access without valid credentials");
            return;
        };
        let source = self.source.map(|source| source.ip().to_canonical().to_string());
        // Debug format: texts of callers are quoted, so that they cannot look like other fields.
        match required_access(&self.method, &self.uri) {
            Some(AccessRequest { verb, namespace, name, subresource }) => tracing::info!(
                target: "orchestra::access", code, ?user, verb, subresource, ?namespace, workload = ?name, source, "access"
            ),
            None if matches!(code, 403 | 429) => {
                tracing::info!(target: "orchestra::access", code, ?user, source, "refused access");
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_workloads_have_the_permission_of_their_handler() {
        let of = "/orchestra/v1/namespaces/shop/workloads/web";
        for (method, path, expected) in [
            (Method::GET, "explain", Some(("get", "plan"))),
            (Method::POST, "plan?delete=true", Some(("create", "plan"))),
            (Method::GET, "events", Some(("get", "log"))),
            (Method::GET, "logs?follow=true", Some(("get", "log"))),
            (Method::PUT, "origin", Some(("update", "origin"))),
            (Method::GET, "other", None),
        ] {
            let uri: Uri = format!("{of}/{path}").parse().unwrap();
            let access = required_access(&method, &uri);
            assert_eq!(access.map(|access| (access.verb, access.subresource)), expected, "{path}");
            assert!(access.is_none_or(|access| (access.namespace, access.name) == ("shop", "web")));
            assert_eq!(is_followed(&uri), path.contains("follow=true"));
        }
        for path in ["/orchestra/metrics", "/orchestra/healthz", "/x/v1/namespaces/a/workloads/b/plan", "/"] {
            assert_eq!(required_access(&Method::GET, &path.parse().unwrap()), None);
        }
    }
}
