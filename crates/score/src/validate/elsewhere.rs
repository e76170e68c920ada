//! Fields that people bring along from Kubernetes, Compose and older drafts of Score.

const CONTAINER: &str = "a container";
const DOCUMENT: &str = "a Score document";
const PROBE: &str = "a probe";
const HTTP: &str = "an HTTP probe";
const PORT: &str = "a service port";
const RESOURCE: &str = "a resource";
const FILE: &str = "a file";
const VOLUME: &str = "a volume";
const AMOUNT: &str = "an amount of computing power";
const PROBE_TIMING: &str =
    "Score has no timing for probes; the platform decides how often and how long to ask";
const PLATFORM: &str = "Score leaves this to the platform; ask it with an annotation under `metadata.annotations`, or leave it out";

/// Fields of other languages: the key, the object it was found in (or any), and what Score has instead.
pub(super) const FROM_ELSEWHERE: &[(&str, &str, &str)] = &[
    // A Kubernetes object, or another kind of envelope.
    ("kind", DOCUMENT, "a Score document has no `kind`; remove it, and write the parts of `spec` at the top"),
    ("spec", DOCUMENT, "a Score document is flat: write what is under `spec` at the top, beside `metadata`"),
    ("status", DOCUMENT, "remove it; the platform reports the status, the document does not hold it"),
    ("name", DOCUMENT, "the name belongs under `metadata`: `metadata: {name: my-app}`"),
    (
        "version",
        DOCUMENT,
        "write `apiVersion: score.dev/v1b1` for the language; a version of your own goes under `metadata`",
    ),
    ("labels", "", "put labels under the top-level `metadata`"),
    (
        "annotations",
        DOCUMENT,
        "`annotations` belongs under `metadata`: `metadata: {annotations: {example.org/team: shop}}`",
    ),
    (
        "services",
        DOCUMENT,
        "write `containers` for what runs, and `service: {ports: …}` for the ports it offers",
    ),
    ("container", DOCUMENT, "write `containers: {main: {…}}`, a map of containers by name"),
    ("image", DOCUMENT, "`image` belongs to a container: `containers: {main: {image: nginx:1.27}}`"),
    (
        "env",
        DOCUMENT,
        "environment variables belong to a container: `containers: {main: {variables: {LOG_LEVEL: debug}}}`",
    ),
    (
        "environment",
        DOCUMENT,
        "environment variables belong to a container: `containers: {main: {variables: {LOG_LEVEL: debug}}}`",
    ),
    ("ports", DOCUMENT, "write `service: {ports: {web: {port: 80, targetPort: 8080}}}`"),
    ("port", DOCUMENT, "write `service: {ports: {web: {port: 80, targetPort: 8080}}}`"),
    ("dependencies", DOCUMENT, "write `resources: {db: {type: postgres}}`"),
    (
        "dependsOn",
        DOCUMENT,
        "write what the workload needs under `resources`, such as `resources: {db: {type: postgres}}`",
    ),
    ("volumes", DOCUMENT, "declare a resource of type volume, and mount it with `containers.*.volumes`"),
    (
        "route",
        DOCUMENT,
        "declare a resource: `resources: {route: {type: route, params: {host: …, path: /, port: 80}}}`",
    ),
    (
        "ingress",
        DOCUMENT,
        "declare a resource: `resources: {route: {type: route, params: {host: …, path: /, port: 80}}}`",
    ),
    (
        "profile",
        DOCUMENT,
        "ask for a profile with the annotation `score.dev/profile` under `metadata.annotations`",
    ),
    ("workflows", DOCUMENT, "remove it; Score describes a workload, not how it is delivered"),
    // Containers.
    ("env", "", "environment variables are called `variables`: `variables: {LOG_LEVEL: debug}`"),
    ("environment", "", "environment variables are called `variables`: `variables: {LOG_LEVEL: debug}`"),
    ("envVars", "", "environment variables are called `variables`: `variables: {LOG_LEVEL: debug}`"),
    (
        "envFrom",
        "",
        "Score takes no variables from elsewhere as a whole; name each under `variables`, with a placeholder such as `${resources.env.NAME}`",
    ),
    (
        "env_file",
        "",
        "name each variable under `variables`, with a placeholder such as `${resources.env.NAME}`",
    ),
    (
        "ports",
        "",
        "ports belong to the workload, not to a container: `service: {ports: {web: {port: 80, targetPort: 8080}}}`",
    ),
    (
        "port",
        CONTAINER,
        "ports belong to the workload, not to a container: `service: {ports: {web: {port: 80, targetPort: 8080}}}`",
    ),
    (
        "expose",
        CONTAINER,
        "ports belong to the workload, not to a container: `service: {ports: {web: {port: 80, targetPort: 8080}}}`",
    ),
    ("name", CONTAINER, "remove it; the key of the container is its name"),
    ("build", CONTAINER, "Score names a finished image; write `image: .` and give the image when you deploy"),
    ("entrypoint", "", "the program is called `command`: `command: [\"/bin/app\"]`"),
    ("cmd", "", "write `args: [\"…\"]` for the arguments, `command: [\"…\"]` for the program"),
    ("arguments", "", "the arguments are called `args`: `args: [\"--verbose\"]`"),
    ("volumeMounts", "", "mounts are called `volumes`: `volumes: {/data: {source: \"${resources.data}\"}}`"),
    ("mounts", "", "mounts are called `volumes`: `volumes: {/data: {source: \"${resources.data}\"}}`"),
    ("limits", CONTAINER, "write `resources: {limits: {memory: 512Mi, cpu: 500m}}`"),
    ("requests", CONTAINER, "write `resources: {requests: {memory: 256Mi, cpu: 250m}}`"),
    ("memory", "", "write `resources: {limits: {memory: 512Mi}}` in the container"),
    ("cpu", "", "write `resources: {limits: {cpu: 500m}}` in the container"),
    ("healthcheck", "", "write `livenessProbe: {exec: {command: [\"/bin/check\"]}}`"),
    ("healthCheck", "", "write `livenessProbe: {httpGet: {path: /alive, port: 8080}}`"),
    (
        "startupProbe",
        "",
        "Score has no startup probe; `readinessProbe` says when the container can do its work",
    ),
    ("probes", CONTAINER, "write `livenessProbe` and `readinessProbe` in the container itself"),
    ("depends_on", "", "the container that goes first says so: `before: {main: {ready: started}}`"),
    ("dependsOn", CONTAINER, "the container that goes first says so: `before: {main: {ready: started}}`"),
    ("initContainers", "", "write it as a container with `before: {main: {ready: complete}}`"),
    ("sidecars", "", "write it as one more entry of `containers`"),
    (
        "workingDir",
        "",
        "Score has no working directory; set it in the image, or use `command: [\"/bin/sh\", \"-c\", \"cd /app && …\"]`",
    ),
    (
        "working_dir",
        "",
        "Score has no working directory; set it in the image, or use `command: [\"/bin/sh\", \"-c\", \"cd /app && …\"]`",
    ),
    ("securityContext", "", PLATFORM),
    ("imagePullPolicy", "", PLATFORM),
    ("restartPolicy", "", PLATFORM),
    ("restart", "", PLATFORM),
    ("lifecycle", "", PLATFORM),
    ("replicas", "", PLATFORM),
    ("scaling", "", PLATFORM),
    ("autoscaling", "", PLATFORM),
    ("scale", "", PLATFORM),
    ("strategy", "", PLATFORM),
    ("nodeSelector", "", PLATFORM),
    ("affinity", "", PLATFORM),
    ("tolerations", "", PLATFORM),
    ("serviceAccount", "", PLATFORM),
    ("serviceAccountName", "", PLATFORM),
    ("namespace", "", PLATFORM),
    ("schedule", "", PLATFORM),
    (
        "networks",
        "",
        "remove it; the containers of a workload share a network, other workloads are reached through resources of type service",
    ),
    (
        "secrets",
        "",
        "declare a resource of type secret and refer to its outputs: `${resources.my-secret.key}`",
    ),
    ("configMaps", "", "write the content under `files`: `files: {/etc/app.conf: {content: hello}}`"),
    // Probes.
    (
        "tcpSocket",
        PROBE,
        "Score knows `httpGet` and `exec`; check a TCP port with a command: `exec: {command: [\"nc\", \"-z\", \"localhost\", \"8080\"]}`",
    ),
    (
        "grpc",
        PROBE,
        "Score knows `httpGet` and `exec`; check gRPC with a command: `exec: {command: [\"grpc_health_probe\", \"-addr=:8080\"]}`",
    ),
    ("http", PROBE, "write `httpGet: {path: /ready, port: 8080}`"),
    ("command", PROBE, "write `exec: {command: [\"/bin/check\"]}`"),
    ("path", PROBE, "write `httpGet: {path: /ready, port: 8080}`"),
    ("port", PROBE, "write `httpGet: {path: /ready, port: 8080}`"),
    ("initialDelaySeconds", "", PROBE_TIMING),
    ("periodSeconds", "", PROBE_TIMING),
    ("timeoutSeconds", "", PROBE_TIMING),
    ("failureThreshold", "", PROBE_TIMING),
    ("successThreshold", "", PROBE_TIMING),
    ("interval", "", PROBE_TIMING),
    ("timeout", "", PROBE_TIMING),
    ("retries", "", PROBE_TIMING),
    ("headers", HTTP, "write a list: `httpHeaders: [{name: X-Probe, value: ready}]`"),
    // Ports.
    ("name", PORT, "remove it; the key of the port is its name"),
    ("containerPort", PORT, "the port on which the container listens is called `targetPort`"),
    ("target", PORT, "the port on which the container listens is called `targetPort`"),
    (
        "hostPort",
        PORT,
        "Score has no port on the host; `port` is what others use, `targetPort` where the container listens",
    ),
    (
        "nodePort",
        PORT,
        "Score has no port on the host; `port` is what others use, `targetPort` where the container listens",
    ),
    // Files and volumes.
    ("target", FILE, "remove it; in the map form the key is the path: `files: {/etc/app.conf: {…}}`"),
    ("target", VOLUME, "remove it; in the map form the key is the path: `volumes: {/data: {…}}`"),
    ("path", FILE, "the path in the container is the key; the path of a file to copy is called `source`"),
    (
        "expand",
        FILE,
        "write `noExpand: true` to leave placeholders as they are; without it they are expanded",
    ),
    ("permissions", FILE, "the access mode is called `mode`: `mode: \"0644\"`"),
    ("data", FILE, "write `content` for text, `binaryContent` for base64"),
    ("read_only", VOLUME, "write `readOnly`"),
    ("mountPath", VOLUME, "the key is the path in the container: `volumes: {/data: {…}}`"),
    ("subPath", VOLUME, "the path inside the volume is called `path`"),
    // Resources.
    ("properties", RESOURCE, "parameters are called `params`: `params: {version: \"16\"}`"),
    ("parameters", RESOURCE, "parameters are called `params`: `params: {version: \"16\"}`"),
    ("config", RESOURCE, "parameters are called `params`: `params: {version: \"16\"}`"),
    ("size", RESOURCE, "what is special about the resource goes into `params`: `params: {size: 10Gi}`"),
    (
        "outputs",
        RESOURCE,
        "remove it; whoever provides the resource decides its outputs, and `${resources.name.output}` reads them",
    ),
    (
        "provider",
        RESOURCE,
        "remove it; the platform decides who provides a resource. `class` says which sort you want",
    ),
    ("storage", AMOUNT, "Score knows `memory` and `cpu`; storage is a resource of type volume"),
    ("ephemeral-storage", AMOUNT, "Score knows `memory` and `cpu` only; leave it to the platform"),
    ("gpu", AMOUNT, "Score knows `memory` and `cpu` only; ask the platform for a profile with GPUs"),
    (
        "nvidia.com/gpu",
        AMOUNT,
        "Score knows `memory` and `cpu` only; ask the platform for a profile with GPUs",
    ),
];
