//! Failures of probes of local programs, in the words that a cluster has for them.

/// Failure of one probe; part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// A port of the Workload accepts no connection.
    #[error("nothing listens on port {0}")]
    NoListener(u16),
    /// The connection of a request was refused.
    #[error("connection refused")]
    ConnectionRefused,
    /// The response is a failure.
    #[error("HTTP status {0}")]
    Status(u16),
    /// The connection ended without an HTTP response.
    #[error("connection closed before a response")]
    NoResponse,
    /// The request of the probe is invalid.
    #[error("its request is invalid")]
    InvalidRequest,
    /// The server does not answer with TLS.
    #[error("TLS handshake failed")]
    Tls,
    /// The command has failed.
    #[error("its command failed with exit code {0}")]
    ExitCode(i32),
    /// The command was ended by a signal.
    #[error("its command was killed")]
    Killed,
    /// The command cannot be run.
    #[error("its command cannot be run")]
    NoCommand,
    /// There was no answer in time.
    #[error("timed out")]
    TimedOut,
}
