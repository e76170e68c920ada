//! Compiled rules of a whole schema, and their evaluation on objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::eval::Budget;
use crate::field_error::{CauseType, FieldError};
use crate::field_path::resolve_field_path;
use crate::program::{Program, Purpose};
use crate::ratchet::{OldItems, PartChange};
use crate::resource::{self, Kind};
use crate::schema::{Rule, Schema};
use crate::types::{self, Type};
use crate::value::{Fail, Val};

/// Maximum length of a computed message, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// The compiled rules of a whole schema. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rules {
    compiled: Arc<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    /// The schema of the CRD.
    schema: Schema,
    /// The same with the implicit fields of resources.
    completed: Schema,
    root: Option<Node>,
}

/// The rules at one node of a schema and below.
#[derive(Debug, Default)]
struct Node {
    rules: Vec<CompiledRule>,
    properties: BTreeMap<String, Box<Self>>,
    items: Option<Box<Self>>,
    values: Option<Box<Self>>,
}

#[derive(Debug)]
struct CompiledRule {
    program: Result<Program, String>,
    message: Option<Program>,
    field_path: Option<String>,
    rule: Rule,
}

/// Result of the rules of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Failed rules.
    pub errors: Vec<FieldError>,
    /// Failed rules that are tolerated, since the part is unchanged.
    pub warnings: Vec<String>,
}

impl Rules {
    /// Compiles all rules of the schema of a kind, which [`crate::check_within`] accepted.
    pub fn compile(schema: &Schema) -> Self {
        let completed = resource::completed(schema, Kind::Resource).into_owned();
        let root = types::of_schema(&completed, "selfType").and_then(|this| Node::compile(&completed, &this));
        Self { compiled: Arc::new(Compiled { schema: schema.clone(), completed, root }) }
    }

    /// True if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.compiled.root.is_none()
    }

    /// Evaluates the rules on an object; `old` is its version before an update.
    pub fn evaluate(&self, object: &Value, old: Option<&Value>) -> Verdict {
        let mut evaluation = Evaluation { budget: Budget::new(), verdict: Verdict::default(), over: false };
        if let Some(root) = &self.compiled.root {
            let schemas = Schemas { plain: &self.compiled.schema, completed: &self.compiled.completed };
            evaluation.node(root, schemas, "", ObjectPart { value: object, old, parent: None });
        }
        evaluation.verdict
    }
}

impl Node {
    /// The rules at a node and below; none if there are no rules.
    fn compile(schema: &Schema, this: &Type<'_>) -> Option<Self> {
        let mut node = Self {
            rules: schema.rules.iter().map(|rule| CompiledRule::compile(rule, schema, this)).collect(),
            ..Self::default()
        };
        for (name, property) in &schema.properties {
            let below =
                types::of_schema(property, "selfType").and_then(|this| Self::compile(property, &this));
            node.properties.extend(below.map(|below| (name.clone(), Box::new(below))));
        }
        let below = |schema: Option<&Schema>| {
            let schema = schema?;
            Self::compile(schema, &types::of_schema(schema, "selfType")?).map(Box::new)
        };
        node.items = below(schema.items.as_deref());
        node.values = below(schema.values());
        let empty = node.rules.is_empty()
            && node.properties.is_empty()
            && node.items.is_none()
            && node.values.is_none();
        (!empty).then_some(node)
    }
}

impl CompiledRule {
    fn compile(rule: &Rule, schema: &Schema, this: &Type<'_>) -> Self {
        let message = Some(&rule.message_expression).filter(|text| !text.is_empty());
        Self {
            program: Program::compile(&rule.rule, this, Purpose::Rule),
            message: message.and_then(|text| Program::compile(text, this, Purpose::Message).ok()),
            field_path: resolve_field_path(&rule.field_path, schema).map(|path| path.text),
            rule: rule.clone(),
        }
    }

    fn uses_old_self(&self) -> bool {
        self.program.as_ref().is_ok_and(|program| program.uses_old_self)
    }

    /// Name of the rule in errors.
    fn name(&self) -> &str {
        if self.rule.message.is_empty() { self.rule.rule.trim() } else { self.rule.message.trim() }
    }
}

/// The two schemas of a node.
#[derive(Clone, Copy)]
struct Schemas<'a> {
    plain: &'a Schema,
    completed: &'a Schema,
}

impl<'a> Schemas<'a> {
    fn below(self, step: impl Fn(&'a Schema) -> Option<&'a Schema>) -> Option<Self> {
        let completed = step(self.completed)?;
        Some(Self { plain: step(self.plain).unwrap_or(completed), completed })
    }
}

/// Part of an object, its old version, and the nearest enclosing part with a known old version.
#[derive(Clone, Copy)]
struct ObjectPart<'a, 'p> {
    value: &'a Value,
    old: Option<&'a Value>,
    parent: Option<&'p PartChange<'a>>,
}

struct Evaluation {
    budget: Budget,
    verdict: Verdict,
    /// True if an error ended the evaluation of all rules.
    over: bool,
}

impl Evaluation {
    fn node<'a>(&mut self, node: &'a Node, schemas: Schemas<'a>, path: &str, part: ObjectPart<'a, '_>) {
        if part.value.is_null() || self.over {
            return;
        }
        let old = part.old.filter(|old| !old.is_null());
        let change = old.map(|old| PartChange::new(part.value, old, schemas.plain));
        let nearest = change.as_ref().or(part.parent);
        self.rules(node, schemas.completed, path, part.value, old, nearest);
        match part.value {
            Value::Object(entries) => {
                for (name, value) in entries {
                    let (below, step, path) = match (&node.values, node.properties.get(name)) {
                        (Some(values), _) => {
                            (values.as_ref(), schemas.below(Schema::values), format!("{path}[{name}]"))
                        }
                        (None, Some(property)) => {
                            let dot = if path.is_empty() { "" } else { "." };
                            (
                                property.as_ref(),
                                schemas.below(|schema| schema.property(name)),
                                format!("{path}{dot}{name}"),
                            )
                        }
                        (None, None) => continue,
                    };
                    // A change of apiVersion or kind is invisible: versions are converted into each other.
                    let is_type = path == "apiVersion" || path == "kind";
                    let old = old.and_then(|old| old.get(name));
                    if let Some(schemas) = step {
                        self.node(
                            below,
                            schemas,
                            &path,
                            ObjectPart { value, old, parent: nearest.filter(|_| !is_type) },
                        );
                    }
                }
            }
            Value::Array(items) => {
                let (Some(below), Some(of)) = (&node.items, schemas.below(|schema| schema.items.as_deref()))
                else {
                    return;
                };
                let before = old.and_then(Value::as_array).map(|old| OldItems::new(old, schemas.plain));
                for (index, value) in items.iter().enumerate() {
                    let old = before.as_ref().and_then(|before| before.get(value));
                    self.node(
                        below,
                        of,
                        &format!("{path}[{index}]"),
                        ObjectPart { value, old, parent: nearest },
                    );
                }
            }
            _ => {}
        }
    }

