//! Endpoint of a Workload: the exposed port, and the published address shown in the status.

use std::{cmp::Reverse, collections::BTreeMap};

use orchestra_api::{
    exposure,
    plan::{Exposure, ExposureTarget, Port},
};
use orchestra_score::model::Protocol;

/// Preferred port names.
const BY_NAME: [&str; 3] = ["https", "http", "web"];
/// Preferred port numbers.
const BY_NUMBER: [u16; 4] = [443, 80, 8443, 8080];
/// Port numbers of https.
const HTTPS: [u16; 2] = [443, 8443];
/// Ports that are never the endpoint.
const NEVER: [&str; 4] = ["metrics", "health", "admin", "grpc"];

/// Exposures of a workload, the best first: its routes, or else one port.
pub fn choose<'r>(ports: &BTreeMap<String, Port>, routes: impl Iterator<Item = &'r str>) -> Vec<Exposure> {
    let mut targets: Vec<_> = routes.map(|key| ExposureTarget::ClaimKey(key.to_owned())).collect();
    if targets.is_empty() {
        targets.extend(port(ports).map(|name| ExposureTarget::Port(name.to_owned())));
    }
    let priorities = (1..=i32::try_from(targets.len()).unwrap_or(i32::MAX)).rev();
    targets.into_iter().zip(priorities).map(|(target, priority)| Exposure { target, priority }).collect()
}

fn port(ports: &BTreeMap<String, Port>) -> Option<&str> {
    let candidates: Vec<(&str, &Port)> = ports
        .iter()
        .filter(|(name, port)| port.protocol == Protocol::Tcp && !NEVER.contains(&name.as_str()))
        .map(|(name, port)| (name.as_str(), port))
        .collect();
    let named = BY_NAME.iter().find_map(|wanted| candidates.iter().find(|(name, _)| name == wanted));
    let numbered =
        || BY_NUMBER.iter().find_map(|wanted| candidates.iter().find(|(_, port)| port.port == *wanted));
    let only = || candidates.first().filter(|_| candidates.len() == 1);
    named.or_else(numbered).or_else(only).map(|(name, _)| *name)
}

/// URL scheme of a port.
pub fn scheme(name: &str, port: &Port) -> &'static str {
    if name == "https" || HTTPS.contains(&port.port) { "https" } else { "http" }
}

/// Address shown in the status. The previous one stays until the runtime withdraws it; invalid addresses are ignored.
pub fn mirror(published: Option<&[exposure::Exposure]>, previous: Option<&str>) -> Option<String> {
    let previous = previous.map(ToOwned::to_owned);
    let Some(published) = published else { return previous };
    if published.is_empty() {
        return None;
    }
    let best = published
        .iter()
        .filter(|exposure| is_address(&exposure.url))
        // The first of equals: `max_by_key` returns the last.
        .rev()
        .max_by_key(|exposure| rank(exposure));
    best.map_or(previous, |exposure| Some(exposure.url.clone()))
}

/// Sorts addresses, the best first, which `kubectl get` shows.
pub(crate) fn sort(published: &mut [exposure::Exposure]) {
    published.sort_by_key(|exposure| Reverse(rank(exposure)));
}

/// Rank of an address: reachable ones are best, then those with the highest priority.
fn rank(exposure: &exposure::Exposure) -> (bool, i32) {
    (exposure.reachable != Some(false), exposure.priority)
}

