//! Leader election of the controllers: of several processes on a cluster, the holder of the lease reconciles.
//!
//! On the embedded API there is no lease: the lock of the data folder decides.

use kube::Client;
use tokio::sync::watch;

use crate::{
    engine::{
        lease::{self, Leadership},
        shutdown::{self, Shutdown},
    },
    manager::{Options, Standby},
};

/// Lease and identity of a candidate.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// Identity, unique to the process.
    pub identity: String,
    /// Timing.
    pub options: lease::Options,
}

/// Role of a process in the election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Another process leads, as far as is known. The caches are current, so that this one can take over.
    #[default]
    Standby,
    /// This process leads, and its controllers are being started.
    Starting,
    /// This process leads, and its controllers reconcile.
    Leading,
}

/// Runs the controllers while this process leads, until shutdown, and reports its role.
///
/// When the lease is lost, reconciles in progress are aborted: another process may start a moment later. All work is safe to abort and
/// to repeat.
pub async fn lead(
    client: Client,
    lease: Lease,
    options: impl Fn() -> Options,
    role: watch::Sender<Role>,
    shutdown: Shutdown,
) {
    let (trigger, contending) = shutdown::channel();
    let Lease { namespace, name, identity, options: times } = lease;
    let (mut leads, task) =
        Leadership::contend(client.clone(), &namespace, &name, &identity, times, contending);
    loop {
        role.send_replace(Role::Standby);
        let standby = Standby::start(client.clone(), options());
        tokio::select! {
            () = shutdown.requested() => break,
            leading = leads.wait_for(|leads| *leads) => if leading.is_err() { break },
        }
        tracing::info!(identity, "this process leads");
        role.send_replace(Role::Starting);
        let started = tokio::select! {
            () = shutdown.requested() => break,
            () = lost(&mut leads) => continue,
            started = standby.lead() => started,
        };
        match started {
            Ok(controllers) => {
                role.send_replace(Role::Leading);
                tokio::select! {
                    () = shutdown.requested() => {
                        // The lease is released after the last write.
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
    trigger.trigger();
    // A task that panicked has ended as well.
    let _ = task.await;
}

async fn lost(leads: &mut watch::Receiver<bool>) {
    // An error means that the election has ended.
    let _ = leads.wait_for(|leads| !*leads).await;
}
