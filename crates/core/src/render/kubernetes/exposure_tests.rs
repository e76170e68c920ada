use super::*;
use orchestra_api::plan::WorkloadPlanSpec;
use serde_json::json;

/// Plan with the ports `http` and `admin`, of which the first is exposed.
fn plan(values: &Json) -> WorkloadPlanSpec {
    serde_json::from_value(json!({
        "workloadRef": {"name": "shop", "uid": "u1"}, "observedWorkloadGeneration": 1, "revision": "r1",
        "runtimeClass": "kubernetes", "backendId": "eu", "profile": "web", "kind": "Service",
        "containers": {"app": {"image": "nginx"}},
        "ports": {"http": {"port": 8080, "targetPort": 80}, "admin": {"port": 9000, "targetPort": 9000}},
        "exposures": [{"port": "http", "priority": 1}],
        "values": values,
    }))
    .unwrap()
}

fn routed(values: &Json) -> WorkloadPlanSpec {
    let mut plan = plan(values);
    plan.claims = serde_json::from_value(json!([
        {"key": "main", "name": "c1", "type": "route", "class": "default", "instance": "i1"},
        {"key": "more", "name": "c2", "type": "route", "class": "default", "instance": "i2"},
    ]))
    .unwrap();
    plan.exposures = serde_json::from_value(
        json!([{"claimKey": "main", "priority": 2}, {"claimKey": "more", "priority": 1}]),
    )
    .unwrap();
    plan
}

fn urls_of(plan: &WorkloadPlanSpec, facts: &Facts) -> Vec<(String, i32, Scope)> {
    let subject = Subject { namespace: "team", name: "shop", plan };
    let all = addresses(&subject, facts).into_iter();
    all.map(|found| (found.url, found.priority, found.scope.unwrap())).collect()
}

fn ingress(name: &str, instance: Option<&str>, hosts: &[&str], address: Option<&str>) -> RouteFact {
    let places = hosts.iter().map(|host| (Some((*host).to_owned()), "/".to_owned())).collect();
    RouteFact {
        name: name.to_owned(),
        instance: instance.map(ToOwned::to_owned),
        places,
        encrypted: Some(Vec::new()),
        is_served: address.is_some(),
        address: address.map(ToOwned::to_owned),
    }
}

fn with_routes(routes: Vec<RouteFact>) -> Facts {
    Facts { routes, ..Facts::default() }
}

#[test]
fn without_a_public_address_the_one_inside_the_cluster_is_published() {
    let inside = ("http://shop.team.svc.cluster.local:8080".to_owned(), 1, Scope::Internal);
    assert_eq!(urls_of(&plan(&json!({})), &Facts::default()), [inside]);
}

#[test]
fn an_ingress_is_published_once_its_controller_has_accepted_it() {
    let plan = plan(&json!({"domain": "example.org"}));
    let facts = |address| with_routes(vec![ingress("shop", None, &["shop.team.example.org"], address)]);
    assert_eq!(urls_of(&plan, &facts(None))[0].2, Scope::Internal);
    assert_eq!(
        urls_of(&plan, &facts(Some("10.0.0.1"))),
        [("http://shop.team.example.org".to_owned(), 1, Scope::Public)]
    );
}

#[test]
fn the_address_has_the_port_and_tls_of_the_ingress() {
    let plan = plan(&json!({"domain": "example.org", "port": 8000}));
    let mut route = ingress("shop", None, &["shop.team.example.org"], Some("10.0.0.1"));
    assert_eq!(urls_of(&plan, &with_routes(vec![route.clone()]))[0].0, "http://shop.team.example.org:8000");
    route.encrypted = Some(vec!["shop.team.example.org".to_owned()]);
    assert_eq!(urls_of(&plan, &with_routes(vec![route]))[0].0, "https://shop.team.example.org:8000");
}

#[test]
fn an_ingress_of_another_host_or_claim_is_ignored() {
    let plan = plan(&json!({"domain": "example.org"}));
    let at = Some("10.0.0.1");
    for route in [
        ingress("shop", None, &["old.example.org"], at),
        ingress("shop", Some("i9"), &["shop.team.example.org"], at),
        ingress("other", None, &["shop.team.example.org"], at),
    ] {
        assert_eq!(urls_of(&plan, &with_routes(vec![route.clone()]))[0].2, Scope::Internal, "{route:?}");
    }
}

