//! Validation of a whole definition, in the order of a real server.
//!
//! Parts that all versions share are reported below `spec`, as in `spec.validation`; others below `spec.versions[0]`.

use std::collections::HashSet;

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::default_values;
use super::definition::{Crd, SchemaSource, Version};
use super::openapi::{CheckRule, SchemaVisitor};
use super::unsupported::Props;
use super::{approval, decode, kind_names, status_root, structural, versions};
use crate::metadata::{dns1035_label, dns1123_subdomain};
use crate::schema::Schema;

/// Checks a new definition, or the update of an old one. A definition that cannot be decoded has one error, that of
/// [`decode`](super::decode).
pub(crate) fn validate(crd: &Value, old: Option<&Value>, check_rule: CheckRule<'_>) -> Vec<FieldError> {
    let old = old.map(decode::decode).transpose();
    match (decode::decode(crd), old) {
        (Ok(crd), Ok(old)) => Validation::new(&crd, old.as_ref(), check_rule).run(),
        (Err(problem), _) | (_, Err(problem)) => vec![FieldError::invalid(
            "<nil>",
            &Value::Null,
            format!("CustomResourceDefinition cannot be decoded: {problem}"),
        )],
    }
}

/// Parts that are the same in all versions.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub(super) struct Shared {
    pub(super) schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Shared {
    pub(super) fn new(crd: &Crd) -> Self {
        let same = |equal: &dyn Fn(&Version, &Version) -> bool| {
            crd.versions.first().is_none_or(|first| crd.versions.iter().all(|version| equal(first, version)))
        };
        Self {
            schema: same(&|first, other| schema_of(first) == schema_of(other)),
            subresources: same(&|first, other| first.subresources == other.subresources),
            columns: same(&|first, other| first.columns == other.columns),
            selectable: same(&|first, other| first.selectable_fields == other.selectable_fields),
        }
    }
}

fn schema_of(version: &Version) -> Option<&Schema> {
    version.schema.as_ref().map(|source| &source.schema)
}

struct Validation<'a> {
    crd: &'a Crd,
    old: Option<&'a Crd>,
    check_rule: CheckRule<'a>,
    shared: Shared,
    errors: Vec<FieldError>,
}

impl<'a> Validation<'a> {
    fn new(crd: &'a Crd, old: Option<&'a Crd>, check_rule: CheckRule<'a>) -> Self {
        Self { crd, old, check_rule, shared: Shared::new(crd), errors: Vec::new() }
    }

    fn run(mut self) -> Vec<FieldError> {
        if self.old.is_none() {
            self.name();
        }
        self.group_and_scope();
        self.check_schemas_present();
        self.versions();
        self.names();
        self.shared_parts();
        self.conversion();
        self.immutable_fields();
        kind_names::check(&self.crd.accepted_names, "status.acceptedNames", &mut self.errors);
        self.stored_versions();
        self.errors.extend(approval::missing(self.crd, self.old));
        if self.crd.preserve_unknown_fields {
            let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                          instead";
            self.errors.push(FieldError::invalid("spec.preserveUnknownFields", &Value::Bool(true), detail));
        }
        self.errors
    }

