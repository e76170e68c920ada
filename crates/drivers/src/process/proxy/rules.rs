//! Routing rules.

use std::collections::{BTreeMap, BTreeSet};

use crate::NamespacedName;

/// Routing rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Host, without a port.
    pub host: String,
    /// Path, or prefix of paths.
    pub path: String,
    /// True if the path has to match exactly.
    pub exact: bool,
    /// Local port of the program.
    pub port: u16,
}

impl Rule {
    /// Normalised rule: hosts are compared without case, and a prefix ends where a segment does.
    fn normal(mut self) -> Self {
        self.host = normal_host(&self.host);
        if !self.path.starts_with('/') {
            self.path.insert(0, '/');
        }
        if !self.exact {
            self.path.truncate(self.path.trim_end_matches('/').len());
        }
        self
    }

    fn is_same_place(&self, other: &Self) -> bool {
        (&self.host, &self.path, self.exact) == (&other.host, &other.path, other.exact)
    }

    fn matches(&self, path: &str) -> bool {
        match path.strip_prefix(&self.path) {
            Some(rest) if self.exact => rest.is_empty(),
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

/// Rules by instance.
#[derive(Debug, Default)]
pub(super) struct Rules(BTreeMap<NamespacedName, Vec<Rule>>);

impl Rules {
    /// Replaces the rules of an instance; or returns the instance that has one of the hosts and paths, and changes nothing.
    pub(super) fn set(&mut self, id: &NamespacedName, rules: Vec<Rule>) -> Result<(), NamespacedName> {
        let rules: Vec<_> = rules.into_iter().map(Rule::normal).collect();
        let others = self.0.iter().filter(|(other, _)| *other != id);
        for (other, theirs) in others {
            if theirs.iter().any(|their| rules.iter().any(|rule| rule.is_same_place(their))) {
                return Err(other.clone());
            }
        }
        self.0.insert(id.clone(), rules);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: &NamespacedName) {
        self.0.remove(id);
    }

    /// Port for a path of a host: that of the exact rule, otherwise that of the longest prefix.
    pub(super) fn find(&self, host: &str, path: &str) -> Option<u16> {
        let host = normal_host(host);
        let fitting = self.all().filter(|rule| rule.host == host && rule.matches(path));
        fitting.max_by_key(|rule| (rule.exact, rule.path.len())).map(|rule| rule.port)
    }

    /// Hosts that have rules.
    pub(super) fn hosts(&self) -> BTreeSet<&str> {
        self.all().map(|rule| rule.host.as_str()).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Rule> {
        self.0.values().flatten()
    }
}

/// Host in lower case, without its port.
fn normal_host(host: &str) -> String {
    let name = match host.rfind(']') {
        // An IPv6 address has colons of its own.
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    };
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> NamespacedName {
        ("default".to_owned(), name.to_owned())
    }

    fn rule(host: &str, path: &str, port: u16) -> Rule {
        Rule { host: host.to_owned(), path: path.to_owned(), exact: false, port }
    }

    #[test]
    fn an_exact_path_wins_over_the_longest_prefix_of_whole_segments() {
        let mut rules = Rules::default();
        let exact = Rule { exact: true, ..rule("a.localhost", "/api/v1", 4) };
        let all = vec![
            rule("a.localhost", "/", 1),
            rule("a.localhost", "/api/", 2),
            rule("a.localhost", "/api/v1/deep", 3),
            exact,
        ];
        rules.set(&id("a"), all).unwrap();
        for (path, port) in [
            ("/", 1),
            ("/apis", 1),
            ("/api", 2),
            ("/api/", 2),
            ("/api/v2", 2),
            ("/api/v1", 4),
            ("/api/v1/", 2),
            ("/api/v1/deep/er", 3),
        ] {
            assert_eq!(rules.find("a.localhost", path), Some(port), "{path}");
        }
    }

    #[test]
    fn hosts_are_compared_without_case_and_port() {
        let mut rules = Rules::default();
        rules.set(&id("a"), vec![rule("App.Localhost", "/", 1), rule("[::1]", "/", 2)]).unwrap();
        for host in ["app.localhost", "APP.localhost:8088", "app.localhost."] {
            assert_eq!(rules.find(host, "/x"), Some(1), "{host}");
        }
        assert_eq!(rules.find("[::1]:8088", "/"), Some(2));
        assert_eq!(rules.find("other.localhost", "/"), None);
        assert_eq!(rules.hosts().into_iter().collect::<Vec<_>>(), ["[::1]", "app.localhost"]);
    }

    #[test]
    fn host_and_path_have_one_owner_that_may_change_the_target() {
        let mut rules = Rules::default();
        rules.set(&id("a"), vec![rule("h", "/x", 1)]).unwrap();
        assert_eq!(rules.set(&id("b"), vec![rule("h", "/y", 2), rule("H", "/x/", 2)]), Err(id("a")));
        assert_eq!(rules.find("h", "/y"), None, "nothing is set by halves");
        rules.set(&id("b"), vec![Rule { exact: true, ..rule("h", "/x", 3) }]).unwrap();
        rules.set(&id("a"), vec![rule("h", "/x", 4)]).unwrap();
        assert_eq!((rules.find("h", "/x"), rules.find("h", "/x/z")), (Some(3), Some(4)));
        rules.remove(&id("a"));
        rules.set(&id("b"), vec![rule("h", "/x", 5)]).unwrap();
        assert_eq!(rules.find("h", "/x"), Some(5));
    }
}
