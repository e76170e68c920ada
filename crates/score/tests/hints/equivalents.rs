//! Hints with the values of the user: the line to write.

use super::{after, check, rest, variable};

#[test]
fn a_field_of_another_tool_is_converted_with_its_value() {
    check([
        (
            after("    cpu: \"2\"\n    mem_limit: 512m\n"),
            vec![
                "7:5 UNKNOWN_FIELD: unknown field `cpu` in a container | write `resources: {limits: {cpu: \"2\"}}` in the container",
                "8:5 UNKNOWN_FIELD: unknown field `mem_limit` in a container | write `resources: {limits: {memory: 512Mi}}` in the container",
            ],
        ),
        (
            after("    env_vars: {A: b}\n    envs:\n      - name: C\n        value: 1\n      - D=e\n"),
            vec![
                "7:5 UNKNOWN_FIELD: unknown field `env_vars` in a container | use `variables` for environment variables: `variables: {A: b}`",
                "8:5 UNKNOWN_FIELD: unknown field `envs` in a container | use `variables` for environment variables: `variables: {C: \"1\", D: \"e\"}`",
            ],
        ),
        (
            after("    env: {DB_PASSWORD: hunter2}\n"),
            vec![
                "7:5 UNKNOWN_FIELD: unknown field `env` in a container | use `variables` for environment variables: `variables: {DB_PASSWORD: \"…\"}`",
            ],
        ),
        (
            after("    run: python3 app.py\n    container_name: shop\n    after: {db: {}}\n"),
            vec![
                "7:5 UNKNOWN_FIELD: unknown field `run` in a container | use `command`: `command: [\"python3\", \"app.py\"]`",
                "8:5 UNKNOWN_FIELD: unknown field `container_name` in a container | remove it; the key of the container is its name",
                "9:5 UNKNOWN_FIELD: unknown field `after` in a container | use `before` in the container that starts first: `before: {THIS-CONTAINER: {ready: started}}`",
            ],
        ),
        (
            after("    healthcheck: {path: /, port: 80}\n"),
            vec![
                "7:5 UNKNOWN_FIELD: unknown field `healthcheck` in a container | write `readinessProbe: {httpGet: {path: /, port: 80}}`",
            ],
        ),
        (
            after("    healthcheck: {test: [CMD, \"true\"]}\n"),
            vec![
                "7:5 UNKNOWN_FIELD: unknown field `healthcheck` in a container | write `readinessProbe: {exec: {command: [\"true\"]}}`",
            ],
        ),
        (
            after("    ports: [\"8080:80\", 9090]\n"),
            vec![
                "7:5 UNKNOWN_FIELD: unknown field `ports` in a container | ports belong to the workload, not to a container: `service: {ports: {web: {port: 8080, targetPort: 80}, port-9090: {port: 9090}}}`",
            ],
        ),
        (
            after("variables: {A: b}\n"),
            vec![
                "7:1 UNKNOWN_FIELD: unknown field `variables` in a Score document | `variables` belongs to a container: `containers: {main: {variables: {LOG_LEVEL: debug}}}`",
            ],
        ),
    ]);
}

#[test]
fn a_missing_level_is_one_error_with_the_fields_of_the_user() {
    check([
        (
            after("    readinessProbe:\n      port: 3000\n      path: /health\n"),
            vec![
                "9:7 UNKNOWN_FIELD: unknown field `path` in a probe | write `httpGet: {path: /health, port: 3000}`",
            ],
        ),
        (
            after("    resources:\n      memory: 300Mi\n      cpu: \"2\"\n"),
            vec![
                "8:7 UNKNOWN_FIELD: unknown field `memory` in the resources of a container | write `limits: {memory: 300Mi, cpu: \"2\"}`",
            ],
        ),
        (
            after("    readinessProbe:\n      exec: [\"true\"]\n"),
            vec![
                "8:7 TYPE_MISMATCH: invalid type: expected map, found list for `exec` | write `exec: {command: [\"true\"]}`",
            ],
        ),
        (
            after(
                "    readinessProbe:\n      httpGet:\n        path: /\n        port: 80\n        httpHeaders:\n          - X-A: b\n",
            ),
            vec!["12:13 UNKNOWN_FIELD: unknown field `X-A` in a header | write `{name: X-A, value: b}`"],
        ),
        (
            after(
                "    readinessProbe:\n      httpGet:\n        path: /\n        port: 80\n        httpHeaders:\n          X-A: b\n",
            ),
            vec![
                "11:9 TYPE_MISMATCH: invalid type: expected list, found map for `httpHeaders` | use a list: `httpHeaders: [{name: X-A, value: b}]`",
            ],
        ),
        (
            rest("containers:\n  main:\n    image: nginx\n  ports:\n    web: {port: 80}\n"),
            vec![
                "7:3 UNKNOWN_FIELD: `ports` belongs under `service`, not under `containers` | write `service: {ports: {web: {port: 80}}}`",
            ],
        ),
    ]);
}

