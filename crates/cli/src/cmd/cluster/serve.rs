//! `serve --cluster`: one of several processes of a platform whose API is that of a cluster. It answers from the start;
//! it works while it holds the lease.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_api::{
    API_VERSION, SYSTEM_NAMESPACE,
    config::{CONFIG_KEY, CONFIG_MAP},
};
use orchestra_apiserver::serve::{ServeError, Server as Listener};
use orchestra_controllers::{
    lead::{Lease, Standing, lead},
    lease,
    metrics::Metrics,
    stop,
};
use orchestra_server::{Reviews, Server as Answers};
use serde_json::json;
use tokio::sync::watch;

use super::{
    LEASE,
    certificate::{self, Certificate},
    published::{self, WITHIN},
};
use crate::{
    args::Serve,
    cmd::{connect, platform::root_cause, serve::asked_to_stop},
    drivers::Drivers,
};

/// The port on which processes listen in a cluster.
const PORT: u16 = 8443;
/// Times of the lease: another process takes over at most 4 seconds after the last sign of life, and at once after an
/// orderly end.
const TIMES: lease::Options = lease::Options { lease: Duration::from_secs(4), renew: Duration::from_secs(1) };
/// How often it is looked whether the kinds are there.
const LOOK: Duration = Duration::from_secs(1);

/// What this process waits for before it can do its part.
type Awaited = watch::Sender<Option<String>>;

/// Serves until it is told to stop.
pub(crate) async fn serve(args: &Serve, document: Option<String>) -> Result<(), String> {
    let mut asked_to_stop = Box::pin(asked_to_stop());
    let (client, listener) = tokio::select! {
        prepared = prepare(args, document) => prepared?,
        () = &mut asked_to_stop => return Ok(()),
    };
    let drivers = Drivers::in_cluster(&client);
    let (awaited, is_awaited) = watch::channel(Some("the kinds of the orchestrator".to_owned()));
    let metrics = Metrics::default();
    let answers = answers(&client, &drivers, &metrics, is_awaited);
    let reviews =
        axum::middleware::from_fn_with_state(Reviews::new(client.clone()), orchestra_server::introduce);
    let router = orchestra_server::router(answers).layer(reviews);
    let (stopper, stop) = stop::channel();
    let working = tokio::spawn(work(client, drivers, metrics, awaited, stop));
    let served = listener
        .run(router, async move {
            asked_to_stop.await;
            stopper.stop();
            // One that panicked has ended as well.
            let _ = working.await;
        })
        .await;
    served.map_err(|error| error.to_string())
}

/// Reaches the cluster, and tells it and the user where this process listens.
async fn prepare(args: &Serve, document: Option<String>) -> Result<(Client, Listener), String> {
    let config = config(args).await?;
    let cluster = config.cluster_url.to_string();
    let client =
        connect::client(config).map_err(|error| format!("failed to connect to the cluster: {error}"))?;
    reached(&client).await;
    if let Some(document) = document {
        keep_document(&client, &document)
            .await
            .map_err(|error| format!("failed to write the platform's document: {error}"))?;
    }
    let url = args.server_url.as_deref().unwrap_or(WITHIN);
    let Certificate { chain, key, trust } = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => certificate::given(certificate, key, args.tls_ca.as_deref())?,
        _ => certificate::kept(&client, &names(url)).await?,
    };
    let listener = listen(args.listen, &chain, &key).await.map_err(|error| error.to_string())?;
    published::publish(&client, url, trust.as_deref())
        .await
        .map_err(|error| format!("failed to publish where the server is: {error}"))?;
    // A reader that went away does not stop the server.
    let _ = writeln!(io::stdout().lock(), "Serving for {cluster} on https://{}.", listener.address());
    Ok((client, listener))
}

/// How to reach the cluster: as the options say, as the environment of a user says, or from within.
async fn config(args: &Serve) -> Result<Config, String> {
    let config = match &args.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| error.to_string())?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .map_err(|error| error.to_string())?
        }
        None if std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty()) => {
            Config::from_kubeconfig(&KubeConfigOptions::default()).await.map_err(|error| error.to_string())?
        }
        None => Config::incluster().map_err(|error| {
            format!("this is not inside of a cluster ({error}); name a kubeconfig with --kubeconfig")
        })?,
    };
    Ok(config)
}

