//! CRDs of a cluster that may be installed later.

use std::{fmt::Debug, time::Duration};

use kube::{Api, api::ListParams};
use serde::de::DeserializeOwned;

/// Interval of checks whether a missing CRD was installed.
const CRD_POLL_INTERVAL: Duration = Duration::from_mins(1);

/// Waits until objects of a kind can be listed.
pub(crate) async fn until_served<K: Clone + DeserializeOwned + Debug>(api: &Api<K>) {
    while api.list_metadata(&ListParams::default().limit(1)).await.is_err() {
        tokio::time::sleep(CRD_POLL_INTERVAL).await;
    }
}
