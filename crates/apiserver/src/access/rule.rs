//! Rules of roles.

use serde::{Deserialize, Serialize};

use super::attributes::{Attributes, Target};

/// `PolicyRule` of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    /// Verbs; `*` for all.
    pub verbs: Vec<String>,
    /// Groups of the API; `*` for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources: `workloads`, `workloads/status`, `*/status`; `*` for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names of objects; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths without objects: `/version`, `/openapi/*`; `*` for all.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// True if the rule allows a request.
    pub(crate) fn allows(&self, wanted: &Attributes) -> bool {
        if !has(&self.verbs, &wanted.verb) {
            return false;
        }
        match &wanted.target {
            Target::Path(path) => self.non_resource_urls.iter().any(|url| url_matches(url, path)),
            Target::Resource { group, resource, subresource, name, .. } => {
                has(&self.api_groups, group)
                    && self.resources.iter().any(|rule| resource_matches(rule, resource, subresource))
                    && (self.resource_names.is_empty() || self.resource_names.contains(name))
            }
        }
    }

    /// True if the rule allows one of these verbs on a resource or subresource, at least for some names.
    pub(crate) fn allows_some(&self, verbs: &[&str], group: &str, resource: &str, subresource: &str) -> bool {
        verbs.iter().any(|verb| has(&self.verbs, verb))
            && has(&self.api_groups, group)
            && self.resources.iter().any(|rule| resource_matches(rule, resource, subresource))
    }

    /// True if the rule is about all objects, without `resourceNames`.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.resource_names.is_empty()
    }

    /// True if the rule allows everything.
    pub(crate) fn allows_everything(&self) -> bool {
        let any = |values: &[String]| values.iter().any(|value| value == "*");
        any(&self.verbs) && any(&self.api_groups) && any(&self.resources) && self.is_unnamed()
    }

    /// The rules with one verb, group, resource, name or path each that together equal this rule.
    fn parts(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut parts = Vec::new();
        for verb in &self.verbs {
            for group in &self.api_groups {
                for resource in &self.resources {
                    let part = Self {
                        verbs: one(verb),
                        api_groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.resource_names.is_empty() {
                        parts.push(part.clone());
                    }
                    let named = |name| Self { resource_names: one(name), ..part.clone() };
                    parts.extend(self.resource_names.iter().map(named));
                }
            }
            let at = |url| Self { verbs: one(verb), non_resource_urls: one(url), ..Self::default() };
            parts.extend(self.non_resource_urls.iter().map(at));
        }
        parts
    }

    /// True if this rule covers a [part](Self::parts) of another rule.
    fn covers(&self, part: &Self) -> bool {
        let all = |own: &[String], wanted: &[String]| wanted.iter().all(|one| has(own, one));
        let covers_resource = |wanted: &String| {
            has(&self.resources, wanted)
                || wanted.split_once('/').is_some_and(|(_, sub)| self.resources.contains(&format!("*/{sub}")))
        };
        all(&self.verbs, &part.verbs)
            && all(&self.api_groups, &part.api_groups)
            && part.resources.iter().all(covers_resource)
            && part
                .non_resource_urls
                .iter()
                .all(|wanted| self.non_resource_urls.iter().any(|own| url_matches(own, wanted)))
            && (self.resource_names.is_empty()
                || !part.resource_names.is_empty()
                    && part.resource_names.iter().all(|name| self.resource_names.contains(name)))
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let texts: Vec<String> = lists
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| {
                let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                format!("{name}:[{}]", values.join(" "))
            })
            .collect();
        write!(f, "{{{}}}", texts.join(", "))
    }
}

/// Parts of `wanted` that no rule of `own` covers; parts that differ only in their verb are joined.
pub(crate) fn uncovered(own: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let mut missing: Vec<Rule> = Vec::new();
    for part in wanted.iter().flat_map(Rule::parts) {
        if own.iter().any(|rule| rule.covers(&part)) {
            continue;
        }
        let same = |known: &&mut Rule| {
            Rule { verbs: Vec::new(), ..(*known).clone() } == Rule { verbs: Vec::new(), ..part.clone() }
        };
        match missing.iter_mut().find(same) {
            Some(known) => {
                for verb in part.verbs {
                    if !known.verbs.contains(&verb) {
                        known.verbs.push(verb);
                    }
                }
            }
            None => missing.push(part),
        }
    }
    missing
}

fn has(values: &[String], wanted: &str) -> bool {
    values.iter().any(|value| value == "*" || value == wanted)
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    rule.strip_suffix(subresource)
        .and_then(|rest| rest.strip_suffix('/'))
        .is_some_and(|start| start == "*" || start == resource)
}

