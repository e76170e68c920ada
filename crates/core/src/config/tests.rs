//! What the platform's document may say, and what is said of one that is wrong.

use super::provisioner::{Wanted, is_stateful, select, stateful};
use super::*;
use crate::render::kubernetes::values::Values;
use orchestra_api::plan::WorkloadPlanSpec;
use serde_json::{Map, Value as Json, json};

const HEAD: &str = "apiVersion: score.dev/v1b1\nkind: OrchestratorConfig\n";

/// The document of the design.
const DESIGN: &str = r#"
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

/// The faults of a document, as `pointer: message; hint`.
fn faults(text: &str) -> Vec<String> {
    let faults = check(text).expect_err("the document has faults");
    faults.iter().map(|fault| format!("{}: {}; {}", fault.pointer, fault.message, fault.hint)).collect()
}

/// The faults of a document with this spec.
fn faults_in(spec: &str) -> Vec<String> {
    faults(&format!("{HEAD}spec:\n{spec}"))
}

/// The faults of a document with this one backend.
fn faults_of_backend(backend: &str) -> Vec<String> {
    let at = "/spec/profiles/0/backends/0";
    let faults = faults_in(&format!("  profiles: [{{name: web, backends: [{backend}]}}]"));
    faults.iter().map(|fault| fault.strip_prefix(at).unwrap_or(fault).to_owned()).collect()
}

fn with_provisioners(entries: &str) -> Result<Config, Vec<Fault>> {
    check(&format!("{HEAD}spec:\n  provisioners: [{entries}]"))
}

#[test]
fn the_document_of_the_design_is_right() {
    let config = check(DESIGN).unwrap();
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
fn a_text_with_nothing_in_it_means_what_is_built_in() {
    for text in ["", "\n\n", "# nothing yet\n", "---\n", "null"] {
        assert_eq!(check(text).unwrap(), Config::builtin(), "{text:?}");
    }
    for text in ["{}", "[]", "spec: {}"] {
        assert!(check(text).is_err(), "{text:?}");
    }
}

#[test]
fn what_is_built_in_is_right_by_its_own_rules() {
    let builtin = Config::builtin();
    let text = serde_json::to_string(builtin.document()).unwrap();
    assert_eq!(check(&text).unwrap(), builtin);
    assert_eq!(*builtin.default_profile(), DefaultProfile::BuiltIn("web-service".to_owned()));
    assert_eq!(builtin.profiles().keys().collect::<Vec<_>>(), ["batch-job", "web-service"]);
}

#[test]
fn a_checked_document_is_written_as_it_was_read() {
    let config = check(DESIGN).unwrap();
    assert_eq!(check(&serde_json::to_string(config.document()).unwrap()).unwrap(), config);
}

#[test]
fn without_profiles_those_built_in_hold() {
    let config = with_provisioners("{type: redis, engine: builtin}").unwrap();
    assert_eq!(config.profiles(), Config::builtin().profiles());
    assert_eq!(config.provisioners().len(), 1);
    assert!(
        check(&format!("{HEAD}spec:\n  profiles:\n  provisioners:\n")).is_ok(),
        "keys with nothing behind them"
    );
}

#[test]
fn the_only_profile_is_the_default_and_of_several_one_must_be() {
    let profile =
        |name: &str| format!("{{name: {name}, backends: [{{backendId: local, runtimeClass: process}}]}}");
    let one = check(&format!("{HEAD}spec: {{profiles: [{}]}}", profile("api"))).unwrap();
    assert_eq!(*one.default_profile(), DefaultProfile::BuiltIn("api".to_owned()));
    assert_eq!(
        faults_in(&format!("  profiles: [{}, {}]", profile("api"), profile("ui"))),
        [
            "/spec/defaults/profile: there are several profiles, and none of them is the default; add `defaults: {profile: …}` with `api` or `ui`"
        ]
    );
}

#[test]
fn everything_that_is_wrong_comes_at_once_with_its_line() {
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
        "and nothing of the default profile, since a name could not be read"
    );
    assert_eq!(found[3].hint, "did you mean `priority`?");
    assert_eq!(found[4].hint, "put it in quotes");
    assert_eq!(found[9].hint, "did you mean `static`?");
    assert_eq!(
        found[0].to_string(),
        "line 1: /apiVersion: \"v1\" is no apiVersion of the platform's document; write `apiVersion: score.dev/v1b1`"
    );
}

