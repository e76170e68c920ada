//! What must not be exceeded: of several policies, the smallest counts.

use std::fmt::Display;

use orchestra_score::{Pointer, quantity::Quantity};

use super::{
    Effective, Overridden, Setting, Source, Subject, Violation,
    amount::{Amount, Measure},
    compute,
    reading::InForce,
    wording::{ASK, code},
};

/// The smallest limit of its sort.
pub(super) struct Ceiling<'p> {
    policy: &'p str,
    most: Most,
    overridden: Vec<Overridden>,
}

enum Most {
    Containers(u32),
    Claims(u32),
    Amount(Measure, Amount),
}

/// The smallest limit of each sort; of equal ones, that of the first policy in order.
pub(super) fn smallest<'p>(policies: &[&'p InForce<'_>]) -> Vec<Ceiling<'p>> {
    let counts = [
        least(policies, |policy| policy.spec.limits.containers, Most::Containers),
        least(policies, |policy| policy.spec.limits.claims, Most::Claims),
    ];
    let amounts = Measure::ALL.map(|measure| {
        least(policies, |policy| policy.most.get(measure).cloned(), |most| Most::Amount(measure, most))
    });
    counts.into_iter().chain(amounts).flatten().collect()
}

fn least<'p, T: Ord + Clone + Display>(
    policies: &[&'p InForce<'_>],
    said: impl Fn(&InForce<'_>) -> Option<T>,
    most: impl Fn(T) -> Most,
) -> Option<Ceiling<'p>> {
    let said: Vec<_> = policies.iter().filter_map(|policy| Some((policy.name, said(policy)?))).collect();
    let (name, least) = said.iter().min_by_key(|(_, value)| value)?;
    let overridden = said.iter().filter(|(_, value)| value != least);
    let overridden = overridden
        .map(|(policy, value)| Overridden { policy: (*policy).to_owned(), value: value.to_string() })
        .collect();
    Some(Ceiling { policy: name, most: most(least.clone()), overridden })
}

impl Ceiling<'_> {
    /// Who set it, for the explanation.
    pub(super) fn setting(&self) -> Setting {
        let (field, value) = match &self.most {
            Most::Containers(most) => ("limits.containers".to_owned(), most.to_string()),
            Most::Claims(most) => ("limits.claims".to_owned(), most.to_string()),
            Most::Amount(measure, most) => (format!("limits.{}", measure.name()), most.to_string()),
        };
        let source = Source::Policy(self.policy.to_owned());
        Setting { field, value, source, overridden: self.overridden.clone(), note: None }
    }

    /// Where a Workload exceeds it.
    pub(super) fn violations(&self, subject: &Subject<'_>, effective: &Effective) -> Vec<Violation> {
        let document = subject.document;
        match &self.most {
            Most::Containers(most) => {
                self.number("containers", *most, document.containers.len()).into_iter().collect()
            }
            Most::Claims(most) => {
                let count = document.resources.as_ref().map_or(0, std::collections::BTreeMap::len);
                self.number("resources", *most, count).into_iter().collect()
            }
            Most::Amount(measure, most) => self.amounts(*measure, most, effective),
        }
    }

    fn number(&self, field: &str, most: u32, count: usize) -> Option<Violation> {
        let fits = u32::try_from(count).is_ok_and(|count| count <= most);
        (!fits).then(|| {
            let pointer = Pointer::of([field]);
            let noun = if most == 1 { field.trim_end_matches('s') } else { field };
            let what =
                format!("allows at most {most} {noun}; `{}` has {count}: use fewer", pointer.readable());
            self.violation(&pointer, &what)
        })
    }

    fn amounts(&self, measure: Measure, most: &Amount, effective: &Effective) -> Vec<Violation> {
        let name = measure.name();
        let mut violations = Vec::new();
        let mut counted = Vec::new();
        let mut sum = Ok(Quantity::ZERO);
        for (container, compute) in &effective.compute {
            let parts = [("requests", &compute.requests), ("limits", &compute.limits)];
            let amounts = parts.into_iter().filter_map(|(part, amounts)| {
                // `0` stands for "no limit" on some runtimes: it is no amount.
                let amount = measure.read(measure.written(amounts)?).ok()?;
                (amount > Quantity::ZERO).then_some((part, amount))
            });
            let amount = amounts.max_by_key(|(_, amount)| *amount);
            let Some((part, amount)) = amount else {
                let pointer = compute::pointer(container, "limits", measure);
                let what = format!(
                    "limits the {name} of all containers together to {most}, and `{field}` says nothing: write there how much it may use",
                    most = code(&most.text),
                    field = pointer.readable()
                );
                violations.push(self.violation(&pointer, &what));
                continue;
            };
            counted.push(compute::pointer(container, part, measure));
            sum = sum.and_then(|sum| sum.plus(amount));
        }
        if !sum.is_ok_and(|sum| sum <= most.quantity) {
            let pointer = match counted.as_slice() {
                [only] => only.clone(),
                _ => Pointer::of(["containers"]),
            };
            let sum =
                sum.map_or_else(|_| "more than any machine has".to_owned(), |sum| code(&measure.shown(sum)));
            let what = format!(
                "limits the {name} of all containers together to {}; `{}` comes to {sum}: lower it",
                code(&most.text),
                pointer.readable()
            );
            violations.push(self.violation(&pointer, &what));
        }
        violations
    }

    fn violation(&self, pointer: &Pointer, what: &str) -> Violation {
        Violation {
            policy: self.policy.to_owned(),
            pointer: pointer.as_str().to_owned(),
            message: format!("Policy {} {what} {ASK}.", code(self.policy)),
        }
    }
}
