//! Parser of request paths.

use std::sync::Arc;

use crate::kinds::{Kind, registry::Registry};

/// Target of a request.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// Collection, object or subresource.
    Resource(Resource),
    /// Path without objects: discovery, health, documents.
    Other(Other),
    /// Missing subresource of a kind; with the name of the object.
    NoPart(Arc<Kind>, String),
    /// Unknown resource of a served group and version; the error is a `Status`.
    NoResource,
    /// Unknown path; the error is a line of text.
    Nothing,
}

/// Collection, object or subresource.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    /// The kind and version.
    pub kind: Arc<Kind>,
    /// The namespace in the path; empty if there is none.
    pub namespace: String,
    /// Name of the object; empty for a collection.
    pub name: String,
    /// `status`, …; empty for the object itself.
    pub subresource: String,
}

/// Path without objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// `/`
    Index,
    /// `/version`
    Version,
    /// `/healthz`, `/livez`, `/readyz`
    Health(String),
    /// `/healthz/ping`, …
    Ping(String),
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(String),
    /// `/apis/{group}/{version}`, `/api/v1`
    Resources(String, String),
    /// `/openapi/v2`
    OldDocument,
    /// `/openapi/v3`
    Documents,
    /// `/openapi/v3/{path}`
    Document(String, String),
    /// `/.well-known/openid-configuration`
    TokenIssuer,
    /// `/openid/v1/jwks`
    TokenKeys,
}

impl Route {
    /// Kind of the target, if it has one.
    pub(crate) fn kind(&self) -> Option<&Arc<Kind>> {
        match self {
            Self::Resource(Resource { kind, .. }) | Self::NoPart(kind, _) => Some(kind),
            Self::Other(_) | Self::NoResource | Self::Nothing => None,
        }
    }
}

/// Parses a path.
pub(crate) fn route(registry: &Registry, path: &str) -> Route {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let parts: Vec<String> =
        if path.is_empty() { Vec::new() } else { path.split('/').map(unescape).collect() };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [] => Route::Other(Other::Index),
        ["version"] => Route::Other(Other::Version),
        [probe @ ("healthz" | "livez" | "readyz")] => Route::Other(Other::Health((*probe).to_owned())),
        [probe @ ("healthz" | "livez" | "readyz"), "ping"] => Route::Other(Other::Ping((*probe).to_owned())),
        ["api"] => Route::Other(Other::CoreVersions),
        ["apis"] => Route::Other(Other::Groups),
        ["apis", group] if registry.groups().iter().any(|(known, _)| known == group) => {
            Route::Other(Other::Group((*group).to_owned()))
        }
        ["openapi", "v2"] => Route::Other(Other::OldDocument),
        ["openapi", "v3"] => Route::Other(Other::Documents),
        ["openapi", "v3", "api", version] => document("", version),
        ["openapi", "v3", "apis", group, version] => document(group, version),
        [".well-known", "openid-configuration"] => Route::Other(Other::TokenIssuer),
        ["openid", "v1", "jwks"] => Route::Other(Other::TokenKeys),
        ["api", version, rest @ ..] => resource(registry, "", version, rest),
        ["apis", group, version, rest @ ..] => resource(registry, group, version, rest),
        _ => Route::Nothing,
    }
}

fn document(group: &str, version: &str) -> Route {
    Route::Other(Other::Document(group.to_owned(), version.to_owned()))
}

fn resource(registry: &Registry, group: &str, version: &str, rest: &[&str]) -> Route {
    let served = registry.in_version(group, version);
    let Some(any) = served.first() else {
        let builtin = registry.kinds().iter().any(|kind| kind.group == group && !kind.custom);
        return if builtin { Route::NoResource } else { Route::Nothing };
    };
    // The real server's handler of CRD kinds responds in text.
    let nothing = if any.custom { Route::Nothing } else { Route::NoResource };
    let (namespace, plural, rest) = match rest {
        [] => return Route::Other(Other::Resources(group.to_owned(), version.to_owned())),
        // Subresources of the namespace itself, not objects in it.
        ["namespaces", name, sub @ ("status" | "finalize")] if group.is_empty() => {
            return found(registry, group, version, "", "namespaces", &[name, sub]).unwrap_or(nothing);
        }
        ["namespaces", namespace, plural, rest @ ..] => (*namespace, *plural, rest),
        [plural, rest @ ..] => ("", *plural, rest),
    };
    found(registry, group, version, namespace, plural, rest).unwrap_or(nothing)
}

fn found(
    registry: &Registry,
    group: &str,
    version: &str,
    namespace: &str,
    plural: &str,
    rest: &[&str],
) -> Option<Route> {
    let kind = registry.find(group, version, plural)?;
    let (name, subresource) = match rest {
        [] => ("", ""),
        [name] => (*name, ""),
        [name, subresource] => (*name, *subresource),
        [name, ..] if kind.custom => return Some(Route::NoPart(Arc::clone(kind), (*name).to_owned())),
        _ => return None,
    };
    // A review is no object: it only has a place to be sent to.
    if kind.review.is_some() && (!rest.is_empty() || kind.namespaced && namespace.is_empty()) {
        return None;
    }
    let scope_fits = if kind.namespaced {
        // Across all namespaces, only the collection exists.
        !namespace.is_empty() || name.is_empty()
    } else {
        namespace.is_empty()
    };
    let part_exists =
        subresource.is_empty() || kind.subresources().iter().any(|known| known.name == subresource);
    if scope_fits && !part_exists && kind.custom {
        return Some(Route::NoPart(Arc::clone(kind), name.to_owned()));
    }
    if !scope_fits || !part_exists || (name.is_empty() && !rest.is_empty()) {
        return None;
    }
    Some(Route::Resource(Resource {
        kind: Arc::clone(kind),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
    }))
}

/// Decodes `%2F` and the like.
pub(crate) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = (byte == b'%')
            .then(|| text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()))
            .flatten();
        out.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}
