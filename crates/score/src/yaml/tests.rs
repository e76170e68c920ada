use std::fmt::Write;

use serde_json::{Value as Json, json};

use super::*;

fn read(text: &str) -> (Option<Json>, Vec<Diagnostic>) {
    let (node, findings) = parse(&Source::new("x", text), SourceId(0));
    (node.map(|node| node.to_json()), findings.into_sorted())
}

fn value(text: &str) -> Json {
    let (value, findings) = read(text);
    assert!(findings.is_empty(), "{text}: {findings:?}");
    value.unwrap()
}

fn codes(text: &str) -> Vec<&'static str> {
    read(text).1.iter().map(|finding| finding.code.name()).collect()
}

#[test]
fn every_value_has_its_span() {
    let text = "a:\n  - one\n  - é: two\n";
    let source = Source::new("x", text);
    let (node, _) = parse(&source, SourceId(0));
    let node = node.unwrap();
    let second = node.get("a").unwrap().as_list().unwrap()[1].clone();
    let entry = second.entry("é").unwrap();
    assert_eq!(source.slice(entry.key_span.unwrap()), Some("é"));
    assert_eq!(source.slice(entry.node.span.unwrap()), Some("two"));
    assert_eq!(source.location(entry.node.span.unwrap().start as usize).to_string(), "3:8");
}

#[test]
fn json_is_yaml() {
    assert_eq!(
        value("{\n\t\"a\": [1, -2.5e1, true, null],\n\t\"b\\/c\": \"\\ud83d\\ude00\"\n}"),
        json!({"a": [1, -25.0, true, null], "b/c": "😀"})
    );
}

#[test]
fn anchors_and_merge_keys_are_resolved() {
    assert_eq!(
        value("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nalso: *b\n"),
        json!({"base": {"x": 1, "y": 2}, "use": {"x": 1, "y": 3}, "also": {"x": 1, "y": 2}})
    );
    assert_eq!(
        value("a: &a {x: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b]}\n")["c"],
        json!({"x": 1, "z": 2}),
        "the earlier map of a list wins"
    );
    assert_eq!(value("v: <<\n"), json!({"v": "<<"}));
}

#[test]
fn tags_are_followed_or_refused() {
    assert_eq!(value("a: !!str 8080\nb: ! 1\nc: !!float 1\n"), json!({"a": "8080", "b": 1, "c": 1}));
    assert_eq!(value("a: !!binary aGVsbG8=\n"), json!({"a": "hello"}));
    assert_eq!(value("a: !!binary |\n  aGVs\n  bG8=\n"), json!({"a": "hello"}));
    assert_eq!(codes("a: !!int x\n"), ["UNSUPPORTED_VALUE"]);
    assert_eq!(codes("a: !!binary '***'\n"), ["UNSUPPORTED_VALUE"]);
}

#[test]
fn unknown_tags_are_ignored_with_a_warning() {
    let (value, findings) = read("a: !Ref 5\nb: !Sub {c: 1}\nd: !x []\n");
    assert_eq!(value, Some(json!({"a": "5", "b": {"c": 1}, "d": []})));
    let found: Vec<_> = findings.iter().map(|f| (f.code.name(), f.pointer.as_str(), f.is_error())).collect();
    let code = "UNSUPPORTED_VALUE";
    assert_eq!(found, [(code, "/a", false), (code, "/b", false), (code, "/d", false)]);
}

#[test]
fn a_block_ends_where_the_text_ends() {
    assert_eq!(value("k: |\n  a"), json!({"k": "a"}));
    assert_eq!(value("k: |\n  a\n"), json!({"k": "a\n"}));
    assert_eq!(value("k: |+\n  a\n\n"), json!({"k": "a\n\n"}));
    assert_eq!(value("k: >\n  a\n  b"), json!({"k": "a b"}));
    assert_eq!(value("k: |-\n  a"), json!({"k": "a"}));
}

