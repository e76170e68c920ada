//! Authoriser: roles and bindings, indexed by their subjects.
//!
//! Everything is denied that no rule allows; only members of `system:masters` need no rule. A [`Policy`] is a pure
//! value: it is changed by the objects of the four kinds of RBAC, and answers without I/O.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    attributes::Attributes,
    caller::{self, Caller},
    rule::Rule,
};
use crate::selectors::LabelSelector;

/// Resources of the kinds of RBAC in the store.
pub(crate) const ROLES: &str = "roles.rbac.authorization.k8s.io";
/// Role bindings.
pub(crate) const ROLE_BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
/// Cluster roles.
pub(crate) const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
/// Cluster role bindings.
pub(crate) const CLUSTER_ROLE_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";
/// All of them.
pub(crate) const RESOURCES: [&str; 4] = [ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS];
/// Group of these kinds.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Roles and bindings.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    cluster_roles: BTreeMap<String, ClusterRole>,
    /// By namespace and name.
    roles: HashMap<String, HashMap<String, Arc<[Rule]>>>,
    /// By namespace, empty for those of the cluster, and name.
    bindings: HashMap<(String, String), Arc<Binding>>,
    users: HashMap<String, Grants>,
    groups: HashMap<String, Grants>,
}

#[derive(Debug)]
struct ClusterRole {
    labels: Map<String, Value>,
    /// Rules of the object.
    own: Arc<[Rule]>,
    /// Selectors of the roles whose rules it has instead; none if it is not aggregated.
    selectors: Vec<LabelSelector>,
    /// Rules in force.
    rules: Arc<[Rule]>,
}

/// Bindings of one user or group.
#[derive(Debug, Default)]
struct Grants {
    /// By name.
    cluster: BTreeMap<String, Arc<Binding>>,
    /// By namespace and name.
    namespaced: HashMap<String, BTreeMap<String, Arc<Binding>>>,
}

/// Role binding or cluster role binding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Empty for a cluster role binding.
    namespace: String,
    name: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// Reference to a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoleRef {
    /// True for a cluster role.
    pub cluster: bool,
    /// Name of the role.
    pub name: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Subject {
    User(String),
    Group(String),
    Account { namespace: String, name: String },
}

/// User or group of bindings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundSubject {
    /// Name of the user or group.
    pub name: String,
    /// True for a group.
    pub is_group: bool,
}

/// Right on a resource or subresource, for at least one of the verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceRight<'a> {
    /// Verbs.
    pub verbs: &'a [&'a str],
    /// Group of the API; empty for the core group.
    pub group: &'a str,
    /// Plural of the kind.
    pub resource: &'a str,
    /// Subresource; empty for the object itself.
    pub subresource: &'a str,
}

/// Objects that a right must be given on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Some objects are enough: rules with `resourceNames` count.
    Some,
    /// All objects: rules with `resourceNames` do not count.
    All,
}

/// Answer of the authoriser.
#[derive(Debug)]
pub(crate) enum Decision<'a> {
    /// Allowed: by a binding, or as a member of `system:masters`.
    Allowed(Option<(&'a Binding, &'a Caller)>),
    /// Denied; with the roles of the caller's bindings that do not exist.
    Denied(Vec<&'a RoleRef>),
}

impl Decision<'_> {
    /// True if allowed.
    pub(crate) fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// Reason, in the words of a real server; often empty.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Allowed(None) => String::new(),
            Self::Allowed(Some((binding, caller))) => {
                format!("RBAC: allowed by {}", binding.describe(caller))
            }
            Self::Denied(missing) if missing.is_empty() => String::new(),
            Self::Denied(missing) => format!("RBAC: {}", not_found(missing)),
        }
    }
}

