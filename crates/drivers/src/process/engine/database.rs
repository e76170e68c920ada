//! Databases and caches of local servers. The password of each is generated once, and kept as long as its data.

use orchestra_api::condition::Reason;
use orchestra_core::provision::{Bound, Dependent, Instance, Provision};
use serde_json::json;

use super::{
    bound,
    deps::Servers,
    params::{Params, unavailable},
    secret::of_keys,
};
use crate::{
    DriverError, NamespacedName, ProvisionContext, SecretText,
    process::servers::{Server, ServerStatus},
    provision_context::{InstanceSecret, SecretData},
    random,
};

/// Resource type of databases.
pub(super) const POSTGRES: &str = "postgres";
/// Resource type of caches.
pub(super) const REDIS: &str = "redis";
/// Parameters of both types.
pub(super) const PARAMS: &[&str] = &["version"];

/// Characters of the name and of the identity in the name of a database, which has 63 at most.
const NAME_CHARS: usize = 48;
const IDENTITY_CHARS: usize = 8;

const HOST: &str = "127.0.0.1";
const PASSWORD: &str = "password";

pub(super) async fn ensure(
    id: &NamespacedName,
    instance: &Instance,
    params: &Params,
    ctx: &dyn ProvisionContext,
    servers: &dyn Servers,
) -> Result<Provision, DriverError> {
    let version = params.text("version")?;
    let name = identifier(instance);
    let server = if instance.type_ == POSTGRES {
        Server::Postgres { database: name.clone(), user: name, version }
    } else {
        Server::Redis { version }
    };
    // The password is stored first: the database that is created with it must be found again.
    let kept = ctx.update_secret(&with_password).await?;
    let password = password(&kept.contents)?;
    Ok(match servers.ensure(id, &server, &password).await {
        ServerStatus::Starting(message) | ServerStatus::Down(message) => Provision::Binding(message),
        // The server is looked for in the background, and the instance notified when it is installed.
        ServerStatus::Unavailable(message) => Provision::Failed(Reason::BindingFailed, message),
        ServerStatus::Up { port } => {
            let address = |password: &str| match &server {
                Server::Postgres { database, user, .. } => {
                    format!("postgresql://{user}:{password}@{HOST}:{port}/{database}")
                }
                Server::Redis { .. } => format!("redis://default:{password}@{HOST}:{port}"),
            };
            let kept = ctx.update_secret(&|is| with_addresses(is, address)).await?;
            Provision::Bound(described(&server, port, &kept, instance))
        }
    })
}

fn described(server: &Server, port: u16, kept: &InstanceSecret, instance: &Instance) -> Bound {
    let values = match server {
        Server::Postgres { database, user, .. } => bound([
            ("host", json!(HOST)),
            ("port", json!(port)),
            ("name", json!(database)),
            ("database", json!(database)),
            ("username", json!(user)),
        ]),
        Server::Redis { .. } => {
            bound([("host", json!(HOST)), ("port", json!(port)), ("username", json!("default"))])
        }
    };
    // The message has no password, but a command that reads it with the rights of the user.
    let namespace = match instance.namespace.as_str() {
        "default" => String::new(),
        other => format!(" -n {other}"),
    };
    let dependent = instance.dependents.first();
    let of = dependent.map(|Dependent { workload, key }| format!("{workload} {key}")).unwrap_or_default();
    let address = format!("\"$(orchestra outputs{namespace} {of} uri)\"");
    let connect = match server {
        Server::Postgres { .. } => format!("psql {address}"),
        Server::Redis { .. } => format!("redis-cli -u {address}"),
    };
    let mut all = of_keys(kept, ADDRESSES.iter().chain(&[PASSWORD]).map(|key| (*key).to_owned()));
    all.outputs.extend(values.outputs);
    Bound { message: format!("Ready to use: `{connect}`."), ..all }
}

/// Keys of the connection string, which contains the password.
const ADDRESSES: [&str; 2] = ["connection_string", "uri"];

fn with_password(is: &SecretData) -> Result<SecretData, DriverError> {
    let mut contents = is.clone();
    if !contents.contains_key(PASSWORD) {
        contents.insert(PASSWORD.to_owned(), SecretText::new(random::generate()?));
    }
    Ok(contents)
}

fn with_addresses(is: &SecretData, address: impl Fn(&str) -> String) -> Result<SecretData, DriverError> {
    let mut contents = with_password(is)?;
    let password = password(&contents)?;
    let password =
        std::str::from_utf8(password.expose()).map_err(|_| unavailable("its password is not valid UTF-8"))?;
    for key in ADDRESSES {
        contents.insert(key.to_owned(), SecretText::new(address(password).into_bytes()));
    }
    Ok(contents)
}

fn password(contents: &SecretData) -> Result<SecretText, DriverError> {
    contents.get(PASSWORD).cloned().ok_or_else(|| unavailable("its password was deleted"))
}

/// Name of a database and of its owner: readable, without need for quotes, and unique among the instances of all namespaces in
/// one server.
fn identifier(instance: &Instance) -> String {
    let by_workload = || {
        let dependent = instance.dependents.first();
        dependent.map(|Dependent { workload, key }| format!("{workload}_{key}"))
    };
    let name = instance.shared_id.clone().or_else(by_workload).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '_' };
    let name: String = name.chars().map(plain).take(NAME_CHARS).collect();
    // Names that begin with a digit need quotes, and `pg_` is reserved.
    let is_free = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.starts_with("pg_");
    let identity: String = instance.id.chars().take(IDENTITY_CHARS).collect();
    format!("{}{name}_{identity}", if is_free { "" } else { "db_" })
}
