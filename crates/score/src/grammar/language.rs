//! Grammar of Score v1b1, specification 0.4.1.

use super::{Choice, Field, ListOf, MapOf, Object, Shape, rules, short_forms};

/// Maximum numbers of entries: far beyond real use, and the same as in the schema of the stored object.
mod limit {
    pub(super) const CONTAINERS: usize = 64;
    pub(super) const VARIABLES: usize = 1024;
    pub(super) const FILES: usize = 1024;
    pub(super) const VOLUMES: usize = 256;
    pub(super) const BEFORE: usize = 64;
    pub(super) const PORTS: usize = 256;
    pub(super) const HEADERS: usize = 64;
    pub(super) const RESOURCES: usize = 256;
    pub(super) const ANNOTATIONS: usize = 256;
    pub(super) const ARGUMENTS: usize = 4096;
}

const fn required(name: &'static str, shape: Shape, doc: &'static str, example: &'static str) -> Field {
    Field { name, shape, required: true, doc, example }
}

const fn optional(name: &'static str, shape: Shape, doc: &'static str, example: &'static str) -> Field {
    Field { name, shape, required: false, doc, example }
}

const fn closed(noun: &'static str, fields: &'static [Field]) -> Object {
    with_short_form(noun, fields, short_forms::none)
}

const fn with_short_form(
    noun: &'static str,
    fields: &'static [Field],
    short_form: fn(&str) -> Option<String>,
) -> Object {
    Object { noun, fields, open: false, choice: None, short_form }
}

/// Score document.
pub static WORKLOAD: Object = closed(
    "a Score document",
    &[
        required(
            "apiVersion",
            Shape::Enum(&["score.dev/v1b1"]),
            "Version of the Score specification.",
            "apiVersion: score.dev/v1b1",
        ),
        required(
            "metadata",
            Shape::Object(&METADATA),
            "Name, annotations and custom metadata of the workload.",
            "metadata: {name: my-app}",
        ),
        optional(
            "service",
            Shape::Object(&SERVICE),
            "Network service of the workload.",
            "service: {ports: {web: {port: 80, targetPort: 8080}}}",
        ),
        required(
            "containers",
            Shape::Map(&MapOf {
                keys: &rules::CONTAINER_NAME,
                values: Shape::Object(&CONTAINER),
                min: 1,
                limit: limit::CONTAINERS,
            }),
            "Containers of the workload, by name.",
            "containers: {main: {image: nginx}}",
        ),
        optional(
            "resources",
            Shape::Map(&MapOf {
                keys: &rules::RESOURCE_NAME,
                values: Shape::Object(&RESOURCE),
                min: 0,
                limit: limit::RESOURCES,
            }),
            "Dependencies of the workload, by name.",
            "resources: {db: {type: postgres}}",
        ),
    ],
);

static METADATA: Object = Object {
    noun: "the metadata",
    open: true,
    choice: None,
    short_form: short_forms::none,
    fields: &[
        required("name", Shape::Text(&rules::WORKLOAD_NAME), "Name of the workload.", "name: my-app"),
        optional(
            "annotations",
            Shape::Map(&ANNOTATIONS),
            "Annotations for tools and the platform.",
            "annotations: {example.org/team: shop}",
        ),
    ],
};

static ANNOTATIONS: MapOf = MapOf {
    keys: &rules::ANNOTATION_KEY,
    values: Shape::Text(&rules::TEXT),
    min: 0,
    limit: limit::ANNOTATIONS,
};

static SERVICE: Object = closed(
    "the service",
    &[optional(
        "ports",
        Shape::Map(&MapOf {
            keys: &rules::PORT_NAME,
            values: Shape::Object(&PORT),
            min: 0,
            limit: limit::PORTS,
        }),
        "Service ports, by name.",
        "ports: {web: {port: 80, targetPort: 8080}}",
    )],
);

const PORT_NUMBER: Shape = Shape::Integer(1, 65535);

static PORT: Object = closed(
    "a service port",
    &[
        required("port", PORT_NUMBER, "Port number of the service.", "port: 80"),
        optional("protocol", Shape::Enum(&["TCP", "UDP"]), "Protocol; defaults to TCP.", "protocol: TCP"),
        optional(
            "targetPort",
            PORT_NUMBER,
            "Port that the container listens on; defaults to `port`.",
            "targetPort: 8080",
        ),
    ],
);

static ARGUMENTS: ListOf = ListOf { items: Shape::Text(&rules::TEXT), limit: limit::ARGUMENTS };

