//! Parser of policies. Parsed policies apply without further checks.

use std::{cmp::Reverse, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use orchestra_api::{
    PlatformPolicy, annotation,
    plan::Amounts,
    policy::{Defaults, PlatformPolicySpec},
};
use orchestra_score::quantity::Quantity;

use super::{
    Fault,
    amount::{Amount, Measure, Pair},
    image,
    wording::code,
};
use crate::selector::{Selector, is_key};

/// Valid policy.
#[derive(Debug)]
pub(super) struct InForce<'a> {
    pub(super) name: &'a str,
    pub(super) spec: &'a PlatformPolicySpec,
    /// Selected namespaces.
    namespaces: Selector,
    /// Selected Workloads.
    workloads: Selector,
    /// Default requests.
    pub(super) requests: Pair,
    /// Default limits.
    pub(super) limits: Pair,
    /// Limits of all containers together.
    pub(super) max: Pair,
}

impl InForce<'_> {
    pub(super) fn selects(
        &self,
        namespace: &BTreeMap<String, String>,
        workload: &BTreeMap<String, String>,
    ) -> bool {
        self.namespaces.matches(namespace) && self.workloads.matches(workload)
    }
}

pub(super) fn name(policy: &PlatformPolicy) -> &str {
    policy.metadata.name.as_deref().unwrap_or_default()
}

/// Valid policies in order of precedence, and the faults of the others.
pub(super) fn read(policies: &[PlatformPolicy]) -> (Vec<InForce<'_>>, Vec<Fault>) {
    let mut in_force = Vec::new();
    let mut faults = Vec::new();
    for policy in policies {
        let mut reader = Reader { policy: name(policy), faults: Vec::new() };
        let read = reader.read(&policy.spec);
        if reader.faults.is_empty() {
            in_force.push(read);
        }
        faults.extend(reader.faults);
    }
    in_force.sort_by_key(|policy| (Reverse(policy.spec.priority), policy.name));
    faults.sort();
    (in_force, faults)
}

struct Reader<'a> {
    policy: &'a str,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, spec: &'a PlatformPolicySpec) -> InForce<'a> {
        let namespaces = self.selector("namespaceSelector", spec.namespace_selector.as_ref());
        let workloads = self.selector("workloadSelector", spec.workload_selector.as_ref());
        self.defaults(&spec.defaults);
        self.lists(spec);
        let max = Amounts { cpu: spec.limits.cpu.clone(), memory: spec.limits.memory.clone() };
        InForce {
            name: self.policy,
            spec,
            namespaces,
            workloads,
            requests: self.pair("defaults.requests", &spec.defaults.requests),
            limits: self.pair("defaults.limits", &spec.defaults.limits),
            max: self.pair("limits", &max),
        }
    }

    fn selector(&mut self, field: &str, selector: Option<&LabelSelector>) -> Selector {
        Selector::read(selector).unwrap_or_else(|faults| {
            for fault in faults {
                let message =
                    format!("At `{}`: {}; {}.", fault.pointer.readable(), fault.message, fault.hint);
                self.fault(field, message);
            }
            // An invalid policy is ignored as a whole.
            Selector::default()
        })
    }

    fn defaults(&mut self, defaults: &Defaults) {
        if defaults.profile.as_deref() == Some("") {
            self.fault("defaults.profile", "The default profile is empty: name one, or leave the field out.");
        }
        for (type_, class) in &defaults.classes {
            if !is_class(class) {
                self.fault(
                    &format!("defaults.classes.{type_}"),
                    format!(
                        "{} cannot be a class: use 2 to 63 letters, digits and dashes, with a letter or digit at both ends.",
                        code(class)
                    ),
                );
            }
        }
        for key in defaults.annotations.keys() {
            let remedy = match key.as_str() {
                annotation::PROFILE => "has a field of its own: write `defaults.profile`",
                annotation::DEPROVISION => "has a field of its own: write `defaults.deprovision`",
                annotation::MOVE | annotation::ABANDON_DATA | annotation::SUSPEND => {
                    "is for one Workload at a time: leave it to its author"
                }
                key if is_key(key) => continue,
                _ => "cannot be the key of an annotation: write a name such as `team` or `example.org/team`",
            };
            self.fault(&format!("defaults.annotations.{key}"), format!("{} {remedy}.", code(key)));
        }
    }

    fn lists(&mut self, spec: &PlatformPolicySpec) {
        for (index, registry) in spec.allow.registries.iter().flatten().enumerate() {
            if let Some(why) = image::fault_of(registry) {
                self.fault(&format!("allow.registries[{index}]"), format!("{} {why}.", code(registry)));
            }
        }
        for (index, resource) in spec.allow.resources.iter().flatten().enumerate() {
            let id = resource.id.as_deref().unwrap_or_default();
            if id.strip_suffix('*').unwrap_or(id).contains('*') {
                self.fault(
                    &format!("allow.resources[{index}].id"),
                    format!(
                        "{} has a `*` before its end: it stands for any rest, so write it last.",
                        code(id)
                    ),
                );
            }
        }
    }

    fn pair(&mut self, field: &str, amounts: &Amounts) -> Pair {
        Pair {
            cpu: self.amount(field, amounts, Measure::Cpu),
            memory: self.amount(field, amounts, Measure::Memory),
        }
    }

    fn amount(&mut self, field: &str, amounts: &Amounts, measure: Measure) -> Option<Amount> {
        let text = measure.text(amounts)?;
        match measure.read(text) {
            Ok(quantity) if quantity > Quantity::ZERO => Some(Amount { text: text.to_owned(), quantity }),
            _ => {
                let (name, form) = (measure.name(), measure.form());
                self.fault(
                    &format!("{field}.{name}"),
                    format!("{} is not a positive amount of {name}: write {form}.", code(text)),
                );
                None
            }
        }
    }

    fn fault(&mut self, field: &str, message: impl Into<String>) {
        self.faults.push(Fault {
            policy: self.policy.to_owned(),
            field: field.to_owned(),
            message: message.into(),
        });
    }
}

/// True if the text is a valid class in Score.
fn is_class(text: &str) -> bool {
    (2..=63).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
