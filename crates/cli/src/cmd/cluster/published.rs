//! Where the server of a cluster's platform is, for everybody who can log in.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use orchestra_api::SYSTEM_NAMESPACE;
use serde_json::json;

/// The config map that says it.
pub(crate) const PUBLISHED: &str = "orchestra-server";
/// The key of the address.
pub(crate) const URL: &str = "url";
/// The key of the certificates that vouch for the one to expect there, as PEM; without it, those of the system do.
pub(crate) const CERTIFICATES: &str = "ca.crt";
/// The address that every program in the cluster can use.
pub(crate) const WITHIN: &str = "https://orchestra.score-system.svc";

/// Publishes where the server is. Nothing is sent if that is known.
pub(super) async fn publish(client: &Client, url: &str, certificates: Option<&str>) -> kube::Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let mut data = BTreeMap::from([(URL.to_owned(), url.to_owned())]);
    data.extend(certificates.map(|text| (CERTIFICATES.to_owned(), text.to_owned())));
    if maps.get_opt(PUBLISHED).await?.is_some_and(|map| map.data.as_ref() == Some(&data)) {
        return Ok(());
    }
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PUBLISHED}, "data": data,
    });
    maps.patch(PUBLISHED, &PatchParams::apply("orchestra-serve").force(), &Patch::Apply(map)).await?;
    Ok(())
}
