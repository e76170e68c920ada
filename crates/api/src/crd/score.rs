//! Schema of a Workload's spec, generated from the grammar of Score.
//!
//! Validator and schema share the grammar, so the server never rejects what the validator accepts. The workload
//! controller runs the validator for what a CRD cannot express: cycles in `before`, placeholders without a target,
//! conflicting paths.
//!
//! Only map forms are stored: clients normalise list forms.

use orchestra_score::grammar::{Choice, Field, ListOf, MapOf, Object, Shape, TextRule, WORKLOAD};
use schemars::Schema;
use serde_json::{Map, Value as Json, json};

/// Keywords of a JSON schema.
type Keywords = Map<String, Json>;

/// Fields of a Score document that are outside the spec of the object.
const OF_THE_OBJECT: [&str; 2] = ["apiVersion", "metadata"];

/// Schema of the spec.
pub(crate) fn spec() -> Schema {
    let mut schema = keywords(json!({"type": "object", "description": SPEC}));
    let mut properties = fields(WORKLOAD.fields.iter().filter(|field| !OF_THE_OBJECT.contains(&field.name)));
    if let Some(containers) = properties.get_mut("containers") {
        add_rules(containers, start_order());
    }
    let mut metadata = free_map();
    metadata.insert("description".to_owned(), json!(METADATA));
    properties.insert("metadata".to_owned(), Json::Object(metadata));
    schema.insert("properties".to_owned(), Json::Object(properties));
    schema.insert("required".to_owned(), json!(["containers"]));
    schema.into()
}

const SPEC: &str = "Score workload: containers, ports and dependencies. The platform selects its backend and provides \
    its dependencies.";
const METADATA: &str =
    "Further fields of `metadata` in the Score file, besides name, annotations and labels.";

/// Pattern of workload names.
pub(crate) fn name_pattern() -> Option<String> {
    let metadata = object_at(&WORKLOAD, "metadata")?;
    pattern_of(metadata, "name")
}

/// Pattern of an amount of `cpu` or `memory`.
pub(crate) fn amount_pattern(of: &str) -> Option<String> {
    let Shape::Map(containers) = WORKLOAD.field("containers")?.shape else { return None };
    let Shape::Object(container) = containers.values else { return None };
    let amounts = object_at(object_at(container, "resources")?, "limits")?;
    pattern_of(amounts, of)
}

fn object_at(object: &Object, field: &str) -> Option<&'static Object> {
    match object.field(field)?.shape {
        Shape::Object(inner) => Some(inner),
        _ => None,
    }
}

fn pattern_of(object: &Object, field: &str) -> Option<String> {
    match object.field(field)?.shape {
        Shape::Text(rule) => Some(rule.pattern.as_ref()?.text.to_owned()),
        _ => None,
    }
}

fn keywords(schema: Json) -> Keywords {
    match schema {
        Json::Object(keywords) => keywords,
        _ => Keywords::new(),
    }
}

fn shape(shape: Shape) -> Keywords {
    match shape {
        Shape::Object(known) => object(known),
        Shape::Map(map) | Shape::MapOrList(map, _) => map_of(map),
        Shape::List(list) => list_of(list),
        Shape::Text(rule) => text(rule),
        Shape::Enum(allowed) => keywords(json!({"type": "string", "enum": allowed})),
        Shape::Integer(min, max) => keywords(json!({"type": "integer", "minimum": min, "maximum": max})),
        Shape::Boolean => keywords(json!({"type": "boolean"})),
        Shape::FreeMap => free_map(),
    }
}

fn fields<'a>(known: impl Iterator<Item = &'a Field>) -> Keywords {
    known
        .map(|field| {
            let mut schema = shape(field.shape);
            schema.insert("description".to_owned(), json!(field.doc));
            (field.name.to_owned(), Json::Object(schema))
        })
        .collect()
}

