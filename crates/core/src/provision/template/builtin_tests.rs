use std::collections::BTreeMap;

use super::*;
use crate::{
    config::builtin as config,
    endpoint,
    provision::{
        Dependent, Instance,
        template::{Extension, Generates, Refusal, Rendered, Request, SavedState, render},
    },
};
use base64::{Engine as _, prelude::BASE64_STANDARD as STANDARD};
use orchestra_api::{claim::Output, plan::Port};
use orchestra_score::model::Protocol;
use serde_json::{Map, Value as Json, json};

const SECRET_NAME: &str = "postgres-1";

fn instance(type_: &str, class: &str, params: &Json) -> Instance {
    let entry = config::all().iter().find(|entry| entry.type_ == type_ && entry.engine == config::TEMPLATE);
    Instance {
        namespace: "shop".to_owned(),
        id: "0123456789abcdef".to_owned(),
        type_: type_.to_owned(),
        class: class.to_owned(),
        shared_id: None,
        params: params.as_object().cloned().unwrap(),
        metadata: Map::new(),
        values: Map::new(),
        entry: entry.unwrap().clone(),
        claims: vec!["web-db".to_owned()],
        dependents: vec![Dependent { workload: "web".to_owned(), key: "db".to_owned() }],
        warning: None,
    }
}

fn tcp(port: u16, target_port: u16) -> Port {
    Port { port, target_port, protocol: Protocol::Tcp }
}

fn rendered(instance: &Instance) -> Result<Rendered, Refusal> {
    let workloads = [
        ("web".to_owned(), [("http".to_owned(), tcp(80, 8080))].into()),
        ("db".to_owned(), [("api".to_owned(), tcp(90, 9090))].into()),
    ];
    rendered_beside(&workloads.into(), instance)
}

/// Rendered entry in a namespace with these Workloads and their ports.
fn rendered_beside(
    workloads: &BTreeMap<String, BTreeMap<String, Port>>,
    instance: &Instance,
) -> Result<Rendered, Refusal> {
    let entry = choose(entries().iter(), None, (&instance.type_, &instance.class, "web.db")).unwrap();
    let extension = Extension::read(&entry.extension).unwrap();
    let generated: BTreeMap<String, String> = match extension.generates {
        Some(Generates::Certificate) => ["tls.crt", "tls.key", "ca.crt"]
            .iter()
            .map(|key| ((*key).to_owned(), format!("PEM of\n{key}")))
            .collect(),
        Some(Generates::Values) => [("token".to_owned(), "ValueOfTheToken".to_owned())].into(),
        None => BTreeMap::new(),
    };
    let request = Request {
        entry,
        extension: &extension,
        instance,
        secret_name: SECRET_NAME,
        generated: &generated,
        environment: &json!({"LEVEL": "debug"}).as_object().cloned().unwrap(),
        workloads,
    };
    render(&request, &SavedState { seed: b"seed".to_vec(), ..SavedState::default() })
}

fn plain(rendered: &Rendered, output: &str) -> Json {
    match &rendered.sealed.outputs[output] {
        Output::Value(value) => value.clone(),
        Output::SecretKeyRef(at) => panic!("{output} is secret: {at:?}"),
    }
}

fn is_secret(rendered: &Rendered, output: &str) -> bool {
    matches!(rendered.sealed.outputs[output], Output::SecretKeyRef(_))
}

