//! Addresses outside the cluster.

use orchestra_e2e::platform::Error;
use serde_json::json;
use tokio::process::Command;

use crate::{
    cluster::setting,
    document::{of_profile, page},
    space::Space,
    suite::Skip,
    wait::{contains, holds, same, until},
};

/// Response of an address whose host name resolves to the ingress.
async fn fetch(url: &str, ingress: Option<&str>) -> Result<String, Error> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "10"]);
    if let Some(ingress) = ingress {
        let host = url.trim_start_matches("http://").split('/').next().unwrap_or_default();
        let (host, port) = host.split_once(':').unwrap_or((host, "80"));
        curl.args(["--resolve", &format!("{host}:{port}:{ingress}")]);
    }
    let output = curl.arg(url).output().await?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{url}: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

fn ingress_address() -> Result<String, Error> {
    setting("E2E_INGRESS").ok_or_else(|| Skip("E2E_INGRESS is not set: no address of the ingress").into())
}

pub(super) async fn ingress(space: &Space) -> Result<(), Error> {
    let address = ingress_address()?;
    let status = space.run(&of_profile(page("shop", "through the ingress")?, "public")).await?;
    let url = status["endpoint"].as_str().unwrap_or_default().to_owned();
    contains("the address", &url, "apps.example.test")?;
    space.note(&url);
    // The address is published after it responds; only the ingress controller may lag.
    let answer = until("the address answers", async || fetch(&url, Some(&address)).await).await?;
    contains("the answer", &answer, "through the ingress")
}

pub(super) async fn route(space: &Space) -> Result<(), Error> {
    let address = ingress_address()?;
    let mut document = of_profile(page("shop", "by a route")?, "public");
    document["spec"]["resources"] = json!({
        "dns": {"type": "dns"},
        "route": {"type": "route", "params": {"host": "${resources.dns.host}", "path": "/", "port": 80}},
    });
    let status = space.run(&document).await?;
    same("rules for the same host", space.list("networking.k8s.io/v1", "ingresses").await?.len(), 1)?;
    let url = status["endpoint"].as_str().unwrap_or_default().to_owned();
    space.note(&url);
    let answer = until("the address answers", async || fetch(&url, Some(&address)).await).await?;
    contains("the answer", &answer, "by a route")?;
    space.delete("shop").await?;
    same("rules left", space.list("networking.k8s.io/v1", "ingresses").await?.len(), 0)
}

pub(super) async fn node_port(space: &Space) -> Result<(), Error> {
    if setting("E2E_NODE_PORTS").is_none() {
        return Err(Skip("E2E_NODE_PORTS is not set: nodes may be unreachable").into());
    }
    let status = space.run(&of_profile(page("shop", "by a port of the node")?, "node-port")).await?;
    let url = status["endpoint"].as_str().unwrap_or_default().to_owned();
    holds(
        format!("{url:?} is not an address with a port"),
        url.starts_with("http://") && url.matches(':').count() == 2,
    )?;
    space.note(&url);
    let answer = until("the address answers", async || fetch(&url, None).await).await?;
    contains("the answer", &answer, "by a port of the node")
}

/// Assigns the address of the load balancer itself if the cluster has no controller for it.
pub(super) async fn load_balancer(space: &Space) -> Result<(), Error> {
    let status = space.run(&of_profile(page("shop", "by a load balancer")?, "load-balancer")).await?;
    let services = space.list("v1", "services").await?;
    let public = services.iter().find(|service| service["spec"]["type"] == "LoadBalancer");
    let public = public.ok_or("there is no load balancer")?;
    same("ports of the load balancer", public["spec"]["ports"].as_array().map(Vec::len), Some(1))?;
    let path =
        space.path("v1", &format!("services/{}", public["metadata"]["name"].as_str().unwrap_or_default()));
    if public["status"]["loadBalancer"]["ingress"].is_null() {
        // Until then the endpoint is the address inside the cluster.
        contains("the address", status["endpoint"].as_str().unwrap_or_default(), "svc.cluster.local")?;
        for address in ["203.0.113.10", "203.0.113.20"] {
            let given = json!({"status": {"loadBalancer": {"ingress": [{"ip": address}]}}});
            space.cluster.merge(&format!("{path}/status"), &given).await?;
            is_published(space, &format!("http://{address}")).await?;
        }
    } else {
        let given = public["status"]["loadBalancer"]["ingress"][0].clone();
        let host = given["hostname"].as_str().or(given["ip"].as_str()).unwrap_or_default();
        is_published(space, &format!("http://{host}")).await?;
    }
    space.delete("shop").await?;
    same("services left", space.list("v1", "services").await?.len(), 0)
}

/// Waits until the Workload is ready with this endpoint.
async fn is_published(space: &Space, url: &str) -> Result<(), Error> {
    until("the address is published", async || {
        same("the address", &space.workload("shop").await?["status"]["endpoint"], &json!(url))
    })
    .await?;
    space.until_ready("shop").await.map(drop)
}

pub(super) async fn gateway(space: &Space) -> Result<(), Error> {
    let Some(class) = setting("E2E_GATEWAY_CLASS") else {
        return Err(Skip("E2E_GATEWAY_CLASS is not set: no gateway class").into());
    };
    let address = ingress_address()?;
    space.apply(&of_profile(page("shop", "through the gateway")?, "routed")).await?;
    let status = space.until_ready("shop").await?;
    // No gateway has accepted the route yet, so its address would not respond.
    contains("the address", status["endpoint"].as_str().unwrap_or_default(), "svc.cluster.local")?;
    let entrance = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "entrance"},
        "spec": {"gatewayClassName": class, "listeners": [{"name": "web", "protocol": "HTTP", "port": 8000}]},
    });
    space.apply(&entrance).await?;
    let url = format!("http://shop.{}.routes.example.test:8000", space.name);
    is_published(space, &url).await?;
    space.note(&url);
    let answer = until("the address answers", async || fetch(&url, Some(&address)).await).await?;
    contains("the answer", &answer, "through the gateway")?;
    space.delete("shop").await?;
    same("routes left", space.list("gateway.networking.k8s.io/v1", "httproutes").await?.len(), 0)
}
