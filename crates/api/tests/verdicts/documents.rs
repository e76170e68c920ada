//! Score documents: those of the conformance data, and random mutations of one that uses every field.

use orchestra_score::{Document, Source};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Map, Value as Json, json};

/// Cases of the conformance data that parse, by name.
pub(crate) fn conformance_cases() -> Vec<(String, Json)> {
    let folder = std::env::var("SCORE_CONFORMANCE")
        .expect("SCORE_CONFORMANCE must name the folder of the Score conformance data");
    let text = std::fs::read_to_string(format!("{folder}/schema.json")).expect("the data can be read");
    let cases: Vec<Json> = serde_json::from_str(&text).expect("the data is JSON");
    let text = |case: &Json, field: &str| case[field].as_str().unwrap_or_default().to_owned();
    let document = |case: &Json| match case["form"].as_str() {
        Some("yaml") => {
            let parsed = Document::parse(Source::new("case", text(case, "input")));
            parsed.root().map(orchestra_score::Node::to_json)
        }
        _ => Some(case["input"].clone()),
    };
    cases.iter().filter_map(|case| Some((text(case, "name"), document(case)?))).collect()
}

/// Object of a document that may be invalid, as kubectl would send it.
pub(crate) fn as_written(document: &Json) -> Option<Json> {
    let mut spec = document.as_object()?.clone();
    let api_version = spec.remove("apiVersion").filter(|version| version == "score.dev/v1b1")?;
    let Some(Json::Object(mut extra)) = spec.remove("metadata") else { return None };
    let is_in_a_url =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let name = extra.remove("name").filter(|name| name.as_str().is_some_and(is_in_a_url))?;
    let mut metadata = json!({"name": name});
    if let Some(annotations) = extra.remove("annotations") {
        metadata["annotations"] = annotations;
    }
    if !extra.is_empty() {
        spec.insert("metadata".to_owned(), Json::Object(extra));
    }
    Some(json!({"apiVersion": api_version, "kind": "Workload", "metadata": metadata, "spec": spec}))
}

/// Document as the validator normalises it.
pub(crate) fn normalised(valid: &orchestra_score::Workload) -> Json {
    serde_json::to_value(valid).unwrap()
}

