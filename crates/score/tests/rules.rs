//! Every rule of the language, with a document that satisfies it and one that violates it.

#![allow(clippy::too_many_lines, reason = "a table is as long as the language")]

use orchestra_score::{Code, Document, Report, Source};
use serde_json::{Value as Json, json};

/// Document with all fields.
fn full() -> Json {
    json!({
        "apiVersion": "score.dev/v1b1",
        "metadata": {"name": "demo", "annotations": {"example.org/team": "shop"}, "extra": {"any": [1, null]}},
        "service": {"ports": {"web": {"port": 80, "protocol": "TCP", "targetPort": 8080}}},
        "containers": {
            "init": {"image": ".", "before": {"main": {"ready": "complete"}}},
            "main": {
                "image": "nginx",
                "command": ["/bin/app"],
                "args": ["--verbose"],
                "variables": {"GREETING": "hello ${metadata.name}"},
                "files": {"/etc/a": {"content": "${resources.db.host}", "mode": "0644", "noExpand": false}},
                "volumes": {"/data": {"source": "${resources.data}", "path": "sub", "readOnly": true}},
                "resources": {"limits": {"memory": "1Gi", "cpu": "1"}, "requests": {"memory": "512Mi", "cpu": "500m"}},
                "livenessProbe": {"httpGet": {
                    "path": "/", "port": 8080, "host": "example.org", "scheme": "HTTP",
                    "httpHeaders": [{"name": "X-Probe", "value": "v"}],
                }},
                "readinessProbe": {"exec": {"command": ["true"]}},
            },
        },
        "resources": {
            "db": {"type": "postgres", "class": "large", "id": "shared.db",
                   "metadata": {"annotations": {"example.org/x-y": "z"}, "extra": 1}, "params": {"a": {"b": null}}},
            "data": {"type": "volume"},
        },
    })
}

enum Change {
    Set(Json),
    Remove,
}
use Change::{Remove, Set};

fn changed(pointer: &str, change: &Change) -> Report {
    let mut document = full();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    let parent = document.pointer_mut(parent).expect("the parent of the change exists");
    match (parent, change) {
        (Json::Object(map), Set(value)) => drop(map.insert(key, value.clone())),
        (Json::Object(map), Remove) => drop(map.remove(&key).expect("what is removed exists")),
        (Json::Array(list), Set(value)) => list[key.parse::<usize>().unwrap()] = value.clone(),
        _ => unreachable!("changes are made in maps and lists"),
    }
    Document::from_json(document).check()
}

#[test]
fn the_full_document_is_valid_without_a_warning() {
    let report = Document::from_json(full()).check();
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert!(report.workload.is_some());
}

#[test]
fn allowed_values_are_accepted() {
    let main = "/containers/main";
    let cases = [
        ("/metadata/name", Set(json!("0a-9"))),
        ("/metadata/name", Set(json!("a".repeat(63)))),
        ("/metadata/extra", Set(json!(null))),
        ("/metadata/annotations", Set(json!({"Plain_key.1": ""}))),
        ("/metadata/annotations", Remove),
        ("/service", Set(json!({}))),
        ("/service", Remove),
        ("/service/ports", Set(json!({}))),
        ("/service/ports/web", Set(json!({"port": 65535}))),
        ("/service/ports/web/port", Set(json!(80.0))),
        ("/service/ports/web/protocol", Set(json!("UDP"))),
        (&format!("{main}/command"), Set(json!([]))),
        (&format!("{main}/args"), Set(json!([""]))),
        (&format!("{main}/variables"), Set(json!({}))),
        (&format!("{main}/variables/with space"), Set(json!(""))),
        (&format!("{main}/files/~1etc~1a/mode"), Set(json!("400"))),
        (&format!("{main}/files/~1etc~1a"), Set(json!({"binaryContent": "aGk="}))),
        (&format!("{main}/files/~1etc~1a"), Set(json!({"binaryContent": "aG\nk="}))),
        (&format!("{main}/files/~1etc~1a"), Set(json!({"source": "./a"}))),
        (&format!("{main}/volumes/~1data"), Set(json!({"source": ""}))),
        (&format!("{main}/resources"), Set(json!({}))),
        (&format!("{main}/resources/limits"), Set(json!({"memory": "1.5Gi"}))),
        (&format!("{main}/resources/requests"), Set(json!({"memory": "0.5Ki", "cpu": "0.25"}))),
        (
            &format!("{main}/livenessProbe"),
            Set(json!({"httpGet": {"path": "", "port": 1}, "exec": {"command": []}})),
        ),
        ("/containers/init/before", Set(json!({}))),
        ("/resources/db/type", Set(json!("Postgres-16"))),
        ("/resources/db/id", Set(json!("a.b--c.d"))),
        ("/resources/db/metadata", Set(json!({}))),
        ("/resources/db/params", Set(json!({}))),
    ];
    for (pointer, change) in cases {
        let report = changed(pointer, &change);
        assert!(report.is_valid(), "{pointer}: {:?}", report.diagnostics);
        assert!(report.workload.is_some(), "{pointer}");
    }
}

