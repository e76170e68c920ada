//! Volumes and parameters.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use orchestra_api::{claim::DeprovisionPolicy, config::UnknownParams};
use orchestra_core::provision::Provision;
use serde_json::json;

use super::fixture::{Fixture, INSTANCE, NAMESPACE, instance, values};
use crate::{
    Provisioner, Released,
    process::local_bindings::{self, LocalBinding},
};

#[tokio::test]
async fn a_volume_is_a_private_folder_that_can_be_mounted() {
    let fixture = Fixture::new();
    let bound = fixture.bound("volume", json!({"size": "10Gi"})).await;
    let source = values(&bound)["source"].as_str().unwrap().to_owned();
    assert_eq!(fs::metadata(&source).unwrap().permissions().mode() & 0o777, 0o700);
    let binding = local_bindings::find(fixture.data.path(), NAMESPACE, "shop-it").unwrap();
    assert_eq!(binding, Some(LocalBinding::Folder(source.into())));
    assert!(bound.message.contains("limited by the disk, not to 10Gi"), "{}", bound.message);
}

#[tokio::test]
async fn a_volume_is_deleted_only_with_the_policy_delete() {
    let fixture = Fixture::new();
    let source = |bound| values(&bound)["source"].as_str().unwrap().to_owned();
    let folder = source(fixture.bound("volume", json!({})).await);
    fs::write(format!("{folder}/note"), "kept").unwrap();
    for policy in [DeprovisionPolicy::Retain, DeprovisionPolicy::Orphan] {
        assert_eq!(fixture.release("volume", policy).await, Released::Done);
        assert_eq!(local_bindings::find(fixture.data.path(), NAMESPACE, "shop-it").unwrap(), None);
        assert_eq!(source(fixture.bound("volume", json!({})).await), folder);
        assert_eq!(fs::read_to_string(format!("{folder}/note")).unwrap(), "kept");
    }
    for _ in 0..2 {
        assert_eq!(fixture.release("volume", DeprovisionPolicy::Delete).await, Released::Done);
        assert!(!fs::exists(fixture.data.path().join("instances").join(NAMESPACE).join(INSTANCE)).unwrap());
    }
    fixture.bound("volume", json!({})).await;
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "a new one is empty");
}

#[tokio::test]
async fn the_target_of_a_symlink_survives_the_deletion_of_its_volume() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("mine"), "").unwrap();
    let bound = fixture.bound("volume", json!({})).await;
    let folder = values(&bound)["source"].as_str().unwrap().to_owned();
    symlink(outside.path(), format!("{folder}/link")).unwrap();
    fs::create_dir(format!("{folder}/closed")).unwrap();
    fs::write(format!("{folder}/closed/file"), "").unwrap();
    fs::set_permissions(format!("{folder}/closed"), fs::Permissions::from_mode(0o500)).unwrap();
    let removed = fixture.data.path().join("instances/.removed");
    super::super::volume::remove(fixture.data.path(), &(NAMESPACE.to_owned(), INSTANCE.to_owned())).unwrap();
    while fs::read_dir(&removed).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(outside.path().join("mine").exists());
}

#[tokio::test]
async fn unknown_parameters_are_named_with_the_known_ones() {
    let fixture = Fixture::new();
    let refused = fixture.message("postgres", json!({"version": "15", "colour": "red", "size": 3})).await;
    assert_eq!(
        refused,
        "Unknown params of `postgres`: `colour`, `size`. Remove them; known params: `version`."
    );
    assert!(fixture.message("dns", json!({"host": "x"})).await.contains("it has none"));
    let mut lenient = instance("volume", json!({"colour": "red"}));
    lenient.entry.unknown_params = UnknownParams::Warn;
    let Provision::Bound(bound) = fixture.engine.ensure(&lenient, &fixture.ctx).await.unwrap() else {
        panic!()
    };
    assert!(bound.message.ends_with("Ignored params: `colour`; known params: `accessMode`, `size`."));
    let secret = fixture.message("postgres", json!({"version": {"$segments": []}})).await;
    assert_eq!(secret, "The parameter `version` must be a string without secrets.");
}

#[tokio::test]
async fn an_unsupported_type_is_refused_with_the_supported_ones() {
    let message = Fixture::new().message("mainframe", json!({})).await;
    assert!(message.starts_with("This machine provides no `mainframe`, only `dns`, "), "{message}");
}
