//! Steps of the tutorial and their checks.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt, api::ListParams};
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use orchestra_testkit::scripted::{ProvisionScript, ScriptedProvisioner, ScriptedRuntime};
use serde_json::Value as Json;

use super::{CANARY, NAMESPACE, shell::Shell};
use crate::platform::{Access, Error, eventually};

/// Users and environment of the tutorial.
pub(super) struct Walk<'a> {
    pub(super) developer: Shell,
    pub(super) engineer: Shell,
    pub(super) admin: Shell,
    pub(super) access: &'a Access,
    pub(super) runtime: ScriptedRuntime,
    pub(super) provisioner: ScriptedProvisioner,
}

/// Audit policy, so that the policy controller has work.
const POLICY: &str = r#"{"apiVersion":"score.dev/v1b1","kind":"PlatformPolicy","metadata":{"name":"tutorial"},"spec":{"mode":"Audit"}}"#;
const PATCH: &str = r#"kubectl patch workload node-postgres-app --type='merge' -p='{"spec":{"containers":{"app":{"variables":{"NEW_VAR":"updated_value"}}}}}'"#;

impl Walk<'_> {
    pub(super) async fn all(&self) -> Result<(), Error> {
        self.installation()?;
        self.hello()?;
        self.dependency().await?;
        self.update().await?;
        if self.access.is_controlled() {
            self.boundaries()?;
        }
        self.cleanup().await
    }

    fn installation(&self) -> Result<(), Error> {
        let kinds = self.admin.run("kubectl get crds | grep score.dev")?;
        for kind in ["resourceclaims", "workloadexposures", "workloadplans", "workloads"] {
            expect(&kinds, &format!("{kind}.score.dev"))?;
        }
        let output = self.engineer.run(&format!("echo '{POLICY}' | kubectl apply -f -"))?;
        expect(&output, "platformpolicy.score.dev/tutorial")
    }

    fn hello(&self) -> Result<(), Error> {
        let output = self.developer.run("kubectl apply -f docs/examples/hello/workload.yaml")?;
        expect(&output, "workload.score.dev/hello-web created")?;
        let lines = self.until_ready("hello-web")?;
        row(&lines, 0, &["NAME", "READY", "REASON", "ENDPOINT", "AGE"])?;
        let endpoint = format!("http://hello-web.{NAMESPACE}.example.test");
        row(&lines, lines.len() - 1, &["hello-web", "True", "Succeeded", &endpoint])?;
        let described = self.developer.run("kubectl describe workload hello-web")?;
        for part in ["InputsValid", "ClaimsReady", "RuntimeReady", "Ready.", &endpoint] {
            expect(&described, part)?;
        }
        let plan = self.engineer.run("kubectl get workloadplan hello-web -o yaml")?;
        expect(&plan, "runtimeClass: scripted")?;
        expect(&plan, "Hello from hello-web")
    }

    async fn dependency(&self) -> Result<(), Error> {
        let output = self.developer.run("kubectl apply -f docs/examples/node-postgres/workload.yaml")?;
        expect(&output, "workload.score.dev/node-postgres-app created")?;
        // The provisioner has not finished yet.
        let lines = self.developer.watch("kubectl get workloads.score.dev -w", |line| {
            line.starts_with("node-postgres-app ") && line.contains("BindingPending")
        })?;
        row(&lines, lines.len() - 1, &["node-postgres-app", "False", "BindingPending"])?;
        let claims = eventually("the claim is being bound", async || {
            let claims = self.engineer.run("kubectl get resourceclaim.score.dev")?;
            expect(&claims, "Binding")?;
            Ok(claims)
        });
        let claims: Vec<String> = claims.await?.lines().map(ToOwned::to_owned).collect();
        row(&claims, 0, &["NAME", "PHASE", "TYPE", "WORKLOAD", "KEY", "AGE"])?;
        let name =
            claims.get(1).and_then(|line| line.split_whitespace().next()).unwrap_or_default().to_owned();
        row(&claims, 1, &[&name, "Binding", "postgres", "node-postgres-app", "db"])?;
        let waiting = self.workload("node-postgres-app")?;
        condition(&waiting, "ClaimsReady", "False", "BindingPending")?;
        condition(&waiting, "RuntimeReady", "False", "ProjectionError")?;
        self.engineer.fails("kubectl get workloadplan node-postgres-app")?;

        self.provisioner.script("postgres", ProvisionScript::Bind);
        self.until_ready("node-postgres-app")?;
        let ready = self.workload("node-postgres-app")?;
        condition(&ready, "ClaimsReady", "True", "Succeeded")?;
        let line = &ready["status"]["claims"][0];
        if (&line["key"], &line["phase"], &line["outputsAvailable"])
            != (&"db".into(), &"Bound".into(), &true.into())
        {
            return Err(format!("unexpected status of the dependency: {line}").into());
        }
        let described = self.engineer.run(&format!("kubectl describe resourceclaim.score.dev {name}"))?;
        expect(&described, "Bound")?;
        let plan = self.engineer.run("kubectl get workloadplan node-postgres-app -o yaml")?;
        expect(&plan, "DB_HOST")?;
        for text in [&described, &plan, &ready.to_string()] {
            if text.contains(CANARY) {
                return Err("a secret value is visible".into());
            }
        }
        let url = self.variable("app/DATABASE_URL")?;
        expect(&url, &format!(":{CANARY}@postgres.example.test:5432/"))
    }

    async fn update(&self) -> Result<(), Error> {
        expect(&self.developer.run(PATCH)?, "workload.score.dev/node-postgres-app patched")?;
        eventually("the change runs", async || expect(&self.variable("app/NEW_VAR")?, "updated_value"))
            .await?;
        self.until_ready("node-postgres-app")?;
        eventually("it is ready again", async || {
            let workload = self.workload("node-postgres-app")?;
            if workload["status"]["observedGeneration"] != 2 {
                return Err("the status describes an older generation".into());
            }
            condition(&workload, "Ready", "True", "Succeeded")
        })
        .await
    }

    /// Boundaries of the roles: a developer sees workloads, but no platform objects.
    fn boundaries(&self) -> Result<(), Error> {
        let seen = self.developer.run("kubectl get score")?;
        expect(&seen, "hello-web")?;
        expect(&seen, "node-postgres-app")?;
        for hidden in [
            "kubectl get resourceclaim.score.dev",
            "kubectl get workloadplan",
            "kubectl get workloadexposure",
            "kubectl get platformpolicy",
            "kubectl get score-platform",
            "kubectl get secrets",
            "kubectl get configmaps -n score-system",
            "kubectl get workload -n default",
            r#"kubectl patch workload hello-web --subresource=status --type=merge -p '{"status":{"endpoint":"http://x"}}'"#,
        ] {
            expect(&self.developer.fails(hidden)?, "Forbidden")?;
        }
        for forbidden in [
            "kubectl delete workload hello-web",
            "kubectl get secrets",
            "kubectl delete resourceclaim.score.dev --all",
            "kubectl get configmap -n score-system orchestrator-config-in-force",
        ] {
            expect(&self.engineer.fails(forbidden)?, "Forbidden")?;
        }
        let document =
            self.engineer.run("kubectl get configmap -n score-system orchestrator-config -o yaml")?;
        expect(&document, "runtimeClass: scripted")
    }

    async fn cleanup(&self) -> Result<(), Error> {
        // kubectl waits for the deletion, which the finalizer delays until everything else is deleted.
        let output = self.developer.run("kubectl delete workload hello-web node-postgres-app")?;
        expect(&output, r#"workload.score.dev "node-postgres-app" deleted"#)?;
        expect(&self.engineer.run("kubectl get resourceclaim.score.dev")?, "No resources found")?;
        self.engineer.run("kubectl delete platformpolicy tutorial")?;
        let left = self.left().await?;
        if left.is_empty() { Ok(()) } else { Err(format!("left behind: {}", left.join(", ")).into()) }
    }

    async fn left(&self) -> Result<Vec<String>, Error> {
        let mut left = Vec::new();
        let all = ListParams::default();
        let admin = || self.access.admin.clone();
        left.extend(
            Api::<Workload>::namespaced(admin(), NAMESPACE)
                .list(&all)
                .await?
                .iter()
                .map(ResourceExt::name_any),
        );
        left.extend(
            Api::<ResourceClaim>::namespaced(admin(), NAMESPACE)
                .list(&all)
                .await?
                .iter()
                .map(ResourceExt::name_any),
        );
        left.extend(
            Api::<WorkloadPlan>::namespaced(admin(), NAMESPACE)
                .list(&all)
                .await?
                .iter()
                .map(ResourceExt::name_any),
        );
        left.extend(
            Api::<WorkloadExposure>::namespaced(admin(), NAMESPACE)
                .list(&all)
                .await?
                .iter()
                .map(ResourceExt::name_any),
        );
        left.extend(
            Api::<Secret>::namespaced(admin(), NAMESPACE).list(&all).await?.iter().map(ResourceExt::name_any),
        );
        left.extend(self.runtime.all().into_keys().map(|(_, name)| format!("running {name}")));
        left.extend(self.provisioner.instances().into_keys().map(|(_, id)| format!("instance {id}")));
        Ok(left)
    }

    fn until_ready(&self, name: &str) -> Result<Vec<String>, Error> {
        // Watch all: kubectl drops the first change when it watches a single object.
        let is_ready = |line: &str| line.starts_with(&format!("{name} ")) && line.contains(" True ");
        self.developer.watch("kubectl get workloads.score.dev -w", is_ready)
    }

    fn workload(&self, name: &str) -> Result<Json, Error> {
        Ok(serde_json::from_str(&self.developer.run(&format!("kubectl get workload {name} -o json"))?)?)
    }

    fn variable(&self, name: &str) -> Result<String, Error> {
        let running =
            self.runtime.running(NAMESPACE, "node-postgres-app").ok_or("the workload does not run")?;
        Ok(running
            .variables
            .get(name)
            .cloned()
            .ok_or_else(|| format!("the workload has no variable `{name}`"))?)
    }
}

fn expect(text: &str, part: &str) -> Result<(), Error> {
    if text.contains(part) { Ok(()) } else { Err(format!("`{part}` is missing in:\n{text}").into()) }
}

fn row(lines: &[String], at: usize, cells: &[&str]) -> Result<(), Error> {
    let found: Vec<_> =
        lines.get(at).map(|line| line.split_whitespace().take(cells.len()).collect()).unwrap_or_default();
    if found == cells { Ok(()) } else { Err(format!("expected {cells:?} in:\n{}", lines.join("\n")).into()) }
}

fn condition(workload: &Json, type_: &str, status: &str, reason: &str) -> Result<(), Error> {
    let conditions = &workload["status"]["conditions"];
    let found = conditions.as_array().into_iter().flatten().find(|condition| condition["type"] == type_);
    match found {
        Some(found) if found["status"] == status && found["reason"] == reason => Ok(()),
        _ => Err(format!("{type_} is not {status}/{reason} in {conditions}").into()),
    }
}
