//! Leader election with a `Lease`.
//!
//! The holder renews the lease; another candidate acquires it when the holder releases it or has not renewed it for its duration. Clocks
//! differ between machines, so a candidate never compares a timestamp with its own clock: it measures how long it has seen no renewal. A
//! holder stops leading before anyone can take over: it counts from before its last successful renewal was sent, and leaves a tenth of
//! the duration for clocks of different speed.
//!
//! Every write has the resource version that was read as a precondition, so that only one of several candidates succeeds.

use std::{pin::pin, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, PostParams, WatchEvent, WatchParams},
};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

use crate::engine::{backoff, shutdown::Shutdown};

/// Timing of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Time that candidates wait after a renewal, in whole seconds.
    pub lease: Duration,
    /// Interval of renewals; several per duration.
    pub renew: Duration,
}

/// Candidate for a lease.
#[derive(Debug)]
pub struct Leadership {
    api: Api<Lease>,
    name: String,
    identity: String,
    options: Options,
    leading: watch::Sender<bool>,
    /// Holder and renewal last seen, and since when.
    observed: Option<(Term, Instant)>,
}

/// Fields that change with every renewal and acquisition.
type Term = (Option<String>, Option<MicroTime>, Option<i32>);

/// Lease that we hold, and when we stop leading without a renewal.
struct HeldLease {
    lease: Lease,
    until: Instant,
}

impl Leadership {
    /// Runs for leader until shutdown, and reports whether this process leads. The identity must be unique to the process.
    ///
    /// On shutdown the lease is released and the next candidate takes over at once: stop what depends on leading first, and wait
    /// for the task to end.
    pub fn contend(
        client: Client,
        namespace: &str,
        name: &str,
        identity: &str,
        options: Options,
        stop: Shutdown,
    ) -> (watch::Receiver<bool>, JoinHandle<()>) {
        let (leading, led) = watch::channel(false);
        let api = Api::namespaced(client, namespace);
        let (name, identity) = (name.to_owned(), identity.to_owned());
        let leadership = Self { api, name, identity, options, leading, observed: None };
        (led, tokio::spawn(leadership.run(stop)))
    }

    async fn run(mut self, stop: Shutdown) {
        let mut failures = 0;
        while !stop.is_requested() {
            let attempt = tokio::select! {
                () = stop.requested() => break,
                attempt = timeout(self.options.renew, self.acquire()) => attempt,
            };
            let wait = match attempt {
                Ok(Ok(Ok(held))) => {
                    failures = 0;
                    self.lead(held, &stop).await;
                    continue;
                }
                Ok(Ok(Err(wait))) => {
                    failures = 0;
                    wait
                }
                Ok(Err(error)) => self.failed(&error, &mut failures),
                Err(slow) => self.failed(&slow, &mut failures),
            };
            tokio::select! {
                () = stop.requested() => {}
                () = self.wait_for_change(wait) => {}
            }
        }
        self.release().await;
    }

    /// Acquires the lease if it is free, or returns what to wait for.
    async fn acquire(&mut self) -> kube::Result<Result<HeldLease, Wait>> {
        loop {
            let found = self.api.get_opt(&self.name).await?;
            if let Some(wait) = found.as_ref().and_then(|lease| self.must_wait(lease)) {
                return Ok(Err(wait));
            }
            let sent = Instant::now();
            let taken = match found {
                None => {
                    let lease = Lease { metadata: self.metadata(), spec: Some(self.term(None)) };
                    self.api.create(&PostParams::default(), &lease).await
                }
                Some(lease) => {
                    let spec = self.term(Some(lease.spec.clone().unwrap_or_default()));
                    self.write(lease, spec).await
                }
            };
            match taken {
                // Another candidate was faster, as happens when several start at once.
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                taken => return Ok(Ok(self.held(taken?, sent))),
            }
        }
    }

    /// Time until which another process holds the lease, if it does.
    fn must_wait(&mut self, lease: &Lease) -> Option<Wait> {
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if !holder.is_empty() && holder != self.identity {
            let promised = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
            let promised = promised.map_or(self.options.lease, Duration::from_secs);
            let expiry = self.observe(&spec) + promised;
            if Instant::now() < expiry {
                let version = lease.resource_version().unwrap_or_default();
                return Some(Wait { until: expiry, version: Some(version) });
            }
        }
        None
    }

    /// Time since which we have seen the lease unchanged.
    fn observe(&mut self, spec: &LeaseSpec) -> Instant {
        let term: Term = (spec.holder_identity.clone(), spec.renew_time.clone(), spec.lease_transitions);
        match &self.observed {
            Some((seen, since)) if *seen == term => *since,
            _ => {
                let now = Instant::now();
                self.observed = Some((term, now));
                now
            }
        }
    }