fn url_matches(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|&value| value.to_owned()).collect()
    }

    fn on(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        Rule {
            verbs: texts(verbs),
            api_groups: texts(groups),
            resources: texts(resources),
            resource_names: texts(names),
            ..Rule::default()
        }
    }

    fn at(verbs: &[&str], urls: &[&str]) -> Rule {
        Rule { verbs: texts(verbs), non_resource_urls: texts(urls), ..Rule::default() }
    }

    #[test]
    fn a_rule_allows_what_all_its_lists_name() {
        let everything = on(&["*"], &["*"], &["*"], &[]);
        let maps = on(&["get", "list"], &[""], &["configmaps"], &[]);
        let named = on(&["get", "create"], &[""], &["configmaps"], &["a", "b"]);
        let status = on(&["update"], &["score.dev"], &["*/status"], &[]);
        let part = on(&["update"], &["score.dev"], &["workloads/status"], &[]);
        for (rule, verb, group, resource, subresource, name, expected) in [
            (&everything, "escalate", "x.example.org", "things", "parts", "a", true),
            (&maps, "get", "", "configmaps", "", "a", true),
            (&maps, "list", "", "configmaps", "", "", true),
            (&maps, "watch", "", "configmaps", "", "", false),
            (&maps, "GET", "", "configmaps", "", "a", false),
            (&maps, "get", "score.dev", "configmaps", "", "a", false),
            (&maps, "get", "", "secrets", "", "a", false),
            (&maps, "get", "", "configmaps", "status", "a", false),
            (&named, "get", "", "configmaps", "", "b", true),
            (&named, "get", "", "configmaps", "", "c", false),
            (&named, "create", "", "configmaps", "", "", false),
            (&status, "update", "score.dev", "workloads", "status", "a", true),
            (&status, "update", "score.dev", "workloads", "", "a", false),
            (&status, "update", "score.dev", "workloads", "xstatus", "a", false),
            (&part, "update", "score.dev", "workloads", "status", "a", true),
            (&part, "update", "score.dev", "plans", "status", "a", false),
            (&part, "update", "score.dev", "workloads", "scale", "a", false),
            (&part, "update", "score.dev", "workloads", "", "a", false),
            (&at(&["*"], &["*"]), "get", "", "configmaps", "", "", false),
        ] {
            let wanted = Attributes::new(verb, Target::object(group, resource, subresource, "shop", name));
            assert_eq!(rule.allows(&wanted), expected, "{rule} {wanted:?}");
        }
    }

    #[test]
    fn a_path_matches_exactly_or_below_a_prefix() {
        for (url, path, expected) in [
            ("/version", "/version", true),
            ("/version", "/version/", false),
            ("/version", "/versions", false),
            ("/openapi/*", "/openapi/v3", true),
            ("/openapi/*", "/openapi/", true),
            ("/openapi/*", "/openapi", false),
            ("*", "/anything", true),
            ("/a*b", "/axb", false),
        ] {
            let wanted = Attributes::new("get", Target::Path(path.to_owned()));
            assert_eq!(at(&["get"], &[url]).allows(&wanted), expected, "{url} {path}");
            assert!(!on(&["*"], &["*"], &["*"], &[]).allows(&wanted));
        }
    }

    #[test]
    fn rules_are_covered_part_by_part() {
        let own = [
            on(&["get", "list"], &["", "score.dev"], &["configmaps", "*/status"], &[]),
            on(&["update"], &[""], &["secrets"], &["a"]),
            on(&["*"], &["x.example.org"], &["*"], &[]),
            at(&["get"], &["/healthz", "/api/*"]),
        ];
        for (wanted, expected) in [
            (on(&["get"], &["score.dev"], &["configmaps"], &["a"]), true),
            (on(&["list", "get"], &[""], &["workloads/status"], &[]), true),
            (on(&["get"], &[""], &["workloads/scale"], &[]), false),
            (on(&["get", "watch"], &[""], &["configmaps"], &[]), false),
            (on(&["get"], &["*"], &["configmaps"], &[]), false),
            (on(&["get"], &[""], &["*"], &[]), false),
            (on(&["update"], &[""], &["secrets"], &["a"]), true),
            (on(&["update"], &[""], &["secrets"], &["a", "b"]), false),
            (on(&["update"], &[""], &["secrets"], &[]), false),
            (on(&["escalate", "*"], &["x.example.org"], &["*", "a/b"], &["n"]), true),
            (at(&["get"], &["/healthz", "/api/v1", "/api/*"]), true),
            (at(&["get"], &["/api"]), false),
            (at(&["post"], &["/healthz"]), false),
            (at(&["get"], &["*"]), false),
        ] {
            assert_eq!(uncovered(&own, std::slice::from_ref(&wanted)).is_empty(), expected, "{wanted}");
        }
    }

    #[test]
    fn missing_rules_are_listed_with_their_verbs() {
        let wanted = on(&["get", "list"], &[""], &["pods", "secrets"], &[]);
        let missing = uncovered(&[on(&["*"], &[""], &["pods"], &[])], &[wanted]);
        let texts: Vec<String> = missing.iter().map(ToString::to_string).collect();
        assert_eq!(texts, [r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#]);
    }
}
