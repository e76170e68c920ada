//! A namespace of one case, as its developer sees it, with a look behind the scenes.

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

/// The namespace of a case.
pub(crate) struct Space {
    pub(crate) cluster: Arc<Cluster>,
    /// The name of the namespace.
    pub(crate) name: String,
    notes: Mutex<String>,
}

impl Space {
    /// Makes the namespace of a case anew.
    pub(crate) async fn open(cluster: &Arc<Cluster>, case: &str) -> Result<Self, Error> {
        let name = slug(case);
        clear(&cluster.client, &name).await?;
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        manifests::apply(&cluster.client, &namespace).await?;
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        until("the namespace gets its account", async || cluster.get(&account).await.map(drop)).await?;
        Ok(Self { cluster: Arc::clone(cluster), name, notes: Mutex::default() })
    }

    /// Removes the namespace, without waiting for the end of it.
    pub(crate) async fn close(self) {
        if !self.cluster.keep {
            // What a failed case leaves is cleared by the next run.
            let _ = self.cluster.delete(&format!("/api/v1/namespaces/{}", self.name)).await;
        }
    }

    /// Something measured, to be printed on the line of the case.
    pub(crate) fn note(&self, text: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a text does not fail.
        let _ = write!(notes, "; {text}");
    }

    pub(crate) fn notes(&self) -> String {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies a Workload, or whatever else, to this namespace as a developer's tool does.
    pub(crate) async fn apply(&self, object: &Json) -> Result<(), Error> {
        let mut object = object.clone();
        object["metadata"]["namespace"] = self.name.as_str().into();
        manifests::apply(&self.cluster.client, &object).await
    }

    /// The path of a Workload.
    pub(crate) fn workload_path(&self, name: &str) -> String {
        format!("/apis/score.dev/v1b1/namespaces/{}/workloads/{name}", self.name)
    }

    /// The path of what lies below an API group in this namespace, such as `apps/v1`, `deployments/x`.
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

    /// A condition of a Workload, if it is about the spec as it is now.
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

    /// Waits until a condition has a status and a reason; its message.
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

    /// Waits until a Workload is ready as it is now; its status.
    pub(crate) async fn until_ready(&self, name: &str) -> Result<Json, Error> {
        self.until(name, "Ready", "True", "Succeeded").await?;
        Ok(self.workload(name).await?["status"].clone())
    }

    /// Applies a Workload and waits until it is ready; its status.
    pub(crate) async fn run(&self, workload: &Json) -> Result<Json, Error> {
        self.apply(workload).await?;
        self.until_ready(workload["metadata"]["name"].as_str().unwrap_or_default()).await
    }

    /// Deletes a Workload and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), Error> {
        let path = self.workload_path(name);
        self.cluster.delete(&path).await?;
        until(format!("{name} goes"), async || {
            if self.cluster.is_absent(&path).await? {
                return Ok(());
            }
            Err(self.workload(name).await?["status"]["conditions"].to_string().into())
        })
        .await
    }

    /// What runs for a Workload and is not about to end.
    pub(crate) async fn pods(&self, workload: &str) -> Result<Vec<Json>, Error> {
        let pods = self.list("v1", &format!("pods?labelSelector=app%3D{workload}")).await?;
        Ok(pods.into_iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).collect())
    }

    /// The only one that runs for a Workload.
    pub(crate) async fn pod(&self, workload: &str) -> Result<Json, Error> {
        let mut pods = self.pods(workload).await?;
        match (pods.pop(), pods.len()) {
            (Some(pod), 0) => Ok(pod),
            (_, others) => Err(format!("{workload} runs {} times", others + 1).into()),
        }
    }

    /// What a command prints inside a container of a Workload.
    pub(crate) async fn exec(&self, workload: &str, container: &str, command: &str) -> Result<String, Error> {
        let pod = self.pod(workload).await?;
        let pod = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let quoted = command.replace('\'', r"'\''");
        self.kubectl(&format!("exec {pod} -c {container} -- sh -c '{quoted}'")).await
    }

    /// What kubectl prints in this namespace.
    pub(crate) async fn kubectl(&self, arguments: &str) -> Result<String, Error> {
        self.cluster.run(&format!("kubectl -n {} {arguments}", self.name)).await
    }

    /// What a service of this namespace answers, asked through the API server.
    pub(crate) async fn ask(&self, service: &str, path: &str) -> Result<String, Error> {
        let path = self.path("v1", &format!("services/{service}/proxy/{path}"));
        Ok(self.cluster.client.request_text(Request::get(path).body(Vec::new())?).await?)
    }

    /// The text of a key of a Secret.
    pub(crate) async fn secret(&self, name: &str, key: &str) -> Result<String, Error> {
        let secret: k8s_openapi::api::core::v1::Secret =
            serde_json::from_value(self.get("v1", &format!("secrets/{name}")).await?)?;
        let value = secret.data.unwrap_or_default().remove(key);
        Ok(String::from_utf8(value.ok_or_else(|| format!("{name} has no key {key}"))?.0)?)
    }

    /// What somebody looks at who wants to know why a case has failed.
    pub(crate) async fn look(&self) -> String {
        let kinds = "workloads.score.dev,resourceclaims.score.dev,workloadplans.score.dev,deployments,statefulsets,jobs,pods,services,ingresses,persistentvolumeclaims";
        let mut looked = String::new();
        for command in [
            format!("get {kinds} -o wide"),
            "get workloads.score.dev,resourceclaims.score.dev -o jsonpath='{range .items[*]}{.kind}{\" \"}{.metadata.name}{\": \"}{.status}{\"\\n\"}{end}'".to_owned(),
            "get workloadplans.score.dev -o jsonpath='{range .items[*]}{.metadata.name}{\": \"}{.status}{\"\\n\"}{end}'".to_owned(),
            "get events --sort-by=.metadata.creationTimestamp -o custom-columns=KIND:.involvedObject.kind,NAME:.involvedObject.name,REASON:.reason,MESSAGE:.message".to_owned(),
        ] {
            let said = self.kubectl(&command).await.unwrap_or_else(|error| error.to_string());
            let lines: Vec<_> = said.lines().collect();
            for line in &lines[lines.len().saturating_sub(40)..] {
                let _ = writeln!(looked, "    {line}");
            }
        }
        looked
    }
}

/// A name of a namespace that follows from a sentence.
fn slug(sentence: &str) -> String {
    let word =
        |word: &str| word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let words: Vec<_> = sentence.split_whitespace().map(word).filter(|word| !word.is_empty()).collect();
    let mut slug = format!("e2e-{}", words.join("-"));
    slug.truncate(50);
    slug.trim_end_matches('-').to_owned()
}
