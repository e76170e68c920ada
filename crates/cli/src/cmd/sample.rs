//! `sample-server`: web server for the first example, which then needs no other program.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use crate::{error::CliError, exit::Exit};

/// Timeout of reading a request; a client that sends nothing must not keep its thread.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run() -> Result<Exit, CliError> {
    let port = env::var("PORT").unwrap_or_else(|_| "8080".to_owned());
    let port: u16 = port.parse().map_err(|_| CliError::InvalidPort(port))?;
    let greeting = env::var("GREETING").unwrap_or_else(|_| "Hello!".to_owned());
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|source| CliError::Listen { port, source })?;
    log(&format!("listening on port {port}"));
    for connection in listener.incoming().flatten() {
        let greeting = greeting.clone();
        thread::spawn(move || {
            // The client may have gone.
            let _ = answer(&connection, &greeting);
        });
    }
    Ok(Exit::Success)
}

fn answer(mut connection: &TcpStream, greeting: &str) -> io::Result<()> {
    connection.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    let mut lines = BufReader::new(connection).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    if request.is_empty() {
        return Ok(());
    }
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    log(&request);
    let shown = greeting.replace('&', "&amp;").replace('<', "&lt;");
    let page =
        format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>{shown}</title>\n<h1>{shown}</h1>\n");
    let length = page.len();
    write!(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{page}"
    )
}

fn log(text: &str) {
    // The output may be closed.
    let _ = writeln!(io::stdout().lock(), "{text}");
}
