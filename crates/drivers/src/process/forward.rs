//! TCP forward from a service port to the port that the program listens on, on the loopback addresses.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A forwarded port; closes when it is dropped.
#[derive(Debug)]
pub(super) struct Forward {
    tasks: JoinSet<()>,
}

impl Forward {
    /// Listens on a port of the loopback addresses.
    pub(super) async fn open(port: u16, target: u16) -> io::Result<Self> {
        let mut tasks = JoinSet::new();
        tasks.spawn(carry(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?, target));
        // Not every machine has IPv6.
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
            tasks.spawn(carry(listener, target));
        }
        Ok(Self { tasks })
    }

    /// Stops listening; the port is free afterwards.
    pub(super) async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn carry(listener: TcpListener, target: u16) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((mut near, _)) = accepted {
                    connections.spawn(async move {
                        // The client sees the connection close.
                        if let Ok(mut far) = connect(target).await {
                            let _ = copy_bidirectional(&mut near, &mut far).await;
                        }
                    });
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Connects to a program of this machine, on the loopback address that it listens on.
pub(super) async fn connect(port: u16) -> io::Result<TcpStream> {
    match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(stream) => Ok(stream),
        Err(error) => TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.map_err(|_| error),
    }
}

/// Checks that a port is free.
pub(super) async fn check_free(port: u16) -> io::Result<()> {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await.map(drop)
}
