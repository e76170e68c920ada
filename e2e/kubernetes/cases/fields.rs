//! Every field of a Score file, observed inside containers.

use orchestra_e2e::platform::Error;
use serde_json::Value as Json;

use crate::{
    document::{of_profile, workload},
    space::Space,
    wait::{contains, holds, same, until},
};

/// Name and key of the Secret of an output.
pub(super) async fn secret_of(
    space: &Space,
    workload: &str,
    key: &str,
    output: &str,
) -> Result<(String, String), Error> {
    let claims = space.list("score.dev/v1b1", "resourceclaims").await?;
    let claim = claims
        .iter()
        .find(|claim| claim["spec"]["workloadRef"]["name"] == workload && claim["spec"]["key"] == key)
        .ok_or_else(|| format!("{workload} has no claim {key}"))?;
    let kept = &claim["status"]["outputs"][output]["secretKeyRef"];
    match (kept["name"].as_str(), kept["key"].as_str()) {
        (Some(name), Some(key)) => Ok((name.to_owned(), key.to_owned())),
        _ => Err(format!("{key}.{output} is not in a Secret: {}", claim["status"]).into()),
    }
}

/// Checks that a secret value appears in no other objects and in no log of the orchestrator.
pub(super) async fn does_not_leak(space: &Space, value: &str) -> Result<(), Error> {
    holds("the value is too short to search for", value.len() >= 8)?;
    for (group, plural) in [
        ("score.dev/v1b1", "workloads"),
        ("score.dev/v1b1", "resourceclaims"),
        ("score.dev/v1b1", "workloadplans"),
        ("score.dev/v1b1", "workloadexposures"),
        ("apps/v1", "deployments"),
        ("apps/v1", "statefulsets"),
        ("v1", "pods"),
        ("v1", "configmaps"),
        ("v1", "services"),
        ("events.k8s.io/v1", "events"),
    ] {
        let all = Json::Array(space.list(group, plural).await?).to_string();
        holds(format!("a secret value appears in {plural}"), !all.contains(value))?;
    }
    for pod in space.cluster.list("/api/v1/namespaces/score-system/pods").await? {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let log = space.cluster.run(&format!("kubectl -n score-system logs {name}")).await?;
        holds("a secret value is in the log of the orchestrator", !log.contains(value))?;
    }
    Ok(())
}

pub(super) async fn variables(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r#"
        containers:
          app:
            image: PROBE
            command: [hold, sleep, "3600"]
            variables:
              PLAIN: "two  words, a 'quote' and a \"quote\""
              # Score reads `$$` as a dollar sign.
              LITERAL: $(PLAIN) and $$$$(PLAIN) and $PLAIN
              OWN: ${metadata.name}
              ESCAPED: $${metadata.name}
              EMPTY: ""
              ALONE: ${resources.keys.password}
              MIXED: user:${resources.keys.password}@$(HOME)
        resources:
          keys: {type: secret, params: {keys: [password]}}
        "#,
    )?;
    space.run(&document).await?;
    let (name, key) = secret_of(space, "shop", "keys", "password").await?;
    let password = space.secret(&name, &key).await?;
    for (variable, expected) in [
        ("PLAIN", "two  words, a 'quote' and a \"quote\""),
        ("LITERAL", "$(PLAIN) and $$(PLAIN) and $PLAIN"),
        ("OWN", "shop"),
        ("ESCAPED", "${metadata.name}"),
        ("EMPTY", ""),
        ("ALONE", password.as_str()),
        ("MIXED", &format!("user:{password}@$(HOME)")),
    ] {
        let found = space.exec("shop", "app", &format!("printf '%s' \"${variable}\"")).await?;
        same(variable, found.as_str(), expected)?;
    }
    let links = space.exec("shop", "app", "env").await?;
    holds(
        "service links are enabled",
        !links.contains("_SERVICE_HOST=") || {
            // Kubernetes always sets those of its own API.
            links
                .lines()
                .filter(|line| line.contains("_SERVICE_HOST="))
                .all(|line| line.starts_with("KUBERNETES_"))
        },
    )?;
    does_not_leak(space, &password).await
}

pub(super) async fn files(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r##"
        containers:
          app:
            image: PROBE
            command: [hold, sleep, "3600"]
            files:
              /etc/app/plain.txt: {content: "I am ${metadata.name}\n", mode: "0640"}
              /etc/app/raw.txt: {content: "I am ${metadata.name}\n", noExpand: true}
              /etc/app/deeper/binary.bin: {binaryContent: AAECAwT/, mode: "0400"}
              /etc/app/secret.txt: {content: "password=${resources.keys.password}\n", mode: "0600"}
              /bin/tool: {content: "#!/bin/sh\necho it works\n", mode: "0755"}
        resources:
          keys: {type: secret, params: {keys: [password]}}
        "##,
    )?;
    space.run(&document).await?;
    let (name, key) = secret_of(space, "shop", "keys", "password").await?;
    let password = space.secret(&name, &key).await?;
    for (command, expected) in [
        ("cat /etc/app/plain.txt", "I am shop\n"),
        ("cat /etc/app/raw.txt", "I am ${metadata.name}\n"),
        ("od -An -tx1 /etc/app/deeper/binary.bin", " 00 01 02 03 04 ff\n"),
        ("cat /etc/app/secret.txt", &format!("password={password}\n")),
        (
            "stat -L -c %a /etc/app/plain.txt /etc/app/deeper/binary.bin /etc/app/secret.txt /bin/tool",
            "640\n400\n600\n755\n",
        ),
        ("tool", "it works\n"),
        // Files of the image beside them remain.
        ("ls -d /etc/passwd /bin/busybox", "/bin/busybox\n/etc/passwd\n"),
    ] {
        same(command, space.exec("shop", "app", command).await?.as_str(), expected)?;
    }
    does_not_leak(space, &password).await
}

