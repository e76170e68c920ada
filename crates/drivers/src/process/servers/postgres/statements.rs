//! What is asked of a server so that an instance has its database and its role, or none. All of it can be repeated.

use super::{
    book::Names,
    wire::{ADMIN, Connection, WireError},
};

/// Makes a database and a role that owns it and can enter no other.
pub(super) async fn provide(server: &mut Connection, names: &Names, password: &str) -> Result<(), WireError> {
    let (database, role) = (name(&names.database), name(&names.user));
    if server.run(&format!("SELECT 1 FROM pg_roles WHERE rolname = {}", text(&names.user))).await?.is_empty()
    {
        // Before there is anybody who could enter them.
        server.run(&format!("REVOKE CONNECT ON DATABASE {ADMIN}, template1 FROM PUBLIC")).await?;
        server.run(&format!("CREATE ROLE {role}")).await?;
    }
    let rights = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS";
    server.run(&format!("ALTER ROLE {role} WITH {rights} PASSWORD {}", text(password))).await?;
    let there = format!("SELECT 1 FROM pg_database WHERE datname = {}", text(&names.database));
    if server.run(&there).await?.is_empty() {
        server.run(&format!("CREATE DATABASE {database} OWNER {role}")).await?;
    }
    server.run(&format!("REVOKE ALL ON DATABASE {database} FROM PUBLIC")).await?;
    Ok(())
}

/// Drops the database and the role.
pub(super) async fn drop(server: &mut Connection, names: &Names) -> Result<(), WireError> {
    let (database, role) = (name(&names.database), name(&names.user));
    let there = format!("SELECT 1 FROM pg_roles WHERE rolname = {}", text(&names.user));
    if !server.run(&there).await?.is_empty() {
        server.run(&format!("ALTER ROLE {role} WITH NOLOGIN")).await?;
    }
    let entered = text(&names.database);
    server
        .run(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {entered}"))
        .await?;
    // Waits a while for those who were sent away.
    server.run(&format!("DROP DATABASE IF EXISTS {database}")).await?;
    server.run(&format!("DROP ROLE IF EXISTS {role}")).await?;
    Ok(())
}

/// A name, whatever is in it.
fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text, whatever is in it. Backslashes are plain signs ([`Connection`] asks for that).
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_or_a_text_ends_it() {
        assert_eq!(name("a\"; DROP"), "\"a\"\"; DROP\"");
        assert_eq!(text("a'; DROP \\'"), "'a''; DROP \\'''");
    }
}
