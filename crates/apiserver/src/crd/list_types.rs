//! Validation of lists that are sets or maps.

use std::collections::HashSet;

use orchestra_cel::FieldError;
use serde_json::json;

use super::openapi::SchemaVisitor;
use super::unsupported::Props;
use crate::schema::Schema;

/// Maximum errors of a list, since every error shows all keys.
const MAX_BAD_KEYS: usize = 100;

impl SchemaVisitor<'_> {
    pub(super) fn list_type(&mut self, props: Props<'_>, path: &str) {
        let schema = props.schema;
        let place = format!("{path}.x-kubernetes-list-type");
        let Some(list_type) = schema.list_type.as_deref() else {
            if !schema.list_map_keys.is_empty() {
                let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
                self.errors.push(FieldError::required(place, detail));
            }
            return;
        };
        if schema.kind != "array" {
            self.wrong_type(schema, path, "array", "x-kubernetes-list-type");
        } else if let ("set", Some(items)) = (list_type, schema.items.as_deref()) {
            let atomic_list = items.list_type.as_deref().is_none_or(|kind| kind == "atomic");
            let atomic_map = items.map_type.as_deref() == Some("atomic");
            let keyword = match items.kind.as_str() {
                "array" if !atomic_list => Some("x-kubernetes-list-type"),
                "object" if !atomic_map => Some("x-kubernetes-map-type"),
                _ => None,
            };
            if let Some(keyword) = keyword {
                let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
                let shown = json!(items.list_type);
                self.errors.push(FieldError::invalid(format!("{path}.items.{keyword}"), &shown, detail));
            }
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let supported = ["atomic", "set", "map"];
            self.errors.push(FieldError::not_supported(place.as_str(), &list_type.into(), supported));
        }
        if !schema.list_map_keys.is_empty() && list_type != "map" {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            self.errors.push(FieldError::invalid_text(place, list_type, detail));
        }
    }

    pub(super) fn item_keys(&mut self, props: Props<'_>, path: &str) {
        let schema = props.schema;
        let list_type = schema.list_type.as_deref();
        let keys = &schema.list_map_keys;
        let place = format!("{path}.x-kubernetes-list-map-keys");
        if list_type == Some("map") {
            if keys.is_empty() {
                let detail = "must not be empty if x-kubernetes-list-type is map";
                self.errors.push(FieldError::required(place.as_str(), detail));
            }
            match schema.items.as_deref() {
                None if props.tuple().is_empty() => {
                    let detail = "must have a schema if x-kubernetes-list-type is map";
                    self.errors.push(FieldError::required(format!("{path}.items"), detail));
                }
                None => {
                    let detail = "must only have a single schema if x-kubernetes-list-type is map";
                    self.errors.push(FieldError::invalid_part(format!("{path}.items"), detail));
                }
                Some(items) if items.kind != "object" => {
                    let detail = "must be object if parent array's x-kubernetes-list-type is map";
                    self.errors.push(FieldError::invalid_text(
                        format!("{path}.items.type"),
                        &items.kind,
                        detail,
                    ));
                }
                Some(items) => self.keys_of_objects(items, keys, path),
            }
        }
        let (Some(list_type @ ("set" | "map")), Some(items)) = (list_type, schema.items.as_deref()) else {
            return;
        };
        if items.nullable {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.errors.push(FieldError::forbidden(format!("{path}.items.nullable"), detail));
        }
        if list_type == "map" {
            self.keys_are_there(items, keys, path);
        }
    }

    fn keys_of_objects(&mut self, items: &Schema, keys: &[String], path: &str) {
        let start = self.errors.len();
        let place = format!("{path}.x-kubernetes-list-map-keys");
        let shown = json!(keys);
        let mut seen = HashSet::new();
        for key in keys {
            let mut bad_keys = |detail| {
                self.errors.push(FieldError::invalid(place.as_str(), &shown, detail));
            };
            let is_new = seen.insert(key);
            if !items.properties.contains_key(key) {
                bad_keys("entries must all be names of item properties");
            }
            if !is_new {
                bad_keys("must not contain duplicate entries");
            }
            let kind = items.property(key).map(|property| property.kind.as_str());
            if let Some("array" | "object") = kind {
                let place = format!("{path}.items.properties[{key}].type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.errors.push(FieldError::invalid_text(place, &items.kind, detail));
            }
            if self.errors.len() - start > MAX_BAD_KEYS {
                return;
            }
        }
    }

    fn keys_are_there(&mut self, items: &Schema, keys: &[String], path: &str) {
        let required: HashSet<&String> = items.required.iter().collect();
        for key in keys {
            let Some(property) = items.property(key) else { continue };
            let place = format!("{path}.items.properties[{key}]");
            if property.default.is_none() && !required.contains(key) {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                              property";
                self.errors.push(FieldError::required(format!("{place}.default"), detail));
            }
            if property.nullable {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.errors.push(FieldError::forbidden(format!("{place}.nullable"), detail));
            }
        }
    }
}
