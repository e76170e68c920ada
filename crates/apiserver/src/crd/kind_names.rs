//! Validation of the names of a kind.

use orchestra_cel::FieldError;

use super::definition::Names;
use crate::metadata::dns1035_label;

/// Checks the given names.
pub(super) fn check(names: &Names, path: &str, errors: &mut Vec<FieldError>) {
    for (field, name, mixed_case) in [
        ("plural", &names.plural, false),
        ("singular", &names.singular, false),
        ("kind", &names.kind, true),
        ("listKind", &names.list_kind, true),
    ] {
        let problems = if mixed_case { dns1035_label(&name.to_lowercase()) } else { dns1035_label(name) };
        if !name.is_empty() && !problems.is_empty() {
            let prefix = if mixed_case { "may have mixed case, but should otherwise match: " } else { "" };
            let detail = format!("{prefix}{}", problems.join(","));
            errors.push(FieldError::invalid_text(format!("{path}.{field}"), name, detail));
        }
    }
    check_labels(&names.short_names, &format!("{path}.shortNames"), errors);
    if !names.kind.is_empty() && names.kind == names.list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid_text(format!("{path}.listKind"), &names.list_kind, detail));
    }
    check_labels(&names.categories, &format!("{path}.categories"), errors);
}

fn check_labels(labels: &[String], path: &str, errors: &mut Vec<FieldError>) {
    for (index, label) in labels.iter().enumerate() {
        let problems = dns1035_label(label);
        if !problems.is_empty() {
            errors.push(FieldError::invalid_text(format!("{path}[{index}]"), label, problems.join(",")));
        }
    }
}
