//! Namespace of one case.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use http::Request;
use orchestra_e2e::platform::{Error, clear, manifests};
use serde_json::{Value as Json, json};

use crate::{
    cluster::Cluster,
    wait::{holds, until},
};

/// Namespace of a case.
pub(crate) struct Space {
    pub(crate) cluster: Arc<Cluster>,
    /// Name of the namespace.
    pub(crate) name: String,
    notes: Mutex<String>,
}

impl Space {
    /// Creates the namespace of a case, after deleting that of an earlier run.
    pub(crate) async fn open(cluster: &Arc<Cluster>, case: &str) -> Result<Self, Error> {
        let name = slug(case);
        clear(&cluster.client, &name).await?;
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        manifests::apply(&cluster.client, &namespace).await?;
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        until("the namespace has its service account", async || cluster.get(&account).await.map(drop))
            .await?;
        Ok(Self { cluster: Arc::clone(cluster), name, notes: Mutex::default() })
    }

    /// Deletes the namespace, without waiting.
    pub(crate) async fn close(self) {
        if !self.cluster.keep {
            // The next run clears what is left.
            let _ = self.cluster.delete(&format!("/api/v1/namespaces/{}", self.name)).await;
        }
    }

    /// Adds a measurement to the line of the case.
    pub(crate) fn note(&self, text: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string cannot fail.
        let _ = write!(notes, "; {text}");
    }

    pub(crate) fn notes(&self) -> String {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies an object to this namespace.
    pub(crate) async fn apply(&self, object: &Json) -> Result<(), Error> {
        let mut object = object.clone();
        object["metadata"]["namespace"] = self.name.as_str().into();
        manifests::apply(&self.cluster.client, &object).await
    }

    /// API path of a Workload.
    pub(crate) fn workload_path(&self, name: &str) -> String {
        format!("/apis/score.dev/v1b1/namespaces/{}/workloads/{name}", self.name)
    }

    /// API path in this namespace, such as of `apps/v1` and `deployments/x`.
    pub(crate) fn path(&self, group: &str, rest: &str) -> String {
        let prefix = if group == "v1" { "/api/v1".to_owned() } else { format!("/apis/{group}") };
        format!("{prefix}/namespaces/{}/{rest}", self.name)
    }

    pub(crate) async fn get(&self, group: &str, rest: &str) -> Result<Json, Error> {
        self.cluster.get(&self.path(group, rest)).await
    }

    pub(crate) async fn list(&self, group: &str, rest: &str) -> Result<Vec<Json>, Error> {
        self.cluster.list(&self.path(group, rest)).await
    }

    pub(crate) async fn workload(&self, name: &str) -> Result<Json, Error> {
        self.cluster.get(&self.workload_path(name)).await
    }

    /// Condition of a Workload, if it describes the current generation.
    pub(crate) async fn condition(&self, name: &str, type_: &str) -> Result<Json, Error> {
        let workload = self.workload(name).await?;
        let conditions = &workload["status"]["conditions"];
        let found = conditions.as_array().into_iter().flatten().find(|condition| condition["type"] == type_);
        let found = found.ok_or_else(|| format!("{name} has no {type_} in {conditions}"))?;
        holds(
            format!("{name}: {type_} is about an older generation"),
            found["observedGeneration"] == workload["metadata"]["generation"],
        )?;
        Ok(found.clone())
    }

    /// Waits until a condition has a status and a reason, and returns its message.
    pub(crate) async fn until(
        &self,
        name: &str,
        type_: &str,
        status: &str,
        reason: &str,
    ) -> Result<String, Error> {
        until(format!("{name}: {type_}={status}/{reason}"), async || {
            let found = self.condition(name, type_).await?;
            holds(format!("it is {found}"), found["status"] == status && found["reason"] == reason)?;
            Ok(found["message"].as_str().unwrap_or_default().to_owned())
        })
        .await
    }

    /// Waits until the current generation of a Workload is ready, and returns its status.
    pub(crate) async fn until_ready(&self, name: &str) -> Result<Json, Error> {
        self.until(name, "Ready", "True", "Succeeded").await?;
        Ok(self.workload(name).await?["status"].clone())
    }

    /// Applies a Workload, waits until it is ready, and returns its status.
    pub(crate) async fn run(&self, workload: &Json) -> Result<Json, Error> {
        self.apply(workload).await?;
        self.until_ready(workload["metadata"]["name"].as_str().unwrap_or_default()).await
    }

    /// Deletes a Workload and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), Error> {
        let path = self.workload_path(name);
        self.cluster.delete(&path).await?;
        until(format!("{name} is deleted"), async || {
            if self.cluster.is_absent(&path).await? {
                return Ok(());
            }
            Err(self.workload(name).await?["status"]["conditions"].to_string().into())
        })
        .await
    }

