//! Quantities, ports, and files of other tools.

use super::{after, check};

fn limit(line: &str) -> String {
    after(&format!("    resources:\n      limits:\n        {line}\n"))
}

#[test]
fn a_quantity_has_a_value_to_write() {
    check([
        (
            limit("memory: 0"),
            vec![
                "9:17 TYPE_MISMATCH: invalid type: expected string, found number for `memory` | it must be greater than 0, such as \"512Mi\"",
            ],
        ),
        (
            limit("memory: 1e9"),
            vec![
                "9:17 TYPE_MISMATCH: invalid type: expected string, found decimal number for `memory` | write \"1G\"",
            ],
        ),
        (
            limit("cpu: 2 cores"),
            vec![
                "9:14 PATTERN_MISMATCH: invalid CPU quantity \"2 cores\": must match pattern ^[0-9]+(?:m|\\.[0-9]+)?$ | write \"2\"; it must be cores such as \"0.5\" or \"2\", or millicores such as \"250m\"",
            ],
        ),
        (
            limit("cpu: \"4000\""),
            vec![
                "9:14 RESOURCE_HIGH: CPU limit of 4000 is relatively high, consider if this is necessary | this is 4000 cores; for millicores write 4000m",
            ],
        ),
        (
            after("    resources: {limits: {cpu: 1m}, requests: {cpu: 2m}}\n"),
            vec![
                "7:31 LIMIT_BELOW_REQUEST: limit below request: CPU limit 1m is less than the request 2m | raise the limit to at least 2m, or lower the request; some runtimes refuse it",
            ],
        ),
        (
            after("resources:\n  db:\n    type: postgres:16\n"),
            vec![
                "9:11 PATTERN_MISMATCH: invalid resource type \"postgres:16\": must match pattern ^[A-Za-z0-9][A-Za-z0-9-]{0,61}[A-Za-z0-9]$ | write `type: postgres`; a version belongs under `params`: `params: {version: \"16\"}`",
            ],
        ),
    ]);
}

#[test]
fn invalid_ports_are_not_duplicates() {
    check([(
        after("service:\n  ports:\n    aa: {port: 0}\n    bb: {port: 0}\n"),
        vec![
            "9:16 VALUE_OUT_OF_RANGE: invalid value 0 for `port`: out of range, must be between 1 and 65535 | use a number from 1 to 65535",
            "10:16 VALUE_OUT_OF_RANGE: invalid value 0 for `port`: out of range, must be between 1 and 65535 | use a number from 1 to 65535",
        ],
    )]);
}

#[test]
fn a_file_of_another_tool_is_one_error() {
    check([
        (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop\nspec:\n  replicas: 1\n"
                .to_owned(),
            vec![
                "2:1 UNKNOWN_FIELD: unknown field `kind`: this looks like a Kubernetes manifest (kind `Deployment`), not a Score file | a Score file starts with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample",
            ],
        ),
        (
            "version: \"3\"\nservices:\n  web:\n    image: nginx\nvolumes: {}\n".to_owned(),
            vec![
                "2:1 UNKNOWN_FIELD: unknown field `services`: this looks like a Docker Compose file, not a Score file | a Score file starts with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample",
            ],
        ),
    ]);
}

#[test]
fn an_empty_first_document_is_named() {
    check([(
        "---\n---\napiVersion: score.dev/v1b1\n".to_owned(),
        vec![
            "1:1 EMPTY_DOCUMENT: empty document: the first of several YAML documents is empty | remove the `---` above the Score document",
            "2:1 EXTRA_DOCUMENT: multiple YAML documents in one file: this one and all after it are ignored | use one file per Score document, and pass several files",
        ],
    )]);
}