#[test]
fn routes_of_claims_are_published_by_their_priority() {
    let plan = routed(&json!({}));
    let mut with_path = ingress("b", Some("i1"), &["shop.example.org"], Some("10.0.0.1"));
    with_path.places[0].1 = "/shop(/|$)(.*)".to_owned();
    let facts =
        with_routes(vec![ingress("a", Some("i2"), &["low.example.org"], Some("10.0.0.1")), with_path]);
    assert_eq!(
        urls_of(&plan, &facts),
        [
            ("http://shop.example.org/shop".to_owned(), 2, Scope::Public),
            ("http://low.example.org".to_owned(), 1, Scope::Public),
        ]
    );
    let nothing = urls_of(&plan, &Facts::default());
    assert_eq!(nothing, [("http://shop.team.svc.cluster.local:8080".to_owned(), 1, Scope::Internal)]);
}

#[test]
fn a_load_balancer_is_published_with_its_address() {
    let plan = plan(&json!({"expose": "loadBalancer"}));
    let facts = |balancers: &[&str]| Facts {
        services: vec![ServiceFact {
            name: names::public_service("shop"),
            balancers: balancers.iter().map(|b| (*b).to_owned()).collect(),
            ..ServiceFact::default()
        }],
        ..Facts::default()
    };
    assert_eq!(urls_of(&plan, &facts(&[]))[0].2, Scope::Internal);
    assert_eq!(urls_of(&plan, &facts(&["lb.example.org"]))[0].0, "http://lb.example.org:8080");
    assert_eq!(urls_of(&plan, &facts(&["fd00::1"]))[0].0, "http://[fd00::1]:8080");
}

#[test]
fn a_node_port_is_published_with_the_address_of_a_node() {
    let plan = plan(&json!({"expose": "nodePort"}));
    let service = ServiceFact {
        name: names::public_service("shop"),
        node_ports: [(8080, 30123)].into(),
        ..ServiceFact::default()
    };
    let mut facts = Facts { services: vec![service], ..Facts::default() };
    assert_eq!(urls_of(&plan, &facts)[0].2, Scope::Internal);
    facts.node_address = Some("10.240.0.1".to_owned());
    assert_eq!(urls_of(&plan, &facts)[0].0, "http://10.240.0.1:30123");
}

#[test]
fn the_scheme_follows_from_the_name_or_number_of_a_port() {
    for (name, port, url) in [
        ("https", 7000, "https://shop.team.svc.cluster.local:7000"),
        ("web", 443, "https://shop.team.svc.cluster.local"),
        ("web", 80, "http://shop.team.svc.cluster.local"),
    ] {
        let mut plan = plan(&json!({}));
        plan.ports = serde_json::from_value(json!({name: {"port": port, "targetPort": 1}})).unwrap();
        plan.exposures = endpoint::choose(&plan.ports, std::iter::empty());
        assert_eq!(urls_of(&plan, &Facts::default())[0].0, url);
    }
}

#[test]
fn without_ports_there_is_no_address() {
    let mut plan = plan(&json!({}));
    plan.ports.clear();
    plan.exposures.clear();
    assert_eq!(urls_of(&plan, &Facts::default()), []);
}

#[test]
fn objects_are_summarised() {
    let ingress: Ingress = serde_json::from_value(json!({
        "metadata": {"name": "shop", "labels": {"score.dev/instance": "i1"}},
        "spec": {
            "rules": [{"host": "a.example.org", "http": {"paths": [
                {"path": "/x", "pathType": "Prefix", "backend": {}},
            ]}}],
            "tls": [{"secretName": "s"}],
        },
        "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}},
    }))
    .unwrap();
    let fact = RouteFact::of_ingress(&ingress);
    assert_eq!(fact.places, [(Some("a.example.org".to_owned()), "/x".to_owned())]);
    assert_eq!(fact.encrypted, Some(vec!["a.example.org".to_owned()]));
    assert_eq!((fact.instance.as_deref(), fact.address.as_deref()), (Some("i1"), Some("10.0.0.1")));
    assert!(fact.is_served);

    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status});
    let route = |resolved: &str| {
        json!({
            "metadata": {"name": "shop"},
            "spec": {"hostnames": ["b.example.org"], "rules": [{"backendRefs": []}]},
            "status": {"parents": [{"conditions": [condition("Accepted", "True"), condition("ResolvedRefs", resolved)]}]},
        })
    };
    let fact = RouteFact::of_http_route(&route("True"));
    assert_eq!(fact.places, [(Some("b.example.org".to_owned()), "/".to_owned())]);
    assert!(fact.is_served && !RouteFact::of_http_route(&route("False")).is_served);

    let service: Service = serde_json::from_value(json!({
        "spec": {"ports": [{"port": 80, "nodePort": 30080}, {"port": 53, "protocol": "UDP", "nodePort": 30053}]},
        "status": {"loadBalancer": {"ingress": [{"hostname": "lb.example.org"}]}},
    }))
    .unwrap();
    let fact = ServiceFact::of(&service);
    assert_eq!(fact.balancers, ["lb.example.org"]);
    assert_eq!(fact.node_ports, [(80, 30080)].into());
}
