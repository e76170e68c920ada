//! Metrics for Prometheus. Labels have few values (controllers, kinds, conditions): never one per object.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// Buckets of reconcile durations in seconds: from a read of the cache to a slow driver.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Metrics of a process. Clones share them.
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

/// Outcome of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileOutcome {
    /// Success.
    Ok,
    /// Conflicting write.
    Conflict,
    /// Fault that may pass.
    Transient,
    /// Panic.
    Panic,
}

impl ReconcileOutcome {
    /// Value of the label.
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
        registry.register("reconcile_seconds", "Duration of reconciles", seconds.clone());
        registry.register("reconcile", "Reconciles by outcome", results.clone());
        registry.register("queue_depth", "Objects waiting to be reconciled", depth.clone());
        registry.register(
            "watch_malformed",
            "Watched objects that could not be deserialized",
            malformed.clone(),
        );
        registry.register("watch_errors", "Lists and watches that failed", errors.clone());
        registry.register("objects", "Objects by the status of a condition", objects.clone());
        let config = Gauge::default();
        registry.register("config_valid", "1 if the orchestrator config is valid", config.clone());
        Self(Arc::new(Inner { registry, seconds, results, depth, malformed, errors, objects, config }))
    }
}

impl Metrics {
    /// Counts a reconcile.
    pub fn reconciled(&self, controller: &'static str, outcome: ReconcileOutcome, took: Duration) {
        self.0.seconds.get_or_create(&Controller { controller }).observe(took.as_secs_f64());
        self.0.results.get_or_create(&Reconcile { controller, result: outcome.as_str() }).inc();
    }

    /// Sets the number of objects that wait.
    pub fn queue_depth(&self, controller: &'static str, depth: usize) {
        self.0.depth.get_or_create(&Controller { controller }).set(whole(depth));
    }

    /// Counts an object that could not be deserialized.
    pub fn malformed(&self, kind: &str) {
        self.0.malformed.get_or_create(&Kind { kind: kind.to_owned() }).inc();
    }

    /// Counts a list or a watch that failed.
    pub fn watch_failed(&self, kind: &str) {
        self.0.errors.get_or_create(&Kind { kind: kind.to_owned() }).inc();
    }

    /// Sets the number of objects of a kind with this status of a condition.
    pub fn set_objects(&self, kind: &'static str, condition: &str, status: &str, count: i64) {
        let (condition, status) = (condition.to_owned(), status.to_owned());
        self.0.objects.get_or_create(&Objects { kind, condition, status }).set(count);
    }

    /// Sets whether the orchestrator config is valid.
    pub fn config_valid(&self, valid: bool) {
        self.0.config.set(i64::from(valid));
    }

    /// Metrics in the text format of Prometheus.
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
        metrics.reconciled("workload", ReconcileOutcome::Ok, Duration::from_millis(3));
        metrics.reconciled("workload", ReconcileOutcome::Panic, Duration::from_millis(3));
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
