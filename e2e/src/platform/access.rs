//! Service accounts with given roles, and their kubeconfigs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use k8s_openapi::api::{authentication::v1::TokenRequest, core::v1::ServiceAccount};
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::{Error, manifests::apply};

/// Namespace of the accounts.
const NAMESPACE: &str = "score-system";

/// Server with administrator access.
pub struct Access {
    /// Client of the administrator.
    pub admin: Client,
    kubeconfig: Kubeconfig,
    home: TempDir,
    controlled: bool,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("controlled", &self.controlled).finish_non_exhaustive()
    }
}

/// Role and its scope.
#[derive(Clone, Copy, Debug)]
pub enum Grant<'a> {
    /// Cluster role in all namespaces.
    Everywhere(&'a str),
    /// Cluster role in one namespace.
    In(&'a str, &'a str),
    /// Role in the namespace of the orchestrator.
    System(&'a str),
}

impl Access {
    /// Server of a kubeconfig, after installing CRDs and roles.
    pub async fn install(kubeconfig: &Path) -> Result<Self, Error> {
        let access = Self::of(kubeconfig).await?;
        super::manifests::install(&access.admin, access.controlled).await?;
        Ok(access)
    }

    /// Server of a kubeconfig.
    pub async fn of(kubeconfig: &Path) -> Result<Self, Error> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let admin = client(&kubeconfig).await?;
        let groups = admin.list_api_groups().await?;
        let controlled = groups.groups.iter().any(|group| group.name == "rbac.authorization.k8s.io");
        Ok(Self { admin, kubeconfig, home: TempDir::new()?, controlled })
    }

    /// True if the server has RBAC.
    pub fn is_controlled(&self) -> bool {
        self.controlled
    }

    /// Kubeconfig of an account with these roles and a default namespace. Without RBAC it is that of the administrator.
    pub async fn account(&self, name: &str, namespace: &str, grants: &[Grant<'_>]) -> Result<PathBuf, Error> {
        let user = if self.controlled {
            json!({"token": self.token(name, grants).await?})
        } else {
            let current = current(&self.kubeconfig)?;
            let named =
                self.kubeconfig.auth_infos.iter().find(|info| Some(&info.name) == current.user.as_ref());
            json!(named.and_then(|named| named.auth_info.as_ref()))
        };
        let current = current(&self.kubeconfig)?;
        let named = self.kubeconfig.clusters.iter().find(|cluster| cluster.name == current.cluster);
        let file = self.home.path().join(name);
        let content = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": named.and_then(|named| named.cluster.as_ref())}],
            "users": [{"name": "it", "user": user}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": namespace}}],
        });
        fs::write(&file, content.to_string())?;
        Ok(file)
    }

    /// Token of an account with these roles.
    pub async fn token(&self, name: &str, grants: &[Grant<'_>]) -> Result<String, Error> {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}});
        apply(&self.admin, &account).await?;
        for grant in grants {
            apply(&self.admin, &binding(name, *grant)).await?;
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let request = TokenRequest::default();
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
        Ok(answer.status.ok_or("the server gave no token")?.token)
    }

    /// Config of the server without credentials.
    pub async fn address(&self) -> Result<Config, Error> {
        let mut config = config(&self.kubeconfig).await?;
        config.auth_info = kube::config::AuthInfo::default();
        Ok(config)
    }
}

/// Client of the current context.
pub async fn client(kubeconfig: &Kubeconfig) -> Result<Client, Error> {
    Ok(Client::try_from(config(kubeconfig).await?)?)
}

async fn config(kubeconfig: &Kubeconfig) -> Result<Config, Error> {
    Ok(Config::from_custom_kubeconfig(kubeconfig.clone(), &KubeConfigOptions::default()).await?)
}

fn current(kubeconfig: &Kubeconfig) -> Result<&kube::config::Context, Error> {
    let named =
        kubeconfig.contexts.iter().find(|context| Some(&context.name) == kubeconfig.current_context.as_ref());
    Ok(named.and_then(|named| named.context.as_ref()).ok_or("the kubeconfig has no current context")?)
}

fn binding(account: &str, grant: Grant<'_>) -> Json {
    let (kind, role_kind, role, namespace) = match grant {
        Grant::Everywhere(role) => ("ClusterRoleBinding", "ClusterRole", role, None),
        Grant::In(role, namespace) => ("RoleBinding", "ClusterRole", role, Some(namespace)),
        Grant::System(role) => ("RoleBinding", "Role", role, Some(NAMESPACE)),
    };
    let mut metadata = json!({"name": format!("{account}-{role}")});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    })
}
