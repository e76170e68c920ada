//! Volumes, observed inside containers.

use orchestra_e2e::platform::Error;

use super::fields::secret_of;
use crate::{
    document::workload,
    space::Space,
    wait::{holds, same, until},
};

pub(super) async fn volumes(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r#"
        containers:
          writer:
            image: PROBE
            command: [hold, sleep, "3600"]
            volumes:
              /data: {source: "${resources.data}"}
              /part: {source: "${resources.data}", path: inner/part}
          reader:
            image: PROBE
            command: [hold, sleep, "3600"]
            volumes:
              /same: {source: "${resources.data}", readOnly: true}
        resources:
          data: {type: volume, params: {size: 64Mi}}
        "#,
    )?;
    space.run(&document).await?;
    space.exec("shop", "writer", "echo whole > /data/file; echo inside > /part/file").await?;
    for (container, command, expected) in [
        ("reader", "cat /same/file /same/inner/part/file", "whole\ninside\n"),
        ("writer", "cat /data/inner/part/file", "inside\n"),
        ("reader", "touch /same/mine 2>/dev/null || echo refused", "refused\n"),
    ] {
        same(command, space.exec("shop", container, command).await?.as_str(), expected)?;
    }
    let before = space.pod("shop").await?["metadata"]["uid"].clone();
    space.kubectl("delete pod -l app=shop --wait=false").await?;
    until("it is restarted", async || {
        let pod = space.pod("shop").await?;
        holds("the old pod still runs", pod["metadata"]["uid"] != before)?;
        space.exec("shop", "reader", "true").await.map(drop)
    })
    .await?;
    space.until_ready("shop").await?;
    same("what was written", space.exec("shop", "reader", "cat /same/file").await?.as_str(), "whole\n")?;
    // A new version sees the data too.
    let mut changed = document.clone();
    changed["spec"]["containers"]["writer"]["variables"] = serde_json::json!({"VERSION": "2"});
    space.run(&changed).await?;
    same(
        "the version",
        space.exec("shop", "writer", "echo $VERSION; cat /data/file").await?.as_str(),
        "2\nwhole\n",
    )?;
    space.delete("shop").await?;
    until("the volume is deleted with the workload", async || {
        same("volumes left", space.list("v1", "persistentvolumeclaims").await?.len(), 0)
    })
    .await
}

pub(super) async fn secret(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r#"
        containers:
          app:
            image: PROBE
            command: [hold, sleep, "3600"]
            volumes:
              /run/keys: {source: "${resources.keys}", readOnly: true}
        resources:
          keys: {type: secret, params: {keys: [user, password]}}
        "#,
    )?;
    space.run(&document).await?;
    let (name, key) = secret_of(space, "shop", "keys", "password").await?;
    let password = space.secret(&name, &key).await?;
    same("the file", space.exec("shop", "app", "cat /run/keys/password").await?, password)?;
    let refused = space.exec("shop", "app", "echo x > /run/keys/password || echo refused").await?;
    holds("a mounted secret is writable", refused.contains("refused"))
}
