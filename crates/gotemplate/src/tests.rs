use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

/// Functions of a host, to test with.
static HOST: &[Function] = &[Function::fixed("shout", &[Parameter::Str], |interpreter, args| {
    interpreter.string(format!("{}!", args[0].as_str()))
})];

fn render(text: &str, data: &Json) -> Result<String, Error> {
    let template = Template::parse(text, HOST)?;
    let mut interpreter = Interpreter::new(b"seed");
    let root = interpreter.heap.value_from_json(data);
    interpreter.render(&template, &root)
}

fn data() -> Json {
    json!({"name": "web", "port": 8080, "ratio": 1.5, "list": ["a", 1], "map": {"k": "v", "e": ""}, "nil": null})
}

#[test]
fn templates_render_as_in_go() {
    for (text, expected) in [
        ("{{ .name }}-{{ .port }}", "web-8080"),
        ("a {{- /* trimmed */ -}} b", "ab"),
        ("{{ .missing }} {{ .missing.deeper }}", "<no value> <no value>"),
        ("{{ if and .name (not .nil) }}yes{{ else }}no{{ end }}", "yes"),
        ("{{ with .map }}{{ .k }}{{ $.name }}{{ end }}", "vweb"),
        ("{{ range $k, $v := .map }}{{ $k }}={{ $v }};{{ end }}", "e=;k=v;"),
        ("{{ range 3 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}", "02"),
        ("{{ range .nil }}x{{ else }}none{{ end }}", "none"),
        ("{{ define \"t\" }}<{{ . }}>{{ end }}{{ template \"t\" .name }}", "<web>"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ .list }} {{ .map }} {{ .ratio }} {{ 1e21 }}", "[a 1] map[e: k:v] 1.5 1e+21"),
        (
            "{{ printf \"%05d|%-4s|%q|%v|%T\" .port .name .name .nil .list }}",
            "08080|web |\"web\"|<nil>|[]interface {}",
        ),
        ("{{ printf \"%d\" .name }}", "%!d(string=web)"),
        (
            "{{ toJson .map }} {{ \"<\" | toJson }} {{ \"<\" | toRawJson }}",
            "{\"e\":\"\",\"k\":\"v\"} \"\\u003c\" \"<\"",
        ),
        ("{{ index .list 1 }} {{ index .map \"none\" }}", "1 <no value>"),
        ("{{ default \"d\" .map.e }} {{ coalesce .nil .name }}", "d web"),
        ("{{ dig \"a\" \"b\" \"other\" (dict \"a\" (dict \"b\" 7)) }}", "7"),
        ("{{ $m := dict }}{{ $_ := set $m \"a\" 1 }}{{ $m }}", "map[a:1]"),
        ("{{ add 1 \"2\" 3.9 }} {{ div 7 2 }} {{ round 2.345 2 }}", "6 3 2.35"),
        (
            "{{ \"fooBar baz\" | kebabcase }} {{ trunc -3 .name }} {{ .name | b64enc }}",
            "foo-bar-baz web d2Vi",
        ),
        ("{{ typeOf (add 1 1) }} {{ kindOf .map }}", "int64 map"),
        ("{{ env \"HOME\" }}", ""),
        ("{{ shout .name }}", "web!"),
    ] {
        assert_eq!(render(text, &data()).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn errors_have_a_position_and_the_words_of_go() {
    for (text, line, kind, message) in [
        ("a\n{{ if }}x{{ end }}", 2, ErrorKind::Parse, "missing value for if"),
        ("{{ if true }}", 1, ErrorKind::Parse, "unexpected EOF"),
        ("\n\n{{ nope }}", 3, ErrorKind::Parse, "function \"nope\" not defined"),
        ("{{ $x }}", 1, ErrorKind::Parse, "undefined variable \"$x\""),
        ("{{ end }}", 1, ErrorKind::Parse, "unexpected {{end}}"),
        ("\n{{ index .list 9 }}", 2, ErrorKind::Execute, "error calling index: index out of range"),
        ("{{ .name.first }}", 1, ErrorKind::Execute, "can't evaluate field first in type string"),
        ("{{ indent (add 1 1) \"a\" }}", 1, ErrorKind::Execute, "indent: expected int, got int64"),
        ("{{ lower }}", 1, ErrorKind::Execute, "wrong number of args for lower: want 1 got 0"),
        ("{{ eq 1 .name }}", 1, ErrorKind::Execute, "incompatible types for comparison"),
        (
            "{{ range .name }}{{ end }}",
            1,
            ErrorKind::Execute,
            "range can't iterate over a value of type string",
        ),
        ("\n{{ fail \"no host\" }}", 2, ErrorKind::Fail, "no host"),
    ] {
        let error = render(text, &data()).unwrap_err();
        assert_eq!((error.line, error.kind), (line, kind), "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.to_string(), format!("line {line}: {}", error.message));
    }
}

#[test]
fn only_the_host_functions_of_a_template_are_defined() {
    assert!(Template::parse("{{ shout \"a\" }}", HOST).is_ok());
    assert!(Template::parse("{{ shout \"a\" }}", &[]).is_err());
}

#[test]
fn the_random_strings_are_known_and_follow_from_the_seed() {
    let draw = |seed: &[u8]| {
        let template = Template::parse("{{ randAlphaNum 8 }}", &[]).unwrap();
        let mut interpreter = Interpreter::new(seed);
        let output = interpreter.render(&template, &Value::Nil).unwrap();
        assert_eq!(interpreter.random_strings(), [output.as_str()]);
        output
    };
    assert_eq!(draw(b"one"), draw(b"one"));
    assert_ne!(draw(b"one"), draw(b"two"));
}

#[test]
fn each_render_has_the_whole_limit() {
    let template = Template::parse("{{ repeat 600 \"x\" }}", &[]).unwrap();
    let mut interpreter = Interpreter::with_limits(b"", Limits { bytes: 3000, ..Limits::default() });
    for _ in 0..3 {
        assert_eq!(interpreter.render(&template, &Value::Nil).map(|text| text.len()), Ok(600));
    }
    let template = Template::parse("{{ repeat 6000 \"x\" }}", &[]).unwrap();
    let error = interpreter.render(&template, &Value::Nil).unwrap_err();
    assert!(error.message.contains("template limit exceeded"), "{error}");
}

#[test]
fn a_value_that_is_too_large_is_not_converted_to_json() {
    let mut interpreter = Interpreter::with_limits(b"", Limits { values: 3, ..Limits::default() });
    let small = interpreter.heap.value_from_json(&json!([1, 2]));
    let large = interpreter.heap.value_from_json(&json!([1, 2, 3]));
    assert_eq!(interpreter.heap.to_json(&small), Ok(json!([1, 2])));
    assert!(interpreter.heap.to_json(&large).is_err());
}

#[test]
fn endless_loops_recursion_and_huge_outputs_fail() {
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
        let result = render(&text, &json!({}));
        assert!(result.is_err(), "{shown} renders {} bytes", result.unwrap_or_default().len());
    }
}

#[test]
fn padding_is_bounded() {
    for format in ["%500000d", "%.500000f", "%*d", "%.*d", "%99999999d"] {
        let text = render(&format!("{{{{ printf {format:?} 500000 1 }}}}"), &json!({}));
        assert!(text.as_ref().is_ok_and(|text| text.len() < 100), "{format}: {text:?}");
    }
    let error = render("{{ printf \"%9999d\" (until 100000) }}", &json!({})).unwrap_err();
    assert!(error.message.contains("template limit exceeded"), "{error}");
}

/// Tokens in random order.
fn tokens() -> impl Strategy<Value = String> {
    let token = prop::sample::select(
        "{{ }} {{- -}} ( ) | . $ $x := = , \" ` ' \\ %v if else end range with define template block break continue \
         nil true 0x 1 -1 1.5 9223372036854775807 é 🔐 .map .map.k index printf dict list set merge dig toJson fromJson \
         substr trunc repeat until splitList regexMatch indent slice last b64dec round div /* */ \"a\" \"%[3]*.[2]*[1]f\" \"(\""
            .split(' ')
            .chain(["\n"])
            .collect::<Vec<_>>(),
    );
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.join(" "))
}

/// Call of a function with arguments of any type.
fn call() -> impl Strategy<Value = String> {
    let function = prop::sample::select(
        "printf print html js urlquery len index slice eq lt default ternary cat quote indent replace splitList split \
         substr trunc b64dec regexMatch atoi title kebabcase join dict get set merge dig keys append last reverse has \
         uniq add sub div mod min round int float64 until toPrettyJson fromJson deepCopy randAlphaNum uuidv4 pluck omit \
         without repeat trimSuffix sha256sum"
            .split(' ')
            .collect::<Vec<_>>(),
    );
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
        ".",
        ".list",
        ".map",
        ".nope",
        ".nil",
        "(list 1 \"a\" nil)",
        "(dict \"a\" (list))",
        "(add 1 2)",
        "'x'",
        "1e300",
        "\"[1,{\"",
    ]);
    (function, prop::collection::vec(argument, 0..5))
        .prop_map(|(function, arguments)| format!("{{{{ {function} {} }}}}", arguments.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_template_panics(text in prop_oneof![tokens(), call(), any::<String>()]) {
        let _ = render(&text, &data());
    }
}
