//! Cluster under test, and the hooks of its provider.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use http::Request;
use kube::Client;
use orchestra_e2e::{
    platform::{Access, Error},
    tutorial::shell::Shell,
};
use serde_json::Value as Json;
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

/// Retries of a read whose connection broke. More than that is a fault of the server.
const READ_RETRIES: usize = 3;

/// Cluster of `KUBECONFIG`, as administrator.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) access: Access,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) keep: bool,
    shell: Person,
}

/// Orchestrator image to upgrade from.
pub(crate) fn image_before() -> String {
    setting("E2E_IMAGE_BEFORE").unwrap_or_else(|| "localhost/orchestra:e2e-before".to_owned())
}

/// Program of the earlier image; `None` if only the one under test exists.
pub(crate) fn program_before() -> Option<String> {
    setting("E2E_BEFORE")
}

/// Orchestrator image under test.
pub(crate) fn image() -> String {
    setting("E2E_IMAGE").unwrap_or_else(|| "localhost/orchestra:e2e".to_owned())
}

/// Image with a shell, a web server and database clients.
pub(crate) fn probe() -> String {
    setting("E2E_IMAGE_PROBE").unwrap_or_else(|| "localhost/probe:1".to_owned())
}

/// URL of the orchestrator's server, through [`Cluster::forward`].
pub(crate) const SERVER: &str = "https://localhost:30443";

/// Setting from an environment variable.
pub(crate) fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Shell with a kubeconfig.
#[derive(Clone)]
pub(crate) struct Person(Arc<Shell>);

impl Person {
    pub(crate) fn with(kubeconfig: &Path) -> Result<Self, Error> {
        Ok(Self(Arc::new(Shell::new(Path::new("kubectl"), kubeconfig)?)))
    }

    /// Output of a command that must succeed.
    pub(crate) async fn run(&self, command: &str) -> Result<String, Error> {
        let unreachable = format!("cannot reach the orchestrator's server at {SERVER}");
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let (shell, command) = (Arc::clone(&self.0), command.to_owned());
            match spawn_blocking(move || shell.run(&command)).await? {
                // The port-forward breaks now and then, and is restarted.
                Err(error) if error.to_string().contains(&unreachable) && Instant::now() < end => {
                    sleep(Duration::from_millis(200)).await;
                }
                ran => return ran,
            }
        }
    }

    /// Output of a command that must fail.
    pub(crate) async fn fails(&self, command: &str) -> Result<String, Error> {
        let (shell, command) = (Arc::clone(&self.0), command.to_owned());
        spawn_blocking(move || shell.fails(&command)).await?
    }
}

impl Cluster {
    pub(crate) async fn reach(keep: bool) -> Result<Self, Error> {
        let kubeconfig = PathBuf::from(
            setting("KUBECONFIG").ok_or("set KUBECONFIG to that of a cluster's administrator")?,
        );
        let access = Access::of(&kubeconfig)
            .await
            .map_err(|error| format!("the cluster cannot be reached: {error}"))?;
        let shell = Person::with(&kubeconfig)?;
        Ok(Self { client: access.admin.clone(), access, kubeconfig, keep, shell })
    }

    /// Output of a command of the administrator that must succeed.
    pub(crate) async fn run(&self, command: &str) -> Result<String, Error> {
        self.shell.run(command).await
    }

    /// Output of a command of the administrator that must fail.
    pub(crate) async fn fails(&self, command: &str) -> Result<String, Error> {
        self.shell.fails(command).await
    }

    /// Forwards a local port to the orchestrator's server while the suite runs.
    pub(crate) fn forward(&self) {
        let kubeconfig = self.kubeconfig.clone();
        tokio::spawn(async move {
            loop {
                let mut kubectl = tokio::process::Command::new("kubectl");
                kubectl.args(["-n", "score-system", "port-forward", "service/orchestra", "30443:443"]);
                kubectl
                    .env("KUBECONFIG", &kubeconfig)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .kill_on_drop(true);
                // The port-forward ends with its pod; another pod takes over.
                if let Ok(mut child) = kubectl.spawn() {
                    let _ = child.wait().await;
                }
                sleep(Duration::from_millis(100)).await;
            }
        });
    }

    /// Output of a hook of the provider, run as it is; `None` if the provider has not set it.
    pub(crate) async fn provider(&self, hook: &str) -> Option<Result<String, Error>> {
        let command = setting(hook)?;
        Some(
            async {
                let output = tokio::process::Command::new("sh").args(["-c", &command]).output().await?;
                let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
                if output.status.success() { Ok(text) } else { Err(format!("{hook}: {text}").into()) }
            }
            .await,
        )
    }

    /// Object or list at an API path.
    pub(crate) async fn get(&self, path: &str) -> Result<Json, Error> {
        let mut retries = READ_RETRIES;
        loop {
            match self.client.request(Request::get(path).body(Vec::new())?).await {
                // The server may close an idle connection at the moment of its reuse.
                Err(kube::Error::Service(_) | kube::Error::HyperError(_)) if retries > 0 => retries -= 1,
                result => return Ok(result?),
            }
        }
    }

    /// Text at an API path.
    pub(crate) async fn text(&self, path: &str) -> Result<String, Error> {
        Ok(self.client.request_text(Request::get(path).body(Vec::new())?).await?)
    }

    /// Items of a list at an API path.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Json>, Error> {
        Ok(self.get(path).await?["items"].as_array().cloned().unwrap_or_default())
    }

    /// True if there is nothing at an API path.
    pub(crate) async fn is_absent(&self, path: &str) -> Result<bool, Error> {
        match self.client.request::<Json>(Request::get(path).body(Vec::new())?).await {
            Ok(_) => Ok(false),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Merge-patches the object at an API path.
    pub(crate) async fn merge(&self, path: &str, patch: &Json) -> Result<Json, Error> {
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        Ok(self.client.request(request.body(patch.to_string().into_bytes())?).await?)
    }

    /// Creates an object at the path of its list.
    pub(crate) async fn create(&self, path: &str, object: &Json) -> Result<Json, Error> {
        let request = Request::post(path).header("content-type", "application/json");
        Ok(self.client.request(request.body(object.to_string().into_bytes())?).await?)
    }

    /// Deletes an object if it exists.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Error> {
        match self.client.request::<Json>(Request::delete(path).body(Vec::new())?).await {
            Err(kube::Error::Api(status)) if status.code != 404 => Err(format!("{path}: {status}").into()),
            Err(error @ (kube::Error::HyperError(_) | kube::Error::Service(_))) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
