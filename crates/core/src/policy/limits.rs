//! Limits: of several policies, the smallest counts.

use std::fmt::Display;

use orchestra_score::{Pointer, quantity::Quantity};

use super::{
    Effective, Overridden, Setting, Source, Subject, Violation,
    amount::{Amount, Measure},
    compute,
    reading::InForce,
    wording::{REMEDY, code},
};

/// Smallest limit of a kind.
pub(super) struct SmallestLimit<'p> {
    policy: &'p str,
    max: Max,
    overridden: Vec<Overridden>,
}

enum Max {
    Containers(u32),
    Claims(u32),
    Amount(Measure, Amount),
}

/// Smallest limit of each kind; of equal ones, that of the first policy.
pub(super) fn smallest<'p>(policies: &[&'p InForce<'_>]) -> Vec<SmallestLimit<'p>> {
    let counts = [
        least(policies, |policy| policy.spec.limits.containers, Max::Containers),
        least(policies, |policy| policy.spec.limits.claims, Max::Claims),
    ];
    let amounts = Measure::ALL.map(|measure| {
        least(policies, |policy| policy.max.get(measure).cloned(), |most| Max::Amount(measure, most))
    });
    counts.into_iter().chain(amounts).flatten().collect()
}

fn least<'p, T: Ord + Clone + Display>(
    policies: &[&'p InForce<'_>],
    read: impl Fn(&InForce<'_>) -> Option<T>,
    max: impl Fn(T) -> Max,
) -> Option<SmallestLimit<'p>> {
    let limits: Vec<_> = policies.iter().filter_map(|policy| Some((policy.name, read(policy)?))).collect();
    let (name, least) = limits.iter().min_by_key(|(_, value)| value)?;
    let overridden = limits.iter().filter(|(_, value)| value != least);
    let overridden = overridden
        .map(|(policy, value)| Overridden { policy: (*policy).to_owned(), value: value.to_string() })
        .collect();
    Some(SmallestLimit { policy: name, max: max(least.clone()), overridden })
}

impl SmallestLimit<'_> {
    /// Setting for the explanation.
    pub(super) fn setting(&self) -> Setting {
        let (field, value) = match &self.max {
            Max::Containers(most) => ("limits.containers".to_owned(), most.to_string()),
            Max::Claims(most) => ("limits.claims".to_owned(), most.to_string()),
            Max::Amount(measure, most) => (format!("limits.{}", measure.name()), most.to_string()),
        };
        let source = Source::Policy(self.policy.to_owned());
        Setting { field, value, source, overridden: self.overridden.clone(), note: None }
    }

    /// Violations by a Workload.
    pub(super) fn violations(&self, subject: &Subject<'_>, effective: &Effective) -> Vec<Violation> {
        let document = subject.document;
        match &self.max {
            Max::Containers(most) => {
                self.number("containers", *most, document.containers.len()).into_iter().collect()
            }
            Max::Claims(most) => {
                let count = document.resources.as_ref().map_or(0, std::collections::BTreeMap::len);
                self.number("resources", *most, count).into_iter().collect()
            }
            Max::Amount(measure, most) => self.amounts(*measure, most, effective),
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
                // `0` means "no limit" in some runtimes, so it does not count.
                let amount = measure.read(measure.text(amounts)?).ok()?;
                (amount > Quantity::ZERO).then_some((part, amount))
            });
            let amount = amounts.max_by_key(|(_, amount)| *amount);
            let Some((part, amount)) = amount else {
                let pointer = compute::pointer(container, "limits", measure);
                let what = format!(
                    "limits the {name} of all containers together to {most}, but `{field}` is not set: set the maximum",
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
                sum.map_or_else(|_| "more than any machine has".to_owned(), |sum| code(&measure.format(sum)));
            let what = format!(
                "limits the {name} of all containers together to {}; the sum of `{}` is {sum}: lower it",
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
            message: format!("Policy {} {what} {REMEDY}.", code(self.policy)),
        }
    }
}
