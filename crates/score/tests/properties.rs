//! Properties of random documents.

use std::collections::BTreeMap;

use orchestra_score::{
    Code, Document, Layer, Report, Severity, Source, SpecVersion, Workload, json_schema,
    model::{
        Amounts, ApiVersion, Before, Compute, Container, Exec, File, FileContent, HttpGet, HttpHeader,
        Metadata, Probe, Protocol, Ready, Resource, Scheme, Service, ServicePort, Volume,
    },
    placeholder::{Segment, Token, expand, join, tokens},
    yaml::to_yaml,
};
use proptest::{
    collection::{btree_map, vec},
    option::of,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Map, Value as Json, json};

fn label() -> impl Strategy<Value = String> {
    "[a-z0-9][a-z0-9-]{0,6}[a-z0-9]"
}

/// Strings of every kind, without undefined references.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "",
            "no",
            "on",
            "y",
            "1",
            "0644",
            "1.5",
            "true",
            "null",
            "~",
            "2024-01-01",
            "12:30",
            "a: b",
            "# x",
            "${metadata.name}",
            "$$"
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z0-9 ./:@%&*!|>'\"#_-]{0,12}",
        "[a-z \n\t]{0,20}",
        any::<String>().prop_map(|text| text.replace('$', "")),
    ]
}

fn free() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        (-1.0e10..1.0e10f64).prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Json::from), free_map(inner).prop_map(Json::Object)]
    })
}

fn free_map(values: impl Strategy<Value = Json>) -> impl Strategy<Value = Map<String, Json>> {
    btree_map(text().prop_map(|key| key.chars().take(30).collect()), values, 0..4)
        .prop_map(|map: BTreeMap<String, Json>| map.into_iter().collect())
}

fn annotations() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[a-z]{2,5}/[A-Z][a-z._-]{0,4}[0-9]", text(), 0..3)
}

fn metadata() -> impl Strategy<Value = Metadata> {
    (label(), of(annotations()), free_map(free())).prop_map(|(name, annotations, mut extra)| {
        extra.remove("name");
        extra.remove("annotations");
        Metadata { name, annotations, extra }
    })
}

fn service() -> impl Strategy<Value = Service> {
    let port = (of(select(vec![Protocol::Tcp, Protocol::Udp])), of(1..=u16::MAX));
    of(btree_map(label(), port, 0..4)).prop_map(|ports| Service {
        ports: ports.map(|ports| {
            ports
                .into_iter()
                .zip(1..)
                .map(|((name, (protocol, target_port)), port)| {
                    (name, ServicePort { port, protocol, target_port })
                })
                .collect()
        }),
    })
}

fn file() -> impl Strategy<Value = File> {
    let content = prop_oneof![
        text().prop_map(FileContent::Content),
        select(vec!["", "aGk=", "aGVsbG8="]).prop_map(|base64| FileContent::BinaryContent(base64.to_owned())),
        "[a-z./]{1,8}".prop_map(FileContent::Source),
    ];
    (of("0?[0-7]{3}"), content, of(any::<bool>())).prop_map(|(mode, content, no_expand)| File {
        mode,
        content,
        no_expand,
    })
}

fn compute() -> impl Strategy<Value = Compute> {
    let amounts = || {
        (of("[1-9][0-9]{0,2}(\\.[0-9])?(K|Mi|G|Ei)?"), of("[0-9]{1,3}(m|\\.[0-9])?"))
            .prop_map(|(memory, cpu)| Amounts { memory, cpu })
    };
    (of(amounts()), of(amounts())).prop_map(|(limits, requests)| Compute { limits, requests })
}

fn probe() -> impl Strategy<Value = Probe> {
    let header = ("[A-Za-z0-9_-]{1,6}", "[a-z ]{1,6}").prop_map(|(name, value)| HttpHeader { name, value });
    let scheme = select(vec![Scheme::Http, Scheme::Https]);
    let http_get = (of("[a-z.]{1,8}"), of(scheme), text(), 1..=u16::MAX, of(vec(header, 0..3)))
        .prop_map(|(host, scheme, path, port, http_headers)| HttpGet {
            host,
            scheme,
            path,
            port,
            http_headers,
        })
        .boxed();
    let exec = vec(text(), 0..3).prop_map(|command| Exec { command }).boxed();
    prop_oneof![
        http_get.clone().prop_map(|get| Probe { http_get: Some(get), exec: None }),
        exec.clone().prop_map(|exec| Probe { http_get: None, exec: Some(exec) }),
        (http_get, exec).prop_map(|(get, exec)| Probe { http_get: Some(get), exec: Some(exec) }),
    ]
}