#[test]
fn a_list_instead_of_a_map_is_converted() {
    check([
        (
            after("    variables:\n      - A=b\n      - name: C\n        value: d\n"),
            vec![
                "7:5 TYPE_MISMATCH: invalid type: expected map, found list for `variables` | use a map instead of a list: `variables: {A: \"b\", C: \"d\"}`",
            ],
        ),
        (
            rest("containers:\n  - name: main\n    image: nginx:1.27\n    args: [\"x\"]\n"),
            vec![
                "4:1 TYPE_MISMATCH: invalid type: expected map, found list for `containers` | use a map instead of a list: `containers: {main: {image: nginx:1.27, …}}`",
            ],
        ),
        (
            after("service:\n  ports:\n    - port: 80\n      targetPort: 8080\nresources:\n  - redis\n"),
            vec![
                "8:3 TYPE_MISMATCH: invalid type: expected map, found list for `ports` | use a map instead of a list: `ports: {web: {port: 80, targetPort: 8080}}`",
                "11:1 TYPE_MISMATCH: invalid type: expected map, found list for `resources` | use a map instead of a list: `resources: {redis: {type: redis}}`",
            ],
        ),
        (
            after("    variables:\n      A=b\n      C=d\n"),
            vec![
                "8:7 TYPE_MISMATCH: invalid type: expected map, found string for `variables` | write `variables: {A: \"b\", C: \"d\"}`",
            ],
        ),
    ]);
}

#[test]
fn a_port_range_and_a_local_folder_are_explained() {
    check([
        (
            after("service:\n  ports:\n    web:\n      port: \"8000-8010\"\n"),
            vec![
                "10:13 TYPE_MISMATCH: invalid type: expected integer, found string for `port` | port ranges are not supported; declare each port",
            ],
        ),
        (
            after("    volumes:\n      /d: ./local\n"),
            vec![
                "8:11 TYPE_MISMATCH: invalid type: expected map, found string for `/d` | write `/d: {source: \"${resources.data}\"}`, and declare `resources: {data: {type: volume}}`",
            ],
        ),
    ]);
}

#[test]
fn an_undefined_resource_is_declared_with_a_fitting_type() {
    check([
        (
            after("    volumes:\n      /d: {source: \"${resources.files}\"}\n"),
            vec![
                "8:21 UNKNOWN_RESOURCE: undefined resource `files` in placeholder \"${resources.files}\": not declared under `resources` | declare it: `resources: {files: {type: volume}}`",
            ],
        ),
        (
            after("    variables:\n      A: ${resources.db.host}\n"),
            vec![
                "8:10 UNKNOWN_RESOURCE: undefined resource `db` in placeholder \"${resources.db.host}\": not declared under `resources` | declare it: `resources: {db: {type: postgres}}`",
            ],
        ),
        (
            variable("${env.FOO}"),
            vec![
                "8:10 INVALID_PLACEHOLDER: invalid placeholder \"${env.FOO}\": must start with `metadata.` or `resources.` | write `${resources.env.FOO}`, and declare `resources: {env: {type: environment}}`",
            ],
        ),
        (
            variable("${PORT:-80}"),
            vec![
                "8:10 MALFORMED_PLACEHOLDER: invalid placeholder \"${PORT:-80}\": default values and filters are not supported | write the value: `A: \"80\"`",
            ],
        ),
        (
            variable("${resources:db:host}"),
            vec![
                "8:10 MALFORMED_PLACEHOLDER: invalid placeholder \"${resources:db:host}\": parts are separated by dots | write `${resources.db.host}`",
            ],
        ),
        (
            variable("\"{resources.db.host}\""),
            vec![
                "8:11 MALFORMED_PLACEHOLDER: not a placeholder: \"{resources.db.host}\" is used as written | write `${resources.db.host}`",
            ],
        ),
    ]);
}

#[test]
fn a_misspelled_name_and_section_are_found() {
    check([
        (
            "apiVersion: score.dev/v1b1\nmetadata:\n  Name: shop\ncontainers:\n  main:\n    image: nginx\n".to_owned(),
            vec![
                "2:1 REQUIRED_FIELD: missing required field `name` in the metadata | did you mean `name` instead of `Name` (line 3)?",
            ],
        ),
        (
            after("services:\n  ports:\n    web:\n      port: 80\n"),
            vec!["7:1 UNKNOWN_FIELD: unknown field `services` in a Score document | did you mean `service`?"],
        ),
        (
            "apiversion: score.dev/v1b1\nmetadata:\n  name: shop\ncontainer:\n  main:\n    image: nginx\nservices:\n  ports: {}\n".to_owned(),
            vec![
                "1:1 UNKNOWN_FIELD: unknown field `apiversion` in a Score document | did you mean `apiVersion`?",
                "4:1 UNKNOWN_FIELD: unknown field `container` in a Score document | use `containers: {main: {…}}`, a map of containers by name",
                "7:1 UNKNOWN_FIELD: unknown field `services` in a Score document | did you mean `service`?",
            ],
        ),
    ]);
}
