use super::*;
use crate::{
    provision::{Dependent, params::ParamError},
    template::load,
};
use orchestra_api::config::{Provisioner, UnknownParams};

const FILE: &str = r#"
- uri: template://test/db
  type: db
  supported_params: [size]
  x-orchestra: {settings: [image], keep: [ConfigMap]}
  state: |
    password: {{ dig "password" (randAlphaNum 24) .State | quote }}
  outputs: |
    host: db-{{ .SourceWorkload }}
    id: {{ .Id }}
    password: {{ .State.password }}
    size: {{ .Params.size | quote }}
    image: {{ .Params.image | quote }}
  manifests: |
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: "db-{{ .SourceWorkload }}"}}
"#;

fn instance(workloads: &[&str], params: &Json) -> Instance {
    let dependents =
        workloads.iter().map(|name| Dependent { workload: (*name).to_owned(), key: "db".to_owned() });
    Instance {
        namespace: "shop".to_owned(),
        id: "abc".to_owned(),
        type_: "db".to_owned(),
        class: "default".to_owned(),
        shared_id: (workloads.len() > 1).then(|| "orders".to_owned()),
        params: params.as_object().cloned().unwrap(),
        metadata: Map::new(),
        values: Map::new(),
        entry: Provisioner { unknown_params: UnknownParams::Refuse, ..Provisioner::default() },
        claims: Vec::new(),
        dependents: dependents.collect(),
        warning: None,
    }
}

fn run(instance: &Instance, saved: &SavedState) -> Result<Rendered, Refusal> {
    let entry = load(FILE).unwrap().remove(0);
    let extension = Extension::read(&entry.extension).unwrap();
    let request = Request {
        entry: &entry,
        extension: &extension,
        instance,
        secret_name: "postgres-1",
        generated: &BTreeMap::new(),
        environment: &Map::new(),
        workloads: &BTreeMap::new(),
    };
    render(&request, saved)
}

fn initial() -> SavedState {
    SavedState { seed: b"seed".to_vec(), ..SavedState::default() }
}

#[test]
fn random_values_and_names_stay_when_the_first_workload_leaves() {
    let first = run(&instance(&["a", "b"], &json!({"size": "1Gi"})), &initial()).unwrap();
    let later = run(&instance(&["b", "c"], &json!({"size": "1Gi"})), &first.saved).unwrap();
    assert_eq!(later, first);
    assert_eq!(first.objects[0]["metadata"]["name"], "db-a");
    // Another version may generate values in another order: the saved state counts.
    let reseeded = SavedState { seed: b"other".to_vec(), ..first.saved.clone() };
    let again = run(&instance(&["b"], &json!({"size": "1Gi"})), &reseeded).unwrap();
    assert_eq!(again.saved.state, first.saved.state);
}

#[test]
fn a_run_records_created_objects_and_kept_kinds() {
    let given = run(&instance(&["a"], &json!({})), &initial()).unwrap();
    let record = given.saved.record;
    let stored = serde_json::to_value(&record).unwrap();
    assert_eq!(record.objects.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["db-a"]);
    assert_eq!((record.uri.as_str(), record.keep), ("template://test/db", vec!["ConfigMap".to_owned()]));
    assert_eq!(record.random_values.len(), 1);
    assert_eq!(
        (stored["made"].as_array().unwrap().len(), stored["drawn"].as_array().unwrap().len()),
        (1, 1),
        "the names in existing Secrets"
    );
}

#[test]
fn settings_come_from_the_config_and_params_from_the_author() {
    let mut wanted = instance(&["a"], &json!({"size": "9Gi"}));
    wanted.entry.params = json!({"image": "own:1", "size": "1Gi", "template": "template://test/db"})
        .as_object()
        .cloned()
        .unwrap();
    let given = run(&wanted, &initial()).unwrap();
    let outputs = serde_json::to_value(&given.sealed.outputs).unwrap();
    assert_eq!((&outputs["image"]["value"], &outputs["size"]["value"]), (&json!("own:1"), &json!("9Gi")));

    let refused = run(&instance(&["a"], &json!({"image": "evil:1"})), &initial()).unwrap_err();
    assert!(
        matches!(&refused, Refusal::Param(ParamError::Unknown { unknown, .. }) if unknown == "`image`"),
        "{refused:?}"
    );
    wanted.entry.params.insert("imgae".to_owned(), json!("x"));
    let refused = run(&wanted, &initial()).unwrap_err();
    assert!(
        matches!(&refused, Refusal::InvalidTemplate(TemplateError::UnknownParam { param, .. }) if param == "imgae"),
        "{refused:?}"
    );
}

#[test]
fn unknown_params_are_ignored_with_a_warning_if_the_entry_allows_it() {
    let mut wanted = instance(&["a"], &json!({"image": "evil:1"}));
    wanted.entry.unknown_params = UnknownParams::Warn;
    let given = run(&wanted, &initial()).unwrap();
    assert!(given.warning.unwrap().contains("`image`"));
    assert_eq!(serde_json::to_value(&given.sealed.outputs).unwrap()["image"]["value"], Json::Null);
}

#[test]
fn a_param_with_a_secret_is_refused_without_leaking_it() {
    let secret = json!({"size": {"$segments": [{"literal": "hush"}]}});
    let refused = run(&instance(&["a"], &secret), &initial()).unwrap_err();
    assert!(
        matches!(&refused, Refusal::Param(ParamError::Secret { param, .. }) if param == "size"),
        "{refused:?}"
    );
}
