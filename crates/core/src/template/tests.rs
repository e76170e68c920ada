use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::*;

fn entry(text: &str) -> Entry {
    load(text).unwrap().remove(0)
}

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        other => panic!("{other} is not a map"),
    }
}

const POSTGRES: &str = r#"
- uri: template://test/postgres
  type: postgres
  init: |
    password: {{ randAlphaNum 16 | quote }}
  state: |
    password: {{ dig "password" .Init.password .State | quote }}
    runs: {{ default 0 .State.runs | add 1 }}
  outputs: |
    host: pg-{{ .Guid }}
    password: {{ encodeSecretRef (printf "pg-%s" .Guid) "password" }}
  manifests: |
    - apiVersion: v1
      kind: Secret
      metadata: {name: "pg-{{ .Guid }}"}
      data: {password: {{ .State.password | b64enc }}}
"#;

#[test]
fn a_password_is_stable_across_runs_and_recorded_as_random() {
    let entry = entry(POSTGRES);
    let mut inputs = Inputs { guid: "g".to_owned(), ..Inputs::default() };
    let first = entry.provision(&inputs, b"first").unwrap();
    assert_eq!(first, entry.provision(&inputs, b"first").unwrap(), "the seed decides");
    let password = first.state["password"].as_str().unwrap();
    assert_eq!(password.len(), 16);
    assert_eq!(first.random_values, [password]);
    assert_eq!(first.outputs["password"], encode_secret_ref("pg-g", "password"));
    inputs.state = first.state.clone();
    let second = entry.provision(&inputs, b"second").unwrap();
    assert_eq!(second.state["password"], first.state["password"]);
    assert_eq!(second.state["runs"], 2);
    assert_eq!(second.manifests, first.manifests);
}

#[test]
fn the_text_of_fail_is_shown_without_secrets() {
    let entry = entry(
        "- {uri: 'template://t', type: t, init: 'p: {{ randAlphaNum 12 }}', \
         outputs: '{{ fail (printf \"no %s, %s, %s\" .Params.host .Init.p .State.old) }}', \
         state: 'old: {{ .State.old }}'}",
    );
    let inputs = Inputs {
        params: Some(object(json!({"host": "app.example"}))),
        state: object(json!({"old": "hunter2hunter2"})),
        ..Inputs::default()
    };
    let failure = entry.provision(&inputs, b"seed").unwrap_err();
    assert_eq!((failure.stage.as_str(), failure.cause), ("outputs", Cause::Fail));
    assert_eq!(failure.text.as_deref(), Some("no app.example, ***, ***"));
    assert!(failure.message.contains("line 1"), "{failure}");
}

#[test]
fn failures_contain_no_rendered_values() {
    let state = object(json!({"password": "hunter2hunter2", "number": 7}));
    let inputs = Inputs { state, ..Inputs::default() };
    for (part, cause) in [
        ("outputs: '{{ index .State.password .State.password }}'", Cause::Execute),
        ("outputs: '{{ atoi .State.number }}'", Cause::Execute),
        ("outputs: '{{ .State.password.deeper }}'", Cause::Execute),
        ("outputs: '{{ .State.password }}'", Cause::Shape),
        ("outputs: 'a: @{{ .State.password }}'", Cause::Yaml),
        ("outputs: \"a: 1\\n{{ .State.password }}: 1\\n{{ .State.password }}: 2\"", Cause::Yaml),
        (
            "manifests: '[{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {k: \"{{ .State.password }}!\"}}]'",
            Cause::Manifest,
        ),
    ] {
        let entry =
            entry(&format!("- {{uri: 'template://t', type: t, state: '{{{{ .State | toJson }}}}', {part}}}"));
        let failure = entry.provision(&inputs, b"seed").unwrap_err();
        assert_eq!(failure.cause, cause, "{part}: {failure}");
        assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    }
}

#[test]
fn an_unsupported_entry_is_kept_with_the_reason_and_never_evaluated() {
    let entries = load(
        "- {uri: 'cmd://bash#x', type: a, args: [x]}\n- {uri: 'template://b', type: b, services: 'x: {}'}",
    )
    .unwrap();
    assert_eq!(entries[0].unsupported, Some(UnsupportedScheme::Command));
    for entry in entries {
        assert_eq!(entry.provision(&Inputs::default(), b"").unwrap_err().cause, Cause::Format);
    }
}