fn container() -> impl Strategy<Value = Container> {
    let target = "/[a-z]{1,5}(/[a-z. ]{1,5})?";
    let volume = (text(), of(text()), of(any::<bool>())).prop_map(|(source, path, read_only)| Volume {
        source,
        path,
        read_only,
    });
    (
        ("[a-z.:/]{1,10}", of(vec(text(), 0..3)), of(vec(text(), 0..3))),
        of(btree_map("[^=\u{0}]{1,8}", text(), 0..4)),
        of(btree_map(target, file(), 0..3)),
        of(btree_map(target, volume, 0..3)),
        of(compute()),
        (of(probe()), of(probe())),
    )
        .prop_map(
            |(
                (image, command, args),
                variables,
                files,
                volumes,
                resources,
                (liveness_probe, readiness_probe),
            )| Container {
                image,
                command,
                args,
                variables,
                files,
                volumes,
                before: None,
                resources,
                liveness_probe,
                readiness_probe,
            },
        )
}

fn resource() -> impl Strategy<Value = Resource> {
    (
        "[A-Za-z][A-Za-z-]{0,4}[a-z]",
        of("[A-Za-z]{2,6}"),
        (of(annotations()), free_map(free())),
        of(free_map(free())),
    )
        .prop_map(|(type_, class, (annotations, mut extra), params)| {
            extra.remove("annotations");
            let metadata = annotations.map(|annotations| {
                extra.insert("annotations".to_owned(), json!(annotations));
                extra
            });
            Resource { type_, class, id: None, metadata, params }
        })
}

