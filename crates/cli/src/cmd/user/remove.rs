//! `orchestra user remove`

use k8s_openapi::api::{
    core::v1::{Namespace, ServiceAccount},
    rbac::v1::{ClusterRoleBinding, Role, RoleBinding},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Preconditions},
};
use orchestra_api::USERS_NAMESPACE;
use orchestra_core::program_access::PROGRAM_RUNNER;
use serde::de::DeserializeOwned;

use super::{UserError, api_error, labelled, objects, rights};
use crate::{
    args::RemoveUser,
    cmd::platform::{self, Platform},
    error::CliError,
    exit::Exit,
    ui,
};

pub(super) fn run(args: &RemoveUser) -> Result<Exit, CliError> {
    platform::with_platform(&args.administrator.target(), async |platform| remove(args, &platform).await)
}

/// Removes a user.
pub(super) async fn remove(args: &RemoveUser, platform: &Platform) -> Result<Exit, CliError> {
    let (name, client) = (args.name.as_str(), &platform.client);
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), USERS_NAMESPACE);
    let account = accounts.get_opt(name).await.map_err(|error| api_error(platform, name, error))?;
    if account.as_ref().is_some_and(|account| objects::user_of(account) != Some(name)) {
        let name = format!("{USERS_NAMESPACE}/{name}");
        let (kind, user) = ("service account", args.name.clone());
        return Err(UserError::Foreign { kind, name, user }.into());
    }
    let roles: Vec<Role> = labelled(platform, Api::all(client.clone()), Some(name)).await?;
    let mut bindings: Vec<RoleBinding> = labelled(platform, Api::all(client.clone()), Some(name)).await?;
    // The right to run programs goes last: without it, the others would stop the programs of the namespace for a moment.
    bindings.sort_by_key(|binding| binding.role_ref.name == PROGRAM_RUNNER);
    if let Some(namespace) = &args.namespace {
        return take_back(platform, args, namespace, &bindings).await;
    }
    if account.is_none() && roles.is_empty() && bindings.is_empty() {
        return Err(UserError::NotFound(name.to_owned()).into());
    }
    // The account comes first: with it, all access ends.
    if let Some(account) = &account {
        delete(platform, &accounts, account).await?;
    }
    ui::print_status(&format!(
        "Removed the user {name}: the tokens are invalid, and open watches and connections are closed."
    ));
    let mut namespaces = Vec::new();
    for binding in &bindings {
        let namespace = binding.namespace().unwrap_or_default();
        delete(platform, &Api::<RoleBinding>::namespaced(client.clone(), &namespace), binding).await?;
        if namespace != USERS_NAMESPACE {
            ui::print_status(&format!(
                "Removed the role `{}` in the namespace {namespace}.",
                ui::printable(&binding.role_ref.name)
            ));
            namespaces.push(namespace);
        }
    }
    for role in &roles {
        let namespace = role.namespace().unwrap_or_default();
        delete(platform, &Api::<Role>::namespaced(client.clone(), &namespace), role).await?;
    }
    namespaces.sort();
    namespaces.dedup();
    for namespace in &namespaces {
        for line in kept(platform, name, namespace).await? {
            ui::print_status(&line);
        }
    }
    report_dangling(platform, name).await?;
    Ok(Exit::Success)
}

/// Deletes an object, unless another one has its name meanwhile.
async fn delete<K>(platform: &Platform, api: &Api<K>, object: &K) -> Result<(), CliError>
where
    K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let uid = object.meta().uid.clone();
    let preconditions = Some(Preconditions { uid, resource_version: None });
    let name = object.name_any();
    match api.delete(&name, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted.map(drop).map_err(|error| api_error(platform, &name, error)),
    }
}

/// Takes back roles in a namespace.
async fn take_back(
    platform: &Platform,
    args: &RemoveUser,
    namespace: &str,
    bindings: &[RoleBinding],
) -> Result<Exit, CliError> {
    let is_meant = |binding: &&RoleBinding| {
        binding.namespace().as_deref() == Some(namespace)
            && namespace != USERS_NAMESPACE
            && args.role.as_ref().is_none_or(|role| binding.role_ref.name == *role)
    };
    let meant: Vec<&RoleBinding> = bindings.iter().filter(is_meant).collect();
    let (user, api) = (&args.name, Api::<RoleBinding>::namespaced(platform.client.clone(), namespace));
    if meant.is_empty() {
        return Err(UserError::NoGrant { user: user.clone(), namespace: namespace.to_owned() }.into());
    }
    for binding in meant {
        delete(platform, &api, binding).await?;
        let role = ui::printable(&binding.role_ref.name);
        ui::print_status(&format!("Took the role `{role}` in the namespace {namespace} back from {user}."));
    }
    Ok(Exit::Success)
}

/// Report of a namespace that stays, and of what can still give access to it.
pub(super) async fn kept(platform: &Platform, user: &str, namespace: &str) -> Result<Vec<String>, CliError> {
    let client = &platform.client;
    let content = match rights::workloads(platform, namespace).await?.len() {
        0 => String::new(),
        1 => " with its workload".to_owned(),
        count => format!(" with its {count} workloads"),
    };
    let failed = |error| api_error(platform, namespace, error);
    let found = Api::<Namespace>::all(client.clone()).get_opt(namespace).await.map_err(failed)?;
    let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), namespace);
    let is_shared = !bindings.list(&ListParams::default()).await.map_err(failed)?.items.is_empty();
    // Others may work in a namespace that was not created for this user alone.
    let remedy = if is_shared || found.is_none_or(|found| objects::user_of(&found) != Some(user)) {
        String::new()
    } else {
        format!("; delete it with `kubectl delete namespace {namespace}`")
    };
    let mut report = vec![format!("Kept the namespace {namespace}{content}{remedy}.")];
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let accounts = accounts.list(&ListParams::default()).await.map_err(failed)?.items;
    let names: Vec<String> =
        accounts.iter().map(ResourceExt::name_any).filter(|name| name != "default").collect();
    if !names.is_empty() {
        report.push(format!(
            "warning: the namespace {namespace} has service accounts, whose tokens stay valid: {}; delete those that {user} made",
            ui::printable(&names.join(", "))
        ));
    }
    Ok(report)
}

/// Warns of bindings that were made by hand: a new user of that name would have their rights.
async fn report_dangling(platform: &Platform, user: &str) -> Result<(), CliError> {
    let failed = |error| api_error(platform, "role bindings", error);
    let bindings: Api<RoleBinding> = Api::all(platform.client.clone());
    let bindings = bindings.list(&ListParams::default()).await.map_err(failed)?;
    let cluster_bindings: Api<ClusterRoleBinding> = Api::all(platform.client.clone());
    let cluster_bindings = cluster_bindings.list(&ListParams::default()).await.map_err(failed)?;
    let namespaced = bindings.iter().filter_map(|binding| {
        let namespace = binding.namespace()?;
        let command = format!("kubectl delete rolebinding {} -n {namespace}", binding.name_any());
        objects::binds(binding.subjects.as_ref(), &namespace, user).then_some(command)
    });
    let cluster =
        cluster_bindings.iter().filter(|binding| objects::binds(binding.subjects.as_ref(), "", user));
    let cluster = cluster.map(|binding| format!("kubectl delete clusterrolebinding {}", binding.name_any()));
    for command in namespaced.chain(cluster) {
        ui::print_status(&format!(
            "warning: a binding that `orchestra user` did not make still names {user}, and would give its role to a new user of \
             that name; delete it with `{}`",
            ui::printable(&command)
        ));
    }
    Ok(())
}
