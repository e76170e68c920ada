//! Log of the whole process at all levels.

use std::{
    fmt::{Debug, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Captured log. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Log {
    lines: Arc<Mutex<String>>,
    spans: Arc<AtomicU64>,
}

/// Captures the log of the process at all levels.
pub(crate) fn capture() -> Log {
    let log = Log::default();
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    log
}

impl Log {
    pub(crate) fn text(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn line(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Line)) {
        let mut line = Line(format!("{} {} {}", metadata.level(), metadata.target(), metadata.name()));
        record(&mut line);
        line.0.push('\n');
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line.0);
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.line(span.metadata(), |line| span.record(line));
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut line = Line("record".to_owned());
        values.record(&mut line);
        line.0.push('\n');
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.line(event.metadata(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
