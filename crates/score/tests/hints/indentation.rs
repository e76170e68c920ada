//! Content in the column of its parent.

use super::{HEAD, after, check, rest};

#[test]
fn content_that_is_not_indented_is_one_error_at_its_parent() {
    check([
        (
            after("    variables:\n    A: b\n    B: c\n"),
            vec![
                "7:5 TYPE_MISMATCH: invalid type: expected map, found null for `variables` (wrong indentation) | indent `A` and `B` under `variables`",
            ],
        ),
        (
            rest("containers:\n  main:\n  image: nginx\n  variables:\n    A: b\n"),
            vec![
                "5:3 TYPE_MISMATCH: invalid type: expected map, found null for `main` (wrong indentation) | indent `image` and `variables` under `main`",
            ],
        ),
        (
            "apiVersion: score.dev/v1b1\nmetadata:\nname: shop\ncontainers:\n  main:\n    image: nginx\n"
                .to_owned(),
            vec![
                "2:1 TYPE_MISMATCH: invalid type: expected map, found null for `metadata` (wrong indentation) | indent `name` under `metadata`",
            ],
        ),
        (
            after("resources:\n  db:\n  type: postgres\n"),
            vec![
                "8:3 TYPE_MISMATCH: invalid type: expected map, found null for `db` (wrong indentation) | indent `type` under `db`",
            ],
        ),
        (
            after("    resources:\n      limits:\n      memory: 1Gi\n"),
            vec![
                "8:7 TYPE_MISMATCH: invalid type: expected map, found null for `limits` (wrong indentation) | indent `memory` under `limits`",
            ],
        ),
        (
            after("service:\nports:\n  web:\n  port: 80\n"),
            vec![
                "7:1 TYPE_MISMATCH: invalid type: expected map, found null for `service` (wrong indentation) | indent `ports` under `service`",
                "9:3 TYPE_MISMATCH: invalid type: expected map, found null for `web` (wrong indentation) | indent `port` under `web`",
            ],
        ),
        (
            format!("{HEAD}containers:\nmain:\n  image: nginx\n"),
            vec![
                "4:1 TYPE_MISMATCH: invalid type: expected map, found null for `containers` (wrong indentation) | indent `main` under `containers`",
            ],
        ),
    ]);
}

#[test]
fn a_null_without_content_and_a_misspelled_field_are_errors_of_their_own() {
    check([(
        after("    variables:\n    restart: always\n    comand: [\"x\"]\n"),
        vec![
            "7:5 TYPE_MISMATCH: invalid type: expected map, found null for `variables` | add a value, such as `variables: {LOG_LEVEL: debug}`, or remove the key",
            "8:5 UNKNOWN_FIELD: unknown field `restart` in a container | remove it; this is a setting of the platform, not of Score (some platforms read annotations under `metadata.annotations`)",
            "9:5 UNKNOWN_FIELD: unknown field `comand` in a container | did you mean `command`?",
        ],
    )]);
}
