//! Validation of every node of a schema: allowed keywords, their combinations, and CEL rules.

use orchestra_cel::FieldError;
use serde_json::Value;

use super::decode;
use super::definition::SchemaSource;
use super::rules::{RulePlace, RuleTask};
use super::unsupported::Props;
use crate::schema::{Additional, Schema};

/// Callback to the CEL checker.
pub(super) type CheckRule<'a> = &'a dyn Fn(&RulePlace<'_>) -> Vec<FieldError>;

/// Visitor of the nodes of a schema, which checks them.
pub(super) struct SchemaVisitor<'a> {
    pub(super) source: &'a SchemaSource,
    pub(super) check_rule: CheckRule<'a>,
    /// Errors of the schema itself.
    pub(super) errors: Vec<FieldError>,
    /// Errors of the rules.
    pub(super) rule_errors: Vec<FieldError>,
}

/// Context of a node from the nodes above it.
#[derive(Clone)]
struct NodeContext {
    path: String,
    is_root: bool,
    /// Reason why defaults are forbidden.
    no_defaults: Option<String>,
    inside_metadata: bool,
    uncorrelatable: Option<String>,
    /// True if rules are checked.
    rules: bool,
}

impl NodeContext {
    fn below(&self, step: &str) -> Self {
        Self { path: format!("{}{step}", self.path), is_root: false, ..self.clone() }
    }

    fn without_rules(mut self) -> Self {
        self.rules = false;
        self
    }

    fn uncorrelatable_from(mut self, path: &str) -> Self {
        self.uncorrelatable.get_or_insert_with(|| path.to_owned());
        self
    }
}

