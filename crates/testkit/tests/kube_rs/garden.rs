//! Test objects: a custom resource derived from its type, and small built-in ones.

use std::{collections::BTreeMap, fmt::Debug};

use k8s_openapi::{
    api::core::v1::ConfigMap,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{conditions, wait::await_condition},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{from_value, json};

/// Spec of a garden.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "botany.example.org", version = "v1", kind = "Garden", namespaced)]
#[kube(status = "GardenStatus", shortname = "gd", selectable = ".spec.climate", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub(crate) struct GardenSpec {
    #[serde(default)]
    pub(crate) plants: Vec<String>,
    #[serde(default = "mild")]
    pub(crate) climate: String,
}

fn mild() -> String {
    "mild".to_owned()
}

/// Status of a garden.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GardenStatus {
    #[serde(default)]
    pub(crate) observed_generation: i64,
    #[serde(default)]
    pub(crate) planted: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weather: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}

pub(crate) const NAMESPACE: &str = "default";

/// Installs the CRD.
pub(crate) async fn install(client: &Client) -> Api<Garden> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = Garden::crd();
    let name = definition.name_any();
    let params = PatchParams::apply("tests").force();
    definitions.patch(&name, &params, &Patch::Apply(definition)).await.unwrap();
    await_condition(definitions, &name, conditions::is_crd_established()).await.unwrap();
    Api::namespaced(client.clone(), NAMESPACE)
}

pub(crate) fn garden(name: &str, plants: &[&str]) -> Garden {
    let plants = plants.iter().map(|&plant| plant.to_owned()).collect();
    Garden::new(name, GardenSpec { plants, climate: mild() })
}

pub(crate) fn config_map(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    let data: BTreeMap<_, _> = data.iter().copied().collect();
    from_value(json!({"metadata": {"name": name}, "data": data})).unwrap()
}

/// Config map with the label `colour`.
pub(crate) fn coloured(name: &str, colour: &str) -> ConfigMap {
    let mut map = config_map(name, &[]);
    map.labels_mut().insert("colour".to_owned(), colour.to_owned());
    map
}

/// Status code of a rejected request.
pub(crate) fn code<T: Debug>(answer: Result<T, kube::Error>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("expected an API error, got {other:?}"),
    }
}

/// Sorted names of objects.
pub(crate) fn names<'a, K: kube::Resource + 'a>(objects: impl IntoIterator<Item = &'a K>) -> Vec<String> {
    let mut names: Vec<_> = objects.into_iter().map(ResourceExt::name_any).collect();
    names.sort();
    names
}
