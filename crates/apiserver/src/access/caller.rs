//! Users of requests.

use std::collections::BTreeMap;

/// Group of administrators, who may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// Group of all users with valid credentials.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Group of requests without credentials.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// User of requests without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// User of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// User name.
    pub name: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Unique id; empty if unknown.
    pub uid: String,
    /// Further attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// User with groups.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item: Into<String>>) -> Self {
        let groups = groups.into_iter().map(Into::into).collect();
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// Administrator of the server.
    pub fn admin() -> Self {
        Self::new("admin", [MASTERS])
    }

    /// Service account.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self::new(account_user(namespace, name), account_groups(namespace))
    }

    /// User of a request without credentials.
    pub(crate) fn anonymous() -> Self {
        Self::new(ANONYMOUS, [UNAUTHENTICATED])
    }

    /// True without credentials.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS
    }

    /// True for a member of a group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Adds a group, once.
    #[must_use]
    pub(crate) fn with_group(mut self, group: &str) -> Self {
        if !self.is_in(group) {
            self.groups.push(group.to_owned());
        }
        self
    }
}

/// User name of a service account.
pub(crate) fn account_user(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// Groups of the service accounts of a namespace.
pub(crate) fn account_groups(namespace: &str) -> [String; 2] {
    ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name of a service account by its user name.
pub(crate) fn account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}
