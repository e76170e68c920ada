//! Rules, with the results of a real server (1.36).
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use serde_json::{Value, json};

use super::*;

fn check(schema: &Schema, at: &str) -> Vec<FieldError> {
    check_within(schema, at, None)
}

const AT: &str = "spec.validation.openAPIV3Schema.properties[spec]";

fn schema(rules: &Value) -> Schema {
    serde_json::from_value(json!({
        "type": "object",
        "x-kubernetes-validations": rules,
        "properties": {
            "i": {"type": "integer"},
            "d": {"type": "number"},
            "s": {"type": "string"},
            "n": {"type": "string", "nullable": true},
            "x": {"x-kubernetes-int-or-string": true},
            "t": {"type": "string", "format": "date-time"},
            "by": {"type": "string", "format": "byte"},
            "a-b": {"type": "integer"},
            "l": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "set2": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "lm": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
            },
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "o": {"type": "object", "properties": {"a": {"type": "string"}}},
            "p": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
        }
    }))
    .unwrap()
}

fn spec() -> Value {
    json!({
        "i": 5, "d": 1.5, "s": "abc", "n": null, "x": "50%", "t": "2024-02-29T12:34:56Z", "by": "YWJj", "a-b": 3,
        "l": ["a", "b", "a"], "set": ["a", "b"], "set2": ["b", "a"],
        "lm": [{"k": "1", "v": 1}, {"k": "2", "v": 2}], "m": {"k1": "v1", "k2": "v2"}, "o": {"a": "x"}, "p": {"q": 1},
    })
}

/// The schema of an object whose spec has rules.
fn whole(rules: &Value) -> Schema {
    let mut whole = Schema { kind: "object".to_owned(), ..Schema::default() };
    whole.properties.insert("spec".to_owned(), schema(rules).into());
    whole
}

fn problem(rule: &str) -> Option<String> {
    let errors = check(&schema(&json!([{"rule": rule}])), AT);
    let value = format!("Invalid value: {rule:?}: ");
    errors.first().map(|error| error.message.strip_prefix(&value).unwrap_or(&error.message).to_owned())
}

