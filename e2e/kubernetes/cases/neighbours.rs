//! Connections between Workloads.

use orchestra_e2e::platform::Error;

use crate::{
    document::{page, workload},
    space::Space,
    wait::{contains, until},
};

pub(super) async fn service(space: &Space) -> Result<(), Error> {
    let asking = workload(
        "front",
        r#"
        containers:
          app: {image: PROBE, command: [hold, sleep, "3600"], variables: {BACK: "http://${resources.back.hostname}:${resources.back.port}"}}
        resources:
          back: {type: service-port, params: {workload: back, port: web}}
        "#,
    )?;
    space.apply(&asking).await?;
    // The other workload does not exist yet.
    let why = space.until("front", "ClaimsReady", "False", "BindingPending").await?;
    contains("what it waits for", &why, "back")?;
    space.run(&page("back", "I am the neighbour")?).await?;
    space.until_ready("front").await?;
    let answer = until("the neighbour answers by its name", async || {
        space.exec("front", "app", "timeout 5 wget -qO- $BACK").await
    });
    contains("the answer", &answer.await?, "I am the neighbour")
}
