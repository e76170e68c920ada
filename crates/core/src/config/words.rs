//! Forms of names, and words for messages about them.

use orchestra_score::{
    Pointer,
    grammar::{self, Shape, TextRule},
    nearest,
};

use super::fault::Faults;

/// The longest DNS label.
const MAX: usize = 63;

/// Whether a text is a DNS-1123 label.
pub(super) fn is_dns_label(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=MAX).contains(&text.len())
        && text.bytes().all(|b| plain(b) || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Refuses what is no DNS label. What could not be read is empty here, and already among the faults.
pub(super) fn check_dns_label(text: &str, at: Pointer, faults: &mut Faults) {
    if !text.is_empty() && !is_dns_label(text) {
        faults.add(
            at,
            format!("{text:?} is no name"),
            "write 1 to 63 lower-case letters, digits and dashes, with a letter or digit at both ends",
        );
    }
}

/// Refuses what no resource of a Score document can have in this field.
pub(super) fn check_as_in_score(field: &'static str, text: &str, at: Pointer, faults: &mut Faults) {
    if let Some(rule) = rule_of_score(field).filter(|rule| !text.is_empty() && !rule.accepts(text)) {
        let hint = match rule.suggestion(text) {
            Some(suggestion) => format!("write {suggestion:?}"),
            None => format!("write {}", rule.form),
        };
        faults.add(at, format!("{text:?} is no {}", rule.noun), hint);
    }
}

/// The form of a field of resources, as the language itself has it.
fn rule_of_score(field: &str) -> Option<&'static TextRule> {
    let resources = grammar::WORKLOAD.fields.iter().find(|field| field.name == "resources")?;
    let Shape::Map(resources) = resources.shape else { return None };
    let Shape::Object(resource) = resources.values else { return None };
    match resource.fields.iter().find(|known| known.name == field)?.shape {
        Shape::Text(rule) => Some(rule),
        _ => None,
    }
}

/// The question whether a name near this one was meant, if there is one.
pub(crate) fn did_you_mean<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(name, names).map(|near| format!("did you mean `{near}`?"))
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
    fn the_forms_of_resources_are_those_of_score() {
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
