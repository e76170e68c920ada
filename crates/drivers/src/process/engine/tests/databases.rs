//! Databases and caches, with scripted servers.

use orchestra_api::claim::DeprovisionPolicy;
use orchestra_core::provision::Provision;
use serde_json::json;

use super::fixture::{Fixture, instance, secrets, values};
use crate::{
    Provisioner, Released,
    process::servers::{Server, ServerStatus},
};

/// Name of the database of the Workload `shop` under the key `it`.
const NAME: &str = "shop_it_01234567";

fn set_status(fixture: &Fixture, status: ServerStatus) {
    *fixture.servers.status.lock().unwrap() = Some(status);
}

#[tokio::test]
async fn a_database_is_bound_when_its_server_is_up_and_its_status_has_no_password() {
    let fixture = Fixture::new();
    set_status(&fixture, ServerStatus::Starting("The database is being created.".to_owned()));
    assert_eq!(fixture.message("postgres", json!({"version": 15})).await, "The database is being created.");
    let password = fixture.ctx.kept("password");
    set_status(&fixture, ServerStatus::Up { port: 5433 });
    let bound = fixture.bound("postgres", json!({"version": 15})).await;
    assert_eq!(
        values(&bound),
        json!({"host": "127.0.0.1", "port": 5433, "name": NAME, "database": NAME, "username": NAME})
    );
    assert_eq!(secrets(&bound), ["connection_string", "password", "uri"]);
    assert_eq!(bound.message, "Ready to use: `psql \"$(orchestra outputs shop it uri)\"`.");
    assert_eq!(fixture.ctx.kept("uri"), format!("postgresql://{NAME}:{password}@127.0.0.1:5433/{NAME}"));
    assert!(!format!("{bound:?}").contains(&password));
    let asked = fixture.servers.asked.lock().unwrap();
    let server =
        Server::Postgres { database: NAME.to_owned(), user: NAME.to_owned(), version: Some("15".to_owned()) };
    for (what, given) in asked.iter() {
        assert_eq!(
            (what, given.expose()),
            (&server, password.as_bytes()),
            "every request has the same server and password"
        );
    }
}

#[tokio::test]
async fn a_changed_port_changes_the_address_and_keeps_the_password() {
    let fixture = Fixture::new();
    set_status(&fixture, ServerStatus::Up { port: 6380 });
    let first = fixture.bound("redis", json!({})).await;
    let password = fixture.ctx.kept("password");
    assert_eq!(fixture.bound("redis", json!({})).await.versions, first.versions, "nothing is written again");
    set_status(&fixture, ServerStatus::Up { port: 6381 });
    let second = fixture.bound("redis", json!({})).await;
    assert_eq!(fixture.ctx.kept("uri"), format!("redis://default:{password}@127.0.0.1:6381"));
    assert_ne!(first.versions, second.versions);
}

#[tokio::test]
async fn the_deprovision_policy_decides_about_data_and_password() {
    for (policy, released, kept) in [
        (DeprovisionPolicy::Orphan, vec![], true),
        (DeprovisionPolicy::Retain, vec![false], true),
        (DeprovisionPolicy::Delete, vec![true], false),
    ] {
        let fixture = Fixture::new();
        set_status(&fixture, ServerStatus::Up { port: 5433 });
        fixture.bound("postgres", json!({})).await;
        assert_eq!(fixture.release("postgres", policy).await, Released::Done);
        assert_eq!(*fixture.servers.released.lock().unwrap(), released, "{policy:?}");
        assert_eq!(!fixture.ctx.keys().is_empty(), kept, "{policy:?}");
    }
}

#[tokio::test]
async fn a_password_is_deleted_after_its_database() {
    let fixture = Fixture::new();
    set_status(&fixture, ServerStatus::Up { port: 5433 });
    fixture.bound("postgres", json!({})).await;
    *fixture.servers.stopping.lock().unwrap() = true;
    let released = fixture.release("postgres", DeprovisionPolicy::Delete).await;
    assert!(matches!(released, Released::Waiting(_)), "{released:?}");
    assert!(fixture.ctx.keys().contains("password"));
}

#[tokio::test]
async fn a_server_that_is_not_installed_fails_with_the_remedy() {
    let fixture = Fixture::new();
    set_status(
        &fixture,
        ServerStatus::Unavailable("`redis-server` is not installed: install it.".to_owned()),
    );
    let answer = fixture.ensure("redis", json!({})).await.unwrap();
    let Provision::Failed(_, message) = answer else { panic!("{answer:?}") };
    assert_eq!(message, "`redis-server` is not installed: install it.");
    set_status(&fixture, ServerStatus::Down("The cache is restarting.".to_owned()));
    assert!(matches!(fixture.ensure("redis", json!({})).await.unwrap(), Provision::Binding(_)));
}

#[tokio::test]
async fn database_names_are_unique_and_need_no_quotes() {
    let fixture = Fixture::new();
    set_status(&fixture, ServerStatus::Up { port: 5433 });
    for (id, name) in [
        ("shop.orders-2", "shop_orders_2_01234567"),
        ("2nd", "db_2nd_01234567"),
        ("pg.x", "db_pg_x_01234567"),
    ] {
        let mut shared = instance("postgres", json!({}));
        shared.shared_id = Some(id.to_owned());
        let Provision::Bound(bound) = fixture.engine.ensure(&shared, &fixture.ctx).await.unwrap() else {
            panic!()
        };
        assert_eq!(values(&bound)["database"], json!(name));
        "fedcba9876543210".clone_into(&mut shared.id);
        let Provision::Bound(other) = fixture.engine.ensure(&shared, &fixture.ctx).await.unwrap() else {
            panic!()
        };
        assert_ne!(values(&other)["database"], json!(name));
    }
}
