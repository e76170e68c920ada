use super::*;
use crate::{provision::Dependent, template::load};
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

fn run(instance: &Instance, past: &Past) -> Result<Rendered, Refusal> {
    let entry = load(FILE).unwrap().remove(0);
    let extension = Extension::read(&entry.extension).unwrap();
    let request = Request {
        entry: &entry,
        extension: &extension,
        instance,
        kept: "kept",
        generated: &BTreeMap::new(),
        environment: &Map::new(),
        workloads: &BTreeMap::new(),
    };
    render(&request, past)
}

fn beginning() -> Past {
    Past { seed: b"seed".to_vec(), ..Past::default() }
}

#[test]
fn what_was_drawn_once_stays_and_names_stay_when_the_first_sharer_leaves() {
    let first = run(&instance(&["a", "b"], &json!({"size": "1Gi"})), &beginning()).unwrap();
    let later = run(&instance(&["b", "c"], &json!({"size": "1Gi"})), &first.past).unwrap();
    assert_eq!(later, first);
    assert_eq!(first.objects[0]["metadata"]["name"], "db-a");
    // Another version of the program may draw in another order: what is kept counts.
    let reseeded = Past { seed: b"other".to_vec(), ..first.past.clone() };
    let again = run(&instance(&["b"], &json!({"size": "1Gi"})), &reseeded).unwrap();
    assert_eq!(again.past.state, first.past.state);
}

#[test]
fn a_run_notes_what_it_makes_and_what_is_to_stay() {
    let given = run(&instance(&["a"], &json!({})), &beginning()).unwrap();
    let record = given.past.record;
    assert_eq!(record.made.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["db-a"]);
    assert_eq!((record.uri.as_str(), record.keep), ("template://test/db", vec!["ConfigMap".to_owned()]));
    assert_eq!(record.drawn.len(), 1);
}

#[test]
fn settings_are_the_platforms_and_params_the_authors() {
    let mut wanted = instance(&["a"], &json!({"size": "9Gi"}));
    wanted.entry.params = json!({"image": "own:1", "size": "1Gi", "template": "template://test/db"})
        .as_object()
        .cloned()
        .unwrap();
    let given = run(&wanted, &beginning()).unwrap();
    let outputs = serde_json::to_value(&given.sealed.outputs).unwrap();
    assert_eq!((&outputs["image"]["value"], &outputs["size"]["value"]), (&json!("own:1"), &json!("9Gi")));

    let refused = run(&instance(&["a"], &json!({"image": "evil:1"})), &beginning()).unwrap_err();
    assert!(matches!(&refused, Refusal::Refused(why) if why.contains("`image`")), "{refused:?}");
    wanted.entry.params.insert("imgae".to_owned(), json!("x"));
    let refused = run(&wanted, &beginning()).unwrap_err();
    assert!(matches!(&refused, Refusal::Wrong(why) if why.contains("`imgae`")), "{refused:?}");
}

#[test]
fn params_that_are_not_known_are_told_and_not_used_where_the_entry_lets_them_pass() {
    let mut wanted = instance(&["a"], &json!({"image": "evil:1"}));
    wanted.entry.unknown_params = UnknownParams::Warn;
    let given = run(&wanted, &beginning()).unwrap();
    assert!(given.warning.unwrap().contains("`image`"));
    assert_eq!(serde_json::to_value(&given.sealed.outputs).unwrap()["image"]["value"], Json::Null);
}

#[test]
fn a_param_with_a_secret_in_it_is_refused_without_a_word_of_it() {
    let secret = json!({"size": {"$segments": [{"literal": "hush"}]}});
    let refused = run(&instance(&["a"], &secret), &beginning()).unwrap_err();
    assert!(
        matches!(&refused, Refusal::Refused(why) if why.contains("`size`") && !why.contains("hush")),
        "{refused:?}"
    );
}
