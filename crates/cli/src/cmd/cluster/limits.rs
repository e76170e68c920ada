//! Limits of a server on a cluster: all that clients can make it hold fits in the memory limit of its container.
//!
//! | part | bound | MiB |
//! |---|---|---|
//! | connections: buffers of TLS, HTTP and the kernel | 256 × 216 KiB | 54 |
//! | bodies; previews in progress, answers | lanes of bodies (9) and of bytes (39) | 48 |
//! | the process itself, without Workloads | | 40 |
//! | Workloads: 15 KiB each | 7,000 | 103 |
//! | the container | [`MEMORY_LIMIT_MIB`] | 256 |
//!
//! A platform with more Workloads needs a higher limit: 15 MiB for each thousand.

use std::time::Duration;

use orchestra_limits::{Bound, Options};
use orchestra_serve::ConnectionLimits;

const KIB: u32 = 1024;
const MIB: usize = 1024 * 1024;

/// Memory limit of the container in `deploy/orchestrator/deployment.yaml`.
#[cfg(test)]
const MEMORY_LIMIT_MIB: usize = 256;

/// Limits of connections.
pub(super) const CONNECTIONS: ConnectionLimits = ConnectionLimits {
    connections: 256,
    per_caller: 64,
    // Each command has one stream, a proxy some.
    streams: 32,
    // A token of 32 KiB, and the other headers.
    header_bytes: 40 * 1024,
    stream_window: 32 * KIB,
    connection_window: 64 * KIB,
    unsent_bytes: 16 * 1024,
    socket_buffer: Some(32 * KIB),
};

/// Limits of requests.
pub(super) const REQUESTS: Options = Options {
    requests: Bound { total: 32, per_caller: 8 },
    // Followed logs.
    long_requests: Bound { total: 128, per_caller: 16 },
    // The controllers have a thread of their own beside them.
    work: Bound { total: 2, per_caller: 1 },
    // One of the largest size of each of three callers.
    bodies: Bound { total: 9 * MIB, per_caller: 3 * MIB },
    bytes: Bound { total: 39 * MIB, per_caller: 19 * MIB },
    waiting: Bound { total: 128, per_caller: 16 },
    wait: Duration::from_secs(5),
};

#[cfg(test)]
mod tests {
    use super::*;

    /// State of a TLS session and of HTTP, without buffers.
    const SESSION_BYTES: usize = 24 * 1024;
    const PROCESS_MIB: usize = 40;
    const WORKLOAD_BYTES: usize = 15 * 1024;
    const WORKLOADS: usize = 7_000;

    #[test]
    fn everything_that_clients_can_make_the_server_hold_fits_in_the_memory_limit() {
        let ConnectionLimits { connections, header_bytes, connection_window, socket_buffer, .. } =
            CONNECTIONS;
        let bytes = |value: u32| usize::try_from(value).unwrap();
        // The kernel doubles the value, for each direction.
        let sockets = 2 * 2 * bytes(socket_buffer.unwrap());
        // A header that is not complete or not decided about, or else a body that is not read.
        let http = usize::from(header_bytes).max(bytes(connection_window));
        let of_connections = connections * (SESSION_BYTES + sockets + http);
        let of_requests = REQUESTS.bodies.total + REQUESTS.bytes.total;
        let of_platform = PROCESS_MIB * MIB + WORKLOADS * WORKLOAD_BYTES;
        let all = of_connections + of_requests + of_platform;
        assert!(all <= MEMORY_LIMIT_MIB * MIB, "{} MiB", all / MIB);
    }

    #[test]
    fn the_deployment_has_that_limit() {
        let deployment = include_str!("../../../../../deploy/orchestrator/deployment.yaml");
        assert!(deployment.contains(&format!("memory: {MEMORY_LIMIT_MIB}Mi\n")));
    }
}