impl SchemaVisitor<'_> {
    /// Checks all nodes; rules only if `with_rules`.
    pub(super) fn run(&mut self, path: &str, with_rules: bool) {
        let root = NodeContext {
            path: path.to_owned(),
            is_root: true,
            no_defaults: None,
            inside_metadata: false,
            uncorrelatable: None,
            rules: with_rules,
        };
        let source = self.source;
        self.node(Props { schema: &source.schema, raw: &source.raw }, &root);
    }

    fn node(&mut self, props: Props<'_>, context: &NodeContext) {
        let start = self.errors.len();
        self.keywords(props, context);
        self.children(props, context);
        self.extensions(props, context);
        self.list_type(props, &context.path);
        self.item_keys(props, &context.path);
        self.rules(props, context, start);
    }

    fn forbid(&mut self, context: &NodeContext, keyword: &str, detail: &str) {
        self.errors.push(FieldError::forbidden(format!("{}.{keyword}", context.path), detail));
    }

    fn keywords(&mut self, props: Props<'_>, context: &NodeContext) {
        const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
        let schema = props.schema;
        let type_path = format!("{}.type", context.path);
        if !schema.kind.is_empty() && !TYPES.contains(&schema.kind.as_str()) {
            let kind = Value::from(schema.kind.as_str());
            self.errors.push(FieldError::not_supported(type_path, &kind, TYPES));
        }
        if let (Some(reason), true) = (&context.no_defaults, schema.default.is_some()) {
            self.forbid(context, "default", &format!("must not be set {reason}"));
        }
        for (is_set, keyword) in [
            (props.has_filled("id"), "id"),
            (props.has("additionalItems"), "additionalItems"),
            (props.has_filled("patternProperties"), "patternProperties"),
            (props.has_filled("definitions"), "definitions"),
            (props.has("dependencies"), "dependencies"),
            (props.has("$ref"), "$ref"),
        ] {
            if is_set {
                self.forbid(context, keyword, &format!("{keyword} is not supported"));
            }
        }
        if schema.kind == "null" {
            self.forbid(context, "type", "type cannot be set to null, use nullable as an alternative");
        }
        if !props.tuple().is_empty() {
            self.forbid(context, "items", "items must be a schema object and not an array");
        }
        if context.inside_metadata && schema.embedded_resource {
            self.forbid(
                context,
                "x-kubernetes-embedded-resource",
                "must not be used inside of resource meta",
            );
        }
        if schema.unique_items {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(context, "uniqueItems", detail);
        }
    }

    fn children(&mut self, props: Props<'_>, context: &NodeContext) {
        let schema = props.schema;
        let closed =
            matches!(schema.additional_properties, Some(Additional::Allowed(false) | Additional::Of(_)));
        if closed && !schema.properties.is_empty() {
            self.forbid(
                context,
                "additionalProperties",
                "additionalProperties and properties are mutual exclusive",
            );
        }
        if let Some(values) = props.values() {
            let mut below = context.below(".additionalProperties");
            if context.inside_metadata {
                below.no_defaults =
                    Some("inside additionalProperties applying to object metadata".to_owned());
            }
            self.node(values, &below);
        }
        for (name, property) in props.properties() {
            let mut below = context.below(&format!(".properties[{name}]"));
            if schema.map_type.as_deref().is_some_and(|kind| kind != "granular") {
                below = below.uncorrelatable_from(&context.path);
            }
            let is_resource = context.is_root || schema.embedded_resource;
            if is_resource && matches!(name, "metadata" | "kind" | "apiVersion") {
                below.inside_metadata = true;
                if context.is_root {
                    below.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.node(property, &below);
        }
        if let Some(not) = props.not() {
            self.node(not, &context.below(".not").without_rules());
        }
        for keyword in ["allOf", "oneOf", "anyOf"] {
            for (index, part) in props.alternatives(keyword).enumerate() {
                self.node(part, &context.below(&format!(".{keyword}[{index}]")).without_rules());
            }
        }
        self.refused_children(props, "definitions", context);
        let mut items_context = context.below(".items");
        if schema.list_type.as_deref() != Some("map") {
            items_context = items_context.uncorrelatable_from(&context.path);
        }
        if let Some(items) = props.items() {
            self.node(items, &items_context);
        }
        for (index, raw) in props.tuple().iter().enumerate() {
            let item = decode::schema_of(raw);
            self.node(
                Props { schema: &item, raw },
                &items_context.below(&format!("[{index}]")).without_rules(),
            );
        }
        self.refused_children(props, "dependencies", context);
    }

    /// Schemas inside an unsupported keyword: their errors are reported, too.
    fn refused_children(&mut self, props: Props<'_>, keyword: &str, context: &NodeContext) {
        for (name, raw) in props.raw(keyword).as_object().into_iter().flatten() {
            if raw.is_object() {
                let schema = decode::schema_of(raw);
                self.node(
                    Props { schema: &schema, raw },
                    &context.below(&format!(".{keyword}[{name}]")).without_rules(),
                );
            }
        }
    }

    pub(super) fn wrong_type(&mut self, schema: &Schema, path: &str, wanted: &str, keyword: &str) {
        let detail = format!("must be {wanted} if {keyword} is specified");
        let type_path = format!("{path}.type");
        self.errors.push(if schema.kind.is_empty() {
            FieldError::required(type_path, &detail)
        } else {
            FieldError::invalid_text(type_path, &schema.kind, detail)
        });
    }

    fn extensions(&mut self, props: Props<'_>, context: &NodeContext) {
        let (schema, path) = (props.schema, &context.path);
        if schema.preserve_unknown == Some(false) {
            let keyword_path = format!("{path}.x-kubernetes-preserve-unknown-fields");
            self.errors.push(FieldError::invalid(
                keyword_path,
                &Value::Bool(false),
                "must be true or undefined",
            ));
        }
        if let Some(map_type) = schema.map_type.as_deref() {
            if schema.kind != "object" {
                self.wrong_type(schema, path, "object", "x-kubernetes-map-type");
            }
            if !matches!(map_type, "atomic" | "granular") {
                let keyword_path = format!("{path}.x-kubernetes-map-type");
                self.errors.push(FieldError::not_supported(
                    keyword_path,
                    &map_type.into(),
                    ["atomic", "granular"],
                ));
            }
        }
    }

    fn rules(&mut self, props: Props<'_>, context: &NodeContext, start: usize) {
        let schema = props.schema;
        self.rule_texts(props, &context.path);
        if schema.rules.is_empty() || !context.rules || self.errors.len() != start {
            return;
        }
        let found = (self.check_rule)(&RulePlace {
            schema,
            path: &context.path,
            task: RuleTask::Compile,
            uncorrelatable: context.uncorrelatable.as_deref(),
        });
        self.rule_errors.extend(found);
    }
}
