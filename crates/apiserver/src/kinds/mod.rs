//! Table of kinds. Built-in and custom kinds are rows of the same table and differ only in data: one pipeline serves
//! them all.

pub(crate) mod builtin;
pub(crate) mod events;
pub(crate) mod registry;

use std::{fmt, sync::Arc};

use orchestra_cel::{FieldError, Rules};
use serde_json::Value;

use crate::{
    metadata::NameRule,
    schema::{Checker, ScalePaths, Schema},
    store::Revision,
};

/// One kind in one served version.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    reason = "a row of a table, in the words of the API"
)]
pub(crate) struct Kind {
    /// `score.dev`; empty for the core group.
    pub group: String,
    /// `v1`
    pub version: String,
    /// `workloads`
    pub plural: String,
    /// `workload`
    pub singular: String,
    /// `Workload`
    pub kind: String,
    /// `WorkloadList`
    pub list_kind: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
    /// True if its objects are namespaced.
    pub namespaced: bool,
    /// True if it has the subresource `/status`.
    pub status: bool,
    /// Fields of the subresource `/scale`, if it has that.
    pub scale: Option<ScalePaths>,
    /// True for the kind of a CRD.
    pub custom: bool,
    /// Schema of its objects.
    pub schema: Arc<Schema>,
    /// Printer columns.
    pub columns: Vec<Column>,
    /// Fields for field selectors, beside name and namespace: `spec.color`.
    pub selectable: Vec<String>,
    /// Name of the resource in the store, the same for all versions and views.
    pub resource: Arc<str>,
    /// Rule of the names of its objects.
    pub name_rule: NameRule,
    /// True if `metadata.generation` counts changes of the spec.
    pub generation: bool,
    /// True if a PUT may create.
    pub create_on_update: bool,
    /// True if a PUT may leave out the resourceVersion.
    pub unconditional_update: bool,
    /// True if the collection can be deleted.
    pub delete_collection: bool,
    /// True if its objects can only be read.
    pub read_only: bool,
    /// Checks and defaults beside metadata.
    pub checks: Checks,
    /// Conversion to the stored form, if it differs from the served one.
    pub view: Option<events::View>,
    /// Warning for clients of this version.
    pub deprecation: Option<String>,
    /// Fingerprint of the served form. Objects with another stored form are converted when read.
    pub fingerprint: u64,
    /// Fingerprint of the stored form.
    pub stored_fingerprint: u64,
    /// Checker of the storage version, if that is another one.
    pub storage: Option<Arc<Checker>>,
    /// The definition is terminating: nothing can be created.
    pub terminating: bool,
    /// Revision since which this kind is served. Watchers get no earlier changes.
    pub since: Revision,
    /// True if the response to a deletion is the object.
    pub returns_deleted: bool,
    /// Fields that every object of the kind has and no manager owns. Custom kinds have none.
    pub blank: Option<Value>,
    /// Review that a POST is answered with; its objects are not stored.
    pub review: Option<Review>,
    /// Hash that identifies the storage version for clients.
    pub storage_hash: String,
}

/// Kind of review: a question about access in the form of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// User of a token.
    Token,
    /// User of the request.
    SelfSubject,
    /// Access of any user.
    Access,
    /// Access of any user in a namespace.
    LocalAccess,
    /// Access of the user of the request.
    SelfAccess,
    /// Rules of the user of the request in a namespace.
    SelfRules,
}

/// Subresource of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subresource {
    /// `status`, …
    pub name: &'static str,
    /// Its verbs.
    pub verbs: &'static [&'static str],
    /// Group, version and kind of its objects, if they are of another kind.
    pub objects: Option<(&'static str, &'static str, &'static str)>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// Format of the type.
    pub format: String,
    /// Description.
    pub description: String,
    /// Above 0: only in wide output.
    pub priority: i32,
    /// JSON path of the value.
    pub json_path: String,
}

/// Checks and defaults beside metadata.
#[derive(Clone)]
pub(crate) enum Checks {
    /// Schema and rules of a CRD.
    Custom(Arc<Custom>),
    /// Functions of a built-in kind.
    Builtin(&'static builtin::Rules, Arc<Checker>),
}

/// Compiled schema and rules of a CRD.
pub(crate) struct Custom {
    /// Pruning, defaults and validation.
    pub checker: Checker,
    /// Rules in CEL.
    pub rules: Rules,
}

impl Kind {
    /// `score.dev/v1b1`, `v1`
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `workloads.score.dev`, `configmaps`
    pub(crate) fn qualified_plural(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// True if the real server checks preconditions of a deletion first, with another message. It does for kinds
    /// whose contents are deleted first.
    pub(crate) fn checks_preconditions_first(&self) -> bool {
        matches!(&*self.resource, builtin::NAMESPACES | builtin::DEFINITIONS)
    }

    /// Fields that a write to this endpoint ignores, for field ownership.
    pub(crate) fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match (&self.checks, subresource) {
            (_, "") if self.status => &[&["status"]],
            (Checks::Custom(_), "status") => &[&["metadata"], &["spec"]],
            (Checks::Builtin(..), "status") => &[&["spec"]],
            (Checks::Builtin(..), "finalize") => &[&["status"]],
            _ => &[],
        }
    }

