//! Slips in YAML and JSON.

use orchestra_score::{Document, Source};

use super::{after, check, diagnostics, variable};

#[test]
fn a_slip_in_yaml_has_its_own_hint() {
    check([
        (
            after("    command: [\"sh\", \"-c\" \"echo\"]\n"),
            vec!["7:26 INVALID_SYNTAX: invalid YAML: missing comma | add a comma before this item"],
        ),
        (
            variable("\"C:\\Users\\x\""),
            vec![
                "8:10 INVALID_SYNTAX: invalid YAML: invalid escape sequence `\\U` | use single quotes: 'C:\\Users\\x'",
            ],
        ),
        (
            variable("'it's'"),
            vec![
                "8:14 INVALID_SYNTAX: invalid YAML: quote inside a quoted value | write 'it''s', or \"it's\"",
            ],
        ),
        (
            variable("#fff"),
            vec![
                "8:7 TYPE_MISMATCH: invalid type: expected string, found null for `A` | `#` starts a comment; quote the value: \"#fff\"",
            ],
        ),
        (
            after("<<<<<<< HEAD\nservice: {}\n=======\n>>>>>>> main\n"),
            vec![
                "7:1 INVALID_SYNTAX: invalid YAML: merge conflict marker | resolve the merge conflict, and remove its markers",
            ],
        ),
        (
            after("    files:\n      /a:\n        content: |\n        hello\n"),
            vec![
                "10:9 INVALID_SYNTAX: invalid YAML: text of a block string is not indented | indent the lines after `|` or `>` more than the line above",
            ],
        ),
        (
            variable("@b"),
            vec![
                "8:10 INVALID_SYNTAX: invalid YAML: unexpected character `@` | quote the value: its first character has a special meaning in YAML",
            ],
        ),
        (
            variable("`date`"),
            vec![
                "8:10 INVALID_SYNTAX: invalid YAML: unexpected character backtick | quote the value: its first character has a special meaning in YAML",
            ],
        ),
        (
            super::rest("containers:\n  main:\n    image:nginx\n    variables:\n      A: b\n"),
            vec!["6:5 INVALID_SYNTAX: invalid YAML: missing space after `:` | write `image: nginx`"],
        ),
        (
            "apiVersion:score.dev/v1b1\nmetadata:\n  name: shop\n".to_owned(),
            vec![
                "1:1 INVALID_SYNTAX: invalid YAML: missing space after `:` | write `apiVersion: score.dev/v1b1`",
            ],
        ),
        (
            after("    args:\n      - redis:7\n    A: b: c\n"),
            vec![
                "9:9 INVALID_SYNTAX: invalid YAML: mapping values are not allowed in this context | quote the value: it contains a colon followed by a space",
            ],
        ),
        (
            after("    files:\n      /a:\n        content: |\n          x\n         y\n"),
            vec![
                "11:10 INVALID_SYNTAX: invalid YAML: wrong indentation of a block string | indent all lines of the text as much as its first line",
            ],
        ),
        (
            variable("\"x\" y"),
            vec![
                "8:14 INVALID_SYNTAX: invalid YAML: text after a quoted value | quote the whole value: '\"x\" y'",
            ],
        ),
        (
            after("    command:\n      -sh\n"),
            vec![
                "8:7 TYPE_MISMATCH: invalid type: expected list, found string for `command` | missing space after `-`: write `- sh`",
            ],
        ),
        (
            after("\tservice: {}\n"),
            vec![
                "7:1 INVALID_SYNTAX: invalid YAML: tab character in indentation | indent with spaces; YAML does not allow tabs for indentation",
            ],
        ),
        (
            after("    variables: &base {A: b}\nresources: *bse\n"),
            vec!["8:12 INVALID_SYNTAX: invalid YAML: unknown anchor `bse` | did you mean `*base`?"],
        ),
    ]);
}

