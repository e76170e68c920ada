//! The decision, case by case.

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

/// A request, owned, as tests write it.
#[derive(Clone, Default)]
struct Asked {
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

fn decide(platform: &str, asked: &Asked) -> Outcome {
    let amount = |text: &str| if text.is_empty() { "0".to_owned() } else { text.to_owned() };
    place(
        &config::check(platform).unwrap(),
        &Request {
            labels: &asked.labels,
            profile: asked.profile,
            policy_profile: asked.policy_profile,
            allowed_profiles: asked.allowed.as_ref(),
            requirements: &asked.requirements,
            region: asked.region,
            cpu: Quantity::cpu(&amount(asked.cpu)).unwrap(),
            memory: Quantity::memory(&amount(asked.memory)).unwrap(),
            move_to: asked.move_to,
            abandon_data: asked.abandon_data,
            current: asked.current.as_ref().map(|at| Current {
                placement: &at.placement,
                profile: at.profile,
                requirements: &at.requirements,
                unchanged: at.unchanged,
                data: &at.data,
            }),
        },
    )
}

/// The backend, or the message of the refusal.
fn backend(platform: &str, asked: &Asked) -> Result<String, String> {
    let outcome = decide(platform, asked);
    outcome.result.map(|placed| placed.placement.backend_id).map_err(|refusal| refusal.message())
}

fn gold() -> Asked {
    Asked { labels: labels("tier", "gold"), cpu: "1", ..Asked::default() }
}

#[test]
fn an_empty_document_runs_everything_here() {
    let outcome = decide("", &Asked::default());
    let placed = outcome.result.unwrap();
    assert_eq!(placed.profile, "web-service");
    assert_eq!(placed.placement.runtime_class, "process");
    assert_eq!(placed.terms, Terms::Configured { kind: Kind::Service, values: Map::new() });
    let job = decide("", &Asked { profile: Some("batch-job"), ..Asked::default() }).result.unwrap();
    assert_eq!(job.terms, Terms::Configured { kind: Kind::Job, values: Map::new() });
    assert_eq!(
        outcome.explanation.to_string(),
        "profile web-service: built-in default\nbackend local (process, priority 0): takes the workload\nruns on local: no other takes the workload"
    );
}

#[test]
fn the_profile_is_asked_for_then_by_policy_then_by_label_then_the_default() {
    let chosen = |asked: &Asked| {
        let profile = decide(PLATFORM, asked).explanation.profile.unwrap();
        (profile.name, profile.because)
    };
    let mut asked = Asked { labels: labels("workload-type", "batch"), ..Asked::default() };
    asked.profile = Some("web-service");
    asked.policy_profile = Some(("batch-job", "nightly"));
    assert_eq!(chosen(&asked), ("web-service".to_owned(), ProfileReason::Annotation));
    asked.profile = None;
    assert_eq!(chosen(&asked), ("batch-job".to_owned(), ProfileReason::Policy("nightly".to_owned())));
    asked.policy_profile = None;
    assert_eq!(chosen(&asked), ("batch-job".to_owned(), ProfileReason::Selector(1)));
    asked.labels = labels("workload-type", "other");
    assert_eq!(chosen(&asked), ("web-service".to_owned(), ProfileReason::Selector(2)));
    asked.labels.clear();
    assert_eq!(chosen(&asked), ("web-service".to_owned(), ProfileReason::Default));
}

/// A26: the predecessor took the profile from the ports and from parts of names, before anything that was configured.
#[test]
fn names_of_profiles_mean_nothing_to_the_choice() {
    let platform =
        PLATFORM.replace("profile: web-service\n    selectors", "profile: batch-job\n    selectors");
    let chosen = decide(&platform, &Asked::default()).explanation.profile.unwrap();
    assert_eq!((chosen.name.as_str(), chosen.because), ("batch-job", ProfileReason::Default));
}

/// A25: the predecessor asked that the Workload require whatever the backend offers.
#[test]
fn a_backend_offers_every_feature_that_is_asked_for_and_may_offer_more() {
    let mut asked = gold();
    assert_eq!(backend(PLATFORM, &asked).unwrap(), "eu", "asks for none");
    asked.requirements = set(&["scale-to-zero"]);
    assert_eq!(backend(PLATFORM, &asked).unwrap(), "eu", "asks for one of two");
    asked.labels.clear();
    assert!(backend(PLATFORM, &asked).unwrap_err().contains("\"local\" (it does not offer scale-to-zero)"));
}

/// A27: the predecessor never looked at regions.
#[test]
fn a_region_is_looked_for_when_it_is_asked_for() {
    let mut asked = Asked { region: Some("eu"), ..gold() };
    assert_eq!(backend(PLATFORM, &asked).unwrap(), "eu");
    asked.region = Some("us");
    let message = backend(PLATFORM, &asked).unwrap_err();
    assert!(message.contains("\"eu\" (it is in eu, and the workload asks for us)"), "{message}");
    assert!(message.contains("\"local\" (it is in no region, and the workload asks for us)"), "{message}");
}

#[test]
fn any_of_the_selectors_of_a_backend_is_enough() {
    for (tier, id) in [("gold", "eu"), ("silver", "eu"), ("iron", "local")] {
        assert_eq!(
            backend(PLATFORM, &Asked { labels: labels("tier", tier), ..gold() }).unwrap(),
            id,
            "{tier}"
        );
    }
}

/// A24: the predecessor counted `1` as a thousandth and could not read `0.5`, `256M` or `1G`.
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
        assert_eq!(backend(PLATFORM, &Asked { cpu, memory, ..gold() }).unwrap(), id, "{cpu} {memory}");
    }
}

