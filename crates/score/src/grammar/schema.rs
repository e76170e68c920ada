//! JSON Schema of the language, for editors.

use serde_json::{Map, Value as Json, json};

use super::{Field, ListOf, MapOf, Object, Shape, TextRule, WORKLOAD};

/// JSON Schema (draft 2020-12) of a Score document, generated from the grammar.
///
/// Accepts the same documents as the schema layer of the validator. Semantic rules (undefined resources, cycles in
/// `before`) are only in the validator.
pub fn json_schema() -> Json {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("Score workload (score.dev/v1b1, specification 0.4.1)"));
    schema.extend(object(&WORKLOAD));
    Json::Object(schema)
}

fn shape(shape: Shape) -> Map<String, Json> {
    let schema = match shape {
        Shape::Object(known) => return object(known),
        Shape::Map(map) => map_of(map),
        Shape::List(list) => list_of(list),
        Shape::Text(rule) => text(rule),
        Shape::Enum(allowed) => json!({"type": "string", "enum": allowed}),
        Shape::Integer(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::FreeMap => json!({"type": "object"}),
        Shape::MapOrList(map, list) => {
            let mut old = list_of(list);
            old["deprecated"] = json!(true);
            json!({"oneOf": [map_of(map), old]})
        }
    };
    match schema {
        Json::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn field(field: &Field) -> Json {
    let mut schema = shape(field.shape);
    schema.insert("description".to_owned(), json!(field.doc));
    Json::Object(schema)
}

fn object(known: &Object) -> Map<String, Json> {
    let properties: Map<String, Json> =
        known.fields.iter().map(|known| (known.name.to_owned(), field(known))).collect();
    let required: Vec<_> =
        known.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("additionalProperties".to_owned(), json!(known.open));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if let Some(choice) = known.choice {
        let options: Vec<_> = choice.of.iter().map(|name| json!({"required": [name]})).collect();
        schema.insert(if choice.exclusive { "oneOf" } else { "anyOf" }.to_owned(), json!(options));
    }
    schema.insert("properties".to_owned(), Json::Object(properties));
    schema
}

fn map_of(map: &MapOf) -> Json {
    let mut schema = json!({"type": "object", "additionalProperties": shape(map.values)});
    let keys = text(map.keys);
    if keys.get("pattern").is_some() || keys.get("minLength").is_some() {
        schema["propertyNames"] = keys;
    }
    if map.min > 0 {
        schema["minProperties"] = json!(map.min);
    }
    schema
}

fn list_of(list: &ListOf) -> Json {
    json!({"type": "array", "items": shape(list.items)})
}

fn text(rule: &TextRule) -> Json {
    let mut schema = json!({"type": "string"});
    if rule.min > 0 {
        schema["minLength"] = json!(rule.min);
    }
    if let Some(max) = rule.max {
        schema["maxLength"] = json!(max);
    }
    if let Some(pattern) = &rule.pattern {
        schema["pattern"] = json!(pattern.text);
    }
    schema
}