#[test]
fn forbidden_values_are_rejected_with_their_code_and_pointer() {
    use Code::{
        ChoiceConflict, ChoiceRequired, EmptyValue, PatternMismatch, RequiredField, TypeMismatch,
        UnknownField, ValueNotAllowed, ValueOutOfRange,
    };
    // Pointer of the change, the change, and the pointer of the diagnostic relative to it.
    let main = |rest: &str| format!("/containers/main/{rest}");
    let cases: Vec<(String, Change, &str, Code)> = vec![
        // The document.
        ("/apiVersion".into(), Remove, "", RequiredField),
        ("/apiVersion".into(), Set(json!("score.dev/v1")), "", ValueNotAllowed),
        ("/apiVersion".into(), Set(json!(1)), "", TypeMismatch),
        ("/metadata".into(), Remove, "", RequiredField),
        ("/metadata".into(), Set(json!([])), "", TypeMismatch),
        ("/containers".into(), Remove, "", RequiredField),
        ("/containers".into(), Set(json!({})), "", EmptyValue),
        ("/containers".into(), Set(json!([])), "", TypeMismatch),
        ("/kind".into(), Set(json!("Workload")), "", UnknownField),
        ("/x-mine".into(), Set(json!(1)), "", UnknownField),
        // Metadata.
        ("/metadata/name".into(), Remove, "", RequiredField),
        ("/metadata/name".into(), Set(json!("a")), "", PatternMismatch),
        ("/metadata/name".into(), Set(json!("Demo")), "", PatternMismatch),
        ("/metadata/name".into(), Set(json!("a".repeat(64))), "", PatternMismatch),
        ("/metadata/name".into(), Set(json!(null)), "", TypeMismatch),
        ("/metadata/annotations".into(), Set(json!(null)), "", TypeMismatch),
        ("/metadata/annotations/a".into(), Set(json!("v")), "", PatternMismatch),
        ("/metadata/annotations/a.b~1cd".into(), Set(json!("v")), "", PatternMismatch),
        ("/metadata/annotations/ab".into(), Set(json!(1)), "", TypeMismatch),
        // Service.
        ("/service".into(), Set(json!(null)), "", TypeMismatch),
        ("/service/port".into(), Set(json!(80)), "", UnknownField),
        ("/service/ports".into(), Set(json!([{"port": 80}])), "", TypeMismatch),
        ("/service/ports/W".into(), Set(json!({"port": 81})), "", PatternMismatch),
        ("/service/ports/web".into(), Set(json!({})), "/port", RequiredField),
        ("/service/ports/web/port".into(), Set(json!(0)), "", ValueOutOfRange),
        ("/service/ports/web/port".into(), Set(json!(65536)), "", ValueOutOfRange),
        ("/service/ports/web/port".into(), Set(json!(80.5)), "", TypeMismatch),
        ("/service/ports/web/port".into(), Set(json!("80")), "", TypeMismatch),
        ("/service/ports/web/targetPort".into(), Set(json!(-1)), "", ValueOutOfRange),
        ("/service/ports/web/protocol".into(), Set(json!("tcp")), "", ValueNotAllowed),
        ("/service/ports/web/name".into(), Set(json!("web")), "", UnknownField),
        // Containers.
        ("/containers/Main".into(), Set(json!({"image": "x"})), "", PatternMismatch),
        ("/containers/other".into(), Set(json!(null)), "", TypeMismatch),
        (main("image"), Remove, "", RequiredField),
        (main("image"), Set(json!("")), "", EmptyValue),
        (main("env"), Set(json!({})), "", UnknownField),
        (main("command"), Set(json!("a b")), "", TypeMismatch),
        (main("command"), Set(json!([1])), "/0", TypeMismatch),
        (main("args"), Set(json!([null])), "/0", TypeMismatch),
        (main("variables"), Set(json!([])), "", TypeMismatch),
        (main("variables/A"), Set(json!(1)), "", TypeMismatch),
        (main("variables/A"), Set(json!(true)), "", TypeMismatch),
        (main("variables/A=B"), Set(json!("x")), "", PatternMismatch),
        (main("variables"), Set(json!({"": "x"})), "/", PatternMismatch),
        // Files and volumes.
        (main("files"), Set(json!("x")), "", TypeMismatch),
        (main("files/~1a"), Set(json!({})), "", ChoiceRequired),
        (main("files/~1a"), Set(json!({"content": "x", "source": "y"})), "", ChoiceConflict),
        (main("files/~1a"), Set(json!({"content": "x", "target": "/a"})), "/target", UnknownField),
        (main("files/~1a"), Set(json!({"content": ["x"]})), "/content", TypeMismatch),
        (main("files/~1a"), Set(json!({"source": ""})), "/source", EmptyValue),
        (main("files/~1a"), Set(json!({"content": "x", "mode": "999"})), "/mode", PatternMismatch),
        (main("files/~1a"), Set(json!({"content": "x", "mode": 420})), "/mode", TypeMismatch),
        (main("files/~1a"), Set(json!({"content": "x", "noExpand": "yes"})), "/noExpand", TypeMismatch),
        (main("files"), Set(json!([{"target": "", "content": "x"}])), "/0/target", EmptyValue),
        (main("files"), Set(json!(["/a"])), "/0", TypeMismatch),
        (main("volumes/~1d"), Set(json!({})), "/source", RequiredField),
        (main("volumes/~1d"), Set(json!({"source": "s", "read_only": true})), "/read_only", UnknownField),
        (main("volumes/~1d"), Set(json!({"source": "s", "readOnly": "true"})), "/readOnly", TypeMismatch),
        (main("volumes/~1d"), Set(json!({"source": "s", "path": 1})), "/path", TypeMismatch),
        // Start order, compute resources, probes.
        ("/containers/init/before".into(), Set(json!(["main"])), "", TypeMismatch),
        ("/containers/init/before/M".into(), Set(json!({"ready": "started"})), "", PatternMismatch),
        ("/containers/init/before/main".into(), Set(json!({})), "/ready", RequiredField),
        ("/containers/init/before/main/ready".into(), Set(json!("done")), "", ValueNotAllowed),
        (main("resources/limit"), Set(json!({})), "", UnknownField),
        (main("resources/limits/memory"), Set(json!("0")), "", PatternMismatch),
        (main("resources/limits/memory"), Set(json!("1gb")), "", PatternMismatch),
        (main("resources/limits/cpu"), Set(json!(".5")), "", PatternMismatch),
        (main("resources/limits/cpu"), Set(json!(1)), "", TypeMismatch),
        (main("resources/limits/gpu"), Set(json!("1")), "", UnknownField),
        (main("readinessProbe"), Set(json!({})), "", ChoiceRequired),
        (main("readinessProbe/tcpSocket"), Set(json!({})), "", UnknownField),
        (main("readinessProbe/exec"), Set(json!({})), "/command", RequiredField),
        (main("readinessProbe/exec/command"), Set(json!("true")), "", TypeMismatch),
        (main("livenessProbe/httpGet/path"), Remove, "", RequiredField),
        (main("livenessProbe/httpGet/port"), Remove, "", RequiredField),
        (main("livenessProbe/httpGet/port"), Set(json!("http")), "", TypeMismatch),
        (main("livenessProbe/httpGet/scheme"), Set(json!("http")), "", ValueNotAllowed),
        (main("livenessProbe/httpGet/host"), Set(json!("")), "", EmptyValue),
        (main("livenessProbe/httpGet/httpHeaders"), Set(json!({})), "", TypeMismatch),
        (main("livenessProbe/httpGet/httpHeaders/0"), Set(json!({"value": "v"})), "/name", RequiredField),
        (main("livenessProbe/httpGet/httpHeaders/0/name"), Set(json!("X Y")), "", PatternMismatch),
        (main("livenessProbe/httpGet/httpHeaders/0/value"), Set(json!("")), "", EmptyValue),
        // Resources.
        ("/resources".into(), Set(json!([])), "", TypeMismatch),
        ("/resources/DB".into(), Set(json!({"type": "postgres"})), "", PatternMismatch),
        ("/resources/db/type".into(), Remove, "", RequiredField),
        ("/resources/db/type".into(), Set(json!("a.b")), "", PatternMismatch),
        ("/resources/db/class".into(), Set(json!("-x")), "", PatternMismatch),
        ("/resources/db/id".into(), Set(json!("A")), "", PatternMismatch),
        ("/resources/db/id".into(), Set(json!("a..b")), "", PatternMismatch),
        ("/resources/db/params".into(), Set(json!(null)), "", TypeMismatch),
        ("/resources/db/metadata".into(), Set(json!(null)), "", TypeMismatch),
        ("/resources/db/metadata/annotations".into(), Set(json!({"ab": 1})), "/ab", TypeMismatch),
        ("/resources/db/properties".into(), Set(json!({})), "", UnknownField),
    ];
    for (pointer, change, below, code) in cases {
        let report = changed(&pointer, &change);
        let want = format!("{pointer}{below}");
        let found = report.errors().find(|error| error.code == code && error.pointer.as_str() == want);
        let found = found.unwrap_or_else(|| panic!("{want} {code}: {:?}", report.diagnostics));
        assert!(!found.message.is_empty() && !found.hint.is_empty(), "{want}");
        assert!(report.workload.is_none(), "{want}");
    }
}