#[test]
fn a_refusal_says_which_constraint_dropped_which_backend() {
    let asked = Asked { cpu: "", memory: "64Gi", requirements: set(&["gpu"]), ..gold() };
    assert_eq!(
        backend(PLATFORM, &asked).unwrap_err(),
        "nowhere to run in the profile \"web-service\": \"eu\" (it does not offer gpu; needs at least 1 cpu, the workload asks for none; takes at most 32Gi memory, the workload asks for 64Gi); \"local\" (it does not offer gpu); change what the workload asks for, or ask the platform team for a place that offers it"
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
        let outcome = decide(&platform(backends), &Asked::default());
        let Conclusion::Chosen { placement, because: why } = outcome.explanation.conclusion else { panic!() };
        assert_eq!((placement.backend_id.as_str(), why), (id, because), "{backends}");
    }
}

#[test]
fn an_unknown_profile_is_refused_with_the_profiles_there_are() {
    let asked = Asked { profile: Some("web-servise"), ..Asked::default() };
    assert_eq!(
        backend(PLATFORM, &asked).unwrap_err(),
        "there is no profile \"web-servise\"; did you mean `web-service`?"
    );
    let asked = Asked { profile: Some("worker"), ..Asked::default() };
    assert_eq!(
        backend(PLATFORM, &asked).unwrap_err(),
        "there is no profile \"worker\"; use `batch-job` or `web-service`"
    );
    let asked = Asked { policy_profile: Some(("worker", "shop")), ..Asked::default() };
    assert!(
        backend(PLATFORM, &asked)
            .unwrap_err()
            .starts_with("policy shop gives the profile \"worker\", which does not exist")
    );
}

#[test]
fn a_profile_that_policies_do_not_allow_is_refused() {
    let asked = Asked { allowed: Some(set(&["batch-job", "gone"])), ..Asked::default() };
    assert_eq!(
        backend(PLATFORM, &asked).unwrap_err(),
        "the profile \"web-service\" (default of the platform's document) is not allowed here by policy; set the annotation score.dev/profile to `batch-job`"
    );
    assert_eq!(backend(PLATFORM, &Asked { profile: Some("batch-job"), ..asked }).unwrap(), "local");
}

#[test]
fn a_workload_stays_while_its_place_takes_it() {
    let outcome = decide(PLATFORM, &Asked { current: Some(at("local", "process", "web-service")), ..gold() });
    assert_eq!(outcome.result.unwrap().placement.backend_id, "local", "though eu has the higher priority");
    assert!(outcome.explanation.to_string().ends_with("stays on local, where it is"));
    let labelled = Asked {
        labels: labels("workload-type", "batch"),
        current: Some(at("local", "process", "web-service")),
        ..gold()
    };
    assert_eq!(
        decide(PLATFORM, &labelled).result.unwrap().profile,
        "web-service",
        "though the label says batch-job"
    );
}

#[test]
fn another_profile_at_the_same_place_is_no_move() {
    let mut current = at("local", "process", "web-service");
    current.data = vec!["db".to_owned()];
    let placed = decide(PLATFORM, &Asked { profile: Some("batch-job"), current: Some(current), ..gold() })
        .result
        .unwrap();
    assert_eq!((placed.profile.as_str(), placed.placement.backend_id.as_str()), ("batch-job", "local"));
    assert_eq!(placed.terms, Terms::Configured { kind: Kind::Job, values: Map::new() });
}

