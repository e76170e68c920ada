//! Random histories: a Workload is applied, changed and deleted, while the platform changes too.

use std::sync::{Arc, LazyLock};

use orchestra_api::{Reason, plan::Phase};
use orchestra_core::config::{self, Config};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::{select, subsequence},
};
use serde_json::{Map, Value as Json, json};

use crate::decisions::fixture::{Answer, CONFIG, Denials, Fixture, Running};

/// Orchestrator configs, and the same with their entries in another order.
static CONFIGS: LazyLock<Vec<(Arc<Config>, Arc<Config>)>> = LazyLock::new(|| {
    let texts = [
        CONFIG.to_owned(),
        // The backend of most Workloads is gone.
        CONFIG.replace(
            "{backendId: here, runtimeClass: scripted, priority: 10",
            "{backendId: new, runtimeClass: other, priority: 1",
        ),
        // Other profiles and provisioners.
        CONFIG
            .replace("defaults: {profile: web-service}", "defaults: {profile: batch-job}")
            .replace("type: postgres, engine: builtin", "type: postgres, engine: http")
            .replace("    - {type: redis, engine: builtin}\n", ""),
        String::new(),
    ];
    texts.iter().map(|text| (checked(text), checked(&reversed(text)))).collect()
});

fn checked(text: &str) -> Arc<Config> {
    Arc::new(config::check(text).unwrap_or_else(|faults| panic!("{faults:?}: {text}")))
}

/// Config with its lists reversed.
fn reversed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_provisioner = |line: &&str| line.starts_with("    - {type:");
    let is_backend = |line: &&str| line.starts_with("        - {backendId:");
    let mut provisioners: Vec<&str> = lines.iter().copied().filter(is_provisioner).collect();
    let mut backends: Vec<&str> = lines.iter().copied().filter(is_backend).collect();
    let turned = lines.into_iter().map(|line| {
        if is_provisioner(&line) {
            provisioners.pop().unwrap_or_default()
        } else if is_backend(&line) {
            backends.pop().unwrap_or_default()
        } else {
            line
        }
    });
    turned.collect::<Vec<_>>().join("\n")
}

/// Applied Workload.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    labels: Json,
    annotations: Json,
    spec: Json,
}

/// Step of a history.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write(Manifest),
    Config(usize),
    Policies(Vec<Json>),
    Answer(&'static str, Answer),
    Run(Running),
    Deny(Denials),
    Terminate,
    Delete,
}

/// History of steps.
#[derive(Clone, Debug)]
pub(crate) struct History(Vec<Step>);