pub(super) async fn process(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r##"
        containers:
          app:
            image: PROBE
            command: [hold, httpd]
            args: [-f, -p, "8080", -h, /www, -r, $(HOME) is literal]
            files:
              /www/cgi-bin/ready:
                mode: "0755"
                content: "#!/bin/sh\nif test -n \"$HTTP_X_CHECK\"; then echo \"$HTTP_HOST $HTTP_X_CHECK\" > /tmp/seen; fi\nprintf 'content-type: text/plain\\r\\n\\r\\nready\\n'\n"
            resources:
              requests: {cpu: 10m, memory: 16Mi}
              limits: {cpu: 250m, memory: 48Mi}
            readinessProbe:
              httpGet: {path: /cgi-bin/ready, port: 8080, host: shop.example.org, httpHeaders: [{name: X-Check, value: really}]}
            livenessProbe:
              exec: {command: [sh, -c, 'date > /tmp/alive']}
        service: {ports: {web: {port: 80, targetPort: 8080}}}
        "##,
    )?;
    space.run(&document).await?;
    let line = space.exec("shop", "app", "tr '\\0' '|' < /proc/1/cmdline").await?;
    contains(
        "the command line",
        &line,
        "/usr/local/bin/hold|httpd|-f|-p|8080|-h|/www|-r|$(HOME) is literal|",
    )?;
    same(
        "what the probe sent",
        space.exec("shop", "app", "cat /tmp/seen").await?.trim(),
        "shop.example.org really",
    )?;
    until("the liveness probe runs", async || space.exec("shop", "app", "cat /tmp/alive").await.map(drop))
        .await?;
    let memory =
        "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes";
    same("the memory limit", space.exec("shop", "app", memory).await?.trim(), "50331648")?;
    let cpu = "cut -d' ' -f1 /sys/fs/cgroup/cpu.max 2>/dev/null || cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us";
    same("the CPU limit", space.exec("shop", "app", cpu).await?.trim(), "25000")?;
    let pod = space.pod("shop").await?;
    same(
        "the requests",
        &pod["spec"]["containers"][0]["resources"]["requests"],
        &serde_json::json!({"cpu": "10m", "memory": "16Mi"}),
    )?;
    same("restarts", &pod["status"]["containerStatuses"][0]["restartCount"], &0.into())
}

pub(super) async fn security(space: &Space) -> Result<(), Error> {
    let document =
        workload("shop", r#"{containers: {app: {image: PROBE, command: [hold, sleep, "3600"]}}}"#)?;
    space.run(&document).await?;
    let status = space.exec("shop", "app", "cat /proc/1/status").await?;
    for (field, value) in [("CapEff:", "0000000000000000"), ("NoNewPrivs:", "1"), ("Seccomp:", "2")] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
        same(field, line.trim_start_matches(field).trim(), value)?;
    }
    let token = space.exec("shop", "app", "ls /var/run/secrets/kubernetes.io 2>&1; true").await?;
    contains("an account's token", &token, "No such file")
}

pub(super) async fn job(space: &Space) -> Result<(), Error> {
    let job = |command: &str| {
        let spec = format!(r#"{{containers: {{app: {{image: PROBE, command: [sh, -c, "{command}"]}}}}}}"#);
        Ok::<_, Error>(of_profile(workload("import", &spec)?, "batch-job"))
    };
    let status = space.run(&job("echo first")?).await?;
    holds("a job has an address", status["endpoint"].is_null())?;
    let log = space.kubectl("logs -l app=import").await?;
    same("what it printed", log.as_str(), "first\n")?;
    // Jobs are immutable: a new version is a new run.
    space.run(&job("echo second")?).await?;
    until("the second run has printed", async || {
        same("what it printed", space.kubectl("logs -l app=import").await?.as_str(), "second\n")
    })
    .await?;
    space.apply(&job("echo no such table; exit 3")?).await?;
    let why = space.until("import", "RuntimeReady", "False", "RuntimeDegraded").await?;
    contains("why it failed", &why, "3")?;
    space.delete("import").await?;
    same("jobs left", space.list("batch/v1", "jobs").await?.len(), 0)
}

pub(super) async fn ports(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        "
        containers:
          front: {image: PROBE, command: [sh, -c], args: ['mkdir -p /tmp/www; echo front > /tmp/www/index.html; exec hold httpd -f -p 8080 -h /tmp/www'], readinessProbe: {httpGet: {path: /, port: 8080}}}
          back: {image: PROBE, command: [sh, -c], args: ['mkdir -p /tmp/www; echo back > /tmp/www/index.html; exec hold httpd -f -p 9090 -h /tmp/www'], readinessProbe: {httpGet: {path: /, port: 9090}}}
        service: {ports: {web: {port: 80, targetPort: 8080}, admin: {port: 9090}}}
        ",
    )?;
    let status = space.run(&document).await?;
    contains(
        "the address",
        status["endpoint"].as_str().unwrap_or_default(),
        &format!("shop.{}", space.name),
    )?;
    for (port, page) in [("80", "front\n"), ("9090", "back\n"), ("web", "front\n"), ("admin", "back\n")] {
        let answer =
            until(format!("port {port} answers"), async || space.ask(&format!("shop:{port}"), "").await);
        same(port, answer.await?.as_str(), page)?;
    }
    Ok(())
}