    fn rules<'a>(
        &mut self,
        node: &'a Node,
        schema: &'a Schema,
        path: &str,
        value: &'a Value,
        old: Option<&'a Value>,
        change: Option<&PartChange<'a>>,
    ) {
        if node.rules.is_empty() {
            return;
        }
        if self.budget.is_exhausted() {
            let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
            self.end(path, schema, detail);
            return;
        }
        let old = old.filter(|_| node.rules.iter().any(CompiledRule::uses_old_self));
        for rule in &node.rules {
            if self.over || (rule.uses_old_self() && old.is_none()) {
                continue;
            }
            let program = match &rule.program {
                Ok(program) => program,
                Err(problem) => {
                    self.verdict.errors.push(broken(path, schema, &format!("rule compile error: {problem}")));
                    continue;
                }
            };
            match self.run(program, schema, value, old) {
                Ok(Val::Bool(true)) => {}
                Ok(_) => {
                    let error = self.failure(rule, schema, path, value, old);
                    if !program.uses_old_self && change.is_some_and(PartChange::is_none) {
                        self.verdict.warnings.push(error.to_string());
                    } else {
                        self.verdict.errors.push(error);
                    }
                }
                Err(fail) => {
                    if let Some(problem) = fail.message() {
                        self.verdict.errors.push(broken(path, schema, &unevaluated(&problem, rule.name())));
                    } else {
                        let problem = "'operation cancelled: actual cost limit exceeded': no further validation rules will be \
                                   run due to call cost exceeds limit for rule: ";
                        self.end(path, schema, &format!("{problem}{}", rule.name()));
                    }
                }
            }
        }
    }

    fn end(&mut self, path: &str, schema: &Schema, detail: &str) {
        self.verdict.errors.push(broken(path, schema, detail));
        self.over = true;
    }

    fn run<'a>(
        &self,
        program: &'a Program,
        schema: &'a Schema,
        value: &'a Value,
        old: Option<&'a Value>,
    ) -> Result<Val<'a>, Fail> {
        self.budget.next_rule();
        let this = Val::typed(value, schema)?;
        let old = old.map(|old| Val::typed(old, schema)).transpose()?;
        program.run(this, old, &self.budget)
    }

    /// Error of a rule that is not satisfied.
    fn failure<'a>(
        &self,
        rule: &'a CompiledRule,
        schema: &'a Schema,
        path: &str,
        value: &'a Value,
        old: Option<&'a Value>,
    ) -> FieldError {
        let computed =
            rule.message.as_ref().and_then(|message| match self.run(message, schema, value, old) {
                Ok(Val::String(text)) => Some(text.trim().to_owned()),
                _ => None,
            });
        let computed =
            computed.filter(|text| !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n'));
        let detail = computed.unwrap_or_else(|| match rule.rule.message.trim() {
            "" => format!("failed rule: {}", rule.name()),
            message => message.to_owned(),
        });
        let field = match &rule.field_path {
            Some(below) if path.is_empty() => below.clone(),
            Some(below) => format!("{path}.{below}"),
            None => path.to_owned(),
        };
        let value = if matches!(schema.kind.as_str(), "object" | "array") {
            String::new()
        } else {
            format!(": {value}")
        };
        let (cause, message) = match rule.rule.reason.as_deref() {
            Some("FieldValueForbidden") => (CauseType::Forbidden, format!("Forbidden: {detail}")),
            Some("FieldValueRequired") => (CauseType::Required, format!("Required value: {detail}")),
            Some("FieldValueDuplicate") => (CauseType::Duplicate, format!("Duplicate value{value}")),
            _ => (CauseType::Invalid, format!("Invalid value{value}: {detail}")),
        };
        FieldError { cause, field: at(&field), message }
    }
}

/// Message about a rule whose evaluation failed.
fn unevaluated(problem: &str, rule: &str) -> String {
    if problem.starts_with("no such overload") {
        let what = "call arguments did not match a supported operator, function or macro signature";
        return format!("'{problem}': {what} for rule: {rule}");
    }
    format!("{problem} evaluating rule: {rule}")
}

/// The error of a rule that could not be evaluated.
fn broken(path: &str, schema: &Schema, detail: &str) -> FieldError {
    let message = format!("Invalid value: {}: {detail}", json!(schema.kind));
    FieldError { cause: CauseType::Invalid, field: at(path), message }
}

fn at(path: &str) -> String {
    if path.is_empty() { "<nil>" } else { path }.to_owned()
}
