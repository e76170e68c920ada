//! `orchestra user add`

use std::collections::BTreeSet;

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
};
use orchestra_api::USERS_NAMESPACE;
use orchestra_core::program_access::PROGRAM_RUNNER;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::{
    FIELD_MANAGER, UserError, api_error,
    kubeconfig::{self, TokenClaims, UserKubeconfig},
    objects::{self, Written},
    output::Output,
    rights,
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

/// Role of a user who is given none.
const DEFAULT_ROLE: &str = "score-user";
/// Validity of a token if none is given.
const DEFAULT_SECONDS: i64 = 72 * 3600;

/// Namespace and roles that a user is given.
#[derive(Debug, PartialEq, Eq)]
struct Grant<'a> {
    namespace: String,
    /// The right to run programs comes first: without it, the user would stop those of the namespace for a moment.
    roles: Vec<&'a str>,
}

/// Namespace and roles of a call, beside those that the user has already; `None` for a new token alone.
fn grant<'a>(args: &'a AddUser, existing: &[Held]) -> Result<Option<Grant<'a>>, UserError> {
    let namespaces: BTreeSet<&str> = existing.iter().map(|held| held.namespace.as_str()).collect();
    let is_asked = args.namespace.is_some() || args.role.is_some() || args.run_programs;
    if !namespaces.is_empty() && !is_asked {
        return Ok(None);
    }
    let name = args.name.as_str();
    let namespace = match (&args.namespace, namespaces.first()) {
        (Some(namespace), _) => namespace.as_str(),
        (None, Some(only)) if namespaces.len() == 1 => only,
        (None, Some(_)) if !namespaces.contains(name) => {
            let known: Vec<&str> = namespaces.into_iter().collect();
            return Err(UserError::SeveralNamespaces { user: name.to_owned(), known: known.join(", ") });
        }
        (None, _) => name,
    };
    let has_role = existing.iter().any(|held| held.namespace == namespace && held.role != PROGRAM_RUNNER);
    let default = (!has_role).then_some(DEFAULT_ROLE);
    let program_runner = args.run_programs.then_some(PROGRAM_RUNNER);
    let roles = program_runner.into_iter().chain(args.role.as_deref().or(default)).collect();
    Ok(Some(Grant { namespace: namespace.to_owned(), roles }))
}

/// Role of a user in a namespace.
#[derive(Debug)]
struct Held {
    namespace: String,
    role: String,
}

/// Roles of a user in namespaces.
async fn held(platform: &Platform, user: &str) -> Result<Vec<Held>, CliError> {
    let bindings: Api<RoleBinding> = Api::all(platform.client.clone());
    let bindings = bindings.list(&ListParams::default()).await;
    let bindings = bindings.map_err(|error| api_error(platform, "role bindings", error))?;
    let held = bindings.into_iter().filter_map(|binding| {
        let namespace = binding.namespace().filter(|namespace| namespace != USERS_NAMESPACE)?;
        let binds = objects::binds(binding.subjects.as_ref(), &namespace, user);
        binds.then(|| Held { namespace, role: binding.role_ref.name.clone() })
    });
    Ok(held.collect())
}

