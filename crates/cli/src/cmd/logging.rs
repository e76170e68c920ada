//! Log lines of what runs for long, on standard error.

use std::io;

use tracing_subscriber::{
    filter::LevelFilter, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::args::{LogFormat, LogLevel};

/// Starts to log. Of the libraries only what somebody should look at is told.
pub(super) fn start(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let wanted = Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("orchestra", level);
    let registry = tracing_subscriber::registry().with(wanted);
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(false);
    // It fails if somebody else logs already, and then they do.
    let _ = match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json()).try_init(),
    };
}
