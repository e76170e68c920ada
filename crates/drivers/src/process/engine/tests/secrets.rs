//! Generated values, certificates, and the environment of authors.

use std::sync::Arc;

use futures_util::StreamExt as _;
use orchestra_api::claim::DeprovisionPolicy;
use orchestra_core::provision::Provision;
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
};
use serde_json::json;

use super::fixture::{Fixture, INSTANCE, NAMESPACE, instance, secrets};
use crate::{
    Provisioner, WorkloadOrigin, WorkloadOrigins as _,
    process::local_bindings::{self, LocalBinding},
};

#[tokio::test]
async fn generated_values_are_stable_and_secret() {
    let fixture = Fixture::new();
    let bound = fixture.bound("secret", json!({"keys": ["secret", "encryptionKey"]})).await;
    assert_eq!(secrets(&bound), ["encryptionKey", "secret"]);
    assert_eq!(bound.outputs.len(), 2);
    let before = (fixture.ctx.kept("secret"), fixture.ctx.kept("encryptionKey"));
    assert_ne!(before.0, before.1);
    fixture.release("secret", DeprovisionPolicy::Retain).await;
    let bound = fixture.bound("secret", json!({"keys": ["secret", "third"]})).await;
    assert_eq!(secrets(&bound), ["secret", "third"]);
    assert_eq!((fixture.ctx.kept("secret"), fixture.ctx.kept("encryptionKey")), before);
    let binding = local_bindings::find(fixture.data.path(), NAMESPACE, "shop-it").unwrap();
    let keys = vec!["secret".to_owned(), "third".to_owned()];
    assert_eq!(binding, Some(LocalBinding::Secret { name: "own".to_owned(), keys }), "it can be mounted");
    fixture.release("secret", DeprovisionPolicy::Delete).await;
    assert!(fixture.ctx.keys().is_empty());
}

#[tokio::test]
async fn an_invalid_key_is_refused() {
    let fixture = Fixture::new();
    for keys in [json!(["a/b"]), json!([""]), json!([".."]), json!("secret"), json!([1])] {
        let message = fixture.message("secret", json!({"keys": keys})).await;
        assert!(message.starts_with("The parameter `keys` "), "{message}");
    }
}

#[tokio::test]
async fn a_certificate_is_valid_for_its_hosts_under_its_authority() {
    let fixture = Fixture::new();
    let mut tls = instance("secret", json!({"hosts": ["shop.localhost", "10.0.0.1"]}));
    "tls".clone_into(&mut tls.class);
    let Provision::Bound(bound) = fixture.engine.ensure(&tls, &fixture.ctx).await.unwrap() else { panic!() };
    assert_eq!(secrets(&bound), ["ca.crt", "tls.crt", "tls.key"]);
    let pem = |key| CertificateDer::from_pem_slice(fixture.ctx.kept(key).as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(pem("ca.crt")).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let accepts = |host: &'static str| {
        let name = ServerName::try_from(host).unwrap();
        verifier.verify_server_cert(&pem("tls.crt"), &[], &name, &[], UnixTime::now()).is_ok()
    };
    for host in ["localhost", "127.0.0.1", "::1", "shop.localhost", "10.0.0.1"] {
        assert!(accepts(host), "{host}");
    }
    assert!(!accepts("other.localhost"));
    PrivateKeyDer::from_pem_slice(fixture.ctx.kept("tls.key").as_bytes()).unwrap();
    // The certificate is stable, and reissued for other hosts.
    let (first, certificate) = (bound.versions, fixture.ctx.kept("tls.crt"));
    let Provision::Bound(again) = fixture.engine.ensure(&tls, &fixture.ctx).await.unwrap() else { panic!() };
    assert_eq!((again.versions, fixture.ctx.kept("tls.crt")), (first, certificate.clone()));
    tls.params = json!({"dns": ["other.localhost"]}).as_object().cloned().unwrap();
    fixture.engine.ensure(&tls, &fixture.ctx).await.unwrap();
    assert_ne!(fixture.ctx.kept("tls.crt"), certificate);
}

#[tokio::test]
async fn environment_variables_follow_the_origin_of_the_workload() {
    let fixture = Fixture::new();
    let message = fixture.message("environment", json!({})).await;
    assert!(message.starts_with("The environment of the author of `shop` is unknown"), "{message}");
    let mut changes = fixture.engine.changes();
    let record = |value: &str| {
        let environment = [("TOKEN".to_owned(), value.to_owned()), ("a b".to_owned(), String::new())].into();
        let origin = WorkloadOrigin { folder: "/shop".into(), environment, ..WorkloadOrigin::default() };
        fixture.origins.record(NAMESPACE, "shop", origin).unwrap();
    };
    record("one");
    assert_eq!(changes.next().await, Some((NAMESPACE.to_owned(), INSTANCE.to_owned())));
    let first = fixture.bound("environment", json!({})).await;
    assert_eq!(secrets(&first), ["TOKEN"]);
    assert!(first.message.contains("from the shell in which the file was applied"), "{}", first.message);
    assert_eq!(fixture.ctx.kept("TOKEN"), "one");
    record("two");
    assert!(changes.next().await.is_some());
    let second = fixture.bound("environment", json!({})).await;
    assert_eq!(fixture.ctx.kept("TOKEN"), "two");
    assert_ne!(second.versions, first.versions, "the version changes with the value");
    assert!(!format!("{second:?}").contains("two"));
}
