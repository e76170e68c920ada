//! Fields of Kubernetes, Docker Compose and older drafts of Score, and their Score equivalents.

const CONTAINER: &str = "a container";
const DOCUMENT: &str = "a Score document";
const PROBE: &str = "a probe";
const HTTP: &str = "an HTTP probe";
const PORT: &str = "a service port";
const RESOURCE: &str = "a resource";
const SERVICE: &str = "the service";
const FILE: &str = "a file";
const VOLUME: &str = "a volume";
const AMOUNT: &str = "the limits or requests of a container";
const PROBE_TIMING: &str =
    "remove it; Score has no probe timing, the platform sets interval, timeout and thresholds";
const PLATFORM: &str = "remove it; this is a setting of the platform, not of Score (some platforms read annotations under `metadata.annotations`)";

/// Foreign fields: the key, the object it is found in (empty for any), and the hint, where `VALUE` is
/// the value of the field.
pub(super) const FOREIGN_FIELDS: &[(&str, &str, &str)] = &[
    // Kubernetes manifests and other envelopes.
    ("kind", DOCUMENT, "remove it; a Score file has no `kind`"),
    ("spec", DOCUMENT, "move the fields under `spec` to the top level, next to `metadata`"),
    ("status", DOCUMENT, "remove it; the platform reports the status"),
    ("name", DOCUMENT, "the name belongs under `metadata`: `metadata: {name: VALUE}`"),
    (
        "version",
        DOCUMENT,
        "use `apiVersion: score.dev/v1b1` for the Score version; put the version of your application under `metadata`",
    ),
    ("labels", "", "move labels under the top-level `metadata`"),
    (
        "annotations",
        DOCUMENT,
        "`annotations` belongs under `metadata`: `metadata: {annotations: {example.org/team: shop}}`",
    ),
    (
        "services",
        DOCUMENT,
        "use `containers` for Docker Compose services, and `service: {ports: …}` for published ports",
    ),
    ("container", DOCUMENT, "use `containers: {main: {…}}`, a map of containers by name"),
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
        "declare dependencies under `resources`, such as `resources: {db: {type: postgres}}`",
    ),
    ("volumes", DOCUMENT, "declare a resource of type `volume`, and mount it with `containers.*.volumes`"),
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
    ("workflows", DOCUMENT, "remove it; Score describes a workload, not its delivery pipeline"),
    // Containers.
    ("env", "", "use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`"),
    ("environment", "", "use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`"),
    ("envVars", "", "use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`"),
    (
        "envFrom",
        "",
        "list each variable under `variables`, with a placeholder such as `${resources.env.NAME}`; Score cannot import a whole set",
    ),
    (
        "env_file",
        "",
        "list each variable under `variables`, with a placeholder such as `${resources.env.NAME}`",
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
    (
        "build",
        CONTAINER,
        "remove it; Score does not build images. Use `image: .` and set the image at deployment with `--image`",
    ),
    ("entrypoint", "", "use `command`: `command: [\"/bin/app\"]`"),
    ("cmd", "", "use `args: [\"…\"]` for the arguments, `command: [\"…\"]` for the program"),
    ("arguments", "", "use `args`: `args: [\"--verbose\"]`"),
    ("volumeMounts", "", "use `volumes`: `volumes: {/data: {source: \"${resources.data}\"}}`"),
    ("mounts", "", "use `volumes`: `volumes: {/data: {source: \"${resources.data}\"}}`"),
    ("limits", CONTAINER, "write `resources: {limits: {memory: 512Mi, cpu: 500m}}`"),
    ("requests", CONTAINER, "write `resources: {requests: {memory: 256Mi, cpu: 250m}}`"),
    ("memory", "", "write `resources: {limits: {memory: 512Mi}}` in the container"),
    ("cpu", "", "write `resources: {limits: {cpu: 500m}}` in the container"),
    ("healthcheck", "", "write `livenessProbe: {exec: {command: [\"/bin/check\"]}}`"),
    ("healthCheck", "", "write `livenessProbe: {httpGet: {path: /alive, port: 8080}}`"),
    ("startupProbe", "", "use `readinessProbe`; Score has no startup probe"),
    ("probes", CONTAINER, "use `livenessProbe` and `readinessProbe` of the container"),
    (
        "depends_on",
        "",
        "use `before` in the container that starts first: `before: {THIS-CONTAINER: {ready: started}}`",
    ),
    (
        "dependsOn",
        CONTAINER,
        "use `before` in the container that starts first: `before: {THIS-CONTAINER: {ready: started}}`",
    ),
    ("initContainers", "", "add it to `containers`, with `before: {main: {ready: complete}}`"),
    ("sidecars", "", "add it to `containers`"),
    (
        "workingDir",
        "",
        "set the working directory in the image, or use `command: [\"/bin/sh\", \"-c\", \"cd /app && …\"]`",
    ),
    (
        "working_dir",
        "",
        "set the working directory in the image, or use `command: [\"/bin/sh\", \"-c\", \"cd /app && …\"]`",
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
        "remove it; containers of a workload share a network. Declare a resource of type `service` to reach another workload",
    ),
    ("secrets", "", "declare a resource of type `secret` and use its outputs: `${resources.my-secret.key}`"),
    ("configMaps", "", "use `files` of a container: `files: {/etc/app.conf: {content: hello}}`"),
    // Probes.
    (
        "tcpSocket",
        PROBE,
        "use `httpGet` or `exec`; check a TCP port with a command: `exec: {command: [\"nc\", \"-z\", \"localhost\", \"8080\"]}`",
    ),
    (
        "grpc",
        PROBE,
        "use `httpGet` or `exec`; check gRPC with a command: `exec: {command: [\"grpc_health_probe\", \"-addr=:8080\"]}`",
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
    ("interval", PROBE, PROBE_TIMING),
    ("timeout", PROBE, PROBE_TIMING),
    ("retries", PROBE, PROBE_TIMING),
    ("headers", HTTP, "use a list: `httpHeaders: [{name: X-Probe, value: ready}]`"),
    // Ports.
    ("name", PORT, "remove it; the key of the port is its name"),
    ("containerPort", PORT, "use `targetPort` for the port that the container listens on"),
    ("target", PORT, "use `targetPort` for the port that the container listens on"),
    (
        "hostPort",
        PORT,
        "remove it; Score has no host ports: `port` is the service port, `targetPort` the port that the container listens on",
    ),
    (
        "nodePort",
        PORT,
        "remove it; Score has no host ports: `port` is the service port, `targetPort` the port that the container listens on",
    ),
    // Files and volumes.
    ("target", FILE, "remove it; the key of the map is the path: `files: {/etc/app.conf: {…}}`"),
    ("target", VOLUME, "remove it; the key of the map is the path: `volumes: {/data: {…}}`"),
    (
        "path",
        FILE,
        "use the key of the map for the path in the container, and `source` for a local file to copy",
    ),
    ("expand", FILE, "use `noExpand: true` to disable placeholders; they are expanded by default"),
    ("permissions", FILE, "use `mode`: `mode: \"0644\"`"),
    ("data", FILE, "use `content` for text, `binaryContent` for base64"),
    ("read_only", VOLUME, "use `readOnly`"),
    ("mountPath", VOLUME, "use the key of the map for the path in the container: `volumes: {/data: {…}}`"),
    ("subPath", VOLUME, "use `path` for the path inside the volume"),
    // Resources.
    ("properties", RESOURCE, "use `params`: `params: {version: \"16\"}`"),
    ("parameters", RESOURCE, "use `params`: `params: {version: \"16\"}`"),
    ("config", RESOURCE, "use `params`: `params: {version: \"16\"}`"),
    ("size", RESOURCE, "move it under `params`: `params: {size: 10Gi}`"),
    (
        "outputs",
        RESOURCE,
        "remove it; the provisioner defines the outputs, and `${resources.name.output}` reads them",
    ),
    (
        "provider",
        RESOURCE,
        "remove it; the platform chooses the provisioner. Use `class` to ask for a variant",
    ),
    ("storage", AMOUNT, "use only `memory` and `cpu`; for storage declare a resource of type `volume`"),
    ("ephemeral-storage", AMOUNT, "remove it; Score supports only `memory` and `cpu`"),
    (
        "gpu",
        AMOUNT,
        "remove it; Score supports only `memory` and `cpu`. For GPUs use a profile of the platform",
    ),
    (
        "nvidia.com/gpu",
        AMOUNT,
        "remove it; Score supports only `memory` and `cpu`. For GPUs use a profile of the platform",
    ),
    ("name", RESOURCE, "remove it; the key of the resource is its name"),
    ("kind", RESOURCE, "use `type`: `type: postgres`"),
    ("shared", RESOURCE, "use an `id` to share a resource between workloads: `id: shared.main-db`"),
    ("scope", RESOURCE, "use an `id` to share a resource between workloads: `id: shared.main-db`"),
    ("labels", RESOURCE, "move labels under the `metadata` of the resource"),
    ("annotations", RESOURCE, "move annotations under the `metadata` of the resource"),
    ("depends_on", RESOURCE, "remove it; a placeholder in `params` creates a dependency between resources"),
    ("dependsOn", RESOURCE, "remove it; a placeholder in `params` creates a dependency between resources"),
    ("name", VOLUME, "remove it; `source` refers to the volume, such as `source: \"${resources.data}\"`"),
    ("type", VOLUME, "remove it; declare a resource of type `volume` and refer to it in `source`"),
    ("emptyDir", VOLUME, "declare a resource of type `volume` and refer to it in `source`"),
    ("port", SERVICE, "write `service: {ports: {web: {port: 80}}}`"),
    ("type", SERVICE, PLATFORM),
    ("pullPolicy", "", PLATFORM),
    ("replicaCount", "", PLATFORM),
    ("deploy", "", PLATFORM),
    ("user", CONTAINER, PLATFORM),
    ("tty", CONTAINER, PLATFORM),
    ("jobs", DOCUMENT, PLATFORM),
    ("cron", DOCUMENT, PLATFORM),
    ("vars", CONTAINER, "use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`"),
    (
        "environmentVariables",
        CONTAINER,
        "use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`",
    ),
    ("configs", "", "use `files` of a container: `files: {/etc/app.conf: {content: hello}}`"),
    ("workloads", DOCUMENT, "use one Score file per workload, with its `containers` at the top level"),
    ("workflow", DOCUMENT, "remove it; Score describes a workload, not its delivery pipeline"),
    ("extensions", DOCUMENT, "remove it; Score files have no extensions"),
    (
        "externals",
        DOCUMENT,
        "declare dependencies under `resources`; share them between workloads with an `id`",
    ),
    ("$schema", DOCUMENT, "move the schema to a comment: `# yaml-language-server: $schema=FILE`"),
    ("liveness", CONTAINER, "write `livenessProbe: {httpGet: {path: /alive, port: 8080}}`"),
    ("readiness", CONTAINER, "write `readinessProbe: {httpGet: {path: /ready, port: 8080}}`"),
];
