//! Audit log of the embedded platform.

use std::{
    fmt::Write,
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use orchestra_apiserver::audit::{AuditLog, FileOptions, Scope};

use super::ServeError;
use crate::args::{AuditDestination, AuditScope, Serve};

/// Opens the audit log, by default a file in the data folder.
pub(super) fn open(args: &Serve, data: &Path) -> Result<AuditLog, ServeError> {
    let scope = match args.audit_requests {
        AuditScope::Changes => Scope::Changes,
        AuditScope::All => Scope::All,
    };
    let path = match &args.audit_log {
        Some(AuditDestination::Off) => return Ok(AuditLog::off()),
        Some(AuditDestination::Stdout) => {
            return AuditLog::to_stdout(scope).map_err(|source| failed("standard output".into(), source));
        }
        Some(AuditDestination::File(path)) => path.clone(),
        None => {
            let folder = data.join("audit");
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .and_then(|()| fs::set_permissions(&folder, Permissions::from_mode(0o700)))
                .map_err(|source| failed(folder.clone(), source))?;
            folder.join("audit.log")
        }
    };
    let options = FileOptions {
        path: path.clone(),
        max_bytes: u64::from(args.audit_log_max_size) * 1024 * 1024,
        max_files: usize::from(args.audit_log_max_files),
    };
    AuditLog::to_file(options, scope).map_err(|source| failed(path, source))
}

fn failed(path: PathBuf, source: io::Error) -> ServeError {
    ServeError::AuditLog { path, source }
}

/// Adds the numbers of audit events to metrics in the `OpenMetrics` format.
pub(super) fn add_metrics(metrics: &str, log: &AuditLog) -> String {
    const END: &str = "# EOF\n";
    let mut text = metrics.strip_suffix(END).unwrap_or(metrics).to_owned();
    let counts = log.counts();
    for (name, help, count) in [
        ("orchestra_audit_events", "Events in the audit log", counts.written),
        ("orchestra_audit_lost_events", "Events that could not be written to the audit log", counts.lost),
    ] {
        // Writing to a string cannot fail.
        let _ = write!(text, "# HELP {name} {help}.\n# TYPE {name} counter\n{name}_total {count}\n");
    }
    text + END
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_still_end_with_their_mark() {
        let text = add_metrics("# TYPE a counter\na_total 1\n# EOF\n", &AuditLog::off());
        assert!(text.starts_with("# TYPE a counter\na_total 1\n# HELP orchestra_audit_events "), "{text}");
        assert!(text.contains("\norchestra_audit_lost_events_total 0\n"), "{text}");
        assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
    }
}
