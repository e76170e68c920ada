//! Record of what a runtime created for a plan, or is about to create.

use orchestra_api::{
    Placement, WorkloadPlan, annotation,
    plan::{InventoryItem, WorkloadPlanStatus},
};
use serde::{Deserialize, Serialize};

/// Placement and inventory of what was created for a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Placement.
    pub placement: Placement,
    /// Objects.
    pub inventory: Vec<InventoryItem>,
}

impl Record {
    /// Record of a plan: its status, or before the first status its annotation.
    pub fn of(plan: &WorkloadPlan) -> Option<Self> {
        let Some(status) = &plan.status else { return Self::first(plan) };
        let placement = status.placement.clone().filter(|_| !status.inventory.is_empty())?;
        Some(Self { placement, inventory: status.inventory.clone() })
    }

    fn first(plan: &WorkloadPlan) -> Option<Self> {
        let text = plan.metadata.annotations.as_ref()?.get(annotation::INVENTORY)?;
        serde_json::from_str(text).ok()
    }

    /// Value of the annotation.
    pub fn annotation(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Status of a plan. Before the first one, it has the record only.
pub(super) fn current_status(plan: &WorkloadPlan) -> WorkloadPlanStatus {
    plan.status.clone().unwrap_or_else(|| {
        let (placement, inventory) =
            Record::of(plan).map(|record| (record.placement, record.inventory)).unzip();
        WorkloadPlanStatus {
            placement,
            inventory: inventory.unwrap_or_default(),
            ..WorkloadPlanStatus::default()
        }
    })
}