#[test]
fn content_after_the_document_is_a_syntax_error() {
    for text in [
        "  a: 1\nb: 2\n",
        "{a: b}\nc: d\n",
        "{\"a\":1}{\"b\":2}",
        "--- a: 1\n",
        "foo\nbar: baz\n",
        "{\"a\":1}}",
    ] {
        assert_eq!(codes(text), ["INVALID_SYNTAX"], "{text}");
    }
}

#[test]
fn recoverable_errors_do_not_stop_parsing() {
    let (value, findings) = read("a: 1\na: 2\n3: x\n? [k]\n: y\nb: .inf\nc: {<<: 1}\nd: ok\n");
    let found: Vec<_> = findings.iter().map(|f| (f.code.name(), f.pointer.as_str())).collect();
    assert_eq!(
        found,
        [
            ("DUPLICATE_KEY", "/a"),
            ("NON_STRING_KEY", "/3"),
            ("NON_STRING_KEY", ""),
            ("UNSUPPORTED_VALUE", "/b"),
            ("UNSUPPORTED_VALUE", "/c/<<"),
        ]
    );
    assert_eq!(value.unwrap()["d"], json!("ok"));
}

#[test]
fn a_syntax_error_stops_parsing_with_a_location_and_a_hint() {
    for (text, place, hint) in [
        ("a:\n\tb: 1\n", "2:1", "indent with spaces"),
        ("a:\n  b: c\n\td: 1\n", "3:1", "indent with spaces"),
        ("a: @b\n", "1:4", "quote the value"),
        ("a: b: c\n", "1:5", "colon"),
        ("a: [1, 2\nb: 3\n", "2:2", "bracket"),
        ("a: \"b\n", "2:1", "close the quotes"),
        ("a: \"b\nc: [\"d\"]\n", "2:1", "close the quotes"),
        ("a:\n  image nginx\n  command: [\"x\"]\n", "3:10", "the line above"),
        ("{\"a\": \"x\" \"b\": 1}\n", "1:11", "comma"),
    ] {
        let (value, findings) = read(text);
        assert!(value.is_none(), "{text}");
        let finding = findings.last().unwrap();
        assert_eq!(finding.code, Code::InvalidSyntax, "{text}");
        assert!(finding.hint.contains(hint), "{text}: {}", finding.hint);
        let at = Source::new("x", text).location(finding.span.unwrap().start as usize);
        assert_eq!(at.to_string(), place, "{text}: {}", finding.message);
    }
}

#[test]
fn only_the_first_document_is_read() {
    let (first, findings) = read("a: 1\n---\nb: [\n");
    assert_eq!(first, Some(json!({"a": 1})));
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].code, findings[0].is_error()), (Code::ExtraDocument, false));
    assert_eq!(value("a: 1\n---\n"), json!({"a": 1}));
    assert_eq!(value_of_empty("---\n"), ["EMPTY_DOCUMENT"]);
    assert_eq!(value("null\n"), json!(null));
    assert_eq!(value_of_empty("# nothing\n"), ["EMPTY_DOCUMENT"]);
    assert_eq!(value_of_empty(""), ["EMPTY_DOCUMENT"]);
}

fn value_of_empty(text: &str) -> Vec<&'static str> {
    assert_eq!(read(text).0, None);
    codes(text)
}