/// Adds a user.
pub(super) async fn add(args: &AddUser, target: &Target, platform: &Platform) -> Result<Exit, CliError> {
    let name = args.name.as_str();
    let output = Output::of(args)?;
    output.check(name, args.force)?;
    let cluster = cluster(target)?;
    let accounts: Api<ServiceAccount> = Api::namespaced(platform.client.clone(), USERS_NAMESPACE);
    let account = accounts.get_opt(name).await.map_err(|error| api_error(platform, name, error))?;
    let existing = match &account {
        Some(account) if objects::user_of(account) != Some(name) => {
            let (kind, shown) = ("service account", format!("{USERS_NAMESPACE}/{name}"));
            return Err(UserError::Foreign { kind, name: shown, user: name.to_owned() }.into());
        }
        Some(_) => held(platform, name).await?,
        None => Vec::new(),
    };
    let given_seconds = args.duration.map(|duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX));
    let earlier_seconds = account.as_ref().and_then(objects::token_seconds);
    let seconds = given_seconds.or(earlier_seconds).unwrap_or(DEFAULT_SECONDS);
    let grant = grant(args, &existing)?;
    if let Some(Grant { namespace, roles }) = &grant {
        for role in roles {
            check_role(platform, role).await?;
        }
        let is_own = existing.iter().any(|held| held.namespace == *namespace);
        ensure_namespace(platform, name, namespace, is_own || args.namespace.is_some()).await?;
    }

    let users = objects::namespace(USERS_NAMESPACE, None);
    ensure_exists::<Namespace>(platform, USERS_NAMESPACE, users).await?;
    let is_new = apply(platform, &accounts, name, name, objects::account(name, seconds)).await?;
    let renewals: Api<Role> = Api::namespaced(platform.client.clone(), USERS_NAMESPACE);
    apply(platform, &renewals, name, &objects::renewal_name(name), objects::renewal_role(name)).await?;
    let own: Api<RoleBinding> = Api::namespaced(platform.client.clone(), USERS_NAMESPACE);
    apply(platform, &own, name, &objects::renewal_name(name), objects::renewal_binding(name)).await?;
    let mut given = Vec::new();
    if let Some(Grant { namespace, roles }) = &grant {
        let bindings: Api<RoleBinding> = Api::namespaced(platform.client.clone(), namespace);
        for role in roles {
            let binding = objects::access_binding(name, namespace, role);
            if apply(platform, &bindings, name, &objects::access_name(name, role), binding).await? {
                given.push(*role);
            }
        }
    }

    let token = request_token(&accounts, name, seconds).await;
    let token = token.map_err(|error| api_error(platform, name, error))?;
    let program = kubeconfig::program().map_err(UserError::NoProgram)?;
    let in_file = output.namespace(name);
    let namespace = match (&in_file, &grant) {
        (Some(namespace), _) => namespace.as_str(),
        (None, Some(grant)) if existing.is_empty() => &grant.namespace,
        (None, _) => existing
            .iter()
            .map(|held| held.namespace.as_str())
            .find(|namespace| *namespace == name)
            .or_else(|| existing.first().map(|held| held.namespace.as_str()))
            .unwrap_or(name),
    };
    let content = UserKubeconfig { name, cluster, namespace, token: &token, program: &program };
    let text = orchestra_score::yaml::to_yaml(&content.content());
    output.write(&text.map_err(|error| CliError::Encode(error.into()))?)?;

    report(name, grant.as_ref(), is_new, &given, namespace);
    let expires = TokenClaims::of(&token).map(|claims| at(claims.exp)).unwrap_or_default();
    output.report(name, &expires);
    if let Some(Grant { namespace, .. }) = grant.as_ref().filter(|_| !given.is_empty()) {
        for warning in rights::warnings(platform, name, namespace, &given).await? {
            ui::print_status(&warning);
        }
    }
    if let Some(Grant { namespace, .. }) = grant.as_ref().filter(|_| args.run_programs)
        && let Some(warning) = rights::no_programs(platform, namespace).await
    {
        ui::print_status(&warning);
    }
    Ok(Exit::Success)
}

/// Reports what a user was given. Commands use the default namespace.
fn report(name: &str, grant: Option<&Grant<'_>>, is_new: bool, given: &[&str], default: &str) {
    let Some(Grant { namespace, roles }) = grant.filter(|_| is_new || !given.is_empty()) else {
        ui::print_status(&format!("{name} has that access already; only the token is new."));
        return;
    };
    let roles = rights::shown_roles(if is_new { roles } else { given });
    ui::print_status(&if is_new {
        format!("Added the user {name}, with {roles} in the namespace {namespace}.")
    } else {
        format!("Gave {name} {roles} in the namespace {namespace}.")
    });
    if default != namespace {
        ui::print_status(&format!(
            "The default namespace of the file is {default}: {name} passes `-n {namespace}` for the other."
        ));
    }
}

/// Time in messages.
pub(super) fn at(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map(|time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %Z").to_string())
        .unwrap_or_default()
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

/// Creates the namespace of a user if it does not exist. An existing one has to be named: others may work there, or an earlier
/// user of that name has left something behind.
async fn ensure_namespace(
    platform: &Platform,
    user: &str,
    name: &str,
    may_exist: bool,
) -> Result<(), CliError> {
    let namespaces: Api<Namespace> = Api::all(platform.client.clone());
    let found = namespaces.get_opt(name).await.map_err(|error| api_error(platform, name, error))?;
    match found {
        Some(_) if may_exist => Ok(()),
        Some(_) => {
            Err(UserError::NamespaceExists { namespace: name.to_owned(), user: user.to_owned() }.into())
        }
        None => {
            let object = objects::namespace(name, (name == user).then_some(user));
            ensure_exists::<Namespace>(platform, name, object).await?;
            ui::print_status(&format!("Created the namespace {name}."));
            Ok(())
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
