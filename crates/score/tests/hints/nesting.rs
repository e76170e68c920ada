//! Fields at the wrong level.

use super::{HEAD, after, check, rest};

#[test]
fn a_container_without_its_name_is_one_error() {
    check([
        (
            rest("containers:\n  image: nginx:1.27\n  command: [\"sh\"]\n"),
            vec![
                "5:3 TYPE_MISMATCH: invalid type: expected map, found string for `image` | add the container name: `containers: {main: {image: nginx:1.27, …}}`",
            ],
        ),
        (
            after("service:\n  ports:\n    port: 80\n    targetPort: 8080\n"),
            vec![
                "9:5 TYPE_MISMATCH: invalid type: expected map, found number for `port` | add the port name: `ports: {web: {port: 80, …}}`",
            ],
        ),
        (
            after("resources:\n  type: postgres\n"),
            vec![
                "8:3 TYPE_MISMATCH: invalid type: expected map, found string for `type` | add the resource name: `resources: {db: {type: postgres}}`",
            ],
        ),
    ]);
}

#[test]
fn fields_of_a_container_next_to_it_are_one_error_each() {
    check([
        (
            rest(
                "containers:\n  main:\n    image: nginx\n  variables:\n    LOG_LEVEL: debug\n  readinessProbe:\n    httpGet:\n      path: /\n      port: 80\n",
            ),
            vec![
                "7:3 UNKNOWN_FIELD: `variables` is a field of a container, not a container (wrong indentation) | indent it under `main`",
                "9:3 UNKNOWN_FIELD: `readinessProbe` is a field of a container, not a container (wrong indentation) | indent it under `main`",
            ],
        ),
        (
            after("resources:\n  limits:\n    memory: 512Mi\n  requests:\n    memory: 256Mi\n"),
            vec![
                "8:3 UNKNOWN_FIELD: `limits` is a field of the `resources` of a container, not a resource | cpu and memory belong to a container: `containers: {main: {resources: {limits: {cpu: 500m}}}}`",
                "10:3 UNKNOWN_FIELD: `requests` is a field of the `resources` of a container, not a resource | cpu and memory belong to a container: `containers: {main: {resources: {limits: {cpu: 500m}}}}`",
            ],
        ),
        // A container may have the name of a field.
        (rest("containers:\n  args:\n    image: nginx\n"), vec![]),
        (
            rest("containers:\n  args:\n    img: nginx\n"),
            vec!["6:5 UNKNOWN_FIELD: unknown field `img` in a container | did you mean `image`?"],
        ),
    ]);
}

#[test]
fn a_missing_level_is_written_out() {
    check([
        (
            "apiVersion: score.dev/v1b1\nname: shop\ncontainers:\n  main:\n    image: nginx\n".to_owned(),
            vec![
                "2:1 UNKNOWN_FIELD: unknown field `name` in a Score document | the name belongs under `metadata`: `metadata: {name: shop}`",
            ],
        ),
        (
            after("service:\n  web:\n    port: 80\n"),
            vec!["8:3 UNKNOWN_FIELD: unknown field `web` in the service | write `ports: {web: {port: 80}}`"],
        ),
        (
            after("    readinessProbe:\n    httpGet: {path: /, port: 80}\n"),
            vec![
                "7:5 TYPE_MISMATCH: invalid type: expected map, found null for `readinessProbe` (wrong indentation) | indent `httpGet` under `readinessProbe`",
            ],
        ),
        (
            format!("{HEAD}containers:\n  main:\n    image:nginx:1.27\n"),
            vec![
                "6:5 TYPE_MISMATCH: invalid type: expected map, found string for `main` | missing space after `:`; write `image: nginx:1.27`",
            ],
        ),
        (
            after("    variables:\n      A:b\n"),
            vec![
                "8:7 TYPE_MISMATCH: invalid type: expected map, found string for `variables` | missing space after `:`; write `A: b`",
            ],
        ),
    ]);
}
