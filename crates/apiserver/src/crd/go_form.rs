//! Some messages show a whole schema or all versions of a definition, the way the real server holds them in memory.

use serde_json::{Map, Number, Value, json};

use super::decode;
use super::definition::{Column, SchemaSource, Subresources};
use super::unsupported::Props;
use crate::schema::go_text;
use crate::schema::{Additional, Rule};

/// A version as far as it is not the same in all versions.
pub(super) struct Shown<'a> {
    pub(super) version: &'a super::definition::Version,
    pub(super) schema: Option<&'a SchemaSource>,
    pub(super) subresources: Option<&'a Subresources>,
    pub(super) columns: &'a [Column],
    pub(super) selectable: &'a [String],
}

/// Fields in the order they are declared in.
struct Fields {
    out: String,
}

impl Fields {
    fn new() -> Self {
        Self { out: String::from("{") }
    }

    fn raw(mut self, name: &str, text: &str) -> Self {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        self.out.push_str(&go_text::json(&Value::from(name)));
        self.out.push(':');
        self.out.push_str(text);
        self
    }

    fn value(self, name: &str, value: &Value) -> Self {
        let text = go_text::json(value);
        self.raw(name, &text)
    }

    fn end(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    if items.is_empty() { "null".to_owned() } else { format!("[{}]", items.join(",")) }
}

fn map<'a>(entries: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields = entries.into_iter().fold(Fields::new(), |fields, (name, text)| fields.raw(name, &text));
    let text = fields.end();
    if text == "{}" { "null".to_owned() } else { text }
}

/// A list or map that is there but empty is not the same as none.
fn or_empty(text: String, raw: &Value) -> String {
    match raw {
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        _ => text,
    }
}

fn number(number: Option<&Number>) -> Value {
    let float = number.and_then(Number::as_f64).and_then(Number::from_f64);
    float.map_or(Value::Null, Value::Number)
}

fn texts_value(texts: &[String]) -> Value {
    if texts.is_empty() { Value::Null } else { json!(texts) }
}

