//! Text that is almost a placeholder.

use super::{check, variable};

#[test]
fn an_unterminated_placeholder_is_a_warning() {
    check([
        (
            variable("${resources.db.host"),
            vec![
                "8:10 MALFORMED_PLACEHOLDER: unterminated placeholder \"${resources.db.host\": missing `}` | write `${resources.db.host}`",
            ],
        ),
        (
            variable("\"http://${metadata.name:80\""),
            vec![
                "8:18 MALFORMED_PLACEHOLDER: unterminated placeholder \"${metadata.name\": missing `}` | write `${metadata.name}`",
            ],
        ),
        (
            variable("postgres://${resources.db.user:${resources.db.password}@x"),
            vec![
                "8:21 MALFORMED_PLACEHOLDER: invalid placeholder \"${resources.db.user:${resources.db.password}\": missing `}` | write `${resources.db.user}`",
            ],
        ),
    ]);
}

#[test]
fn the_syntax_of_another_tool_is_a_warning_if_the_reference_exists() {
    check([
        (
            variable("\"{{ resources.db.host }}\""),
            vec![
                "8:11 MALFORMED_PLACEHOLDER: not a placeholder: \"{{ resources.db.host }}\" is used as written | write `${resources.db.host}`",
            ],
        ),
        (
            variable("$resources.db.host:5432"),
            vec![
                "8:10 MALFORMED_PLACEHOLDER: not a placeholder: \"$resources.db.host\" is used as written | write `${resources.db.host}`",
            ],
        ),
        (
            variable("${metadata.name} $(resources.db.host)"),
            vec![
                "8:27 MALFORMED_PLACEHOLDER: not a placeholder: \"$(resources.db.host)\" is used as written | write `${resources.db.host}`",
            ],
        ),
        (variable("\"{{ resources.cache.host }} $(metadata.team) $$resources.db.host\""), vec![]),
    ]);
}

#[test]
fn the_hint_for_an_invalid_placeholder_is_the_valid_one() {
    check([
        (
            variable("${HOME}"),
            vec![
                "8:10 MALFORMED_PLACEHOLDER: invalid placeholder \"${HOME}\": environment variables are not expanded | write `$${HOME}` to pass it on to a shell, or `${resources.NAME.OUTPUT}` for the output of a resource",
            ],
        ),
        (
            variable("'${resources[\"db\"].host}'"),
            vec![
                "8:11 MALFORMED_PLACEHOLDER: invalid placeholder \"${resources[\\\"db\\\"].host}\": brackets are not supported | write `${resources.db.host}`",
            ],
        ),
        (
            variable("${{resources.db.host}}"),
            vec![
                "8:10 MALFORMED_PLACEHOLDER: invalid placeholder \"${{resources.db.host}\": one pair of braces is enough | write `${resources.db.host}`",
            ],
        ),
        (
            variable("${ metadata.name }"),
            vec![
                "8:10 MALFORMED_PLACEHOLDER: invalid placeholder \"${ metadata.name }\": spaces are not allowed | write `${metadata.name}`",
            ],
        ),
        (
            variable("${service.ports.web.port}"),
            vec![
                "8:10 INVALID_PLACEHOLDER: invalid placeholder \"${service.ports.web.port}\": must start with `metadata.` or `resources.` | write the value itself; `service` cannot be referenced, only `metadata` and `resources`",
            ],
        ),
    ]);
}
