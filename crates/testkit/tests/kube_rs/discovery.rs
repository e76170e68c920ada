//! Discovery.

use kube::{
    Client,
    core::GroupVersionKind,
    discovery::{self, Discovery, Scope, verbs},
};

use crate::kube_rs::garden::install;

on_both!(
    discovery_finds_built_in_and_custom_resources,
    aggregated_discovery_finds_the_same,
    a_kind_can_be_pinned,
    the_server_reports_its_version,
);

fn check(found: &Discovery) {
    let garden = GroupVersionKind::gvk("botany.example.org", "v1", "Garden");
    let (resource, capabilities) = found.resolve_gvk(&garden).expect("gardens are served");
    assert_eq!(resource.plural, "gardens");
    assert_eq!(capabilities.scope, Scope::Namespaced);
    for verb in
        [verbs::GET, verbs::LIST, verbs::WATCH, verbs::CREATE, verbs::UPDATE, verbs::PATCH, verbs::DELETE]
    {
        assert!(capabilities.supports_operation(verb), "{verb}");
    }
    assert!(
        capabilities.subresources.iter().any(|(sub, _)| sub.plural.ends_with("status")),
        "{capabilities:?}"
    );
    for (group, version, kind, scope) in [
        ("", "v1", "ConfigMap", Scope::Namespaced),
        ("", "v1", "Secret", Scope::Namespaced),
        ("", "v1", "Event", Scope::Namespaced),
        ("", "v1", "ServiceAccount", Scope::Namespaced),
        ("", "v1", "Namespace", Scope::Cluster),
        ("events.k8s.io", "v1", "Event", Scope::Namespaced),
        ("coordination.k8s.io", "v1", "Lease", Scope::Namespaced),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", Scope::Cluster),
    ] {
        let found = found.resolve_gvk(&GroupVersionKind::gvk(group, version, kind));
        assert_eq!(found.map(|(_, capabilities)| capabilities.scope), Some(scope), "{group} {kind}");
    }
}

async fn discovery_finds_built_in_and_custom_resources(client: Client) {
    install(&client).await;
    check(&Discovery::new(client).run().await.unwrap());
}

async fn aggregated_discovery_finds_the_same(client: Client) {
    install(&client).await;
    check(&Discovery::new(client).run_aggregated().await.unwrap());
}

async fn a_kind_can_be_pinned(client: Client) {
    install(&client).await;
    let garden = GroupVersionKind::gvk("botany.example.org", "v1", "Garden");
    let (resource, _) = discovery::pinned_kind(&client, &garden).await.unwrap();
    assert_eq!((resource.kind.as_str(), resource.plural.as_str()), ("Garden", "gardens"));
    let group = discovery::group(&client, "botany.example.org").await.unwrap();
    assert_eq!(group.preferred_version(), Some("v1"));
    let nothing = GroupVersionKind::gvk("botany.example.org", "v1", "Gnome");
    assert!(discovery::pinned_kind(&client, &nothing).await.is_err());
}

async fn the_server_reports_its_version(client: Client) {
    let version = client.apiserver_version().await.unwrap();
    assert_eq!(version.major, "1");
}