/// Versions that all share their schema, subresources and so on show none of them.
pub(super) fn versions(versions: &[Shown<'_>]) -> String {
    list(versions.iter().map(version))
}

fn version(shown: &Shown<'_>) -> String {
    let version = shown.version;
    let schema = shown.schema.map(|source| {
        let props = Props { schema: &source.schema, raw: &source.raw };
        Fields::new().raw("OpenAPIV3Schema", &schema(props)).end()
    });
    Fields::new()
        .value("Name", &version.name.as_str().into())
        .value("Served", &version.served.into())
        .value("Storage", &version.storage.into())
        .value("Deprecated", &version.deprecated.into())
        .value("DeprecationWarning", &json!(version.deprecation_warning))
        .raw("Schema", schema.as_deref().unwrap_or("null"))
        .raw("Subresources", &shown.subresources.map_or_else(|| "null".to_owned(), subresources))
        .raw("AdditionalPrinterColumns", &list(shown.columns.iter().map(column)))
        .raw(
            "SelectableFields",
            &list(
                shown
                    .selectable
                    .iter()
                    .map(|path| Fields::new().value("JSONPath", &path.as_str().into()).end()),
            ),
        )
        .end()
}

fn subresources(subresources: &Subresources) -> String {
    let scale = subresources.scale.as_ref().map(|scale| {
        Fields::new()
            .value("SpecReplicasPath", &scale.spec_replicas_path.as_str().into())
            .value("StatusReplicasPath", &scale.status_replicas_path.as_str().into())
            .value("LabelSelectorPath", &json!(scale.label_selector_path))
            .end()
    });
    Fields::new()
        .raw("Status", if subresources.status { "{}" } else { "null" })
        .raw("Scale", scale.as_deref().unwrap_or("null"))
        .end()
}

fn column(column: &Column) -> String {
    Fields::new()
        .value("Name", &column.name.as_str().into())
        .value("Type", &column.kind.as_str().into())
        .value("Format", &column.format.as_str().into())
        .value("Description", &column.description.as_str().into())
        .value("Priority", &column.priority.into())
        .value("JSONPath", &column.json_path.as_str().into())
        .end()
}

/// A list of schemas where one schema is wanted.
pub(super) fn tuple(raw: &[Value]) -> String {
    Fields::new().raw("Schema", "null").raw("JSONSchemas", &list(raw.iter().map(raw_schema))).end()
}

fn raw_schema(raw: &Value) -> String {
    let decoded = decode::schema_of(raw);
    schema(Props { schema: &decoded, raw })
}

fn raw_map(raw: &Value) -> String {
    let empty = Map::new();
    let fields = raw.as_object().unwrap_or(&empty);
    map(fields.iter().map(|(name, raw)| (name.as_str(), raw_schema(raw))))
}

/// A whole schema.
pub(super) fn schema(props: Props<'_>) -> String {
    let schema_ = props.schema;
    let text = |keyword: &str| Value::from(props.raw(keyword).as_str().unwrap_or_default());
    let either = |raw: &Value, allows: bool, inner: Option<String>| {
        if raw.is_null() {
            return "null".to_owned();
        }
        Fields::new().value("Allows", &allows.into()).raw("Schema", inner.as_deref().unwrap_or("null")).end()
    };
    let items = match (props.items(), props.tuple()) {
        (Some(items), _) => Fields::new().raw("Schema", &schema(items)).raw("JSONSchemas", "null").end(),
        (None, raw) if !raw.is_empty() => tuple(raw),
        _ => "null".to_owned(),
    };
    let additional = props.raw("additionalProperties");
    let allows = !matches!(schema_.additional_properties, None | Some(Additional::Allowed(false)));
    let docs = schema_.external_docs.as_ref().map(|docs| {
        let text = |name: &str| Value::from(docs.get(name).and_then(Value::as_str).unwrap_or_default());
        Fields::new().value("Description", &text("description")).value("URL", &text("url")).end()
    });
    let parts = |keyword: &str| or_empty(list(props.alternatives(keyword).map(schema)), props.raw(keyword));
    let properties = map(props.properties().map(|(name, one)| (name, schema(one))));
    let texts =
        |keyword: &str, texts: &[String]| or_empty(go_text::json(&texts_value(texts)), props.raw(keyword));
    Fields::new()
        .value("ID", &text("id"))
        .value("Schema", &text("$schema"))
        .value("Ref", props.raw("$ref"))
        .value("Description", &schema_.description.as_str().into())
        .value("Type", &schema_.kind.as_str().into())
        .value("Nullable", &schema_.nullable.into())
        .value("Format", &schema_.format.as_str().into())
        .value("Title", &schema_.title.as_str().into())
        .value("Default", &json!(schema_.default))
        .value("Maximum", &number(schema_.maximum.as_ref()))
        .value("ExclusiveMaximum", &schema_.exclusive_maximum.into())
        .value("Minimum", &number(schema_.minimum.as_ref()))
        .value("ExclusiveMinimum", &schema_.exclusive_minimum.into())
        .value("MaxLength", &json!(schema_.max_length))
        .value("MinLength", &json!(schema_.min_length))
        .value("Pattern", &schema_.pattern.as_str().into())
        .value("MaxItems", &json!(schema_.max_items))
        .value("MinItems", &json!(schema_.min_items))
        .value("UniqueItems", &schema_.unique_items.into())
        .value("MultipleOf", &number(schema_.multiple_of.as_ref()))
        .raw("Enum", &or_empty(go_text::json(&json!(schema_.allowed)), props.raw("enum")))
        .value("MaxProperties", &json!(schema_.max_properties))
        .value("MinProperties", &json!(schema_.min_properties))
        .raw("Required", &texts("required", &schema_.required))
        .raw("Items", &items)
        .raw("AllOf", &parts("allOf"))
        .raw("OneOf", &parts("oneOf"))
        .raw("AnyOf", &parts("anyOf"))
        .raw("Not", &props.not().map_or_else(|| "null".to_owned(), schema))
        .raw("Properties", &or_empty(properties, props.raw("properties")))
        .raw("AdditionalProperties", &either(additional, allows, props.values().map(schema)))
        .raw("PatternProperties", &raw_map(props.raw("patternProperties")))
        .raw("Dependencies", &go_text::json(props.raw("dependencies")))
        .raw("AdditionalItems", &either(props.raw("additionalItems"), true, None))
        .raw("Definitions", &raw_map(props.raw("definitions")))
        .raw("ExternalDocs", docs.as_deref().unwrap_or("null"))
        .value("Example", &json!(schema_.example))
        .value("XPreserveUnknownFields", &json!(schema_.preserve_unknown))
        .value("XEmbeddedResource", &schema_.embedded_resource.into())
        .value("XIntOrString", &schema_.int_or_string.into())
        .raw("XListMapKeys", &texts("x-kubernetes-list-map-keys", &schema_.list_map_keys))
        .value("XListType", &json!(schema_.list_type))
        .value("XMapType", &json!(schema_.map_type))
        .raw(
            "XValidations",
            &or_empty(list(schema_.rules.iter().map(rule)), props.raw("x-kubernetes-validations")),
        )
        .end()
}

/// A rule, as it stands in the messages about it.
pub(crate) fn rule(rule: &Rule) -> String {
    Fields::new()
        .value("Rule", &rule.rule.as_str().into())
        .value("Message", &rule.message.as_str().into())
        .value("MessageExpression", &rule.message_expression.as_str().into())
        .value("Reason", &json!(rule.reason))
        .value("FieldPath", &rule.field_path.as_str().into())
        .value("OptionalOldSelf", &json!(rule.optional_old_self))
        .end()
}
