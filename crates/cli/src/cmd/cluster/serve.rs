//! `serve --cluster`: one of several processes on a cluster. All answer requests; the leader runs the controllers.

use std::{
    io::{self, Write},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::jiff::Timestamp;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_api::{API_VERSION, SYSTEM_NAMESPACE};
use orchestra_controllers::{
    engine::lease,
    engine::shutdown,
    leader::{Lease, Role, lead},
    metrics::Metrics,
};
use orchestra_limits::Limits;
use orchestra_serve::{Probes, ServeError as ListenError, Server as Listener};
use orchestra_server::{Reviews, Server as Answers};
use tokio::sync::watch;

use super::{
    LEASE,
    certificate::{self, Certificate},
    limits,
    published::{self, IN_CLUSTER_URL},
};
use crate::{
    args::Serve,
    cmd::{
        ServeError, connect,
        serve::{shutdown_signal, write_config},
    },
    drivers::Drivers,
    error::root_cause,
};

/// Default port.
const DEFAULT_PORT: u16 = 8443;
/// Timing of the lease: failover takes at most 4 seconds after a crash, and none after a graceful shutdown.
const LEASE_TIMING: lease::Options =
    lease::Options { lease: Duration::from_secs(4), renew: Duration::from_secs(1) };
/// Interval of checks for the API and the CRDs at start-up: short, since an installation waits for them.
const STARTUP_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Missing precondition of readiness, for `readyz`.
type Awaited = watch::Sender<Option<String>>;

/// Serves until shutdown is requested.
pub(crate) async fn serve(args: &Serve, config: Option<String>) -> Result<(), ServeError> {
    let mut shutdown_signal = Box::pin(shutdown_signal());
    let probes = args.health_listen.map(|address| on_all(address, Probes::bind)).transpose()?;
    let (client, listener) = tokio::select! {
        prepared = prepare(args, config) => prepared?,
        () = &mut shutdown_signal => return Ok(()),
    };
    let drivers = Drivers::in_cluster(&client);
    let (awaited, is_awaited) = watch::channel(Some("the CRDs of the orchestrator".to_owned()));
    let metrics = Metrics::default();
    let reviews = Reviews::new(client.clone());
    let answers = answers(&client, &reviews, &drivers, &metrics, is_awaited);
    let probing = probes.map(|probes| {
        let router = orchestra_server::health_router(answers.clone());
        // The output may be closed.
        let _ = writeln!(io::stdout().lock(), "Health checks on http://{}.", probes.address());
        tokio::spawn(probes.run(router, std::future::pending()))
    });
    let router = orchestra_server::router_with_tokens(answers, reviews);
    let (trigger, stop) = shutdown::channel();
    let controllers = tokio::spawn(run_controllers(client, drivers, metrics, awaited, stop));
    let served = listener
        .run(router, |peer| peer, async move {
            shutdown_signal.await;
            trigger.trigger();
            // A panic ends the task, too.
            let _ = controllers.await;
        })
        .await;
    // Healthy until the end: a graceful shutdown is no failure.
    if let Some(probing) = probing {
        probing.abort();
    }
    Ok(served?)
}

/// Connects to the cluster, listens, and publishes the address.
async fn prepare(args: &Serve, config: Option<String>) -> Result<(Client, Listener), ServeError> {
    let connection = connection(args).await?;
    let cluster = connection.cluster_url.to_string();
    let client = connect::client(connection).map_err(ServeError::api("connect to the cluster"))?;
    wait_for_api(&client).await;
    if let Some(config) = config {
        let written = write_config(&client, &config).await;
        written.map_err(ServeError::api("write the orchestrator config"))?;
    }
    let url = args.server_url.as_deref().unwrap_or(IN_CLUSTER_URL);
    let Certificate { chain, key, trust } = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => certificate::from_files(certificate, key, args.tls_ca.as_deref())?,
        _ => certificate::load_or_issue(&client, &names(url)).await?,
    };
    let listener = listen(args.listen, &chain, &key)?;
    let published = published::publish(&client, url, trust.as_deref()).await;
    published.map_err(ServeError::api("publish the address of the server"))?;
    // The output may be closed.
    let _ = writeln!(io::stdout().lock(), "Serving for {cluster} on https://{}.", listener.address());
    Ok((client, listener))
}

/// Connection from `--kubeconfig`, `$KUBECONFIG` or the service account of the pod.
async fn connection(args: &Serve) -> Result<Config, ServeError> {
    let options = KubeConfigOptions::default();
    Ok(match &args.kubeconfig {
        Some(path) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
        None if std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty()) => {
            Config::from_kubeconfig(&options).await?
        }
        None => Config::incluster().map_err(ServeError::NotInCluster)?,
    })
}

/// Waits until the API server answers; it may still be starting.
async fn wait_for_api(client: &Client) {
    loop {
        match client.apiserver_version().await {
            Err(kube::Error::Api(status)) if status.code < 500 => return,
            Ok(_) => return,
            Err(error) => {
                tracing::warn!("the API server does not answer, retrying: {}", root_cause(&error));
            }
        }
        tokio::time::sleep(STARTUP_CHECK_INTERVAL).await;
    }
}

/// Names of the server: in the cluster, through a forwarded port, and in the published address.
fn names(url: &str) -> Vec<String> {
    let domains = ["", ".score-system", ".score-system.svc", ".score-system.svc.cluster.local"];
    let mut names: Vec<String> = domains.iter().map(|domain| format!("orchestra{domain}")).collect();
    names.extend(["localhost", "127.0.0.1", "::1"].map(ToOwned::to_owned));
    let outside = url.parse::<http::Uri>().ok().and_then(|url| url.host().map(ToOwned::to_owned));
    let outside = outside.map(|host| host.trim_matches(['[', ']']).to_owned());
    names.extend(outside.filter(|host| !names.contains(host)));
    names
}

