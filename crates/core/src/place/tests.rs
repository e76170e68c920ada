//! Placement, case by case.

use super::*;
use crate::config;
use serde_json::json;

const PLATFORM: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles:
    - name: web-service
      backends:
        - {backendId: local, runtimeClass: process, priority: 10, version: 1.0.0}
        - backendId: eu
          runtimeClass: kubernetes
          priority: 100
          constraints:
            features: [http-ingress, scale-to-zero]
            regions: [eu]
            resources: {cpu: 1-8, memory: 0-32Gi}
            selectors: [{matchLabels: {tier: gold}}, {matchLabels: {tier: silver}}]
          values: {replicas: 2}
    - name: batch-job
      kind: job
      backends:
        - {backendId: local, runtimeClass: process}
        - {backendId: nights, runtimeClass: nomad}
  defaults:
    profile: web-service
    selectors:
      - {matchLabels: {workload-type: batch}, profile: batch-job}
      - {matchExpressions: [{key: workload-type, operator: Exists}], profile: web-service}
";

/// Owned form of a request.
#[derive(Clone, Default)]
struct TestRequest {
    labels: BTreeMap<String, String>,
    profile: Option<&'static str>,
    policy_profile: Option<(&'static str, &'static str)>,
    allowed: Option<BTreeSet<String>>,
    requirements: BTreeSet<String>,
    region: Option<&'static str>,
    cpu: &'static str,
    memory: &'static str,
    move_to: Option<Move<'static>>,
    abandon_data: bool,
    current: Option<At>,
}

#[derive(Clone)]
struct At {
    placement: Placement,
    profile: Option<&'static str>,
    requirements: Vec<String>,
    unchanged: bool,
    data: Vec<String>,
}

