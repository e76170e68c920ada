//! Tables: the format that `kubectl get` requests, with columns and cells.
//!
//! The server chooses the columns, so that a client can print kinds it does not know. A custom kind has its
//! `additionalPrinterColumns`; the built-in kinds have columns of their own.

mod age;
mod builtin;
mod custom;
pub(crate) mod jsonpath;

use serde_json::{Value, json};

use crate::kinds::Kind;
pub(crate) use jsonpath::JsonPath;

/// Part of the object that a row carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    /// Nothing.
    None,
    /// The metadata, as a `PartialObjectMetadata`.
    Metadata,
    /// The whole object.
    Object,
}

/// The `columnDefinitions` of a kind.
#[cfg(test)]
fn columns(kind: &Kind) -> Value {
    Printer::of(kind).columns()
}

/// The cells of one object, one for each column. Ages are relative to `now`, in seconds of Unix time.
#[cfg(test)]
fn row(kind: &Kind, object: &Value, now: i64) -> Vec<Value> {
    Printer::of(kind).cells(object, now)
}

/// A `Table` of these objects. `list_metadata` is the metadata of the list they come from (`resourceVersion`,
/// `continue`, `remainingItemCount`), or of the object itself, whose `resourceVersion` is shown. Only the
/// first event of a watch is sent `with_columns`.
pub(crate) fn table(
    kind: &Kind,
    objects: &[Value],
    list_metadata: &Value,
    include: Include,
    with_columns: bool,
    now: i64,
) -> Value {
    let printer = Printer::of(kind);
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| json!({ "cells": printer.cells(object, now), "object": included(object, include) }))
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": shown_metadata(list_metadata),
        "columnDefinitions": if with_columns { printer.columns() } else { Value::Null },
        "rows": if rows.is_empty() { printer.no_rows() } else { Value::Array(rows) },
    })
}

/// Printer of the objects of a kind.
enum Printer<'a> {
    Builtin(builtin::Table),
    Custom(custom::Table<'a>),
}

impl<'a> Printer<'a> {
    fn of(kind: &'a Kind) -> Self {
        if kind.custom {
            Self::Custom(custom::Table::of(kind))
        } else {
            Self::Builtin(builtin::Table::of(kind))
        }
    }

    fn columns(&self) -> Value {
        match self {
            Self::Builtin(table) => table.columns(),
            Self::Custom(table) => table.columns(),
        }
    }

    fn cells(&self, object: &Value, now: i64) -> Vec<Value> {
        match self {
            Self::Builtin(table) => table.cells(object, now),
            Self::Custom(table) => table.cells(object, now),
        }
    }

    /// Rows of an empty table: null for a kind without its own cells, as on the real server.
    fn no_rows(&self) -> Value {
        match self {
            Self::Builtin(table) if table.is_generic() => Value::Null,
            _ => json!([]),
        }
    }
}

fn included(object: &Value, include: Include) -> Value {
    match include {
        Include::None => Value::Null,
        Include::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": object["metadata"],
        }),
        Include::Object => object.clone(),
    }
}

fn shown_metadata(metadata: &Value) -> Value {
    ["resourceVersion", "continue", "remainingItemCount"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), metadata.get(key).filter(|value| *value != "")?.clone())))
        .collect()
}

#[cfg(test)]
mod tests;
