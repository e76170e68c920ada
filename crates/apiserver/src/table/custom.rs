//! Tables of custom kinds: the name, then the printer columns of the CRD.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{JsonPath, age};
use crate::{
    json::{text, truncate},
    kinds::{Column, Kind},
};

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
    resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
    intended for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. \
    It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this \
    value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. \
    More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The table of a custom kind, with its paths parsed once for all rows.
pub(super) struct Table<'a> {
    columns: Vec<(Cow<'a, Column>, JsonPath)>,
}

impl<'a> Table<'a> {
    /// Table of a custom kind. A CRD without columns shows the age. A column with an invalid path ends the table.
    pub(super) fn of(kind: &'a Kind) -> Self {
        let columns: Vec<Cow<'a, Column>> = if kind.columns.is_empty() {
            vec![Cow::Owned(age_column())]
        } else {
            kind.columns.iter().map(Cow::Borrowed).collect()
        };
        let parsed = columns.into_iter().map_while(|column| {
            let path = JsonPath::parse(&column.json_path).ok()?;
            Some((column, path))
        });
        Self { columns: parsed.collect() }
    }

    pub(super) fn columns(&self) -> Value {
        let name = definition("Name", "string", "name", NAME, 0);
        std::iter::once(name).chain(self.columns.iter().map(|(column, _)| described(column))).collect()
    }

    pub(super) fn cells(&self, object: &Value, now: i64) -> Vec<Value> {
        let name = json!(object["metadata"]["name"].as_str().unwrap_or(""));
        let others = self.columns.iter().map(|(column, path)| match path.first(object) {
            Some(value) => cell(&column.kind, &value, now),
            None => Value::Null,
        });
        std::iter::once(name).chain(others).collect()
    }
}

fn age_column() -> Column {
    Column {
        name: "Age".to_owned(),
        kind: "date".to_owned(),
        description: CREATED.to_owned(),
        json_path: ".metadata.creationTimestamp".to_owned(),
        ..Column::default()
    }
}

fn described(column: &Column) -> Value {
    let made_up;
    let description = if column.description.is_empty() {
        made_up = format!("Custom resource definition column (in JSONPath format): {}", column.json_path);
        &made_up
    } else {
        &column.description
    };
    definition(&column.name, &column.kind, &column.format, description, column.priority)
}

fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i32) -> Value {
    json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
}

/// Cell of a column type; null if the value does not fit.
fn cell(kind: &str, value: &Value, now: i64) -> Value {
    match (kind, value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("string", Value::Null) => json!("<no value>"),
        ("string", value) => json!(text(value)),
        ("integer", Value::Number(number)) => number.as_i64().or(number.as_f64().map(truncate)).into(),
        ("number", Value::Number(number)) => number.as_f64().map_or(Value::Null, plain),
        ("date", Value::String(text)) => json!(age::since(text, now)),
        _ => Value::Null,
    }
}

/// JSON of a float, without an empty fraction.
fn plain(number: f64) -> Value {
    let whole = truncate(number);
    #[allow(clippy::cast_precision_loss, reason = "a number that is lost is not the same number")]
    if whole != i64::MIN && (whole as f64).to_bits() == number.to_bits() {
        json!(whole)
    } else {
        json!(number)
    }
}
