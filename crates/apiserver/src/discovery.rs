//! Discovery documents, version and health.

use std::fmt::Write as _;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::{
    access::token,
    api::Api,
    http::{
        answer,
        negotiate::{Format, Shape, accepts, negotiate},
        query::Query,
        route::Other,
        text,
    },
    json as codec,
    kinds::{Kind, registry::Registry},
    openapi,
    status::Status,
};

/// Version of Kubernetes that this server follows.
const VERSION: (&str, &str, &str) = ("1", "36", "v1.36.4");

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a request that is not about objects.
pub(crate) fn answer(api: &Api, what: &Other, parts: &Parts) -> Response {
    let registry = api.registry();
    // The real server's handler of CRD groups ignores the method.
    let custom = match what {
        Other::Group(group) | Other::Resources(group, _) => {
            registry.kinds().iter().any(|kind| kind.custom && kind.group == *group)
        }
        _ => false,
    };
    if !custom && parts.method != Method::GET && parts.method != Method::HEAD {
        return Status::method_not_allowed().into_response();
    }
    let headers = &parts.headers;
    let value = match what {
        Other::Health(_) => return text(StatusCode::OK, "ok"),
        Other::Ping(_) => {
            let mut response = text(StatusCode::OK, "ok");
            response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
            return response;
        }
        Other::Index => index(&registry),
        Other::Version => version(),
        Other::CoreVersions if wants_aggregated(headers) => {
            return aggregated(&registry, &[(String::new(), vec!["v1".to_owned()])], headers);
        }
        Other::CoreVersions => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": host(headers)},
            ],
        }),
        Other::Groups if wants_aggregated(headers) => {
            return aggregated(&registry, &registry.groups(), headers);
        }
        Other::Groups => {
            let groups: Vec<Value> =
                registry.groups().iter().map(|(name, versions)| group(name, versions)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        Other::Group(name) => {
            let groups = registry.groups();
            let versions = groups.iter().find(|(known, _)| known == name).map(|(_, versions)| versions);
            let mut group = group(name, versions.map(Vec::as_slice).unwrap_or_default());
            group["kind"] = json!("APIGroup");
            group["apiVersion"] = json!("v1");
            group
        }
        Other::Resources(group, version) => resources(&registry, group, version),
        Other::OldDocument => return old_document(),
        Other::Documents => return documents(&registry, headers),
        Other::Document(group, version) => return document(&registry, group, version, headers),
        Other::TokenIssuer => {
            return answer::respond(
                StatusCode::OK,
                codec::encode(&token::issuer_document()),
                Format::PLAIN,
                &[],
            );
        }
        Other::TokenKeys => {
            let keys = api.access().tokens().key_document();
            let mut response = answer::respond(StatusCode::OK, codec::encode(&keys), Format::PLAIN, &[]);
            let media = HeaderValue::from_static("application/jwk-set+json");
            response.headers_mut().insert(header::CONTENT_TYPE, media);
            return response;
        }
    };
    respond(&value, parts)
}

fn respond(value: &Value, parts: &Parts) -> Response {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    match negotiate(&parts.headers, query.optional_flag("pretty")) {
        Ok(format) if format.shape == Shape::Object => {
            answer::respond(StatusCode::OK, answer::encode(value, format), format, &[])
        }
        Ok(format) => {
            let format = Format { shape: Shape::Object, ..format };
            answer::respond(StatusCode::OK, answer::encode(value, format), format, &[])
        }
        Err(status) => status.into_response(),
    }
}

fn host(headers: &HeaderMap) -> String {
    headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned()
}

