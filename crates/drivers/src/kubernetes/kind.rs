//! The kinds of objects that are made for Workloads.

use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service},
    networking::v1::Ingress,
};
use kube::core::{ApiResource, GroupVersionKind};
use orchestra_core::observe::kubernetes::Maker;
use serde_json::Value as Json;

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Ingress,
    HttpRoute,
    Service,
    Deployment,
    StatefulSet,
    Job,
    Secret,
    ConfigMap,
    Pod,
}

impl Kind {
    /// Those that are made, in the order in which they are taken down.
    const MADE: [Self; 8] = [
        Self::Ingress,
        Self::HttpRoute,
        Self::Service,
        Self::Deployment,
        Self::StatefulSet,
        Self::Job,
        Self::Secret,
        Self::ConfigMap,
    ];

    /// Those that are watched from the start. Secrets are read one by one only, so that nobody needs the right to read
    /// those of others; of files it is watched only that they change, since they may be large; the Gateway API may be
    /// absent.
    pub(super) const WATCHED: [Self; 6] =
        [Self::Pod, Self::Deployment, Self::StatefulSet, Self::Job, Self::Service, Self::Ingress];

    /// Its name, and its group; the core has none.
    const fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::Ingress => ("Ingress", "networking.k8s.io"),
            Self::HttpRoute => ("HTTPRoute", "gateway.networking.k8s.io"),
            Self::Service => ("Service", ""),
            Self::Deployment => ("Deployment", "apps"),
            Self::StatefulSet => ("StatefulSet", "apps"),
            Self::Job => ("Job", "batch"),
            Self::Secret => ("Secret", ""),
            Self::ConfigMap => ("ConfigMap", ""),
            Self::Pod => ("Pod", ""),
        }
    }

    fn find(kind: &str, group: &str) -> Option<Self> {
        Self::MADE.into_iter().find(|made| made.named() == (kind, group))
    }

    /// As the inventory writes it: `Deployment.apps`, `Service`.
    pub(super) fn written(self) -> String {
        match self.named() {
            (kind, "") => kind.to_owned(),
            (kind, group) => format!("{kind}.{group}"),
        }
    }

    /// The kind that the inventory means.
    pub(super) fn of_inventory(written: &str) -> Option<Self> {
        let (kind, group) = written.split_once('.').unwrap_or((written, ""));
        Self::find(kind, group)
    }

    /// The kind of a rendered object. Each is rendered in one version.
    pub(super) fn of(object: &Json) -> Option<Self> {
        let (version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
        let (group, _) = version.split_once('/').unwrap_or(("", version));
        Self::find(kind, group)
    }

    /// How the API names it.
    pub(super) fn resource(self) -> ApiResource {
        match self {
            Self::Ingress => ApiResource::erase::<Ingress>(&()),
            Self::HttpRoute => ApiResource::from_gvk_with_plural(
                &GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "HTTPRoute"),
                "httproutes",
            ),
            Self::Service => ApiResource::erase::<Service>(&()),
            Self::Deployment => ApiResource::erase::<Deployment>(&()),
            Self::StatefulSet => ApiResource::erase::<StatefulSet>(&()),
            Self::Job => ApiResource::erase::<Job>(&()),
            Self::Secret => ApiResource::erase::<Secret>(&()),
            Self::ConfigMap => ApiResource::erase::<ConfigMap>(&()),
            Self::Pod => ApiResource::erase::<Pod>(&()),
        }
    }

    /// What it is to the copies of a Workload.
    pub(super) fn maker(self) -> Option<Maker> {
        match self {
            Self::Deployment => Some(Maker::Deployment),
            Self::StatefulSet => Some(Maker::StatefulSet),
            Self::Job => Some(Maker::Job),
            _ => None,
        }
    }

    /// What it is to people.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Ingress | Self::HttpRoute => "a route",
            Self::Service => "an address",
            Self::Deployment | Self::StatefulSet | Self::Job | Self::Pod => "something that runs",
            Self::Secret => "a secret",
            Self::ConfigMap => "a set of files",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_inventory_names_is_found_again() {
        for (written, kind) in [
            ("Deployment.apps", Kind::Deployment),
            ("Service", Kind::Service),
            ("Job.batch", Kind::Job),
            ("Ingress.networking.k8s.io", Kind::Ingress),
            ("HTTPRoute.gateway.networking.k8s.io", Kind::HttpRoute),
        ] {
            assert_eq!(Kind::of_inventory(written), Some(kind), "{written}");
        }
        assert_eq!(Kind::of_inventory("Pod"), None);
        for kind in Kind::MADE {
            let ApiResource { kind: name, group, .. } = kind.resource();
            assert_eq!(kind.named(), (&*name, &*group));
        }
        assert_eq!(Kind::of(&json!({"apiVersion": "apps/v1", "kind": "Deployment"})), Some(Kind::Deployment));
        assert_eq!(Kind::of(&json!({"apiVersion": "v1", "kind": "Node"})), None);
    }
}
