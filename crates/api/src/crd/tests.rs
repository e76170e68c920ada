//! Properties of the CRDs that users and API servers rely on.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use super::*;

fn schema(definition: &CustomResourceDefinition) -> &JSONSchemaProps {
    let schema = definition.spec.versions[0].schema.as_ref().unwrap();
    schema.open_api_v3_schema.as_ref().unwrap()
}

/// Calls `visit` with the path of every schema of every CRD.
fn each_schema(visit: &mut dyn FnMut(&str, &JSONSchemaProps)) {
    for definition in all() {
        below(&definition.spec.names.kind, schema(&definition), visit);
    }
}

fn below(path: &str, schema: &JSONSchemaProps, visit: &mut dyn FnMut(&str, &JSONSchemaProps)) {
    visit(path, schema);
    for (name, property) in schema.properties.iter().flatten() {
        below(&format!("{path}.{name}"), property, visit);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        below(&format!("{path}[]"), items, visit);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &schema.additional_properties {
        below(&format!("{path}.*"), values, visit);
    }
}

/// Paths of the schemas that satisfy a predicate.
fn paths(predicate: impl Fn(&JSONSchemaProps) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    each_schema(&mut |path, schema| {
        if predicate(schema) {
            found.push(path.to_owned());
        }
    });
    found
}

#[test]
fn no_field_is_nullable() {
    let null = |schema: &JSONSchemaProps| {
        schema.nullable.is_some() || schema.enum_.iter().flatten().any(|word| word.0.is_null())
    };
    assert_eq!(paths(null), [""; 0]);
}

#[test]
fn every_format_is_supported_by_api_servers() {
    let known = [None, Some("int32"), Some("int64"), Some("date-time")];
    assert_eq!(paths(|schema| !known.contains(&schema.format.as_deref())), [""; 0]);
}

#[test]
fn every_integer_is_bounded_by_its_type() {
    let unbounded = |schema: &JSONSchemaProps| {
        schema.type_.as_deref() == Some("integer")
            && schema.format.as_deref() != Some("int64")
            && (schema.minimum.is_none() || schema.maximum.is_none())
    };
    assert_eq!(paths(unbounded), [""; 0]);
}

#[test]
fn collections_have_no_defaults() {
    let filled = |schema: &JSONSchemaProps| {
        schema.default.as_ref().is_some_and(|default| default.0.is_array() || default.0.is_object())
    };
    assert_eq!(paths(filled), [""; 0]);
    let of_workloads = paths(|schema| schema.default.is_some());
    assert!(!of_workloads.iter().any(|path| path.starts_with("Workload.")), "{of_workloads:?}");
}

#[test]
fn every_field_has_a_description() {
    let mut undescribed = Vec::new();
    each_schema(&mut |path, schema| {
        for (name, property) in schema.properties.iter().flatten() {
            let text = property.description.as_deref().unwrap_or_default();
            let is_sentence = text.ends_with('.') && !text.contains("[`") && !text.contains(" \n");
            // Servers set the description of an object's metadata themselves.
            if !is_sentence && format!("{path}.{name}") != "Workload.metadata" {
                undescribed.push(format!("{path}.{name}: {text}"));
            }
        }
    });
    assert_eq!(undescribed, [""; 0]);
}

#[test]
fn free_form_maps_preserve_unknown_fields() {
    let open = paths(|schema| schema.x_kubernetes_preserve_unknown_fields == Some(true));
    assert_eq!(
        open,
        [
            "Workload.spec.metadata",
            "Workload.spec.resources.*.metadata",
            "Workload.spec.resources.*.params",
            "ResourceClaim.spec.metadata",
            "ResourceClaim.spec.params",
            "ResourceClaim.status.outputs.*.value",
            "WorkloadPlan.spec.values",
        ]
    );
    let pruned = paths(|schema| matches!(schema.additional_properties, Some(JSONSchemaPropsOrBool::Bool(_))));
    assert_eq!(pruned, [""; 0]);
}

#[test]
fn choices_free_form_maps_and_lists_are_atomic() {
    let choices = |schema: &JSONSchemaProps| {
        let has_choice = schema.x_kubernetes_validations.iter().flatten().any(|rule| {
            rule.message.as_deref().is_some_and(|message| message.contains("one of content"))
                || rule.rule.starts_with("has(self.httpGet)")
        });
        has_choice || schema.x_kubernetes_preserve_unknown_fields == Some(true) && schema.type_.is_some()
    };
    let atomic = |schema: &JSONSchemaProps| schema.x_kubernetes_map_type.as_deref() == Some("atomic");
    assert_eq!(paths(choices).len(), 9);
    assert_eq!(paths(|schema| choices(schema) && !atomic(schema)), [""; 0]);
    let lists = |schema: &JSONSchemaProps| schema.type_.as_deref() == Some("array");
    assert_eq!(paths(|schema| lists(schema) && schema.x_kubernetes_list_type.is_none()), [""; 0]);
}

#[test]
fn amounts_have_the_patterns_of_score() {
    let cpu = score::amount_pattern("cpu").unwrap();
    let memory = score::amount_pattern("memory").unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    each_schema(&mut |path, schema| {
        if let Some(pattern) = schema.pattern.as_ref().filter(|pattern| [&cpu, &memory].contains(pattern)) {
            found.entry(pattern.clone()).or_default().push(path.to_owned());
        }
    });
    assert!(found[&cpu].iter().all(|path| path.rsplit('.').next() == Some("cpu")), "{found:?}");
    assert!(found[&memory].iter().all(|path| path.rsplit('.').next() == Some("memory")), "{found:?}");
    assert_eq!((found[&cpu].len(), found[&memory].len()), (10, 10), "{found:?}");
}

#[test]
fn kinds_have_stable_names_and_printer_columns() {
    let text = |list: &Option<Vec<String>>| list.clone().unwrap_or_default().join(",");
    let found: Vec<String> = all()
        .iter()
        .map(|definition| {
            let spec = &definition.spec;
            let columns: Vec<_> = spec.versions[0].additional_printer_columns.iter().flatten().collect();
            format!(
                "{} {} {} {} {} {}",
                definition.metadata.name.as_deref().unwrap(),
                spec.versions[0].name,
                spec.scope,
                text(&spec.names.short_names),
                text(&spec.names.categories),
                columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(","),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "workloads.score.dev v1b1 Namespaced swl score READY,REASON,ENDPOINT,AGE",
            "platformpolicies.score.dev v1b1 Cluster spolicy score-platform MODE,PRIORITY,ACCEPTED,MATCHED,VIOLATING,AGE",
            "resourceclaims.score.dev v1b1 Namespaced srclaim score-platform PHASE,TYPE,WORKLOAD,KEY,AGE",
            "workloadplans.score.dev v1b1 Namespaced swplan score-platform PHASE,RUNTIME,BACKEND,REVISION,AGE",
            "workloadexposures.score.dev v1b1 Namespaced swexp score-platform WORKLOAD,RUNTIME,URL,AGE",
        ]
    );
}

#[test]
fn every_kind_has_a_required_spec_and_a_status_subresource() {
    for definition in all() {
        let schema = schema(&definition);
        assert_eq!(schema.required.as_deref(), Some(&["spec".to_owned()][..]));
        let version = &definition.spec.versions[0];
        assert!(version.subresources.as_ref().is_some_and(|subresources| subresources.status.is_some()));
    }
}

#[test]
fn yaml_round_trips() {
    for definition in all() {
        let source = orchestra_score::Source::new("definition.yaml", yaml(&definition).unwrap());
        let (node, _) = yaml::parse(&source, orchestra_score::SourceId(0));
        let back: CustomResourceDefinition = serde_json::from_value(node.unwrap().to_json()).unwrap();
        assert_eq!(back, definition);
        assert!(!yaml(&definition).unwrap().contains(".0\n"), "integers are written as integers");
    }
}