#[test]
fn every_file_is_valid_and_every_type_has_an_entry() {
    for (name, text) in FILES {
        let entries = load(text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        for entry in entries {
            Extension::read(&entry.extension).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            assert!(entry.unsupported.is_none() && !entry.is_for_compose(), "{name}");
        }
    }
    for entry in config::all().iter().filter(|entry| entry.engine == config::TEMPLATE) {
        assert!(entries().iter().any(|own| own.type_ == entry.type_), "{}", entry.type_);
    }
}

#[test]
fn a_custom_entry_comes_before_a_built_in_one_with_the_name_of_its_file() {
    let custom = load("- {uri: 'template://our/postgres', type: postgres, class: large}").unwrap();
    let files = [("ours/db.provisioners.yaml".to_owned(), custom)].into();
    let found = |uri, class| {
        let found = find(&files, uri, ("postgres", class, "web.db"));
        found.map(|(entry, file)| (entry.uri.as_str(), file))
    };
    let ours = Some(("template://our/postgres", Some("ours/db.provisioners.yaml")));
    assert_eq!(found(None, "large"), ours);
    assert_eq!(found(Some("template://our/postgres"), "default"), ours);
    assert_eq!(found(None, "default").unwrap().1, None);
    assert_eq!(found(Some("template://nobody"), "large"), None);
}

#[test]
fn every_entry_has_its_declared_outputs_and_leaks_no_secret() {
    for entry in entries() {
        let class = entry.class.as_deref().unwrap_or("default");
        let given = rendered(&instance(&entry.type_, class, &json!({})));
        let given = given.unwrap_or_else(|refusal| panic!("{}: {refusal:?}", entry.uri));
        for output in &entry.expected_outputs {
            assert!(given.sealed.outputs.contains_key(output), "{}: {output}", entry.uri);
        }
        let random: Vec<&String> =
            given.saved.record.random_values.iter().filter(|random| random.len() >= 12).collect();
        let open = given.objects.iter().filter(|object| object["kind"] != "Secret").map(Json::to_string);
        let shown = serde_json::to_string(&given.sealed.outputs).unwrap();
        for text in open.chain([shown]) {
            assert!(random.iter().all(|random| !text.contains(random.as_str())), "{}: {text}", entry.uri);
        }
    }
}

#[test]
fn servers_are_hardened_and_have_their_own_volume() {
    let servers =
        ["amqp", "elasticsearch", "kafka", "kafka-topic", "mongodb", "mysql", "postgres", "redis", "s3"];
    for type_ in servers {
        let given = rendered(&instance(type_, "default", &json!({}))).unwrap();
        let of = |kind: &str| {
            given
                .objects
                .iter()
                .find(|object| object["kind"] == kind)
                .unwrap_or_else(|| panic!("{type_}: {kind}"))
        };
        let spec = &of("StatefulSet")["spec"]["template"]["spec"];
        let security = &spec["securityContext"];
        assert_eq!(security["runAsNonRoot"], true, "{type_}");
        assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault", "{type_}");
        assert_eq!(spec["automountServiceAccountToken"], false, "{type_}");
        let container = &spec["containers"][0];
        assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false, "{type_}");
        assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]), "{type_}");
        assert!(container["readinessProbe"].is_object(), "{type_}");
        let claim = &spec["volumes"][0]["persistentVolumeClaim"]["claimName"];
        assert_eq!(claim, &of("PersistentVolumeClaim")["metadata"]["name"], "{type_}");
        assert_eq!(
            of("Service")["spec"]["selector"],
            of("StatefulSet")["spec"]["selector"]["matchLabels"],
            "{type_}"
        );
    }
}

/// The names of images and variables are those of the images' own documentation.
#[test]
fn servers_start_the_official_image_and_clients_reach_its_port() {
    for (type_, image, port, uri, variables) in [
        (
            "amqp",
            "docker.io/library/rabbitmq:4",
            5672,
            "amqp://app:PASSWORD@HOST:5672/%2F",
            &["RABBITMQ_DEFAULT_USER", "RABBITMQ_DEFAULT_PASS"][..],
        ),
        (
            "elasticsearch",
            "docker.elastic.co/elasticsearch/elasticsearch:8.18.0",
            9200,
            "http://elastic:PASSWORD@HOST:9200",
            &["ELASTIC_PASSWORD", "discovery.type"],
        ),
        (
            "mongodb",
            "docker.io/library/mongo:7",
            27017,
            "mongodb://app:PASSWORD@HOST:27017/",
            &["MONGO_INITDB_ROOT_USERNAME", "MONGO_INITDB_ROOT_PASSWORD_FILE"],
        ),
        (
            "mysql",
            "docker.io/library/mysql:8.4",
            3306,
            "mysql://app:PASSWORD@HOST:3306/app",
            &["MYSQL_USER", "MYSQL_PASSWORD_FILE"],
        ),
        (
            "postgres",
            "docker.io/library/postgres:17",
            5432,
            "postgresql://app:PASSWORD@HOST:5432/app",
            &["POSTGRES_USER", "POSTGRES_PASSWORD_FILE"],
        ),
        ("redis", "docker.io/library/redis:7", 6379, "redis://default:PASSWORD@HOST:6379", &[]),
    ] {
        let given = rendered(&instance(type_, "default", &json!({}))).unwrap();
        let of = |kind: &str| given.objects.iter().find(|object| object["kind"] == kind).unwrap();
        let spec = &of("StatefulSet")["spec"]["template"]["spec"];
        let container = &spec["containers"][0];
        assert_eq!(container["image"], image, "{type_}");
        let opened = container["ports"].as_array().unwrap().iter().any(|own| own["containerPort"] == port);
        assert!(opened, "{type_}: {port}");
        let forwarded = of("Service")["spec"]["ports"]
            .as_array()
            .unwrap()
            .iter()
            .any(|own| own["port"] == port && own["targetPort"] == port);
        assert!(forwarded, "{type_}: {port}");
        assert_eq!(plain(&given, "port"), json!(port), "{type_}");
        let (host, password) = (plain(&given, "host"), given.saved.state["password"].as_str().unwrap());
        assert_eq!(host, of("Service")["metadata"]["name"], "{type_}");
        assert_eq!(of("Secret")["data"]["password"], STANDARD.encode(password), "{type_}");
        let expected = uri.replace("PASSWORD", password).replace("HOST", host.as_str().unwrap());
        assert_eq!(given.sealed.composed["output.uri"], expected, "{type_}");
        let named: Vec<&str> = container["env"]
            .as_array()
            .map(|all| all.iter().filter_map(|one| one["name"].as_str()).collect())
            .unwrap_or_default();
        for variable in variables {
            assert!(named.contains(variable), "{type_}: {variable} of {named:?}");
        }
    }
}