impl Policy {
    /// Updates the object of a resource; `None` removes it.
    pub(crate) fn update(&mut self, resource: &str, namespace: &str, name: &str, object: Option<&Value>) {
        match resource {
            ROLES => {
                let roles = self.roles.entry(namespace.to_owned()).or_default();
                match object {
                    Some(role) => drop(roles.insert(name.to_owned(), rules_of(role))),
                    None => drop(roles.remove(name)),
                }
                if roles.is_empty() {
                    self.roles.remove(namespace);
                }
            }
            CLUSTER_ROLES => {
                match object {
                    Some(role) => drop(self.cluster_roles.insert(name.to_owned(), ClusterRole::of(role))),
                    None => drop(self.cluster_roles.remove(name)),
                }
                self.aggregate();
            }
            ROLE_BINDINGS | CLUSTER_ROLE_BINDINGS => {
                let key = (namespace.to_owned(), name.to_owned());
                if let Some(old) = self.bindings.remove(&key) {
                    self.unindex(&old);
                }
                if let Some(binding) = object.map(|object| Binding::of(namespace, name, object)) {
                    let binding = Arc::new(binding);
                    self.index(&binding);
                    self.bindings.insert(key, binding);
                }
            }
            _ => {}
        }
    }

    /// Decides on a request of a user.
    pub(crate) fn authorize<'a>(&'a self, caller: &'a Caller, wanted: &Attributes) -> Decision<'a> {
        if caller.is_in(caller::MASTERS) {
            return Decision::Allowed(None);
        }
        let mut missing = Vec::new();
        for binding in self.bindings_of(caller, wanted.namespace()) {
            match self.rules(&binding.role, &binding.namespace) {
                Some(rules) if rules.iter().any(|rule| rule.allows(wanted)) => {
                    return Decision::Allowed(Some((binding, caller)));
                }
                Some(_) => {}
                None => missing.push(&binding.role),
            }
        }
        Decision::Denied(missing)
    }

    /// Rules of a user in a namespace, or of the whole cluster only if it is empty; and what is wrong with them.
    pub(crate) fn rules_of(&self, caller: &Caller, namespace: &str) -> (Vec<Rule>, String) {
        let mut known = BTreeSet::new();
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        for binding in self.bindings_of(caller, namespace) {
            if !known.insert((&binding.namespace, &binding.name)) {
                continue;
            }
            match self.rules(&binding.role, &binding.namespace) {
                Some(own) => rules.extend_from_slice(own),
                None => missing.push(&binding.role),
            }
        }
        let error = if missing.is_empty() { String::new() } else { not_found(&missing) };
        (rules, error)
    }

    /// Users and groups that are bound to one of these rights in a namespace, or in the whole cluster only if it is empty.
    /// Administrators are left out: members of `system:masters`, and those who may do everything everywhere.
    pub(crate) fn subjects_with(
        &self,
        namespace: &str,
        rights: &[ResourceRight<'_>],
        extent: Extent,
    ) -> Vec<BoundSubject> {
        let has_right = |binding: &Arc<Binding>| {
            let rules = self.rules(&binding.role, &binding.namespace).unwrap_or_default();
            rules.iter().filter(|rule| extent == Extent::Some || rule.is_unnamed()).any(|rule| {
                let allows = |right: &ResourceRight<'_>| {
                    rule.allows_some(right.verbs, right.group, right.resource, right.subresource)
                };
                rights.iter().any(allows)
            })
        };
        let users = self.users.iter().map(|(name, grants)| (name, grants, false));
        let groups = self.groups.iter().map(|(name, grants)| (name, grants, true));
        users
            .chain(groups)
            .filter(|(name, grants, is_group)| {
                let masters = *is_group && *name == caller::MASTERS;
                let mut bindings = grants
                    .cluster
                    .values()
                    .chain(grants.namespaced.get(namespace).into_iter().flat_map(BTreeMap::values));
                !masters && !self.is_administrator(grants) && bindings.any(has_right)
            })
            .map(|(name, _, is_group)| BoundSubject { name: name.clone(), is_group })
            .collect()
    }

    /// Namespaces with service accounts that may do everything everywhere, by themselves or as the accounts of their namespace.
    pub(crate) fn namespaces_of_administrators(&self) -> BTreeSet<String> {
        let accounts = self.users.iter().filter_map(|(name, grants)| {
            let (namespace, _) = caller::account_of(name)?;
            self.is_administrator(grants).then_some(namespace)
        });
        let groups = self.groups.iter().filter_map(|(name, grants)| {
            let namespace = name.strip_prefix("system:serviceaccounts:")?;
            self.is_administrator(grants).then_some(namespace)
        });
        accounts.chain(groups).map(str::to_owned).collect()
    }