/// Container.
pub static CONTAINER: Object = closed(
    "a container",
    &[
        required(
            "image",
            Shape::Text(&rules::IMAGE),
            "Container image; `.` for an image that is set at deployment.",
            "image: nginx:1.27",
        ),
        optional(
            "command",
            Shape::List(&ARGUMENTS),
            "Command that replaces the entrypoint of the image.",
            "command: [\"/bin/app\"]",
        ),
        optional("args", Shape::List(&ARGUMENTS), "Arguments of the command.", "args: [\"--verbose\"]"),
        optional(
            "variables",
            Shape::Map(&MapOf {
                keys: &rules::VARIABLE_NAME,
                values: Shape::Text(&rules::TEXT),
                min: 0,
                limit: limit::VARIABLES,
            }),
            "Environment variables. Placeholders are expanded.",
            "variables: {LOG_LEVEL: debug}",
        ),
        optional(
            "files",
            Shape::MapOrList(
                &MapOf { keys: &rules::TARGET, values: Shape::Object(&FILE), min: 0, limit: limit::FILES },
                &ListOf { items: Shape::Object(&FILE_ITEM), limit: limit::FILES },
            ),
            "Files to mount into the container, by path.",
            "files: {/etc/app.conf: {content: hello}}",
        ),
        optional(
            "volumes",
            Shape::MapOrList(
                &MapOf {
                    keys: &rules::TARGET,
                    values: Shape::Object(&VOLUME),
                    min: 0,
                    limit: limit::VOLUMES,
                },
                &ListOf { items: Shape::Object(&VOLUME_ITEM), limit: limit::VOLUMES },
            ),
            "Volumes to mount into the container, by path.",
            "volumes: {/data: {source: \"${resources.data}\"}}",
        ),
        optional(
            "before",
            Shape::Map(&MapOf {
                keys: &rules::CONTAINER_NAME,
                values: Shape::Object(&BEFORE),
                min: 0,
                limit: limit::BEFORE,
            }),
            "Containers that start after this one, by name.",
            "before: {main: {ready: complete}}",
        ),
        optional(
            "resources",
            Shape::Object(&COMPUTE),
            "CPU and memory requests and limits.",
            "resources: {limits: {memory: 512Mi, cpu: 500m}}",
        ),
        optional(
            "livenessProbe",
            Shape::Object(&PROBE),
            "Health check; the container is restarted if it fails.",
            "livenessProbe: {httpGet: {path: /alive, port: 8080}}",
        ),
        optional(
            "readinessProbe",
            Shape::Object(&PROBE),
            "Health check; the container is ready if it succeeds.",
            "readinessProbe: {httpGet: {path: /ready, port: 8080}}",
        ),
    ],
);

const MODE: Field = optional(
    "mode",
    Shape::Text(&rules::FILE_MODE),
    "File mode in octal digits, as a string.",
    "mode: \"0644\"",
);
const CONTENT: Field = optional(
    "content",
    Shape::Text(&rules::TEXT),
    "Content of the file. Placeholders are expanded.",
    "content: hello",
);
const BINARY_CONTENT: Field = optional(
    "binaryContent",
    Shape::Text(&rules::TEXT),
    "Content of the file in base64.",
    "binaryContent: aGVsbG8=",
);
const FILE_SOURCE: Field = optional(
    "source",
    Shape::Text(&rules::SOURCE),
    "Path of a local file, relative to the Score file. Placeholders in its content are expanded.",
    "source: ./app.conf",
);
const NO_EXPAND: Field =
    optional("noExpand", Shape::Boolean, "Disables the expansion of placeholders.", "noExpand: true");
const ONE_CONTENT: Option<Choice> =
    Some(Choice { of: &["content", "binaryContent", "source"], exclusive: true });

static FILE: Object = Object {
    noun: "a file",
    open: false,
    choice: ONE_CONTENT,
    short_form: short_forms::none,
    fields: &[MODE, CONTENT, BINARY_CONTENT, FILE_SOURCE, NO_EXPAND],
};

static FILE_ITEM: Object = Object {
    noun: "a file",
    open: false,
    choice: ONE_CONTENT,
    short_form: short_forms::none,
    fields: &[
        optional(
            "target",
            Shape::Text(&rules::FILE_TARGET),
            "Path of the file in the container.",
            "target: /etc/app.conf",
        ),
        MODE,
        CONTENT,
        BINARY_CONTENT,
        FILE_SOURCE,
        NO_EXPAND,
    ],
};

const VOLUME_SOURCE: Field = required(
    "source",
    Shape::Text(&rules::VOLUME_SOURCE),
    "Volume to mount, usually a resource. Placeholders are expanded.",
    "source: \"${resources.data}\"",
);
const VOLUME_PATH: Field =
    optional("path", Shape::Text(&rules::TEXT), "Path inside the volume to mount.", "path: sub/folder");
const READ_ONLY: Field =
    optional("readOnly", Shape::Boolean, "Mounts the volume read-only.", "readOnly: true");

