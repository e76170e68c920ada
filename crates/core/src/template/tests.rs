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
fn a_password_is_kept_from_run_to_run_and_is_among_what_was_drawn() {
    let entry = entry(POSTGRES);
    let mut inputs = Inputs { guid: "g".to_owned(), ..Inputs::default() };
    let first = entry.provision(&inputs, b"first").unwrap();
    assert_eq!(first, entry.provision(&inputs, b"first").unwrap(), "the seed decides");
    let password = first.state["password"].as_str().unwrap();
    assert_eq!(password.len(), 16);
    assert_eq!(first.drawn, [password]);
    assert_eq!(first.outputs["password"], encode_secret_ref("pg-g", "password"));
    inputs.state = first.state.clone();
    let second = entry.provision(&inputs, b"second").unwrap();
    assert_eq!(second.state["password"], first.state["password"]);
    assert_eq!(second.state["runs"], 2);
    assert_eq!(second.manifests, first.manifests);
}

#[test]
fn what_a_template_says_with_fail_is_told_without_secrets() {
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
fn failures_hold_nothing_of_what_was_rendered() {
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
fn an_entry_for_another_engine_is_kept_with_the_reason_and_never_run() {
    let entries = load(
        "- {uri: 'cmd://bash#x', type: a, args: [x]}\n- {uri: 'template://b', type: b, services: 'x: {}'}",
    )
    .unwrap();
    assert!(entries[0].refused.as_deref().is_some_and(|reason| reason.contains("command")));
    for entry in entries {
        assert_eq!(entry.provision(&Inputs::default(), b"").unwrap_err().cause, Cause::Format);
    }
}

#[test]
fn our_own_fields_are_kept_unread_and_other_unknown_ones_are_refused() {
    let known = entry("- {uri: 'template://a', type: a, x-orchestra: {kinds: [Secret]}}");
    assert_eq!(known.extension, object(json!({"kinds": ["Secret"]})));
    let fault =
        load("- {uri: 'template://a', type: a}\n- {uri: 'template://b', type: b, foo: bar}").unwrap_err();
    assert_eq!(fault.to_string(), "entry 2: `foo` is not a field of a provisioner");
}

#[test]
fn one_more_template_sees_what_the_run_gave() {
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

/// Templates that would go on for ever, or fill the memory.
#[test]
fn a_template_without_end_is_ended() {
    let doubled = |what: &str| {
        let mut text = format!("{{{{ $x := {what} }}}}");
        for _ in 0..40 {
            text.push_str("{{ $x = list $x $x }}");
        }
        text
    };
    for text in [
        "{{ range 9223372036854775807 }}x{{ end }}".to_owned(),
        "{{ range 9223372036854775807 }}{{ end }}".to_owned(),
        "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}".to_owned(),
        "{{ define \"a\" }}{{ template \"a\" . }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}"
            .to_owned(),
        "{{ repeat 9223372036854775807 \"xx\" }}".to_owned(),
        "{{ until 9223372036854775807 }}".to_owned(),
        "{{ randAlphaNum 9223372036854775807 }}".to_owned(),
        "{{ indent 9223372036854775807 \"a\" }}".to_owned(),
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ $d }}".to_owned(),
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ toJson $d }}{{ deepCopy $d }}".to_owned(),
        "{{ $l := list }}{{ range 100000 }}{{ $l = list $l }}{{ end }}{{ $l }}".to_owned(),
        "{{ $s := \"ab\" }}{{ range 60 }}{{ $s = print $s $s }}{{ end }}{{ $s }}".to_owned(),
        format!("{}{{{{ toJson $x }}}}", doubled("list 1")),
        format!("{}{{{{ eq 1 1 }}}}{{{{ has $x (list $x) }}}}", doubled("dict \"a\" 1")),
        "{{ if true }}".repeat(1000) + &"{{ end }}".repeat(1000),
        format!("{{{{ {}1{} }}}}", "(".repeat(1000), ")".repeat(1000)),
    ] {
        let shown: String = text.chars().take(80).collect();
        let result = render_text(&text, &Inputs::default(), &Given::default(), b"seed");
        assert!(result.is_err(), "{shown} gives {} bytes", result.unwrap_or_default().len());
    }
}

#[test]
fn wide_padding_is_bounded() {
    let text = render_text(
        "{{ printf \"%999999999d|%.999999999f|%*d\" 1 1.5 999999999 1 }}",
        &Inputs::default(),
        &Given::default(),
        b"",
    );
    assert!(text.is_ok_and(|text| text.len() < 50_000));
}

/// Pieces that templates are made of, in an order that mostly makes no sense.
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
    fn no_text_is_more_than_a_fault(text in prop_oneof![pieces(), call(), any::<String>()]) {
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
