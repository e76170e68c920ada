//! Which labels a selector means. It is read as Kubernetes reads it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// The longest name and the longest value of a label.
const MAX: usize = 63;
/// The longest domain before the name of a label.
const MAX_DOMAIN: usize = 253;

/// Whether a selector selects these labels; one that is absent selects all. Whether it is well-formed never depends on
/// the labels.
pub(crate) fn matches(
    selector: Option<&LabelSelector>,
    labels: &BTreeMap<String, String>,
) -> Result<bool, String> {
    let Some(selector) = selector else { return Ok(true) };
    let mut all = true;
    for (key, value) in selector.match_labels.iter().flatten() {
        check(key, std::slice::from_ref(value))?;
        all &= labels.get(key) == Some(value);
    }
    for requirement in selector.match_expressions.iter().flatten() {
        all &= meets(requirement, labels)?;
    }
    Ok(all)
}

fn meets(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> Result<bool, String> {
    let LabelSelectorRequirement { key, operator, values } = requirement;
    let values = values.as_deref().unwrap_or_default();
    check(key, values)?;
    let label = labels.get(key);
    let (wants_values, meets) = match operator.as_str() {
        "In" => (true, label.is_some_and(|label| values.contains(label))),
        "NotIn" => (true, label.is_none_or(|label| !values.contains(label))),
        "Exists" => (false, label.is_some()),
        "DoesNotExist" => (false, label.is_none()),
        other => {
            return Err(format!(
                "`{other}` is no operator of selectors: write `In`, `NotIn`, `Exists` or `DoesNotExist`."
            ));
        }
    };
    match (wants_values, values.is_empty()) {
        (true, true) => Err(format!("`{operator}` of `{key}` has no values: list at least one.")),
        (false, false) => Err(format!("`{operator}` of `{key}` takes no values: leave them out.")),
        _ => Ok(meets),
    }
}

fn check(key: &str, values: &[String]) -> Result<(), String> {
    if !is_key(key) {
        return Err(format!(
            "`{key}` cannot be the key of a label: write a name such as `team` or `example.org/team`."
        ));
    }
    match values.iter().find(|value| !value.is_empty() && !is_name(value)) {
        Some(value) => Err(format!(
            "`{value}` cannot be the value of a label: use at most 63 letters, digits, dashes, dots and underscores."
        )),
        None => Ok(()),
    }
}

/// Whether a text can be the key of a label or an annotation.
pub(super) fn is_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((domain, name)) => {
            domain.len() <= MAX_DOMAIN && domain.split('.').all(is_domain_part) && is_name(name)
        }
        None => is_name(text),
    }
}

fn is_domain_part(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let ends = [text.bytes().next(), text.bytes().last()];
    ends.into_iter().all(|end| end.is_some_and(plain)) && text.bytes().all(|b| plain(b) || b == b'-')
}

fn is_name(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().last()];
    text.len() <= MAX
        && ends.into_iter().all(|end| end.is_some_and(|b| b.is_ascii_alphanumeric()))
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn select(selector: serde_json::Value, labels: serde_json::Value) -> Result<bool, String> {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        matches(Some(&selector), &serde_json::from_value(labels).unwrap())
    }

    #[test]
    fn selectors_mean_what_they_mean_in_kubernetes() {
        for (selector, labels, want) in [
            (json!({}), json!({}), true),
            (json!({"matchLabels": {"a": "1"}}), json!({"a": "1", "b": "2"}), true),
            (json!({"matchLabels": {"a": "1", "b": "1"}}), json!({"a": "1"}), false),
            (json!({"matchLabels": {"a": ""}}), json!({}), false),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}),
                json!({"a": "2"}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}),
                json!({}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}),
                json!({}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}),
                json!({"a": "1"}),
                false,
            ),
            (json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}), json!({"a": ""}), true),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}),
                json!({"a": ""}),
                false,
            ),
            (
                json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}),
                json!({"a": "1"}),
                false,
            ),
        ] {
            assert_eq!(select(selector.clone(), labels.clone()), Ok(want), "{selector} {labels}");
        }
        assert_eq!(matches(None, &BTreeMap::new()), Ok(true));
    }

    #[test]
    fn a_malformed_selector_is_an_error_whatever_the_labels_are() {
        for selector in [
            json!({"matchExpressions": [{"key": "a", "operator": "in", "values": ["1"]}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]}),
            json!({"matchLabels": {"a b": "1"}}),
            json!({"matchLabels": {"Example.org/a": "1"}}),
            json!({"matchLabels": {"a": "x y"}}),
            json!({"matchLabels": {"a": "x".repeat(64)}}),
            json!({"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": ""}]}),
        ] {
            for labels in [json!({}), json!({"a": "1"})] {
                assert!(select(selector.clone(), labels).is_err(), "{selector}");
            }
        }
    }
}