static VOLUME: Object =
    with_short_form("a volume", &[VOLUME_SOURCE, VOLUME_PATH, READ_ONLY], short_forms::volume);

static VOLUME_ITEM: Object = closed(
    "a volume",
    &[
        optional("target", Shape::Text(&rules::TARGET), "Mount path in the container.", "target: /data"),
        VOLUME_SOURCE,
        VOLUME_PATH,
        READ_ONLY,
    ],
);

static BEFORE: Object = closed(
    "an entry of `before`",
    &[required(
        "ready",
        Shape::Enum(&["started", "healthy", "complete"]),
        "State of this container before the other one starts.",
        "ready: started",
    )],
);

static COMPUTE: Object = closed(
    "the resources of a container",
    &[
        optional(
            "limits",
            Shape::Object(&AMOUNTS),
            "Maximum CPU and memory.",
            "limits: {memory: 512Mi, cpu: 500m}",
        ),
        optional(
            "requests",
            Shape::Object(&AMOUNTS),
            "Guaranteed CPU and memory.",
            "requests: {memory: 256Mi, cpu: 250m}",
        ),
    ],
);

static AMOUNTS: Object = closed(
    "the limits or requests of a container",
    &[
        optional(
            "memory",
            Shape::Text(&rules::MEMORY),
            "Memory in bytes, with an optional unit.",
            "memory: 512Mi",
        ),
        optional("cpu", Shape::Text(&rules::CPU), "CPU in cores or millicores.", "cpu: 500m"),
    ],
);

static PROBE: Object = Object {
    noun: "a probe",
    open: false,
    choice: Some(Choice { of: &["httpGet", "exec"], exclusive: false }),
    short_form: short_forms::none,
    fields: &[
        optional(
            "httpGet",
            Shape::Object(&HTTP_GET),
            "HTTP GET request; any success status passes.",
            "httpGet: {path: /ready, port: 8080}",
        ),
        optional(
            "exec",
            Shape::Object(&EXEC),
            "Command in the container; exit code 0 passes.",
            "exec: {command: [\"/bin/check\"]}",
        ),
    ],
};

static HTTP_GET: Object = with_short_form(
    "an HTTP probe",
    &[
        optional("host", Shape::Text(&rules::HOST), "Host header of the request.", "host: example.org"),
        optional("scheme", Shape::Enum(&["HTTP", "HTTPS"]), "Scheme; defaults to HTTP.", "scheme: HTTP"),
        required("path", Shape::Text(&rules::HTTP_PATH), "Path of the request.", "path: /ready"),
        required("port", PORT_NUMBER, "Port that the container listens on.", "port: 8080"),
        optional(
            "httpHeaders",
            Shape::List(&ListOf { items: Shape::Object(&HEADER), limit: limit::HEADERS }),
            "Headers of the request.",
            "httpHeaders: [{name: X-Probe, value: ready}]",
        ),
    ],
    short_forms::http_get,
);

static HEADER: Object = with_short_form(
    "a header",
    &[
        required("name", Shape::Text(&rules::HEADER_NAME), "Name of the header.", "name: X-Probe"),
        required("value", Shape::Text(&rules::HEADER_VALUE), "Value of the header.", "value: ready"),
    ],
    short_forms::header,
);

static EXEC: Object = closed(
    "a command probe",
    &[required("command", Shape::List(&ARGUMENTS), "Command and arguments.", "command: [\"/bin/check\"]")],
);

static RESOURCE: Object = closed(
    "a resource",
    &[
        required("type", Shape::Text(&rules::RESOURCE_TYPE), "Resource type.", "type: postgres"),
        optional(
            "class",
            Shape::Text(&rules::RESOURCE_CLASS),
            "Resource class, a variant that the platform defines; defaults to `default`.",
            "class: large",
        ),
        optional(
            "id",
            Shape::Text(&rules::RESOURCE_ID),
            "Id to share the resource between workloads.",
            "id: shared.main-db",
        ),
        optional(
            "metadata",
            Shape::Object(&RESOURCE_METADATA),
            "Metadata of the resource.",
            "metadata: {annotations: {example.org/team: shop}}",
        ),
        optional(
            "params",
            Shape::FreeMap,
            "Parameters for the provisioner. Placeholders are expanded.",
            "params: {version: \"16\"}",
        ),
    ],
);

static RESOURCE_METADATA: Object = Object {
    noun: "the metadata of a resource",
    open: true,
    choice: None,
    short_form: short_forms::none,
    fields: &[optional(
        "annotations",
        Shape::Map(&ANNOTATIONS),
        "Annotations for tools and the platform.",
        "annotations: {example.org/team: shop}",
    )],
};