#[test]
fn semantic_rules_beyond_the_schema_are_checked() {
    use Code::{
        BeforeCycle, DeprecatedForm, InvalidBase64, InvalidPlaceholder, LimitBelowRequest,
        MalformedPlaceholder, PathClash, PlaceholderNotExpanded, PortClash, ProbeRequired, RelativePath,
        ResourceConflict, ResourceCycle, ResourceHigh, TargetRequired, UnknownContainer, UnknownMetadata,
        UnknownResource,
    };
    let main = |rest: &str| format!("/containers/main/{rest}");
    let cases: Vec<(String, Change, String, Code, bool)> = vec![
        (main("variables/A"), Set(json!("${resources.nope.x}")), main("variables/A"), UnknownResource, true),
        (main("variables/A"), Set(json!("${env.HOME}")), main("variables/A"), InvalidPlaceholder, true),
        (main("variables/A"), Set(json!("${resources.db}")), main("variables/A"), InvalidPlaceholder, true),
        (
            main("variables/A"),
            Set(json!("${ metadata.name }")),
            main("variables/A"),
            MalformedPlaceholder,
            true,
        ),
        (main("variables/A"), Set(json!("${metadata.nope}")), main("variables/A"), UnknownMetadata, false),
        (
            main("files/~1b"),
            Set(json!({"content": "${HOME}"})),
            main("files/~1b/content"),
            MalformedPlaceholder,
            true,
        ),
        (
            main("volumes/~1b"),
            Set(json!({"source": "${resources.x}"})),
            main("volumes/~1b/source"),
            UnknownResource,
            true,
        ),
        (
            "/resources/db/params/a".into(),
            Set(json!([{"b": "${resources.x.y}"}])),
            "/resources/db/params/a/0/b".into(),
            UnknownResource,
            true,
        ),
        (main("args"), Set(json!(["${metadata.name}"])), main("args/0"), PlaceholderNotExpanded, false),
        (main("image"), Set(json!("app:${metadata.name}")), main("image"), PlaceholderNotExpanded, false),
        (
            main("files/~1b"),
            Set(json!({"binaryContent": "!!!"})),
            main("files/~1b/binaryContent"),
            InvalidBase64,
            true,
        ),
        (main("files"), Set(json!([{"content": "x"}])), main("files/0/target"), TargetRequired, true),
        (main("files"), Set(json!([{"target": "/x", "content": "x"}])), main("files"), DeprecatedForm, false),
        (
            main("files"),
            Set(json!([{"target": "/x", "content": "x"}, {"target": "/x", "content": "y"}])),
            main("files/1"),
            PathClash,
            false,
        ),
        (main("files/~1data"), Set(json!({"content": "x"})), main("volumes/~1data"), PathClash, false),
        (main("files/etc"), Set(json!({"content": "x"})), main("files/etc"), RelativePath, false),
        (
            main("resources/limits/memory"),
            Set(json!("1Mi")),
            main("resources/limits/memory"),
            LimitBelowRequest,
            false,
        ),
        (
            main("resources/limits/memory"),
            Set(json!("3Gi")),
            main("resources/limits/memory"),
            ResourceHigh,
            false,
        ),
        (main("resources/limits/cpu"), Set(json!("100")), main("resources/limits/cpu"), ResourceHigh, false),
        (
            "/containers/init/before/ghost".into(),
            Set(json!({"ready": "started"})),
            "/containers/init/before/ghost".into(),
            UnknownContainer,
            true,
        ),
        (
            "/containers/init/before/init".into(),
            Set(json!({"ready": "started"})),
            "/containers/init/before/init".into(),
            BeforeCycle,
            true,
        ),
        (
            main("before"),
            Set(json!({"init": {"ready": "started"}})),
            "/containers/init/before".into(),
            BeforeCycle,
            true,
        ),
        (
            "/containers/init/before/main/ready".into(),
            Set(json!("healthy")),
            "/containers/init/before/main".into(),
            ProbeRequired,
            true,
        ),
        (
            "/service/ports/also".into(),
            Set(json!({"port": 80, "targetPort": 9090})),
            "/service/ports/web/port".into(),
            PortClash,
            true,
        ),
        (
            "/service/ports/also".into(),
            Set(json!({"port": 80, "targetPort": 8080})),
            "/service/ports/web/port".into(),
            PortClash,
            false,
        ),
        (
            "/resources/db/params/x".into(),
            Set(json!("${resources.db.host}")),
            "/resources/db/params".into(),
            ResourceCycle,
            true,
        ),
        (
            "/resources/db2".into(),
            Set(json!({"type": "postgres", "class": "large", "id": "shared.db", "params": {}})),
            "/resources/db2/params".into(),
            ResourceConflict,
            true,
        ),
    ];
    for (pointer, change, want, code, is_error) in cases {
        let report = changed(&pointer, &change);
        let found = report.diagnostics.iter().find(|d| d.code == code && d.pointer.as_str() == want);
        let found = found.unwrap_or_else(|| panic!("{want} {code}: {:?}", report.diagnostics));
        assert_eq!(found.is_error(), is_error, "{want} {code}");
        assert_eq!(report.workload.is_none(), is_error, "{want} {code}");
    }
}

