//! Forwards of programs that run on without a supervisor: after a restart of the platform, in a namespace in which nothing new
//! may run.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use orchestra_score::model::Protocol;
use tokio::sync::Mutex;

use super::{forward::Forward, runs, state};
use crate::NamespacedName;

/// Forwards by Workload; `None` for one that has, or had, a supervisor, which opens its own. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptForwards(Arc<Mutex<BTreeMap<NamespacedName, Option<Vec<Forward>>>>>);

impl KeptForwards {
    /// Opens the forwards of the last good version of a Workload whose programs run, unless they are open.
    pub(super) fn keep(&self, id: NamespacedName, folder: PathBuf, workload: String) {
        let all = self.clone();
        tokio::spawn(async move {
            let mut all = all.0.lock().await;
            if all.contains_key(&id) || !runs::is_any_up(&folder) {
                return;
            }
            let Some(good) = state::read(&folder, &workload).good else { return };
            let mut forwards = Vec::new();
            for port in good.ports.values().filter(|port| port.protocol == Protocol::Tcp) {
                if port.port == port.target_port {
                    continue;
                }
                match Forward::open(port.port, port.target_port).await {
                    Ok(forward) => forwards.push(forward),
                    Err(error) => {
                        tracing::warn!(workload = id.1, port = port.port, %error, "a port is not available");
                    }
                }
            }
            all.insert(id, Some(forwards));
        });
    }

    /// Closes the forwards of a Workload, before it gets a supervisor.
    pub(super) async fn close(&self, id: &NamespacedName) {
        let kept = self.0.lock().await.insert(id.clone(), None).flatten();
        for forward in kept.into_iter().flatten() {
            forward.close().await;
        }
    }
}
