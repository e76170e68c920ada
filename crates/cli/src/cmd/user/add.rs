//! `orchestra user add`

use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use k8s_openapi::{
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::{Namespace, ServiceAccount},
        rbac::v1::{ClusterRole, Role, RoleBinding},
    },
    jiff::{Timestamp, tz::TimeZone},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
    config::Kubeconfig,
};
use orchestra_api::USERS_NAMESPACE;
use orchestra_core::program_access::PROGRAM_RUNNER;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::{
    FIELD_MANAGER, UserError, api_error,
    kubeconfig::{self, TokenClaims, UserKubeconfig},
    objects::{self, Written},
};
use crate::{
    args::{AddUser, Target},
    cmd::platform::{self, Platform},
    error::CliError,
    exit::Exit,
    ui,
};

pub(super) fn run(args: &AddUser) -> Result<Exit, CliError> {
    let target = args.administrator.target();
    platform::with_platform(&target, async |platform| add(args, &target, &platform).await)
}

/// Adds a user.
pub(super) async fn add(args: &AddUser, target: &Target, platform: &Platform) -> Result<Exit, CliError> {
    let name = args.name.as_str();
    let file = output(args)?;
    check_file(&file, name, args.force)?;
    let cluster = cluster(target)?;
    // The right to run programs comes first: without it, the user would stop those of the namespace for a moment.
    let mut roles: Vec<&str> = args.run_programs.then_some(PROGRAM_RUNNER).into_iter().collect();
    roles.push(&args.role);
    for role in &roles {
        check_role(platform, role).await?;
    }
    let namespace = ensure_namespace(args, platform).await?;

    let users = objects::namespace(USERS_NAMESPACE, None);
    ensure_exists::<Namespace>(platform, USERS_NAMESPACE, users).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(platform.client.clone(), USERS_NAMESPACE);
    let is_new = apply(platform, &accounts, name, name, objects::account(name)).await?;
    let renewals: Api<Role> = Api::namespaced(platform.client.clone(), USERS_NAMESPACE);
    apply(platform, &renewals, name, &objects::renewal_name(name), objects::renewal_role(name)).await?;
    let own: Api<RoleBinding> = Api::namespaced(platform.client.clone(), USERS_NAMESPACE);
    apply(platform, &own, name, &objects::renewal_name(name), objects::renewal_binding(name)).await?;
    let bindings: Api<RoleBinding> = Api::namespaced(platform.client.clone(), &namespace);
    let mut given = Vec::new();
    for role in &roles {
        let binding = objects::access_binding(name, &namespace, role);
        if apply(platform, &bindings, name, &objects::access_name(name, role), binding).await? {
            given.push(format!("`{role}`"));
        }
    }

    let seconds = i64::try_from(args.duration.as_secs()).unwrap_or(i64::MAX);
    let token = request_token(&accounts, name, seconds).await;
    let token = token.map_err(|error| api_error(platform, name, error))?;
    let program = kubeconfig::program().map_err(UserError::NoProgram)?;
    let content = UserKubeconfig { name, cluster, namespace: &namespace, token: &token, program: &program };
    let text = orchestra_score::yaml::to_yaml(&content.content());
    let text = text.map_err(|error| CliError::Encode(error.into()))?;
    kubeconfig::write(&file, &text).map_err(|source| CliError::Write { file: shown(&file), source })?;

    ui::print_status(&match (is_new, given.is_empty()) {
        (true, _) => format!(
            "Added the user {name}, with the role {} in the namespace {namespace}.",
            given.join(" and ")
        ),
        (false, false) => {
            format!("Gave {name} the role {} in the namespace {namespace}.", given.join(" and "))
        }
        (false, true) => format!("{name} has that access already; only the token is new."),
    });
    let expires = TokenClaims::of(&token).map(|claims| at(claims.exp)).unwrap_or_default();
    ui::print_status(&format!(
        "Wrote {}: whoever has the file is {name}. The token is valid until {expires}, and renewed on use.",
        shown(&file)
    ));
    ui::print_status(&format!("\n    export KUBECONFIG={}\n    orchestra get", shown(&file)));
    Ok(Exit::Success)
}

