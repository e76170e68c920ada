//! Logging of `orchestra serve` to standard error.

use std::io;

use tracing_subscriber::{
    filter::LevelFilter, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::args::{LogFormat, LogLevel};

/// Starts logging. Libraries log warnings and errors at most.
pub(super) fn start(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let filter = Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("orchestra", level);
    let registry = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(false);
    // It fails if a subscriber is installed already, which then stays.
    let _ = match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json()).try_init(),
    };
}