    /// Leads until the lease is lost, or shutdown.
    async fn lead(&mut self, mut held: HeldLease, stop: &Shutdown) {
        self.observed = None;
        // A process that was suspended must not lead on an expired lease, not even for a moment.
        if Instant::now() >= held.until {
            return;
        }
        self.leading.send_replace(true);
        tracing::info!(lease = self.name, identity = self.identity, "leading");
        let mut failures = 0;
        let mut pause = self.options.renew;
        loop {
            tokio::select! {
                biased;
                () = stop.requested() => break,
                () = sleep_until(held.until) => break,
                () = sleep(pause) => {}
            }
            let sent = Instant::now();
            let spec = self.term(held.lease.spec.clone());
            let renewal = self.write(held.lease.clone(), spec);
            let renewed = tokio::select! {
                biased;
                () = stop.requested() => break,
                renewed = timeout_at(held.until, renewal) => renewed,
            };
            pause = match renewed {
                Ok(Ok(lease)) => {
                    held = self.held(lease, sent);
                    failures = 0;
                    self.options.renew
                }
                // Somebody else wrote it: read who holds it.
                Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => break,
                Ok(Err(error)) => {
                    tracing::warn!(lease = self.name, "failed to renew the lease: {error}");
                    failures += 1;
                    backoff::delay(failures, fastrand::f64()).min(self.options.renew)
                }
                Err(_) => break,
            };
        }
        self.leading.send_replace(false);
        tracing::info!(lease = self.name, identity = self.identity, "no longer leading");
    }

    /// Releases the lease if it is ours, including by a request whose answer was lost. If that fails, it expires.
    async fn release(&self) {
        let release = async {
            let Some(lease) = self.api.get_opt(&self.name).await? else { return Ok(()) };
            let spec = lease.spec.clone().unwrap_or_default();
            if spec.holder_identity.as_ref() == Some(&self.identity) {
                self.write(lease, LeaseSpec { holder_identity: None, ..spec }).await?;
            }
            Ok::<_, kube::Error>(())
        };
        match timeout(self.options.renew, release).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(lease = self.name, "failed to release the lease: {error}"),
            Err(slow) => tracing::warn!(lease = self.name, "failed to release the lease: {slow}"),
        }
    }

    /// Replaces the version that was read.
    async fn write(&self, mut lease: Lease, spec: LeaseSpec) -> kube::Result<Lease> {
        lease.spec = Some(spec);
        lease.metadata.managed_fields = None;
        self.api.replace(&self.name, &PostParams::default(), &lease).await
    }

    fn metadata(&self) -> ObjectMeta {
        ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() }
    }

    /// Lease as we write it: acquired now, or renewed.
    fn term(&self, before: Option<LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let before =
            before.unwrap_or_else(|| LeaseSpec { lease_transitions: Some(-1), ..LeaseSpec::default() });
        let ours = before.holder_identity.as_ref() == Some(&self.identity);
        let transitions = before.lease_transitions.unwrap_or_default();
        let seconds = i32::try_from(self.options.lease.as_secs().max(1)).unwrap_or(i32::MAX);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(seconds),
            lease_transitions: Some(if ours { transitions } else { transitions.saturating_add(1) }),
            acquire_time: if ours { before.acquire_time.clone() } else { Some(now.clone()) },
            renew_time: Some(now),
            ..before
        }
    }

    fn held(&self, lease: Lease, sent: Instant) -> HeldLease {
        HeldLease { lease, until: sent + self.options.lease * 9 / 10 }
    }

    fn failed(&self, error: &dyn std::fmt::Display, failures: &mut u32) -> Wait {
        tracing::warn!(lease = self.name, "failed to contend for the lease: {error}");
        let pause = backoff::delay(*failures, fastrand::f64()).min(self.options.renew);
        *failures = failures.saturating_add(1);
        Wait { until: Instant::now() + pause, version: None }
    }

    /// Waits for a change after a version, or until a time.
    async fn wait_for_change(&self, wait: Wait) {
        // A watch may be refused or fail: polling works as well.
        let latest = wait.until.min(Instant::now() + self.options.renew);
        let _ = timeout_at(latest, async {
            match wait.version {
                Some(version) => self.changed(&version).await,
                None => std::future::pending().await,
            }
        })
        .await;
    }

    async fn changed(&self, version: &str) {
        let params = WatchParams::default().fields(&format!("metadata.name={}", self.name));
        if let Ok(events) = self.api.watch(&params, version).await {
            let mut events = pin!(events);
            while let Some(Ok(event)) = events.next().await {
                if !matches!(event, WatchEvent::Bookmark(_) | WatchEvent::Error(_)) {
                    return;
                }
            }
        }
        std::future::pending::<()>().await;
    }
}

/// End of the wait of a candidate.
struct Wait {
    until: Instant,
    /// Resource version of the lease that was read.
    version: Option<String>,
}
