//! Permissions, with real tokens.

use std::sync::Arc;

use kube::Client;
use orchestra_controllers::{Controllers, Options};
use orchestra_drivers::{kubernetes::Kubernetes, template::Template};
use orchestra_e2e::platform::{Access, Error, access::Grant, rights::Rights};
use serde_json::json;

use crate::{
    cluster::Person,
    document::{of_profile, page},
    space::Space,
    wait::{contains, holds, same, until},
};

/// The tutorial covers what a user can do; this case covers what they cannot.
pub(super) async fn user(space: &Space) -> Result<(), Error> {
    let mut document = page("shop", "mine")?;
    document["spec"]["resources"] = json!({"db": {"type": "postgres"}});
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
        "orchestra explain shop",
        "orchestra logs shop",
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
    // The orchestrator is not an administrator either.
    for forbidden in [
        "list secrets -A",
        "'*' '*'",
        "create clusterroles",
        "get nodes --subresource=proxy",
        "create pods --subresource=exec -n default",
    ] {
        let account = "--as system:serviceaccount:score-system:score-orchestrator";
        let answer = space.cluster.run(&format!("kubectl auth can-i {forbidden} {account} || true")).await?;
        holds(format!("the orchestrator may {forbidden}"), answer.lines().any(|line| line == "no"))?;
    }
    Ok(())
}

/// In production all controllers share an account. Here each controller, the runtime and the engine have their own account
/// with only their shipped role.
pub(super) async fn roles(space: &Space) -> Result<(), Error> {
    space.cluster.run("kubectl -n score-system scale deployment orchestra --replicas=0").await?;
    until("the orchestrator is scaled down", async || {
        let pods = space.cluster.list("/api/v1/namespaces/score-system/pods").await?;
        same("it", pods.len(), 0)
    })
    .await?;
    let held = with_roles_alone(space).await;
    space.cluster.run("orchestra install --replicas 2").await?;
    held
}

async fn with_roles_alone(space: &Space) -> Result<(), Error> {
    let access = &space.cluster.access;
    let rights = Rights::of(access).await?;
    let runtime = [Grant::Everywhere("score-runtime-kubernetes")];
    let engine = [Grant::Everywhere("score-engine-template"), Grant::System("score-templates")];
    let options = Options {
        runtimes: vec![Arc::new(Kubernetes::open(client_with(access, "score-e2e-runtime", &runtime).await?))],
        provisioners: vec![Arc::new(Template::open(client_with(access, "score-e2e-engine", &engine).await?))],
        ..Options::default()
    };
    let controllers = Controllers::start(rights.client(access).await?, options).await?;
    let held = async {
        let mut document = of_profile(page("shop", "with little")?, "public");
        document["spec"]["containers"]["app"]["files"] =
            json!({"/etc/key": {"content": "${resources.db.uri}"}});
        document["spec"]["containers"]["app"]["volumes"] = json!({"/data": {"source": "${resources.data}"}});
        document["spec"]["resources"] = json!({"db": {"type": "postgres"}, "data": {"type": "volume"}});
        space.run(&document).await?;
        document["spec"]["containers"]["app"]["variables"]["TEXT"] = "with little more".into();
        space.run(&document).await?;
        space.delete("shop").await
    }
    .await;
    controllers.stop().await;
    held
}

/// Client of an account with only these roles.
async fn client_with(access: &Access, name: &str, grants: &[Grant<'_>]) -> Result<Client, Error> {
    let mut config = access.address().await?;
    config.auth_info.token = Some(access.token(name, grants).await?.into());
    Ok(Client::try_from(config)?)
}
