//! Valid and invalid orchestrator configs.

use super::provisioner::{ResourceRequest, is_stateful, select, stateful};
use super::*;
use crate::render::kubernetes::values::Values;
use orchestra_api::plan::WorkloadPlanSpec;
use serde_json::{Map, Value as Json, json};

const HEAD: &str = "apiVersion: score.dev/v1b1\nkind: OrchestratorConfig\n";

/// Config that uses every part.
const FULL: &str = r#"
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec:
  profiles:
    - name: web-service
      kind: service
      backends:
        - {backendId: local, runtimeClass: process, priority: 10, version: 1.0.0}
        - backendId: eu-cluster
          runtimeClass: kubernetes
          priority: 100
          version: 1.2.0
          constraints: {features: [http-ingress, scale-to-zero], regions: [eu], resources: {cpu: 0-8, memory: 0-32Gi}, selectors: [{matchLabels: {tier: gold}}]}
          values: {replicas: 2, ingressClass: traefik, domain: apps.example.org}
    - name: batch-job
      kind: job
      backends: [{backendId: local, runtimeClass: process}]
  provisioners:
    - {type: postgres, class: small, engine: builtin, params: {version: "16"}}
    - {type: service, id: shared.feature-flags, engine: static, outputs: {endpoint: {value: "https://flags.example.org"}}}
  defaults: {profile: web-service, selectors: [{matchLabels: {workload-type: batch}, profile: batch-job}]}
"#;

/// Faults of a config, as `pointer: message; hint`.
fn faults(text: &str) -> Vec<String> {
    let faults = check(text).expect_err("the config has faults");
    faults.iter().map(|fault| format!("{}: {}; {}", fault.pointer, fault.message, fault.hint)).collect()
}

/// Faults of a config with this spec.
fn faults_in(spec: &str) -> Vec<String> {
    faults(&format!("{HEAD}spec:\n{spec}"))
}

/// Faults of a config with this one backend.
fn faults_of_backend(backend: &str) -> Vec<String> {
    let at = "/spec/profiles/0/backends/0";
    let faults = faults_in(&format!("  profiles: [{{name: web, backends: [{backend}]}}]"));
    faults.iter().map(|fault| fault.strip_prefix(at).unwrap_or(fault).to_owned()).collect()
}

fn with_provisioners(entries: &str) -> Result<Config, Vec<Fault>> {
    check(&format!("{HEAD}spec:\n  provisioners: [{entries}]"))
}

#[test]
fn a_full_config_is_valid() {
    let config = check(FULL).unwrap();
    assert_eq!(config.profiles().len(), 2);
    assert_eq!(
        config.profiles()["web-service"].backends[0].placement.backend_id,
        "eu-cluster",
        "preferred first"
    );
    assert_eq!(config.provisioners().len(), 2);
    assert_eq!(*config.default_profile(), DefaultProfile::Configured("web-service".to_owned()));
}

#[test]
fn an_empty_text_means_the_built_in_config() {
    for text in ["", "\n\n", "# nothing yet\n", "---\n", "null"] {
        assert_eq!(check(text).unwrap(), Config::builtin(), "{text:?}");
    }
    for text in ["{}", "[]", "spec: {}"] {
        assert!(check(text).is_err(), "{text:?}");
    }
}

#[test]
fn the_built_in_config_is_valid() {
    let builtin = Config::builtin();
    let text = serde_json::to_string(builtin.document()).unwrap();
    assert_eq!(check(&text).unwrap(), builtin);
    assert_eq!(*builtin.default_profile(), DefaultProfile::BuiltIn("web-service".to_owned()));
    assert_eq!(builtin.profiles().keys().collect::<Vec<_>>(), ["batch-job", "web-service"]);
}

#[test]
fn a_checked_config_round_trips() {
    let config = check(FULL).unwrap();
    assert_eq!(check(&serde_json::to_string(config.document()).unwrap()).unwrap(), config);
}

#[test]
fn without_profiles_the_built_in_ones_apply() {
    let config = with_provisioners("{type: redis, engine: builtin}").unwrap();
    assert_eq!(config.profiles(), Config::builtin().profiles());
    assert_eq!(config.provisioners().len(), 1);
    assert!(check(&format!("{HEAD}spec:\n  profiles:\n  provisioners:\n")).is_ok(), "keys without values");
}

