//! Limits of connections: slots, and the memory that a client can make one hold.

/// Limits of the connections of a server.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections. When they run out, an unauthenticated or idle one makes room for the next.
    pub connections: usize,
    /// Connections of one authenticated caller; more make room first.
    pub per_caller: usize,
    /// Streams of an HTTP/2 connection.
    pub streams: u32,
    /// Size of the header of a request.
    pub header_bytes: u16,
    /// Bytes of a request body that a client may send ahead of the application, per HTTP/2 stream.
    pub stream_window: u32,
    /// The same, for all streams of a connection.
    pub connection_window: u32,
    /// Send buffer for a slow client, per HTTP/2 stream or HTTP/1.1 connection.
    pub unsent_bytes: usize,
    /// Buffers of the socket in the kernel, for each direction; the kernel doubles the value. Default: its own choice, up
    /// to megabytes.
    pub socket_buffer: Option<u32>,
}

impl Default for ConnectionLimits {
    /// Limits of a platform on one machine: controllers put all their watches on one connection, one stream each.
    fn default() -> Self {
        Self {
            connections: 4096,
            per_caller: 2048,
            streams: 1000,
            header_bytes: u16::MAX,
            stream_window: 256 * 1024,
            connection_window: 1024 * 1024,
            unsent_bytes: 64 * 1024,
            socket_buffer: None,
        }
    }
}
