//! Attributes of a request: what it wants to do, as rules name it.
//!
//! They are derived from the [`Route`] that is executed, so that no spelling of a path is checked as one thing and
//! executed as another.

use std::borrow::Cow;

use axum::http::Method;

use crate::{
    http::{
        query::Query,
        route::{self, Other, Resource, Route},
    },
    selectors::FieldSelector,
    status::{Details, Status},
};

/// Verb and target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// `get`, `list`, `deletecollection`, …; the method in lower case for a path without objects.
    pub verb: Cow<'static, str>,
    /// The target.
    pub target: Target,
}

/// Target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Collection, object or subresource.
    Resource {
        /// Group of the API; empty for the core group.
        group: String,
        /// Plural.
        resource: String,
        /// Subresource; empty for the object itself.
        subresource: String,
        /// Namespace; empty for cluster-scoped objects and for all namespaces.
        namespace: String,
        /// Name; empty for a collection.
        name: String,
    },
    /// Path without objects.
    Path(String),
}

impl Target {
    /// Object, or a subresource of it.
    pub(crate) fn object(
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Self {
        Self::Resource {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl Attributes {
    /// Attributes of a verb.
    pub(crate) fn new(verb: impl Into<Cow<'static, str>>, target: Target) -> Self {
        Self { verb: verb.into(), target }
    }

    /// Attributes of a request.
    pub(crate) fn of(route: &Route, method: &Method, path: &str, query: &Query) -> Self {
        match route {
            Route::Resource(resource) => of_resource(resource, method, query),
            Route::Other(other) => Self::new(lower(method), Target::Path(canonical(other))),
            // Nothing is executed: the answer only depends on whether the caller may see that it does not exist.
            Route::NoPart(..) | Route::NoResource | Route::Nothing => of_unknown(path, method, query),
        }
    }

    /// Same target, another verb.
    pub(crate) fn with_verb(&self, verb: impl Into<Cow<'static, str>>) -> Self {
        Self::new(verb, self.target.clone())
    }

    /// Namespace; empty for a path and for cluster-scoped objects.
    pub(crate) fn namespace(&self) -> &str {
        match &self.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path(_) => "",
        }
    }

    /// 403 for a user, with the text that clients match on.
    pub(crate) fn forbidden(&self, user: &str, reason: &str) -> Status {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let verb = &self.verb;
        let (subject, what, details) = match &self.target {
            Target::Path(path) => (String::new(), format!("path {path:?}"), Details::default()),
            Target::Resource { group, resource, subresource, namespace, name } => {
                let dot = if group.is_empty() { "" } else { "." };
                let named = if name.is_empty() { String::new() } else { format!(" {name:?}") };
                let slash = if subresource.is_empty() { "" } else { "/" };
                let scope = if namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace {namespace:?}")
                };
                let full = format!("{resource}{slash}{subresource}");
                let what = format!("resource {full:?} in API group {group:?} {scope}");
                let details = Details {
                    name: name.clone(),
                    group: group.clone(),
                    kind: resource.clone(),
                    ..Details::default()
                };
                (format!("{resource}{dot}{group}{named} is "), what, details)
            }
        };
        let message = escape(&format!("User {user:?} cannot {verb} {what}"));
        Status::new(403, "Forbidden", format!("{subject}forbidden: {message}{reason}")).with_details(details)
    }
}

/// Escapes what looks like HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn lower(method: &Method) -> Cow<'static, str> {
    match *method {
        Method::GET => "get".into(),
        ref other => other.as_str().to_ascii_lowercase().into(),
    }
}

fn of_resource(resource: &Resource, method: &Method, query: &Query) -> Attributes {
    let Resource { kind, namespace, name, subresource } = resource;
    let verb = verb(method, name, query);
    // A namespace is an object in itself, so that roles in it can name it.
    let namespace = if kind.group.is_empty() && kind.plural == "namespaces" { name } else { namespace };
    let selected;
    let name = if matches!(verb, "list" | "watch") && name.is_empty() {
        selected = selected_name(query);
        &selected
    } else {
        name
    };
    Attributes::new(verb, Target::object(&kind.group, &kind.plural, subresource, namespace, name))
}

fn verb(method: &Method, name: &str, query: &Query) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        Method::GET | Method::HEAD if !name.is_empty() => "get",
        Method::GET | Method::HEAD if query.flag("watch") => "watch",
        Method::GET | Method::HEAD => "list",
        _ => "",
    }
}

/// The only name that a field selector selects; empty if it selects more.
fn selected_name(query: &Query) -> String {
    let Ok(fields) = FieldSelector::parse(query.get("fieldSelector")) else { return String::new() };
    let named = |one: &&crate::selectors::FieldRequirement| one.field == "metadata.name" && !one.is_negated;
    fields.requirements().iter().find(named).map(|one| one.value.clone()).unwrap_or_default()
}

/// The one spelling of a path that rules name.
fn canonical(other: &Other) -> String {
    match other {
        Other::Index => "/".to_owned(),
        Other::Version => "/version".to_owned(),
        Other::Health(probe) => format!("/{probe}"),
        Other::Ping(probe) => format!("/{probe}/ping"),
        Other::CoreVersions => "/api".to_owned(),
        Other::Groups => "/apis".to_owned(),
        Other::Group(group) => format!("/apis/{group}"),
        Other::Resources(group, version) if group.is_empty() => format!("/api/{version}"),
        Other::Resources(group, version) => format!("/apis/{group}/{version}"),
        Other::OldDocument => "/openapi/v2".to_owned(),
        Other::Documents => "/openapi/v3".to_owned(),
        Other::Document(group, version) if group.is_empty() => format!("/openapi/v3/api/{version}"),
        Other::Document(group, version) => format!("/openapi/v3/apis/{group}/{version}"),
        Other::TokenIssuer => "/.well-known/openid-configuration".to_owned(),
        Other::TokenKeys => "/openid/v1/jwks".to_owned(),
    }
}

/// Attributes of a path that leads nowhere, as a real server reads it.
fn of_unknown(path: &str, method: &Method, query: &Query) -> Attributes {
    let parts: Vec<String> = path.trim_matches('/').split('/').map(route::unescape).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
        ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
        _ => return Attributes::new(lower(method), Target::Path(route::unescape(path))),
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, "status" | "finalize", ..] | ["namespaces", namespace] => {
            (*namespace, rest)
        }
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        _ => ("", rest),
    };
    let at = |index: usize| rest.get(index).copied().unwrap_or_default();
    let target = Target::object(group, at(0), at(2), namespace, at(1));
    Attributes::new(verb(method, at(1), query), target)
}

#[cfg(test)]
mod tests;
