//! Matcher of requests.

use std::{fmt, sync::Arc};

use axum::http::{Method, request::Parts};

/// Kubernetes verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read an object.
    Get,
    /// Read a collection.
    List,
    /// Watch a collection.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Patch an object, including server-side apply.
    Patch,
    /// Delete an object.
    Delete,
    /// Delete a collection.
    DeleteCollection,
}

impl Verb {
    /// Verb of a request for objects.
    pub fn of(request: &Parts) -> Option<Self> {
        let query = request.uri.query().unwrap_or_default();
        let watches = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
        Some(match (&request.method, names_an_object(request.uri.path())) {
            (&Method::GET, false) if watches => Self::Watch,
            (&Method::GET, false) => Self::List,
            (&Method::GET, true) => Self::Get,
            (&Method::POST, _) => Self::Create,
            (&Method::PUT, _) => Self::Update,
            (&Method::PATCH, _) => Self::Patch,
            (&Method::DELETE, true) => Self::Delete,
            (&Method::DELETE, false) => Self::DeleteCollection,
            _ => return None,
        })
    }
}

/// True if the path has an object name after the resource.
fn names_an_object(path: &str) -> bool {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    // The version follows `api`, or `apis` and a group.
    let before = if segments.next() == Some("api") { 1 } else { 2 };
    let rest: Vec<_> = segments.skip(before).collect();
    match rest.as_slice() {
        // A namespace is an object, and also the scope of others.
        ["namespaces", _, _, rest @ ..] | [_, rest @ ..] => !rest.is_empty(),
        [] => false,
    }
}

type Test = dyn Fn(&Parts) -> bool + Send + Sync;

/// Matcher of requests. All criteria must hold; without any, it matches all requests.
///
/// ```
/// use orchestra_testkit::{Matching, Verb};
///
/// let status_writes = Matching::any().verb(Verb::Patch).path("/apis/score.dev/*/namespaces/*/workloads/*/status");
/// let all_of_one_namespace = Matching::any().path("/api/v1/namespaces/shop/**");
/// let dry_runs = Matching::any().when(|request| request.uri.query().is_some_and(|q| q.contains("dryRun=All")));
/// ```
#[derive(Clone, Default)]
pub struct Matching(Vec<Arc<Test>>);

impl Matching {
    /// Matches all requests.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requires a verb.
    #[must_use]
    pub fn verb(self, verb: Verb) -> Self {
        self.when(move |request| Verb::of(request) == Some(verb))
    }

    /// Requires an HTTP method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        self.when(move |request| request.method == method)
    }

    /// Requires a path: `*` matches one segment, a final `**` any number.
    #[must_use]
    pub fn path(self, pattern: &str) -> Self {
        let pattern = pattern.to_owned();
        self.when(move |request| path_matches(&pattern, request.uri.path()))
    }

    /// Requires a predicate.
    #[must_use]
    pub fn when(mut self, test: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        self.0.push(Arc::new(test));
        self
    }

    /// True if the request matches.
    pub fn matches(&self, request: &Parts) -> bool {
        self.0.iter().all(|test| test(request))
    }
}

impl fmt::Debug for Matching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matching").finish_non_exhaustive()
    }
}

fn path_matches(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) | (Some("**"), _) => return true,
            (Some("*"), Some(segment)) if !segment.is_empty() => {}
            (Some(expected), Some(segment)) if expected == segment => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn request(method: &str, uri: &str) -> Parts {
        Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0
    }

    #[test]
    fn verbs_follow_from_method_path_and_query() {
        for (method, uri, expected) in [
            ("GET", "/api/v1/namespaces", Verb::List),
            ("GET", "/api/v1/namespaces/a", Verb::Get),
            ("GET", "/api/v1/namespaces/a/configmaps", Verb::List),
            ("GET", "/api/v1/namespaces/a/configmaps/b", Verb::Get),
            ("GET", "/apis/score.dev/v1/workloads?limit=1", Verb::List),
            ("GET", "/apis/score.dev/v1/workloads?a=b&watch=true", Verb::Watch),
            ("POST", "/api/v1/namespaces/a/configmaps", Verb::Create),
            ("PUT", "/api/v1/namespaces/a/configmaps/b", Verb::Update),
            ("PATCH", "/apis/score.dev/v1/namespaces/a/workloads/b/status", Verb::Patch),
            ("DELETE", "/api/v1/namespaces/a", Verb::Delete),
            ("DELETE", "/api/v1/namespaces/a/configmaps", Verb::DeleteCollection),
        ] {
            assert_eq!(Verb::of(&request(method, uri)), Some(expected), "{method} {uri}");
        }
    }

    #[test]
    fn a_star_is_one_segment_and_two_are_the_rest() {
        for (pattern, path, expected) in [
            ("/api/v1/namespaces/*", "/api/v1/namespaces/a", true),
            ("/api/v1/namespaces/*", "/api/v1/namespaces/a/configmaps", false),
            ("/api/v1/namespaces/*", "/api/v1/namespaces/", false),
            ("/api/v1/namespaces/a/**", "/api/v1/namespaces/a/configmaps/b", true),
            ("/api/**", "/apis/score.dev", false),
            ("/api/v1", "/api/v1", true),
        ] {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