#[test]
fn every_volume_is_declared_and_mounted() {
    for entry in entries() {
        let class = entry.class.as_deref().unwrap_or("default");
        let given = rendered(&instance(&entry.type_, class, &json!({}))).unwrap();
        for set in given.objects.iter().filter(|object| object["kind"] == "StatefulSet") {
            let spec = &set["spec"]["template"]["spec"];
            let names = |list: &Json| -> Vec<String> {
                list.as_array()
                    .map(|all| all.iter().filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect())
                    .unwrap_or_default()
            };
            let volumes = names(&spec["volumes"]);
            for container in spec["containers"].as_array().unwrap() {
                let mut mounted = names(&container["volumeMounts"]);
                mounted.sort_unstable();
                mounted.dedup();
                let mut declared = volumes.clone();
                declared.sort_unstable();
                assert_eq!(mounted, declared, "{}", entry.uri);
            }
        }
    }
}

#[test]
fn the_outputs_of_a_database_are_the_same_as_on_a_laptop() {
    let given = rendered(&instance("postgres", "default", &json!({"version": 16, "size": "5Gi"}))).unwrap();
    assert!(["password", "uri", "connection_string"].iter().all(|output| is_secret(&given, output)));
    let host = plain(&given, "host");
    assert_eq!((plain(&given, "port"), plain(&given, "database")), (json!(5432), json!("app")));
    let password = given.saved.state["password"].as_str().unwrap();
    assert_eq!(password.len(), 32);
    let uri = &given.sealed.composed["output.uri"];
    assert_eq!(*uri, format!("postgresql://app:{password}@{}:5432/app", host.as_str().unwrap()));
    let set = given.objects.iter().find(|object| object["kind"] == "StatefulSet").unwrap();
    assert_eq!(set["spec"]["template"]["spec"]["containers"][0]["image"], "docker.io/library/postgres:16");
    let volume = given.objects.iter().find(|object| object["kind"] == "PersistentVolumeClaim").unwrap();
    assert_eq!(volume["spec"]["resources"]["requests"]["storage"], "5Gi");
}

