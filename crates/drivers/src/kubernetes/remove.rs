//! Deletion of the recorded inventory, and nothing else: objects that are listed and have the uid of the Workload.

use std::collections::BTreeSet;

use kube::api::ListParams;
use orchestra_api::{Reason, finalizer, plan::InventoryItem};
use orchestra_core::render::kubernetes::WORKLOAD_UID;

use super::{Kubernetes, api_error::driver_error, kind::Kind, object_state::Facts, of_workload};
use crate::{DriverError, DriverErrorKind, NamespacedName, Removed, Target};

impl Kubernetes {
    /// Deletes the listed objects.
    pub(super) async fn delete_inventory(
        &self,
        target: &Target,
        inventory: &[InventoryItem],
    ) -> Result<Removed, DriverError> {
        self.wait_for_sync().await;
        let id = (target.namespace.clone(), target.name.clone());
        let uid = target.plan.workload_ref.uid.as_str();
        // Routes first, configuration last.
        let mut items = Vec::new();
        let mut unknown = BTreeSet::new();
        for item in inventory {
            match Kind::of_inventory(&item.kind) {
                Some(kind) => items.push((kind, item)),
                None => drop(unknown.insert(item.kind.as_str())),
            }
        }
        items.sort_by_key(|(kind, item)| (*kind, item.name.as_str()));
        let mut stopping = false;
        for (kind, item) in &items {
            let live = match self.cache.object(&id, *kind, &item.name) {
                Some(live) if !matches!(kind, Kind::Secret | Kind::ConfigMap) => Some(live),
                _ => match self.get_object(&id, *kind, &item.name).await {
                    // A kind that is not installed has no objects.
                    Err(error) if *kind == Kind::HttpRoute && error.kind == DriverErrorKind::Unwatched => {
                        None
                    }
                    found => found?,
                },
            };
            let Some(live) = live.filter(|live| live.owner.as_deref() == Some(uid)) else { continue };
            stopping |= live.is_deleting || self.delete(&id, &live).await?;
        }
        let has_run = items.iter().any(|(kind, _)| kind.rollout_kind().is_some());
        if has_run && !self.has_other_rollout(&id) && self.has_pods(&id, uid).await? {
            return Ok(Removed::Stopping("Stopping its programs.".to_owned()));
        }
        if stopping {
            return Ok(Removed::Stopping("Deleting its objects.".to_owned()));
        }
        if !unknown.is_empty() {
            return Err(unknown_kinds(&unknown));
        }
        if has_run && !self.has_other_rollout(&id) {
            self.cache.forget(&id);
        }
        Ok(Removed::Gone)
    }

    /// True if another controller than the deleted ones runs the Workload.
    fn has_other_rollout(&self, id: &NamespacedName) -> bool {
        let view = self.cache.view(id);
        view.objects.iter().any(|live| matches!(live.facts, Facts::Rollout(_)) && !live.is_deleting)
    }

    /// True if pods of a Workload still exist.
    async fn has_pods(&self, id: &NamespacedName, uid: &str) -> Result<bool, DriverError> {
        // The cache has no pods before their first list.
        if self.has_synced(Kind::Pod) {
            return Ok(self.cache.view(id).pods.iter().any(|pod| pod.owner.as_deref() == Some(uid)));
        }
        let ours = ListParams::default().labels(&of_workload(&id.1));
        let pods = self.api(Kind::Pod, &id.0).list(&ours).await;
        let pods = pods.map_err(|error| driver_error(Kind::Pod, "", error))?;
        let is_ours = |annotation: &String| annotation == uid;
        Ok(pods.items.iter().any(|pod| {
            let annotations = pod.metadata.annotations.as_ref();
            annotations.and_then(|all| all.get(WORKLOAD_UID)).is_some_and(is_ours)
        }))
    }
}

/// Recorded objects of kinds that this version cannot delete.
#[derive(Debug, thiserror::Error)]
#[error("the inventory contains unknown kinds: {0}")]
struct UnknownKinds(String);

/// Error for recorded objects that a newer version created.
fn unknown_kinds(kinds: &BTreeSet<&str>) -> DriverError {
    let kinds = kinds.iter().copied().collect::<Vec<_>>().join(", ");
    DriverError::unwatched(
        Reason::RuntimeDegraded,
        format!(
            "A newer version of the orchestrator created a part of it that this version cannot delete: the platform's administrators must install that version again, or delete the part and remove the finalizer `{}` from the plan.",
            finalizer::RUNTIME
        ),
    )
    .with_source(UnknownKinds(kinds))
}

#[cfg(test)]
mod tests;
