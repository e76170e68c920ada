//! Properties of placements for arbitrary configs and Workloads.

use super::*;
use crate::config;
use orchestra_api::config as api;
use proptest::{collection, option, prelude::*, sample::select, sample::subsequence};

const FEATURES: &[&str] = &["gpu", "ingress", "scale"];
const REGIONS: &[&str] = &["eu", "us"];
const PROFILES: &[&str] = &["api", "jobs", "web-service"];

/// [`Request`] with its own data.
#[derive(Clone, Debug)]
struct OwnedRequest {
    labels: BTreeMap<String, String>,
    profile: Option<&'static str>,
    requirements: BTreeSet<String>,
    region: Option<&'static str>,
    cpu: u8,
}

impl OwnedRequest {
    fn request<'a>(&'a self, current: Option<Current<'a>>) -> Request<'a> {
        Request {
            labels: &self.labels,
            profile: self.profile,
            policy_profile: None,
            allowed_profiles: None,
            requirements: &self.requirements,
            region: self.region,
            cpu: Quantity::cpu(&self.cpu.to_string()).unwrap(),
            memory: Quantity::ZERO,
            move_to: None,
            abandon_data: false,
            current,
        }
    }
}

fn owned(names: Vec<&'static str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn tier(value: Option<&str>) -> BTreeMap<String, String> {
    value.map(|value| ("tier".to_owned(), value.to_owned())).into_iter().collect()
}

fn constraints() -> impl Strategy<Value = api::Constraints> {
    (
        subsequence(FEATURES, 0..=3),
        subsequence(REGIONS, 0..=2),
        option::weighted(0.3, select(vec!["0-2", "1-", "-3", "2"])),
        option::weighted(0.3, select(vec!["gold", "iron"])),
    )
        .prop_map(|(features, regions, cpu, label)| api::Constraints {
            features: owned(features),
            regions: owned(regions),
            resources: api::ResourceRanges { cpu: cpu.map(str::to_owned), memory: None },
            selectors: label
                .map(|label| {
                    serde_json::from_value(serde_json::json!({"matchLabels": {"tier": label}})).unwrap()
                })
                .into_iter()
                .collect(),
        })
}

fn backend(id: &'static str) -> BoxedStrategy<api::Backend> {
    let version = option::of(select(vec!["1.0.0", "1.0.0-rc.1", "1.2.0", "1.10.0+b"]));
    (-1..2i64, version, constraints())
        .prop_map(move |(priority, version, constraints)| api::Backend {
            backend_id: id.to_owned(),
            runtime_class: format!("class-{id}"),
            priority,
            version: version.map(str::to_owned),
            constraints,
            values: Map::new(),
        })
        .boxed()
}

// Boxed: the state of many nested strategies does not fit on the stack of a test.
fn profile(name: &'static str) -> BoxedStrategy<api::Profile> {
    let all = (backend("a"), backend("b"), backend("c"), backend("d"));
    let all = all.prop_map(|(a, b, c, d)| vec![a, b, c, d]);
    all.prop_flat_map(|all| subsequence(all, 1..=4))
        .prop_shuffle()
        .prop_map(move |backends| api::Profile { name: name.to_owned(), backends, ..api::Profile::default() })
        .boxed()
}

fn document() -> BoxedStrategy<api::OrchestratorConfig> {
    let profiles = (profile("api"), profile("jobs"), profile("web-service"));
    let defaults = collection::vec((select(vec!["gold", "iron"]), select(PROFILES)), 0..3);
    (profiles, option::of(select(PROFILES)), defaults)
        .prop_map(|((a, b, c), default, selectors)| {
            let mut document = config::Config::builtin().document().clone();
            document.spec.profiles = vec![a, b, c];
            document.spec.defaults.profile = default.map(str::to_owned);
            let selector =
                |(label, profile)| serde_json::json!({"matchLabels": {"tier": label}, "profile": profile});
            let selectors = selectors.into_iter().map(selector);
            document.spec.defaults.selectors =
                selectors.map(|s| serde_json::from_value(s).unwrap()).collect();
            document
        })
        .boxed()
}

/// Config without a profile, or with another runtime class of a backend.
fn cut(mut document: api::OrchestratorConfig, gone: Option<usize>, other: &str) -> api::OrchestratorConfig {
    if let Some(gone) = gone {
        document.spec.profiles.remove(gone);
        document.spec.defaults.profile = Some(document.spec.profiles[0].name.clone());
        document.spec.defaults.selectors.clear();
    }
    for backend in document.spec.profiles.iter_mut().flat_map(|profile| &mut profile.backends) {
        if backend.backend_id == other {
            "another".clone_into(&mut backend.runtime_class);
        }
    }
    document
}