#[test]
fn an_edit_of_the_document_never_moves_what_runs() {
    for (edit, platform) in [
        ("the backend is gone", PLATFORM.replace("backendId: eu", "backendId: us")),
        ("the backend is another place", PLATFORM.replace("runtimeClass: kubernetes", "runtimeClass: ecs")),
        ("the backend takes others", PLATFORM.replace("tier: gold", "tier: platinum")),
        ("the profile is gone", PLATFORM.replace("web-service", "web")),
        ("the backend offers less", PLATFORM.replace("cpu: 1-8", "cpu: 2-8")),
    ] {
        let platform = platform.replace("values: {replicas: 2}", "");
        for profile in [None, Some("web-service")] {
            for data in [vec![], vec!["db".to_owned()]] {
                let mut current = at("eu", "kubernetes", "web-service");
                current.data = data;
                let outcome = decide(&platform, &Asked { profile, current: Some(current), ..gold() });
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
fn a_workload_that_no_longer_fits_is_placed_anew() {
    for change in ["spec", "requirements", "profile"] {
        let mut asked = Asked { current: Some(at("eu", "kubernetes", "web-service")), ..gold() };
        let current = asked.current.as_mut().unwrap();
        match change {
            "spec" => {
                current.unchanged = false;
                asked.cpu = "16";
            }
            "requirements" => {
                current.requirements = vec!["gpu".to_owned()];
                asked.labels.clear();
            }
            _ => asked.profile = Some("batch-job"),
        }
        assert_eq!(backend(PLATFORM, &asked).unwrap(), "local", "{change}");
        asked.current.as_mut().unwrap().data = vec!["files".to_owned(), "db".to_owned()];
        assert_eq!(
            backend(PLATFORM, &asked).unwrap_err(),
            "the workload would move from \"eu\" to \"local\", and the data of `db` and `files` would stay behind; undo the change, or set the annotation score.dev/abandon-data to \"true\" to give the data up",
            "{change}"
        );
        asked.abandon_data = true;
        assert_eq!(backend(PLATFORM, &asked).unwrap(), "local", "{change}");
    }
}

#[test]
fn without_a_plan_there_are_no_terms_to_be_kept_on() {
    let mut current = at("gone", "kubernetes", "");
    current.profile = None;
    assert_eq!(backend(PLATFORM, &Asked { current: Some(current.clone()), ..gold() }).unwrap(), "eu");
    current.data = vec!["db".to_owned()];
    assert!(
        backend(PLATFORM, &Asked { current: Some(current), ..gold() })
            .unwrap_err()
            .contains("the data of `db`")
    );
    let mut current = at("local", "process", "");
    current.profile = None;
    assert_eq!(
        backend(PLATFORM, &Asked { current: Some(current), ..gold() }).unwrap(),
        "local",
        "it stays where its claims are"
    );
}

#[test]
fn a_move_to_the_best_leaves_the_place_unless_data_is_there() {
    let mut asked =
        Asked { move_to: Some(Move::Best), current: Some(at("local", "process", "web-service")), ..gold() };
    assert_eq!(backend(PLATFORM, &asked).unwrap(), "eu");
    asked.current.as_mut().unwrap().data = vec!["db".to_owned()];
    assert!(backend(PLATFORM, &asked).unwrap_err().contains("score.dev/abandon-data"));
    asked.labels.clear();
    assert_eq!(backend(PLATFORM, &asked).unwrap(), "local", "where the best is where it is, nothing moves");
}

#[test]
fn a_move_to_a_backend_goes_there_and_nowhere_else() {
    let mut asked = Asked {
        move_to: Some(Move::Backend("local")),
        current: Some(at("eu", "kubernetes", "web-service")),
        ..gold()
    };
    assert_eq!(backend(PLATFORM, &asked).unwrap(), "local");
    asked.current.as_mut().unwrap().data = vec!["db".to_owned()];
    assert!(backend(PLATFORM, &asked).unwrap_err().contains("score.dev/abandon-data"));
    asked.move_to = Some(Move::Backend("loacl"));
    assert_eq!(
        backend(PLATFORM, &asked).unwrap_err(),
        "the annotation score.dev/move names \"loacl\", which does not exist; did you mean `local`?"
    );
    asked.move_to = Some(Move::Backend("nights"));
    assert_eq!(
        backend(PLATFORM, &asked).unwrap_err(),
        "the annotation score.dev/move names \"nights\", which serves `batch-job` and not the profile \"web-service\"; use `eu` or `local`, or `best`"
    );
    let asked = Asked {
        move_to: Some(Move::Backend("eu")),
        current: Some(at("local", "process", "web-service")),
        ..Asked::default()
    };
    assert!(
        backend(PLATFORM, &asked)
            .unwrap_err()
            .starts_with("the workload cannot move to \"eu\" (it takes workloads by label")
    );
}

#[test]
fn a_move_that_has_happened_is_an_ordinary_stay() {
    let asked = Asked {
        move_to: Some(Move::Backend("eu")),
        current: Some(at("eu", "kubernetes", "web-service")),
        ..gold()
    };
    assert!(matches!(decide(PLATFORM, &asked).explanation.conclusion, Conclusion::Stays(_)));
    let edited = PLATFORM.replace("backendId: eu", "backendId: us");
    assert!(matches!(decide(&edited, &asked).explanation.conclusion, Conclusion::Kept { .. }));
    let mut changed = Asked { cpu: "16", ..asked.clone() };
    changed.current.as_mut().unwrap().unchanged = false;
    assert!(
        backend(PLATFORM, &changed)
            .unwrap_err()
            .starts_with("the workload cannot move to \"eu\" (takes at most 8 cpu")
    );
    let mut elsewhere = asked;
    elsewhere.current.as_mut().unwrap().data = vec!["db".to_owned()];
    let edited = PLATFORM.replace("runtimeClass: kubernetes", "runtimeClass: ecs");
    assert!(
        backend(&edited, &elsewhere).unwrap_err().contains("the data of `db`"),
        "it is another place now"
    );
}

#[test]
fn an_explanation_is_a_value_that_tools_can_read() {
    let asked = Asked { requirements: set(&["scale-to-zero"]), ..gold() };
    assert_eq!(
        serde_json::to_value(decide(PLATFORM, &asked).explanation).unwrap(),
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
