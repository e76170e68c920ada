//! Search for secret values outside of Secrets.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::Client;
use orchestra_controllers::metrics::Metrics;
use serde_json::Value as Json;

use crate::{common::Platform, log::Log};

/// Moment at which Secrets need not have the values any more.
pub(crate) const AFTER_DELETION: &str = "after the deletion";

/// Searched places and values.
pub(crate) struct Search {
    client: Client,
    metrics: Metrics,
    log: Log,
    values: Vec<String>,
}

impl Search {
    pub(crate) fn new(platform: &Platform, metrics: &Metrics, log: &Log, values: &[&str]) -> Self {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Self { client: platform.env.client(), metrics: metrics.clone(), log: log.clone(), values }
    }

    /// Fails if one of the values is outside of Secrets.
    pub(crate) async fn finds_nothing(&self, when: &str) {
        let mut found = Vec::new();
        let mut searched = 0;
        let mut in_secrets = false;
        for path in self.collections().await {
            let list = self.get(&path).await;
            for object in list["items"].as_array().into_iter().flatten() {
                searched += 1;
                let is_found = self.is_in(object);
                if path.ends_with("/secrets") {
                    in_secrets |= is_found;
                } else if is_found {
                    found.push(format!("{path}: {object}"));
                }
            }
        }
        assert!(searched > 10, "{when}: only {searched} objects were searched");
        assert!(in_secrets || when == AFTER_DELETION, "{when}: the values are not in Secrets, either");
        found.extend(self.metrics.encode().lines().filter(|line| self.is_in_text(line)).map(str::to_owned));
        found.extend(self.log.text().lines().filter(|line| self.is_in_text(line)).map(str::to_owned));
        assert_eq!(found, Vec::<String>::new(), "{when}");
    }

    /// Paths of all collections of the API.
    async fn collections(&self) -> Vec<String> {
        let groups = self.get("/apis").await;
        let versions = groups["groups"].as_array().into_iter().flatten();
        let versions = versions.flat_map(|group| group["versions"].as_array().into_iter().flatten());
        let roots = versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
        let mut collections = Vec::new();
        for root in std::iter::once("/api/v1".to_owned()).chain(roots) {
            let resources = self.get(&root).await;
            for resource in resources["resources"].as_array().into_iter().flatten() {
                let can_list =
                    resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
                let name = resource["name"].as_str().unwrap();
                if can_list && !name.contains('/') {
                    collections.push(format!("{root}/{name}"));
                }
            }
        }
        assert!(collections.iter().any(|path| path.ends_with("/workloadplans")), "{collections:?}");
        collections
    }

    async fn get(&self, path: &str) -> Json {
        let request = axum::http::Request::get(path).body(Vec::new()).unwrap();
        self.client.request(request).await.unwrap()
    }

    /// True if a document contains a value, plain or in base64.
    fn is_in(&self, document: &Json) -> bool {
        match document {
            Json::String(text) => self.is_in_text(text),
            Json::Array(list) => list.iter().any(|item| self.is_in(item)),
            Json::Object(map) => map.iter().any(|(key, item)| self.is_in_text(key) || self.is_in(item)),
            _ => false,
        }
    }

    fn is_in_text(&self, text: &str) -> bool {
        let decoded = STANDARD.decode(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.values.iter().any(|value| {
            text.contains(value)
                || decoded.as_ref().is_ok_and(|decoded| decoded.contains(value))
                || text.contains(&STANDARD.encode(value))
        })
    }
}