#[test]
fn a_single_profile_is_the_default_and_several_need_one() {
    let profile =
        |name: &str| format!("{{name: {name}, backends: [{{backendId: local, runtimeClass: process}}]}}");
    let one = check(&format!("{HEAD}spec: {{profiles: [{}]}}", profile("api"))).unwrap();
    assert_eq!(*one.default_profile(), DefaultProfile::BuiltIn("api".to_owned()));
    assert_eq!(
        faults_in(&format!("  profiles: [{}, {}]", profile("api"), profile("ui"))),
        [
            "/spec/defaults/profile: no default profile: there are several profiles, and none is called `web-service`; add `defaults: {profile: …}` with `api` or `ui`"
        ]
    );
}

#[test]
fn all_faults_are_reported_at_once_with_their_lines() {
    let text = "\
apiVersion: v1
kind: OrchestratorConfig
metadata: {name: Default}
spec:
  profiles:
    - name: web
      backend: []
      backends:
        - backendId: a
          runtimeClass: kubernetes
          priorty: 3
          version: 1.2
          constraints:
            resources: {cpu: 8-2}
          values: {replicas: 2000}
    - backends:
        - {backendId: a, runtimeClass: ecs}
  provisioners:
    - {type: postgres, engine: statik}
  defaults: {profile: wbe}
";
    let found = check(text).unwrap_err();
    let places: Vec<_> = found.iter().map(|fault| (fault.line.unwrap(), fault.pointer.as_str())).collect();
    assert_eq!(
        places,
        [
            (1, "/apiVersion"),
            (3, "/metadata/name"),
            (7, "/spec/profiles/0/backend"),
            (11, "/spec/profiles/0/backends/0/priorty"),
            (12, "/spec/profiles/0/backends/0/version"),
            (14, "/spec/profiles/0/backends/0/constraints/resources/cpu"),
            (15, "/spec/profiles/0/backends/0/values/replicas"),
            (16, "/spec/profiles/1/name"),
            (17, "/spec/profiles/1/backends/0/runtimeClass"),
            (19, "/spec/provisioners/0/engine"),
        ],
        "nothing about the default profile, since a name could not be read"
    );
    assert_eq!(found[3].hint, "did you mean `priority`?");
    assert_eq!(found[4].hint, "put it in quotes");
    assert_eq!(found[9].hint, "did you mean `static`?");
    assert_eq!(
        found[0].to_string(),
        "line 1: /apiVersion: \"v1\" is not a valid apiVersion; write `apiVersion: score.dev/v1b1`"
    );
}

#[test]
fn invalid_yaml_and_several_documents_are_rejected() {
    assert_eq!(check("spec: [").unwrap_err().len(), 1);
    assert_eq!(check("a: 1\na: 2\n").unwrap_err()[0].line, Some(2), "a duplicate key");
    let second = format!("{HEAD}---\n{HEAD}");
    assert_eq!(check(&second).unwrap_err().len(), 1, "the second document would be ignored");
}

/// A27: the predecessor accepted keys that it ignored.
#[test]
fn unknown_keys_are_rejected() {
    for (backend, fault) in [
        ("{backendId: a, runtimeClass: x, template: {}}", "/template: unknown field `template`"),
        (
            "{backendId: a, runtimeClass: x, constraints: {resources: {storage: 1-2}}}",
            "/constraints/resources/storage: unknown field `storage`",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {selectors: [{constraints: {}}]}}",
            "/constraints/selectors/0/constraints: unknown field `constraints`",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {replica: 2}}",
            "/values/replica: unknown field `replica`",
        ),
        (
            "{backendId: a, runtimeClass: process, values: {replicas: 2}}",
            "/values/replicas: unknown field `replicas`",
        ),
        (
            "{backendId: a, runtimeClass: docker, values: {domain: x}}",
            "/values/domain: unknown field `domain`",
        ),
    ] {
        let faults = faults_of_backend(backend);
        assert!(faults.len() == 1 && faults[0].starts_with(fault), "{backend}: {faults:?}");
    }
    assert!(check(&format!("{HEAD}spec: {{profiles: [{{name: web, backends: [{{backendId: a, runtimeClass: moon, values: {{anything: [1]}}}}]}}]}}")).is_ok());
    assert_eq!(faults(&format!("{HEAD}reconciler: {{}}")).len(), 1);
}