#[test]
fn what_is_no_yaml_or_more_than_one_document_is_refused() {
    assert_eq!(check("spec: [").unwrap_err().len(), 1);
    assert_eq!(check("a: 1\na: 2\n").unwrap_err()[0].line, Some(2), "a key that stands twice");
    let second = format!("{HEAD}---\n{HEAD}");
    assert_eq!(check(&second).unwrap_err().len(), 1, "the second document would be ignored");
}

/// A27: the predecessor read keys and then ignored what they said.
#[test]
fn keys_that_mean_nothing_are_refused() {
    for (backend, fault) in [
        ("{backendId: a, runtimeClass: x, template: {}}", "/template: `template` is not known"),
        (
            "{backendId: a, runtimeClass: x, constraints: {resources: {storage: 1-2}}}",
            "/constraints/resources/storage: `storage` is not known",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {selectors: [{constraints: {}}]}}",
            "/constraints/selectors/0/constraints: `constraints` is not known",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {replica: 2}}",
            "/values/replica: `replica` is not known",
        ),
        (
            "{backendId: a, runtimeClass: process, values: {replicas: 2}}",
            "/values/replicas: `replicas` is not known",
        ),
        (
            "{backendId: a, runtimeClass: docker, values: {domain: x}}",
            "/values/domain: `domain` is not known",
        ),
    ] {
        let faults = faults_of_backend(backend);
        assert!(faults.len() == 1 && faults[0].starts_with(fault), "{backend}: {faults:?}");
    }
    assert!(check(&format!("{HEAD}spec: {{profiles: [{{name: web, backends: [{{backendId: a, runtimeClass: moon, values: {{anything: [1]}}}}]}}]}}")).is_ok());
    assert_eq!(faults(&format!("{HEAD}reconciler: {{}}")).len(), 1);
}

#[test]
fn what_backends_say_must_make_sense() {
    for (backend, fault) in [
        ("{backendId: A, runtimeClass: x}", "/backendId: \"A\" is no name"),
        ("{backendId: a, runtimeClass: x_y}", "/runtimeClass: \"x_y\" is no name"),
        ("{backendId: '', runtimeClass: x}", "/backendId: `spec.profiles.0.backends.0.backendId` is empty"),
        ("{runtimeClass: x}", "/backendId: `backendId` is missing"),
        (
            "{backendId: 7, runtimeClass: x}",
            "/backendId: `spec.profiles.0.backends.0.backendId` must be text, and is a number; put it in quotes",
        ),
        ("{backendId: a, runtimeClass: x, version: v1.2.0}", "/version: \"v1.2.0\" is no semantic version"),
        ("{backendId: a, runtimeClass: x, version: '1.2'}", "/version: \"1.2\" is no semantic version"),
        (
            "{backendId: a, runtimeClass: x, priority: 1.5}",
            "/priority: `spec.profiles.0.backends.0.priority` is out of range",
        ),
        (
            "{backendId: a, runtimeClass: x, priority: high}",
            "/priority: `spec.profiles.0.backends.0.priority` must be a whole number, and is text",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {resources: {memory: 1-2x}}}",
            "/constraints/resources/memory: \"2x\" is no amount of memory",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {features: ['a,b']}}",
            "/constraints/features/0: \"a,b\" cannot be asked for",
        ),
        (
            "{backendId: a, runtimeClass: x, constraints: {selectors: [{matchExpressions: [{key: a, operator: Is}]}]}}",
            "/constraints/selectors/0/matchExpressions/0/operator: \"Is\" is no operator",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {replicas: -1}}",
            "/values/replicas: `spec.profiles.0.backends.0.values.replicas` is out of range; write a whole number from 0 to 1000",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {allowVolumeSources: 'yes'}}",
            "/values/allowVolumeSources: `spec.profiles.0.backends.0.values.allowVolumeSources` must be true or false, and is text",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {expose: ingres, domain: a.org}}",
            "/values/expose: \"ingres\" is no value of `spec.profiles.0.backends.0.values.expose`; did you mean `ingress`?",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {expose: ingress}}",
            "/values/domain: there is no `domain` under which addresses could be made; add `domain: apps.example.org`",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {expose: gateway, domain: a.org}}",
            "/values/gateway: there is no `gateway` that routes could be attached to",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {domain: Apps.Example.org}}",
            "/values/domain: \"Apps.Example.org\" is no domain",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {podSecurity: restricted, runAsUser: 0}}",
            "/values/runAsUser: user 0 is root, and nothing here may run as root",
        ),
        (
            "{backendId: a, runtimeClass: kubernetes, values: {resources: {limits: {memory: 1gb}}}}",
            "/values/resources/limits/memory: \"1gb\" is no amount of memory: not a number with a unit; write an amount",
        ),
        ("nothing", ": `spec.profiles.0.backends.0` must be a map, and is text"),
    ] {
        let faults = faults_of_backend(backend);
        assert!(faults.len() == 1 && faults[0].starts_with(fault), "{backend}: {faults:?}");
    }
}