fn workload() -> impl Strategy<Value = Workload> {
    (
        metadata(),
        of(service()),
        btree_map(label(), container(), 1..4),
        of(btree_map(label(), resource(), 0..3)),
    )
        .prop_map(|(metadata, service, mut containers, resources)| {
            // The first container starts before the last, which cannot be a cycle.
            let last = containers.keys().next_back().cloned();
            if containers.len() > 1
                && let (Some(mut first), Some(last)) = (containers.first_entry(), last)
            {
                first.get_mut().before = Some(BTreeMap::from([(last, Before { ready: Ready::Complete })]));
            }
            Workload { api_version: ApiVersion::V1b1, metadata, service, containers, resources }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_workload_round_trips_through_a_file(workload in workload()) {
        let yaml = to_yaml(&workload).unwrap();
        let report = Document::parse(Source::new("score.yaml", yaml.as_str())).check();
        prop_assert!(report.is_valid(), "{:?}\n{yaml}", report.diagnostics);
        prop_assert_eq!(report.workload.as_ref(), Some(&workload), "{}", yaml);
        prop_assert_eq!(to_yaml(report.workload.as_ref().unwrap()).unwrap(), yaml);
        // The same through JSON, as in an API object.
        let json = serde_json::to_value(&workload).unwrap();
        let report = Document::from_json(json).check();
        prop_assert_eq!(report.workload.as_ref(), Some(&workload));
    }

    #[test]
    fn tokens_are_the_text(text in "[${}a.\n\\\\]{0,24}") {
        let back: String = tokens(&text).map(|token| match token {
            Token::Text(text) => text.to_owned(),
            Token::Dollar => "$$".to_owned(),
            Token::Escaped(text) => format!("${text}"),
            Token::Reference(text) => format!("${{{text}}}"),
        }).collect();
        prop_assert_eq!(back, text);
    }

    #[test]
    fn a_text_without_braces_is_escaped_by_doubling_its_dollars(text in "[^{]*") {
        let escaped = text.replace('$', "$$");
        let segments = expand(&escaped, |_| Err::<Segment<()>, ()>(())).unwrap();
        prop_assert_eq!(join(&segments, |()| String::new()), text);
    }

    #[test]
    fn any_input_gets_a_verdict(text in any::<String>()) {
        let report = Document::parse(Source::new("x", text)).check();
        prop_assert_eq!(report.workload.is_some(), report.is_valid());
    }
}

/// Document with all fields, to be mutated.
fn seed() -> Json {
    json!({
        "apiVersion": "score.dev/v1b1",
        "metadata": {"name": "demo", "annotations": {"example.org/team": "shop"}, "more": {"a": 1}},
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

#[derive(Clone, Debug)]
enum Mutation {
    Replace(Json),
    Remove,
    Rename(String),
    Insert(String, Json),
    Copy(Index),
}

fn mutation() -> impl Strategy<Value = (Index, Mutation)> {
    let values = select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(80),
        json!(80.0),
        json!(80.5),
        json!(65535),
        json!(65536),
        json!(1e300),
        json!(""),
        json!("a"),
        json!("ab"),
        json!("Ab"),
        json!("a-"),
        json!("a.b"),
        json!("0644"),
        json!("999"),
        json!("1.5Gi"),
        json!("0"),
        json!("0.0"),
        json!("1e3"),
        json!(".5"),
        json!("250m"),
        json!("TCP"),
        json!("tcp"),
        json!("HTTPS"),
        json!("healthy"),
        json!("score.dev/v1b1"),
        json!("é"),
        json!("ab\n"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!([1]),
        json!({"content": "x"}),
        json!({"image": "x"}),
        json!({"type": "xx"}),
        json!({"port": 1}),
        json!({"source": "s"}),
        json!({"ready": "started"}),
        json!({"exec": {"command": []}}),
        json!([{"target": "/a", "source": "s"}]),
        json!([{"name": "a", "value": "b"}]),
    ]);
    let names = select(vec![
        "",
        "a",
        "ab",
        "Ab",
        "a=b",
        "a/b",
        "ab.cd/ef",
        "name",
        "image",
        "env",
        "target",
        "content",
        "binaryContent",
        "source",
        "port",
        "targetPort",
        "httpGet",
        "exec",
        "before",
        "files",
        "volumes",
        "params",
        "limits",
        "memory",
        "x-y",
        "é",
    ])
    .prop_map(str::to_owned);
    let mutation = prop_oneof![
        4 => values.clone().prop_map(Mutation::Replace),
        2 => Just(Mutation::Remove),
        2 => names.clone().prop_map(Mutation::Rename),
        3 => (names, values).prop_map(|(name, value)| Mutation::Insert(name, value)),
        2 => any::<Index>().prop_map(Mutation::Copy),
    ];
    (any::<Index>(), mutation)
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

fn mutate(document: &mut Json, index: Index, mutation: Mutation) {
    let mut all = Vec::new();
    pointers(document, "", &mut all);
    let at = all[index.index(all.len())].clone();
    let key = || at.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    match mutation {
        Mutation::Replace(value) => *document.pointer_mut(&at).unwrap() = value,
        Mutation::Copy(other) => {
            let value = document.pointer(&all[other.index(all.len())]).unwrap().clone();
            *document.pointer_mut(&at).unwrap() = value;
        }
        Mutation::Insert(name, value) => {
            if let Some(Json::Object(map)) = document.pointer_mut(&at) {
                map.insert(name, value);
            }
        }
        Mutation::Remove | Mutation::Rename(_) => {
            let parent = at.rfind('/').map_or("", |end| &at[..end]);
            if let Some(Json::Object(map)) = document.pointer_mut(parent)
                && let Some(value) = map.remove(&key())
                && let Mutation::Rename(name) = mutation
            {
                map.insert(name, value);
            }
        }
    }
}

/// Report without spans and messages.
fn verdict(report: &Report) -> (bool, Option<SpecVersion>, Vec<(Code, String, Severity)>) {
    let mut findings: Vec<_> = report
        .diagnostics
        .iter()
        .map(|finding| (finding.code, finding.pointer.to_string(), finding.severity))
        .collect();
    findings.sort();
    (report.is_valid(), report.spec_version, findings)
}

/// JSON with the keys of every map in reverse.
fn reversed(value: &Json) -> String {
    match value {
        Json::Object(map) => {
            let entries: Vec<_> =
                map.iter().rev().map(|(key, value)| format!("{}: {}", json!(key), reversed(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Json::Array(list) => format!("[{}]", list.iter().map(reversed).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_and_json_get_the_same_verdict_codes_and_pointers(mutations in vec(mutation(), 0..4), reverse in any::<bool>()) {
        let mut document = seed();
        for (index, mutation) in mutations {
            mutate(&mut document, index, mutation);
        }
        let by_json = verdict(&Document::from_json(document.clone()).check());
        // As text, with another key order.
        let text = if reverse { reversed(&document) } else { document.to_string() };
        let by_text = verdict(&Document::parse(Source::new("x", text.as_str())).check());
        prop_assert_eq!(by_json, by_text, "{}", text);
    }

    #[test]
    fn the_json_schema_and_the_validator_agree(mutations in vec(mutation(), 0..4)) {
        thread_local! {
            static SCHEMA: jsonschema::Validator = jsonschema::validator_for(&json_schema()).unwrap();
        }
        let mut document = seed();
        for (index, mutation) in mutations {
            mutate(&mut document, index, mutation);
        }
        let report = Document::from_json(document.clone()).check();
        let errors: Vec<_> = report.errors().filter(|error| error.code.layer() == Layer::Schema).collect();
        let accepted = SCHEMA.with(|schema| schema.is_valid(&document));
        prop_assert_eq!(errors.is_empty(), accepted, "{:#}\n{:?}", document, errors);
        prop_assert!(document.as_object().is_none() || errors.is_empty() || report.spec_version.is_none());
    }
}
