//! One of several: on a cluster more than one process may be there, and only the one that holds the lease works.
//!
//! On the embedded API there is no lease: the lock of the data folder decides.

use kube::Client;
use tokio::sync::watch;

use crate::{
    lease::{self, Leadership},
    run::{Controllers, Options},
    stop::{self, Stop},
};

/// Which lease is contended for, and as whom.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The namespace of the lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who contends: no other process has this name.
    pub identity: String,
    /// Its times.
    pub options: lease::Options,
}

/// Where a process stands among those that contend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Another one works, as far as is known.
    #[default]
    Beside,
    /// This one leads, and its controllers take note of what there is.
    Beginning,
    /// This one leads, and its controllers work.
    Working,
}

/// Runs the controllers whenever this process leads, until it is time to end.
///
/// When the lease is lost, what is in progress is broken off at once: another process may begin a moment later. All
/// work is safe to break off and to repeat. Where the process stands is told on the way.
pub async fn lead(
    client: Client,
    lease: Lease,
    options: impl Fn() -> Options,
    standing: watch::Sender<Standing>,
    stop: Stop,
) {
    let (stopper, contending) = stop::channel();
    let Lease { namespace, name, identity, options: times } = lease;
    let (mut leads, task) =
        Leadership::contend(client.clone(), &namespace, &name, &identity, times, contending);
    loop {
        standing.send_replace(Standing::Beside);
        tokio::select! {
            () = stop.requested() => break,
            leading = leads.wait_for(|leads| *leads) => if leading.is_err() { break },
        }
        tracing::info!(identity, "this process leads");
        standing.send_replace(Standing::Beginning);
        let started = tokio::select! {
            () = stop.requested() => break,
            () = lost(&mut leads) => continue,
            started = Controllers::start(client.clone(), options()) => started,
        };
        match started {
            Ok(controllers) => {
                standing.send_replace(Standing::Working);
                tokio::select! {
                    () = stop.requested() => {
                        // The lease is let go only after the last write.
                        controllers.stop().await;
                        break;
                    }
                    () = lost(&mut leads) => {
                        tracing::warn!(identity, "this process no longer leads");
                        controllers.abort();
                    }
                }
            }
            Err(error) => {
                tracing::error!(identity, "the controllers did not start: {error}");
                tokio::time::sleep(times.renew).await;
            }
        }
    }
    stopper.stop();
    // One that panicked has ended as well.
    let _ = task.await;
}

async fn lost(leads: &mut watch::Receiver<bool>) {
    // An error means that nobody contends any more.
    let _ = leads.wait_for(|leads| !*leads).await;
}
