//! Renders the entries of a file for a made-up workload.

use std::collections::BTreeMap;

use orchestra_api::{
    claim::Output,
    config::{Provisioner, UnknownParams},
    plan::Port,
};
use orchestra_core::{
    provision::{
        Dependent, Instance, neighbour,
        template::{Extension, Generates, Past, Refusal, Rendered, Request, render},
    },
    template::{Entry, load},
};
use serde_json::{Map, Value as Json, json};

use super::super::{input, show};
use crate::{
    args::{Format, TestProvisioners},
    exit::Exit,
    ui,
};

/// The made-up workload, what it calls the resource, and where it is.
const WORKLOAD: &str = "example";
const KEY: &str = "thing";
const NAMESPACE: &str = "default";
/// What stands for something secret.
const MASK: &str = "(secret)";

pub(super) fn run(args: &TestProvisioners) -> Exit {
    let name = input::name(&args.file);
    let text = match input::read(&args.file) {
        Ok(source) => source.text,
        Err(finding) => {
            ui::complain(&format!("{}; {}", finding.message, finding.hint));
            return Exit::No;
        }
    };
    let given = params(&args.params).and_then(|asked| Ok((asked, params(&args.settings)?)));
    let (asked, settings) = match given {
        Ok(given) => given,
        Err(wrong) => {
            ui::complain(&wrong);
            return Exit::Usage;
        }
    };
    let entries = match load(&text) {
        Ok(entries) => entries,
        Err(fault) => {
            ui::complain(&format!("{name}: {fault}"));
            return Exit::No;
        }
    };
    let meant = entries.iter().filter(|entry| args.type_.as_ref().is_none_or(|type_| entry.type_ == *type_));
    let mut shown = Vec::new();
    let mut is_good = true;
    for entry in meant {
        match tested(entry, args, &asked, &settings) {
            Ok(value) => shown.push(value),
            Err(wrong) => {
                ui::complain(&format!("{name}: {}: {wrong}", entry.uri));
                is_good = false;
            }
        }
    }
    if shown.is_empty() && is_good {
        ui::complain(&format!("{name}: no entry is for this type"));
        return Exit::No;
    }
    let format = if args.output == Format::Human { Format::Yaml } else { args.output };
    let exit = if shown.is_empty() { Exit::No } else { show::data(&json!(shown), format) };
    if is_good { exit } else { Exit::No }
}

fn params(given: &[String]) -> Result<Map<String, Json>, String> {
    let read = |text: &String| {
        let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not KEY=VALUE"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        Ok((key.to_owned(), value))
    };
    given.iter().map(read).collect()
}

fn tested(
    entry: &Entry,
    args: &TestProvisioners,
    asked: &Map<String, Json>,
    settings: &Map<String, Json>,
) -> Result<Json, String> {
    if let Some(why) = &entry.refused {
        return Err(why.clone());
    }
    let extension = Extension::read(&entry.extension)?;
    let class = args.class.clone().or_else(|| entry.class.clone()).unwrap_or_else(|| "default".to_owned());
    let shared_id = args.id.clone().or_else(|| entry.id.clone());
    let instance = Instance {
        namespace: NAMESPACE.to_owned(),
        id: "test".to_owned(),
        type_: entry.type_.clone(),
        class,
        shared_id,
        params: asked.clone(),
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
    let port: Port =
        serde_json::from_value(json!({"port": 80, "targetPort": 8080})).map_err(|e| e.to_string())?;
    let named = asked.get("workload").and_then(Json::as_str).map(ToOwned::to_owned);
    let names = [WORKLOAD.to_owned(), named.unwrap_or_else(|| neighbour::named(&instance))];
    let ports: BTreeMap<String, Port> = [("http".to_owned(), port)].into();
    let request = Request {
        entry,
        extension: &extension,
        instance: &instance,
        kept: "kept",
        generated: &generated(&extension, asked),
        environment: &Map::new(),
        workloads: &names.into_iter().map(|name| (name, ports.clone())).collect(),
    };
    let past = Past { seed: b"orchestra provisioners test".to_vec(), ..Past::default() };
    match render(&request, &past) {
        Ok(rendered) => Ok(masked(entry, &instance, &rendered)),
        Err(Refusal::Pending(why) | Refusal::Refused(why) | Refusal::Wrong(why)) => Err(why),
    }
}

/// Stands for what the platform would generate.
fn generated(extension: &Extension, asked: &Map<String, Json>) -> BTreeMap<String, String> {
    let keys: Vec<&str> = match extension.generates {
        None => Vec::new(),
        Some(Generates::Certificate) => vec!["tls.crt", "tls.key", "ca.crt"],
        Some(Generates::Values) => {
            let keys = asked.get("keys").and_then(Json::as_array);
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