/// Equality in which 1 and 1.0 are the same number.
pub(crate) fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Document that uses every field.
fn seed() -> Json {
    json!({
        "apiVersion": "score.dev/v1b1",
        "metadata": {"name": "demo", "annotations": {"example.org/team": "shop"}, "labels": {"tier": "gold"}, "more": {"a": 1}},
        "service": {"ports": {"web": {"port": 80, "protocol": "TCP", "targetPort": 8080}}},
        "containers": {
            "init": {"image": ".", "before": {"main": {"ready": "complete"}},
                     "files": [{"target": "/a", "content": "x"}], "volumes": [{"target": "/b", "source": "s"}]},
            "main": {
                "image": "nginx", "command": ["a"], "args": ["b"], "variables": {"A": "b"},
                "files": {"/a": {"content": "x", "mode": "0644", "noExpand": true}, "/b": {"source": "./x"}, "/c": {"binaryContent": "aGk="}},
                "volumes": {"/d": {"source": "s", "path": "p", "readOnly": true}},
                "resources": {"limits": {"memory": "1Gi", "cpu": "1"}, "requests": {"memory": "1M", "cpu": "100m"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": 80, "host": "h", "scheme": "HTTP", "httpHeaders": [{"name": "n", "value": "v"}]}},
                "readinessProbe": {"exec": {"command": ["true"]}},
            },
        },
        "resources": {"db": {"type": "postgres", "class": "large", "id": "shared.db", "metadata": {"annotations": {"ab": "c"}}, "params": {"a": [1]}}},
    })
}

/// Collections with a limit.
pub(crate) const LIMITS: [&str; 9] =
    ["containers", "variables", "files", "volumes", "ports", "headers", "resources", "annotations", "words"];

/// Document with the maximum number of entries everywhere, and one more in the named collection.
pub(crate) fn full(exceeded: Option<&str>) -> Json {
    let numbers = |name: &str, limit: usize| 0..limit + usize::from(exceeded == Some(name));
    let map = |name: &str, limit: usize, key: &str, value: Json| -> Json {
        numbers(name, limit).map(|n| (format!("{key}{n:04}"), value.clone())).collect::<Map<_, _>>().into()
    };
    let words: Json = numbers("words", 4096).map(|_| json!("x")).collect();
    let headers: Json = numbers("headers", 64).map(|_| json!({"name": "a", "value": "b"})).collect();
    let mut document = json!({
        "apiVersion": "score.dev/v1b1",
        "metadata": {"name": "full"},
        "containers": map("containers", 64, "c", json!({"image": "x"})),
        "service": {"ports": map("ports", 256, "p", json!({"port": 1}))},
        "resources": map("resources", 256, "r", json!({"type": "volume"})),
    });
    for (n, port) in document["service"]["ports"].as_object_mut().unwrap().values_mut().enumerate() {
        *port = json!({"port": n + 1});
    }
    document["resources"]["r0000"]["metadata"] =
        json!({"annotations": map("annotations", 256, "example.org/", json!("x"))});
    document["containers"]["c0000"] = json!({
        "image": "x",
        "args": words,
        "variables": map("variables", 1024, "V", json!("x")),
        "files": map("files", 1024, "/f/", json!({"content": "x"})),
        "volumes": map("volumes", 256, "/v/", json!({"source": "${resources.r0000}"})),
        "livenessProbe": {"httpGet": {"path": "/", "port": 1, "httpHeaders": headers}},
    });
    document
}

/// Values that are valid for some fields only.
fn values() -> impl Strategy<Value = Json> {
    prop_oneof![
        3 => any::<String>().prop_map(Json::from),
        2 => "[a-z0-9A-Z./=\n -]{0,70}".prop_map(Json::from),
        7 => select(vec![
            json!(null), json!(true), json!(0), json!(1), json!(80), json!(80.0), json!(80.5), json!(65535),
            json!(65536), json!(9_007_199_254_740_993_i64), json!(""), json!("a"), json!("ab"), json!("Ab"),
            json!("0644"), json!("1.5Gi"), json!("0.0"), json!("250m"), json!("UDP"), json!("healthy"), json!("ab\n"),
            json!([]), json!({}), json!(["x"]), json!({"content": ""}), json!({"image": "x"}), json!({"type": "xx"}),
            json!({"port": 1}), json!({"source": "s"}), json!({"exec": {"command": []}}), json!({"a": {"b": [null, {"c": 1.5}]}}),
            json!([{"target": "/z", "source": "s"}]), json!([{"name": "a", "value": "b"}]),
        ]),
    ]
}

/// Keys that are valid in some maps only.
fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => any::<String>(),
        1 => "[a-zA-Z0-9._/=-]{0,70}",
        2 => select(vec![
            "", "a", "ab", "Ab", "a=b", "a/b", "ab.cd/ef", "name", "labels", "annotations", "image", "env", "content",
            "source", "targetPort", "httpGet", "exec", "before", "files", "params", "metadata", "x-y", "é", "main",
        ]).prop_map(str::to_owned),
    ]
}

/// Document that uses every field, with one or two mutations.
pub(crate) fn documents() -> impl Strategy<Value = Json> {
    let change = (any::<Index>(), 0..4, keys(), values());
    vec(change, 1..3).prop_map(|changes| {
        let mut document = seed();
        for (index, how, key, value) in changes {
            let mut all = Vec::new();
            pointers(&document, "", &mut all);
            change_at(&mut document, &all[index.index(all.len())], how, key, value);
        }
        document
    })
}

fn pointers(value: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Json::Object(map) => map.iter().for_each(|(key, item)| {
            pointers(item, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        Json::Array(list) => {
            list.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// Replaces a value, adds one beside it, renames it, or removes it.
fn change_at(document: &mut Json, at: &str, how: i32, key: String, value: Json) {
    let (parent, last) = at.rsplit_once('/').unwrap_or_default();
    let last = last.replace("~1", "/").replace("~0", "~");
    match (how, document.pointer_mut(parent)) {
        (1, Some(Json::Object(map))) => {
            map.insert(key, value);
        }
        (2, Some(Json::Object(map))) => {
            if let Some(value) = map.remove(&last) {
                map.insert(key, value);
            }
        }
        (3, Some(Json::Object(map))) => {
            map.remove(&last);
        }
        _ => *document.pointer_mut(at).unwrap() = value,
    }
}