fn object(known: &Object) -> Keywords {
    let mut schema = keywords(json!({"type": "object", "properties": fields(known.fields.iter())}));
    let required: Vec<_> =
        known.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if known.open {
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    // Two field managers of one choice could set both variants, and then neither could fix it with an apply.
    if known.open || known.choice.is_some() {
        schema.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    }
    let mut schema = Json::Object(schema);
    if let Some(choice) = known.choice {
        add_rules(&mut schema, [choice_rule(choice)]);
    }
    keywords(schema)
}

/// Free-form map. It has no schema for its values: with one, the server would prune unknown fields below them.
fn free_map() -> Keywords {
    keywords(json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic",
    }))
}

fn map_of(map: &MapOf) -> Keywords {
    let mut schema = json!({
        "type": "object", "additionalProperties": shape(map.values), "maxProperties": map.limit,
    });
    if map.min > 0 {
        schema["minProperties"] = json!(map.min);
    }
    add_rules(&mut schema, key_rule(map.keys));
    keywords(schema)
}

fn list_of(list: &ListOf) -> Keywords {
    keywords(json!({
        "type": "array", "items": shape(list.items), "maxItems": list.limit, "x-kubernetes-list-type": "atomic",
    }))
}

fn text(rule: &TextRule) -> Keywords {
    let mut schema = keywords(json!({"type": "string"}));
    if rule.min > 0 {
        schema.insert("minLength".to_owned(), json!(rule.min));
    }
    if let Some(max) = rule.max {
        schema.insert("maxLength".to_owned(), json!(max));
    }
    if let Some(pattern) = &rule.pattern {
        schema.insert("pattern".to_owned(), json!(pattern.text));
    }
    schema
}

fn add_rules(schema: &mut Json, rules: impl IntoIterator<Item = Json>) {
    let rules: Vec<Json> = rules.into_iter().collect();
    if rules.is_empty() {
        return;
    }
    match &mut schema["x-kubernetes-validations"] {
        Json::Array(known) => known.extend(rules),
        unset => *unset = Json::Array(rules),
    }
}

/// Rule about the keys of a map, `self`. The message ends with the keys that fail `test`, sorted, because the server
/// visits them in any order.
fn rule_of_keys(test: &str, message: &str, lead: &str) -> Json {
    json!({
        "rule": format!("self.all(k, {test})"),
        "message": message,
        "messageExpression":
            format!("'{message}{lead}: %s'.format([self.filter(k, !({test})).sort()])"),
    })
}

/// Rule of map keys, which a structural schema cannot express.
fn key_rule(keys: &TextRule) -> Option<Json> {
    let min = (keys.min > 0).then(|| format!("k.size() >= {}", keys.min));
    let max = keys.max.map(|max| format!("k.size() <= {max}"));
    let pattern = keys.pattern.as_ref().map(|pattern| format!("k.matches(r'{}')", pattern.text));
    let test = [min, max, pattern].into_iter().flatten().collect::<Vec<_>>().join(" && ");
    let message = format!("every {} must be {}", keys.noun, keys.form);
    (!test.is_empty()).then(|| rule_of_keys(&test, &message, "; invalid"))
}

fn choice_rule(choice: Choice) -> Json {
    let names = match choice.of {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        all => all.join(", "),
    };
    let each = |form: fn(&str) -> String| choice.of.iter().map(|name| form(name)).collect::<Vec<_>>();
    if choice.exclusive {
        let count = each(|name| format!("(has(self.{name}) ? 1 : 0)")).join(" + ");
        json!({"rule": format!("{count} == 1"), "message": format!("exactly one of {names} must be set")})
    } else {
        let any = each(|name| format!("has(self.{name})")).join(" || ");
        json!({"rule": any, "message": format!("at least one of {names} must be set")})
    }
}

/// Rules of `before` without the detection of longer cycles.
fn start_order() -> [Json; 2] {
    [
        rule_of_keys(
            "!has(self[k].before) || self[k].before.all(other, other in self)",
            "every container in `before` must exist in this workload",
            "; not found in `before` of",
        ),
        rule_of_keys(
            "!has(self[k].before) || !(k in self[k].before)",
            "dependency cycle in `before`: a container cannot start before itself",
            "",
        ),
    ]
}
