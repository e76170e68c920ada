//! Published address of the server, for every authenticated user.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use orchestra_api::SYSTEM_NAMESPACE;
use serde_json::json;

use crate::cmd::serve::FIELD_MANAGER;

/// Config map with the address.
pub(crate) const SERVER_CONFIG_MAP: &str = "orchestra-server";
/// Key of the address.
pub(crate) const URL_KEY: &str = "url";
/// Key of the root certificates (PEM); without it, clients use those of the system.
pub(crate) const CA_KEY: &str = "ca.crt";
/// Address inside the cluster.
pub(crate) const IN_CLUSTER_URL: &str = "https://orchestra.score-system.svc";

/// Publishes the address, unless it is published already.
pub(super) async fn publish(client: &Client, url: &str, ca: Option<&str>) -> kube::Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let mut data = BTreeMap::from([(URL_KEY.to_owned(), url.to_owned())]);
    data.extend(ca.map(|text| (CA_KEY.to_owned(), text.to_owned())));
    if maps.get_opt(SERVER_CONFIG_MAP).await?.is_some_and(|map| map.data.as_ref() == Some(&data)) {
        return Ok(());
    }
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SERVER_CONFIG_MAP}, "data": data,
    });
    maps.patch(SERVER_CONFIG_MAP, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(map)).await?;
    Ok(())
}