fn asked() -> impl Strategy<Value = OwnedRequest> {
    (
        option::of(select(vec!["gold", "iron"])),
        option::of(select(PROFILES)),
        subsequence(FEATURES, 0..=2),
        option::weighted(0.3, select(REGIONS)),
        0..4u8,
    )
        .prop_map(|(label, profile, requirements, region, cpu)| OwnedRequest {
            labels: tier(label),
            profile,
            requirements: owned(requirements).into_iter().collect(),
            region,
            cpu,
        })
}

fn checked(document: &api::OrchestratorConfig) -> Config {
    config::check(&serde_json::to_string(document).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_order_of_profiles_and_backends_does_not_matter(document in document(), asked in asked(), turn in 0..4usize) {
        let mut other = document.clone();
        other.spec.profiles.rotate_left(turn % 3);
        for profile in &mut other.spec.profiles {
            let by = turn % profile.backends.len();
            profile.backends.rotate_left(by);
            profile.backends.iter_mut().for_each(|backend| backend.constraints.features.reverse());
        }
        let request = asked.request(None);
        prop_assert_eq!(place(&checked(&document), &request), place(&checked(&other), &request));
    }

    #[test]
    fn the_chosen_backend_accepts_the_workload_and_every_backend_is_explained_once(document in document(), asked in asked()) {
        let config = checked(&document);
        let outcome = place(&config, &asked.request(None));
        let explanation = &outcome.explanation;
        let profile = &config.profiles()[&explanation.profile.as_ref().unwrap().name];
        let ids = |placements: Vec<&Placement>| {
            let mut ids: Vec<_> = placements.into_iter().cloned().collect();
            ids.sort();
            ids
        };
        prop_assert_eq!(
            ids(explanation.backends.iter().map(|backend| &backend.placement).collect()),
            ids(profile.backends.iter().map(|backend| &backend.placement).collect())
        );
        match outcome.result {
            Ok(placed) => {
                let winner = explanation.backends.iter().find(|b| b.placement == placed.placement).unwrap();
                prop_assert!(winner.dropped.is_empty());
                let best = explanation.backends.iter().filter(|b| b.dropped.is_empty()).map(|b| b.priority).max();
                prop_assert_eq!(Some(winner.priority), best);
                prop_assert_eq!(placed.profile.as_str(), profile.name.as_str());
            }
            Err(refusal) => {
                let is_no_candidate = matches!(refusal, Refusal::NoCandidate { .. });
                prop_assert!(is_no_candidate);
                prop_assert!(explanation.backends.iter().all(|backend| !backend.dropped.is_empty()));
            }
        }
    }

    #[test]
    fn no_edit_of_the_config_moves_a_workload(
        before in document(),
        after in document(),
        gone in option::of(0..3usize),
        other in select(vec!["a", "b", "none"]),
        asked in asked(),
        data: bool,
    ) {
        let after = cut(after, gone, other);
        let Ok(placed) = place(&checked(&before), &asked.request(None)).result else { return Ok(()) };
        let requirements: Vec<String> = asked.requirements.iter().cloned().collect();
        let data = if data { vec!["db".to_owned()] } else { Vec::new() };
        let current = Current {
            placement: &placed.placement,
            profile: Some(&placed.profile),
            requirements: &requirements,
            unchanged: true,
            data: &data,
        };
        let again = place(&checked(&after), &asked.request(Some(current)));
        let stayed = again.result.unwrap();
        prop_assert_eq!(&stayed.placement, &placed.placement);
        prop_assert_eq!(&stayed.profile, &placed.profile);
        let same = place(&checked(&before), &asked.request(Some(current)));
        prop_assert_eq!(same.result.unwrap(), placed.clone(), "an unchanged config changes nothing");
    }

    #[test]
    fn data_is_never_left_behind_without_consent(document in document(), before in asked(), after in asked(), best: bool) {
        let config = checked(&document);
        let Ok(placed) = place(&config, &before.request(None)).result else { return Ok(()) };
        let data = ["db".to_owned()];
        let requirements: Vec<String> = before.requirements.iter().cloned().collect();
        let current = Current {
            placement: &placed.placement,
            profile: Some(&placed.profile),
            requirements: &requirements,
            unchanged: false,
            data: &data,
        };
        let mut request = after.request(Some(current));
        request.move_to = best.then_some(Move::Best);
        if let Ok(next) = place(&config, &request).result {
            prop_assert_eq!(next.placement, placed.placement);
        }
    }
}
