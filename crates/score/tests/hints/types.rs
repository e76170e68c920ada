//! Values of the wrong type.

use super::{after, check, rest, variable};

/// A second container, and lines of the container `main`.
fn beside(lines: &str) -> String {
    rest(&format!("containers:\n  proxy:\n    image: envoy\n  main:\n    image: nginx\n{lines}"))
}

#[test]
fn the_short_form_of_another_tool_is_converted() {
    check([
        (
            after(
                "    readinessProbe:\n      httpGet:\n        path: /\n        port: 80\n        httpHeaders:\n          - \"X-Probe: ready\"\n",
            ),
            vec![
                "12:13 TYPE_MISMATCH: invalid type: expected map, found string for an item of `httpHeaders` | write `{name: X-Probe, value: ready}`",
            ],
        ),
        (
            after("    readinessProbe:\n      httpGet: http://localhost:80/ready\n"),
            vec![
                "8:16 TYPE_MISMATCH: invalid type: expected map, found string for `httpGet` | write `httpGet: {path: /ready, port: 80}`",
            ],
        ),
        (
            beside("    before: [proxy]\n"),
            vec![
                "9:5 TYPE_MISMATCH: invalid type: expected map, found list for `before` | use a map instead of a list: `before: {proxy: {ready: started}}`",
            ],
        ),
        (
            beside("    before: {proxy: started}\n"),
            vec![
                "9:21 TYPE_MISMATCH: invalid type: expected map, found string for `proxy` | write `proxy: {ready: started}`",
            ],
        ),
        (
            beside("    before: {proxy: {ready: service_started}}\n"),
            vec![
                "9:29 VALUE_NOT_ALLOWED: invalid value \"service_started\" for `ready`: must be `started`, `healthy` or `complete` | write `ready: started`",
            ],
        ),
        (
            after("    variables: [\"A=b\", \"PORT=80\"]\n"),
            vec![
                "7:5 TYPE_MISMATCH: invalid type: expected map, found list for `variables` | use a map instead of a list: `variables: {A: \"b\", PORT: \"80\"}`",
            ],
        ),
        (
            after("    volumes:\n      /data: data\nresources:\n  data:\n    type: volume\n"),
            vec![
                "8:14 TYPE_MISMATCH: invalid type: expected map, found string for `/data` | write `/data: {source: \"${resources.data}\"}`",
            ],
        ),
        (
            after("resources:\n  db:\n    type: [postgres]\n"),
            vec![
                "9:5 TYPE_MISMATCH: invalid type: expected string, found list for `type` | write `type: postgres`",
            ],
        ),
    ]);
}

#[test]
fn a_secret_of_another_tool_becomes_a_resource() {
    let secret =
        "declare a resource of type `secret`, and write a placeholder such as `${resources.my-secret.key}`";
    let found = super::diagnostics(&variable("!secret db_pw"));
    assert_eq!(found, [format!("8:10 UNSUPPORTED_VALUE: unknown YAML tag `!secret` is ignored | {secret}")]);
    let found = super::diagnostics(&variable("{valueFrom: {secretKeyRef: {name: db, key: pw}}}"));
    assert_eq!(
        found,
        [format!("8:7 TYPE_MISMATCH: invalid type: expected string, found map for `A` | {secret}")]
    );
}

#[test]
fn arguments_keep_their_quoting() {
    check([
        (
            after("    args: '{\"a\": 1}'\n"),
            vec![
                "7:11 TYPE_MISMATCH: invalid type: expected list, found string for `args` | use a list: `args: ['{\"a\": 1}']`",
            ],
        ),
        (
            after("    args: |\n      set -e\n      run\n"),
            vec![
                "8:7 TYPE_MISMATCH: invalid type: expected list, found string for `args` | for a shell script write `command: [\"/bin/sh\", \"-c\"]`, and the text as one item of `args`, after `- |`; otherwise use a list: `args: [\"…\"]`",
            ],
        ),
        (
            after("    args: [--port, null]\n"),
            vec![
                "7:20 TYPE_MISMATCH: invalid type: expected string, found null for an item of `args` | add a value, or remove the item",
            ],
        ),
        (
            after("    args:\n      - echo: hi\n"),
            vec![
                "8:9 TYPE_MISMATCH: invalid type: expected string, found map for an item of `args` | quote the item: 'echo: hi'",
            ],
        ),
    ]);
}

#[test]
fn an_empty_value_and_a_boolean_in_words_have_a_value_to_write() {
    check([
        (
            after("    files:\n      /etc/app:\n        content:\n"),
            vec![
                "9:9 TYPE_MISMATCH: invalid type: expected string, found null for `content` | write `content: \"\"` for an empty string, or remove the key",
            ],
        ),
        (
            after("    volumes:\n      /data:\n        source: ./data\n        readOnly: yes\n"),
            vec![
                "10:19 TYPE_MISMATCH: invalid type: expected boolean, found string for `readOnly` | write `true`",
            ],
        ),
    ]);
}

#[test]
fn a_typo_hides_neither_its_content_nor_another_typo() {
    check([
        (
            after("    readinessProbe:\n      httpget:\n        path: /\n        prot: 80\n"),
            vec![
                "8:7 UNKNOWN_FIELD: unknown field `httpget` in a probe | did you mean `httpGet`?",
                "10:9 UNKNOWN_FIELD: unknown field `prot` in an HTTP probe | did you mean `port`?",
            ],
        ),
        (
            "apiVersion: score.dev/v1b1\nmetadata:\n  name: {{ .Release.Name }}\ncontainers:\n  main:\n    image: x\n".to_owned(),
            vec![
                "3:10 NON_STRING_KEY: unrendered template: `{{ … }}` is not valid in a Score file | render the Helm or Go template first, and validate the result; quote the value for literal braces",
            ],
        ),
        (
            rest("containers:\n  main:\n    image: {{ .Values.image }}\n"),
            vec![
                "6:13 NON_STRING_KEY: unrendered template: `{{ … }}` is not valid in a Score file | render the Helm or Go template first, and validate the result; quote the value for literal braces",
            ],
        ),
    ]);
}
