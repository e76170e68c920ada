//! Databases and caches of servers of this machine. The password of each is generated once, and kept as long as its data.

use orchestra_api::condition::Reason;
use orchestra_core::provision::{Bound, Dependent, Instance, Provision};
use serde_json::json;

use super::{
    bound,
    means::{Id, Servers},
    params::{Params, broken},
    secret::of_keys,
};
use crate::{
    DriverError, Neighbourhood, SecretText,
    neighbourhood::{Contents, Kept},
    process::servers::{Server, Standing},
    random,
};

/// The type of database servers.
pub(super) const POSTGRES: &str = "postgres";
/// The type of cache servers.
pub(super) const REDIS: &str = "redis";
/// What both know.
pub(super) const PARAMS: &[&str] = &["version"];

/// How much of its name and of its identity are in the name of a database, which has 63 letters at most.
const SHOWN: usize = 48;
const IDENTITY: usize = 8;

const HOST: &str = "127.0.0.1";
const PASSWORD: &str = "password";

pub(super) async fn ensure(
    id: &Id,
    instance: &Instance,
    params: &Params,
    around: &dyn Neighbourhood,
    servers: &dyn Servers,
) -> Result<Provision, DriverError> {
    let version = params.text("version")?;
    let name = identifier(instance);
    let server = if instance.type_ == POSTGRES {
        Server::Postgres { database: name.clone(), user: name, version }
    } else {
        Server::Redis { version }
    };
    // First of all the password: what is made with it must be found again.
    let kept = around.keep(&with_password).await?;
    let password = password(&kept.contents)?;
    Ok(match servers.ensure(id, &server, &password).await {
        Standing::Starting(message) | Standing::Down(message) => Provision::Binding(message),
        // It is looked for again by itself, and told if it is found.
        Standing::Lacking(message) => Provision::Failed(Reason::BindingFailed, message),
        Standing::Up { port } => {
            let address = |password: &str| match &server {
                Server::Postgres { database, user, .. } => {
                    format!("postgresql://{user}:{password}@{HOST}:{port}/{database}")
                }
                Server::Redis { .. } => format!("redis://default:{password}@{HOST}:{port}"),
            };
            let kept = around.keep(&|is| with_addresses(is, address)).await?;
            Provision::Bound(described(&server, port, &kept, instance))
        }
    })
}

fn described(server: &Server, port: u16, kept: &Kept, instance: &Instance) -> Bound {
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
    // The password is not told here, but whoever may read it gets it by this.
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

/// The keys under which the whole address is, with its password.
const ADDRESSES: [&str; 2] = ["connection_string", "uri"];

fn with_password(is: &Contents) -> Result<Contents, DriverError> {
    let mut contents = is.clone();
    if !contents.contains_key(PASSWORD) {
        contents.insert(PASSWORD.to_owned(), SecretText::new(random::generate()?));
    }
    Ok(contents)
}

fn with_addresses(is: &Contents, address: impl Fn(&str) -> String) -> Result<Contents, DriverError> {
    let mut contents = with_password(is)?;
    let password = password(&contents)?;
    let password = std::str::from_utf8(password.expose()).map_err(|_| broken("its password is no text"))?;
    for key in ADDRESSES {
        contents.insert(key.to_owned(), SecretText::new(address(password).into_bytes()));
    }
    Ok(contents)
}

fn password(contents: &Contents) -> Result<SecretText, DriverError> {
    contents.get(PASSWORD).cloned().ok_or_else(|| broken("its password is gone"))
}

/// The name of a database and of its owner: people recognise it, it needs no quotes, and since instances of all namespaces
/// may be in one server, no other has it.
fn identifier(instance: &Instance) -> String {
    let by_workload = || {
        let dependent = instance.dependents.first();
        dependent.map(|Dependent { workload, key }| format!("{workload}_{key}"))
    };
    let name = instance.shared_id.clone().or_else(by_workload).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '_' };
    let name: String = name.chars().map(plain).take(SHOWN).collect();
    // Names that begin with a digit need quotes, and those with `pg_` are not for users.
    let is_free = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.starts_with("pg_");
    let identity: String = instance.id.chars().take(IDENTITY).collect();
    format!("{}{name}_{identity}", if is_free { "" } else { "db_" })
}