    fn name(&mut self) {
        let name = &self.crd.name;
        if name.is_empty() {
            return self
                .errors
                .push(FieldError::required("metadata.name", "name or generateName is required"));
        }
        let mut problems = dns1123_subdomain(name);
        if *name != format!("{}.{}", self.crd.names.plural, self.crd.group) {
            problems.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        self.errors
            .extend(problems.iter().map(|problem| FieldError::invalid_text("metadata.name", name, problem)));
    }

    fn group_and_scope(&mut self) {
        let group = &self.crd.group;
        let problems = dns1123_subdomain(group);
        if group.is_empty() {
            self.errors.push(FieldError::required("spec.group", ""));
        } else if !problems.is_empty() {
            self.errors.push(FieldError::invalid_text("spec.group", group, problems.join(",")));
        } else if !group.contains('.') {
            self.errors.push(FieldError::invalid_text(
                "spec.group",
                group,
                "should be a domain with at least one dot",
            ));
        }
        match self.crd.scope.as_str() {
            "" => self.errors.push(FieldError::required("spec.scope", "")),
            "Cluster" | "Namespaced" => {}
            other => {
                self.errors.push(FieldError::not_supported(
                    "spec.scope",
                    &other.into(),
                    ["Cluster", "Namespaced"],
                ));
            }
        }
    }

    fn check_schemas_present(&mut self) {
        for (index, version) in self.crd.versions.iter().enumerate() {
            if version.schema.is_none() {
                let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
                self.errors.push(FieldError::required(path, ""));
            }
        }
        let has_defaults = |source: &SchemaSource| has_defaults(&source.schema);
        if self.crd.preserve_unknown_fields
            && self.crd.versions.iter().filter_map(|v| v.schema.as_ref()).any(has_defaults)
        {
            let detail = "must be false in order to use defaults in the schema";
            self.errors.push(FieldError::invalid("spec.preserveUnknownFields", &Value::Bool(true), detail));
        }
    }

    fn versions(&mut self) {
        for (index, version) in self.crd.versions.iter().enumerate() {
            let path = format!("spec.versions[{index}]");
            let problems = dns1035_label(&version.name);
            if !problems.is_empty() {
                let path = format!("{path}.name");
                self.errors.push(FieldError::invalid_text(path, &version.name, problems.join(",")));
            }
            versions::check_warning(version, &path, &mut self.errors);
            if let Some(source) = version.schema.as_ref().filter(|_| !self.shared.schema) {
                let status = version.subresources.as_ref().is_some_and(|subresources| subresources.status);
                self.schema(source, &format!("{path}.schema"), status);
            }
            if !self.shared.subresources {
                let path = format!("{path}.subresources");
                versions::check_subresources(version.subresources.as_ref(), &path, &mut self.errors);
            }
            if !self.shared.columns {
                versions::check_columns(&version.columns, &path, &mut self.errors);
            }
            if !self.shared.selectable {
                self.selectable_fields(version, &path);
            }
        }
        let all = &self.crd.versions;
        let mut names = HashSet::new();
        let unique = all.iter().all(|version| names.insert(&version.name));
        if !unique {
            self.push_versions_error("must contain unique version names");
        }
        if all.iter().filter(|version| version.storage).count() != 1 {
            self.push_versions_error("must have exactly one version marked as storage version");
        }
        if let Some(first) = all.first().filter(|first| !first.name.is_empty()) {
            let problems = dns1035_label(&first.name);
            if !problems.is_empty() {
                self.errors.push(FieldError::invalid_text("spec.version", &first.name, problems.join(",")));
            }
        }
    }

    fn selectable_fields(&mut self, version: &Version, path: &str) {
        if version.selectable_fields.is_empty() {
            return;
        }
        if let Some(source) = &version.schema {
            versions::check_selectable(source, &version.selectable_fields, path, &mut self.errors);
            return;
        }
        let detail = if path == "spec" {
            "may only be set when validations.schema is included"
        } else {
            "may only be set when `schema.openAPIV3Schema` is included"
        };
        self.errors.push(FieldError::invalid_text(format!("{path}.selectableFields"), "", detail));
    }

    fn push_versions_error(&mut self, detail: &str) {
        self.errors.push(FieldError::invalid_part("spec.versions", detail));
    }

    fn names(&mut self) {
        let names = &self.crd.names;
        for (field, name) in [
            ("plural", &names.plural),
            ("singular", &names.singular),
            ("kind", &names.kind),
            ("listKind", &names.list_kind),
        ] {
            if name.is_empty() {
                self.errors.push(FieldError::required(format!("spec.names.{field}"), ""));
            }
        }
        kind_names::check(names, "spec.names", &mut self.errors);
    }

    fn shared_parts(&mut self) {
        let Some(first) = self.crd.versions.first() else { return };
        if let Some(source) = first.schema.as_ref().filter(|_| self.shared.schema) {
            let status = |version: &Version| {
                version.subresources.as_ref().is_some_and(|subresources| subresources.status)
            };
            self.schema(source, "spec.validation", self.crd.versions.iter().any(status));
        }
        if self.shared.subresources {
            versions::check_subresources(first.subresources.as_ref(), "spec.subresources", &mut self.errors);
        }
        if self.shared.columns {
            versions::check_columns(&first.columns, "spec", &mut self.errors);
        }
        if self.shared.selectable {
            self.selectable_fields(first, "spec");
        }
    }

    /// Checks a schema; `path` is that of the object around it.
    fn schema(&mut self, source: &SchemaSource, path: &str, has_status: bool) {
        let root = Props { schema: &source.schema, raw: &source.raw };
        let path = format!("{path}.openAPIV3Schema");
        let mut errors = Vec::new();
        if has_status {
            errors.extend(status_root::error(root, &path));
        }
        if source.schema.nullable {
            errors.push(FieldError::forbidden(
                format!("{path}.nullable"),
                "nullable cannot be true at the root",
            ));
        }
        let obstacle = root.obstacle();
        let mut with_rules = false;
        if obstacle.is_none() {
            let mut found = structural::errors(&source.schema, &path);
            if found.is_empty() {
                found = default_values::errors(&source.schema, &path, self.check_rule);
            }
            with_rules = found.is_empty();
            errors.extend(found);
        }
        let mut visitor = SchemaVisitor {
            source,
            check_rule: self.check_rule,
            errors: Vec::new(),
            rule_errors: Vec::new(),
        };
        visitor.run(&path, with_rules);
        errors.append(&mut visitor.errors);
        errors.append(&mut visitor.rule_errors);
        if let Some(obstacle) = obstacle.filter(|_| errors.is_empty()) {
            errors.push(FieldError::invalid_text(path.as_str(), "", obstacle));
        }
        self.errors.append(&mut errors);
    }

    fn conversion(&mut self) {
        let Some(conversion) = &self.crd.conversion else { return };
        let path = "spec.conversion.strategy";
        match conversion.strategy.as_str() {
            "None" => {}
            "" => self.errors.push(FieldError::required(path, "")),
            "Webhook" => {
                let detail = "this server does not call conversion webhooks, use None";
                return self.errors.push(FieldError::forbidden(path, detail));
            }
            other => self.errors.push(FieldError::not_supported(path, &other.into(), ["None", "Webhook"])),
        }
        for (is_set, field) in [
            (conversion.has_client_config, "webhookClientConfig"),
            (conversion.has_review_versions, "conversionReviewVersions"),
        ] {
            if is_set {
                let detail = "should not be set when strategy is not set to Webhook";
                self.errors.push(FieldError::forbidden(format!("spec.conversion.{field}"), detail));
            }
        }
    }

    fn immutable_fields(&mut self) {
        let (Some(old), new) = (self.old, self.crd) else { return };
        for (field, new, old, applies) in [
            ("spec.scope", &new.scope, &old.scope, old.established),
            ("spec.names.kind", &new.names.kind, &old.names.kind, old.established),
            ("spec.group", &new.group, &old.group, true),
            ("spec.names.plural", &new.names.plural, &old.names.plural, true),
        ] {
            if applies && new != old {
                self.errors.push(FieldError::invalid_text(field, new, "field is immutable"));
            }
        }
    }

    /// Checks that all stored versions are still defined.
    fn stored_versions(&mut self) {
        let versions = &self.crd.versions;
        let mut stored = self.old.map(|old| old.stored_versions.clone()).unwrap_or_default();
        if let Some(storage) = versions.iter().find(|version| version.storage)
            && !stored.contains(&storage.name)
        {
            stored.push(storage.name.clone());
        }
        let path = "status.storedVersions";
        if stored.is_empty() {
            let detail = "must have at least one stored version";
            return self.errors.push(FieldError::invalid(path, &Value::Null, detail));
        }
        for version in versions.iter().filter(|version| version.storage && !stored.contains(&version.name)) {
            let detail = format!("must have the storage version {}", version.name);
            self.errors.push(FieldError::invalid(path, &json!(stored), detail));
        }
        for (index, name) in stored.iter().enumerate() {
            if versions.iter().all(|version| version.name != *name) {
                let detail = format!(
                    "missing from spec.versions; {name} was previously a storage version, and must remain in \
                     spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
                     {name} from status.storedVersions"
                );
                self.errors.push(FieldError::invalid_text(format!("{path}[{index}]"), name, detail));
            }
        }
    }
}

fn has_defaults(schema: &Schema) -> bool {
    let nested =
        schema.all_of.iter().chain(&schema.any_of).chain(&schema.one_of).chain(schema.not.as_deref());
    let below = schema.items.as_deref().into_iter().chain(schema.declared()).chain(schema.values());
    schema.default.is_some() || nested.chain(below).any(has_defaults)
}
