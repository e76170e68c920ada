//! Orchestrator config in force, read from the API.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use orchestra_api::{
    SYSTEM_NAMESPACE,
    config::{CONFIG_MAP, IN_FORCE_MAP},
};
use orchestra_core::config::{self, InForce, PlatformKind};

/// Config in force on a platform of this kind, as the controllers have it.
pub async fn config_in_force(client: &Client, platform: PlatformKind) -> kube::Result<InForce> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let (map, stored) = tokio::try_join!(maps.get_opt(CONFIG_MAP), maps.get_opt(IN_FORCE_MAP))?;
    Ok(config::of_maps(platform, map.as_ref(), stored.as_ref()))
}
