//! The cluster that everything happens on, and what its provider can do.

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

/// The cluster of `KUBECONFIG`, as its administrator.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) access: Access,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) keep: bool,
    shell: Person,
}

/// The image of the orchestrator that is upgraded from.
pub(crate) fn image_before() -> String {
    setting("E2E_IMAGE_BEFORE").unwrap_or_else(|| "localhost/orchestra:e2e-before".to_owned())
}

/// The program that the image before is made of; none if there is no other than the one that is to be judged.
pub(crate) fn program_before() -> Option<String> {
    setting("E2E_BEFORE")
}

/// The image of the orchestrator that is to be judged.
pub(crate) fn image() -> String {
    setting("E2E_IMAGE").unwrap_or_else(|| "localhost/orchestra:e2e".to_owned())
}

/// The image with a shell, a web server, and clients of databases.
pub(crate) fn probe() -> String {
    setting("E2E_IMAGE_PROBE").unwrap_or_else(|| "localhost/probe:1".to_owned())
}

/// Where the suite reaches the server of the platform: through [`Cluster::forward`].
pub(crate) const SERVER: &str = "https://localhost:30443";

/// A setting that is given by a variable of the environment.
pub(crate) fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Somebody with a shell and a kubeconfig.
#[derive(Clone)]
pub(crate) struct Person(Arc<Shell>);

impl Person {
    pub(crate) fn with(kubeconfig: &Path) -> Result<Self, Error> {
        Ok(Self(Arc::new(Shell::new(Path::new("kubectl"), kubeconfig)?)))
    }

    /// What a command prints, if it succeeds.
    pub(crate) async fn run(&self, command: &str) -> Result<String, Error> {
        let unreachable = format!("{SERVER} cannot be reached");
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let (shell, command) = (Arc::clone(&self.0), command.to_owned());
            match spawn_blocking(move || shell.run(&command)).await? {
                // The way there closes now and then, and opens again.
                Err(error) if error.to_string().contains(&unreachable) && Instant::now() < end => {
                    sleep(Duration::from_millis(200)).await;
                }
                ran => return ran,
            }
        }
    }

    /// What a command prints that must fail.
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

    /// What a command of the administrator prints, if it succeeds.
    pub(crate) async fn run(&self, command: &str) -> Result<String, Error> {
        self.shell.run(command).await
    }

    /// What a command of the administrator prints that must fail.
    pub(crate) async fn fails(&self, command: &str) -> Result<String, Error> {
        self.shell.fails(command).await
    }

    /// Lets the server of the platform be reached from here, as long as the suite runs.
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
                // It ends whenever the one that it leads to does, and there is another.
                if let Ok(mut child) = kubectl.spawn() {
                    let _ = child.wait().await;
                }
                sleep(Duration::from_millis(100)).await;
            }
        });
    }

    /// What a command of the provider prints, run as it stands; none if the provider has not set it.
    pub(crate) async fn provider(&self, hook: &str) -> Option<Result<String, Error>> {
        let command = setting(hook)?;
        Some(
            async {
                let output = tokio::process::Command::new("sh").args(["-c", &command]).output().await?;
                let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
                if output.status.success() { Ok(said) } else { Err(format!("{hook}: {said}").into()) }
            }
            .await,
        )
    }

    /// The object or list at a path of the API.
    pub(crate) async fn get(&self, path: &str) -> Result<Json, Error> {
        Ok(self.client.request(Request::get(path).body(Vec::new())?).await?)
    }

    /// The text at a path of the API.
    pub(crate) async fn text(&self, path: &str) -> Result<String, Error> {
        Ok(self.client.request_text(Request::get(path).body(Vec::new())?).await?)
    }

    /// The objects of a list at a path of the API.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Json>, Error> {
        Ok(self.get(path).await?["items"].as_array().cloned().unwrap_or_default())
    }

    /// Whether there is nothing at a path of the API.
    pub(crate) async fn is_absent(&self, path: &str) -> Result<bool, Error> {
        match self.client.request::<Json>(Request::get(path).body(Vec::new())?).await {
            Ok(_) => Ok(false),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes an object at a path of the API by a merge.
    pub(crate) async fn merge(&self, path: &str, patch: &Json) -> Result<Json, Error> {
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        Ok(self.client.request(request.body(patch.to_string().into_bytes())?).await?)
    }

    /// Makes an object at the path of its list.
    pub(crate) async fn create(&self, path: &str, object: &Json) -> Result<Json, Error> {
        let request = Request::post(path).header("content-type", "application/json");
        Ok(self.client.request(request.body(object.to_string().into_bytes())?).await?)
    }

    /// Removes an object, if it is there.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Error> {
        match self.client.request::<Json>(Request::delete(path).body(Vec::new())?).await {
            Err(kube::Error::Api(status)) if status.code != 404 => Err(format!("{path}: {status}").into()),
            Err(error @ (kube::Error::HyperError(_) | kube::Error::Service(_))) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