impl History {
    /// Takes all steps, and checks the state whenever it has settled.
    pub(crate) fn replay(&self, mut check: impl FnMut(&Fixture)) {
        let mut fixture = Fixture::new(CONFIG);
        for happening in &self.0 {
            happening.take(&mut fixture);
            fixture.settle();
            check(&fixture);
        }
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl Step {
    pub(crate) fn take(&self, fixture: &mut Fixture) {
        match self.clone() {
            Self::Write(Manifest { labels, annotations, spec }) => {
                // A Workload that is being deleted can still be changed, but is deleted anyway.
                if fixture.workload.as_ref().is_none_or(|w| w.metadata.deletion_timestamp.is_none()) {
                    fixture.write(labels, annotations, spec);
                }
            }
            Self::Config(which) => fixture.config = Arc::clone(&CONFIGS[which].0),
            Self::Policies(policies) => {
                fixture.policies.clear();
                for (index, spec) in policies.into_iter().enumerate() {
                    fixture.policy(&format!("policy-{index}"), spec);
                }
            }
            Self::Answer(type_, answer) => fixture.answer(type_, answer),
            Self::Run(running) => fixture.running = running,
            Self::Deny(denials) => fixture.denials = denials,
            Self::Terminate => fixture.namespace.terminating = true,
            Self::Delete => fixture.delete(),
        }
    }
}

/// Config with its entries in another order.
pub(crate) fn reordered(config: &Arc<Config>) -> Arc<Config> {
    let known = CONFIGS.iter().find(|(one, _)| one == config);
    known.map_or_else(|| Arc::clone(config), |(_, turned)| Arc::clone(turned))
}

const KEYS: [&str; 3] = ["db", "cache", "feed"];
const TYPES: [&str; 8] = ["postgres", "postgres", "redis", "volume", "route", "queue", "service", "oracle"];

fn resource() -> impl Strategy<Value = Json> {
    let class = option::weighted(0.3, select(vec!["small", "large"]));
    let id = option::weighted(0.2, select(vec!["shared", "other"]));
    let value = option::weighted(
        0.5,
        select(vec![
            "1",
            "2",
            "${metadata.name}",
            "${resources.db.host}",
            "at ${resources.db.password}",
            "${resources.feed.port}",
        ]),
    );
    let policy = option::weighted(0.2, select(vec!["Delete", "Retain", "Orphan", "Burn"]));
    (select(TYPES.to_vec()), class, id, value, policy).prop_map(|(type_, class, id, value, policy)| {
        let mut resource = json!({"type": type_});
        let mut put =
            |key: &str, value: Option<Json>| value.into_iter().for_each(|value| resource[key] = value);
        put("class", class.map(|class| json!(class)));
        put("id", id.map(|id| json!(id)));
        put("params", value.map(|value| json!({"size": value})));
        put("metadata", policy.map(|policy| json!({"annotations": {"score.dev/deprovision": policy}})));
        resource
    })
}

fn container() -> impl Strategy<Value = Json> {
    let text = select(vec![
        "plain",
        "${metadata.name}",
        "$${kept}",
        "http://${resources.db.host}:${resources.db.port}",
        "${resources.db.password}",
        "${resources.cache.host}",
        "${resources.feed.host}",
        "${resources.db.nothing}",
    ]);
    let variables = btree_map(select(vec!["A", "B", "C"]), text.clone(), 0..3);
    let volume =
        option::weighted(0.2, select(vec!["${resources.feed}", "${resources.cache}", "name-of-the-backend"]));
    let memory = option::weighted(0.3, select(vec!["64Mi", "1Gi", "3Gi"]));
    (variables, option::weighted(0.3, text), volume, memory).prop_map(|(variables, file, volume, memory)| {
        let mut container = json!({"image": "registry.example.org/app", "variables": variables});
        if let Some(text) = file {
            container["files"] = json!({"/etc/app": {"content": text, "mode": "0400"}});
        }
        if let Some(source) = volume {
            container["volumes"] = json!({"/data": {"source": source}});
        }
        if let Some(memory) = memory {
            container["resources"] = json!({"requests": {"memory": memory}, "limits": {"memory": memory}});
        }
        container
    })
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let resources = btree_map(select(KEYS.to_vec()), resource(), 0..=3);
    let containers = btree_map(select(vec!["app", "side"]), container(), 1..=2);
    let ports = btree_map(select(vec!["http", "metrics", "other"]), 1u16..9999, 0..=2);
    let annotation = |key: &'static str, values: Vec<&'static str>, often: f64| {
        option::weighted(often, select(values)).prop_map(move |value| value.map(|value| (key, value)))
    };
    let annotations = (
        annotation("score.dev/profile", vec!["web-service", "batch-job", "batch-jbo"], 0.2),
        annotation("score.dev/requirements", vec!["fast", "big", "fast, big", "quantum"], 0.3),
        annotation("score.dev/move", vec!["there", "here", "best", "nowhere"], 0.2),
        annotation("score.dev/abandon-data", vec!["true"], 0.2),
        annotation("score.dev/region", vec!["eu"], 0.05),
        annotation("team", vec!["shop"], 0.2),
    );
    let annotations = annotations.prop_map(|(a, b, c, d, e, f)| {
        Json::Object(
            [a, b, c, d, e, f]
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.to_owned(), json!(value)))
                .collect(),
        )
    });
    let labels = subsequence(vec![("tier", "gold"), ("team", "shop")], 0..=2);
    let mistake = prop::bool::weighted(0.1);
    (labels, annotations, containers, ports, resources, mistake).prop_map(
        |(labels, annotations, containers, ports, resources, mistake)| {
            let labels: Map<String, Json> =
                labels.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
            let ports: Map<String, Json> =
                ports.into_iter().map(|(name, port)| (name.to_owned(), json!({"port": port}))).collect();
            let mut spec =
                json!({"containers": containers, "service": {"ports": ports}, "resources": resources});
            remove_placeholders(&mut spec, &|text| {
                KEYS.iter()
                    .any(|key| !resources.contains_key(*key) && text.contains(&format!("resources.{key}")))
            });
            if mistake {
                spec["containers"]["app"] = json!({"imagee": "typo"});
            }
            Manifest { labels: Json::Object(labels), annotations, spec }
        },
    )
}

