//! Host names, routes, and addresses of other Workloads.

use futures_util::StreamExt as _;
use orchestra_api::claim::DeprovisionPolicy;
use orchestra_core::provision::{Dependent, Instance};
use serde_json::json;

use super::fixture::{Fixture, INSTANCE, NAMESPACE, instance, ports, values};
use crate::{
    DriverError, DriverErrorKind, Provisioner,
    process::{
        local_bindings::{self, LocalBinding},
        proxy::Rule,
    },
};

fn rule(host: &str, path: &str, port: u16) -> Rule {
    Rule { host: host.to_owned(), path: path.to_owned(), exact: false, port }
}

#[tokio::test]
async fn a_dns_name_is_the_workload_or_the_id_under_localhost() {
    let fixture = Fixture::new();
    let named = fixture.bound("dns", json!({})).await;
    assert_eq!(values(&named), json!({"host": "shop.localhost", "url": "http://shop.localhost:8000"}));
    let mut elsewhere = instance("dns", json!({}));
    (elsewhere.namespace, elsewhere.shared_id) = ("team".to_owned(), Some("web.front".to_owned()));
    let answer = format!("{:?}", fixture.engine.ensure(&elsewhere, &fixture.ctx).await.unwrap());
    assert!(answer.contains("\"web.front.team.localhost\""), "{answer}");
}

#[tokio::test]
async fn a_route_forwards_to_a_port_of_its_workload() {
    let fixture = Fixture::new();
    fixture.ctx.declare("shop", ports(&[("web", 80, 8080), ("admin", 9000, 9000)]));
    let id = (NAMESPACE.to_owned(), INSTANCE.to_owned());
    for (params, expected, address) in [
        (json!({}), rule("shop.localhost", "/", 8080), "http://shop.localhost:8000/"),
        (
            json!({"host": "Shop.localhost", "path": "/admin", "port": "admin"}),
            rule("shop.localhost", "/admin", 9000),
            "http://shop.localhost:8000/admin",
        ),
        (json!({"port": 80}), rule("shop.localhost", "/", 8080), "http://shop.localhost:8000/"),
        (json!({"port": "8080"}), rule("shop.localhost", "/", 8080), "http://shop.localhost:8000/"),
    ] {
        let bound = fixture.bound("route", params.clone()).await;
        assert!(bound.outputs.is_empty());
        assert_eq!(fixture.proxy.0.lock().unwrap()[&id], [expected], "{params}");
        let binding = local_bindings::find(fixture.data.path(), NAMESPACE, "shop-it").unwrap();
        assert_eq!(binding, Some(LocalBinding::Route(address.to_owned())));
        assert_eq!(bound.message, format!("Answers at {address}."));
    }
    let bound = fixture.bound("route", json!({"host": "shop.example.org"})).await;
    assert!(bound.message.contains("`127.0.0.1 shop.example.org`"), "{}", bound.message);
    fixture.release("route", DeprovisionPolicy::Retain).await;
    assert!(fixture.proxy.0.lock().unwrap().is_empty());
    assert_eq!(local_bindings::find(fixture.data.path(), NAMESPACE, "shop-it").unwrap(), None);
}

#[tokio::test]
async fn a_route_without_a_target_is_refused_and_its_rule_is_removed() {
    let fixture = Fixture::new();
    fixture.ctx.declare("shop", ports(&[("web", 80, 8080)]));
    fixture.bound("route", json!({})).await;
    assert_eq!(
        fixture.message("route", json!({"port": "wbe"})).await,
        "The route has no target in the workload `shop`: it has no service port `wbe`; it declares `web`."
    );
    assert!(fixture.proxy.0.lock().unwrap().is_empty());
    for params in
        [json!({"path": "admin"}), json!({"host": "a b"}), json!({"host": "x:80"}), json!({"host": "*.x"})]
    {
        let message = fixture.message("route", params).await;
        assert!(message.starts_with("The parameter `"), "{message}");
    }
}

#[tokio::test]
async fn a_route_conflict_names_its_owner_and_ends_with_it() {
    let fixture = Fixture::new();
    fixture.ctx.declare("shop", ports(&[("web", 80, 8080)]));
    fixture.bound("route", json!({})).await;
    let second = Instance {
        id: "second".to_owned(),
        claims: vec!["other-it".to_owned()],
        dependents: vec![Dependent { workload: "shop".to_owned(), key: "other".to_owned() }],
        ..instance("route", json!({}))
    };
    let Err(DriverError { kind: DriverErrorKind::Refused, message, .. }) =
        fixture.engine.ensure(&second, &fixture.ctx).await
    else {
        panic!()
    };
    assert_eq!(
        message,
        "`shop.localhost` with the path `/` is already in use by the route `it` of the workload `shop` in the namespace `default`: choose another host or path."
    );
    let mut changes = fixture.engine.changes();
    fixture.release("route", DeprovisionPolicy::Delete).await;
    assert_eq!(changes.next().await, Some((NAMESPACE.to_owned(), "second".to_owned())));
    assert!(fixture.engine.ensure(&second, &fixture.ctx).await.is_ok());
}

#[tokio::test]
async fn a_service_is_bound_when_its_workload_declares_the_port() {
    let fixture = Fixture::new();
    let wanted = json!({"workload": "back", "port": "api"});
    let message = async || fixture.message("service-port", wanted.clone()).await;
    assert!(
        message()
            .await
            .contains("Waiting for the workload `back` in this namespace; there are no workloads yet.")
    );
    fixture.ctx.declare("shop", json!({}));
    assert!(message().await.contains("; existing workloads: `shop`."));
    fixture.ctx.declare("back", ports(&[("web", 80, 8080)]));
    assert!(message().await.contains("`back`: it has no service port `api`; it declares `web`."));
    fixture.ctx.declare("back", ports(&[("web", 80, 8080), ("api", 7000, 7001)]));
    let bound = fixture.bound("service-port", wanted.clone()).await;
    assert_eq!(values(&bound), json!({"hostname": "localhost", "port": 7000}));
    assert!(fixture.message("service-port", json!({})).await.contains("add `workload: …`"));
}

#[tokio::test]
async fn a_service_is_found_by_key_id_or_parameter() {
    let fixture = Fixture::new();
    for workload in ["it", "flags", "back"] {
        fixture.ctx.declare(workload, ports(&[("web", 8080, 8080)]));
    }
    let by_key = fixture.bound("service", json!({})).await;
    assert_eq!(by_key.message, "Ready to use: the workload `it` at localhost:8080.");
    assert_eq!(
        values(&by_key),
        json!({"name": "localhost", "host": "localhost", "hostname": "localhost", "port": 8080,
            "url": "http://localhost:8080", "endpoint": "http://localhost:8080"})
    );
    let mut shared = instance("service", json!({}));
    shared.shared_id = Some("shared.flags".to_owned());
    let answer = format!("{:?}", fixture.engine.ensure(&shared, &fixture.ctx).await.unwrap());
    assert!(answer.contains("the workload `flags`"), "{answer}");
    let by_param = fixture.bound("service", json!({"workload": "back"})).await;
    assert!(by_param.message.contains("`back`"));
    fixture.ctx.declare("back", ports(&[("web", 8443, 8443)]));
    let secure = fixture.bound("service", json!({"workload": "back"})).await;
    assert_eq!(values(&secure)["url"], "https://localhost:8443");
}
