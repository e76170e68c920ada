//! What a platform stands on, which decides what holds where its document says nothing.

use orchestra_api::config::{Backend, Profile, ProfileKind};

use super::{
    BATCH_JOB, WEB_SERVICE,
    builtin::{KUBERNETES, PROCESS},
};

/// What a platform stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// One machine, whose programs Workloads are.
    #[default]
    Machine,
    /// A cluster.
    Cluster,
}

impl Ground {
    /// The ground of a platform that runs plans of these classes: a cluster if it can run nothing on a machine, but
    /// can on a cluster.
    pub fn of<'a>(runtime_classes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut is_cluster = false;
        for class in runtime_classes {
            if class == PROCESS {
                return Self::Machine;
            }
            is_cluster |= class == KUBERNETES;
        }
        if is_cluster { Self::Cluster } else { Self::Machine }
    }

    /// The profiles of a document that has none.
    pub(super) fn profiles(self) -> Vec<Profile> {
        // One machine is one place, whatever runs on it; and so is one cluster.
        let (id, class, place) = match self {
            Self::Machine => ("local", PROCESS, "on this machine"),
            Self::Cluster => ("cluster", KUBERNETES, "on this cluster"),
        };
        let profile = |name: &str, kind, what: &str| Profile {
            name: name.to_owned(),
            kind,
            description: Some(format!("{what}, {place}")),
            backends: vec![Backend {
                backend_id: id.to_owned(),
                runtime_class: class.to_owned(),
                ..Backend::default()
            }],
        };
        vec![
            profile(WEB_SERVICE, ProfileKind::Service, "keeps running"),
            profile(BATCH_JOB, ProfileKind::Job, "runs to an end"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_platform_stands_on_a_cluster_only_if_it_runs_nothing_on_a_machine() {
        for (classes, ground) in [
            (&[][..], Ground::Machine),
            (&["process"], Ground::Machine),
            (&["kubernetes"], Ground::Cluster),
            (&["kubernetes", "process"], Ground::Machine),
            (&["mainframe"], Ground::Machine),
        ] {
            assert_eq!(Ground::of(classes.iter().copied()), ground, "{classes:?}");
        }
    }

    #[test]
    fn an_empty_document_has_the_same_profiles_on_every_ground_and_runs_them_there() {
        for (ground, place) in [(Ground::Machine, "local/process"), (Ground::Cluster, "cluster/kubernetes")] {
            let config = super::super::check_on(ground, "").unwrap();
            assert_eq!(config, Config::builtin_on(ground));
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