fn version() -> Value {
    let (major, minor, git) = VERSION;
    json!({
        "major": major, "minor": minor, "gitVersion": git,
        "emulationMajor": major, "emulationMinor": minor,
        "minCompatibilityMajor": major, "minCompatibilityMinor": "35",
        "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

fn index(registry: &Registry) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in registry.groups() {
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
        paths.push(format!("/apis/{group}"));
    }
    for path in ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"] {
        paths.push(path.to_owned());
    }
    paths.sort();
    json!({"paths": paths})
}

fn group(name: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    json!({
        "name": name,
        "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    })
}

fn resources(registry: &Registry, group: &str, version: &str) -> Value {
    let mut resources = Vec::new();
    for kind in registry.in_version(group, version) {
        let mut resource = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": kind.verbs(),
        });
        if !kind.short_names.is_empty() {
            resource["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            resource["categories"] = json!(kind.categories);
        }
        if kind.review.is_none() {
            resource["storageVersionHash"] = json!(kind.storage_hash);
        }
        resources.push(resource);
        for part in kind.subresources() {
            let mut resource = json!({
                "name": format!("{}/{}", kind.plural, part.name), "singularName": "",
                "namespaced": kind.namespaced, "kind": kind.kind, "verbs": part.verbs,
            });
            if let Some((group, version, kind)) = part.objects {
                resource["group"] = json!(group);
                resource["version"] = json!(version);
                resource["kind"] = json!(kind);
            }
            resources.push(resource);
        }
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources})
}

fn wants_aggregated(headers: &HeaderMap) -> bool {
    ["v2", "v2beta1"].iter().any(|version| {
        accepts(headers, &[("g", "apidiscovery.k8s.io"), ("v", version), ("as", "APIGroupDiscoveryList")])
    })
}

fn aggregated(registry: &Registry, groups: &[(String, Vec<String>)], headers: &HeaderMap) -> Response {
    let items: Vec<Value> = groups
        .iter()
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let resources: Vec<Value> =
                        registry.in_version(name, version).into_iter().map(|kind| described(kind)).collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if name.is_empty() { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let mut response = tagged(codec::encode(&list), AGGREGATED, headers);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn described(kind: &Kind) -> Value {
    // Built-in kinds do not repeat their group and version.
    let (group, version) = if kind.custom { (&*kind.group, &*kind.version) } else { ("", "") };
    let response_kind = json!({"group": group, "version": version, "kind": kind.kind});
    let mut resource = json!({
        "resource": kind.plural,
        "responseKind": response_kind,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": kind.verbs(),
    });
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        resource["categories"] = json!(kind.categories);
    }
    let parts: Vec<Value> = kind
        .subresources()
        .into_iter()
        .map(|part| {
            let objects = part.objects.map_or_else(
                || response_kind.clone(),
                |(group, version, kind)| json!({"group": group, "version": version, "kind": kind}),
            );
            json!({"subresource": part.name, "responseKind": objects, "verbs": part.verbs})
        })
        .collect();
    if !parts.is_empty() {
        resource["subresources"] = json!(parts);
    }
    resource
}

fn documents(registry: &Registry, headers: &HeaderMap) -> Response {
    let mut paths = vec![("api/v1".to_owned(), hash(&document_bytes(registry, "", "v1")))];
    for (group, versions) in registry.groups() {
        for version in versions {
            let bytes = document_bytes(registry, &group, &version);
            paths.push((format!("apis/{group}/{version}"), hash(&bytes)));
        }
    }
    let mut response = tagged(codec::encode(&openapi::index(&paths)), "text/plain; charset=utf-8", headers);
    response.headers_mut().remove(header::ETAG);
    response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    response
}

/// Empty `OpenAPI` v2 document. kubectl reads it for kinds without a v3 document (a `List`, a kind that is not served),
/// and continues without the kind if it is missing. Protobuf, the only format that kubectl requests: field 1,
/// `swagger`, is "2.0".
fn old_document() -> Response {
    const DOCUMENT: &[u8] = b"\x0a\x032.0";
    const MEDIA: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    ([(header::CONTENT_TYPE, MEDIA)], DOCUMENT).into_response()
}

fn document(registry: &Registry, group: &str, version: &str, headers: &HeaderMap) -> Response {
    if registry.in_version(group, version).is_empty() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let mut response = tagged(document_bytes(registry, group, version), "application/json", headers);
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn document_bytes(registry: &Registry, group: &str, version: &str) -> Vec<u8> {
    let kinds: Vec<&Kind> = registry.in_version(group, version).into_iter().map(|kind| &**kind).collect();
    codec::encode(&openapi::document(group, version, &kinds))
}

/// Response with an `ETag`, which clients cache.
fn tagged(bytes: Vec<u8>, media: &'static str, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", hash(&bytes));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response =
        if known { StatusCode::NOT_MODIFIED.into_response() } else { Response::new(Body::from(bytes)) };
    let headers = response.headers_mut();
    if !known {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn hash(bytes: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut text = String::new();
    for half in 0u8..2 {
        let mut hasher = DefaultHasher::new();
        (half, bytes).hash(&mut hasher);
        // Writing to a String cannot fail.
        let _ = write!(text, "{:016X}", hasher.finish());
    }
    text
}
