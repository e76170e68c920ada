#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{decode::Decoded, *};

fn yaml(text: &str) -> Value {
    decode_yaml(text.as_bytes()).unwrap().value
}

#[test]
fn syntax_errors_are_refused() {
    for text in [
        "",
        "{",
        "\"a",
        "{} x",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "[1 2]",
        "tru",
        "01",
        "-",
        "1.x",
        "1e",
        "\"\\x\"",
        "\"\n\"",
        "'a'",
        "\u{0}",
        "é",
        "1e999",
    ] {
        assert!(decode(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn numbers_are_integers_of_64_bits_or_floats() {
    let value = decode(b"[1, -0, 1.0, 1e2, 9223372036854775807, 9223372036854775808]").unwrap().value;
    let kinds: Vec<bool> = value.as_array().unwrap().iter().map(Value::is_i64).collect();
    assert_eq!(kinds, [true, true, false, false, true, false]);
    assert_eq!(text(&value), "[1,0,1,100,9223372036854775807,9223372036854776000]");
}

#[test]
fn a_float_without_a_fraction_is_written_as_an_integer() {
    let value = json!([1.0, -0.0, 0.1, 1.5e-10, 1e20, 1e18]);
    assert_eq!(text(&value), "[1,0,0.1,1.5e-10,100000000000000000000,1000000000000000000]");
    assert_eq!(encode_pretty(&json!({"a": 1.0})), b"{\n  \"a\": 1\n}");
    assert_eq!(encode_yaml(&json!({"a": 1.0})), "a: 1\n");
}

#[test]
fn invalid_unicode_becomes_replacement_characters() {
    let value =
        decode(b"[\"\xff\xfe\", \"\\ud800x\", \"\\ud83d\\ude00\", \"\\ud800\\u0041\", \"\\\\udead\"]");
    assert_eq!(value.unwrap().value, json!(["\u{fffd}\u{fffd}", "\u{fffd}x", "😀", "\u{fffd}A", "\\udead"]));
}

#[test]
fn the_last_of_duplicate_keys_wins_and_each_path_is_reported_once() {
    let body = br#"{"m":{"n":1,"n":2,"n":3},"l":[{"a":1},{"a":1,"a":{"b":1,"b":2}}],"m":4}"#;
    let expected = Decoded {
        value: json!({"m": 4, "l": [{"a": 1}, {"a": {"b": 2}}]}),
        duplicates: [
            r#"duplicate field "m.n""#,
            r#"duplicate field "l[1].a""#,
            r#"duplicate field "l[1].a.b""#,
            r#"duplicate field "m""#,
        ]
        .map(str::to_owned)
        .into(),
    };
    assert_eq!(decode(body).unwrap(), expected);
    assert_eq!(decode_yaml(body).unwrap(), expected);
    let block = decode_yaml(b"a: 1\nb:\n  c: 1\n  c: 2\na: |\n  text\n").unwrap();
    assert_eq!(block.value, json!({"a": "text\n", "b": {"c": 2}}));
    assert_eq!(block.duplicates, [r#"duplicate field "b.c""#, r#"duplicate field "a""#]);
}

#[test]
fn the_number_of_reported_duplicates_is_bounded() {
    let body: Vec<String> = (0..300).map(|n| format!("\"{n}\":1,\"{n}\":2")).collect();
    let decoded = decode(format!("{{{}}}", body.join(",")).as_bytes()).unwrap();
    assert_eq!(decoded.duplicates.len(), 100);
}

#[test]
fn nesting_is_bounded() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(decode(nested(MAX_DEPTH - 1).as_bytes()).is_ok());
    assert!(decode_yaml(nested(60).as_bytes()).is_ok());
    assert!(decode(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    assert!(decode_yaml(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    assert!(decode("[{\"a\":".repeat(1_000_000).as_bytes()).is_err());
    assert!(decode_yaml("[".repeat(1_000_000).as_bytes()).is_err());
    assert!(decode_yaml("- ".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn yaml_scalars_follow_yaml_1_1() {
    let text = "a: yes\nb: 010\nc: 0o10\nd: 1_000\ne: 2020-01-01\nf: 0x1F\n1: x\ng: 1.0\n\
                i: 18446744073709551615\nj: ~\nk: !!str 1\nl: !!binary aGk=\np: \"yes\"\n";
    assert_eq!(
        yaml(text),
        json!({
            "a": true, "b": 8, "c": 8, "d": 1000, "e": "2020-01-01", "f": 31, "1": "x", "g": 1,
            "i": 18_446_744_073_709_551_615.0, "j": null, "k": "1", "l": "hi", "p": "yes",
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
    assert_eq!(yaml("---\na: 1\n---\nb: 2\n"), json!({"a": 1}));
    assert_eq!(yaml(""), Value::Null);
    assert_eq!(yaml("# nothing\n"), Value::Null);
}

#[test]
fn anchors_and_merge_keys_are_expanded() {
    let text = "a: &a {x: 1, z: 1}\nb: *a\nc: {<<: *a, x: 2}\n";
    assert_eq!(yaml(text), json!({"a": {"x": 1, "z": 1}, "b": {"x": 1, "z": 1}, "c": {"x": 2, "z": 1}}));
}

#[test]
fn malformed_yaml_is_refused() {
    for text in
        ["a: *x\n", "a: &x [*x]\n", "a: .inf\n", "a: !!int x\n", "<<: 1\n", "a: b: c\n", "a: 1\nb: [1\n"]
    {
        assert!(decode_yaml(text.as_bytes()).is_err(), "{text}");
    }
    assert!(decode_yaml(b"\xff").is_err());
}

#[test]
fn the_expansion_of_aliases_is_bounded() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..20 {
        let uses = vec![format!("*a{}", n - 1); 10].join(",");
        bomb = format!("{bomb}a{n}: &a{n} [{uses}]\n");
    }
    assert!(decode_yaml(bomb.as_bytes()).is_err());
    let chain: Vec<String> = (1..50_000).map(|n| format!("a{n}: &a{n} [*a{}]", n - 1)).collect();
    assert!(decode_yaml(format!("a0: &a0 1\n{}\n", chain.join("\n")).as_bytes()).is_err());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // A fraction, which is never written as an integer.
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
    fn encoding_and_decoding_round_trips(value in any_value()) {
        prop_assert_eq!(&decode(&encode(&value)).unwrap().value, &value);
        prop_assert_eq!(&decode(&encode_pretty(&value)).unwrap().value, &value);
        let text = encode_yaml(&value);
        prop_assert_eq!(&decode_yaml(text.as_bytes()).unwrap().value, &value, "{}", text);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&bytes);
        let _ = decode_yaml(&bytes);
    }

    #[test]
    fn any_yaml_is_decoded_or_refused(text in "[ \n:&*a<\\[\\]{}|>!,#'\"?-]{0,40}") {
        let _ = decode_yaml(text.as_bytes());
    }
}