/// Listens on the given address, or on all.
fn listen(address: Option<SocketAddr>, chain: &str, key: &str) -> Result<Listener, ListenError> {
    let bind = |address| Listener::bind_as(address, chain, key, limits::CONNECTIONS);
    on_all(address.unwrap_or_else(|| (Ipv6Addr::UNSPECIFIED, DEFAULT_PORT).into()), bind)
}

/// Listens on an address. If it is `[::]` and IPv6 is disabled, that is `0.0.0.0`.
fn on_all<T>(
    address: SocketAddr,
    bind: impl Fn(SocketAddr) -> Result<T, ListenError>,
) -> Result<T, ListenError> {
    match bind(address) {
        Err(ListenError::Listen { .. }) if address.ip() == Ipv6Addr::UNSPECIFIED => {
            bind((Ipv4Addr::UNSPECIFIED, address.port()).into())
        }
        listening => listening,
    }
}

fn answers(
    client: &Client,
    reviews: &Reviews,
    drivers: &Drivers,
    metrics: &Metrics,
    awaited: watch::Receiver<Option<String>>,
) -> Answers {
    let by_class = drivers.runtimes.iter();
    let by_class = by_class.map(|runtime| (runtime.class().to_owned(), Arc::clone(runtime))).collect();
    let engines = drivers.provisioners.iter();
    let engines = engines.map(|engine| (engine.name().to_owned(), engine.capabilities())).collect();
    let metrics = metrics.clone();
    Answers {
        client: client.clone(),
        access: Arc::new(reviews.clone()),
        limits: Limits::new(limits::REQUESTS),
        metrics: Arc::new(move || metrics.encode()),
        awaited: Arc::new(move || awaited.borrow().iter().cloned().collect()),
        engines: Some(engines),
        runtimes: by_class,
        origins: None,
        clock: Timestamp::now,
    }
}

/// Waits for the CRDs, contends for the lease, and runs the controllers while this process leads.
async fn run_controllers(
    client: Client,
    drivers: Drivers,
    metrics: Metrics,
    awaited: Awaited,
    stop: shutdown::Shutdown,
) {
    tokio::select! {
        () = stop.requested() => return,
        () = wait_for_crds(&client, &awaited) => {}
    }
    let (role, mut roles) = watch::channel(Role::Standby);
    let reporting = tokio::spawn(async move {
        loop {
            let is_starting = *roles.borrow_and_update() == Role::Starting;
            awaited.send_replace(is_starting.then(|| "the caches of the controllers to sync".to_owned()));
            if roles.changed().await.is_err() {
                return;
            }
        }
    });
    let identity = identity();
    let Drivers { runtimes, provisioners, .. } = drivers;
    let lease = Lease {
        namespace: SYSTEM_NAMESPACE.to_owned(),
        name: LEASE.to_owned(),
        identity: identity.clone(),
        options: LEASE_TIMING,
    };
    let options = move || orchestra_controllers::Options {
        runtimes: runtimes.clone(),
        provisioners: provisioners.clone(),
        identity: identity.clone(),
        metrics: metrics.clone(),
        ..orchestra_controllers::Options::default()
    };
    lead(client, lease, options, role, stop).await;
    // It ends when the sender is dropped.
    let _ = reporting.await;
}

/// Waits until the cluster serves all CRDs of the orchestrator.
async fn wait_for_crds(client: &Client, awaited: &Awaited) {
    loop {
        let missing = match client.list_api_group_resources(API_VERSION).await {
            Ok(served) => missing(served.resources.iter().map(|resource| resource.name.as_str())),
            Err(kube::Error::Api(status)) if status.code == 404 => missing([]),
            Err(error) => {
                tracing::warn!("failed to check the CRDs of the orchestrator: {}", root_cause(&error));
                awaited.send_replace(Some("a response of the API server".to_owned()));
                tokio::time::sleep(STARTUP_CHECK_INTERVAL).await;
                continue;
            }
        };
        if missing.is_empty() {
            return;
        }
        let missing = missing.join(", ");
        awaited.send_replace(Some(format!(
            "the CRDs of the orchestrator ({missing}); install them with `orchestra install`"
        )));
        tokio::time::sleep(STARTUP_CHECK_INTERVAL).await;
    }
}

/// CRDs that are not served.
fn missing<'a>(served: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let served: Vec<&str> = served.into_iter().collect();
    let expected = orchestra_api::crd::all().into_iter().map(|definition| definition.spec.names.plural);
    expected.filter(|plural| !served.contains(&plural.as_str())).collect()
}

/// Identity of this process in the election: unique among running ones, and kept over restarts of a pod's container.
fn identity() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("POD_NAME").unwrap_or_else(|| {
        let host = set("HOSTNAME").unwrap_or_else(|| "orchestra".to_owned());
        format!("{host}-{}", std::process::id())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_covers_all_names_of_the_server() {
        let names = names("https://[2001:db8::1]:8443/base");
        for name in ["orchestra.score-system.svc", "localhost", "127.0.0.1", "2001:db8::1"] {
            assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
        }
        assert_eq!(super::names(IN_CLUSTER_URL).len(), 7);
    }

    #[test]
    fn missing_crds_are_named() {
        let all = ["workloads", "platformpolicies", "resourceclaims", "workloadplans", "workloadexposures"];
        assert_eq!(missing(all), Vec::<String>::new());
        assert_eq!(missing(all.into_iter().filter(|kind| *kind != "workloadplans")), ["workloadplans"]);
    }
}
