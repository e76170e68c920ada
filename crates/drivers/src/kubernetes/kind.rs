//! Kinds of objects that are created for Workloads.

use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service},
    networking::v1::Ingress,
};
use kube::core::{ApiResource, GroupVersionKind};
use orchestra_core::observe::kubernetes::RolloutKind;
use serde_json::Value as Json;

/// Kind of object.
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
    /// Created kinds, in the order of deletion.
    const MANAGED: [Self; 8] = [
        Self::Ingress,
        Self::HttpRoute,
        Self::Service,
        Self::Deployment,
        Self::StatefulSet,
        Self::Job,
        Self::Secret,
        Self::ConfigMap,
    ];

    /// Kinds that are watched from the start. Secrets are only read one by one, so that the orchestrator needs no right to list
    /// them; of config maps only metadata is watched, since they may be large; the Gateway API may be absent.
    pub(super) const WATCHED: [Self; 6] =
        [Self::Pod, Self::Deployment, Self::StatefulSet, Self::Job, Self::Service, Self::Ingress];

    /// Kind and group; the core group is empty.
    pub(super) const fn named(self) -> (&'static str, &'static str) {
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
        Self::MANAGED.into_iter().find(|managed| managed.named() == (kind, group))
    }

    /// As in the inventory: `Deployment.apps`, `Service`.
    pub(super) fn written(self) -> String {
        match self.named() {
            (kind, "") => kind.to_owned(),
            (kind, group) => format!("{kind}.{group}"),
        }
    }

    /// Kind of an inventory item.
    pub(super) fn of_inventory(written: &str) -> Option<Self> {
        let (kind, group) = written.split_once('.').unwrap_or((written, ""));
        Self::find(kind, group)
    }

    /// Kind of a rendered object. Each is rendered in one version.
    pub(super) fn of(object: &Json) -> Option<Self> {
        let (version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
        let (group, _) = version.split_once('/').unwrap_or(("", version));
        Self::find(kind, group)
    }

    /// API resource.
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

    /// Kind of rollout, if its objects create pods.
    pub(super) fn rollout_kind(self) -> Option<RolloutKind> {
        match self {
            Self::Deployment => Some(RolloutKind::Deployment),
            Self::StatefulSet => Some(RolloutKind::StatefulSet),
            Self::Job => Some(RolloutKind::Job),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn inventory_kinds_round_trip() {
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
        for kind in Kind::MANAGED {
            let ApiResource { kind: name, group, .. } = kind.resource();
            assert_eq!(kind.named(), (&*name, &*group));
        }
        assert_eq!(Kind::of(&json!({"apiVersion": "apps/v1", "kind": "Deployment"})), Some(Kind::Deployment));
        assert_eq!(Kind::of(&json!({"apiVersion": "v1", "kind": "Node"})), None);
    }
}