/// Waits until the cluster answers: it may be starting itself.
async fn reached(client: &Client) {
    loop {
        match client.apiserver_version().await {
            Err(kube::Error::Api(status)) if status.code < 500 => return,
            Ok(_) => return,
            Err(error) => {
                tracing::warn!("the cluster does not answer, and is asked again: {}", root_cause(&error));
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn keep_document(client: &Client, document: &str) -> kube::Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": {CONFIG_KEY: document},
    });
    maps.patch(CONFIG_MAP, &PatchParams::apply("orchestra-serve").force(), &Patch::Apply(map)).await.map(drop)
}

/// The names under which the server is reached: in the cluster, through a forwarded port, and where it is published.
fn names(url: &str) -> Vec<String> {
    let within = ["", ".score-system", ".score-system.svc", ".score-system.svc.cluster.local"];
    let mut names: Vec<String> = within.iter().map(|domain| format!("orchestra{domain}")).collect();
    names.extend(["localhost", "127.0.0.1", "::1"].map(ToOwned::to_owned));
    let outside = url.parse::<http::Uri>().ok().and_then(|url| url.host().map(ToOwned::to_owned));
    let outside = outside.map(|host| host.trim_matches(['[', ']']).to_owned());
    names.extend(outside.filter(|host| !names.contains(host)));
    names
}

/// Listens where it was told to, else on all addresses.
async fn listen(wanted: Option<SocketAddr>, chain: &str, key: &str) -> Result<Listener, ServeError> {
    if let Some(wanted) = wanted {
        return Listener::bind_as(wanted, chain, key).await;
    }
    match Listener::bind_as(([0u16; 8], PORT).into(), chain, key).await {
        // Not every machine knows IPv6.
        Err(ServeError::Listen { .. }) => Listener::bind_as(([0u8; 4], PORT).into(), chain, key).await,
        listening => listening,
    }
}

fn answers(
    client: &Client,
    drivers: &Drivers,
    metrics: &Metrics,
    awaited: watch::Receiver<Option<String>>,
) -> Answers {
    let keepers = drivers.runtimes.iter();
    let keepers = keepers.map(|runtime| (runtime.class().to_owned(), Arc::clone(runtime))).collect();
    let engines = drivers.provisioners.iter();
    let engines = engines.map(|engine| (engine.engine().to_owned(), engine.traits())).collect();
    let metrics = metrics.clone();
    Answers {
        client: client.clone(),
        access: Arc::new(Reviews::new(client.clone())),
        metrics: Arc::new(move || metrics.encode()),
        awaited: Arc::new(move || awaited.borrow().iter().cloned().collect()),
        engines: Some(engines),
        runtimes: keepers,
        homes: None,
        clock: Timestamp::now,
    }
}

/// Contends for the lease, and works while this process holds it. Begins when the kinds are there.
async fn work(client: Client, drivers: Drivers, metrics: Metrics, awaited: Awaited, stop: stop::Stop) {
    tokio::select! {
        () = stop.requested() => return,
        () = kinds(&client, &awaited) => {}
    }
    let (standing, mut stands) = watch::channel(Standing::Beside);
    let telling = tokio::spawn(async move {
        loop {
            let waits = *stands.borrow_and_update() == Standing::Beginning;
            awaited
                .send_replace(waits.then(|| "the controllers, which take note of what there is".to_owned()));
            if stands.changed().await.is_err() {
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
        options: TIMES,
    };
    let options = move || orchestra_controllers::Options {
        runtimes: runtimes.clone(),
        provisioners: provisioners.clone(),
        identity: identity.clone(),
        metrics: metrics.clone(),
        ..orchestra_controllers::Options::default()
    };
    lead(client, lease, options, standing, stop).await;
    // It ends with the other half of its channel.
    let _ = telling.await;
}

/// Waits until the cluster serves all kinds of the orchestrator.
async fn kinds(client: &Client, awaited: &Awaited) {
    loop {
        let missing = match client.list_api_group_resources(API_VERSION).await {
            Ok(served) => missing(served.resources.iter().map(|resource| resource.name.as_str())),
            Err(kube::Error::Api(status)) if status.code == 404 => missing([]),
            Err(error) => {
                tracing::warn!("failed to look for the kinds of the orchestrator: {error}");
                awaited.send_replace(Some("an answer of the cluster's API".to_owned()));
                tokio::time::sleep(LOOK).await;
                continue;
            }
        };
        if missing.is_empty() {
            return;
        }
        let missing = missing.join(", ");
        awaited.send_replace(Some(format!(
            "the kinds of the orchestrator ({missing}); `orchestra install` makes them"
        )));
        tokio::time::sleep(LOOK).await;
    }
}

/// The kinds that are not served.
fn missing<'a>(served: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let served: Vec<&str> = served.into_iter().collect();
    let wanted = orchestra_api::crd::all().into_iter().map(|definition| definition.spec.names.plural);
    wanted.filter(|plural| !served.contains(&plural.as_str())).collect()
}

/// The name of this process: no other one that lives has it. One that starts anew in the same place may take up what
/// it left.
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
    fn the_certificate_is_for_every_way_to_the_server() {
        let names = names("https://[2001:db8::1]:8443/base");
        for name in ["orchestra.score-system.svc", "localhost", "127.0.0.1", "2001:db8::1"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert_eq!(super::names(WITHIN).len(), 7);
    }

    #[test]
    fn kinds_that_are_not_served_are_named() {
        let all = ["workloads", "platformpolicies", "resourceclaims", "workloadplans", "workloadexposures"];
        assert_eq!(missing(all), Vec::<String>::new());
        assert_eq!(missing(all.into_iter().filter(|kind| *kind != "workloadplans")), ["workloadplans"]);
    }
}
