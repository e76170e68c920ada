//! Which requests are recorded.

use crate::{
    access::attributes::{Attributes, Target},
    kinds::builtin,
};

/// Requests that an audit log records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Writes, reads of confidential objects, and refused requests; none of the platform's own controllers.
    #[default]
    Changes,
    /// All requests, also those of the platform's own controllers.
    All,
}

/// Facts about a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    /// True for a client in the process of the platform.
    pub is_own: bool,
    /// True if its answer is worth a record in any case.
    pub is_sensitive: bool,
    /// What it wants; `None` if the caller is not authenticated.
    pub wanted: Option<&'a Attributes>,
    /// Code of the answer; `None` if there is none yet, or the client has left before.
    pub code: Option<u16>,
}

impl Scope {
    /// True if the request is recorded.
    pub(super) fn covers(self, request: Facts<'_>) -> bool {
        if self == Self::All {
            return true;
        }
        if request.is_own {
            return false;
        }
        matches!(request.code, Some(401 | 403 | 429))
            || request.wanted.is_some_and(|wanted| request.is_sensitive || is_notable(wanted))
    }
}

/// True for writes, and for reads of confidential objects.
fn is_notable(wanted: &Attributes) -> bool {
    match &wanted.target {
        Target::Path(_) => !matches!(&*wanted.verb, "get" | "head" | "options"),
        Target::Resource { group, resource, .. } => {
            // An empty verb is that of an unknown method, which is refused.
            !matches!(&*wanted.verb, "get" | "list" | "watch" | "")
                || group.is_empty() && builtin::CONFIDENTIAL.contains(&resource.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(verb: &'static str, group: &str, resource: &str, subresource: &str) -> Attributes {
        Attributes::new(verb, Target::object(group, resource, subresource, "shop", "x"))
    }

    #[test]
    fn changes_reads_of_secrets_and_refusals_are_recorded() {
        let path = |verb: &'static str| Attributes::new(verb, Target::Path("/metrics".to_owned()));
        for (wanted, code, is_own, expected) in [
            (resource("create", "", "configmaps", ""), 201, false, true),
            (resource("patch", "", "configmaps", ""), 409, false, true),
            (resource("deletecollection", "", "configmaps", ""), 200, false, true),
            (resource("create", "", "serviceaccounts", "token"), 201, false, true),
            (resource("create", "authentication.k8s.io", "tokenreviews", ""), 201, false, true),
            (resource("get", "", "configmaps", ""), 200, false, false),
            (resource("list", "", "configmaps", ""), 404, false, false),
            (resource("get", "", "configmaps", ""), 403, false, true),
            (resource("watch", "", "configmaps", ""), 429, false, true),
            (resource("get", "", "secrets", ""), 200, false, true),
            (resource("list", "", "secrets", ""), 200, false, true),
            (resource("watch", "", "secrets", ""), 200, false, true),
            (resource("get", "example.org", "secrets", ""), 200, false, false),
            (path("get"), 200, false, false),
            (path("get"), 403, false, true),
            (path("post"), 202, false, true),
            (resource("create", "", "secrets", ""), 201, true, false),
            (resource("get", "", "secrets", ""), 200, true, false),
        ] {
            let facts = Facts { is_own, is_sensitive: false, wanted: Some(&wanted), code: Some(code) };
            assert_eq!(Scope::Changes.covers(facts), expected, "{wanted:?} {code}");
            assert!(Scope::All.covers(facts));
        }
        let unknown = Facts { is_own: false, is_sensitive: false, wanted: None, code: Some(401) };
        assert!(Scope::Changes.covers(unknown));
    }
}
