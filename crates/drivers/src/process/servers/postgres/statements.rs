//! Statements that create and drop the database and the role of an instance. All are idempotent.

use super::{
    database_registry::Names,
    wire::{ADMIN, Connection, WireError},
};

/// Creates a database, and a role that owns it and can connect to no other.
pub(super) async fn provide(server: &mut Connection, names: &Names, password: &str) -> Result<(), WireError> {
    let (database, role) = (name(&names.database), name(&names.user));
    if server.run(&format!("SELECT 1 FROM pg_roles WHERE rolname = {}", text(&names.user))).await?.is_empty()
    {
        // Before there is a role that could connect to them.
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
    // Waits for sessions that are being terminated.
    server.run(&format!("DROP DATABASE IF EXISTS {database}")).await?;
    server.run(&format!("DROP ROLE IF EXISTS {role}")).await?;
    Ok(())
}

/// Quoted identifier.
fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quoted literal. Backslashes are plain characters ([`Connection`] sets that).
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(name("a\"; DROP"), "\"a\"\"; DROP\"");
        assert_eq!(text("a'; DROP \\'"), "'a''; DROP \\'''");
    }
}
