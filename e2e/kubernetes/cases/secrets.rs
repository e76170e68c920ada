//! Rotation of a secret that a Workload uses.

use kube::{
    Api,
    api::{Patch, PatchParams},
};
use orchestra_api::ResourceClaim;
use orchestra_e2e::platform::Error;
use serde_json::{Value as Json, json};

use crate::{
    document::workload,
    space::Space,
    wait::{same, until},
};

/// The case acts as an external provisioner, which is the quickest way to rotate a secret.
pub(super) async fn rotation(space: &Space) -> Result<(), Error> {
    let document = workload(
        "shop",
        r#"
        containers:
          app:
            image: PROBE
            command: [hold, sleep, "3600"]
            variables: {ALONE: "${resources.queue.password}", MIXED: "amqp://user:${resources.queue.password}@queue"}
            files: {/etc/queue: {content: "${resources.queue.password}"}}
        resources: {queue: {type: queue}}
        "#,
    )?;
    space.apply(&document).await?;
    let claim = until("the claim exists", async || {
        let claims = space.list("score.dev/v1b1", "resourceclaims").await?;
        Ok(claims.into_iter().next().ok_or("there is none")?)
    })
    .await?;
    provide(space, &claim, "one-and-only-first", "1").await?;
    space.until_ready("shop").await?;
    sees(space, "one-and-only-first").await?;
    let before = space.get("apps/v1", "deployments/shop").await?["metadata"]["generation"].as_u64();

    provide(space, &claim, "one-and-only-second", "2").await?;
    until("the new value arrives", async || sees(space, "one-and-only-second").await).await?;
    space.until_ready("shop").await?;
    // An unchanged status causes no rollout.
    provide(space, &claim, "one-and-only-second", "2").await?;
    let noted = json!({"metadata": {"annotations": {"example.org/note": "looked at"}}});
    space.cluster.merge(&space.workload_path("shop"), &noted).await?;
    space.until_ready("shop").await?;
    same("versions that ran", space.list("apps/v1", "replicasets").await?.len(), 2)?;
    let after = space.get("apps/v1", "deployments/shop").await?["metadata"]["generation"].as_u64();
    same("changes of the deployment", after, before.map(|before| before + 1))
}

async fn sees(space: &Space, value: &str) -> Result<(), Error> {
    let seen = space.exec("shop", "app", "echo $ALONE $MIXED $(cat /etc/queue)").await?;
    same("what it sees", seen.trim(), format!("{value} amqp://user:{value}@queue {value}").as_str())
}

async fn provide(space: &Space, claim: &Json, value: &str, revision: &str) -> Result<(), Error> {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"password": value},
        "metadata": {"name": "queue-keys", "labels": {
            "score.dev/instance": claim["metadata"]["labels"]["score.dev/instance"],
        }},
    });
    space.apply(&secret).await?;
    let name = claim["metadata"]["name"].as_str().unwrap_or_default();
    let status = json!({
        "apiVersion": "score.dev/v1b1", "kind": "ResourceClaim",
        "metadata": {"name": name, "uid": claim["metadata"]["uid"]},
        "status": {
            "phase": "Bound", "reason": "Succeeded", "message": "The queue answers.", "outputsAvailable": true,
            "outputs": {"password": {"secretKeyRef": {"name": "queue-keys", "key": "password"}}},
            "outputsRevision": revision, "observedGeneration": claim["metadata"]["generation"],
        },
    });
    let claims: Api<ResourceClaim> = Api::namespaced(space.cluster.client.clone(), &space.name);
    claims
        .patch_status(name, &PatchParams::apply("queues.example.org").force(), &Patch::Apply(status))
        .await?;
    Ok(())
}
