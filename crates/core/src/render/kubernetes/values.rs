//! Settings of a backend of the runtime `kubernetes`.
//!
//! The orchestrator config is checked when it is read; here the settings are parsed again from the plan, which may be older
//! than the program.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use orchestra_api::plan::{Amounts, WorkloadPlanSpec};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::runtimes::Contradiction;

/// Settings of a backend. `docs/kubernetes.md` explains each.
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
    /// Applied when the plan was made.
    pub(crate) allow_volume_sources: bool,
}

/// Default resources of containers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Resources {
    pub(crate) requests: Amounts,
    pub(crate) limits: Amounts,
}

/// Way to expose ports outside of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Expose {
    Ingress,
    Gateway,
    LoadBalancer,
    NodePort,
    None,
}

/// Gateway of routes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gateway {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: Option<String>,
}

/// Restrictions of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PodSecurity {
    /// As `Hardened`, and never as root: it passes the strictest pod security level.
    Restricted,
    /// No capabilities, no privilege escalation, the default seccomp profile; the user of the image.
    #[default]
    Hardened,
    /// The default seccomp profile.
    Baseline,
    /// Nothing.
    None,
}

/// Label with the enforced pod security level of a namespace.
const ENFORCED_LEVEL: &str = "pod-security.kubernetes.io/enforce";

/// Adapts the restrictions of pods to the level of the namespace, unless the backend sets them: pods would be denied.
pub(crate) fn adapt_to_namespace(values: &mut Map<String, Json>, labels: &BTreeMap<String, String>) {
    let is_strict = labels.get(ENFORCED_LEVEL).is_some_and(|level| level == "restricted");
    let is_open = ["podSecurity", "runAsNonRoot"].iter().all(|key| !values.contains_key(*key))
        && values.get("runAsUser") != Some(&Json::from(0));
    if is_strict && is_open {
        values.insert("podSecurity".to_owned(), Json::from("restricted"));
    }
}

impl Values {
    /// Settings of a plan, or an error.
    pub(crate) fn read(plan: &WorkloadPlanSpec) -> Result<Self, String> {
        let refused = |why: &dyn Display| {
            format!(
                "The values of the backend `{}` are invalid ({why}); correct its `values` in the orchestrator config.",
                plan.backend_id
            )
        };
        let values: Self =
            serde_json::from_value(Json::Object(plan.values.clone())).map_err(|error| refused(&error))?;
        match values.contradictions().into_iter().next() {
            Some(Contradiction { message, .. }) => Err(refused(&message)),
            None => Ok(values),
        }
    }

    /// Settings of a plan that is supported.
    pub(crate) fn of(plan: &WorkloadPlanSpec) -> Self {
        Self::read(plan).unwrap_or_default()
    }

    /// Way to expose ports outside of the cluster.
    pub(crate) fn expose(&self) -> Expose {
        self.expose.unwrap_or(match (&self.gateway, &self.domain) {
            (Some(_), Some(_)) => Expose::Gateway,
            (None, Some(_)) => Expose::Ingress,
            (_, None) => Expose::None,
        })
    }

    /// True if addresses under the domain use TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls || self.tls_secret.is_some()
    }

    /// True if no container may run as root.
    pub(crate) fn is_non_root(&self) -> bool {
        self.run_as_non_root.unwrap_or(self.pod_security == PodSecurity::Restricted)
    }

    /// Contradictions of settings.
    fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        let expose = self.expose();
        if matches!(expose, Expose::Ingress | Expose::Gateway) && self.domain.is_none() {
            found.push(Contradiction {
                key: "domain",
                message: "exposing ports needs a `domain`".to_owned(),
                hint: "add `domain: apps.example.org`, or write `expose: none`",
            });
        }
        if expose == Expose::Gateway && self.gateway.is_none() {
            found.push(Contradiction {
                key: "gateway",
                message: "`expose: gateway` needs a `gateway`".to_owned(),
                hint: "add `gateway: {name: …, namespace: …}`",
            });
        }
        if let Some(domain) = self.domain.as_ref().filter(|domain| !is_domain(domain)) {
            found.push(Contradiction {
                key: "domain",
                message: format!("{domain:?} is not a valid domain"),
                hint: "write lower-case letters, digits, dashes and dots, such as `apps.example.org`",
            });
        }
        if self.is_non_root() && self.run_as_user == Some(0) {
            found.push(Contradiction {
                key: "runAsUser",
                message: "user 0 is root, which `runAsNonRoot` forbids".to_owned(),
                hint: "write another number, or `runAsNonRoot: false`",
            });
        }
        found
    }
}

/// Contradictions of settings of the right shape.
pub(crate) fn contradictions(values: &Map<String, Json>) -> Vec<Contradiction> {
    serde_json::from_value(Json::Object(values.clone()))
        .map(|values: Values| values.contradictions())
        .unwrap_or_default()
}

fn is_domain(text: &str) -> bool {
    let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.len() <= 63
            && label.starts_with(is_alphanumeric)
            && label.ends_with(is_alphanumeric)
            && label.chars().all(|c| is_alphanumeric(c) || c == '-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
