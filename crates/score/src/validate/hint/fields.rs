//! Hints for unknown fields: typos, misplaced fields, fields of other tools.

use std::sync::LazyLock;

use super::{
    COMPUTE_IN_CONTAINER, all, alternatives,
    equivalents::equivalent,
    flow::{flow, flow_text, text_of},
    foreign_fields::FOREIGN_FIELDS,
};
use crate::{
    grammar::{Field, Object, Shape, WORKLOAD},
    node::{Map, Node, Value},
    suggest::{is_similar, suggest},
};

/// Hint for an unknown field.
pub(in crate::validate) fn unknown_field(object: &'static Object, key: &str, siblings: &Map) -> String {
    static NULL: Node = Node { value: Value::Null, span: None };
    let node = siblings.get(key).map_or(&NULL, |entry| &entry.node);
    if key.contains('\u{a0}') {
        return "replace the non-breaking spaces (U+00A0) with spaces".to_owned();
    }
    if key.starts_with("//") || key.starts_with("/*") {
        return "remove the comment, or write YAML with `#`".to_owned();
    }
    let is_resource = object.noun == "a resource";
    if is_resource && key == "properties" && declares_outputs(node) {
        return "remove it; early drafts of Score listed outputs here, now the provisioner defines them"
            .to_owned();
    }
    if is_resource && matches!(key, "cpu" | "memory") {
        return COMPUTE_IN_CONTAINER.to_owned();
    }
    if object.noun == "the resources of a container" && node.get("type").is_some() {
        return format!(
            "resources of the workload belong at the top level: `resources: {{{key}: {{type: …}}}}`"
        );
    }
    if let Some(hint) = equivalent(object, key, node) {
        return hint;
    }
    if let Some(hint) = foreign_field(object, key) {
        let value = text_of(node).and_then(|text| flow_text(&text));
        return hint.replace("VALUE", value.as_deref().unwrap_or("…"));
    }
    if key.starts_with("x-") {
        return "Score has no `x-` extensions; put custom data under `metadata`, `metadata.annotations` or the `params` of a resource".to_owned();
    }
    if let Some(sibling) = similar_field(object, key) {
        return format!("did you mean `{}`?", sibling.name);
    }
    if let Some(hint) = missing_level(object, key, node) {
        return hint;
    }
    if is_resource {
        return format!("resource parameters belong under `params`: `params: {{{key}: …}}`");
    }
    // Common names are fields of many objects.
    let is_specific = |location: &&FieldLocation| {
        !matches!(
            location.field.name,
            "name" | "type" | "path" | "source" | "port" | "value" | "id" | "class" | "host"
        )
    };
    if let Some(location) =
        FIELD_LOCATIONS.iter().filter(is_specific).find(|location| location.field.name == key)
    {
        return location.hint(siblings);
    }
    let is_typo = |location: &&FieldLocation| {
        strsim::osa_distance(&key.to_lowercase(), &location.field.name.to_lowercase()) <= 1
    };
    if key.len() < 40
        && let Some(location) = FIELD_LOCATIONS.iter().filter(is_specific).find(is_typo)
    {
        return format!("did you mean `{}`? {}", location.field.name, location.hint(siblings));
    }
    let known: Vec<_> = object.fields.iter().map(|field| field.name).collect();
    format!("remove it; {} has the fields {}", object.noun, all(&known))
}

/// Hint of the table of foreign fields.
fn foreign_field(object: &Object, key: &str) -> Option<&'static str> {
    let is_resource = object.noun == "a resource";
    let found = FOREIGN_FIELDS.iter().find(|(known, noun, _)| {
        *known == key && (object.noun == *noun || (noun.is_empty() && !is_resource))
    });
    found.map(|(_, _, hint)| *hint)
}

/// True for an unknown key with a meaning of its own: a misspelled field, or one of another tool.
pub(in crate::validate) fn is_known_elsewhere(object: &Object, key: &str) -> bool {
    similar_field(object, key).is_some() || foreign_field(object, key).is_some()
}

/// Field of an object that a misspelled key means.
pub(in crate::validate) fn similar_field(object: &Object, key: &str) -> Option<&'static Field> {
    suggest(key, object.fields.iter().map(|field| field.name)).and_then(|name| object.field(name))
}

/// True if `properties` of a resource lists outputs, as in early drafts of Score.
fn declares_outputs(node: &Node) -> bool {
    node.as_map().is_some_and(|map| {
        !map.is_empty()
            && map.values().all(|entry| match &entry.node.value {
                Value::Null => true,
                Value::Map(inner) => {
                    inner.keys().all(|key| matches!(key.as_str(), "type" | "default" | "required" | "secret"))
                }
                _ => false,
            })
    })
}

/// True if an unknown field is probably meant as this one, so that it is not reported as missing too.
pub(in crate::validate) fn is_meant_as(key: &str, field: &Field) -> bool {
    matches!((key, field.name), ("spec" | "services" | "workloads" | "container", "containers"))
        || matches!((key, field.name), ("img", "image") | ("name", "metadata"))
        || is_similar(key, field.name)
        // A key of JSON after a comment.
        || key.strip_suffix('"').is_some_and(|key| key.ends_with(field.name))
}

/// Field of the grammar and its parent.
struct FieldLocation {
    field: &'static Field,
    parent: String,
}