/// The errors of one rule on an object.
fn evaluated(rule: &str) -> Vec<String> {
    assert_eq!(problem(rule), None, "{rule}");
    let object = json!({"spec": spec()});
    let verdict = Rules::compile(&whole(&json!([{"rule": rule}]))).evaluate(&object, None);
    verdict.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_that_do_not_match_the_schema_are_refused_with_the_position_of_the_error() {
    for (rule, expected) in [
        ("self.nope == 1", "1:5: undefined field 'nope'\n | self.nope == 1\n | ....^"),
        ("self.i + 1.0 == 2.0", "1:8: found no matching overload for '_+_' applied to '(int, double)'"),
        ("self.s == self.i", "1:8: found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.s.size(1) == 1", "1:12: found no matching overload for 'size' applied to 'string.(int)'"),
        ("foo(self.i)", "1:4: undeclared reference to 'foo' (in container '')"),
        ("self.l.all(x, x)", "1:15: expected type 'bool' but found 'string'"),
        ("self.o.all(k, true)", "1:5: expression of type 'selfType.o' cannot be range of a comprehension"),
        ("[1, 'a'].size() == 2", "1:5: expected type 'int' but found 'string'"),
        ("self.s.matches('[')", "1:16: invalid matches argument"),
        ("duration('x') == duration('1s')", "1:10: invalid duration argument"),
        ("'%d'.format([self.s]) == ''", "decimal clause can only be used on integers, was given string"),
        ("has(self)", "1:5: invalid argument to has() macro"),
        ("self.any == 1", "1:5: undefined field 'any'"),
        ("self.s == null", "1:8: found no matching overload for '_==_' applied to '(string, null)'"),
        ("self.i ==", "1:10: Syntax error: mismatched input '<EOF>' expecting"),
        ("for == 1", "1:1: reserved identifier: for"),
    ] {
        let found = problem(rule).unwrap();
        assert!(found.contains(expected), "{rule}: {found}");
    }
    assert_eq!(problem("self.i").unwrap(), "cel expression must evaluate to a bool");
    assert!(
        problem("int('abc') == 1")
            .unwrap()
            .starts_with("program instantiation failed: type conversion error")
    );
}

#[test]
fn unsupported_functions_are_refused_by_name() {
    for (rule, name) in [
        ("quantity(self.s) == quantity('1')", "'quantity'"),
        ("ip(self.s).family() == 4", "'ip'"),
        ("self.?s == optional.of('a')", "optional field selection"),
        ("self.l.all(i, x, x == '')", "'all' with 3 arguments"),
        ("dyn(self.o) == 1", "objects as values of type dyn"),
        ("self.t.getHours('Europe/Berlin') == 1", "time zones"),
        ("'%e'.format([self.d]) == ''", "%e"),
        ("self.s.format([1]) == ''", "not a constant"),
    ] {
        let found = problem(rule).unwrap();
        assert!(
            found.contains("the embedded API does not evaluate") && found.contains(name),
            "{rule}: {found}"
        );
    }
}

#[test]
fn satisfied_rules_report_nothing() {
    for rule in [
        "self.i == 5 && self.d < 2 && self.i > 4u",
        "self.a__dash__b == 3",
        "!has(self.n) && has(self.o.a) && !has(self.m.zz)",
        "self.l.filter(x, x == 'a').size() == 2 && self.l.exists_one(x, x == 'b')",
        "self.m.map(k, self.m[k]) == ['v1', 'v2']",
        "self.set == self.set2 && self.set + ['b', 'c'] == ['a', 'b', 'c']",
        "self.lm + self.lm == self.lm && self.lm.sortBy(e, -e.v)[0].k == '2'",
        "self.l[9] == '' || true",
        "type(self.x) == string && int(self.x.replace('%', '')) == 50",
        "self.t.getMonth() == 1 && self.t - duration('1h') < self.t",
        "string(self.by) == 'abc' && string(1000000.0) == '1e+06'",
        "'%s %d %.1f'.format([self.l, self.i, self.d]) == '[\"a\", \"b\", \"a\"] 5 1.5'",
        "self.s.matches('^[a-c]{3}$') && self.s.find('b.') == 'bc'",
        "url('https://h:1/p?a=b').getQuery() == {'a': ['b']} && !isURL('x')",
        "[3, 1, 2].sort() == [1, 2, 3] && [1, 2].sum() == 3 && sets.contains(self.l, ['a'])",
        "dyn(self.i) == 5.0 && self.o != null",
    ] {
        assert_eq!(evaluated(rule), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn failed_evaluations_report_the_cause() {
    for (rule, message) in [
        ("self.i > 5", "Invalid value: failed rule: self.i > 5"),
        ("self.m.zz == ''", "Invalid value: \"object\": no such key: zz evaluating rule: self.m.zz == ''"),
        (
            "self.l[9] == ''",
            "Invalid value: \"object\": index out of bounds: 9 evaluating rule: self.l[9] == ''",
        ),
        (
            "!dyn(1)",
            "Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or \
             macro signature for rule: !dyn(1)",
        ),
        ("self.i / 0 == 1", "Invalid value: \"object\": division by zero evaluating rule: self.i / 0 == 1"),
        (
            "self.x > 5",
            "Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or \
             macro signature for rule: self.x > 5",
        ),
    ] {
        assert_eq!(evaluated(rule), [format!("spec: {message}")]);
    }
}

#[test]
fn errors_have_the_message_reason_and_path_of_the_rule() {
    let rules = json!([
        {"rule": "false", "message": " said ", "fieldPath": ".i", "reason": "FieldValueForbidden"},
        {"rule": "false", "messageExpression": "'s is ' + self.s", "fieldPath": ".m['k.1']"},
        {"rule": "false", "messageExpression": "self.m.zz", "message": "fallback", "reason": "FieldValueRequired"},
        {"rule": "false", "messageExpression": "'a\\nb'"},
    ]);
    let object = json!({"spec": spec()});
    let errors = Rules::compile(&whole(&rules)).evaluate(&object, None).errors;
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "spec.i: Forbidden: said",
            "spec.m[k.1]: Invalid value: s is abc",
            "spec: Required value: fallback",
            "spec: Invalid value: failed rule: false",
        ]
    );
}

#[test]
fn transition_rules_need_an_old_value() {
    let rules = Rules::compile(&whole(&json!([{"rule": "self.i >= oldSelf.i", "message": "grows"}])));
    let object = json!({"spec": {"i": 4}});
    let old = json!({"spec": {"i": 5}});
    assert_eq!(rules.evaluate(&object, None), Verdict::default());
    assert_eq!(rules.evaluate(&object, Some(&old)).errors[0].to_string(), "spec: Invalid value: grows");
    let within = check_within(&schema(&json!([{"rule": "self == oldSelf"}])), AT, Some("a.list"));
    assert!(
        within[0]
            .message
            .ends_with("oldSelf cannot be used on the uncorrelatable portion of the schema within a.list")
    );
}

#[test]
fn an_invalid_but_unchanged_part_only_causes_a_warning() {
    let schema: Schema = serde_json::from_value(json!({"type": "object", "properties": {
        "l": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'good'"}]}},
        "s": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'good'"}]},
    }}))
    .unwrap();
    let rules = Rules::compile(&schema);
    let old = json!({"s": "bad", "l": ["bad"]});
    let verdict = rules.evaluate(&json!({"s": "bad", "l": ["bad", "good"]}), Some(&old));
    assert_eq!(verdict.warnings, ["s: Invalid value: \"bad\": failed rule: self == 'good'"]);
    assert_eq!(verdict.errors[0].to_string(), "l[0]: Invalid value: \"bad\": failed rule: self == 'good'");
}

#[test]
fn rules_at_the_root_see_only_the_name_in_the_metadata() {
    let root = |rule: &str| Schema {
        kind: "object".to_owned(),
        rules: vec![Rule { rule: rule.to_owned(), ..Default::default() }],
        ..Schema::default()
    };
    let at = "spec.validation.openAPIV3Schema";
    assert_eq!(check(&root("self.metadata.name == self.kind"), at), []);
    assert!(check(&root("self.metadata.labels == ''"), at)[0].message.contains("undefined field 'labels'"));
    let rules = Rules::compile(&root("self.metadata.name == 'x'"));
    let verdict = rules.evaluate(&json!({"metadata": {"name": "y"}}), None);
    assert_eq!(verdict.errors[0].to_string(), "<nil>: Invalid value: failed rule: self.metadata.name == 'x'");
}

#[test]
fn hostile_rules_and_objects_cause_an_error() {
    assert!(
        problem(&format!("{}true{}", "(".repeat(5000), ")".repeat(5000)))
            .unwrap()
            .contains("recursion limit")
    );
    assert!(problem(&format!("1{} == 1", " + 1".repeat(5000))).unwrap().contains("recursion limit"));
    assert!(problem(&"[".repeat(50_000)).unwrap().contains("recursion limit"));
    assert!(problem(&format!("{}true", "!".repeat(9000))).is_none());
    let rules =
        Rules::compile(&whole(&json!([{"rule": "self.l.all(x, self.l.all(y, self.l.all(z, x + y != z)))"}])));
    let object = json!({"spec": {"l": vec!["a"; 10_000]}});
    let errors = rules.evaluate(&object, None).errors;
    assert!(errors[0].message.contains("operation cancelled: actual cost limit exceeded"));
}

#[test]
fn long_rules_are_checked_in_linear_time_with_bounded_messages() {
    assert_eq!(problem("self.i == 5 && self.d < 2 && ".repeat(2000).trim_end_matches("&& ")), None);
    let many = problem("nope || ".repeat(9000).trim_end_matches("|| ")).unwrap();
    assert!(many.len() < 100_000 && many.ends_with("8900 more errors were truncated"), "{}", many.len());
}
