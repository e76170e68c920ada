#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use serde_json::{Value, json};

use super::*;
use crate::kinds::Column;

fn column(kind: &str, path: &str) -> Column {
    Column { name: path.to_owned(), kind: kind.to_owned(), json_path: path.to_owned(), ..Column::default() }
}

fn custom(columns: Vec<Column>) -> Kind {
    Kind { custom: true, kind: "Thing".to_owned(), columns, ..Kind::default() }
}

fn builtin(group: &str, kind: &str) -> Kind {
    Kind { group: group.to_owned(), version: "v1".to_owned(), kind: kind.to_owned(), ..Kind::default() }
}

fn names(columns: &Value) -> Vec<&str> {
    columns.as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect()
}

#[test]
fn a_kind_without_columns_shows_its_age() {
    let kind = custom(Vec::new());
    assert_eq!(names(&columns(&kind)), ["Name", "Age"]);
    let object = json!({ "metadata": { "name": "a", "creationTimestamp": "1970-01-01T00:00:00Z" } });
    assert_eq!(row(&kind, &object, 150), [json!("a"), json!("2m30s")]);
}

#[test]
fn a_column_without_a_description_shows_its_path() {
    let own = Column { description: "own".to_owned(), priority: 1, ..column("string", ".b") };
    let columns = columns(&custom(vec![column("string", ".a"), own]));
    let description = "Custom resource definition column (in JSONPath format): .a";
    let expected =
        json!({ "name": ".a", "type": "string", "format": "", "description": description, "priority": 0 });
    assert_eq!(columns[1], expected);
    assert_eq!((&columns[2]["description"], &columns[2]["priority"]), (&json!("own"), &json!(1)));
}

#[test]
fn an_invalid_path_ends_the_table() {
    let kind = custom(vec![column("string", ".a"), column("string", ".b["), column("string", ".c")]);
    assert_eq!(names(&columns(&kind)), ["Name", ".a"]);
    assert_eq!(
        row(&kind, &json!({ "metadata": { "name": "n" }, "a": "x", "c": "y" }), 0),
        [json!("n"), json!("x")]
    );
}

#[test]
fn a_cell_has_the_type_of_its_column_or_is_null() {
    let values = json!({
        "text": "t", "whole": 3, "float": 2.5, "large": 1_234_567.5, "small": 0.000_012_34, "truth": true, "null": null,
        "list": [1, "<"], "time": "1970-01-01T00:00:00Z",
    });
    for (path, string, integer, number, boolean, date) in [
        (".text", json!("t"), json!(null), json!(null), json!(null), json!("<invalid>")),
        (".whole", json!("3"), json!(3), json!(3), json!(null), json!(null)),
        (".float", json!("2.5"), json!(2), json!(2.5), json!(null), json!(null)),
        (".large", json!("1234567.5"), json!(1_234_567), json!(1_234_567.5), json!(null), json!(null)),
        (".small", json!("0.00001234"), json!(0), json!(0.000_012_34), json!(null), json!(null)),
        (".truth", json!("true"), json!(null), json!(null), json!(true), json!(null)),
        (".null", json!("<no value>"), json!(null), json!(null), json!(null), json!(null)),
        (".list", json!("[1,\"<\"]"), json!(null), json!(null), json!(null), json!(null)),
        (".list[*]", json!("1"), json!(1), json!(1), json!(null), json!(null)),
        (".time", json!("1970-01-01T00:00:00Z"), json!(null), json!(null), json!(null), json!("60s")),
        (".missing", json!(null), json!(null), json!(null), json!(null), json!(null)),
    ] {
        let types = ["string", "integer", "number", "boolean", "date"];
        let kind = custom(types.iter().map(|kind| column(kind, path)).collect());
        assert_eq!(row(&kind, &values, 60)[1..], [string, integer, number, boolean, date], "{path}");
    }
}

#[test]
fn a_row_includes_the_requested_part_of_its_object() {
    let kind = builtin("", "ConfigMap");
    let object = json!({ "metadata": { "name": "a" }, "data": { "k": "v" }, "binaryData": { "b": "" } });
    let partial = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": { "name": "a" } });
    for (include, carried) in
        [(Include::None, Value::Null), (Include::Metadata, partial), (Include::Object, object.clone())]
    {
        let list =
            json!({ "resourceVersion": "7", "continue": "", "remainingItemCount": 2, "selfLink": "x" });
        let table = table(&kind, &object, &list, include, 0);
        assert_eq!(table["rows"], json!([{ "cells": ["a", 2, "<unknown>"], "object": carried }]));
        assert_eq!(table["metadata"], json!({ "resourceVersion": "7", "remainingItemCount": 2 }));
        assert_eq!(names(&table["columnDefinitions"]), ["Name", "Data", "Age"]);
    }
}

#[test]
fn crds_show_their_creation_time_and_empty_rows_are_null() {
    let kind = builtin("apiextensions.k8s.io", "CustomResourceDefinition");
    let crd = json!({ "metadata": { "name": "a.b", "creationTimestamp": "2026-11-16T00:38:46Z" } });
    assert_eq!(row(&kind, &crd, 0), [json!("a.b"), json!("2026-11-16T00:38:46Z")]);
    assert_eq!(Rows::of(&kind, Include::None, 0).none(), Value::Null);
    assert_eq!(Rows::of(&builtin("", "Secret"), Include::None, 0).none(), json!([]));
}