impl FieldLocation {
    fn hint(&self, siblings: &Map) -> String {
        let Field { name, example, .. } = self.field;
        if self.parent.is_empty() {
            return format!("`{name}` belongs at the top level: `{example}`");
        }
        if self.parent == "containers.*" {
            return format!("`{name}` belongs to a container: `containers: {{main: {{{example}}}}}`");
        }
        // A field of several objects: the one that is left empty next to it, or all of them.
        let parents: Vec<&str> = FIELD_LOCATIONS
            .iter()
            .filter(|other| std::ptr::eq(other.field, self.field))
            .map(|other| other.parent.as_str())
            .collect();
        let is_empty = |parent: &&&str| {
            let (_, last) = parent.rsplit_once('.').unwrap_or(("", parent));
            siblings.get(last).is_some_and(|entry| matches!(entry.node.value, Value::Null))
        };
        match parents.iter().find(is_empty) {
            Some(parent) => {
                format!("indent it under `{}`: `{example}`", parent.rsplit('.').next().unwrap_or(parent))
            }
            None => format!("`{name}` belongs under {}: `{example}`", alternatives(&parents)),
        }
    }
}

/// Hint for an entry of a map without its level, such as `service: {web: {port: 80}}`.
fn missing_level(object: &'static Object, key: &str, node: &Node) -> Option<String> {
    let found = object.fields.iter().find(|field| match field.shape {
        Shape::Map(map) | Shape::MapOrList(map, _) => {
            map.keys.pattern.is_some()
                && matches!(map.values, Shape::Object(entry) if entry.is_begun_by(node))
        }
        _ => false,
    })?;
    let value = flow(node).unwrap_or_else(|| "{…}".to_owned());
    Some(format!("write `{}: {{{key}: {value}}}`", found.name))
}

/// All fields of the grammar, top level first.
static FIELD_LOCATIONS: LazyLock<Vec<FieldLocation>> = LazyLock::new(|| {
    fn visit(shape: Shape, parent: &str, depth: usize, locations: &mut Vec<(usize, FieldLocation)>) {
        let below = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
        match shape {
            Shape::Object(object) => {
                for field in object.fields {
                    locations.push((depth, FieldLocation { field, parent: parent.to_owned() }));
                    visit(field.shape, &below(field.name), depth + 1, locations);
                }
            }
            Shape::Map(map) | Shape::MapOrList(map, _) => {
                visit(map.values, &below("*"), depth + 1, locations);
            }
            Shape::List(list) => visit(list.items, &below("*"), depth + 1, locations),
            _ => {}
        }
    }
    let mut locations = Vec::new();
    visit(Shape::Object(&WORKLOAD), "", 0, &mut locations);
    locations.sort_by_key(|(depth, _)| *depth);
    locations.into_iter().map(|(_, location)| location).collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::CONTAINER;

    fn hint(key: &str) -> String {
        unknown_field(&CONTAINER, key, &Map::new())
    }

    #[test]
    fn a_field_of_another_language_is_explained() {
        assert!(hint("env").contains("`variables`"));
        assert!(hint("ports").contains("service"));
        assert!(hint("x-team").contains("extensions"));
        assert!(hint("replicas").contains("platform"));
    }

    #[test]
    fn a_typo_suggests_the_field_that_was_meant() {
        assert_eq!(hint("varaibles"), "did you mean `variables`?");
        assert_eq!(hint("liveness_probe"), "did you mean `livenessProbe`?");
        assert_eq!(hint("Image"), "did you mean `image`?");
    }

    #[test]
    fn a_misplaced_field_is_hinted_to_its_parents() {
        assert_eq!(
            hint("httpGet"),
            "`httpGet` belongs under `containers.*.livenessProbe` or `containers.*.readinessProbe`: `httpGet: {path: /ready, port: 8080}`"
        );
        assert!(hint("metadata").contains("top level"));
    }

    #[test]
    fn no_row_of_the_table_is_shadowed_by_an_earlier_one() {
        for (number, (key, noun, _)) in FOREIGN_FIELDS.iter().enumerate() {
            // A row for any object does not apply to resources.
            let shadows = |(other, any, _): &&(&str, &str, &str)| {
                other == key && (any == noun || (any.is_empty() && *noun != "a resource"))
            };
            assert!(FOREIGN_FIELDS[..number].iter().find(shadows).is_none(), "{key} of {noun:?}");
        }
    }

    #[test]
    fn objects_named_in_the_table_exist() {
        let nouns: Vec<_> = {
            fn visit(shape: Shape, nouns: &mut Vec<&'static str>) {
                match shape {
                    Shape::Object(object) => {
                        nouns.push(object.noun);
                        object.fields.iter().for_each(|field| visit(field.shape, nouns));
                    }
                    Shape::Map(map) | Shape::MapOrList(map, _) => visit(map.values, nouns),
                    Shape::List(list) => visit(list.items, nouns),
                    _ => {}
                }
            }
            let mut nouns = Vec::new();
            visit(Shape::Object(&WORKLOAD), &mut nouns);
            nouns
        };
        for (key, noun, _) in FOREIGN_FIELDS {
            assert!(noun.is_empty() || nouns.contains(noun), "{key}: {noun}");
        }
    }
}
