//! What a backend of the runtime `kubernetes` says about all that runs there.
//!
//! The platform's document is checked when it is read, key by key; here the settings are read again from the plan,
//! which may be older than the program.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use orchestra_api::plan::{Amounts, WorkloadPlanSpec};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// The settings of a backend. `docs/kubernetes.md` explains each.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Values {
    pub(crate) replicas: Option<u32>,
    pub(crate) service_account_name: Option<String>,
    pub(crate) image_pull_secrets: BTreeSet<String>,
    pub(crate) resources: Resources,
    pub(crate) node_selector: BTreeMap<String, String>,
    pub(crate) tolerations: Vec<Map<String, Json>>,
    pub(crate) expose: Option<Expose>,
    pub(crate) domain: Option<String>,
    pub(crate) ingress_class: Option<String>,
    pub(crate) gateway: Option<Gateway>,
    pub(crate) tls: bool,
    pub(crate) tls_secret: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) pod_security: PodSecurity,
    pub(crate) run_as_non_root: Option<bool>,
    pub(crate) run_as_user: Option<i64>,
    pub(crate) fs_group: Option<i64>,
    /// Heard when the plan was made.
    pub(crate) allow_volume_sources: bool,
}

/// What a container gets where nobody says more.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Resources {
    pub(crate) requests: Amounts,
    pub(crate) limits: Amounts,
}

/// How ports become reachable from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Expose {
    Ingress,
    Gateway,
    LoadBalancer,
    NodePort,
    None,
}

/// The gateway that routes are attached to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gateway {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: Option<String>,
}

/// How much is taken from what runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PodSecurity {
    /// As `Hardened`, and never as root: it passes the strictest check that clusters have.
    Restricted,
    /// No capabilities, no new privileges, the runtime's own filter of system calls; as the user of the image.
    #[default]
    Hardened,
    /// The runtime's own filter of system calls.
    Baseline,
    /// Nothing.
    None,
}

/// The label of a namespace that says which level of security the cluster insists on there.
const ENFORCED: &str = "pod-security.kubernetes.io/enforce";

/// Takes as much from what runs as its namespace asks for, unless the platform says how much: else it would be refused.
pub(crate) fn heed_namespace(values: &mut Map<String, Json>, labels: &BTreeMap<String, String>) {
    let is_strict = labels.get(ENFORCED).is_some_and(|level| level == "restricted");
    let is_open = ["podSecurity", "runAsNonRoot"].iter().all(|key| !values.contains_key(*key))
        && values.get("runAsUser") != Some(&Json::from(0));
    if is_strict && is_open {
        values.insert("podSecurity".to_owned(), Json::from("restricted"));
    }
}

impl Values {
    /// The settings in a plan, or what is wrong with them.
    pub(crate) fn read(plan: &WorkloadPlanSpec) -> Result<Self, String> {
        let refused = |why: &dyn Display| {
            format!(
                "The settings of the backend `{}` cannot be used ({why}); ask the platform team to correct its `values`.",
                plan.backend_id
            )
        };
        let values: Self =
            serde_json::from_value(Json::Object(plan.values.clone())).map_err(|error| refused(&error))?;
        match values.contradictions().into_iter().next() {
            Some((_, message, _)) => Err(refused(&message)),
            None => Ok(values),
        }
    }

    /// The settings in a plan that lacks nothing.
    pub(crate) fn of(plan: &WorkloadPlanSpec) -> Self {
        Self::read(plan).unwrap_or_default()
    }

    /// How ports become reachable from outside.
    pub(crate) fn expose(&self) -> Expose {
        self.expose.unwrap_or(match (&self.gateway, &self.domain) {
            (Some(_), Some(_)) => Expose::Gateway,
            (None, Some(_)) => Expose::Ingress,
            (_, None) => Expose::None,
        })
    }

    /// Whether addresses under the domain are encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls || self.tls_secret.is_some()
    }

    /// Whether everything must run as another user than root.
    pub(crate) fn is_non_root(&self) -> bool {
        self.run_as_non_root.unwrap_or(self.pod_security == PodSecurity::Restricted)
    }

    /// What does not go together: the key, what is wrong, and what to write.
    fn contradictions(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut found = Vec::new();
        let expose = self.expose();
        if matches!(expose, Expose::Ingress | Expose::Gateway) && self.domain.is_none() {
            found.push((
                "domain",
                "there is no `domain` under which addresses could be made".to_owned(),
                "add `domain: apps.example.org`, or write `expose: none`",
            ));
        }
        if expose == Expose::Gateway && self.gateway.is_none() {
            found.push((
                "gateway",
                "there is no `gateway` that routes could be attached to".to_owned(),
                "add `gateway: {name: …, namespace: …}`",
            ));
        }
        if let Some(domain) = self.domain.as_ref().filter(|domain| !is_domain(domain)) {
            found.push((
                "domain",
                format!("{domain:?} is no domain"),
                "write lower-case letters, digits, dashes and dots, such as `apps.example.org`",
            ));
        }
        if self.is_non_root() && self.run_as_user == Some(0) {
            found.push((
                "runAsUser",
                "user 0 is root, and nothing here may run as root".to_owned(),
                "write another number, or `runAsNonRoot: false`",
            ));
        }
        found
    }
}

/// What does not go together in settings that have the right form.
pub(crate) fn contradictions(values: &Map<String, Json>) -> Vec<(&'static str, String, &'static str)> {
    serde_json::from_value(Json::Object(values.clone()))
        .map(|values: Values| values.contradictions())
        .unwrap_or_default()
}

fn is_domain(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.len() <= 63
            && label.starts_with(is_inside)
            && label.ends_with(is_inside)
            && label.chars().all(|c| is_inside(c) || c == '-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