#[test]
fn every_setting_of_a_cluster_is_taken_and_read() {
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
    assert!(rows >= plan.values.len(), "a setting that is documented belongs in this test");
}

/// A24: `-8` and `2` are numbers to YAML, and ranges here.
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
fn names_are_unique_and_one_id_is_one_place() {
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
            "/spec/profiles/1/name: there are two profiles called \"web\"",
        ),
        (
            profiles(&format!("{local}, {local}"), &format!("{{name: job, backends: [{local}]}}")),
            "/spec/profiles/0/backends/1/backendId: backend \"local\" stands twice",
        ),
        (
            profiles(local, "{name: job, backends: [{backendId: local, runtimeClass: docker}]}"),
            "/spec/profiles/1/backends/0/runtimeClass: backend \"local\" has the runtimeClass \"process\" in another place and \"docker\" here",
        ),
        (
            profiles(local, "{name: job, backends: []}"),
            "/spec/profiles/1/backends: profile \"job\" has no backend",
        ),
        (profiles(local, "{name: job}"), "/spec/profiles/1/backends: profile \"job\" has no backend"),
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
            "/spec/defaults/profile: there is no profile \"web-servise\"; did you mean `web-service`?",
            "/spec/defaults/selectors/0/profile: there is no profile \"worker\"; write `batch-job` or `web-service`",
            "/spec/defaults/selectors/1: the selector selects everything, so that nothing after it counts; add `matchLabels`, or use `defaults.profile`",
            "/spec/defaults/selectors/2/profile: `profile` is missing in spec.defaults.selectors.2; add `profile: …`",
        ]
    );
}

