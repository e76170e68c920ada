//! Score v1b1 at specification 0.4.1.

use super::{Choice, Field, ListOf, MapOf, Object, Shape, rules};

/// How many entries this implementation takes. Far beyond real use; the same numbers bound the stored object.
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
    pub(super) const WORDS: usize = 4096;
}

const fn required(name: &'static str, shape: Shape, doc: &'static str, example: &'static str) -> Field {
    Field { name, shape, required: true, doc, example }
}

const fn optional(name: &'static str, shape: Shape, doc: &'static str, example: &'static str) -> Field {
    Field { name, shape, required: false, doc, example }
}

const fn closed(noun: &'static str, fields: &'static [Field]) -> Object {
    Object { noun, fields, open: false, choice: None }
}

/// The whole document.
pub static WORKLOAD: Object = closed(
    "a Score document",
    &[
        required(
            "apiVersion",
            Shape::Word(&["score.dev/v1b1"]),
            "The version of the Score language.",
            "apiVersion: score.dev/v1b1",
        ),
        required(
            "metadata",
            Shape::Object(&METADATA),
            "The name of the workload and what else is known about it.",
            "metadata: {name: my-app}",
        ),
        optional(
            "service",
            Shape::Object(&SERVICE),
            "The ports that the workload offers to others.",
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
            "The containers of the workload, by name.",
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
            "What the workload depends on, by name.",
            "resources: {db: {type: postgres}}",
        ),
    ],
);

static METADATA: Object = Object {
    noun: "the metadata",
    open: true,
    choice: None,
    fields: &[
        required("name", Shape::Text(&rules::WORKLOAD_NAME), "The name of the workload.", "name: my-app"),
        optional(
            "annotations",
            Shape::Map(&ANNOTATIONS),
            "Notes for tools and for the platform.",
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
        "The ports, by name.",
        "ports: {web: {port: 80, targetPort: 8080}}",
    )],
);

const PORT_NUMBER: Shape = Shape::Integer(1, 65535);

static PORT: Object = closed(
    "a service port",
    &[
        required("port", PORT_NUMBER, "The number under which the port is offered.", "port: 80"),
        optional(
            "protocol",
            Shape::Word(&["TCP", "UDP"]),
            "The protocol; TCP if not given.",
            "protocol: TCP",
        ),
        optional(
            "targetPort",
            PORT_NUMBER,
            "The number on which the container listens; the same as `port` if not given.",
            "targetPort: 8080",
        ),
    ],
);

static WORDS: ListOf = ListOf { items: Shape::Text(&rules::TEXT), limit: limit::WORDS };

/// A container.
pub static CONTAINER: Object = closed(
    "a container",
    &[
        required(
            "image",
            Shape::Text(&rules::IMAGE),
            "The image to run; `.` stands for one that is given when the workload is deployed.",
            "image: nginx:1.27",
        ),
        optional(
            "command",
            Shape::List(&WORDS),
            "The program to run instead of that of the image.",
            "command: [\"/bin/app\"]",
        ),
        optional("args", Shape::List(&WORDS), "The arguments of the program.", "args: [\"--verbose\"]"),
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
            "Files to put into the container, by path.",
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
            "Containers that wait for this one, by name.",
            "before: {main: {ready: complete}}",
        ),
        optional(
            "resources",
            Shape::Object(&COMPUTE),
            "The computing power that the container needs and may use.",
            "resources: {limits: {memory: 512Mi, cpu: 500m}}",
        ),
        optional(
            "livenessProbe",
            Shape::Object(&PROBE),
            "A check that, when it fails, restarts the container.",
            "livenessProbe: {httpGet: {path: /alive, port: 8080}}",
        ),
        optional(
            "readinessProbe",
            Shape::Object(&PROBE),
            "A check that says when the container can do its work.",
            "readinessProbe: {httpGet: {path: /ready, port: 8080}}",
        ),
    ],
);

const MODE: Field = optional(
    "mode",
    Shape::Text(&rules::FILE_MODE),
    "The access mode in octal digits, as text.",
    "mode: \"0644\"",
);
const CONTENT: Field = optional(
    "content",
    Shape::Text(&rules::TEXT),
    "The text of the file. Placeholders are expanded.",
    "content: hello",
);
const BINARY_CONTENT: Field =
    optional("binaryContent", Shape::Text(&rules::TEXT), "The content in base64.", "binaryContent: aGVsbG8=");
const FILE_SOURCE: Field = optional(
    "source",
    Shape::Text(&rules::SOURCE),
    "The path of a file, relative to the Score file. Placeholders in its text are expanded.",
    "source: ./app.conf",
);
const NO_EXPAND: Field =
    optional("noExpand", Shape::Boolean, "Whether placeholders are left as they are.", "noExpand: true");
const ONE_CONTENT: Option<Choice> =
    Some(Choice { of: &["content", "binaryContent", "source"], exclusive: true });

static FILE: Object = Object {
    noun: "a file",
    open: false,
    choice: ONE_CONTENT,
    fields: &[MODE, CONTENT, BINARY_CONTENT, FILE_SOURCE, NO_EXPAND],
};