    /// The verbs of its collection and objects, as discovery shows them.
    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        if self.review.is_some() {
            return vec!["create"];
        }
        if self.read_only {
            return vec!["get", "list", "watch"];
        }
        let mut verbs =
            vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        if !self.delete_collection {
            verbs.retain(|verb| *verb != "deletecollection");
        }
        if self.custom {
            // The real server lists these in another order for kinds of CRDs.
            verbs = vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        }
        verbs
    }

    /// Its subresources.
    pub(crate) fn subresources(&self) -> Vec<Subresource> {
        let mut subresources = Vec::new();
        if &*self.resource == builtin::NAMESPACES {
            subresources.push(Subresource { name: "finalize", verbs: &["update"], objects: None });
        }
        if self.status {
            let verbs = &["get", "patch", "update"];
            subresources.push(Subresource { name: "status", verbs, objects: None });
        }
        if self.scale.is_some() {
            let objects = Some(("autoscaling", "v1", "Scale"));
            let verbs = &["get", "patch", "update"];
            subresources.push(Subresource { name: builtin::SCALE_PART, verbs, objects });
        }
        if &*self.resource == builtin::SERVICE_ACCOUNTS {
            let objects = Some(("authentication.k8s.io", "v1", "TokenRequest"));
            subresources.push(Subresource { name: builtin::TOKEN, verbs: &["create"], objects });
        }
        subresources
    }

    /// Errors in an object in its served form, after those in its metadata; and warnings.
    pub(crate) fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        part: &str,
        mut errors: Vec<FieldError>,
    ) -> (Vec<FieldError>, Vec<String>) {
        let rules = match &self.checks {
            Checks::Custom(custom) => return custom.validate(object, old, part, errors),
            Checks::Builtin(rules, _) => rules,
        };
        errors.extend(if self.view.is_none() {
            (rules.validate)(object, old)
        } else {
            let stored = old.map(|old| self.to_stored(old.clone()));
            (rules.validate)(&self.to_stored(object.clone()), stored.as_ref())
        });
        let warnings = (rules.warnings)(object, old);
        (errors, warnings)
    }

    /// Sets defaults in an object in its served form. An applied object keeps its nulls, which are refused later.
    pub(crate) fn complete(&self, object: &mut Value, applied: bool) {
        match (&self.checks, &self.view) {
            (Checks::Custom(custom), _) if applied => custom.checker.fill_absent(object),
            (Checks::Custom(custom), _) => custom.checker.fill_defaults(object),
            (Checks::Builtin(rules, _), None) => (rules.defaults)(object),
            (Checks::Builtin(rules, _), Some(view)) => {
                (view.to_stored)(object);
                (rules.defaults)(object);
                (view.from_stored)(object);
            }
        }
    }

    /// Sets the server's fields of a new object, which no manager owns.
    pub(crate) fn on_create(&self, object: &mut Value) {
        if let Checks::Builtin(rules, _) = &self.checks {
            (rules.on_create)(object);
        }
        self.clear_empty_lists(object);
    }

    /// Sets empty lists to null that are null in a [blank](Self::blank) object: a real server stores no empty list.
    pub(crate) fn clear_empty_lists(&self, object: &mut Value) {
        let (Some(Value::Object(blank)), Value::Object(fields)) = (&self.blank, object) else { return };
        for name in blank.iter().filter(|(_, zero)| zero.is_null()).map(|(name, _)| name) {
            if fields.get(name).and_then(Value::as_array).is_some_and(Vec::is_empty) {
                fields.insert(name.clone(), Value::Null);
            }
        }
    }

    /// Object in its stored form.
    pub(crate) fn to_stored(&self, mut object: Value) -> Value {
        if let Some(view) = &self.view {
            (view.to_stored)(&mut object);
        }
        if let Some(storage) = &self.storage {
            storage.prune(&mut object);
            storage.fill_defaults(&mut object);
        }
        object
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Custom(_) => "Custom",
            Self::Builtin(..) => "Builtin",
        })
    }
}

impl Custom {
    fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        part: &str,
        earlier: Vec<FieldError>,
    ) -> (Vec<FieldError>, Vec<String>) {
        let found = match old {
            Some(old) if part == "status" => self.checker.validate_status(object, old, earlier),
            old => self.checker.validate(object, old, earlier),
        };
        let mut errors = found.errors;
        let mut warnings = Vec::new();
        if found.cel && !self.rules.is_empty() {
            let verdict = self.rules.evaluate(object, old);
            errors.extend(verdict.errors);
            warnings.extend(verdict.warnings);
        }
        (errors, warnings)
    }
}

#[cfg(test)]
impl Default for Kind {
    /// Kind with defaults for tests.
    fn default() -> Self {
        let row = builtin::kinds(Revision(0)).swap_remove(0);
        Self {
            group: String::new(),
            version: String::new(),
            plural: String::new(),
            singular: String::new(),
            kind: String::new(),
            list_kind: String::new(),
            short_names: Vec::new(),
            namespaced: false,
            schema: Arc::default(),
            ..row
        }
    }
}