    /// True if these bindings allow everything everywhere.
    fn is_administrator(&self, grants: &Grants) -> bool {
        grants.cluster.values().any(|binding| {
            let rules = self.rules(&binding.role, &binding.namespace).unwrap_or_default();
            rules.iter().any(Rule::allows_everything)
        })
    }

    /// Rules of a role; `None` if it does not exist.
    pub(crate) fn rules(&self, role: &RoleRef, namespace: &str) -> Option<&[Rule]> {
        if role.cluster {
            self.cluster_roles.get(&role.name).map(|role| &*role.rules)
        } else {
            self.roles.get(namespace)?.get(&role.name).map(|rules| &**rules)
        }
    }

    /// Aggregated cluster roles whose objects have other rules than those in force, with these.
    pub(crate) fn outdated(&self) -> Vec<(String, Arc<[Rule]>)> {
        self.cluster_roles
            .iter()
            .filter(|(_, role)| !role.selectors.is_empty() && role.rules != role.own)
            .map(|(name, role)| (name.clone(), Arc::clone(&role.rules)))
            .collect()
    }

    /// Bindings of a user: those of the cluster first. A binding may come once per subject that it matches.
    fn bindings_of<'a, 'b>(
        &'a self,
        caller: &'b Caller,
        namespace: &'b str,
    ) -> impl Iterator<Item = &'a Binding> + use<'a, 'b> {
        let grants = move || {
            let groups = caller.groups.iter().filter_map(|group| self.groups.get(group));
            self.users.get(&caller.name).into_iter().chain(groups)
        };
        let cluster = grants().flat_map(|grants| grants.cluster.values());
        let namespaced =
            grants().filter_map(move |grants| grants.namespaced.get(namespace)).flat_map(BTreeMap::values);
        cluster.chain(namespaced).map(|binding| &**binding)
    }

    fn index(&mut self, binding: &Arc<Binding>) {
        for subject in &binding.subjects {
            let grants = match subject {
                Subject::Group(name) => self.groups.entry(name.clone()).or_default(),
                user => self.users.entry(user.user_name()).or_default(),
            };
            let bindings = if binding.namespace.is_empty() {
                &mut grants.cluster
            } else {
                grants.namespaced.entry(binding.namespace.clone()).or_default()
            };
            bindings.insert(binding.name.clone(), Arc::clone(binding));
        }
    }

    fn unindex(&mut self, binding: &Binding) {
        for subject in &binding.subjects {
            let (all, name) = match subject {
                Subject::Group(name) => (&mut self.groups, name.clone()),
                user => (&mut self.users, user.user_name()),
            };
            let Some(grants) = all.get_mut(&name) else { continue };
            if binding.namespace.is_empty() {
                grants.cluster.remove(&binding.name);
            } else if let Some(bindings) = grants.namespaced.get_mut(&binding.namespace) {
                bindings.remove(&binding.name);
                if bindings.is_empty() {
                    grants.namespaced.remove(&binding.namespace);
                }
            }
            if grants.cluster.is_empty() && grants.namespaced.is_empty() {
                all.remove(&name);
            }
        }
    }

    /// Sets the rules in force of all aggregated cluster roles.
    fn aggregate(&mut self) {
        let aggregated: Vec<String> = self
            .cluster_roles
            .iter()
            .filter(|(_, role)| !role.selectors.is_empty())
            .map(|(name, _)| name.clone())
            .collect();
        for name in aggregated {
            let mut rules = Vec::new();
            self.collect(&name, &mut rules, &mut BTreeSet::new());
            if let Some(role) = self.cluster_roles.get_mut(&name)
                && *role.rules != *rules
            {
                role.rules = rules.into();
            }
        }
    }

    /// Collects the rules of a cluster role and of those that it selects, each once. `visited` ends cycles.
    fn collect<'a>(&'a self, name: &'a str, rules: &mut Vec<Rule>, visited: &mut BTreeSet<&'a str>) {
        let Some(role) = self.cluster_roles.get(name) else { return };
        if !visited.insert(name) {
            return;
        }
        for selector in &role.selectors {
            for (other, candidate) in &self.cluster_roles {
                if other != name && selector.matches(Some(&candidate.labels)) {
                    self.collect(other, rules, visited);
                }
            }
        }
        if role.selectors.is_empty() {
            for rule in role.own.iter() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
}

impl ClusterRole {
    fn of(object: &Value) -> Self {
        let own = rules_of(object);
        let selectors = object["aggregationRule"]["clusterRoleSelectors"].as_array();
        Self {
            labels: object["metadata"]["labels"].as_object().cloned().unwrap_or_default(),
            // A stored selector is valid; one that is not selects nothing.
            selectors: selectors
                .into_iter()
                .flatten()
                .filter_map(|one| LabelSelector::of(one).ok())
                .collect(),
            rules: Arc::clone(&own),
            own,
        }
    }
}

/// Rules of a role.
pub(crate) fn rules_of(role: &Value) -> Arc<[Rule]> {
    let rules = role["rules"].as_array().into_iter().flatten();
    // A stored rule is valid; one that is not allows nothing.
    rules.filter_map(|rule| serde_json::from_value(rule.clone()).ok()).collect()
}

/// Role of a binding.
pub(crate) fn role_of(binding: &Value) -> RoleRef {
    let reference = &binding["roleRef"];
    RoleRef {
        cluster: reference["kind"] == "ClusterRole",
        name: reference["name"].as_str().unwrap_or_default().to_owned(),
    }
}

impl Binding {
    fn of(namespace: &str, name: &str, object: &Value) -> Self {
        let subjects = object["subjects"].as_array().into_iter().flatten();
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            role: role_of(object),
            subjects: subjects.filter_map(|subject| Subject::of(subject, namespace)).collect(),
        }
    }

    fn describe(&self, caller: &Caller) -> String {
        let subject = self.subjects.iter().find(|subject| subject.is(caller));
        let subject = subject.map(ToString::to_string).unwrap_or_default();
        let (kind, slash) =
            if self.namespace.is_empty() { ("ClusterRoleBinding", "") } else { ("RoleBinding", "/") };
        let binding = format!("{}{slash}{}", self.name, self.namespace);
        let RoleRef { cluster, name } = &self.role;
        let role = if *cluster { "ClusterRole" } else { "Role" };
        format!("{kind} {binding:?} of {role} {name:?} to {subject}")
    }
}

