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

/// A `Table` with one object. `metadata` is that of the object, whose `resourceVersion` is shown. Only the first event of a
/// watch is sent with columns.
pub(crate) fn table(kind: &Kind, object: &Value, metadata: &Value, include: Include, now: i64) -> Value {
    let rows = Rows::of(kind, include, now);
    let mut table = rows.head(metadata);
    table["rows"] = json!([rows.row(object)]);
    table
}

/// Rows of a table.
pub(crate) struct Rows<'a> {
    printer: Printer<'a>,
    include: Include,
    now: i64,
}

impl<'a> Rows<'a> {
    /// Rows of objects of a kind.
    pub(crate) fn of(kind: &'a Kind, include: Include, now: i64) -> Self {
        Self { printer: Printer::of(kind), include, now }
    }

    /// Table without rows. `metadata` is that of the list (`resourceVersion`, `continue`, `remainingItemCount`).
    pub(crate) fn head(&self, metadata: &Value) -> Value {
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": shown_metadata(metadata),
            "columnDefinitions": self.printer.columns(),
        })
    }

    /// Row of an object.
    pub(crate) fn row(&self, object: &Value) -> Value {
        json!({
            "cells": self.printer.cells(object, self.now),
            "object": included(object, self.include),
        })
    }

    /// Rows of an empty table.
    pub(crate) fn none(&self) -> Value {
        self.printer.no_rows()
    }
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
