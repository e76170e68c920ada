//! Ports that are offered under another number than the program listens on: connections to the one are carried to the
//! other, on this machine only.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A port that is forwarded, for as long as this is held.
#[derive(Debug)]
pub(super) struct Forward {
    tasks: JoinSet<()>,
}

impl Forward {
    /// Offers a port on the loopback addresses.
    pub(super) async fn offer(port: u16, target: u16) -> io::Result<Self> {
        let mut tasks = JoinSet::new();
        tasks.spawn(carry(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?, target));
        // A machine without the newer protocol is reached by the older one.
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
            tasks.spawn(carry(listener, target));
        }
        Ok(Self { tasks })
    }

    /// Offers it no longer; afterwards the port is free.
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
                        // Whoever connects sees the end of the connection; there is nobody else to tell.
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

/// Connects to a program on this machine, on whichever loopback address it listens.
pub(super) async fn connect(port: u16) -> io::Result<TcpStream> {
    match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(stream) => Ok(stream),
        Err(error) => TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.map_err(|_| error),
    }
}

/// Tries whether a port could be listened on.
pub(super) async fn try_out(port: u16) -> io::Result<()> {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await.map(drop)
}