impl Subject {
    fn of(subject: &Value, binding_namespace: &str) -> Option<Self> {
        let text = |field: &str| subject[field].as_str().unwrap_or_default().to_owned();
        match subject["kind"].as_str()? {
            "User" => Some(Self::User(text("name"))),
            "Group" => Some(Self::Group(text("name"))),
            "ServiceAccount" => {
                let own = text("namespace");
                let namespace = if own.is_empty() { binding_namespace.to_owned() } else { own };
                (!namespace.is_empty()).then(|| Self::Account { namespace, name: text("name") })
            }
            _ => None,
        }
    }

    /// Name of the user; of a group, its name.
    fn user_name(&self) -> String {
        match self {
            Self::User(name) | Self::Group(name) => name.clone(),
            Self::Account { namespace, name } => caller::account_user(namespace, name),
        }
    }

    fn is(&self, caller: &Caller) -> bool {
        match self {
            Self::Group(name) => caller.is_in(name),
            user => user.user_name() == caller.name,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "User {name:?}"),
            Self::Group(name) => write!(f, "Group {name:?}"),
            Self::Account { namespace, name } => {
                write!(f, "ServiceAccount {:?}", format!("{name}/{namespace}"))
            }
        }
    }
}

fn not_found(missing: &[&RoleRef]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for RoleRef { cluster, name } in missing {
        let kind = if *cluster { "clusterrole" } else { "role" };
        let text = format!("{kind}.{GROUP} {name:?} not found");
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests;