#[test]
fn the_extension_is_kept_unparsed_and_unknown_fields_are_rejected() {
    let known = entry("- {uri: 'template://a', type: a, x-orchestra: {kinds: [Secret]}}");
    assert_eq!(known.extension, object(json!({"kinds": ["Secret"]})));
    let fault =
        load("- {uri: 'template://a', type: a}\n- {uri: 'template://b', type: b, foo: bar}").unwrap_err();
    assert_eq!(fault.to_string(), "entry 2: `foo` is not a field of a provisioner");
}

#[test]
fn another_template_sees_the_result_of_the_run() {
    let entry = entry(POSTGRES);
    let inputs = Inputs { guid: "g".to_owned(), ..Inputs::default() };
    let given = entry.provision(&inputs, b"seed").unwrap();
    let ready = entry.render(
        "ready",
        "- {kind: StatefulSet, name: 'pg-{{ .Guid }}', runs: {{ .State.runs }}}",
        &inputs,
        &given,
    );
    assert_eq!(ready.unwrap(), json!([{"kind": "StatefulSet", "name": "pg-g", "runs": 1}]));
}

/// Pieces of templates in random order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{",
        "}}",
        "{{-",
        "-}}",
        " ",
        "\n",
        "(",
        ")",
        "|",
        ".",
        "$",
        "$x",
        ":=",
        "=",
        ",",
        "\"",
        "`",
        "'",
        "\\",
        "%v",
        "if",
        "else",
        "end",
        "range",
        "with",
        "define",
        "template",
        "block",
        "break",
        "continue",
        "nil",
        "true",
        "0x",
        "1",
        "-1",
        "1.5",
        "9223372036854775807",
        "é",
        "🔐",
        ".Params",
        ".State.a",
        "index",
        "printf",
        "dict",
        "list",
        "set",
        "merge",
        "dig",
        "toJson",
        "fromJson",
        "substr",
        "trunc",
        "repeat",
        "until",
        "splitList",
        "regexMatch",
        "indent",
        "slice",
        "last",
        "b64dec",
        "round",
        "div",
        "/*",
        "*/",
        "\"a\"",
        "\"%[3]*.[2]*[1]f\"",
        "\"(\"",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.join(" "))
}

/// One call with arguments of any kind.
fn call() -> impl Strategy<Value = String> {
    let functions = vec![
        "printf",
        "print",
        "html",
        "js",
        "urlquery",
        "len",
        "index",
        "slice",
        "eq",
        "lt",
        "default",
        "ternary",
        "cat",
        "quote",
        "indent",
        "replace",
        "splitList",
        "split",
        "substr",
        "trunc",
        "b64dec",
        "regexMatch",
        "atoi",
        "title",
        "kebabcase",
        "join",
        "dict",
        "get",
        "set",
        "merge",
        "dig",
        "keys",
        "append",
        "last",
        "reverse",
        "has",
        "uniq",
        "add",
        "sub",
        "div",
        "mod",
        "min",
        "round",
        "int",
        "float64",
        "until",
        "toPrettyJson",
        "fromJson",
        "deepCopy",
        "randAlphaNum",
        "uuidv4",
        "pluck",
        "omit",
        "without",
        "repeat",
        "trimSuffix",
        "sha256sum",
        "encodeSecretRef",
    ];
    let argument = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "7.5",
        "9223372036854775807",
        "-9223372036854775808",
        "nil",
        "true",
        "\"\"",
        "\"é🔐\"",
        "\"%d %[9]s %-5.2f %x\"",
        ".Params",
        ".Params.l",
        ".Params.m",
        ".Params.nope",
        ".Params.nil",
        ".Metadata",
        ".WorkloadServices",
        "(list 1 \"a\" nil)",
        "(dict \"a\" (list))",
        "(add 1 2)",
        "'x'",
        "1e300",
        "\"[1,{\"",
    ]);
    (prop::sample::select(functions), prop::collection::vec(argument, 0..5))
        .prop_map(|(function, arguments)| format!("{{{{ {function} {} }}}}", arguments.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_rendered_or_a_fault(text in prop_oneof![pieces(), call(), any::<String>()]) {
        let inputs = Inputs {
            params: Some(object(json!({"l": ["a", 1], "m": {"k": "v"}, "nil": null}))),
            ..Inputs::default()
        };
        let mut file = String::new();
        let _ = write!(file, "- {}", json!({"uri": "template://t", "type": "t", "outputs": text, "manifests": text}));
        let _ = render_text(&text, &inputs, &Given::default(), b"seed");
        if let Ok(entries) = load(&file) {
            let _ = entries[0].provision(&inputs, b"seed");
        }
        let _ = load(&text);
        let _ = decode_secret_refs(&text);
    }
}