#[test]
fn hostile_input_ends_in_a_diagnostic() {
    let deep = "[".repeat(5000);
    assert!(!codes(&deep).is_empty());
    let deep = format!("{}1", "a: {".repeat(150));
    assert!(!codes(&deep).is_empty());
    assert_eq!(codes(&" ".repeat(limits::BYTES + 1)), ["LIMIT_EXCEEDED"]);
    // Each alias doubles the size of the previous one.
    let mut bomb = "a0: &a0 [x, x]\n".to_owned();
    for n in 1..60 {
        writeln!(bomb, "a{n}: &a{n} [*a{}, *a{}]", n - 1, n - 1).unwrap();
    }
    assert_eq!(codes(&bomb), ["LIMIT_EXCEEDED"]);
    // Each alias copies a long scalar.
    let bomb = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(50_000), "*a,".repeat(15_000));
    assert_eq!(codes(&bomb), ["LIMIT_EXCEEDED"]);
    // Each alias adds to the depth.
    let mut deep = format!("a0: &a0 {}1{}\n", "[".repeat(90), "]".repeat(90));
    for n in 1..5 {
        writeln!(deep, "a{n}: &a{n} {}*a{}{}", "[".repeat(90), n - 1, "]".repeat(90)).unwrap();
    }
    assert_eq!(codes(&deep), ["LIMIT_EXCEEDED"]);
    assert_eq!(codes(&"[".repeat(500)), ["LIMIT_EXCEEDED"]);
    // Anchors inside anchors are copied once each.
    let nested = format!("{}x{}", "&a [".repeat(90), "]".repeat(90));
    assert!(codes(&nested).is_empty());
    assert_eq!(codes("a: &a [*a]\n"), ["UNSUPPORTED_VALUE"]);
}

#[test]
fn output_is_safe_for_yaml_1_1_parsers() {
    let tricky = [
        "no",
        "on",
        "yes",
        "y",
        "n",
        "off",
        "true",
        "null",
        "~",
        "",
        "1",
        "1.0",
        "0644",
        "0x1f",
        "1_000",
        "1e3",
        ".5",
        ".inf",
        "2024-01-01",
        "2024-01-01T10:00:00Z",
        "12:30:45",
        "<<",
        "=",
        "a: b",
        "- a",
        "# a",
        "a #b",
        "@a",
        "`a`",
        "%a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "{",
        "[",
        "]",
        "}",
        ",",
        "?",
        ":",
        "-",
        " a",
        "a ",
        "a\nb",
        "a\nb\n",
        "\n",
        "\ta",
        "é",
        "😀",
        "\u{7f}",
        "\u{0}",
        "'",
        "\"",
        "\\",
        "$${a}",
        "${a}",
        "---",
        "...",
        "a\r\nb",
    ];
    for text in tricky {
        let yaml = to_yaml(&json!({"k": text, "l": [text]})).unwrap();
        let back = value(&yaml);
        assert_eq!(back, json!({"k": text, "l": [text]}), "{yaml}");
    }
    for word in ["no", "on", "y", "2024-01-01", "1_000", "0644"] {
        let yaml = to_yaml(&json!({ "k": word })).unwrap();
        assert!(yaml.contains(&format!("\"{word}\"")) || yaml.contains(&format!("'{word}'")), "{yaml}");
    }
    for key in ["no", "1", "2024-01-01", "a: b", ""] {
        let yaml = to_yaml(&json!({ key: "x" })).unwrap();
        assert_eq!(value(&yaml), json!({ key: "x" }), "{yaml}");
    }
}

#[test]
fn parse_any_keeps_non_string_keys_and_reports_them() {
    let source = Source::new("test", "7: a\n~: b\nc: {true: d}\n");
    let (node, findings) = parse_any(&source, SourceId(0));
    assert_eq!(node.unwrap().to_json(), serde_json::json!({"7": "a", "": "b", "c": {"true": "d"}}));
    let codes: Vec<_> = findings.into_sorted().into_iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::NonStringKey; 3]);
    let (node, _) = parse(&source, SourceId(0));
    assert_eq!(node.unwrap().to_json(), serde_json::json!({"c": {}}));
}

#[test]
fn parse_any_honours_the_float_tag() {
    let (node, findings) = parse_any(&Source::new("test", "a: !!float 1\n"), SourceId(0));
    assert!(!findings.has_errors());
    assert_eq!(node.unwrap().to_json().to_string(), r#"{"a":1.0}"#);
}
