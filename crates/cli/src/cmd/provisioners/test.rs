//! `orchestra provisioners test`: renders the entries of a file for an example workload.

use std::collections::BTreeMap;

use orchestra_api::{
    claim::Output,
    config::{Provisioner, UnknownParams},
    plan::Port,
};
use orchestra_core::{
    provision::{
        Dependent, Instance, service_ref,
        template::{Extension, Generates, Refusal, Rendered, Request, SavedState, TemplateError, render},
    },
    template::{Entry, load},
};
use orchestra_score::model::Protocol;
use serde_json::{Map, Value as Json, json};

use super::super::{input, show};
use crate::{
    args::{Format, TestProvisioners},
    error::CliError,
    exit::Exit,
    ui,
};

/// Example workload, key of its resource, and namespace.
const WORKLOAD: &str = "example";
const KEY: &str = "thing";
const NAMESPACE: &str = "default";
/// Replacement of secret values.
const MASK: &str = "(secret)";

pub(super) fn run(args: &TestProvisioners) -> Result<Exit, CliError> {
    let file = input::name(&args.file);
    let text = input::read(&args.file).map_err(CliError::Input)?.text;
    let (params, settings) = (key_values(&args.params)?, key_values(&args.settings)?);
    let entries = load(&text)
        .map_err(|error| CliError::ProvisionerFile { file: file.clone(), source: error.into() })?;
    let of_type =
        entries.iter().filter(|entry| args.type_.as_ref().is_none_or(|type_| entry.type_ == *type_));
    let (mut rendered, mut is_valid) = (Vec::new(), true);
    for entry in of_type {
        match test_entry(entry, args, &params, &settings) {
            Ok(value) => rendered.push(value),
            Err(source) => {
                let (file, uri) = (file.clone(), entry.uri.clone());
                ui::print_error(&CliError::ProvisionerEntry { file, uri, source: source.into() });
                is_valid = false;
            }
        }
    }
    if rendered.is_empty() && is_valid {
        return Err(CliError::NoEntryOfType(file));
    }
    let format = if args.output == Format::Human { Format::Yaml } else { args.output };
    if !rendered.is_empty() {
        show::value(&json!(rendered), format)?;
    }
    Ok(if is_valid { Exit::Success } else { Exit::Failure })
}

fn key_values(given: &[String]) -> Result<Map<String, Json>, CliError> {
    let parse = |text: &String| {
        let (key, value) = text.split_once('=').ok_or_else(|| CliError::NotKeyValue(text.clone()))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        Ok((key.to_owned(), value))
    };
    given.iter().map(parse).collect()
}

/// Rendered entry, or its refusal by the engine.
fn test_entry(
    entry: &Entry,
    args: &TestProvisioners,
    params: &Map<String, Json>,
    settings: &Map<String, Json>,
) -> Result<Json, Refusal> {
    if let Some(unsupported) = &entry.unsupported {
        return Err(TemplateError::from(unsupported.clone()).into());
    }
    let extension = Extension::read(&entry.extension).map_err(TemplateError::from)?;
    let class = args.class.clone().or_else(|| entry.class.clone()).unwrap_or_else(|| "default".to_owned());
    let shared_id = args.id.clone().or_else(|| entry.id.clone());
    let instance = Instance {
        namespace: NAMESPACE.to_owned(),
        id: "test".to_owned(),
        type_: entry.type_.clone(),
        class,
        shared_id,
        params: params.clone(),
        metadata: Map::new(),
        values: Map::new(),
        entry: Provisioner {
            params: settings.clone(),
            unknown_params: UnknownParams::Refuse,
            ..Provisioner::default()
        },
        claims: Vec::new(),
        dependents: vec![Dependent { workload: WORKLOAD.to_owned(), key: KEY.to_owned() }],
        warning: None,
    };
    let port = Port { port: 80, target_port: 8080, protocol: Protocol::default() };
    let named = params.get("workload").and_then(Json::as_str).map(ToOwned::to_owned);
    let names = [WORKLOAD.to_owned(), named.unwrap_or_else(|| service_ref::named(&instance))];
    let ports: BTreeMap<String, Port> = [("http".to_owned(), port)].into();
    let request = Request {
        entry,
        extension: &extension,
        instance: &instance,
        secret_name: "test",
        generated: &generated(&extension, params),
        environment: &Map::new(),
        workloads: &names.into_iter().map(|name| (name, ports.clone())).collect(),
    };
    let saved = SavedState { seed: b"orchestra provisioners test".to_vec(), ..SavedState::default() };
    render(&request, &saved).map(|rendered| masked(entry, &instance, &rendered))
}

/// Placeholders for generated values.
fn generated(extension: &Extension, params: &Map<String, Json>) -> BTreeMap<String, String> {
    let keys: Vec<&str> = match extension.generates {
        None => Vec::new(),
        Some(Generates::Certificate) => vec!["tls.crt", "tls.key", "ca.crt"],
        Some(Generates::Values) => {
            let keys = params.get("keys").and_then(Json::as_array);
            keys.map_or_else(|| vec!["secret"], |keys| keys.iter().filter_map(Json::as_str).collect())
        }
    };
    keys.into_iter().map(|key| (key.to_owned(), format!("generated for {key}"))).collect()
}

fn masked(entry: &Entry, instance: &Instance, rendered: &Rendered) -> Json {
    let outputs: Map<String, Json> = rendered
        .sealed
        .outputs
        .iter()
        .map(|(name, output)| match output {
            Output::Value(value) => (name.clone(), value.clone()),
            Output::SecretKeyRef(_) => (name.clone(), json!(MASK)),
        })
        .collect();
    let manifests: Vec<Json> = rendered.objects.iter().map(mask).collect();
    json!({"uri": entry.uri, "type": instance.type_, "class": instance.class, "outputs": outputs, "manifests": manifests})
}

fn mask(object: &Json) -> Json {
    let mut object = object.clone();
    if object["kind"] == "Secret" {
        for value in object["data"].as_object_mut().into_iter().flat_map(|data| data.values_mut()) {
            *value = json!(MASK);
        }
    }
    object
}
