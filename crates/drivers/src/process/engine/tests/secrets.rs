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

use super::world::{INSTANCE, NAMESPACE, World, instance, secrets};
use crate::{
    Provisioner,
    process::{
        folders::{self, Home},
        things::{self, Thing},
    },
};

#[tokio::test]
async fn values_are_generated_once_and_all_of_them_are_secret() {
    let world = World::new();
    let bound = world.bound("secret", json!({"keys": ["secret", "encryptionKey"]})).await;
    assert_eq!(secrets(&bound), ["encryptionKey", "secret"]);
    assert_eq!(bound.outputs.len(), 2);
    let before = (world.around.kept("secret"), world.around.kept("encryptionKey"));
    assert_ne!(before.0, before.1);
    world.release("secret", DeprovisionPolicy::Retain).await;
    let bound = world.bound("secret", json!({"keys": ["secret", "third"]})).await;
    assert_eq!(secrets(&bound), ["secret", "third"]);
    assert_eq!((world.around.kept("secret"), world.around.kept("encryptionKey")), before);
    let thing = things::find(world.data.path(), NAMESPACE, "shop-it").unwrap();
    let keys = vec!["secret".to_owned(), "third".to_owned()];
    assert_eq!(thing, Some(Thing::Secret { name: "own".to_owned(), keys }), "it can be mounted");
    world.release("secret", DeprovisionPolicy::Delete).await;
    assert!(world.around.keys().is_empty());
}

#[tokio::test]
async fn a_key_that_cannot_be_one_is_refused() {
    let world = World::new();
    for keys in [json!(["a/b"]), json!([""]), json!([".."]), json!("secret"), json!([1])] {
        let told = world.told("secret", json!({"keys": keys})).await;
        assert!(told.starts_with("The parameter `keys` "), "{told}");
    }
}

#[tokio::test]
async fn a_certificate_is_accepted_for_its_hosts_by_whoever_trusts_its_authority() {
    let world = World::new();
    let mut tls = instance("secret", json!({"hosts": ["shop.localhost", "10.0.0.1"]}));
    "tls".clone_into(&mut tls.class);
    let Provision::Bound(bound) = world.engine.ensure(&tls, &world.around).await.unwrap() else { panic!() };
    assert_eq!(secrets(&bound), ["ca.crt", "tls.crt", "tls.key"]);
    let pem = |key| CertificateDer::from_pem_slice(world.around.kept(key).as_bytes()).unwrap();
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
    PrivateKeyDer::from_pem_slice(world.around.kept("tls.key").as_bytes()).unwrap();
    // The same is given again, and another one for other hosts.
    let (first, certificate) = (bound.versions, world.around.kept("tls.crt"));
    let Provision::Bound(again) = world.engine.ensure(&tls, &world.around).await.unwrap() else { panic!() };
    assert_eq!((again.versions, world.around.kept("tls.crt")), (first, certificate.clone()));
    tls.params = json!({"dns": ["other.localhost"]}).as_object().cloned().unwrap();
    world.engine.ensure(&tls, &world.around).await.unwrap();
    assert_ne!(world.around.kept("tls.crt"), certificate);
}

#[tokio::test]
async fn the_environment_is_the_authors_and_follows_it() {
    let world = World::new();
    let told = world.told("environment", json!({})).await;
    assert!(told.starts_with("The environment of the author of `shop` is not known"), "{told}");
    let mut news = world.engine.changes();
    let note = |value: &str| {
        let environment = [("TOKEN".to_owned(), value.to_owned()), ("a b".to_owned(), String::new())].into();
        let home = Home { folder: "/shop".into(), environment, ..Home::default() };
        folders::note(world.data.path(), NAMESPACE, "shop", home).unwrap();
        world.engine.noted(NAMESPACE, "shop");
    };
    note("one");
    assert_eq!(news.next().await, Some((NAMESPACE.to_owned(), INSTANCE.to_owned())));
    let first = world.bound("environment", json!({})).await;
    assert_eq!(secrets(&first), ["TOKEN"]);
    assert!(first.message.contains("taken from the shell"), "{}", first.message);
    assert_eq!(world.around.kept("TOKEN"), "one");
    note("two");
    assert!(news.next().await.is_some());
    let second = world.bound("environment", json!({})).await;
    assert_eq!(world.around.kept("TOKEN"), "two");
    assert_ne!(second.versions, first.versions, "whoever uses it learns of it");
    assert!(!format!("{second:?}").contains("two"));
}
