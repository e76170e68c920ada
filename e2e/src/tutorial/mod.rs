//! Tutorial with the real kubectl: hello, a dependency with a slow provisioner, an update, deletion, cleanup.
//!
//! Runtime and provisioner are scripted; everything else is the product. On a server with RBAC the controllers, the
//! developer and the platform engineer have only the roles that the project ships.

pub mod shell;
mod steps;

use std::{path::Path, sync::Arc, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::DeleteParams, config::Kubeconfig};
use orchestra_controllers::{
    Controllers, Options,
    engine::{lease, shutdown},
};
use orchestra_testkit::scripted::{ProvisionScript, ScriptedProvisioner, ScriptedRuntime};
use serde_json::json;

use crate::platform::{
    Access, Error,
    access::{self, Grant},
    clear, configure, ignore_missing, manifests,
    rights::Rights,
};
use shell::Shell;

/// Namespace of the tutorial.
const NAMESPACE: &str = "tutorial";
/// Secret value that must appear in Secrets only.
const CANARY: &str = "canary-5up3r-s3cr3t";
/// Lease of the orchestrator, as named in its role.
const LEASE: &str = "orchestra";

const DOCUMENT: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec:
  profiles: [{name: web-service, backends: [{backendId: here, runtimeClass: scripted}]}]
  provisioners: [{type: postgres, engine: builtin}]
  defaults: {profile: web-service}
";

/// Runs the tutorial on a server, given the kubeconfig of its administrator.
pub async fn walk(server: &Path, kubectl: &Path) -> Result<(), Error> {
    let access = Access::install(server).await?;
    clear(&access.admin, NAMESPACE).await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    manifests::apply(&access.admin, &namespace).await?;
    let leases: Api<Lease> = Api::namespaced(access.admin.clone(), "score-system");
    ignore_missing(leases.delete(LEASE, &DeleteParams::default()).await.map(drop))?;
    configure(&access.admin, DOCUMENT).await?;

    let rights = if access.is_controlled() { Some(Rights::of(&access).await?) } else { None };
    let client = match &rights {
        Some(rights) => rights.client(&access).await?,
        None => access.admin.clone(),
    };
    let provisioner =
        access.account("tutorial-provisioner", NAMESPACE, &[Grant::Everywhere("score-external-provisioner")]);
    let provisioner = Kubeconfig::read_from(provisioner.await?)?;
    let provisioner = ScriptedProvisioner::new("builtin", CANARY, access::client(&provisioner).await?);
    provisioner.script("postgres", ProvisionScript::Make);
    let runtime = ScriptedRuntime::new("scripted");
    let lead = lead(client.clone()).await?;
    let options = Options {
        runtimes: vec![Arc::new(runtime.clone())],
        provisioners: vec![Arc::new(provisioner.clone())],
        ..Options::default()
    };
    let controllers = Controllers::start(client, options).await?;

    let user = [Grant::In("score-user", NAMESPACE)];
    let platform = [Grant::Everywhere("score-platform"), Grant::System("score-platform")];
    let walk = steps::Walk {
        developer: Shell::new(kubectl, &access.account("tutorial-developer", NAMESPACE, &user).await?)?,
        engineer: Shell::new(kubectl, &access.account("tutorial-engineer", NAMESPACE, &platform).await?)?,
        admin: Shell::new(kubectl, server)?,
        access: &access,
        runtime,
        provisioner,
    };
    walk.all().await?;
    controllers.stop().await;
    lead.stop().await;
    if let Some(rights) = rights {
        let unused = rights.unused()?;
        if !unused.is_empty() {
            return Err(format!("unused permissions:\n  {}", unused.join("\n  ")).into());
        }
    }
    clear(&access.admin, NAMESPACE).await
}

/// Leadership of the orchestrator, acquired before it acts, as in a cluster.
struct Lead {
    stopper: shutdown::ShutdownTrigger,
    task: tokio::task::JoinHandle<()>,
}

async fn lead(client: Client) -> Result<Lead, Error> {
    let (stopper, stop) = shutdown::channel();
    let options = lease::Options { lease: Duration::from_secs(4), renew: Duration::from_secs(1) };
    let (mut leading, task) =
        lease::Leadership::contend(client, "score-system", LEASE, "tutorial", options, stop);
    leading.wait_for(|leading| *leading).await?;
    Ok(Lead { stopper, task })
}

impl Lead {
    async fn stop(self) {
        self.stopper.trigger();
        // A panicked task has ended as well.
        let _ = self.task.await;
    }
}
