//! Valid files with a probable mistake: one warning each.

use super::{after, check, rest};

#[test]
fn a_probable_mistake_in_a_valid_file_is_a_warning() {
    let data = "resources:\n  data:\n    type: volume\n";
    check([
        (
            after(&format!("    volumes:\n      /data:\n        source: data\n{data}")),
            vec![
                "9:17 SUSPICIOUS_VALUE: volume source \"data\" is the name of a resource, not a placeholder | write `source: \"${resources.data}\"`",
            ],
        ),
        (
            after("    volumes:\n      /data:\n        source: \"\"\n"),
            vec![
                "9:17 SUSPICIOUS_VALUE: volume source is empty | write the volume, such as \"${resources.data}\"",
            ],
        ),
        (
            after("    readinessProbe:\n      exec:\n        command: []\n"),
            vec![
                "9:9 SUSPICIOUS_VALUE: probe command is empty | write the command, such as `command: [\"/bin/check\"]`",
            ],
        ),
        (
            rest("containers:\n  main:\n    image: nginx 1.27\n"),
            vec!["6:12 SUSPICIOUS_VALUE: image \"nginx 1.27\" contains a space | write \"nginx:1.27\""],
        ),
        (
            after("    files:\n      /etc/app: {content: a}\n      /etc/app/conf: {content: b}\n"),
            vec![
                "9:7 PATH_CLASH: path \"/etc/app/conf\" is below \"/etc/app\", which is a file too | use a different directory; a file cannot contain another one",
            ],
        ),
        (
            after("    files:\n      /etc/app/: {content: a}\n"),
            vec![
                "8:7 SUSPICIOUS_VALUE: path \"/etc/app/\" of a file ends with a slash | write the path of the file, such as \"/etc/app/app.conf\"",
            ],
        ),
        (
            after(
                "    livenessProbe:\n      httpGet:\n        path: http://localhost/ready\n        port: 80\n",
            ),
            vec![
                "9:15 SUSPICIOUS_VALUE: path \"http://localhost/ready\" is a URL | write only the path: \"/ready\"",
            ],
        ),
        (
            after("    resources:\n      limits:\n        memory: \"512\"\n"),
            vec![
                "9:17 SUSPICIOUS_VALUE: memory quantity \"512\" is 512 bytes | write \"512Mi\" for mebibytes",
            ],
        ),
        (
            after("service:\n  ports:\n    web:\n      port: 010\n"),
            vec!["10:13 SUSPICIOUS_VALUE: octal number: 010 is 8 | write 10 without the leading zero, or 8"],
        ),
        (after("service:\n  ports:\n    web:\n      port: 080\n"), vec![]),
        (
            after("    command: [“sh”]\n"),
            vec![
                "7:15 SUSPICIOUS_VALUE: smart quotes in \"“sh”\" are part of the value | write straight quotes: \"sh\"",
            ],
        ),
        (
            after("    livenessProbe:\n      httpGet: {path: ready, port: 80}\n"),
            vec![
                "8:23 SUSPICIOUS_VALUE: path \"ready\" of a probe does not start with `/` | write \"/ready\"",
            ],
        ),
        (
            rest("containers:\n  main:\n    image: nginx@latest\n"),
            vec![
                "6:12 SUSPICIOUS_VALUE: image \"nginx@latest\" has a tag after `@` | write \"nginx:latest\"; `@` precedes a digest (`@sha256:…`)",
            ],
        ),
        (
            after("    variables:\n      A B: c\n      1A: d\n"),
            vec![
                "8:7 SUSPICIOUS_VALUE: variable name \"A B\" contains a space | write \"A_B\"; names of environment variables are letters, digits and underscores",
                "9:7 SUSPICIOUS_VALUE: variable name \"1A\" starts with a digit | write \"_1A\"; names of environment variables are letters, digits and underscores",
            ],
        ),
        (
            rest(
                "containers:\n  main:\n    image: \"{{ .Values.image }}\"\n    variables:\n      A: \"{{ .Values.a }}\"\n",
            ),
            vec![
                "6:12 SUSPICIOUS_VALUE: unrendered template \"{{ .Values.image }}\" as the image | render the Helm template first, or write `image: .` and set the image at deployment with `--image`",
                "8:10 SUSPICIOUS_VALUE: unrendered template \"{{ .Values.a }}\" is used as written | render the Helm template first, and validate the result",
            ],
        ),
        (
            after("    args:\n      - sh\n        - -c\n"),
            vec![
                "8:9 SUSPICIOUS_VALUE: list item \"sh - -c\" continues on the next line | indent all items of the list equally, or quote the text",
            ],
        ),
    ]);
}