/// Removes placeholders of missing resources.
fn remove_placeholders(value: &mut Json, is_wrong: &impl Fn(&str) -> bool) {
    match value {
        Json::String(text) if is_wrong(text) => *value = json!("plain"),
        Json::Object(map) => map.values_mut().for_each(|value| remove_placeholders(value, is_wrong)),
        _ => {}
    }
}

fn policy() -> impl Strategy<Value = Json> {
    select(vec![
        json!({}),
        json!({"defaults": {"classes": {"redis": "small", "postgres": "large"}}}),
        json!({"priority": 5, "defaults": {"classes": {"postgres": "small"}, "profile": "batch-job"}}),
        json!({"defaults": {"requests": {"memory": "32Mi"}, "limits": {"memory": "2Gi"}, "deprovision": "Retain"}}),
        json!({"limits": {"claims": 1}}),
        json!({"mode": "Audit", "limits": {"containers": 1}}),
        json!({"workloadSelector": {"matchLabels": {"tier": "gold"}}, "limits": {"memory": "2Gi"}}),
        json!({"allow": {"resources": [{"type": "postgres"}, {"type": "redis", "class": "small"}]}}),
        json!({"allow": {"profiles": ["web-service"]}, "defaults": {"annotations": {"score.dev/requirements": "big"}}}),
    ])
}

fn reason() -> impl Strategy<Value = Reason> {
    select(Reason::ALL.to_vec())
}

fn step() -> impl Strategy<Value = Step> {
    let answer = prop_oneof![
        4 => Just(Answer::Bind),
        1 => Just(Answer::BindInPart),
        1 => Just(Answer::Make),
        1 => Just(Answer::Wait),
        1 => reason().prop_map(Answer::Hinder),
        2 => reason().prop_map(Answer::Refuse),
    ];
    let phase = select(vec![Phase::Pending, Phase::Provisioning, Phase::Degraded, Phase::Failed]);
    let running = prop_oneof![
        3 => Just(Running::Says(Phase::Ready, None)),
        1 => Just(Running::Absent),
        3 => (phase, option::of(reason())).prop_map(|(phase, reason)| Running::Says(phase, reason)),
    ];
    // Reasons for a denied apply; see `denial` in the controllers.
    let denied = || {
        let reasons = [
            Reason::PolicyViolation,
            Reason::QuotaExceeded,
            Reason::PermissionDenied,
            Reason::RuntimeProvisioning,
        ];
        option::weighted(0.3, select(reasons.to_vec()))
    };
    let denials = (denied(), denied()).prop_map(|(claims, plans)| Denials { claims, plans });
    prop_oneof![
        8 => manifest().prop_map(Step::Write),
        2 => (0..4usize).prop_map(Step::Config),
        2 => vec(policy(), 0..3).prop_map(Step::Policies),
        4 => (select(TYPES.to_vec()), answer).prop_map(|(type_, answer)| Step::Answer(type_, answer)),
        4 => running.prop_map(Step::Run),
        2 => denials.prop_map(Step::Deny),
        1 => Just(Step::Delete),
    ]
}

/// Random histories. The first step applies a Workload; the last may delete its namespace.
pub(crate) fn history() -> impl Strategy<Value = History> {
    (manifest(), vec(step(), 0..6), prop::bool::weighted(0.05)).prop_map(|(first, mut rest, terminate)| {
        if terminate {
            rest.push(Step::Terminate);
        }
        rest.insert(0, Step::Write(first));
        History(rest)
    })
}
