//! The table of kinds. Built-in kinds and those of CRDs are rows of the same table and differ only in data: one
//! pipeline serves them all.

pub(crate) mod builtin;
pub(crate) mod events;
pub(crate) mod registry;

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{
    cel::Rules,
    field_error::FieldError,
    names::NameRule,
    schema::{Checker, Schema},
    store::Revision,
};

/// One kind in one served version.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    reason = "a row of a table, in the words of the API"
)]
pub struct Kind {
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
    /// What lazy fingers type.
    pub short_names: Vec<String>,
    /// Groups of kinds that are listed together.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether `/status` is written apart.
    pub status: bool,
    /// Whether a CRD made it.
    pub custom: bool,
    /// What its objects look like.
    pub schema: Arc<Schema>,
    /// What `kubectl get` shows.
    pub columns: Vec<Column>,
    /// Fields that field selectors know, beside name and namespace: `spec.color`.
    pub selectable: Vec<String>,
    /// Under this name the store keeps its objects, whatever version or view is asked for.
    pub resource: Arc<str>,
    /// What names its objects may have.
    pub name_rule: NameRule,
    /// Whether `metadata.generation` counts changes of what is wanted.
    pub generation: bool,
    /// Whether a PUT may create.
    pub create_on_update: bool,
    /// Whether a PUT may leave out the resourceVersion.
    pub unconditional_update: bool,
    /// Whether all objects can be deleted at once.
    pub delete_collection: bool,
    /// What is checked and filled in beside metadata.
    pub checks: Checks,
    /// How it is kept, if not as it is seen.
    pub view: Option<events::View>,
    /// A warning for everyone who uses this version.
    pub deprecation: Option<String>,
    /// The shape in which this kind shows objects. Objects that are kept in another one are converted when read.
    pub fingerprint: u64,
    /// The shape in which its objects are kept.
    pub stored_fingerprint: u64,
    /// The version that objects are kept in, if it is another one.
    pub storage: Option<Arc<Checker>>,
    /// The definition is being deleted: nothing can be created.
    pub terminating: bool,
    /// Changes before this one are not told to watchers of this kind: it was not served then.
    pub since: Revision,
    /// Whether a deletion is answered with the object.
    pub returns_deleted: bool,
    /// What an object is before anything is said of it; nobody owns that. Kinds of CRDs have none.
    pub blank: Option<Value>,
    /// A hash that clients use to tell storage formats apart.
    pub storage_hash: String,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// A finer type.
    pub format: String,
    /// Words for people.
    pub description: String,
    /// Above 0: only in wide output.
    pub priority: i32,
    /// Where the value is.
    pub json_path: String,
}

/// What is checked and filled in beside metadata.
#[derive(Clone)]
pub enum Checks {
    /// By the schema and rules of a CRD.
    Custom(Arc<Custom>),
    /// By functions of ours.
    Builtin(&'static builtin::Rules, Arc<Checker>),
}

/// What a CRD says about its objects, ready for use.
pub struct Custom {
    /// Pruning, defaults and validation.
    pub checker: Checker,
    /// Rules in CEL.
    pub rules: Rules,
}

impl Kind {
    /// `score.dev/v1b1`, `v1`
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `workloads.score.dev`, `configmaps`
    pub fn qualified_plural(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether the real server looks at the conditions of a deletion before anything else. It does for the kinds that
    /// are emptied first, and says it in other words.
    pub fn checks_first(&self) -> bool {
        matches!(&*self.resource, builtin::NAMESPACES | builtin::DEFINITIONS)
    }

    /// The fields that a write to this endpoint leaves alone, for field ownership.
    pub fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match (&self.checks, subresource) {
            (_, "") if self.status => &[&["status"]],
            (Checks::Custom(_), "status") => &[&["metadata"], &["spec"]],
            (Checks::Builtin(..), "status") => &[&["spec"]],
            (Checks::Builtin(..), "finalize") => &[&["status"]],
            _ => &[],
        }
    }

    /// The verbs of its collection and objects, as discovery shows them.
    pub fn verbs(&self) -> Vec<&'static str> {
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

    /// Its subresources and their verbs.
    pub fn subresources(&self) -> Vec<(&'static str, &'static [&'static str])> {
        let mut subresources: Vec<(&str, &[&str])> = Vec::new();
        if &*self.resource == builtin::NAMESPACES {
            subresources.push(("finalize", &["update"]));
        }
        if self.status {
            subresources.push(("status", &["get", "patch", "update"]));
        }
        subresources
    }

    /// The mistakes in an object as it is shown, after those in its metadata; and warnings.
    pub fn validate(
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

    /// Fills in what is absent in an object as it is shown. What was applied keeps its nulls, to be refused.
    pub fn complete(&self, object: &mut Value, applied: bool) {
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

    /// Gives a new object what the server adds and nobody owns.
    pub fn born(&self, object: &mut Value) {
        if let Checks::Builtin(rules, _) = &self.checks {
            (rules.born)(object);
        }
    }

    /// An object as it is kept.
    pub fn to_stored(&self, mut object: Value) -> Value {
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
    /// A kind of which a test says only what it is about.
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