/// True if a text is a URI with a host.
fn is_address(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let has_host = !host.is_empty() && !host.starts_with(':');
    is_scheme && has_host && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(ports: &[(&str, u16, Protocol)]) -> Option<String> {
        let ports = ports
            .iter()
            .map(|(name, port, protocol)| {
                ((*name).to_owned(), Port { port: *port, target_port: *port, protocol: *protocol })
            })
            .collect();
        choose(&ports, std::iter::empty()).pop().map(|exposure| match exposure.target {
            ExposureTarget::Port(name) | ExposureTarget::ClaimKey(name) => name,
        })
    }

    #[test]
    fn the_endpoint_is_a_well_known_or_the_only_port() {
        use Protocol::{Tcp, Udp};

        type Ports<'a> = &'a [(&'a str, u16, Protocol)];
        let cases: &[(Ports<'_>, Option<&str>)] = &[
            (&[], None),
            (&[("www", 9000, Tcp)], Some("www")),
            (&[("http", 9000, Tcp), ("https", 9001, Tcp), ("web", 80, Tcp)], Some("https")),
            (&[("web", 9000, Tcp), ("other", 80, Tcp)], Some("web")),
            (&[("aa", 8080, Tcp), ("bb", 80, Tcp)], Some("bb")),
            (&[("aa", 8080, Tcp), ("bb", 8443, Tcp)], Some("bb")),
            (&[("aa", 1, Tcp), ("bb", 2, Tcp)], None),
            (&[("aa", 1, Tcp), ("bb", 2, Udp)], Some("aa")),
            (&[("dns", 53, Udp)], None),
            (&[("metrics", 80, Tcp)], None),
            (&[("metrics", 9090, Tcp), ("aa", 7000, Tcp)], Some("aa")),
            (&[("grpc", 443, Tcp), ("admin", 80, Tcp), ("health", 8080, Tcp)], None),
        ];
        for (ports, expected) in cases {
            assert_eq!(chosen(ports).as_deref(), *expected, "{ports:?}");
        }
    }

    #[test]
    fn a_port_named_https_or_with_a_number_of_https_has_that_scheme() {
        for (name, port, expected) in [
            ("https", 7000, "https"),
            ("web", 443, "https"),
            ("web", 8443, "https"),
            ("web", 80, "http"),
            ("http", 8080, "http"),
        ] {
            let port = Port { port, target_port: 443, protocol: Protocol::Tcp };
            assert_eq!(scheme(name, &port), expected, "{name} {port:?}");
        }
    }

    #[test]
    fn a_route_comes_before_any_port() {
        let ports = [("http".to_owned(), Port { port: 80, target_port: 80, protocol: Protocol::Tcp })];
        let exposures = choose(&ports.into(), ["a", "b"].into_iter());
        assert_eq!(
            exposures,
            [
                Exposure { target: ExposureTarget::ClaimKey("a".to_owned()), priority: 2 },
                Exposure { target: ExposureTarget::ClaimKey("b".to_owned()), priority: 1 },
            ]
        );
    }

    fn address(url: &str, priority: i32, reachable: Option<bool>) -> exposure::Exposure {
        exposure::Exposure { url: url.to_owned(), priority, reachable, ..exposure::Exposure::default() }
    }

    #[test]
    fn the_endpoint_stays_until_the_runtime_withdraws_it() {
        let old = Some("http://old");
        assert_eq!(mirror(None, old).as_deref(), old);
        assert_eq!(mirror(Some(&[address("not an address", 1, None)]), old).as_deref(), old);
        assert_eq!(mirror(Some(&[address("http://new", 1, None)]), old).as_deref(), Some("http://new"));
        assert_eq!(mirror(Some(&[]), old), None);
    }

    #[test]
    fn the_first_reachable_address_of_the_highest_priority_wins() {
        let published = [
            address("http://low", 1, Some(true)),
            address("http://high-but-down", 9, Some(false)),
            address("http://first", 5, None),
            address("http://second", 5, Some(true)),
        ];
        assert_eq!(mirror(Some(&published), None).as_deref(), Some("http://first"));
    }

    #[test]
    fn the_first_of_sorted_addresses_is_the_endpoint() {
        let mut published = [
            address("http://low", 1, Some(true)),
            address("http://high-but-down", 9, Some(false)),
            address("http://first", 5, None),
            address("http://second", 5, Some(true)),
        ];
        let endpoint = mirror(Some(&published), None);
        sort(&mut published);
        let urls = published.each_ref().map(|exposure| exposure.url.as_str());
        assert_eq!(urls, ["http://first", "http://second", "http://low", "http://high-but-down"]);
        assert_eq!(endpoint.as_deref(), Some(urls[0]));
    }

    #[test]
    fn only_uris_with_a_host_are_addresses() {
        for (url, expected) in [
            ("http://a", true),
            ("postgres://u:p@db:5432/x", true),
            ("https://[::1]:8443/", true),
            ("http://", false),
            ("http://:80", false),
            ("http:///path", false),
            ("a.example.org", false),
            ("http://a b", false),
            ("://a", false),
        ] {
            assert_eq!(is_address(url), expected, "{url}");
        }
    }
}
