//! Common mistakes in Score files: each message contains the term that users type into a search box.

use orchestra_score::{Code, Document, Source};

/// A file with one mistake, the code of its diagnostic, and the search term in the message.
struct Mistake {
    name: &'static str,
    file: String,
    code: Code,
    term: &'static str,
}

const HEAD: &str = "apiVersion: score.dev/v1b1\nmetadata:\n  name: shop\n";
const CONTAINERS: &str = "containers:\n  main:\n    image: nginx:1.27\n";

/// A file as written.
fn file(name: &'static str, file: &str, code: Code, term: &'static str) -> Mistake {
    Mistake { name, file: file.to_owned(), code, term }
}

/// A valid head, and the rest of the file.
fn rest(name: &'static str, rest: &str, code: Code, term: &'static str) -> Mistake {
    Mistake { name, file: format!("{HEAD}{rest}"), code, term }
}

/// A valid container, and further lines of the file.
fn after(name: &'static str, lines: &str, code: Code, term: &'static str) -> Mistake {
    Mistake { name, file: format!("{HEAD}{CONTAINERS}{lines}"), code, term }
}

/// Variables of a container, and the rest of the file.
fn variable(name: &'static str, lines: &str, code: Code, term: &'static str) -> Mistake {
    Mistake { name, file: format!("{HEAD}{CONTAINERS}    variables:\n      {lines}\n"), code, term }
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn mistakes() -> Vec<Mistake> {
    use Code::{
        BeforeCycle, ChoiceConflict, ChoiceRequired, DeprecatedForm, DuplicateKey, EmptyDocument, EmptyValue,
        ExtraDocument, InvalidBase64, InvalidPlaceholder, InvalidSyntax, LimitBelowRequest,
        MalformedPlaceholder, NonStringKey, PathClash, PatternMismatch, PlaceholderNotExpanded, PortClash,
        ProbePort, ProbeRequired, RelativePath, RequiredField, ResourceConflict, ResourceCycle,
        TargetRequired, TypeMismatch, UnknownContainer, UnknownField, UnknownMetadata, UnknownResource,
        UnsupportedValue, ValueNotAllowed, ValueOutOfRange,
    };
    vec![
        // YAML.
        file("an empty file", "", EmptyDocument, "empty document"),
        file("only comments", "# to be written\n", EmptyDocument, "empty document"),
        rest("tabs", "containers:\n\tmain:\n\t\timage: nginx\n", InvalidSyntax, "tab character"),
        rest("tabs among spaces", "containers:\n  main:\n\timage: nginx\n", InvalidSyntax, "tab character"),
        rest(
            "a field indented too little",
            "containers:\n  main:\n    image: nginx\n   command: [\"/bin/app\"]\n",
            InvalidSyntax,
            "indentation",
        ),
        rest(
            "a field indented too much",
            "containers:\n  main:\n    image: nginx\n      command: [\"/bin/app\"]\n",
            InvalidSyntax,
            "mapping values are not allowed",
        ),
        file(
            "an indented first line",
            "  apiVersion: score.dev/v1b1\nmetadata:\n  name: shop\n",
            InvalidSyntax,
            "indentation",
        ),
        rest("a missing colon", "containers\n  main:\n    image: nginx\n", InvalidSyntax, "missing `:`"),
        variable("an unclosed quote", "A: \"b", InvalidSyntax, "unclosed quote"),
        variable("an unclosed bracket", "A: [b", InvalidSyntax, "unclosed bracket"),
        variable(
            "a colon in a value",
            "A: Error: failed",
            InvalidSyntax,
            "mapping values are not allowed in this context",
        ),
        variable("an undefined alias", "A: *b", InvalidSyntax, "unknown anchor"),
        variable("a value that starts with @", "A: @b", InvalidSyntax, "unexpected character"),
        rest(
            "an unquoted placeholder in a flow map",
            "containers: {main: {image: nginx, variables: {A: ${metadata.name}}}}\n",
            InvalidSyntax,
            "unquoted placeholder",
        ),
        rest(
            "a Helm template as a value",
            "containers:\n  main:\n    image: {{ .Values.image }}\n",
            NonStringKey,
            "template",
        ),
        rest(
            "a Helm template as a block",
            "containers:\n{{- range .Values.containers }}\n  main:\n    image: nginx\n{{- end }}\n",
            InvalidSyntax,
            "template",
        ),
        file(
            "broken JSON",
            "{\"apiVersion\": \"score.dev/v1b1\" \"metadata\": {}}\n",
            InvalidSyntax,
            "invalid JSON",
        ),
        file("a list", "- apiVersion: score.dev/v1b1\n", TypeMismatch, "expected map, found list"),
        file("plain text", "hello\n", TypeMismatch, "expected map, found string"),
        after(
            "a section that is written twice",
            "containers:\n  other:\n    image: x\n",
            DuplicateKey,
            "duplicate key `containers` (first defined on line 4)",
        ),
        variable("a variable that is set twice", "A: b\n      A: c", DuplicateKey, "duplicate key `A`"),
        after("two documents", "---\napiVersion: score.dev/v1b1\n", ExtraDocument, "multiple YAML documents"),
        variable("a number as a key", "404: b", NonStringKey, "non-string key"),
        variable("a tag of CloudFormation", "A: !Ref b", UnsupportedValue, "unknown YAML tag `!Ref`"),
        // The top level.
        file(
            "no apiVersion",
            "metadata:\n  name: shop\ncontainers:\n  main:\n    image: nginx\n",
            RequiredField,
            "missing required field `apiVersion`",
        ),
        file(
            "a Kubernetes manifest",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop\nspec:\n  replicas: 1\n",
            UnknownField,
            "unknown field `kind`",
        ),
        file(
            "the apiVersion of Kubernetes",
            "apiVersion: v1\nmetadata:\n  name: shop\ncontainers:\n  main:\n    image: nginx\n",
            ValueNotAllowed,
            "invalid value \"v1\" for `apiVersion`",
        ),
        file(
            "a Docker Compose file",
            "version: \"3\"\nservices:\n  web:\n    image: nginx\n",
            UnknownField,
            "unknown field `services`",
        ),
        file(
            "no metadata",
            "apiVersion: score.dev/v1b1\ncontainers:\n  main:\n    image: nginx\n",
            RequiredField,
            "missing required field `metadata`",
        ),
        file(
            "no name",
            "apiVersion: score.dev/v1b1\nmetadata: {}\ncontainers:\n  main:\n    image: nginx\n",
            RequiredField,
            "missing required field `name`",
        ),
        file(
            "a name with capitals",
            "apiVersion: score.dev/v1b1\nmetadata:\n  name: My_App\ncontainers:\n  main:\n    image: nginx\n",
            PatternMismatch,
            "invalid workload name \"My_App\": must match pattern",
        ),
        rest("no containers", "", RequiredField, "missing required field `containers`"),
        rest("no container in the map", "containers: {}\n", EmptyValue, "must not be empty"),
        rest(
            "containers as a list",
            "containers:\n  - name: main\n    image: nginx\n",
            TypeMismatch,
            "invalid type: expected map, found list",
        ),
        // Containers.
        rest(
            "no image",
            "containers:\n  main:\n    command: [\"/bin/app\"]\n",
            RequiredField,
            "missing required field `image`",
        ),
        rest(
            "an image without a value",
            "containers:\n  main:\n    image:\n",
            TypeMismatch,
            "expected string, found null",
        ),
        rest(
            "an empty image",
            "containers:\n  main:\n    image: \"\"\n",
            EmptyValue,
            "image must not be empty",
        ),
        after("env", "    env:\n      A: b\n", UnknownField, "unknown field `env`"),
        after(
            "ports in a container",
            "    ports:\n      - \"8080:80\"\n",
            UnknownField,
            "unknown field `ports`",
        ),
        after("a typo", "    varaibles:\n      A: b\n", UnknownField, "unknown field `varaibles`"),
        after(
            "a command as a string",
            "    command: /bin/app --verbose\n",
            TypeMismatch,
            "expected list, found string",
        ),
        variable(
            "an unquoted number",
            "PORT: 8080",
            TypeMismatch,
            "invalid type: expected string, found number",
        ),
        variable(
            "an unquoted boolean",
            "DEBUG: true",
            TypeMismatch,
            "invalid type: expected string, found boolean",
        ),
        variable("an unquoted date", "SINCE: 2024-01-01", TypeMismatch, "expected string, found date"),
        variable("a map as a variable", "A: {b: c}", TypeMismatch, "expected string, found map"),
        after(
            "variables as a list",
            "    variables:\n      - A=b\n",
            TypeMismatch,
            "expected map, found list",
        ),
        // Ports and probes.
        after(
            "ports as a list",
            "service:\n  ports:\n    - port: 80\n",
            TypeMismatch,
            "expected map, found list",
        ),
        after(
            "a port in quotes",
            "service:\n  ports:\n    web:\n      port: \"80\"\n",
            TypeMismatch,
            "expected integer, found string",
        ),
        after(
            "a port out of range",
            "service:\n  ports:\n    web:\n      port: 99999\n",
            ValueOutOfRange,
            "out of range, must be between 1 and 65535",
        ),
        after(
            "a lowercase protocol",
            "service:\n  ports:\n    web:\n      port: 80\n      protocol: tcp\n",
            ValueNotAllowed,
            "invalid value \"tcp\" for `protocol`: must be `TCP` or `UDP`",
        ),
        after(
            "one port for two targets",
            "service:\n  ports:\n    web:\n      port: 80\n      targetPort: 8080\n    admin:\n      port: 80\n      targetPort: 9090\n",
            PortClash,
            "duplicate port 80/TCP",
        ),
        after(
            "a probe without a check",
            "    readinessProbe: {}\n",
            ChoiceRequired,
            "missing required field",
        ),
        after(
            "a TCP probe",
            "    readinessProbe:\n      tcpSocket:\n        port: 80\n",
            UnknownField,
            "unknown field `tcpSocket`",
        ),
        after(
            "a probe with timing",
            "    livenessProbe:\n      httpGet:\n        path: /\n        port: 80\n      periodSeconds: 5\n",
            UnknownField,
            "unknown field `periodSeconds`",
        ),
        after(
            "a probe without a path",
            "    livenessProbe:\n      httpGet:\n        port: 80\n",
            RequiredField,
            "missing required field `path`",
        ),
        after(
            "a probe at the service port",
            "    livenessProbe:\n      httpGet:\n        path: /\n        port: 80\nservice:\n  ports:\n    web:\n      port: 80\n      targetPort: 8080\n",
            ProbePort,
            "probe port 80 is the service port",
        ),
        // Quantities.
        after(
            "a memory unit in lower case",
            "    resources:\n      limits:\n        memory: 1gb\n",
            PatternMismatch,
            "invalid memory quantity \"1gb\": must match pattern",
        ),
        after(
            "memory without a unit",
            "    resources:\n      limits:\n        memory: 512\n",
            TypeMismatch,
            "expected string, found number",
        ),
        after(
            "a fraction of a CPU",
            "    resources:\n      limits:\n        cpu: 0.5\n",
            TypeMismatch,
            "expected string, found decimal number",
        ),
        after(
            "a limit below the request",
            "    resources:\n      requests:\n        memory: 1Gi\n      limits:\n        memory: 512Mi\n",
            LimitBelowRequest,
            "limit below request",
        ),
        after(
            "a GPU",
            "    resources:\n      limits:\n        gpu: \"1\"\n",
            UnknownField,
            "unknown field `gpu`",
        ),
        // Files and volumes.
        after(
            "a volume without a source",
            "    volumes:\n      /data: {}\n",
            RequiredField,
            "missing required field `source`",
        ),
        after(
            "a volume of Docker Compose",
            "    volumes:\n      - ./data:/data\n",
            TypeMismatch,
            "expected map, found string",
        ),
        after(
            "a file without content",
            "    files:\n      /etc/app.conf: {}\n",
            ChoiceRequired,
            "missing required field",
        ),
        after(
            "a file with two contents",
            "    files:\n      /etc/app.conf:\n        content: a\n        source: ./b\n",
            ChoiceConflict,
            "`content` and `source` are mutually exclusive",
        ),
        after(
            "an unquoted mode",
            "    files:\n      /etc/app.conf:\n        content: a\n        mode: 0644\n",
            TypeMismatch,
            "expected string, found number for `mode`",
        ),
        after(
            "an invalid mode",
            "    files:\n      /etc/app.conf:\n        content: a\n        mode: rw-r--r--\n",
            PatternMismatch,
            "invalid file mode",
        ),
        after(
            "text in binaryContent",
            "    files:\n      /etc/app.conf:\n        binaryContent: hello world\n",
            InvalidBase64,
            "invalid base64",
        ),
        after(
            "files as a list",
            "    files:\n      - target: /etc/app.conf\n        content: a\n",
            DeprecatedForm,
            "deprecated",
        ),
        after(
            "a list entry without a target",
            "    files:\n      - content: a\n",
            TargetRequired,
            "missing required field `target`",
        ),
        after(
            "a relative path",
            "    files:\n      app.conf:\n        content: a\n",
            RelativePath,
            "relative path \"app.conf\": should be absolute",
        ),
        after(
            "one path for a file and a volume",
            "    files:\n      /data:\n        content: a\n    volumes:\n      /data:\n        source: b\n",
            PathClash,
            "duplicate mount path \"/data\"",
        ),
        // Placeholders.
        variable(
            "resource instead of resources",
            "A: ${resource.db.host}\nresources:\n  db:\n    type: postgres",
            InvalidPlaceholder,
            "invalid placeholder \"${resource.db.host}\"",
        ),
        variable(
            "an undefined resource",
            "A: ${resources.db.host}",
            UnknownResource,
            "undefined resource `db`",
        ),
        variable(
            "a resource without an output",
            "A: ${resources.db}\nresources:\n  db:\n    type: postgres",
            InvalidPlaceholder,
            "missing output",
        ),
        variable(
            "an environment variable",
            "A: ${HOME}/bin",
            MalformedPlaceholder,
            "environment variables are not expanded",
        ),
        variable(
            "a default value",
            "A: ${metadata.team:-shop}",
            MalformedPlaceholder,
            "default values and filters are not supported",
        ),
        variable(
            "spaces in the braces",
            "A: ${ metadata.name }",
            MalformedPlaceholder,
            "spaces are not allowed",
        ),
        variable("unknown metadata", "A: ${metadata.team}", UnknownMetadata, "metadata key `team` not found"),
        after(
            "a placeholder in the arguments",
            "    args: [\"${metadata.name}\"]\n",
            PlaceholderNotExpanded,
            "is not expanded",
        ),
        // Dependencies.
        after(
            "a resource without a type",
            "resources:\n  db: {}\n",
            RequiredField,
            "missing required field `type`",
        ),
        after(
            "a resource by its type only",
            "resources:\n  db: postgres\n",
            TypeMismatch,
            "expected map, found string",
        ),
        after(
            "properties of a resource",
            "resources:\n  db:\n    type: postgres\n    properties: {version: 16}\n",
            UnknownField,
            "unknown field `properties`",
        ),
        after(
            "resources that need each other",
            "resources:\n  aa:\n    type: dns\n    params: {x: \"${resources.bb.o}\"}\n  bb:\n    type: dns\n    params: {x: \"${resources.aa.o}\"}\n",
            ResourceCycle,
            "dependency cycle between resources: aa → bb → aa",
        ),
        after(
            "a resource that needs itself",
            "resources:\n  aa:\n    type: dns\n    params: {x: \"${resources.aa.o}\"}\n",
            ResourceCycle,
            "dependency cycle between resources: aa → aa",
        ),
        after(
            "different params of a shared resource",
            "resources:\n  aa: {type: dns, id: shared, params: {x: a}}\n  bb: {type: dns, id: shared, params: {x: b}}\n",
            ResourceConflict,
            "conflicting params for shared resource `shared`",
        ),
        rest(
            "containers that wait for each other",
            "containers:\n  aa: {image: x, before: {bb: {ready: started}}}\n  bb: {image: x, before: {aa: {ready: started}}}\n",
            BeforeCycle,
            "dependency cycle in `before`: aa → bb → aa",
        ),
        after(
            "an unknown container in before",
            "    before:\n      app:\n        ready: started\n",
            UnknownContainer,
            "container `app` not found",
        ),
        rest(
            "healthy without a probe",
            "containers:\n  aa: {image: x, before: {bb: {ready: healthy}}}\n  bb: {image: x}\n",
            ProbeRequired,
            "missing probe",
        ),
        after(
            "a misspelled state",
            "    before:\n      main:\n        ready: completed\n",
            ValueNotAllowed,
            "invalid value \"completed\" for `ready`",
        ),
    ]
}

#[test]
fn the_message_of_a_common_mistake_contains_the_search_term() {
    let mut failures = Vec::new();
    for Mistake { name, file, code, term } in mistakes() {
        let report = Document::parse(Source::new("score.yaml", file)).check();
        let found: Vec<_> = report.diagnostics.iter().filter(|d| d.code == code).collect();
        if !found.iter().any(|d| d.message.contains(term)) {
            let all: Vec<_> =
                report.diagnostics.iter().map(|d| format!("{}: {}", d.code, d.message)).collect();
            failures.push(format!("{name}: no {code} with {term:?}, but {all:#?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_not_mistakes() {
    let file = format!("\u{feff}{HEAD}{CONTAINERS}").replace('\n', "\r\n");
    let report = Document::parse(Source::new("score.yaml", file)).check();
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
}

#[test]
fn plain_dollar_signs_are_not_placeholders() {
    for value in ["$VAR", "costs 5$", "${HOME", "$(date)", "{{ name }}", "$resources.db.host"] {
        let file = format!("{HEAD}{CONTAINERS}    variables:\n      A: \"{value}\"\n");
        let report = Document::parse(Source::new("score.yaml", file)).check();
        assert!(report.diagnostics.is_empty(), "{value}: {:?}", report.diagnostics);
    }
}
