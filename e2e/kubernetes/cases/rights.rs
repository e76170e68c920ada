//! Who may do what, with real tokens.

use orchestra_e2e::platform::{Error, access::Grant};

use crate::{
    cluster::Person,
    document::page,
    space::Space,
    wait::{contains, holds},
};

/// The tutorial itself shows what a user can do; here is what they cannot.
pub(super) async fn user(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "mine")?;
    document["spec"]["resources"] = serde_json::json!({"db": {"type": "postgres"}});
    document["spec"]["containers"]["app"]["variables"]["DB"] = "${resources.db.password}".into();
    space.run(&document).await?;
    let grants = [Grant::In("score-user", &space.name)];
    let account = space.cluster.access.account("score-e2e-user", &space.name, &grants).await?;
    let user = Person::with(&account)?;
    for allowed in [
        "kubectl get workloads.score.dev shop -o yaml",
        "kubectl describe workloads.score.dev shop",
        "kubectl annotate workloads.score.dev shop example.org/note=mine",
        "kubectl get score",
        "orchestra get",
        "orchestra describe shop",
        "orchestra wait shop",
    ] {
        user.run(allowed).await?;
    }
    for hidden in [
        "kubectl get resourceclaims.score.dev",
        "kubectl get workloadplans.score.dev",
        "kubectl get workloadexposures.score.dev",
        "kubectl get platformpolicies.score.dev",
        "kubectl get score-platform",
        "kubectl get secrets",
        "kubectl get pods",
        "kubectl get deployments",
        "kubectl get configmaps -n score-system orchestrator-config",
        "kubectl get secrets -n score-system",
        "kubectl get workloads.score.dev -n default",
        "kubectl get workloads.score.dev -A",
        r#"kubectl patch workloads.score.dev shop --subresource=status --type=merge -p '{"status":{"endpoint":"http://x"}}'"#,
    ] {
        contains(hidden, &user.fails(hidden).await?, "orbidden")?;
    }
    // The orchestrator itself is no administrator either.
    for forbidden in [
        "list secrets -A",
        "'*' '*'",
        "create clusterroles",
        "get nodes/proxy",
        "create pods/exec -n default",
    ] {
        let account = "--as system:serviceaccount:score-system:score-orchestrator";
        let answer = space.cluster.run(&format!("kubectl auth can-i {forbidden} {account} || true")).await?;
        holds(format!("the orchestrator may {forbidden}"), answer.trim_end().ends_with("no"))?;
    }
    Ok(())
}