#[test]
fn a_probe_at_the_service_port_of_the_only_container_is_a_warning() {
    let document = |asked: u16| {
        Document::from_json(json!({
            "apiVersion": "score.dev/v1b1", "metadata": {"name": "demo"},
            "service": {"ports": {"web": {"port": 80, "targetPort": 8080}}},
            "containers": {"main": {"image": "x", "readinessProbe": {"httpGet": {"path": "/", "port": asked}}}},
        }))
        .check()
    };
    assert_eq!(document(80).warnings().next().unwrap().code, Code::ProbePort);
    assert!(document(8080).diagnostics.is_empty());
    assert!(document(9999).diagnostics.is_empty(), "a port that is not a service port is fine");
}

#[test]
fn a_document_at_a_limit_is_accepted_and_above_it_rejected() {
    type Build<'b> = &'b dyn Fn(usize) -> Json;
    let many = |count: usize, value: fn(usize) -> Json| -> Json {
        (0..count).map(|n| (format!("/n{n}x"), value(n))).collect::<serde_json::Map<_, _>>().into()
    };
    let named = |count: usize, value: fn(usize) -> Json| -> Json {
        (0..count).map(|n| (format!("n{n}x"), value(n))).collect::<serde_json::Map<_, _>>().into()
    };
    let before = |count: usize| -> Json {
        let mut containers = named(count, |_| json!({"image": "x"}));
        containers["first"] = json!({"image": "x", "before": named(count, |_| json!({"ready": "started"}))});
        containers
    };
    let headers = |count: usize| json!({"httpGet": {"path": "/", "port": 1, "httpHeaders": vec![json!({"name": "a", "value": "b"}); count]}});
    let cases: [(&str, &str, usize, Build<'_>); 10] = [
        ("/containers", "", 64, &|n| named(n, |_| json!({"image": "x"}))),
        ("/containers/main/variables", "", 1024, &|n| named(n, |_| json!("x"))),
        ("/containers/main/files", "", 1024, &|n| many(n, |_| json!({"content": "x"}))),
        ("/containers/main/volumes", "", 256, &|n| many(n, |_| json!({"source": "x"}))),
        ("/containers/main/livenessProbe", "/httpGet/httpHeaders", 64, &headers),
        ("/containers/main/command", "", 4096, &|n| json!(vec!["x"; n])),
        ("/service/ports", "", 256, &|n| named(n, |n| json!({"port": n + 1}))),
        ("/metadata/annotations", "", 256, &|n| named(n, |_| json!("x"))),
        ("/resources/db/metadata/annotations", "", 256, &|n| named(n, |_| json!("x"))),
        // One more container than the others declare waits for them.
        ("/containers", "", 64, &|n| before(n - 1)),
    ];
    for (pointer, below, limit, build) in cases {
        let report = changed(pointer, &Set(build(limit)));
        assert!(report.is_valid(), "{pointer}: {:?}", report.diagnostics);
        let report = changed(pointer, &Set(build(limit + 1)));
        let want = format!("{pointer}{below}");
        let found = report.errors().find(|e| e.code == Code::LimitExceeded && e.pointer.as_str() == want);
        assert!(
            found
                .unwrap_or_else(|| panic!("{want}: {:?}", report.diagnostics))
                .message
                .contains(&limit.to_string())
        );
    }
}

#[test]
fn a_document_that_is_too_large_is_refused_as_text_and_as_json() {
    let mut deep = json!(1);
    for _ in 0..110 {
        deep = json!([deep]);
    }
    for value in [json!("x".repeat(Document::MAX_BYTES)), deep, json!(vec![1; 300_000])] {
        let mut document = full();
        document["metadata"]["extra"] = value;
        let text = document.to_string();
        for report in [Document::from_json(document).check(), Document::parse(Source::new("x", text)).check()]
        {
            assert_eq!(report.errors().next().unwrap().code, Code::LimitExceeded);
            assert!(report.workload.is_none());
        }
    }
    let report = changed("/containers/main/resources/limits/memory", &Set(json!("0.0000000000000000001Gi")));
    assert_eq!(report.errors().next().unwrap().code, Code::LimitExceeded);
}

/// Shapes that once took minutes: superlinear checks run only within the limits.
#[test]
fn hostile_shapes_end_in_a_verdict() {
    let head = "apiVersion: score.dev/v1b1\nmetadata:\n  name: demo\n";
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let one = "containers:\n  main:\n    image: x\n";
    let shapes = [
        format!(
            "{head}{}{one}    variables:\n      A: '{}'\n",
            lines(60_000, &|n| format!("  key{n}: x\n")),
            lines(1000, &|n| format!("${{metadata.q{n}}}"))
        ),
        format!(
            "{head}{one}    variables:\n      A: '{}{}'\n",
            "x".repeat(900_000),
            lines(1000, &|n| format!("${{resources.q{n}.x}}"))
        ),
        format!(
            "{head}containers:\n{}",
            lines(20_000, &|n| format!("  c{n}x: {{image: x, before: {{ghost{n}: {{ready: started}}}}}}\n"))
        ),
        format!(
            "{head}containers:\n{}",
            lines(20_000, &|n| format!(
                "  c{n}x: {{image: x, before: {{c{}x: {{ready: started}}}}}}\n",
                n + 1
            ))
        ),
        format!(
            "{head}{one}resources:\n{}",
            lines(20_000, &|n| format!(
                "  r{n}x: {{type: xx, params: {{a: \"${{resources.r{}x.o}}\"}}}}\n",
                n + 1
            ))
        ),
        format!("{head}{one}{}", lines(60_000, &|n| format!("    unknown{n}: x\n"))),
        format!("? {}\n:\n{}", "k".repeat(150_000), lines(30_000, &|_| "  a:\n".to_owned())),
        format!("{{x: \"{}\", {}}}", "x".repeat(500_000), "a: 1,".repeat(40_000)),
        "${".repeat(1_000_000),
        "a: &a [*a]\n".repeat(50_000),
    ];
    for shape in shapes {
        let report = Document::parse(Source::new("x", shape)).check();
        assert_eq!(report.is_valid(), report.workload.is_some());
        assert!(report.diagnostics.len() <= 2 * (orchestra_score::diagnostic::Findings::MAX + 1));
    }
}

#[test]
fn a_key_or_name_is_bounded() {
    let long = "k".repeat(5000);
    for document in [
        json!({"containers": {&long: {"image": "x"}}}),
        json!({"metadata": {"name": &long}}),
        json!({"metadata": {"extra": [{&long: 1}]}}),
    ] {
        let report = Document::from_json(document).check();
        assert_eq!(report.errors().next().unwrap().code, Code::LimitExceeded);
    }
}

#[test]
fn overrides_do_not_fix_a_document_that_is_not_a_map() {
    for text in ["- a\n", "hello\n", "42\n", "null\n"] {
        let mut document = Document::parse(Source::new("score.yaml", text));
        document.merge(Source::new("over.yaml", full().to_string()));
        assert!(!document.check().is_valid(), "{text}");
    }
}

#[test]
fn of_two_equal_placeholders_the_right_one_is_underlined() {
    let text = "apiVersion: score.dev/v1b1\nmetadata: {name: demo}\ncontainers:\n  main:\n    image: x\n    variables:\n      A: \"$${resources.x.y} and ${resources.x.y} and ${resources.x.y}\"\n";
    let report = Document::parse(Source::new("score.yaml", text)).check();
    let places: Vec<_> = report.errors().map(|error| report.location(error).unwrap().to_string()).collect();
    assert_eq!(places, ["7:33", "7:54"]);
}

#[test]
fn a_broken_document_is_not_blamed_on_its_overrides() {
    let mut document = Document::parse(Source::new("score.yaml", "a: [\n"));
    document.merge(Source::new("over.yaml", "containers: {}\n"));
    document.set_property("a.b=c");
    let codes: Vec<_> = document.check().errors().map(|error| error.code).collect();
    assert_eq!(codes, [Code::InvalidSyntax]);
}

#[test]
fn all_errors_are_reported_at_once_in_source_order() {
    let text = "apiVersion: v1\nmetadata: {name: X}\ncontainers:\n  main:\n    env: {}\n    variables: {A: 1, B: '${resources.x.y}'}\n";
    let report = Document::parse(Source::new("score.yaml", text)).check();
    let found: Vec<_> = report
        .errors()
        .map(|e| {
            (report.source_of(e).unwrap().location(e.span.unwrap().start as usize).to_string(), e.code.name())
        })
        .collect();
    let found: Vec<_> = found.iter().map(|(place, code)| (place.as_str(), *code)).collect();
    assert_eq!(
        found,
        [
            ("1:13", "VALUE_NOT_ALLOWED"),
            ("2:18", "PATTERN_MISMATCH"),
            ("4:3", "REQUIRED_FIELD"),
            ("5:5", "UNKNOWN_FIELD"),
            ("6:20", "TYPE_MISMATCH"),
            ("6:27", "UNKNOWN_RESOURCE"),
        ]
    );
}

#[test]
fn a_diagnostic_about_an_override_points_into_the_override() {
    let mut document = Document::parse(Source::new(
        "score.yaml",
        "apiVersion: score.dev/v1b1\nmetadata: {name: demo}\ncontainers: {main: {image: .}}\n",
    ));
    document.merge(Source::new("over.yaml", "containers:\n  main:\n    env: {}\n"));
    document.set_property("containers.main.variables.PORT=80");
    document.set_property("containers.main.image.tag=1");
    document.set_image("nginx");
    let report = document.check();
    let places: Vec<_> = report
        .errors()
        .map(|e| format!("{} {}", report.source_of(e).map_or("-", |source| source.name.as_str()), e.pointer))
        .collect();
    assert_eq!(
        places,
        [
            "- ",
            "over.yaml /containers/main/env",
            "--override-property containers.main.variables.PORT /containers/main/variables/PORT",
        ]
    );
}