fn at(backend_id: &str, runtime_class: &str, profile: &'static str) -> At {
    At {
        placement: Placement { backend_id: backend_id.to_owned(), runtime_class: runtime_class.to_owned() },
        profile: Some(profile),
        requirements: Vec::new(),
        unchanged: true,
        data: Vec::new(),
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn labels(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

fn decide(platform: &str, request: &TestRequest) -> PlacementOutcome {
    let amount = |text: &str| if text.is_empty() { "0".to_owned() } else { text.to_owned() };
    place(
        &config::check(platform).unwrap(),
        &Request {
            labels: &request.labels,
            profile: request.profile,
            policy_profile: request.policy_profile,
            allowed_profiles: request.allowed.as_ref(),
            requirements: &request.requirements,
            region: request.region,
            cpu: Quantity::cpu(&amount(request.cpu)).unwrap(),
            memory: Quantity::memory(&amount(request.memory)).unwrap(),
            move_to: request.move_to,
            abandon_data: request.abandon_data,
            current: request.current.as_ref().map(|at| Current {
                placement: &at.placement,
                profile: at.profile,
                requirements: &at.requirements,
                unchanged: at.unchanged,
                data: &at.data,
            }),
        },
    )
}

/// Backend, or the message of the refusal.
fn backend(platform: &str, request: &TestRequest) -> Result<String, String> {
    let outcome = decide(platform, request);
    outcome.result.map(|placed| placed.placement.backend_id).map_err(|refusal| refusal.message())
}

fn gold() -> TestRequest {
    TestRequest { labels: labels("tier", "gold"), cpu: "1", ..TestRequest::default() }
}

#[test]
fn an_empty_config_runs_everything_locally() {
    let outcome = decide("", &TestRequest::default());
    let placed = outcome.result.unwrap();
    assert_eq!(placed.profile, "web-service");
    assert_eq!(placed.placement.runtime_class, "process");
    assert_eq!(placed.terms, Terms::Configured { kind: Kind::Service, values: Map::new() });
    let job =
        decide("", &TestRequest { profile: Some("batch-job"), ..TestRequest::default() }).result.unwrap();
    assert_eq!(job.terms, Terms::Configured { kind: Kind::Job, values: Map::new() });
    assert_eq!(
        outcome.explanation.to_string(),
        "profile web-service: built-in default\nbackend local (process, priority 0): accepts the workload\nruns on local: the only backend that accepts the workload"
    );
}

#[test]
fn the_profile_comes_from_the_annotation_then_policy_then_labels_then_the_default() {
    let chosen = |request: &TestRequest| {
        let profile = decide(PLATFORM, request).explanation.profile.unwrap();
        (profile.name, profile.because)
    };
    let mut request = TestRequest { labels: labels("workload-type", "batch"), ..TestRequest::default() };
    request.profile = Some("web-service");
    request.policy_profile = Some(("batch-job", "nightly"));
    assert_eq!(chosen(&request), ("web-service".to_owned(), ProfileReason::Annotation));
    request.profile = None;
    assert_eq!(chosen(&request), ("batch-job".to_owned(), ProfileReason::Policy("nightly".to_owned())));
    request.policy_profile = None;
    assert_eq!(chosen(&request), ("batch-job".to_owned(), ProfileReason::Selector(1)));
    request.labels = labels("workload-type", "other");
    assert_eq!(chosen(&request), ("web-service".to_owned(), ProfileReason::Selector(2)));
    request.labels.clear();
    assert_eq!(chosen(&request), ("web-service".to_owned(), ProfileReason::Default));
}

/// A26: the predecessor derived the profile from ports and parts of names, before any configuration.
#[test]
fn names_of_profiles_do_not_influence_the_choice() {
    let platform =
        PLATFORM.replace("profile: web-service\n    selectors", "profile: batch-job\n    selectors");
    let chosen = decide(&platform, &TestRequest::default()).explanation.profile.unwrap();
    assert_eq!((chosen.name.as_str(), chosen.because), ("batch-job", ProfileReason::Default));
}

/// A25: the predecessor demanded that the Workload require whatever the backend offers.
#[test]
fn a_backend_must_offer_every_required_feature_and_may_offer_more() {
    let mut request = gold();
    assert_eq!(backend(PLATFORM, &request).unwrap(), "eu", "requires none");
    request.requirements = set(&["scale-to-zero"]);
    assert_eq!(backend(PLATFORM, &request).unwrap(), "eu", "requires one of two");
    request.labels.clear();
    assert!(backend(PLATFORM, &request).unwrap_err().contains("\"local\" (it does not offer scale-to-zero)"));
}

/// A27: the predecessor ignored regions.
#[test]
fn a_required_region_must_match() {
    let mut request = TestRequest { region: Some("eu"), ..gold() };
    assert_eq!(backend(PLATFORM, &request).unwrap(), "eu");
    request.region = Some("us");
    let message = backend(PLATFORM, &request).unwrap_err();
    assert!(message.contains("\"eu\" (it is in eu, the workload requires us)"), "{message}");
    assert!(message.contains("\"local\" (it has no region, the workload requires us)"), "{message}");
}

#[test]
fn any_of_the_selectors_of_a_backend_is_enough() {
    for (tier, id) in [("gold", "eu"), ("silver", "eu"), ("iron", "local")] {
        assert_eq!(
            backend(PLATFORM, &TestRequest { labels: labels("tier", tier), ..gold() }).unwrap(),
            id,
            "{tier}"
        );
    }
}

/// A24: the predecessor read `1` as a thousandth and could not parse `0.5`, `256M` or `1G`.
#[test]
fn sizes_are_compared_as_amounts_with_both_ends_included() {
    for (cpu, memory, id) in [
        ("1", "32Gi", "eu"),
        ("1000m", "256M", "eu"),
        ("8", "1G", "eu"),
        ("0.5", "1G", "local"),
        ("8.001", "1G", "local"),
        ("1", "33Gi", "local"),
        ("", "", "local"),
    ] {
        assert_eq!(backend(PLATFORM, &TestRequest { cpu, memory, ..gold() }).unwrap(), id, "{cpu} {memory}");
    }
}

#[test]
fn a_refusal_lists_the_violated_constraints_of_each_backend() {
    let request = TestRequest { cpu: "", memory: "64Gi", requirements: set(&["gpu"]), ..gold() };
    assert_eq!(
        backend(PLATFORM, &request).unwrap_err(),
        "no backend of the profile \"web-service\" matches: \"eu\" (it does not offer gpu; it requires at least 1 cpu, the workload requests none; it accepts at most 32Gi memory, the workload requests 64Gi); \"local\" (it does not offer gpu); change the requirements of the workload, or add a matching backend to the orchestrator config"
    );
}

#[test]
fn priority_decides_then_version_then_name() {
    let platform = |backends: &str| {
        format!(
            "apiVersion: score.dev/v1b1\nkind: OrchestratorConfig\nspec: {{profiles: [{{name: web, backends: [{backends}]}}]}}"
        )
    };
    for (backends, id, because) in [
        (
            "{backendId: a, runtimeClass: x, priority: -1}, {backendId: b, runtimeClass: x}",
            "b",
            ChoiceReason::Priority,
        ),
        (
            "{backendId: a, runtimeClass: x, version: 1.9.0}, {backendId: b, runtimeClass: x, version: 1.10.0}",
            "b",
            ChoiceReason::Version,
        ),
        (
            "{backendId: a, runtimeClass: x, version: 1.0.0-rc.2}, {backendId: b, runtimeClass: x, version: 1.0.0}",
            "b",
            ChoiceReason::Version,
        ),
        (
            "{backendId: a, runtimeClass: x}, {backendId: b, runtimeClass: x, version: 0.0.1-alpha}",
            "b",
            ChoiceReason::Version,
        ),
        (
            "{backendId: b, runtimeClass: x, version: 1.0.0+2}, {backendId: a, runtimeClass: x, version: 1.0.0+1}",
            "a",
            ChoiceReason::Name,
        ),
        ("{backendId: b, runtimeClass: x}, {backendId: a, runtimeClass: x}", "a", ChoiceReason::Name),
    ] {
        let outcome = decide(&platform(backends), &TestRequest::default());
        let Conclusion::Chosen { placement, because: why } = outcome.explanation.conclusion else { panic!() };
        assert_eq!((placement.backend_id.as_str(), why), (id, because), "{backends}");
    }
}

#[test]
fn an_unknown_profile_is_refused_with_the_known_ones() {
    let request = TestRequest { profile: Some("web-servise"), ..TestRequest::default() };
    assert_eq!(
        backend(PLATFORM, &request).unwrap_err(),
        "unknown profile \"web-servise\"; did you mean `web-service`?"
    );
    let request = TestRequest { profile: Some("worker"), ..TestRequest::default() };
    assert_eq!(
        backend(PLATFORM, &request).unwrap_err(),
        "unknown profile \"worker\"; use `batch-job` or `web-service`"
    );
    let request = TestRequest { policy_profile: Some(("worker", "shop")), ..TestRequest::default() };
    assert!(
        backend(PLATFORM, &request)
            .unwrap_err()
            .starts_with("policy shop sets the unknown profile \"worker\"")
    );
}

#[test]
fn a_profile_that_policies_do_not_allow_is_refused() {
    let request = TestRequest { allowed: Some(set(&["batch-job", "gone"])), ..TestRequest::default() };
    assert_eq!(
        backend(PLATFORM, &request).unwrap_err(),
        "the profile \"web-service\" (default of the orchestrator config) is not allowed here by policy; set the annotation score.dev/profile to `batch-job`"
    );
    assert_eq!(backend(PLATFORM, &TestRequest { profile: Some("batch-job"), ..request }).unwrap(), "local");
}

#[test]
fn a_workload_stays_while_its_backend_accepts_it() {
    let outcome =
        decide(PLATFORM, &TestRequest { current: Some(at("local", "process", "web-service")), ..gold() });
    assert_eq!(outcome.result.unwrap().placement.backend_id, "local", "eu has the higher priority");
    assert!(outcome.explanation.to_string().ends_with("stays on local"));
    let labelled = TestRequest {
        labels: labels("workload-type", "batch"),
        current: Some(at("local", "process", "web-service")),
        ..gold()
    };
    assert_eq!(
        decide(PLATFORM, &labelled).result.unwrap().profile,
        "web-service",
        "the label selects batch-job"
    );
}

#[test]
fn another_profile_on_the_same_backend_is_no_move() {
    let mut current = at("local", "process", "web-service");
    current.data = vec!["db".to_owned()];
    let placed =
        decide(PLATFORM, &TestRequest { profile: Some("batch-job"), current: Some(current), ..gold() })
            .result
            .unwrap();
    assert_eq!((placed.profile.as_str(), placed.placement.backend_id.as_str()), ("batch-job", "local"));
    assert_eq!(placed.terms, Terms::Configured { kind: Kind::Job, values: Map::new() });
}

#[test]
fn an_edit_of_the_config_never_moves_a_workload() {
    for (edit, platform) in [
        ("the backend is gone", PLATFORM.replace("backendId: eu", "backendId: us")),
        (
            "the backend has another runtime class",
            PLATFORM.replace("runtimeClass: kubernetes", "runtimeClass: ecs"),
        ),
        ("the backend selects other labels", PLATFORM.replace("tier: gold", "tier: platinum")),
        ("the profile is gone", PLATFORM.replace("web-service", "web")),
        ("the backend offers less", PLATFORM.replace("cpu: 1-8", "cpu: 2-8")),
    ] {
        let platform = platform.replace("values: {replicas: 2}", "");
        for profile in [None, Some("web-service")] {
            for data in [vec![], vec!["db".to_owned()]] {
                let mut current = at("eu", "kubernetes", "web-service");
                current.data = data;
                let outcome = decide(&platform, &TestRequest { profile, current: Some(current), ..gold() });
                let placed = outcome.result.unwrap();
                assert_eq!(placed.placement.backend_id, "eu", "{edit}");
                assert_eq!(placed.placement.runtime_class, "kubernetes", "{edit}");
                assert_eq!(placed.profile, "web-service", "{edit}");
                assert!(matches!(placed.terms, Terms::AsPlanned { .. }), "{edit}");
                assert!(matches!(outcome.explanation.conclusion, Conclusion::Kept { .. }), "{edit}");
            }
        }
    }
}

#[test]
fn a_changed_workload_that_its_backend_rejects_is_placed_again() {
    for change in ["spec", "requirements", "profile"] {
        let mut request = TestRequest { current: Some(at("eu", "kubernetes", "web-service")), ..gold() };
        let current = request.current.as_mut().unwrap();
        match change {
            "spec" => {
                current.unchanged = false;
                request.cpu = "16";
            }
            "requirements" => {
                current.requirements = vec!["gpu".to_owned()];
                request.labels.clear();
            }
            _ => request.profile = Some("batch-job"),
        }
        assert_eq!(backend(PLATFORM, &request).unwrap(), "local", "{change}");
        request.current.as_mut().unwrap().data = vec!["files".to_owned(), "db".to_owned()];
        assert_eq!(
            backend(PLATFORM, &request).unwrap_err(),
            "the workload would move from \"eu\" to \"local\", and the data of `db` and `files` would stay behind; undo the change, or set the annotation score.dev/abandon-data to \"true\" to give the data up",
            "{change}"
        );
        request.abandon_data = true;
        assert_eq!(backend(PLATFORM, &request).unwrap(), "local", "{change}");
    }
}

#[test]
fn without_a_plan_a_workload_is_not_kept_on_a_missing_backend() {
    let mut current = at("gone", "kubernetes", "");
    current.profile = None;
    assert_eq!(backend(PLATFORM, &TestRequest { current: Some(current.clone()), ..gold() }).unwrap(), "eu");
    current.data = vec!["db".to_owned()];
    assert!(
        backend(PLATFORM, &TestRequest { current: Some(current), ..gold() })
            .unwrap_err()
            .contains("the data of `db`")
    );
    let mut current = at("local", "process", "");
    current.profile = None;
    assert_eq!(
        backend(PLATFORM, &TestRequest { current: Some(current), ..gold() }).unwrap(),
        "local",
        "it stays where its claims are"
    );
}

#[test]
fn a_move_to_the_best_backend_happens_unless_data_would_stay() {
    let mut request = TestRequest {
        move_to: Some(Move::Best),
        current: Some(at("local", "process", "web-service")),
        ..gold()
    };
    assert_eq!(backend(PLATFORM, &request).unwrap(), "eu");
    request.current.as_mut().unwrap().data = vec!["db".to_owned()];
    assert!(backend(PLATFORM, &request).unwrap_err().contains("score.dev/abandon-data"));
    request.labels.clear();
    assert_eq!(backend(PLATFORM, &request).unwrap(), "local", "it is already on the best backend");
}

#[test]
fn a_move_to_a_backend_considers_no_other() {
    let mut request = TestRequest {
        move_to: Some(Move::Backend("local")),
        current: Some(at("eu", "kubernetes", "web-service")),
        ..gold()
    };
    assert_eq!(backend(PLATFORM, &request).unwrap(), "local");
    request.current.as_mut().unwrap().data = vec!["db".to_owned()];
    assert!(backend(PLATFORM, &request).unwrap_err().contains("score.dev/abandon-data"));
    request.move_to = Some(Move::Backend("loacl"));
    assert_eq!(
        backend(PLATFORM, &request).unwrap_err(),
        "the annotation score.dev/move names \"loacl\", which does not exist; did you mean `local`?"
    );
    request.move_to = Some(Move::Backend("nights"));
    assert_eq!(
        backend(PLATFORM, &request).unwrap_err(),
        "the annotation score.dev/move names \"nights\", which serves `batch-job` and not the profile \"web-service\"; use `eu` or `local`, or `best`"
    );
    let request = TestRequest {
        move_to: Some(Move::Backend("eu")),
        current: Some(at("local", "process", "web-service")),
        ..TestRequest::default()
    };
    assert!(
        backend(PLATFORM, &request)
            .unwrap_err()
            .starts_with("the workload cannot move to \"eu\" (its selectors do not match")
    );
}

#[test]
fn a_completed_move_is_a_stay() {
    let request = TestRequest {
        move_to: Some(Move::Backend("eu")),
        current: Some(at("eu", "kubernetes", "web-service")),
        ..gold()
    };
    assert!(matches!(decide(PLATFORM, &request).explanation.conclusion, Conclusion::Stays(_)));
    let edited = PLATFORM.replace("backendId: eu", "backendId: us");
    assert!(matches!(decide(&edited, &request).explanation.conclusion, Conclusion::Kept { .. }));
    let mut changed = TestRequest { cpu: "16", ..request.clone() };
    changed.current.as_mut().unwrap().unchanged = false;
    assert!(
        backend(PLATFORM, &changed)
            .unwrap_err()
            .starts_with("the workload cannot move to \"eu\" (it accepts at most 8 cpu")
    );
    let mut elsewhere = request;
    elsewhere.current.as_mut().unwrap().data = vec!["db".to_owned()];
    let edited = PLATFORM.replace("runtimeClass: kubernetes", "runtimeClass: ecs");
    assert!(
        backend(&edited, &elsewhere).unwrap_err().contains("the data of `db`"),
        "another runtime class is another placement"
    );
}

#[test]
fn an_explanation_serialises_to_json() {
    let request = TestRequest { requirements: set(&["scale-to-zero"]), ..gold() };
    assert_eq!(
        serde_json::to_value(decide(PLATFORM, &request).explanation).unwrap(),
        json!({
            "profile": {"name": "web-service", "because": "default"},
            "backends": [
                {"backendId": "eu", "runtimeClass": "kubernetes", "priority": 100},
                {"backendId": "local", "runtimeClass": "process", "priority": 10, "version": "1.0.0", "dropped": [
                    {"constraint": "features", "message": "it does not offer scale-to-zero"},
                ]},
            ],
            "conclusion": {"chosen": {
                "placement": {"backendId": "eu", "runtimeClass": "kubernetes"}, "because": "onlyOne",
            }},
        })
    );
}
