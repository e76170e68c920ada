//! Config in force: the one of the config map, or the last good one while that is missing or invalid.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use orchestra_api::config::CONFIG_KEY;

use super::{Config, Fault, PlatformKind, check_for};

/// Config in force, and the problem that prevents a newer one.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The config.
    pub config: Arc<Config>,
    /// Problem of the config map, which keeps the last good config in force.
    pub problem: Option<Problem>,
}

/// Problem of the config map.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The config map is missing, although a custom config was in force.
    Missing,
    /// The config map lacks the key. An empty text would be valid.
    KeyMissing,
    /// The config has faults.
    Invalid(Vec<Fault>),
}

/// Text of the orchestrator config in a config map.
pub fn text(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get(CONFIG_KEY).map(String::as_str)
}

/// Last good config, given the config map that stores it; `None` if none is stored.
pub fn last_good(platform: PlatformKind, stored: Option<&ConfigMap>) -> Result<Option<Arc<Config>>, Problem> {
    let Some(stored) = stored else { return Ok(None) };
    let text = text(stored).ok_or(Problem::KeyMissing)?;
    check_for(platform, text).map(|config| Some(Arc::new(config))).map_err(Problem::Invalid)
}

/// Config in force, given the config map of the platform and the one that stores the last good config. An invalid stored
/// config is ignored.
pub fn of_maps(platform: PlatformKind, map: Option<&ConfigMap>, stored: Option<&ConfigMap>) -> InForce {
    in_force(platform, map, last_good(platform, stored).unwrap_or_default())
}

/// Config in force, given the config map of the platform and the last good config.
pub fn in_force(platform: PlatformKind, map: Option<&ConfigMap>, last_good: Option<Arc<Config>>) -> InForce {
    let builtin = || Arc::new(Config::builtin_for(platform));
    let problem = match map.map(text) {
        None if last_good.as_ref().is_none_or(|last_good| **last_good == Config::builtin_for(platform)) => {
            return InForce { config: builtin(), problem: None };
        }
        None => Problem::Missing,
        Some(None) => Problem::KeyMissing,
        Some(Some(text)) => match check_for(platform, text) {
            Ok(config) => return InForce { config: Arc::new(config), problem: None },
            Err(faults) => Problem::Invalid(faults),
        },
    };
    InForce { config: last_good.unwrap_or_else(builtin), problem: Some(problem) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, from_value, json};

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
    fn a_stored_config_that_is_no_longer_valid_is_a_problem() {
        let read = |map: Option<ConfigMap>| last_good(PlatformKind::MACHINE, map.as_ref());
        assert_eq!(read(None), Ok(None));
        let custom = Arc::new(check_for(PlatformKind::MACHINE, CUSTOM).unwrap());
        assert_eq!(read(Some(map(&json!({"config.yaml": CUSTOM})))), Ok(Some(custom)));
        assert_eq!(read(Some(map(&json!({})))), Err(Problem::KeyMissing));
        let invalid = read(Some(map(&json!({"config.yaml": "kind: x"}))));
        assert!(matches!(invalid, Err(Problem::Invalid(_))), "{invalid:?}");
    }

    #[test]
    fn an_invalid_stored_config_is_ignored() {
        let stored = map(&json!({"config.yaml": "kind: x"}));
        let found = of_maps(PlatformKind::CLUSTER, None, Some(&stored));
        assert_eq!(*found.config, Config::builtin_for(PlatformKind::CLUSTER));
        assert_eq!(found.problem, None);
        let stored = map(&json!({"config.yaml": CUSTOM}));
        assert_eq!(of_maps(PlatformKind::CLUSTER, None, Some(&stored)).problem, Some(Problem::Missing));
    }

    #[test]
    fn the_last_good_config_stays_while_the_config_map_is_missing_or_invalid() {
        let custom = Arc::new(check_for(PlatformKind::MACHINE, CUSTOM).unwrap());
        let builtin = Arc::new(Config::builtin());
        for (map, last_good, expected, is_problem) in [
            (None, None, &builtin, false),
            (None, Some(&builtin), &builtin, false),
            (None, Some(&custom), &custom, true),
            (Some(map(&json!({}))), None, &builtin, true),
            (Some(map(&json!({}))), Some(&custom), &custom, true),
            (Some(map(&json!({"config.yaml": "kind: x"}))), Some(&custom), &custom, true),
            (Some(map(&json!({"config.yaml": "kind: x"}))), None, &builtin, true),
            (Some(map(&json!({"config.yaml": ""}))), Some(&custom), &builtin, false),
            (Some(map(&json!({"config.yaml": CUSTOM}))), None, &custom, false),
        ] {
            let found = in_force(PlatformKind::MACHINE, map.as_ref(), last_good.cloned());
            assert_eq!(
                (&found.config, found.problem.is_some()),
                (expected, is_problem),
                "{map:?} {last_good:?}"
            );
        }
    }
}
