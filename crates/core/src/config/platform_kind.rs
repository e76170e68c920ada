//! Kind of a platform, which decides where Workloads run without a config.

use orchestra_api::config::{Profile, ProfileKind};

use super::{BATCH_JOB, WEB_SERVICE};
use crate::runtimes::{self, RuntimeClass};

/// Kind of a platform: the runtime class of Workloads that no config places elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformKind {
    default_class: &'static str,
}

impl PlatformKind {
    /// Platform whose Workloads run in a class by default.
    pub(crate) const fn with_default(default_class: &'static str) -> Self {
        Self { default_class }
    }

    /// Kind of a platform with these runtime classes: the first built-in class that has a default backend.
    pub fn of<'a>(runtime_classes: impl IntoIterator<Item = &'a str>) -> Self {
        let contained: Vec<&str> = runtime_classes.into_iter().collect();
        let is_default = |class: &&RuntimeClass| class.default_backend.is_some();
        let first = runtimes::all().filter(is_default).find(|class| contained.contains(&class.name));
        first.map_or(Self::MACHINE, |class| Self { default_class: class.name })
    }

    /// Profiles of a config that has none.
    pub(super) fn profiles(self) -> Vec<Profile> {
        let class = runtimes::find(self.default_class);
        let location = class.and_then(|class| class.default_backend.as_ref()).map(|backend| backend.location);
        let location = location.unwrap_or_default();
        let profile = |name: &str, kind, what: &str| Profile {
            name: name.to_owned(),
            kind,
            description: Some(format!("{what}, {location}")),
            backends: class.and_then(RuntimeClass::backend).into_iter().collect(),
        };
        vec![
            profile(WEB_SERVICE, ProfileKind::Service, "keeps running"),
            profile(BATCH_JOB, ProfileKind::Job, "runs to an end"),
        ]
    }
}

impl Default for PlatformKind {
    fn default() -> Self {
        Self::MACHINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_platform_is_a_cluster_only_if_it_runs_nothing_on_a_machine() {
        for (classes, platform) in [
            (&[][..], PlatformKind::MACHINE),
            (&["process"], PlatformKind::MACHINE),
            (&["kubernetes"], PlatformKind::CLUSTER),
            (&["kubernetes", "process"], PlatformKind::MACHINE),
            (&["mainframe"], PlatformKind::MACHINE),
        ] {
            assert_eq!(PlatformKind::of(classes.iter().copied()), platform, "{classes:?}");
        }
    }

    #[test]
    fn an_empty_config_has_the_same_profiles_on_every_kind_of_platform() {
        for (platform, place) in
            [(PlatformKind::MACHINE, "local/process"), (PlatformKind::CLUSTER, "cluster/kubernetes")]
        {
            let config = super::super::check_for(platform, "").unwrap();
            assert_eq!(config, Config::builtin_for(platform));
            let names: Vec<_> = config.profiles().keys().map(String::as_str).collect();
            assert_eq!(names, ["batch-job", "web-service"]);
            for profile in config.profiles().values() {
                let [backend] = &profile.backends[..] else { panic!("one place") };
                let there = &backend.placement;
                assert_eq!(format!("{}/{}", there.backend_id, there.runtime_class), place);
            }
        }
    }
}
