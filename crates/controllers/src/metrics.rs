//! What is counted, for Prometheus.
//!
//! Labels are only such as stay few: controllers, kinds, conditions. Nothing is counted by object, since ten thousand
//! objects would make ten thousand series.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// Upper bounds of reconcile times in seconds: from a look at the cache to a driver that is slow.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// The counters of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    seconds: Family<Controller, Histogram, fn() -> Histogram>,
    results: Family<Reconcile, Counter>,
    depth: Family<Controller, Gauge>,
    malformed: Family<Kind, Counter>,
    errors: Family<Kind, Counter>,
    objects: Family<Objects, Gauge>,
    config: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconcile {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Objects {
    kind: &'static str,
    condition: String,
    status: String,
}

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What is, is as wanted, or on its way.
    Ok,
    /// Somebody else wrote first.
    Conflict,
    /// Something failed that may work later.
    Transient,
    /// The code is wrong.
    Panic,
}

impl Outcome {
    /// The word for it in a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Conflict => "conflict",
            Self::Transient => "transient",
            Self::Panic => "panic",
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("orchestra");
        let seconds: Family<Controller, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let results = Family::default();
        let depth = Family::default();
        let (malformed, errors) = (Family::default(), Family::default());
        let objects = Family::default();
        registry.register("reconcile_seconds", "How long reconciles took", seconds.clone());
        registry.register("reconcile", "Reconciles by how they ended", results.clone());
        registry.register("queue_depth", "Objects that wait to be reconciled", depth.clone());
        registry.register("watch_malformed", "Sights of objects that could not be read", malformed.clone());
        registry.register("watch_errors", "Lists and watches that failed", errors.clone());
        registry.register("objects", "Objects by the status of a condition", objects.clone());
        let config = Gauge::default();
        registry.register(
            "config_valid",
            "Whether the platform's document can be used as it is",
            config.clone(),
        );
        Self(Arc::new(Inner { registry, seconds, results, depth, malformed, errors, objects, config }))
    }
}

impl Metrics {
    /// Counts a reconcile.
    pub fn reconciled(&self, controller: &'static str, outcome: Outcome, took: Duration) {
        self.0.seconds.get_or_create(&Controller { controller }).observe(took.as_secs_f64());
        self.0.results.get_or_create(&Reconcile { controller, result: outcome.as_str() }).inc();
    }

    /// Notes how many objects wait.
    pub fn queue_depth(&self, controller: &'static str, depth: usize) {
        self.0.depth.get_or_create(&Controller { controller }).set(whole(depth));
    }

    /// Counts the sight of an object that could not be read.
    pub fn malformed(&self, kind: &str) {
        self.0.malformed.get_or_create(&Kind { kind: kind.to_owned() }).inc();
    }

    /// Counts a list or a watch that failed.
    pub fn watch_failed(&self, kind: &str) {
        self.0.errors.get_or_create(&Kind { kind: kind.to_owned() }).inc();
    }

    /// Notes how many objects of a kind have this status of a condition.
    pub fn set_objects(&self, kind: &'static str, condition: &str, status: &str, count: i64) {
        let (condition, status) = (condition.to_owned(), status.to_owned());
        self.0.objects.get_or_create(&Objects { kind, condition, status }).set(count);
    }

    /// Notes whether the platform's document can be used as it is.
    pub fn config_valid(&self, valid: bool) {
        self.0.config.set(i64::from(valid));
    }

    /// All of it in the text format that Prometheus reads.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.0.registry) {
            tracing::error!(%error, "failed to write the metrics");
        }
        text
    }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_the_names_and_labels_that_dashboards_know() {
        let metrics = Metrics::default();
        metrics.reconciled("workload", Outcome::Ok, Duration::from_millis(3));
        metrics.reconciled("workload", Outcome::Panic, Duration::from_millis(3));
        metrics.queue_depth("workload", 7);
        metrics.malformed("Workload");
        metrics.watch_failed("Workload");
        metrics.set_objects("Workload", "Ready", "True", 5);
        let text = metrics.encode();
        for line in [
            r#"orchestra_reconcile_seconds_bucket{le="0.0025",controller="workload"} 0"#,
            r#"orchestra_reconcile_seconds_bucket{le="0.005",controller="workload"} 2"#,
            r#"orchestra_reconcile_total{controller="workload",result="ok"} 1"#,
            r#"orchestra_reconcile_total{controller="workload",result="panic"} 1"#,
            r#"orchestra_queue_depth{controller="workload"} 7"#,
            r#"orchestra_watch_malformed_total{kind="Workload"} 1"#,
            r#"orchestra_watch_errors_total{kind="Workload"} 1"#,
            r#"orchestra_objects{kind="Workload",condition="Ready",status="True"} 5"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
        }
    }
}