    /// Pods of a Workload that are not terminating.
    pub(crate) async fn pods(&self, workload: &str) -> Result<Vec<Json>, Error> {
        let pods = self.list("v1", &format!("pods?labelSelector=app%3D{workload}")).await?;
        Ok(pods.into_iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).collect())
    }

    /// The only pod of a Workload.
    pub(crate) async fn pod(&self, workload: &str) -> Result<Json, Error> {
        let mut pods = self.pods(workload).await?;
        match (pods.pop(), pods.len()) {
            (Some(pod), 0) => Ok(pod),
            (None, _) => Err(format!("{workload} has no pod").into()),
            (_, others) => Err(format!("{workload} has {} pods", others + 1).into()),
        }
    }

    /// Output of a command in a container of a Workload.
    pub(crate) async fn exec(&self, workload: &str, container: &str, command: &str) -> Result<String, Error> {
        let pod = self.pod(workload).await?;
        let pod = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let quoted = command.replace('\'', r"'\''");
        self.kubectl(&format!("exec {pod} -c {container} -- sh -c '{quoted}'")).await
    }

    /// Output of kubectl in this namespace.
    pub(crate) async fn kubectl(&self, arguments: &str) -> Result<String, Error> {
        self.cluster.run(&format!("kubectl -n {} {arguments}", self.name)).await
    }

    /// Response of a service of this namespace, through the proxy of the API server.
    pub(crate) async fn ask(&self, service: &str, path: &str) -> Result<String, Error> {
        let path = self.path("v1", &format!("services/{service}/proxy/{path}"));
        Ok(self.cluster.client.request_text(Request::get(path).body(Vec::new())?).await?)
    }

    /// Value of a key of a Secret.
    pub(crate) async fn secret(&self, name: &str, key: &str) -> Result<String, Error> {
        let secret: k8s_openapi::api::core::v1::Secret =
            serde_json::from_value(self.get("v1", &format!("secrets/{name}")).await?)?;
        let value = secret.data.unwrap_or_default().remove(key);
        Ok(String::from_utf8(value.ok_or_else(|| format!("{name} has no key {key}"))?.0)?)
    }

    /// State of the namespace, to diagnose a failing case.
    pub(crate) async fn dump(&self) -> String {
        let kinds = "workloads.score.dev,resourceclaims.score.dev,workloadplans.score.dev,deployments,statefulsets,jobs,pods,services,ingresses,persistentvolumeclaims";
        let mut dump = String::new();
        for command in [
            format!("get {kinds} -o wide"),
            "get workloads.score.dev,resourceclaims.score.dev -o jsonpath='{range .items[*]}{.kind}{\" \"}{.metadata.name}{\": \"}{.status}{\"\\n\"}{end}'".to_owned(),
            "get workloadplans.score.dev -o jsonpath='{range .items[*]}{.metadata.name}{\": \"}{.status}{\"\\n\"}{end}'".to_owned(),
            "get events --sort-by=.metadata.creationTimestamp -o custom-columns=KIND:.involvedObject.kind,NAME:.involvedObject.name,REASON:.reason,MESSAGE:.message".to_owned(),
        ] {
            let output = self.kubectl(&command).await.unwrap_or_else(|error| error.to_string());
            let lines: Vec<_> = output.lines().collect();
            for line in &lines[lines.len().saturating_sub(40)..] {
                let _ = writeln!(dump, "    {line}");
            }
        }
        dump
    }
}

/// Namespace name of a sentence.
fn slug(sentence: &str) -> String {
    let word =
        |word: &str| word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let words: Vec<_> = sentence.split_whitespace().map(word).filter(|word| !word.is_empty()).collect();
    let mut slug = format!("e2e-{}", words.join("-"));
    slug.truncate(50);
    slug.trim_end_matches('-').to_owned()
}