#[test]
fn what_provisioners_say_must_make_sense() {
    for (entry, fault) in [
        ("{type: my_sql, engine: builtin}", "/type: \"my_sql\" is no resource type; write \"my-sql\""),
        ("{type: redis, class: -x, engine: builtin}", "/class: \"-x\" is no resource class"),
        (
            "{type: redis, id: Shared.Cache, engine: builtin}",
            "/id: \"Shared.Cache\" is no resource id; write \"shared.cache\"",
        ),
        ("{type: redis, engine: magic}", "/engine: there is no engine \"magic\"; write `static`, `process`"),
        ("{type: redis}", "/engine: `engine` is missing"),
        ("{type: redis, engine: static}", "/outputs: a static provisioner says what is there"),
        (
            "{type: redis, engine: helm, outputs: {host: {value: x}}}",
            "/outputs: the outputs of engine \"helm\" come from what it makes",
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
        ("{type: redis, engine: builtin, runtimeClasses: [A]}", "/runtimeClasses/0: \"A\" is no name"),
        (
            "{type: redis, engine: builtin, unknownParams: refuse}",
            "/unknownParams: \"refuse\" is no value of `spec.provisioners.0.unknownParams`; did you mean `Refuse`?",
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
    for (one, other, rivals) in [
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
        assert_eq!(faults.len(), usize::from(rivals), "{one} / {other}: {faults:?}");
        if rivals {
            assert!(
                faults[0].message.starts_with(
                    "this and entry 0 of the provisioners are equally specific for the same redis"
                )
            );
            assert_eq!(faults[0].pointer, "/spec/provisioners/1");
        }
    }
}

fn wanted<'a>(type_: &'a str, class: &'a str, params: &'a Map<String, Json>) -> Wanted<'a> {
    Wanted { type_, class, id: None, params: Some(params), runtime_class: "process" }
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
    let mut turned = entries;
    turned.reverse();
    for entries in [entries, turned] {
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
            let found =
                select(&config, &Wanted { type_: "redis", class, id, params, runtime_class }, |_| true)
                    .unwrap();
            assert_eq!(found.description.as_deref(), Some(description));
        }
    }
}

#[test]
fn without_a_match_the_answer_says_what_there_is() {
    let config = with_provisioners(
        "{type: postgres, class: small, engine: builtin}, {type: postgres, id: shared.db, match: {tier: 1}, runtimeClasses: [ecs], engine: builtin}, {type: redis, class: x1, engine: builtin}",
    )
    .unwrap();
    let none = Map::new();
    let message =
        |config: &Config, wanted: &Wanted<'_>| select(config, wanted, |_| false).unwrap_err().to_string();
    assert_eq!(
        message(&config, &wanted("postgres", "large", &none)),
        "the platform provides no postgres of class \"large\"; of this type there is: class \"small\"; id \"shared.db\", param tier=1, where workloads run on ecs; ask for one of these, or ask the platform team for yours"
    );
    assert_eq!(
        message(&config, &Wanted { id: Some("a1"), ..wanted("postgre", "default", &none) }),
        "the platform provides no postgre of class \"default\" with id \"a1\"; did you mean `postgres`?"
    );
    assert_eq!(
        message(&config, &wanted("s3", "default", &none)),
        "the platform provides no s3 of class \"default\"; it provides `postgres` and `redis`; use one of these types, or ask the platform team to add yours"
    );
    assert_eq!(
        message(&Config::builtin(), &wanted("s3", "default", &none)),
        "the platform provides no s3 of class \"default\"; it provides nothing yet, ask the platform team to add a provisioner"
    );
}

#[test]
fn an_empty_document_provides_what_the_machine_itself_has() {
    let (config, none) = (Config::builtin(), Map::new());
    let here = wanted("postgres", "small", &none);
    let found = select(&config, &here, |engine| engine == "process").unwrap();
    assert_eq!((found.engine.as_str(), found.type_.as_str()), ("process", "postgres"));
    let message = |wanted: &Wanted<'_>, engine: &str| {
        select(&config, wanted, |at_hand| at_hand == engine).unwrap_err().to_string()
    };
    let nothing = "the platform provides no postgres of class \"small\"; it provides nothing yet, ask the platform team to add a provisioner";
    assert_eq!(message(&here, "static"), nothing, "the engine is not at hand");
    assert_eq!(
        message(&Wanted { runtime_class: "kubernetes", ..here }, "process"),
        nothing,
        "it runs elsewhere"
    );
    assert_eq!(
        message(&wanted("queue", "default", &none), "process"),
        "the platform provides no queue of class \"default\"; it provides `dns`, `environment`, `postgres`, `redis`, `route`, `secret`, `service`, `service-port` and `volume`; use one of these types, or ask the platform team to add yours"
    );
}

#[test]
fn an_entry_of_the_document_comes_before_what_is_built_in() {
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
fn what_keeps_data_is_told_by_the_entry_then_by_engine_and_type() {
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
