//! Reload of the config: the one in force afterwards, and what is reported and stored.

use std::{fmt, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use orchestra_api::config::CONFIG_KEY;

use super::{Config, InForce, PlatformKind, Problem, in_force, text};

/// Outcome of a reload.
#[derive(Clone, Debug)]
#[must_use]
pub struct Reload {
    /// Config in force.
    pub config: Arc<Config>,
    /// True if it differs from the one before.
    pub changed: bool,
    /// Text to store as the last good config, until it is the stored one. An invalid config does not end the retries of the one in
    /// force.
    pub store: Option<String>,
    /// Event to record on the config map.
    pub event: Option<ConfigEvent>,
    /// Problem that keeps the last good config in force.
    pub problem: Option<Problem>,
    /// True if the config map was rejected: the next valid one is worth an event.
    pub rejected: bool,
}

/// Event about a config map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEvent {
    /// True for a warning.
    pub warning: bool,
    /// Reason.
    pub reason: &'static str,
    /// Note.
    pub note: String,
}

impl ConfigEvent {
    fn invalid(problem: &Problem) -> Self {
        let note = format!("The config is invalid, and the last good one stays in force: {problem}.");
        Self { warning: true, reason: "ConfigInvalid", note }
    }

    fn loaded() -> Self {
        let note = "The config is valid again and in force.".to_owned();
        Self { warning: false, reason: "ConfigLoaded", note }
    }
}

/// Reads the config map again, given the config in force, the stored text and the one that is still to be stored, and whether the
/// previous map was rejected.
pub fn reload(
    platform: PlatformKind,
    map: Option<&ConfigMap>,
    before: &Arc<Config>,
    stored: Option<&str>,
    pending: Option<&str>,
    was_rejected: bool,
) -> Reload {
    let InForce { config, problem } = in_force(platform, map, Some(Arc::clone(before)));
    let changed = problem.is_none() && *before != config;
    let event = match (map, &problem) {
        // Without a config map there is no object for an event.
        (None, _) => None,
        (Some(_), Some(problem)) => Some(ConfigEvent::invalid(problem)),
        (Some(_), None) => was_rejected.then(ConfigEvent::loaded),
    };
    // An empty text is the built-in config, like none.
    let is_stored = |text: &str| stored.unwrap_or_default() == text;
    let text = map.and_then(text).unwrap_or_default();
    let store = if problem.is_some() { pending } else { Some(text).filter(|text| !is_stored(text)) };
    Reload {
        config,
        changed,
        store: store.map(ToOwned::to_owned),
        rejected: if map.is_some() { problem.is_some() } else { was_rejected },
        event,
        problem,
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => {
                f.write_str("the config map is missing; create an empty one to use the built-in config")
            }
            Self::KeyMissing => write!(
                f,
                "the key `{CONFIG_KEY}` is missing; set it to an empty text to use the built-in config"
            ),
            Self::Invalid(faults) => {
                let first = faults.first().map(ToString::to_string).unwrap_or_default();
                write!(f, "{first}")?;
                match faults.len().saturating_sub(1) {
                    0 => {}
                    more => write!(f, " (and {more} more)")?,
                }
                f.write_str(". Run `orchestra config check` for all errors")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, from_value, json};

    use super::*;

    const CUSTOM: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec: {profiles: [{name: web, backends: [{backendId: a, runtimeClass: others}]}]}
";

    fn map(data: &Json) -> ConfigMap {
        from_value(json!({"data": data})).unwrap()
    }

    #[test]
    fn only_a_valid_config_that_differs_is_taken_and_stored() {
        let builtin = Arc::new(Config::builtin());
        let (custom, invalid) =
            (map(&json!({"config.yaml": CUSTOM})), map(&json!({"config.yaml": "kind: x"})));
        let first = reload(PlatformKind::MACHINE, Some(&custom), &builtin, None, None, false);
        assert!(first.changed && first.problem.is_none() && !first.rejected);
        assert_eq!((first.store.as_deref(), first.event), (Some(CUSTOM), None));
        let again = reload(PlatformKind::MACHINE, Some(&custom), &first.config, Some(CUSTOM), None, false);
        assert_eq!((again.changed, again.store, again.event), (false, None, None));
        let rejected =
            reload(PlatformKind::MACHINE, Some(&invalid), &first.config, Some(CUSTOM), None, false);
        assert_eq!((&rejected.config, rejected.changed, rejected.store), (&first.config, false, None));
        assert_eq!(rejected.event.map(|event| (event.warning, event.reason)), Some((true, "ConfigInvalid")));
        assert!(rejected.rejected);
        let pending =
            reload(PlatformKind::MACHINE, Some(&invalid), &first.config, None, Some(CUSTOM), false).store;
        assert_eq!(pending.as_deref(), Some(CUSTOM), "an invalid config ends no retries");
    }

    #[test]
    fn a_valid_config_is_stored_until_the_stored_text_is_equal() {
        let config = Arc::new(super::super::check_for(PlatformKind::MACHINE, CUSTOM).unwrap());
        let (custom, empty) = (map(&json!({"config.yaml": CUSTOM})), map(&json!({"config.yaml": ""})));
        let store = |map: Option<&ConfigMap>, before: &Arc<Config>, stored: Option<&str>| {
            reload(PlatformKind::MACHINE, map, before, stored, None, false).store
        };
        assert_eq!(store(Some(&custom), &config, None).as_deref(), Some(CUSTOM), "storing it failed");
        assert_eq!(store(Some(&custom), &config, Some("kind: x")).as_deref(), Some(CUSTOM));
        assert_eq!(store(Some(&custom), &config, Some(CUSTOM)), None);
        let builtin = Arc::new(Config::builtin());
        assert_eq!(store(None, &builtin, None), None);
        assert_eq!(store(Some(&empty), &builtin, None), None);
        assert_eq!(store(Some(&empty), &builtin, Some(CUSTOM)).as_deref(), Some(""));
    }

    #[test]
    fn a_valid_config_is_reported_once_after_a_rejected_one() {
        let before = Arc::new(Config::builtin());
        let empty = map(&json!({"config.yaml": ""}));
        let valid = reload(PlatformKind::MACHINE, Some(&empty), &before, None, None, true);
        assert_eq!((valid.event, valid.rejected), (Some(ConfigEvent::loaded()), false));
        let valid = reload(PlatformKind::MACHINE, Some(&empty), &before, None, None, false);
        assert_eq!((valid.event, valid.rejected), (None, false));
        // A config map that is missing meanwhile changes nothing.
        let missing = reload(PlatformKind::MACHINE, None, &before, None, None, true);
        assert_eq!((missing.event, missing.rejected), (None, true));
    }

    #[test]
    fn a_problem_names_its_remedy() {
        let before = Arc::new(Config::builtin());
        for (data, expected) in [
            (json!({}), "the key `config.yaml` is missing; set it to an empty text"),
            (json!({"config.yaml": "kind: x"}), "Run `orchestra config check` for all errors"),
        ] {
            let problem =
                reload(PlatformKind::MACHINE, Some(&map(&data)), &before, None, None, false).problem.unwrap();
            assert!(problem.to_string().contains(expected), "{problem}");
        }
    }
}
