//! Files under `deploy/dist` with placeholders such as `@VERSION@`.

use std::{collections::BTreeSet, fs};

use crate::root;

/// Template under `deploy/dist`, filled in.
pub(super) fn filled(name: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let path = format!("deploy/dist/{name}");
    let text =
        fs::read_to_string(root().join(&path)).map_err(|error| format!("failed to read {path}: {error}"))?;
    fill(&text, values).map_err(|problem| format!("{path}: {problem}"))
}

/// Puts each value in its places. A placeholder without a value and a value without a place are errors.
fn fill(template: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let wanted = placeholders(template);
    let given: BTreeSet<&str> = values.iter().map(|(name, _)| *name).collect();
    if let Some(name) = wanted.difference(&given).next() {
        return Err(format!("no value for the placeholder @{name}@"));
    }
    if let Some(name) = given.difference(&wanted).next() {
        return Err(format!("no placeholder @{name}@"));
    }
    Ok(values
        .iter()
        .fold(template.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value)))
}

fn placeholders(text: &str) -> BTreeSet<&str> {
    let is_name =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    text.split('@').skip(1).filter(is_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        let values = [("NAME", "orchestra"), ("VERSION", "1.2.3")];
        assert_eq!(
            fill("@NAME@-@VERSION@ \"$@\" @NAME@", &values).unwrap(),
            "orchestra-1.2.3 \"$@\" orchestra"
        );
    }

    #[test]
    fn a_placeholder_without_a_value_and_a_value_without_a_placeholder_are_errors() {
        assert_eq!(fill("@NAME@", &[]).unwrap_err(), "no value for the placeholder @NAME@");
        assert_eq!(fill("", &[("NAME", "")]).unwrap_err(), "no placeholder @NAME@");
    }
}
