//! Warnings about a definition that is accepted.

use std::collections::HashSet;

use serde_json::Value;

use super::decode;
use super::validation::Shared;
use crate::schema::{Schema, formats};

/// Warnings about new formats that are not checked: `unrecognized format "uint16"`.
pub(crate) fn warnings(crd: &Value, old: Option<&Value>) -> Vec<String> {
    let formats_of = |crd: &Value| {
        let mut found = Vec::new();
        let crd = decode::decode(crd).unwrap_or_default();
        let shared = Shared::new(&crd);
        let versions = if shared.schema { crd.versions.get(..1).unwrap_or_default() } else { &crd.versions };
        for source in versions.iter().filter_map(|version| version.schema.as_ref()) {
            unrecognised_formats(&source.schema, &mut found);
        }
        found
    };
    let before: HashSet<String> = old.map(formats_of).into_iter().flatten().collect();
    let mut new = formats_of(crd);
    let mut listed = HashSet::new();
    new.retain(|format| !before.contains(format) && listed.insert(format.clone()));
    new.iter().map(|format| format!("unrecognized format {format:?}")).collect()
}

fn unrecognised_formats(schema: &Schema, found: &mut Vec<String>) {
    if !schema.format.is_empty() && !formats::is_recognised(&[&schema.kind], &schema.format) {
        found.push(schema.format.clone());
    }
    let nested =
        schema.all_of.iter().chain(&schema.any_of).chain(&schema.one_of).chain(schema.not.as_deref());
    let below =
        schema.items.as_deref().into_iter().chain(nested).chain(schema.declared()).chain(schema.values());
    below.for_each(|one| unrecognised_formats(one, found));
}