#[test]
fn backends_are_checked() {
    for (backend, fault) in [
        ("{backendId: A, runtimeClass: x}", "/backendId: \"A\" is not a valid name"),
        ("{backendId: a, runtimeClass: x_y}", "/runtimeClass: \"x_y\" is not a valid name"),
        ("{backendId: '', runtimeClass: x}", "/backendId: `spec.profiles.0.backends.0.backendId` is empty"),
        ("{runtimeClass: x}", "/backendId: `backendId` is missing"),
        (
            "{backendId: 7, runtimeClass: x}",
            "/backendId: `spec.profiles.0.backends.0.backendId` must be text, found number; put it in quotes",
        ),
        (
            "{backendId: a, runtimeClass: x, version: v1.2.0}",
            "/version: \"v1.2.0\" is not a semantic version",
        ),
        ("{backendId: a, runtimeClass: x, version: '1.2'}", "/version: \"1.2\" is not a semantic version"),
        (
            "{backendId: a, runtimeClass: x, priority: 1.5}",
            "/priority: `spec.profiles.0.backends.0.priority` is out of range",
        ),
        (
            "{backendId: a, runtimeClass: x, priority: high}",
            "/priority: `spec.profiles.0.backends.0.priority` must be a whole number, found string",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {resources: {memory: 1-2x}}}",
            "/constraints/resources/memory: \"2x\" is not a valid amount of memory",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {features: ['a,b']}}",
            "/constraints/features/0: \"a,b\" contains a comma",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {selectors: [{matchExpressions: [{key: a, operator: Is}]}]}}",
            "/constraints/selectors/0/matchExpressions/0/operator: \"Is\" is not an operator",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {replicas: -1}}",
            "/values/replicas: `spec.profiles.0.backends.0.values.replicas` is out of range; write a whole number from 0 to 1000",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {allowVolumeSources: 'yes'}}",
            "/values/allowVolumeSources: `spec.profiles.0.backends.0.values.allowVolumeSources` must be true or false, found string",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {expose: ingres, domain: a.org}}",
            "/values/expose: \"ingres\" is not a valid value of `spec.profiles.0.backends.0.values.expose`; did you mean `ingress`?",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {expose: ingress}}",
            "/values/domain: exposing ports needs a `domain`; add `domain: apps.example.org`",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {expose: gateway, domain: a.org}}",
            "/values/gateway: `expose: gateway` needs a `gateway`",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {domain: Apps.Example.org}}",
            "/values/domain: \"Apps.Example.org\" is not a valid domain",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {podSecurity: restricted, runAsUser: 0}}",
            "/values/runAsUser: user 0 is root, which `runAsNonRoot` forbids",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {resources: {limits: {memory: 1gb}}}}",
            "/values/resources/limits/memory: \"1gb\" is not a valid amount of memory: not a number with a unit; write an amount",
        ),
        ("nothing", ": `spec.profiles.0.backends.0` must be a map, found string"),
    ] {
        let faults = faults_of_backend(backend);
        assert!(faults.len() == 1 && faults[0].starts_with(fault), "{backend}: {faults:?}");
    }
}

