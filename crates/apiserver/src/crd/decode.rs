//! Decoder of a definition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::definition::{Column, Conversion, Crd, Names, Scale, SchemaSource, Subresources, Version};
use super::reader::Reader;
use crate::json::with_integers;
use crate::schema::{Additional, Part, Rule, Schema};

/// Decodes a definition. The error names a field of a wrong type.
pub(crate) fn decode(crd: &Value) -> Result<Crd, String> {
    let root = Reader::root(crd);
    let spec = root.child_or_empty("spec")?;
    let status = root.child_or_empty("status")?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = crd.get("metadata");
    let annotations = metadata.and_then(|metadata| metadata.get("annotations")).and_then(Value::as_object);
    let annotations: BTreeMap<String, String> =
        annotations.into_iter().flatten().map(|(key, value)| (key.clone(), text(Some(value)))).collect();
    let conditions = status.children("conditions")?;
    let mut established = false;
    for condition in conditions {
        established |= condition.text("type")? == "Established" && condition.text("status")? == "True";
    }
    Ok(Crd {
        name: text(metadata.and_then(|metadata| metadata.get("name"))),
        annotations,
        group: spec.text("group")?,
        scope: spec.optional_text("scope")?.unwrap_or_default(),
        names: names(&spec.child_or_empty("names")?)?,
        versions: spec.children("versions")?.iter().map(version).collect::<Result<_, _>>()?,
        conversion: spec.child("conversion")?.map(|one| conversion(&one)).transpose()?,
        preserve_unknown_fields: spec.flag("preserveUnknownFields")?,
        accepted_names: names(&status.child_or_empty("acceptedNames")?)?,
        stored_versions: status.texts("storedVersions")?,
        established,
    })
}

fn names(reader: &Reader<'_>) -> Result<Names, String> {
    Ok(Names {
        plural: reader.text("plural")?,
        singular: reader.text("singular")?,
        short_names: reader.texts("shortNames")?,
        kind: reader.text("kind")?,
        list_kind: reader.text("listKind")?,
        categories: reader.texts("categories")?,
    })
}

fn conversion(reader: &Reader<'_>) -> Result<Conversion, String> {
    let webhook = reader.child_or_empty("webhook")?;
    Ok(Conversion {
        strategy: reader.optional_text("strategy")?.unwrap_or_default(),
        has_client_config: webhook.child("clientConfig")?.is_some(),
        has_review_versions: !webhook.texts("conversionReviewVersions")?.is_empty(),
    })
}

fn version(reader: &Reader<'_>) -> Result<Version, String> {
    reader.flag("served")?;
    let validation = reader.child_or_empty("schema")?;
    let schema = match validation.child("openAPIV3Schema")? {
        None => None,
        Some(root) => Some(SchemaSource {
            schema: node(&root)?,
            raw: validation.raw("openAPIV3Schema").cloned().unwrap_or_default(),
        }),
    };
    let subresources = reader.child("subresources")?;
    let columns = reader.children("additionalPrinterColumns")?;
    let selectable = reader.children("selectableFields")?;
    Ok(Version {
        name: reader.text("name")?,
        storage: reader.flag("storage")?,
        deprecated: reader.flag("deprecated")?,
        deprecation_warning: reader.optional_text("deprecationWarning")?,
        schema,
        subresources: subresources.map(|one| subresources_of(&one)).transpose()?,
        columns: columns.iter().map(column).collect::<Result<_, _>>()?,
        selectable_fields: selectable.iter().map(|one| one.text("jsonPath")).collect::<Result<_, _>>()?,
    })
}

fn subresources_of(reader: &Reader<'_>) -> Result<Subresources, String> {
    let scale = reader.child("scale")?;
    Ok(Subresources {
        status: reader.child("status")?.is_some(),
        scale: match scale {
            None => None,
            Some(scale) => Some(Scale {
                spec_replicas_path: scale.text("specReplicasPath")?,
                status_replicas_path: scale.text("statusReplicasPath")?,
                label_selector_path: scale.optional_text("labelSelectorPath")?,
            }),
        },
    })
}

fn column(reader: &Reader<'_>) -> Result<Column, String> {
    Ok(Column {
        name: reader.text("name")?,
        kind: reader.text("type")?,
        format: reader.text("format")?,
        description: reader.text("description")?,
        priority: reader.small_integer("priority")?.unwrap_or_default(),
        json_path: reader.text("jsonPath")?,
    })
}

/// Schema whose types were checked before; empty if they are wrong.
pub(super) fn schema_of(raw: &Value) -> Schema {
    node(&Reader::root(raw)).unwrap_or_default()
}