/// Time in messages.
pub(super) fn at(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map(|time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %Z").to_string())
        .unwrap_or_default()
}

fn shown(file: &Path) -> String {
    ui::printable(&file.display().to_string()).into_owned()
}

/// Absolute path of the kubeconfig to write.
fn output(args: &AddUser) -> Result<PathBuf, CliError> {
    let file = args.output.clone().unwrap_or_else(|| format!("{}.kubeconfig", args.name).into());
    std::path::absolute(&file).map_err(|source| CliError::Write { file: shown(&file), source })
}

/// Refuses to overwrite a file that is not a kubeconfig of the user.
fn check_file(file: &Path, user: &str, force: bool) -> Result<(), CliError> {
    if force || file.symlink_metadata().is_err() {
        return Ok(());
    }
    let own = Kubeconfig::read_from(file).ok().and_then(|found| kubeconfig::own_token(&found));
    match own {
        Some((owner, _)) if owner == user => Ok(()),
        _ => Err(CliError::FileExists(shown(file))),
    }
}

/// Connection of the administrator's kubeconfig, with the certificate in it.
fn cluster(target: &Target) -> Result<Json, CliError> {
    let (_, kubeconfig) = platform::kubeconfig(target).map_err(CliError::NoPlatform)?;
    let context = target.context.clone().or(kubeconfig.current_context).ok_or(UserError::NoCluster)?;
    let context = kubeconfig.contexts.into_iter().find(|named| named.name == context);
    let context = context.and_then(|named| named.context).ok_or(UserError::NoCluster)?;
    let cluster = kubeconfig.clusters.into_iter().find(|named| named.name == context.cluster);
    let mut cluster = cluster.and_then(|named| named.cluster).ok_or(UserError::NoCluster)?;
    if let Some(path) = cluster.certificate_authority.take() {
        let read = std::fs::read(&path);
        let bytes = read.map_err(|source| CliError::Read { path: path.into(), source })?;
        cluster.certificate_authority_data = Some(STANDARD.encode(bytes));
    }
    serde_json::to_value(cluster).map_err(|error| CliError::Encode(error.into()))
}

async fn check_role(platform: &Platform, role: &str) -> Result<(), CliError> {
    let roles: Api<ClusterRole> = Api::all(platform.client.clone());
    let failed = |error| api_error(platform, "cluster roles", error);
    // Names with other characters are no path segments.
    let is_name = !role.is_empty() && !role.contains(['/', '%']) && role != "." && role != "..";
    if is_name && roles.get_opt(role).await.map_err(failed)?.is_some() {
        return Ok(());
    }
    let known = roles.list(&ListParams::default()).await.map_err(failed)?;
    let known: Vec<String> =
        known.iter().map(ResourceExt::name_any).filter(|name| !name.starts_with("system:")).collect();
    Err(UserError::NoRole { role: role.to_owned(), known: known.join(", ") }.into())
}

/// Creates the namespace of the user if it does not exist. An existing one has to be named: others may work there.
async fn ensure_namespace(args: &AddUser, platform: &Platform) -> Result<String, CliError> {
    let namespaces: Api<Namespace> = Api::all(platform.client.clone());
    let user = args.name.as_str();
    let name = args.namespace.as_deref().unwrap_or(user).to_owned();
    let found = namespaces.get_opt(&name).await.map_err(|error| api_error(platform, &name, error))?;
    let is_named = args.namespace.is_some();
    match found {
        Some(found) if !is_named && objects::user_of(&found) != Some(user) => {
            Err(UserError::NamespaceExists { namespace: name, user: user.to_owned() }.into())
        }
        Some(_) => Ok(name),
        None => {
            let object = objects::namespace(&name, (!is_named).then_some(user));
            ensure_exists::<Namespace>(platform, &name, object).await?;
            ui::print_status(&format!("Created the namespace {name}."));
            Ok(name)
        }
    }
}

async fn ensure_exists<K>(platform: &Platform, name: &str, object: Json) -> Result<(), CliError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let api: Api<K> = Api::all(platform.client.clone());
    let failed = |error| api_error(platform, name, error);
    if api.get_opt(name).await.map_err(failed)?.is_none() {
        let apply = PatchParams::apply(FIELD_MANAGER);
        api.patch(name, &apply, &Patch::Apply(object)).await.map_err(failed)?;
    }
    Ok(())
}

/// Applies an object of a user; true if it is new. One that does not belong to the user is left alone.
async fn apply<K>(
    platform: &Platform,
    api: &Api<K>,
    user: &str,
    name: &str,
    mut object: Json,
) -> Result<bool, CliError>
where
    K: Written + Clone + DeserializeOwned + std::fmt::Debug,
{
    let failed = |error| api_error(platform, name, error);
    let found = api.get_opt(name).await.map_err(failed)?;
    if let Some(found) = &found {
        if objects::user_of(found) != Some(user) {
            let namespace = found.meta().namespace.clone().unwrap_or_default();
            let name = format!("{namespace}/{name}");
            return Err(UserError::Foreign { kind: K::SHOWN, name, user: user.to_owned() }.into());
        }
        // One that is replaced meanwhile is a conflict.
        object["metadata"]["uid"] = json!(found.meta().uid);
    }
    let apply = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(name, &apply, &Patch::Apply(object)).await.map_err(failed)?;
    Ok(found.is_none())
}

/// New token of an account.
pub(super) async fn request_token(
    accounts: &Api<ServiceAccount>,
    name: &str,
    seconds: i64,
) -> kube::Result<String> {
    let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let issued = accounts.create_token_request(name, &PostParams::default(), &request).await?;
    Ok(issued.status.map(|status| status.token).unwrap_or_default())
}
