//! Label selectors with the semantics of Kubernetes.
//!
//! Parsing reports all faults; a [`Selector`] is always valid. An absent or empty one matches everything, and `NotIn` matches
//! a missing label.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use orchestra_score::Pointer;

/// Maximum length of a name or value of a label.
const MAX_LABEL: usize = 63;
/// Maximum length of the domain of a label.
const MAX_DOMAIN: usize = 253;
/// Operators, for messages.
const OPERATORS: &str = "In, NotIn, Exists or DoesNotExist";

/// Valid selector. All of its requirements must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    parts: Vec<Part>,
}

/// Requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
}

/// Fault of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorFault {
    /// Pointer within the selector.
    pub pointer: Pointer,
    /// Message.
    pub message: String,
    /// Remedy.
    pub hint: String,
}

impl Selector {
    /// Parses a selector, and reports all faults at once.
    pub fn read(selector: Option<&LabelSelector>) -> Result<Self, Vec<SelectorFault>> {
        let mut parts = Vec::new();
        let mut faults = Vec::new();
        let labels = Pointer::root().key("matchLabels");
        for (key, value) in selector.and_then(|selector| selector.match_labels.as_ref()).into_iter().flatten()
        {
            let at = labels.key(key);
            check_key(key, &at, &mut faults);
            check_value(value, &at, &mut faults);
            parts.push(Part { key: key.clone(), test: Test::In(BTreeSet::from([value.clone()])) });
        }
        let expressions = Pointer::root().key("matchExpressions");
        let written = selector.and_then(|selector| selector.match_expressions.as_ref());
        for (index, expression) in written.into_iter().flatten().enumerate() {
            let at = expressions.index(index);
            check_key(&expression.key, &at.key("key"), &mut faults);
            let test = read_test(expression, &at, &mut faults);
            parts.extend(test.map(|test| Part { key: expression.key.clone(), test }));
        }
        if faults.is_empty() { Ok(Self { parts }) } else { Err(faults) }
    }

    /// True if the labels match.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.parts.iter().all(|part| {
            let value = labels.get(&part.key);
            match &part.test {
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
            }
        })
    }

    /// True if it has no requirements, so it matches everything.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

fn read_test(
    expression: &LabelSelectorRequirement,
    at: &Pointer,
    faults: &mut Vec<SelectorFault>,
) -> Option<Test> {
    let operator = expression.operator.as_str();
    let values = expression.values.as_deref().unwrap_or_default();
    for (index, value) in values.iter().enumerate() {
        check_value(value, &at.key("values").index(index), faults);
    }
    let mut refuse = |key: &str, message: String, hint: String| {
        faults.push(SelectorFault { pointer: at.key(key), message, hint });
        None
    };
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            refuse("values", format!("`{operator}` needs values"), "list at least one value".to_owned())
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => refuse(
            "values",
            format!("`{operator}` takes no values"),
            "remove the values, or use In or NotIn".to_owned(),
        ),
        "In" => Some(Test::In(values.iter().cloned().collect())),
        "NotIn" => Some(Test::NotIn(values.iter().cloned().collect())),
        "Exists" => Some(Test::Exists),
        "DoesNotExist" => Some(Test::DoesNotExist),
        _ => refuse(
            "operator",
            format!("{operator:?} is not an operator of selectors"),
            format!("write {OPERATORS}"),
        ),
    }
}

/// True if a text is a valid key of a label or an annotation.
pub(crate) fn is_key(key: &str) -> bool {
    let (domain, name) = key.split_once('/').map_or((None, key), |(domain, name)| (Some(domain), name));
    let is_domain = |domain: &str| {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        domain.len() <= MAX_DOMAIN
            && domain.split('.').all(|part| is_bounded(part) && part.bytes().all(plain))
    };
    is_label_text(name) && domain.is_none_or(is_domain)
}

fn check_key(key: &str, at: &Pointer, faults: &mut Vec<SelectorFault>) {
    if !is_key(key) {
        faults.push(SelectorFault {
            pointer: at.clone(),
            message: format!("{key:?} is not a valid label key"),
            hint: "write up to 63 letters, digits, dashes, underscores and dots, optionally after a domain and a slash (`example.org/tier`)".to_owned(),
        });
    }
}

fn check_value(value: &str, at: &Pointer, faults: &mut Vec<SelectorFault>) {
    if !value.is_empty() && !is_label_text(value) {
        faults.push(SelectorFault {
            pointer: at.clone(),
            message: format!("{value:?} is not a valid label value, so nothing can match it"),
            hint: "write up to 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
                .to_owned(),
        });
    }
}

fn is_label_text(text: &str) -> bool {
    text.len() <= MAX_LABEL
        && is_bounded(text)
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// True if both ends are a letter or digit.
fn is_bounded(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn read(selector: &Json) -> Result<Selector, Vec<SelectorFault>> {
        Selector::read(Some(&serde_json::from_value(selector.clone()).unwrap()))
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn absent_and_empty_selectors_match_everything() {
        for selector in [Selector::read(None).unwrap(), read(&json!({})).unwrap()] {
            assert!(selector.is_empty());
            assert!(selector.matches(&labels(&[])));
            assert!(selector.matches(&labels(&[("tier", "gold")])));
        }
    }

    #[test]
    fn operators_have_the_semantics_of_kubernetes() {
        let one = |operator: &str, values: &[&str]| {
            read(&json!({"matchExpressions": [{"key": "tier", "operator": operator, "values": values}]}))
                .unwrap()
        };
        // The label as gold, as iron, and absent.
        for (selector, gold, iron, absent) in [
            (read(&json!({"matchLabels": {"tier": "gold"}})).unwrap(), true, false, false),
            (one("In", &["gold", "silver"]), true, false, false),
            (one("NotIn", &["gold", "silver"]), false, true, true),
            (one("Exists", &[]), true, true, false),
            (one("DoesNotExist", &[]), false, false, true),
        ] {
            assert_eq!(selector.matches(&labels(&[("tier", "gold")])), gold, "{selector:?}");
            assert_eq!(selector.matches(&labels(&[("tier", "iron")])), iron, "{selector:?}");
            assert_eq!(selector.matches(&labels(&[("team", "gold")])), absent, "{selector:?}");
        }
    }

    #[test]
    fn all_requirements_must_match() {
        let selector = read(&json!({
            "matchLabels": {"team": "shop"},
            "matchExpressions": [{"key": "tier", "operator": "Exists"}],
        }))
        .unwrap();
        assert!(selector.matches(&labels(&[("team", "shop"), ("tier", "gold")])));
        assert!(!selector.matches(&labels(&[("team", "shop")])));
        assert!(!selector.matches(&labels(&[("tier", "gold")])));
    }

    #[test]
    fn all_faults_are_reported_at_once_with_their_pointers() {
        let faults = read(&json!({
            "matchLabels": {"-tier": "gold", "team": "a b"},
            "matchExpressions": [
                {"key": "a", "operator": "in", "values": ["x"]},
                {"key": "b", "operator": "In"},
                {"key": "c", "operator": "Exists", "values": ["x"]},
                {"key": "Example.org/d", "operator": "Exists"},
            ],
        }))
        .unwrap_err();
        let places: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(
            places,
            [
                "/matchLabels/-tier",
                "/matchLabels/team",
                "/matchExpressions/0/operator",
                "/matchExpressions/1/values",
                "/matchExpressions/2/values",
                "/matchExpressions/3/key",
            ]
        );
        assert_eq!(faults[2].hint, "write In, NotIn, Exists or DoesNotExist");
    }
}