fn node(reader: &Reader<'_>) -> Result<Schema, String> {
    reader.texts_of_unsupported()?;
    let child = |name: &str| -> Result<Option<Box<Schema>>, String> {
        let child = reader.child(name)?;
        child.map(|child| node(&child).map(Box::new)).transpose()
    };
    let all =
        |name: &str| -> Result<Vec<Schema>, String> { reader.children(name)?.iter().map(node).collect() };
    let allowed: Vec<Value> = reader.list("enum")?.iter().map(with_integers).collect();
    Ok(Schema {
        kind: reader.text("type")?,
        format: reader.text("format")?,
        title: reader.text("title")?,
        description: reader.text("description")?,
        default: reader.raw("default").map(with_integers),
        example: reader.raw("example").map(with_integers),
        external_docs: external_docs(reader)?,
        nullable: reader.flag("nullable")?,
        properties: schemas(reader, "properties")?,
        additional_properties: additional(reader, "additionalProperties")?,
        items: items(reader)?,
        required: reader.texts("required")?,
        allowed: (!allowed.is_empty()).then_some(allowed),
        minimum: reader.number("minimum")?,
        maximum: reader.number("maximum")?,
        exclusive_minimum: reader.flag("exclusiveMinimum")?,
        exclusive_maximum: reader.flag("exclusiveMaximum")?,
        multiple_of: reader.number("multipleOf")?,
        min_length: reader.integer("minLength")?,
        max_length: reader.integer("maxLength")?,
        pattern: reader.text("pattern")?,
        min_items: reader.integer("minItems")?,
        max_items: reader.integer("maxItems")?,
        unique_items: reader.flag("uniqueItems")?,
        min_properties: reader.integer("minProperties")?,
        max_properties: reader.integer("maxProperties")?,
        all_of: all("allOf")?,
        any_of: all("anyOf")?,
        one_of: all("oneOf")?,
        not: child("not")?,
        preserve_unknown: reader.optional_flag("x-kubernetes-preserve-unknown-fields")?,
        embedded_resource: reader.flag("x-kubernetes-embedded-resource")?,
        int_or_string: reader.flag("x-kubernetes-int-or-string")?,
        list_map_keys: reader.texts("x-kubernetes-list-map-keys")?,
        list_type: reader.optional_text("x-kubernetes-list-type")?,
        map_type: reader.optional_text("x-kubernetes-map-type")?,
        rules: rules(reader)?,
    })
}

fn external_docs(reader: &Reader<'_>) -> Result<Option<Value>, String> {
    let Some(docs) = reader.child("externalDocs")? else { return Ok(None) };
    docs.text("description")?;
    docs.text("url")?;
    Ok(reader.raw("externalDocs").cloned())
}

/// A map of schemas.
fn schemas(reader: &Reader<'_>, name: &str) -> Result<BTreeMap<String, Part>, String> {
    let map = reader.map(name)?;
    let read = |(key, value): (&String, &_)| Ok((key.clone(), node(&reader.inside(name, value)?)?.into()));
    map.into_iter().flatten().map(read).collect()
}

fn additional(reader: &Reader<'_>, name: &str) -> Result<Option<Additional>, String> {
    match reader.raw(name) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(Additional::Allowed(*flag))),
        Some(value @ Value::Object(_)) => {
            let schema = node(&reader.inside(name, value)?)?;
            Ok(Some(Additional::Of(schema.into())))
        }
        Some(_) => Err("boolean or JSON schema expected".to_owned()),
    }
}

/// Items. A list of schemas is decoded, and refused later.
fn items(reader: &Reader<'_>) -> Result<Option<Part>, String> {
    match reader.raw("items") {
        Some(Value::Array(schemas)) => {
            for schema in schemas {
                node(&reader.inside("items", schema)?)?;
            }
            Ok(None)
        }
        Some(value @ Value::Object(_)) => {
            node(&reader.inside("items", value)?).map(|schema| Some(schema.into()))
        }
        _ => Ok(None),
    }
}

fn rules(reader: &Reader<'_>) -> Result<Vec<Rule>, String> {
    let name = "x-kubernetes-validations";
    let rule = |value| {
        let rule = reader.inside(name, value)?;
        Ok(Rule {
            rule: rule.text("rule")?,
            message: rule.text("message")?,
            message_expression: rule.text("messageExpression")?,
            reason: rule.optional_text("reason")?,
            field_path: rule.text("fieldPath")?,
            optional_old_self: rule.optional_flag("optionalOldSelf")?,
        })
    };
    reader.list(name)?.iter().map(rule).collect()
}

impl Reader<'_> {
    /// Checks the types of fields that are refused later.
    fn texts_of_unsupported(&self) -> Result<(), String> {
        self.text("id")?;
        self.optional_text("$schema")?;
        self.text("$ref")?;
        schemas(self, "patternProperties")?;
        schemas(self, "definitions")?;
        self.map("dependencies")?;
        additional(self, "additionalItems")?;
        Ok(())
    }
}
