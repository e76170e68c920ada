//! Address of the cluster's nodes, for node ports.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use orchestra_core::render::kubernetes::node_address::{NodeFact, node_address};
use tokio::{sync::Mutex, time::Instant};

/// Nodes that are read: any of them serves a node port.
const MAX_NODES: u32 = 20;
/// Time for which an address is used before the nodes are read again: nodes are replaced, and nothing watches them.
const REFRESH_INTERVAL: Duration = Duration::from_mins(5);

/// Cached address.
#[derive(Debug, Default)]
pub(super) struct NodeAddress(Mutex<Option<(Instant, String)>>);

impl NodeAddress {
    /// Address of a node. The last one stays while the nodes cannot be read.
    pub(super) async fn get(&self, client: &Client) -> Option<String> {
        let mut cached = self.0.lock().await;
        let current = match cached.as_ref() {
            Some((read, address)) if read.elapsed() < REFRESH_INTERVAL => return Some(address.clone()),
            Some((_, address)) => Some(address.clone()),
            None => None,
        };
        let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default().limit(MAX_NODES)).await;
        let address = match nodes {
            Ok(nodes) => {
                let facts: Vec<_> = nodes.iter().map(fact).collect();
                node_address(&facts, current.as_deref())
            }
            Err(error) => {
                tracing::warn!("the nodes of the cluster cannot be read: {error}");
                current
            }
        };
        *cached = address.clone().map(|address| (Instant::now(), address));
        address
    }
}

fn fact(node: &Node) -> NodeFact {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let addresses = status.and_then(|status| status.addresses.as_ref()).into_iter().flatten();
    NodeFact {
        name: node.name_any(),
        is_ready: conditions
            .clone()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True"),
        addresses: addresses.map(|address| (address.type_.clone(), address.address.clone())).collect(),
    }
}
