//! `orchestra user list`

use std::fmt::Write as _;

use k8s_openapi::api::{
    core::v1::ServiceAccount,
    rbac::v1::{ClusterRoleBinding, RoleBinding},
};
use kube::{Api, ResourceExt, api::ListParams};
use orchestra_api::USERS_NAMESPACE;
use serde::Serialize;
use serde_json::json;

use super::{api_error, labelled, objects, rights::is_allowed};
use crate::{
    args::{Format, ListUsers},
    cmd::{
        platform::{self, Platform},
        print, show,
    },
    error::CliError,
    exit::Exit,
    ui,
};

/// User, with the access of all bindings, also of those that were made by hand.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct UserRow {
    name: String,
    access: Vec<Access>,
    /// Namespaces in which the user has the right to run programs.
    runs_programs: Vec<String>,
    created: String,
}

/// Role in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Access {
    /// Absent for all namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    role: String,
}

pub(super) fn run(args: &ListUsers) -> Result<Exit, CliError> {
    platform::with_platform(&args.administrator.target(), async |platform| list(args, &platform).await)
}

async fn list(args: &ListUsers, platform: &Platform) -> Result<Exit, CliError> {
    let client = &platform.client;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), USERS_NAMESPACE);
    let accounts = labelled(platform, accounts, None).await?;
    let failed = |error| api_error(platform, "role bindings", error);
    let bindings: Api<RoleBinding> = Api::all(client.clone());
    let bindings = bindings.list(&ListParams::default()).await.map_err(failed)?.items;
    let cluster_bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let cluster_bindings = cluster_bindings.list(&ListParams::default()).await.map_err(failed)?.items;
    let mut rows = Vec::new();
    for account in accounts {
        let name = account.name_any();
        let mut access = access(&name, &bindings, &cluster_bindings);
        access.sort();
        let mut runs_programs = Vec::new();
        let mut namespaces: Vec<&str> = access.iter().filter_map(|one| one.namespace.as_deref()).collect();
        namespaces.dedup();
        for namespace in namespaces {
            if is_allowed(platform, &name, namespace, ("update", "workloads", "origin")).await? {
                runs_programs.push(namespace.to_owned());
            }
        }
        let created = account.creation_timestamp().map(|time| time.0.to_string()).unwrap_or_default();
        rows.push(UserRow { name, access, runs_programs, created });
    }
    match args.output {
        Format::Human if rows.is_empty() => {
            ui::print_status("No users; add one with `orchestra user add NAME`.");
            Ok(Exit::Success)
        }
        Format::Human => print(&table(&rows)),
        format => show::value(&json!({"users": rows}), format),
    }
}

/// Access of a user by bindings, except the right to renew the own token.
fn access(user: &str, bindings: &[RoleBinding], cluster_bindings: &[ClusterRoleBinding]) -> Vec<Access> {
    let renewal = objects::renewal_name(user);
    let namespaced = bindings.iter().filter_map(|binding| {
        let namespace = binding.namespace()?;
        let is_renewal = namespace == USERS_NAMESPACE && binding.name_any() == renewal;
        let binds = objects::binds(binding.subjects.as_ref(), &namespace, user) && !is_renewal;
        binds.then(|| Access { namespace: Some(namespace), role: binding.role_ref.name.clone() })
    });
    let cluster =
        cluster_bindings.iter().filter(|binding| objects::binds(binding.subjects.as_ref(), "", user));
    let cluster = cluster.map(|binding| Access { namespace: None, role: binding.role_ref.name.clone() });
    namespaced.chain(cluster).collect()
}

fn table(users: &[UserRow]) -> String {
    let mut rows = vec![["NAME", "ACCESS", "PROGRAMS", "CREATED"].map(ToOwned::to_owned)];
    for user in users {
        let access = user.access.iter().map(|one| match &one.namespace {
            Some(namespace) => format!("{namespace}: {}", one.role),
            None => format!("all namespaces: {}", one.role),
        });
        let access: Vec<String> = access.collect();
        let programs = if user.runs_programs.is_empty() {
            "no".to_owned()
        } else {
            format!("yes: {}", user.runs_programs.join(", "))
        };
        let access = if access.is_empty() { "none".to_owned() } else { access.join(", ") };
        rows.push([user.name.clone(), access, programs, user.created.clone()]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{:<width$}   ", ui::printable(cell));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
