#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn problem(text: &[u8]) -> String {
    decode(text).unwrap_err().to_string()
}

fn compact(value: &Value) -> String {
    String::from_utf8(encode(value)).unwrap()
}

fn yaml(text: &str) -> Value {
    decode_yaml(text.as_bytes()).unwrap().value
}

fn yaml_problem(text: &str) -> String {
    decode_yaml(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn syntax_errors_are_told_in_the_words_of_the_server() {
    for (text, message) in [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("\"a", "unexpected end of JSON input"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("{\"a\":}", "invalid character '}' looking for beginning of value"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("nil", "invalid character 'i' in literal null (expecting 'u')"),
        ("01", "invalid character '1' after top-level value"),
        ("-", "invalid character ' ' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e", "invalid character ' ' in exponent of numeric literal"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("\"\\u12g\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("\"\n\"", "invalid character '\\n' in string literal"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
        ("\u{0}", "invalid character '\\x00' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
    ] {
        assert_eq!(problem(text.as_bytes()), message, "{text}");
    }
}

#[test]
fn a_number_that_is_too_large_is_found_after_the_syntax() {
    let message = "json: cannot unmarshal number 1e999 into Go value of type float64";
    assert_eq!(decode(b"[1e999, 1e888]"), Err(DecodeError::OutOfRange("1e999".to_owned())));
    assert_eq!(problem(b"{\"a\":1e999}"), message);
    assert_eq!(problem(b"[1e999"), "unexpected end of JSON input");
}

#[test]
fn numbers_are_integers_of_64_bits_or_floats() {
    let value = decode(b"[1, -0, 1.0, 1e2, 9223372036854775807, 9223372036854775808]").unwrap().value;
    let kinds: Vec<bool> = value.as_array().unwrap().iter().map(Value::is_i64).collect();
    assert_eq!(kinds, [true, true, false, false, true, false]);
    assert_eq!(compact(&value), "[1,0,1,100,9223372036854775807,9223372036854776000]");
}

#[test]
fn floats_have_an_exponent_only_at_the_ends() {
    for (float, text) in [
        (1.0, "1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-2.5e30, "-2.5e+30"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (0.1, "0.1"),
        // Two texts of this length are as near; the even one is taken.
        (90_071_123_456_789.13, "90071123456789.12"),
        (-0.0, "0"),
        (1.234_567_890_123_456_9e23, "1.2345678901234569e+23"),
    ] {
        assert_eq!(compact(&json!(float)), text);
    }
}

#[test]
fn strings_are_escaped_for_browsers() {
    let text = "<>&\u{2028}\u{1}\u{8}\u{c}\n\t\"\\é\u{7f}";
    assert_eq!(compact(&json!(text)), "\"\\u003c\\u003e\\u0026\\u2028\\u0001\\b\\f\\n\\t\\\"\\\\é\u{7f}\"");
}

#[test]
fn what_is_not_unicode_becomes_replacement_characters() {
    let value = decode(b"[\"\xff\xfe\", \"\xe2\x82\", \"\\ud800x\", \"\\ud83d\\ude00\", \"\\ud800\\u0041\"]")
        .unwrap()
        .value;
    assert_eq!(value, json!(["\u{fffd}\u{fffd}", "\u{fffd}\u{fffd}", "\u{fffd}x", "😀", "\u{fffd}A"]));
}

#[test]
fn of_duplicates_the_last_one_wins_and_each_place_is_told_once() {
    let body = br#"{"m":{"n":1,"n":2,"n":3},"l":[{"a":1},{"a":1,"a":{"b":1,"b":2}}],"m":4}"#;
    let decoded = decode(body).unwrap();
    assert_eq!(decoded.value, json!({"m": 4, "l": [{"a": 1}, {"a": {"b": 2}}]}));
    let told = [
        r#"duplicate field "m.n""#,
        r#"duplicate field "l[1].a""#,
        r#"duplicate field "l[1].a.b""#,
        r#"duplicate field "m""#,
    ];
    assert_eq!(decoded.duplicates.errors(), told);
    assert_eq!(decoded.duplicates.warnings(), told);
}

#[test]
fn a_flood_of_duplicates_is_cut_short() {
    let body: Vec<String> = (0..300).map(|n| format!("\"{n}\":1,\"{n}\":2")).collect();
    let decoded = decode(format!("{{{}}}", body.join(",")).as_bytes()).unwrap();
    assert_eq!(decoded.duplicates.errors().len(), 100);
}

#[test]
fn nesting_has_an_end() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(decode(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(problem(nested(MAX_DEPTH + 1).as_bytes()), "invalid character '[' exceeded max depth");
    assert!(decode("[{\"a\":".repeat(1_000_000).as_bytes()).is_err());
    assert!(decode_yaml("[".repeat(1_000_000).as_bytes()).is_err());
    assert!(decode_yaml("- ".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn people_get_two_spaces_for_each_level() {
    let value = json!({"a": [1, {"b": []}], "c": {}});
    let text = "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}";
    assert_eq!(encode_pretty(&value), text.as_bytes());
}

#[test]
fn a_summary_shows_the_start_of_the_body() {
    assert_eq!(summary(b""), "<empty>");
    assert_eq!(summary(b"[]"), "5b5d");
    assert_eq!(summary(b"{\"kind\":1}"), "{\"kind\":1}");
    assert_eq!(summary(&[b'{'; 31]), format!("{} ...", "{".repeat(30)));
}

#[test]
fn words_of_yaml_mean_what_they_mean_in_yaml_1_1() {
    let text = "a: yes\nb: 010\nc: 0o10\nd: 1_000\ne: 2020-01-01\nf: 0x1F\n1: x\ntrue: y\n1.5: Off\ng: 1.0\nh: 1e999\n\
                i: 18446744073709551615\nj: ~\nk: !!str 1\nl: !!binary aGk=\nm: 0888\np: \"yes\"\n";
    assert_eq!(
        yaml(text),
        json!({
            "a": true, "b": 8, "c": 8, "d": 1000, "e": "2020-01-01", "f": 31, "1": "x", "true": true, "1.5": false,
            "g": 1, "h": "1e999", "i": 18_446_744_073_709_551_615.0, "j": null, "k": "1", "l": "hi", "m": 888, "p": "yes",
        })
    );
}

#[test]
fn json_is_yaml_whose_whole_numbers_are_integers() {
    let decoded = decode_yaml(b"{\"a\": [1.0, 1.5, \"yes\"]}").unwrap();
    assert_eq!(decoded.value, json!({"a": [1, 1.5, "yes"]}));
    assert!(decoded.value["a"][0].is_i64());
}

#[test]
fn only_the_first_document_is_read() {
    assert_eq!(yaml("---\na: 1\n---\nb: [\n"), json!({"a": 1}));
    assert_eq!(yaml(""), Value::Null);
    assert_eq!(yaml("# nothing\n"), Value::Null);
}

#[test]
fn anchors_and_merge_keys_are_unfolded() {
    let text = "a: &a {x: 1, z: 1}\nb: *a\nc: {<<: *a, x: 2}\nd: {x: 2, <<: *a}\ne: {<<: [{x: 3}, *a]}\n";
    assert_eq!(
        yaml(text),
        json!({
            "a": {"x": 1, "z": 1}, "b": {"x": 1, "z": 1}, "c": {"x": 2, "z": 1}, "d": {"x": 1, "z": 1},
            "e": {"x": 3, "z": 1},
        })
    );
}

#[test]
fn duplicate_keys_of_yaml_are_told_by_line() {
    let decoded = decode_yaml(b"a: 1\nb:\n  c: 1\n  c: 2\na: |\n  text\n").unwrap();
    assert_eq!(decoded.value, json!({"a": "text\n", "b": {"c": 2}}));
    assert_eq!(
        decoded.duplicates.errors(),
        [
            "yaml: unmarshal errors:\n  line 4: key \"c\" already set in map\n  line 5: key \"a\" already set in map"
        ]
    );
    assert_eq!(decoded.duplicates.warnings().len(), 2);
    let json = decode_yaml(b"{\"a\":1,\"a\":2}").unwrap();
    assert_eq!(json.duplicates.warnings(), ["line 1: key \"a\" already set in map"]);
}

#[test]
fn mistakes_of_yaml_are_told_in_the_words_of_the_server() {
    for (text, message) in [
        ("a: *x\n", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]\n", "yaml: anchor 'x' value contains itself"),
        ("a: .inf\n", "json: unsupported value: +Inf"),
        ("null: b\n", "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"b\""),
        ("a: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
        ("<<: 1\n", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: \u{7}\n", "yaml: control characters are not allowed"),
        ("a: b: c\n", "yaml: mapping values are not allowed in this context"),
        ("a: 1\nb: [1\n", "yaml: line 2: did not find expected ',' or ']'"),
    ] {
        assert_eq!(yaml_problem(text), message, "{text}");
    }
    assert_eq!(decode_yaml(b"\xff").unwrap_err().to_string(), "yaml: invalid leading UTF-8 octet");
}

#[test]
fn aliases_cannot_be_used_to_grow_without_end() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..20 {
        let uses = vec![format!("*a{}", n - 1); 10].join(",");
        bomb = format!("{bomb}a{n}: &a{n} [{uses}]\n");
    }
    assert_eq!(yaml_problem(&bomb), "yaml: document contains excessive aliasing");
    let chain: Vec<String> = (1..50_000).map(|n| format!("a{n}: &a{n} [*a{}]", n - 1)).collect();
    assert_eq!(yaml_problem(&format!("a0: &a0 1\n{}\n", chain.join("\n"))), "yaml: exceeded max depth");
}

#[test]
fn answers_in_yaml_look_like_those_of_the_server() {
    let value = json!({
        "apiVersion": "v1", "empty": [], "none": {}, "nil": null, "float": 1_234_567.5, "whole": 1e19,
        "list": [1, [2, 3], {"a": 1, "b": [true]}, "x"],
        "text": {
            "bool": "yes", "colon": "a: b", "dash": "- a", "date": "2020-01-01T00:00:00Z", "empty": "",
            "lines": "a\nb\n", "more": "a\n\n", "bare": "a\nb", "space": " a", "tab": "a\tb", "quote": "it's",
            "hash": "#a", "time": "12:30", "star": "*a", "emoji": "😀",
        },
        "x".repeat(129): {"y": 1},
    });
    let long = "x".repeat(129);
    let text = format!(
        "apiVersion: v1\nempty: []\nfloat: 1.2345675e+06\nlist:\n- 1\n- - 2\n  - 3\n- a: 1\n  b:\n  - true\n- x\n\
         nil: null\nnone: {{}}\ntext:\n  bare: |-\n    a\n    b\n  bool: \"yes\"\n  colon: 'a: b'\n  dash: '- a'\n  \
         date: \"2020-01-01T00:00:00Z\"\n  emoji: \"\\U0001F600\"\n  empty: \"\"\n  hash: '#a'\n  lines: |\n    a\n    \
         b\n  more: |+\n    a\n\n  quote: it's\n  space: ' a'\n  star: '*a'\n  tab: \"a\\tb\"\n  time: \"12:30\"\n\
         whole: 10000000000000000000\n? {long}\n: \"y\": 1\n"
    );
    assert_eq!(encode_yaml(&value), text);
}

#[test]
fn long_texts_of_yaml_go_on_in_the_next_line() {
    let words = vec!["word"; 20].join(" ");
    let first = vec!["word"; 16].join(" ");
    let rest = "word word word word";
    assert_eq!(
        encode_yaml(&json!({"a": [{"b": words, "c": format!("{words}:")}], "d": format!("{words}\t")})),
        format!("a:\n- b: {first}\n    {rest}\n  c: '{first}\n    {rest}:'\nd: \"{first}\n  {rest}\\t\"\n")
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // A fraction, which no text turns into an integer.
        (-1_000_000_i32..1_000_000).prop_map(|n| Value::from(f64::from(n) + 0.5)),
        "[ -~\n\té\u{2028}]{0,8}".prop_map(Value::from),
        "(yes|no|1|0x1|~|null|2020-01-01|1:30|- a|a: b)".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-z0-9:# ]{0,6}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_again(value in any_value()) {
        prop_assert_eq!(&decode(&encode(&value)).unwrap().value, &value);
        prop_assert_eq!(&decode(&encode_pretty(&value)).unwrap().value, &value);
    }

    #[test]
    fn what_is_encoded_as_yaml_is_decoded_again(value in any_value()) {
        let text = encode_yaml(&value);
        prop_assert_eq!(&decode_yaml(text.as_bytes()).unwrap().value, &value, "{}", text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&bytes);
        let _ = decode_yaml(&bytes);
    }

    #[test]
    fn any_text_of_yaml_is_read_or_refused(text in "[ \n:&*a<\\[\\]{}|>!,#'\"?-]{0,40}") {
        let _ = decode_yaml(text.as_bytes());
    }
}
