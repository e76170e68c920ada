//! Deletion of the recorded inventory, and nothing else: objects that are listed and have the uid of the Workload.

use kube::api::ListParams;
use orchestra_api::plan::InventoryItem;
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
        let id = (target.namespace.clone(), target.name.clone());
        let uid = target.plan.workload_ref.uid.as_str();
        // Routes first, configuration last.
        let mut items: Vec<_> =
            inventory.iter().filter_map(|item| Some((Kind::of_inventory(&item.kind)?, item))).collect();
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
        if self.is_watching() {
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