#[test]
fn every_setting_of_a_cluster_is_accepted_and_documented() {
    let values = "{replicas: 2, serviceAccountName: app, imagePullSecrets: [registry], resources: {requests: {cpu: 0.1, memory: 64Mi}, \
         limits: {cpu: 2, memory: 1Gi}}, nodeSelector: {disk: ssd}, tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}], \
         expose: gateway, domain: apps.example.org, ingressClass: traefik, gateway: {name: main, namespace: edge}, tls: true, \
         tlsSecret: wildcard, port: 8443, podSecurity: restricted, runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, \
         allowVolumeSources: true}";
    let backend = format!("{{backendId: a, runtimeClass: kubernetes, values: {values}}}");
    let config = check(&format!("{HEAD}spec: {{profiles: [{{name: web, backends: [{backend}]}}]}}")).unwrap();
    let values = config.profiles()["web"].backends[0].values.clone();
    assert_eq!(
        values["resources"],
        json!({"requests": {"cpu": "0.1", "memory": "64Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}})
    );
    let plan = WorkloadPlanSpec { values, ..WorkloadPlanSpec::default() };
    let read = Values::read(&plan).unwrap();
    assert_eq!((read.port, read.fs_group, read.replicas), (Some(8443), Some(1000), Some(2)));
    let documented = include_str!("../../../../docs/kubernetes.md");
    for key in plan.values.keys() {
        assert!(documented.contains(&format!("| `{key}`")), "{key} is not documented");
    }
    let rows = documented.lines().filter(|line| line.starts_with("| `")).count();
    assert!(rows >= plan.values.len(), "every documented setting belongs in this test");
}

#[test]
fn the_documented_settings_of_provisioners_are_a_valid_config() {
    let page = include_str!("../../../../docs/provisioners.md");
    let example = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let config = check(example).unwrap();
    let types: Vec<&str> = config.provisioners().iter().map(|entry| entry.type_.as_str()).collect();
    assert!(types.starts_with(&["postgres", "postgres", "volume", "dapr-pubsub"]), "{types:?}");
}

/// A24: `-8` and `2` are numbers in YAML, and ranges here.
#[test]
fn ranges_need_no_quotes() {
    for range in ["2", "-8", "0.5", "1-", "500m-2", "'2'"] {
        let text = format!(
            "{HEAD}spec: {{profiles: [{{name: web, backends: [{{backendId: a, runtimeClass: x, priority: -3, constraints: {{resources: {{cpu: {range}}}}}}}]}}]}}"
        );
        assert!(check(&text).is_ok(), "{range}");
    }
}

#[test]
fn names_are_unique_and_an_id_has_one_runtime_class() {
    let profiles = |first: &str, second: &str| {
        format!(
            "{HEAD}spec: {{defaults: {{profile: web}}, profiles: [{{name: web, backends: [{first}]}}, {second}]}}"
        )
    };
    let local = "{backendId: local, runtimeClass: process}";
    assert!(
        check(&profiles(local, &format!("{{name: job, backends: [{local}]}}"))).is_ok(),
        "one backend, two profiles"
    );
    for (text, fault) in [
        (
            profiles(local, &format!("{{name: web, backends: [{local}]}}")),
            "/spec/profiles/1/name: duplicate profile \"web\"",
        ),
        (
            profiles(&format!("{local}, {local}"), &format!("{{name: job, backends: [{local}]}}")),
            "/spec/profiles/0/backends/1/backendId: duplicate backend \"local\"",
        ),
        (
            profiles(local, "{name: job, backends: [{backendId: local, runtimeClass: docker}]}"),
            "/spec/profiles/1/backends/0/runtimeClass: backend \"local\" has runtimeClass \"process\" elsewhere and \"docker\" here",
        ),
        (
            profiles(local, "{name: job, backends: []}"),
            "/spec/profiles/1/backends: profile \"job\" has no backends",
        ),
        (profiles(local, "{name: job}"), "/spec/profiles/1/backends: profile \"job\" has no backends"),
    ] {
        let faults = faults(&text);
        assert!(faults.len() == 1 && faults[0].starts_with(fault), "{text}: {faults:?}");
    }
}

#[test]
fn defaults_name_profiles_that_exist() {
    assert_eq!(
        faults_in(
            "  defaults: {profile: web-servise, selectors: [{profile: worker, matchLabels: {a: b}}, {profile: batch-job}, {matchLabels: {a: b}}]}"
        ),
        [
            "/spec/defaults/profile: unknown profile \"web-servise\"; did you mean `web-service`?",
            "/spec/defaults/selectors/0/profile: unknown profile \"worker\"; write `batch-job` or `web-service`",
            "/spec/defaults/selectors/1: the selector matches every workload, so later selectors have no effect; add `matchLabels`, or use `defaults.profile`",
            "/spec/defaults/selectors/2/profile: `profile` is missing in spec.defaults.selectors.2; add `profile: …`",
        ]
    );
}

#[test]
fn provisioner_entries_are_checked() {
    for (entry, fault) in [
        (
            "{type: my_sql, engine: builtin}",
            "/type: \"my_sql\" is not a valid resource type; write \"my-sql\"",
        ),
        ("{type: redis, class: -x, engine: builtin}", "/class: \"-x\" is not a valid resource class"),
        (
            "{type: redis, id: Shared.Cache, engine: builtin}",
            "/id: \"Shared.Cache\" is not a valid resource id; write \"shared.cache\"",
        ),
        ("{type: redis, engine: magic}", "/engine: unknown engine \"magic\"; write `static`, `process`"),
        ("{type: redis}", "/engine: `engine` is missing"),
        ("{type: redis, engine: static}", "/outputs: a static provisioner needs outputs"),
        (
            "{type: redis, engine: helm, outputs: {host: {value: x}}}",
            "/outputs: engine \"helm\" computes its outputs",
        ),
        (
            "{type: redis, engine: static, outputs: {host: {}}}",
            "/outputs/host: `spec.provisioners.0.outputs.host` has none of `value` and `secretKeyRef`",
        ),
        (
            "{type: redis, engine: static, outputs: {host: {value: x, secretKeyRef: {name: a, key: b}}}}",
            "/outputs/host: `spec.provisioners.0.outputs.host` has more than one of",
        ),
        (
            "{type: redis, engine: static, outputs: {host: {secretKeyRef: {name: a}}}}",
            "/outputs/host/secretKeyRef/key: `key` is missing",
        ),
        (
            "{type: redis, engine: builtin, runtimeClasses: [A]}",
            "/runtimeClasses/0: \"A\" is not a valid name",
        ),
        (
            "{type: redis, engine: builtin, unknownParams: refuse}",
            "/unknownParams: \"refuse\" is not a valid value of `spec.provisioners.0.unknownParams`; did you mean `Refuse`?",
        ),
    ] {
        let faults = with_provisioners(entry).unwrap_err();
        let wrong = format!("{}: {}; {}", faults[0].pointer, faults[0].message, faults[0].hint);
        assert!(
            faults.len() == 1 && wrong.starts_with(&format!("/spec/provisioners/0{fault}")),
            "{entry}: {faults:?}"
        );
    }
}

#[test]
fn two_provisioners_are_never_equally_specific_for_one_claim() {
    for (one, other, is_ambiguous) in [
        ("", "", true),
        ("class: small", "class: small", true),
        ("class: small", "class: large", false),
        ("class: small", "", false),
        ("id: a1", "class: small", false),
        ("match: {size: 1}", "match: {size: 1}", true),
        ("match: {size: 1}", "match: {size: 2}", false),
        ("match: {size: 1}", "match: {version: 2}", true),
        ("match: {size: 1}", "match: {size: 1, version: 2}", false),
        ("runtimeClasses: [ecs, nomad]", "runtimeClasses: [nomad]", true),
        ("runtimeClasses: [ecs]", "runtimeClasses: [nomad]", false),
        ("runtimeClasses: [ecs]", "", false),
    ] {
        let entry = |selects: &str| {
            format!("{{type: redis, engine: builtin{}{selects}}}", if selects.is_empty() { "" } else { ", " })
        };
        let entries = format!("{}, {}, {{type: mysql, engine: builtin}}", entry(one), entry(other));
        let faults = with_provisioners(&entries).err().unwrap_or_default();
        assert_eq!(faults.len(), usize::from(is_ambiguous), "{one} / {other}: {faults:?}");
        if is_ambiguous {
            assert!(
                faults[0]
                    .message
                    .starts_with("ambiguous: this entry and `provisioners.0` are equally specific for redis")
            );
            assert_eq!(faults[0].pointer, "/spec/provisioners/1");
        }
    }
}

fn wanted<'a>(type_: &'a str, class: &'a str, params: &'a Map<String, Json>) -> ResourceRequest<'a> {
    ResourceRequest { type_, class, id: None, params: Some(params), runtime_class: "process" }
}

#[test]
fn the_most_specific_provisioner_wins() {
    let entries = [
        "{type: redis, engine: builtin, description: any}",
        "{type: redis, engine: builtin, runtimeClasses: [process], description: runtime}",
        "{type: redis, engine: builtin, class: small, description: class}",
        "{type: redis, engine: builtin, match: {size: 1}, description: one param}",
        "{type: redis, engine: builtin, match: {size: 1, version: '7'}, description: two params}",
        "{type: redis, engine: builtin, id: shared, description: id}",
    ];
    let mut reversed = entries;
    reversed.reverse();
    for entries in [entries, reversed] {
        let config = with_provisioners(&entries.join(", ")).unwrap();
        for (class, id, runtime_class, params, description) in [
            ("default", None, "nomad", json!({}), "any"),
            ("default", None, "process", json!({}), "runtime"),
            ("small", None, "process", json!({}), "class"),
            ("small", None, "process", json!({"size": 1, "more": true}), "one param"),
            ("small", None, "process", json!({"size": 1, "version": "7"}), "two params"),
            ("small", None, "process", json!({"size": 2, "version": "7"}), "class"),
            ("small", Some("shared"), "process", json!({"size": 1, "version": "7"}), "id"),
            ("small", Some("other"), "process", json!({}), "class"),
        ] {
            let params = params.as_object();
            let found = select(
                &config,
                &ResourceRequest { type_: "redis", class, id, params, runtime_class },
                |_| true,
            )
            .unwrap();
            assert_eq!(found.description.as_deref(), Some(description));
        }
    }
}

#[test]
fn without_a_match_the_error_lists_what_is_available() {
    let config = with_provisioners(
        "{type: postgres, class: small, engine: builtin}, {type: postgres, id: shared.db, match: {tier: 1}, runtimeClasses: [ecs], engine: builtin}, {type: redis, class: x1, engine: builtin}",
    )
    .unwrap();
    let none = Map::new();
    let message = |config: &Config, wanted: &ResourceRequest<'_>| {
        select(config, wanted, |_| false).unwrap_err().to_string()
    };
    assert_eq!(
        message(&config, &wanted("postgres", "large", &none)),
        "no provisioner found for postgres of class \"large\"; available for this type: class \"small\"; id \"shared.db\", param tier=1, where workloads run on ecs; use one of these, or add a provisioner to the orchestrator config"
    );
    assert_eq!(
        message(&config, &ResourceRequest { id: Some("a1"), ..wanted("postgre", "default", &none) }),
        "no provisioner found for postgre of class \"default\" with id \"a1\"; did you mean `postgres`?"
    );
    assert_eq!(
        message(&config, &wanted("s3", "default", &none)),
        "no provisioner found for s3 of class \"default\"; available types: `postgres` and `redis`; use one of these, or add a provisioner to the orchestrator config"
    );
    assert_eq!(
        message(&Config::builtin(), &wanted("s3", "default", &none)),
        "no provisioner found for s3 of class \"default\"; no provisioners are configured: add one to the orchestrator config"
    );
}