static FILE_ITEM: Object = Object {
    noun: "a file",
    open: false,
    choice: ONE_CONTENT,
    fields: &[
        optional(
            "target",
            Shape::Text(&rules::FILE_TARGET),
            "The path of the file.",
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
    Shape::Text(&rules::TEXT),
    "The volume, usually a resource. Placeholders are expanded.",
    "source: \"${resources.data}\"",
);
const VOLUME_PATH: Field =
    optional("path", Shape::Text(&rules::TEXT), "A path inside the volume to mount.", "path: sub/folder");
const READ_ONLY: Field =
    optional("readOnly", Shape::Boolean, "Whether the volume is mounted for reading only.", "readOnly: true");

static VOLUME: Object = closed("a volume", &[VOLUME_SOURCE, VOLUME_PATH, READ_ONLY]);

static VOLUME_ITEM: Object = closed(
    "a volume",
    &[
        optional("target", Shape::Text(&rules::TARGET), "The path to mount at.", "target: /data"),
        VOLUME_SOURCE,
        VOLUME_PATH,
        READ_ONLY,
    ],
);

static BEFORE: Object = closed(
    "an entry of `before`",
    &[required(
        "ready",
        Shape::Word(&["started", "healthy", "complete"]),
        "What this container must have reached before the other one starts.",
        "ready: complete",
    )],
);

static COMPUTE: Object = closed(
    "the resources of a container",
    &[
        optional(
            "limits",
            Shape::Object(&AMOUNTS),
            "The most it may use.",
            "limits: {memory: 512Mi, cpu: 500m}",
        ),
        optional(
            "requests",
            Shape::Object(&AMOUNTS),
            "The least it needs.",
            "requests: {memory: 256Mi, cpu: 250m}",
        ),
    ],
);

static AMOUNTS: Object = closed(
    "an amount of computing power",
    &[
        optional("memory", Shape::Text(&rules::MEMORY), "Memory in bytes, with a unit.", "memory: 512Mi"),
        optional("cpu", Shape::Text(&rules::CPU), "Processor time in cores or thousandths.", "cpu: 500m"),
    ],
);

static PROBE: Object = Object {
    noun: "a probe",
    open: false,
    choice: Some(Choice { of: &["httpGet", "exec"], exclusive: false }),
    fields: &[
        optional(
            "httpGet",
            Shape::Object(&HTTP_GET),
            "A request that must be answered with success.",
            "httpGet: {path: /ready, port: 8080}",
        ),
        optional(
            "exec",
            Shape::Object(&EXEC),
            "A command in the container that must end with success.",
            "exec: {command: [\"/bin/check\"]}",
        ),
    ],
};

static HTTP_GET: Object = closed(
    "an HTTP probe",
    &[
        optional("host", Shape::Text(&rules::HOST), "The Host header to send.", "host: example.org"),
        optional("scheme", Shape::Word(&["HTTP", "HTTPS"]), "The scheme; HTTP if not given.", "scheme: HTTP"),
        required("path", Shape::Text(&rules::TEXT), "The path to ask for.", "path: /ready"),
        required("port", PORT_NUMBER, "The port on which the container listens.", "port: 8080"),
        optional(
            "httpHeaders",
            Shape::List(&ListOf { items: Shape::Object(&HEADER), limit: limit::HEADERS }),
            "Headers to send.",
            "httpHeaders: [{name: X-Probe, value: ready}]",
        ),
    ],
);

static HEADER: Object = closed(
    "a header",
    &[
        required("name", Shape::Text(&rules::HEADER_NAME), "The name of the header.", "name: X-Probe"),
        required("value", Shape::Text(&rules::HEADER_VALUE), "The value of the header.", "value: ready"),
    ],
);

static EXEC: Object = closed(
    "a command probe",
    &[required(
        "command",
        Shape::List(&WORDS),
        "The command and its arguments.",
        "command: [\"/bin/check\"]",
    )],
);

static RESOURCE: Object = closed(
    "a resource",
    &[
        required(
            "type",
            Shape::Text(&rules::RESOURCE_TYPE),
            "What kind of thing is needed.",
            "type: postgres",
        ),
        optional(
            "class",
            Shape::Text(&rules::RESOURCE_CLASS),
            "Which sort of it, in the words of the platform.",
            "class: large",
        ),
        optional(
            "id",
            Shape::Text(&rules::RESOURCE_ID),
            "An identity under which several workloads share one resource.",
            "id: shared.main-db",
        ),
        optional(
            "metadata",
            Shape::Object(&RESOURCE_METADATA),
            "Notes about the resource.",
            "metadata: {annotations: {example.org/team: shop}}",
        ),
        optional(
            "params",
            Shape::FreeMap,
            "Parameters for whoever provides the resource. Placeholders are expanded.",
            "params: {version: \"16\"}",
        ),
    ],
);

static RESOURCE_METADATA: Object = Object {
    noun: "the metadata of a resource",
    open: true,
    choice: None,
    fields: &[optional(
        "annotations",
        Shape::Map(&ANNOTATIONS),
        "Notes for tools and for the platform.",
        "annotations: {example.org/team: shop}",
    )],
};
