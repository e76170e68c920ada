//! `sample-server`: a web server that needs nothing but this program, so that the first example runs on a bare machine.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use crate::{exit::Exit, ui};

/// How long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run() -> Exit {
    match serve() {
        Ok(()) => Exit::Yes,
        Err(why) => {
            ui::complain(&why);
            Exit::No
        }
    }
}

fn serve() -> Result<(), String> {
    let port = env::var("PORT").unwrap_or_else(|_| "8080".to_owned());
    let port: u16 =
        port.parse().map_err(|_| format!("PORT is {port:?}, which is not the number of a port"))?;
    let greeting = env::var("GREETING").unwrap_or_else(|_| "Hello!".to_owned());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| format!("failed to listen on port {port}: {error}"))?;
    say(&format!("listening on port {port}"));
    for connection in listener.incoming().flatten() {
        let greeting = greeting.clone();
        thread::spawn(move || {
            // Whoever went away needs no answer.
            let _ = answer(&connection, &greeting);
        });
    }
    Ok(())
}

fn answer(mut connection: &TcpStream, greeting: &str) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
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
    say(&request);
    let shown = greeting.replace('&', "&amp;").replace('<', "&lt;");
    let page =
        format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>{shown}</title>\n<h1>{shown}</h1>\n");
    let length = page.len();
    write!(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{page}"
    )
}

fn say(text: &str) {
    // Where nobody reads the output, it still serves.
    let _ = writeln!(io::stdout().lock(), "{text}");
}