#[test]
fn an_empty_config_has_the_built_in_provisioners_of_the_machine() {
    let (config, none) = (Config::builtin(), Map::new());
    let here = wanted("postgres", "small", &none);
    let found = select(&config, &here, |engine| engine == "process").unwrap();
    assert_eq!((found.engine.as_str(), found.type_.as_str()), ("process", "postgres"));
    let message = |wanted: &ResourceRequest<'_>, engine: &str| {
        select(&config, wanted, |available| available == engine).unwrap_err().to_string()
    };
    let nothing = "no provisioner found for postgres of class \"small\"; no provisioners are configured: add one to the orchestrator config";
    assert_eq!(message(&here, "static"), nothing, "the engine is not available");
    assert_eq!(
        message(&ResourceRequest { runtime_class: "kubernetes", ..here }, "process"),
        nothing,
        "another runtime class"
    );
    assert_eq!(
        message(&wanted("queue", "default", &none), "process"),
        "no provisioner found for queue of class \"default\"; available types: `dns`, `environment`, `postgres`, `redis`, `route`, `secret`, `service`, `service-port` and `volume`; use one of these, or add a provisioner to the orchestrator config"
    );
}

#[test]
fn a_configured_entry_precedes_the_built_in_ones() {
    let config = with_provisioners("{type: redis, class: small, engine: builtin}").unwrap();
    let none = Map::new();
    let engine = |class| {
        let found = select(&config, &wanted("redis", class, &none), |_| true).unwrap();
        found.engine.clone()
    };
    assert_eq!(engine("small"), "builtin");
    assert_eq!(engine("large"), "process");
}

#[test]
fn statefulness_follows_from_the_entry_then_from_engine_and_type() {
    let config = with_provisioners(
        "{type: postgres, engine: builtin}, {type: dns, engine: builtin}, {type: s3, engine: static, outputs: {bucket: {value: b1}}}, {type: redis, engine: external, stateful: false}, {type: route, engine: http, stateful: true}, {type: mysql, engine: external}",
    )
    .unwrap();
    let keeps: Vec<_> =
        config.provisioners().iter().filter(|entry| is_stateful(entry)).map(|e| &e.type_).collect();
    assert_eq!(keeps, ["postgres", "route", "mysql"]);
    let none = Map::new();
    for (type_, keeps) in [("postgres", true), ("s3", false), ("mongodb", true), ("secret", false)] {
        assert_eq!(stateful(&config, &wanted(type_, "default", &none)), keeps, "{type_}");
    }
}
