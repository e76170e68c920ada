//! Minimal client of the postgres protocol, to manage databases: over the socket in the server's own folder, which only the user
//! of the platform can reach and which needs no password.
//!
//! Written by hand, since `psql` is not always installed with the server, and takes longer to start than the statements take.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _},
    path::Path,
};

use rustix::fs::OFlags;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
};

/// Role of the platform.
pub(super) const ADMIN: &str = "postgres";
/// Version of the protocol.
const PROTOCOL: i32 = 3 << 16;
/// Larger than any answer to our statements.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Error of a statement.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The connection failed.
    #[error("the server does not answer: {0}")]
    Broken(#[from] io::Error),
    /// The server refused the statement.
    #[error("{message} (SQLSTATE {code})")]
    Refused {
        /// SQLSTATE.
        code: String,
        /// Primary message.
        message: String,
    },
    /// The server does not trust the user of the platform.
    #[error("the server requests a password: its `pg_hba.conf` was changed")]
    PasswordRequested,
}

/// Connection to a server.
pub(super) struct Connection(BufReader<UnixStream>);

impl Connection {
    /// Connects to the server of a data folder.
    pub(super) async fn open(data: &Path, port: u16) -> Result<Self, WireError> {
        // Socket addresses are short, and the folder may be deep: it is named by its descriptor.
        let folder: File =
            OpenOptions::new().read(true).custom_flags(OFlags::PATH.bits().cast_signed()).open(data)?;
        let path = format!("/proc/self/fd/{}/.s.PGSQL.{port}", folder.as_raw_fd());
        let mut connection = Self(BufReader::new(UnixStream::connect(path).await?));
        connection.greet().await?;
        Ok(connection)
    }

    async fn greet(&mut self) -> Result<(), WireError> {
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        // A failed statement must not be logged: it may contain a password.
        let parameters = [
            ("user", ADMIN),
            ("database", ADMIN),
            ("standard_conforming_strings", "on"),
            ("log_min_error_statement", "panic"),
        ];
        for (name, value) in parameters {
            body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        }
        body.push(0);
        self.send(None, &body).await?;
        self.until_ready().await.map(drop)
    }

    /// Runs statements. Returns the first value of each row.
    pub(super) async fn run(&mut self, statements: &str) -> Result<Vec<String>, WireError> {
        self.send(Some(b'Q'), &[statements.as_bytes(), b"\0"].concat()).await?;
        self.until_ready().await
    }

    async fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let length = i32::try_from(body.len() + 4).map_err(io::Error::other)?;
        let mut message: Vec<u8> = kind.into_iter().chain(length.to_be_bytes()).collect();
        message.extend_from_slice(body);
        self.0.write_all(&message).await
    }

    /// Reads messages until the server is ready for the next query.
    async fn until_ready(&mut self) -> Result<Vec<String>, WireError> {
        let (mut values, mut refusal) = (Vec::new(), None);
        loop {
            let (kind, body) = self.receive().await?;
            match kind {
                b'Z' => return refusal.map_or(Ok(values), Err),
                b'E' => {
                    let message = primary(&body);
                    // A fatal error ends the session; after any other, the server becomes ready.
                    if is_fatal(&body) {
                        return Err(WireError::Broken(io::Error::other(message)));
                    }
                    let code = field(&body, b'C').unwrap_or_default();
                    refusal = Some(WireError::Refused { code, message });
                }
                b'D' => values.extend(first_value(&body)),
                b'R' if body != [0; 4] => return Err(WireError::PasswordRequested),
                _ => {}
            }
        }
    }

    async fn receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let kind = self.0.read_u8().await?;
        let length = usize::try_from(self.0.read_i32().await?).unwrap_or_default();
        if !(4..=MAX_MESSAGE_BYTES).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer is not readable"));
        }
        let mut body = vec![0; length - 4];
        self.0.read_exact(&mut body).await?;
        Ok((kind, body))
    }
}

/// Field of an error: each begins with its type and ends with a zero.
fn field(body: &[u8], kind: u8) -> Option<String> {
    let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&kind))?;
    Some(String::from_utf8_lossy(&field[1..]).into_owned())
}

fn primary(body: &[u8]) -> String {
    field(body, b'M').unwrap_or_else(|| "no error message".to_owned())
}

fn is_fatal(body: &[u8]) -> bool {
    field(body, b'V').is_some_and(|severity| severity != "ERROR")
}

/// First value of a row; `None` if it is null.
fn first_value(body: &[u8]) -> Option<String> {
    let length = i32::from_be_bytes(body.get(2..6)?.try_into().ok()?);
    let value = body.get(6..6 + usize::try_from(length).ok()?)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_parsed_by_its_fields() {
        let body = b"SERROR\0VERROR\0C42710\0Mrole \"a\" already exists\0\0";
        assert_eq!(primary(body), "role \"a\" already exists");
        assert!(!is_fatal(body));
        assert!(is_fatal(b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"));
        assert_eq!(primary(b"\0"), "no error message");
    }

    #[test]
    fn the_first_value_of_a_row_is_parsed_and_a_truncated_response_is_harmless() {
        assert_eq!(first_value(b"\0\x01\0\0\0\x02ab").as_deref(), Some("ab"));
        assert_eq!(first_value(b"\0\x01\xff\xff\xff\xff"), None);
        assert_eq!(first_value(b"\0\x01\0\0\0\x09ab"), None);
        assert_eq!(first_value(b""), None);
    }
}
