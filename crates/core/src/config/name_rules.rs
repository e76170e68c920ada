//! Rules for names, and lists of names in messages.

use orchestra_score::{
    Pointer,
    grammar::{self, Shape, TextRule},
    suggest,
};

use super::fault::Faults;

/// Maximum length of a DNS label.
const MAX_DNS_LABEL: usize = 63;

/// True if a text is a DNS-1123 label.
pub(super) fn is_dns_label(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=MAX_DNS_LABEL).contains(&text.len())
        && text.bytes().all(|b| plain(b) || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Rejects anything but a DNS label. An empty text could not be read, and already has a fault.
pub(super) fn check_dns_label(text: &str, at: Pointer, faults: &mut Faults) {
    if !text.is_empty() && !is_dns_label(text) {
        faults.add(
            at,
            format!("{text:?} is not a valid name (DNS label)"),
            "write 1 to 63 lower-case letters, digits and dashes, with a letter or digit at both ends",
        );
    }
}

/// Rejects values that the Score language does not allow in this field of a resource.
pub(super) fn check_as_in_score(field: &'static str, text: &str, at: Pointer, faults: &mut Faults) {
    if let Some(rule) = rule_of_score(field).filter(|rule| !text.is_empty() && !rule.accepts(text)) {
        let hint = match rule.suggestion(text) {
            Some(suggestion) => format!("write {suggestion:?}"),
            None => format!("write {}", rule.form),
        };
        faults.add(at, format!("{text:?} is not a valid {}", rule.noun), hint);
    }
}

/// Rule of the Score grammar for a field of resources.
fn rule_of_score(field: &str) -> Option<&'static TextRule> {
    let resources = grammar::WORKLOAD.fields.iter().find(|field| field.name == "resources")?;
    let Shape::Map(resources) = resources.shape else { return None };
    let Shape::Object(resource) = resources.values else { return None };
    match resource.fields.iter().find(|known| known.name == field)?.shape {
        Shape::Text(rule) => Some(rule),
        _ => None,
    }
}

/// Suggestion of a similar name, if there is one.
pub(crate) fn did_you_mean<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    suggest(name, names).map(|similar| format!("did you mean `{similar}`?"))
}

/// Names in quotes: `a`, `b` and `c`.
pub(crate) fn all(names: &[&str]) -> String {
    joined(names, "and")
}

/// Names in quotes: `a`, `b` or `c`.
pub(crate) fn alternatives(names: &[&str]) -> String {
    joined(names, "or")
}

fn joined(names: &[&str], word: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} {word} {last}", init.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_for_resources_are_those_of_score() {
        for (field, right, wrong) in [
            ("type", "kafka-topic", "kafka_topic"),
            ("class", "Small", "-small"),
            ("id", "shared.feature-flags", "Shared"),
        ] {
            let rule = rule_of_score(field).unwrap();
            assert!(rule.accepts(right), "{field}: {right}");
            assert!(!rule.accepts(wrong), "{field}: {wrong}");
        }
    }
}
