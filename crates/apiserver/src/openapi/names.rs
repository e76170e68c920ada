//! Names of operations and component schemas.

use crate::kinds::Kind;

/// Reference to a component schema of a document.
pub(super) fn reference(component: &str) -> String {
    format!("#/components/schemas/{component}")
}

/// The component name of a kind: the group backwards, then version and kind (`dev.score.v1b1.Workload`).
pub(super) fn component(group: &str, version: &str, kind: &str) -> String {
    let parts: Vec<&str> = group.rsplit('.').collect();
    format!("{}.{version}.{kind}", parts.join("."))
}

/// Name of an operation: verb, group, version, subject (`listScoreDevV1b1NamespacedWorkload`).
pub(super) fn operation(verb: &str, group: &str, version: &str, subject: &str) -> String {
    format!(
        "{verb}{}{}{}",
        camel_case(short(group), true),
        camel_case(version, true),
        camel_case(subject, true)
    )
}

/// The tag that groups the operations of a group and version (`scoreDev_v1b1`).
pub(super) fn tag(group: &str, version: &str) -> String {
    format!("{}_{}", camel_case(short(group), false), camel_case(version, false))
}

/// Kind with its article: `a Workload`, `an Event`; none for a plural.
pub(super) fn with_article(kind: &Kind) -> String {
    let name = &kind.kind;
    if name.ends_with('s') && !name.ends_with("ss") {
        return name.clone();
    }
    let vowel = name.starts_with(|first: char| "aeiou".contains(first.to_ascii_lowercase()));
    format!("{} {name}", if vowel { "an" } else { "a" })
}

/// Group without the suffix `.k8s.io`.
fn short(group: &str) -> &str {
    match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    }
}

/// Letters, digits and underscores, with a capital after each dropped character.
fn camel_case(text: &str, capital_first: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut capital = capital_first;
    for (position, letter) in text.chars().enumerate() {
        if !(letter.is_alphabetic() || letter == '_' || (position > 0 && letter.is_ascii_digit())) {
            capital = true;
        } else if capital {
            out.extend(letter.to_uppercase());
            capital = false;
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_after_verb_group_version_and_subject() {
        for (verb, group, subject, name) in [
            ("list", "score.dev", "NamespacedWorkload", "listScoreDevV1NamespacedWorkload"),
            ("read", "", "NamespacedConfigMap", "readCoreV1NamespacedConfigMap"),
            ("patch", "events.k8s.io", "NamespacedEvent", "patchEventsV1NamespacedEvent"),
            ("delete", "3scale.my-group.io", "collectionFoo-bar", "deleteScaleMyGroupIoV1CollectionFooBar"),
        ] {
            assert_eq!(operation(verb, group, "v1", subject), name);
        }
        assert_eq!(tag("my-group.test.dev", "v1b1"), "myGroupTestDev_v1b1");
        assert_eq!(component("score.dev", "v1b1", "Workload"), "dev.score.v1b1.Workload");
    }

    #[test]
    fn plurals_have_no_article_and_vowels_get_an() {
        for (name, text) in
            [("Thing", "a Thing"), ("Event", "an Event"), ("Redis", "Redis"), ("Class", "a Class")]
        {
            let kind = Kind { kind: name.to_owned(), ..Kind::default() };
            assert_eq!(with_article(&kind), text);
        }
    }
}
