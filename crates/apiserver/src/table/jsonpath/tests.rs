#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use serde_json::{Value, json};

use super::*;

fn object() -> Value {
    json!({
        "metadata": { "annotations": { "a.b/c": "annotated" } },
        "name": "abc", "set": ["a", "b"], "empty": [], "nil": null, "nest": [[1, 2], [3]], "odd key": "odd",
        "strings": ["a", "b", "a\"b"],
        "conditions": [
            { "type": "Ready", "status": "True", "n": 3, "at": "now" },
            { "type": "Other", "status": "False", "n": 7, "ok": true },
            { "type": "Third", "n": 5 },
        ],
        "mixed": [{ "v": "s" }, { "v": 1 }],
    })
}

/// All values, or null where the path does not match the object.
fn found(path: &str) -> Value {
    let object = object();
    let path = JsonPath::parse(path).unwrap();
    path.find(&object).map_or(Value::Null, |found| found.into_iter().map(Cow::into_owned).collect())
}

#[test]
fn paths_select_the_same_values_as_on_a_real_server() {
    for (path, values) in [
        (".name", json!(["abc"])),
        (".missing.deeper", json!([])),
        (".", json!([])),
        (".name.deeper", json!([])),
        (".nil", json!([null])),
        (".nil.deeper", json!([])),
        (".metadata.annotations['a.b/c']", json!([])),
        (".metadata.annotations['a\\.b/c']", json!(["annotated"])),
        (".metadata.annotations.a\\.b/c", json!(["annotated"])),
        ("$.name", json!(["abc"])),
        ("@.name", json!(["abc"])),
        (".['odd key']", Value::Null),
        (".set[*]", json!(["a", "b"])),
        (".set[1]", json!(["b"])),
        (".set[-1]", json!(["b"])),
        (".set[-2]", json!(["a"])),
        (".set[-2:-1]", json!(["a"])),
        (".set[-5]", Value::Null),
        (".set[9]", Value::Null),
        (".set[]", json!(["a"])),
        (".set[0:2]", json!(["a", "b"])),
        (".set[0:2:2]", json!(["a"])),
        (".set[::0]", Value::Null),
        (".set[0:3]", Value::Null),
        (".set[1:0]", Value::Null),
        (".set[1:]", json!(["b"])),
        (".set[0:0]", json!([])),
        (".set[0,1]", json!(["a", "b"])),
        (".empty[*]", json!([])),
        (".empty[0]", Value::Null),
        (".nil[0]", json!([])),
        (".name[0]", Value::Null),
        (".nest[*][*]", json!([1, 2, 3])),
        (".nest[*][0]", json!([1, 3])),
        ("..type", json!(["Ready", "Other", "Third"])),
        (".conditions[*].status", json!(["True", "False"])),
        (".metadata.*", json!([{ "a.b/c": "annotated" }])),
        (".name.*", json!([97, 98, 99])),
        (".name 5", json!([5])),
        (".name 'x'", json!(["x"])),
        (".name range", Value::Null),
        (".name} and {.set", json!(["abc"])),
    ] {
        assert_eq!(found(path), values, "{path}");
    }
}

#[test]
fn filters_compare_values_of_one_type() {
    for (filter, types) in [
        (r#"@.type=="Ready""#, json!(["Ready"])),
        ("@.type=='Ready'", json!(["Ready"])),
        (r#"@.type!="Ready""#, json!(["Other", "Third"])),
        ("@.n<5", json!(["Ready"])),
        ("@.n<=5", json!(["Ready", "Third"])),
        ("@.n>5", json!(["Other"])),
        ("@.n >= 5", json!(["Other", "Third"])),
        ("@.n==5.0", Value::Null),
        ("@.n===5", Value::Null),
        ("@.ok==true", json!(["Other"])),
        ("@.ok<true", Value::Null),
        ("@.at", json!(["Ready"])),
        ("@.n[0]", json!(["Ready", "Other", "Third"])),
        ("", json!(["Ready", "Other", "Third"])),
        ("word==1", Value::Null),
    ] {
        assert_eq!(found(&format!(".conditions[?({filter})].type")), types, "{filter}");
    }
    assert_eq!(found(r#".strings[?(@=="a\"b")]"#), json!(["a\"b"]));
    assert_eq!(found(r#".mixed[?(@.v=="s")]"#), Value::Null);
    assert_eq!(found(".metadata[?(@.v)]"), Value::Null);
}

#[test]
fn a_malformed_path_is_refused() {
    for path in [
        ".a[",
        ".a]",
        ".a[b]",
        ".a[?(@.x",
        "....a",
        "..*",
        ".a[0",
        ".a[?(@.x==)]",
        ".a[?(@.x=='q)]",
        ".a[1.5]",
        ".a -1.2.3",
        ".a - ",
        ".a 'x",
        ".a \"\\q\"",
        ".a[99999999999999999999]",
        ".a[\"b\"]",
        ".a{",
        ".a\nb",
        ".a\tb",
        ".a,b",
        ".a[?(@.x=~1)]",
        ".a[-]",
        ".a[:::]",
        ".a[ 1 ]",
        ".a[?(@.x==1)",
        ".a ٣",
        "#",
    ] {
        assert!(JsonPath::parse(path).is_err(), "{path}");
    }
}

#[test]
fn unusual_but_well_formed_paths_are_accepted() {
    for path in
        [".a'", ".a#", ".a(1)", ".a+1", ".a|b", ".a[1,2,]", ".a[?(@.x===1)]", ".a}", ".a}}", ".é", ".a é", ""]
    {
        assert!(JsonPath::parse(path).is_ok(), "{path}");
    }
}

#[test]
fn hostile_paths_terminate() {
    let nest = json!([[[[[[[[[[[[1]]]]]]]]]]]]);
    let path = JsonPath::parse(&"[0,0,0,0,0,0,0,0,0,0,0,0]".repeat(12)).unwrap();
    assert!(path.find(&nest).is_err());
    assert!(JsonPath::parse(&"[?(x'".repeat(20_000)).is_err());
}