#[test]
fn images_and_mirrors_are_settings_of_the_config() {
    let mut postgres = instance("postgres", "default", &json!({}));
    postgres.entry.params = json!({"registry": "mirror.example.org/hub"}).as_object().cloned().unwrap();
    let image = |given: &Rendered| {
        let set = given.objects.iter().find(|object| object["kind"] == "StatefulSet").unwrap();
        set["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    assert_eq!(image(&rendered(&postgres).unwrap()), "mirror.example.org/hub/postgres:17");
    postgres.entry.params = json!({"image": "own:1"}).as_object().cloned().unwrap();
    assert_eq!(image(&rendered(&postgres).unwrap()), "own:1");
    let refused = rendered(&instance("postgres", "default", &json!({"image": "evil:1"}))).unwrap_err();
    assert!(refused.to_string().contains("`image`"), "{refused:?}");
}

#[test]
fn unknown_classes_and_invalid_params_are_refused_with_a_message() {
    for (type_, class, params, word) in [
        ("postgres", "huge", json!({}), "Unknown class"),
        ("postgres", "default", json!({"versoin": "16"}), "`versoin`"),
        ("postgres", "default", json!({"version": "16\n  hostNetwork: true"}), "`version`"),
        ("redis", "default", json!({"size": "much"}), "`size`"),
        ("volume", "default", json!({"accessMode": "Sometimes"}), "`accessMode`"),
        ("dns", "internal", json!({}), "Unknown class"),
        ("secret", "ssh", json!({}), "Unknown class"),
        ("route", "default", json!({"path": "x"}), "`path`"),
        ("route", "default", json!({"port": "admin"}), "no service port `admin`"),
        ("kafka-topic", "default", json!({"partitions": "many"}), "`partitions`"),
        ("service", "default", json!({"workload": "nobody"}), "Waiting for the workload `nobody`"),
    ] {
        let refused = rendered(&instance(type_, class, &params)).unwrap_err();
        assert!(refused.to_string().contains(word), "{type_} {class} {params}: {refused:?}");
    }
}

#[test]
fn dns_names_and_routes_use_the_domain_of_the_backend() {
    let values = json!({"domain": "apps.example.org", "ingressClass": "traefik", "tlsSecret": "cert"});
    let with = |type_: &str, params: Json| {
        let values = values.as_object().cloned().unwrap();
        rendered(&Instance { values, ..instance(type_, "default", &params) })
    };
    let dns = with("dns", json!({})).unwrap();
    assert_eq!(plain(&dns, "host"), "web.shop.apps.example.org");
    assert_eq!(plain(&dns, "url"), "https://web.shop.apps.example.org");
    let route = with("route", json!({"path": "/api"})).unwrap();
    let spec = &route.objects[0]["spec"];
    assert_eq!(spec["ingressClassName"], "traefik");
    assert_eq!(spec["tls"][0], json!({"hosts": ["web.shop.apps.example.org"], "secretName": "cert"}));
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let path = json!({"path": "/api", "pathType": "Prefix", "backend": backend});
    assert_eq!(spec["rules"][0]["http"]["paths"], json!([path]));
    let others = with("route", json!({"host": "pay.bank.apps.example.org"})).unwrap_err();
    assert!(others.to_string().contains("other namespaces"), "{others:?}");
    assert!(with("route", json!({"host": "shop.example.com"})).is_ok());
}

#[test]
fn a_route_uses_the_gateway_of_the_backend() {
    let values = json!({"domain": "d.org", "gateway": {"name": "front", "namespace": "infra"}});
    let values = values.as_object().cloned().unwrap();
    let given = rendered(&Instance { values, ..instance("route", "default", &json!({})) }).unwrap();
    let parents = &given.objects[0]["spec"]["parentRefs"];
    assert_eq!(given.objects[0]["kind"], "HTTPRoute");
    assert_eq!(*parents, json!([{"name": "front", "namespace": "infra"}]));
}

#[test]
fn a_service_refers_to_the_workload_of_its_key_and_its_port() {
    let given = rendered(&instance("service", "default", &json!({}))).unwrap();
    assert_eq!((plain(&given, "host"), plain(&given, "port")), (json!("db"), json!(90)));
    assert_eq!(plain(&given, "url"), "http://db:90");
    let given =
        rendered(&instance("service-port", "default", &json!({"workload": "web", "port": 8080}))).unwrap();
    assert_eq!((plain(&given, "hostname"), plain(&given, "port")), (json!("web"), json!(80)));
}

#[test]
fn the_url_of_a_service_has_the_scheme_of_its_endpoint() {
    for (name, number) in [("https", 7000), ("web", 443), ("web", 8443), ("web", 80), ("http", 8080)] {
        let port = tcp(number, 9000);
        let scheme = endpoint::scheme(name, &port);
        let workloads = [("db".to_owned(), [(name.to_owned(), port)].into())].into();
        let given = rendered_beside(&workloads, &instance("service", "default", &json!({}))).unwrap();
        assert_eq!(plain(&given, "url"), format!("{scheme}://db:{number}"), "{name}");
    }
}

#[test]
fn secrets_are_values_or_certificates_and_can_be_mounted() {
    let given = rendered(&instance("secret", "default", &json!({"keys": ["token"]}))).unwrap();
    assert!(is_secret(&given, "token"));
    assert_eq!(plain(&given, "source"), given.objects[0]["metadata"]["name"]);
    assert!(given.saved.state.is_empty() || !given.saved.state.contains_key("generated"));
    let given = rendered(&instance("secret", "tls", &json!({"hosts": ["a.example.org"]}))).unwrap();
    assert_eq!(given.objects[0]["type"], "kubernetes.io/tls");
    assert!(is_secret(&given, "tls.key"));
}

#[test]
fn the_environment_of_the_namespace_overrides_that_of_the_config() {
    let mut wanted = instance("environment", "default", &json!({}));
    wanted.entry.params = json!({"values": {"LEVEL": "info", "REGION": "eu"}}).as_object().cloned().unwrap();
    let given = rendered(&wanted).unwrap();
    assert_eq!((plain(&given, "LEVEL"), plain(&given, "REGION")), (json!("debug"), json!("eu")));
}
