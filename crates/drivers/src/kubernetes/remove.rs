//! Takes down what was written down, and nothing else: what is listed and bears the uid of the Workload.

use kube::api::ListParams;
use orchestra_api::plan::InventoryItem;
use orchestra_core::render::kubernetes::WORKLOAD_UID;

use super::{Kubernetes, held::Facts, kind::Kind, memory::Id, of_workload, refusal::refusal};
use crate::{DriverError, Removed, Target};

impl Kubernetes {
    /// Takes down what is listed.
    pub(super) async fn take_down(
        &self,
        target: &Target,
        inventory: &[InventoryItem],
    ) -> Result<Removed, DriverError> {
        let id = (target.namespace.clone(), target.name.clone());
        let uid = target.plan.workload_ref.uid.as_str();
        // What leads to it goes first, and what it needs goes last.
        let mut items: Vec<_> =
            inventory.iter().filter_map(|item| Some((Kind::of_inventory(&item.kind)?, item))).collect();
        items.sort_by_key(|(kind, item)| (*kind, item.name.as_str()));
        let mut stopping = false;
        for (kind, item) in &items {
            let held = match self.memory.held(&id, *kind, &item.name) {
                Some(held) if !matches!(kind, Kind::Secret | Kind::ConfigMap) => Some(held),
                _ => match self.look_up(&id, *kind, &item.name).await {
                    // A kind that the cluster does not know has no objects.
                    Err(DriverError::Refused { .. }) if *kind == Kind::HttpRoute => None,
                    found => found?,
                },
            };
            let Some(held) = held.filter(|held| held.owner.as_deref() == Some(uid)) else { continue };
            stopping |= held.is_leaving || self.delete(&id, &held).await?;
        }
        let has_run = items.iter().any(|(kind, _)| kind.maker().is_some());
        if has_run && !self.runs_otherwise(&id) && self.has_copies(&id, uid).await? {
            return Ok(Removed::Stopping("What ran is being stopped.".to_owned()));
        }
        if stopping {
            return Ok(Removed::Stopping("What was made for it is being taken down.".to_owned()));
        }
        if has_run && !self.runs_otherwise(&id) {
            self.memory.forget(&id);
        }
        Ok(Removed::Gone)
    }

    /// Whether something else than what was taken down runs the Workload.
    fn runs_otherwise(&self, id: &Id) -> bool {
        let view = self.memory.view(id);
        view.objects.iter().any(|held| matches!(held.facts, Facts::Rollout(_)) && !held.is_leaving)
    }

    /// Whether copies of a Workload are still there.
    async fn has_copies(&self, id: &Id, uid: &str) -> Result<bool, DriverError> {
        if self.is_watching() {
            return Ok(self.memory.view(id).pods.iter().any(|pod| pod.owner.as_deref() == Some(uid)));
        }
        let ours = ListParams::default().labels(&of_workload(&id.1));
        let pods = self.api(Kind::Pod, &id.0).list(&ours).await;
        let pods = pods.map_err(|error| refusal(Kind::Pod, &error))?;
        let is_ours = |annotation: &String| annotation == uid;
        Ok(pods.items.iter().any(|pod| {
            let annotations = pod.metadata.annotations.as_ref();
            annotations.and_then(|all| all.get(WORKLOAD_UID)).is_some_and(is_ours)
        }))
    }
}
