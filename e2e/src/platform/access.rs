//! Who acts: accounts with nothing but the roles they are given, and a kubeconfig for each.

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

/// Where the accounts live.
const NAMESPACE: &str = "score-system";

/// A server, seen as its administrator.
pub struct Access {
    /// The administrator's client.
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

/// A role, and where it holds.
#[derive(Clone, Copy, Debug)]
pub enum Grant<'a> {
    /// A cluster role, everywhere.
    Everywhere(&'a str),
    /// A cluster role, in one namespace.
    In(&'a str, &'a str),
    /// A role of the orchestrator's own namespace.
    System(&'a str),
}

impl Access {
    /// The server of a kubeconfig, with the kinds and roles installed.
    pub async fn install(kubeconfig: &Path) -> Result<Self, Error> {
        let access = Self::of(kubeconfig).await?;
        super::manifests::install(&access.admin, access.controlled).await?;
        Ok(access)
    }

    /// The server of a kubeconfig, as it is.
    pub async fn of(kubeconfig: &Path) -> Result<Self, Error> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let admin = client(&kubeconfig).await?;
        let groups = admin.list_api_groups().await?;
        let controlled = groups.groups.iter().any(|group| group.name == "rbac.authorization.k8s.io");
        Ok(Self { admin, kubeconfig, home: TempDir::new()?, controlled })
    }

    /// Whether the server asks who may do what.
    pub fn is_controlled(&self) -> bool {
        self.controlled
    }

    /// The kubeconfig of an account that has these roles, with a default namespace. Without access control it is the
    /// administrator's.
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

    /// A token of an account that has these roles.
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

    /// Where the server is, without any credentials.
    pub async fn address(&self) -> Result<Config, Error> {
        let mut config = config(&self.kubeconfig).await?;
        config.auth_info = kube::config::AuthInfo::default();
        Ok(config)
    }
}

/// A client of the current context.
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