#[test]
fn a_file_of_another_tool_is_named() {
    check([
        (
            "FROM python:3.12\nCOPY . .\n".to_owned(),
            vec![
                "1:1 TYPE_MISMATCH: invalid type: expected map, found string: this looks like a Dockerfile, not a Score file | a Score file is a map that starts with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample",
            ],
        ),
        (
            "# Shop\n\nAn online shop: it sells things.\n\n- one: two: three\n".to_owned(),
            vec![
                "5:3 INVALID_SYNTAX: invalid YAML: this looks like a Markdown file, not a Score file | a Score file starts with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample",
            ],
        ),
    ]);
}

#[test]
fn a_mistake_under_an_anchor_is_reported_once() {
    let file = super::rest("containers:\n  aa: &base {image: x, varaibles: {}}\n  bb: *base\n  cc: *base\n");
    assert_eq!(
        diagnostics(&file),
        ["5:24 UNKNOWN_FIELD: unknown field `varaibles` in a container | did you mean `variables`?"]
    );
}

#[test]
fn an_invalid_merge_key_still_merges_its_maps() {
    let file = super::rest("containers:\n  aa: &base {image: x}\n  bb:\n    <<: [*base, foo]\n");
    assert_eq!(
        diagnostics(&file),
        [
            "7:5 UNSUPPORTED_VALUE: invalid merge key: `<<` expects a map, or a list of maps | write `<<: *name`, where `&name` is the anchor of a map above"
        ]
    );
}

#[test]
fn a_comment_and_an_unclosed_bracket_in_json_are_named() {
    let rest = "\"containers\": {\"main\": {\"image\": \"x\"}}";
    check([
        (
            format!(
                "{{\"apiVersion\": \"score.dev/v1b1\", // version\n\"metadata\": {{\"name\": \"shop\"}},\n{rest}}}\n"
            ),
            vec![
                "1:34 UNKNOWN_FIELD: comments are not allowed in JSON: unknown field `// version \"metadata\"` in a Score document | remove the comment, or write YAML with `#`",
            ],
        ),
        (
            format!("{{\"apiVersion\": \"score.dev/v1b1\", {rest}\n"),
            vec![
                "1:1 INVALID_SYNTAX: invalid JSON: unclosed bracket '{' | add the bracket that closes the one opened here",
            ],
        ),
    ]);
}

#[test]
fn a_number_is_shown_as_written_and_a_non_breaking_space_is_named() {
    check([
        (
            after("service:\n  ports:\n    web:\n      port: 99999999999999999999999999\n"),
            vec![
                "10:13 VALUE_OUT_OF_RANGE: invalid value 99999999999999999999999999 for `port`: out of range, must be between 1 and 65535 | use a number from 1 to 65535",
            ],
        ),
        (
            after("\u{a0}\u{a0}service: {}\n"),
            vec![
                "7:1 UNKNOWN_FIELD: unknown field `\\u{a0}\\u{a0}service` in a Score document | replace the non-breaking spaces (U+00A0) with spaces",
            ],
        ),
    ]);
}

#[test]
fn a_trailing_comma_in_a_json_file_is_a_warning() {
    let file = "{\"apiVersion\": \"score.dev/v1b1\", \"metadata\": {\"name\": \"shop\"},\n\"containers\": {\"main\": {\"image\": \"x\",}}}\n";
    let found = |name: &str| {
        let report = Document::parse(Source::new(name, file)).check();
        assert!(report.is_valid());
        let line = |d| format!("{} {}: {}", report.location(d).unwrap(), d.code, d.message);
        report.warnings().map(line).collect::<Vec<_>>()
    };
    assert_eq!(found("score.json"), ["2:37 INVALID_SYNTAX: invalid JSON: trailing comma"]);
    assert!(found("score.yaml").is_empty());
}

#[test]
fn a_comment_after_a_value_in_json_is_named() {
    let file = "{\n\"apiVersion\": \"score.dev/v1b1\" // version\n, \"metadata\": {}}\n";
    let found = diagnostics(file);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("comments are not allowed in JSON"), "{found:?}");
}
