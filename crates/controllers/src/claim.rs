//! The claim controller: provides what claims ask for, instance by instance, with the engines that there are.
//!
//! It decides over all claims of an instance at once ([`orchestra_core::provision`]), and alone writes the status of
//! claims that one of our engines provides. Claims with the engine `external` are left to others.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use kube::ResourceExt;
use orchestra_api::{
    ResourceClaim, annotation, claim::ResourceClaimStatus, condition::Reason, finalizer, label,
};
use orchestra_core::provision::{self, Inputs, Instance, Provision, Release, Work};
use orchestra_drivers::{DriverError, Neighbourhood, Provisioner, Released};
use serde_json::json;

use crate::{
    deadline::in_time,
    key::Key,
    neighbourhood::Surrounding,
    secrets::NamespaceSecrets,
    work::{Failure, Next, Reconcile},
    world::{World, by_instance},
    write::Writer,
};

/// How soon something is looked at again of which no engine will tell.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// How soon the Secrets behind a thing that is bound are looked at again: they are not watched, and may be rotated.
const LOOK_AT_SECRETS: Duration = Duration::from_mins(5);

/// The claim controller.
pub struct ClaimController {
    world: World,
    writer: Writer,
    secrets: NamespaceSecrets,
    engines: BTreeMap<String, Arc<dyn Provisioner>>,
}

impl fmt::Debug for ClaimController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimController").field("engines", &self.engines.keys()).finish_non_exhaustive()
    }
}

impl ClaimController {
    /// A controller of this world with these engines.
    pub fn new(
        world: World,
        writer: Writer,
        secrets: NamespaceSecrets,
        engines: impl IntoIterator<Item = Arc<dyn Provisioner>>,
    ) -> Self {
        let engines = engines.into_iter().map(|engine| (engine.engine().to_owned(), engine)).collect();
        Self { world, writer, secrets, engines }
    }

    /// The key of the instance behind a claim.
    pub fn key(claim: &ResourceClaim) -> Option<Key> {
        let instance = claim.labels().get(label::INSTANCE)?;
        Some(Key::new(&claim.namespace().unwrap_or_default(), instance))
    }

    fn inputs(&self, key: &Key) -> Inputs {
        let claims = self.world.claims.indexed(&by_instance(&key.namespace, &key.name));
        let used = claims.iter().filter(|claim| self.is_used(claim)).map(ResourceExt::name_any);
        Inputs {
            namespace: key.namespace.clone(),
            instance: key.name.clone(),
            in_use: used.collect(),
            config: self.world.settings.config(),
            engines: self.engines.iter().map(|(name, engine)| (name.clone(), engine.traits())).collect(),
            claims,
        }
    }

    /// Whether something that runs may be using a claim.
    fn is_used(&self, claim: &ResourceClaim) -> bool {
        let namespace = claim.namespace().unwrap_or_default();
        let plan = self.world.plans.get(&namespace, &claim.spec.workload_ref.name);
        plan.is_some_and(|plan| provision::is_in_use(claim, &plan))
    }

    fn neighbourhood(&self, namespace: &str, type_: &str, instance: &str) -> impl Neighbourhood + use<> {
        Surrounding::new(&self.secrets, &self.world.workloads, namespace, type_, instance)
    }

    async fn ensure(&self, inputs: &Inputs, instance: &Instance) -> Result<Next, Failure> {
        let Some(engine) = self.engines.get(&instance.entry.engine) else { return Ok(Next::AwaitChange) };
        let around = self.neighbourhood(&instance.namespace, &instance.type_, &instance.id);
        let (answer, failure) = match in_time(engine.ensure(instance, &around)).await {
            Ok(answer) => (answer, None),
            Err(DriverError::Refused { reason, message }) => (Provision::Failed(reason, message), None),
            Err(DriverError::Transient { reason, message }) => {
                (Provision::Hindered(reason, message.clone()), Some(Failure::Transient(message)))
            }
        };
        for claim in inputs.claims.iter().filter(|claim| instance.claims.contains(&claim.name_any())) {
            // What is bound stays so while its engine cannot be asked: it is tried again.
            if failure.is_some() && provision::is_served(claim) {
                continue;
            }
            let status = provision::report(claim, &answer, instance.warning.as_deref());
            self.say(claim, &status).await?;
        }
        match (failure, answer) {
            (Some(failure), _) => Err(failure),
            (None, Provision::Bound(bound)) if !bound.versions.is_empty() => Ok(Next::After(LOOK_AT_SECRETS)),
            (None, Provision::Bound(_) | Provision::Failed(..)) => Ok(Next::AwaitChange),
            (None, Provision::Pending(_) | Provision::Binding(_) | Provision::Hindered(..)) => {
                Ok(Next::After(LOOK_AGAIN))
            }
        }
    }

    async fn release(&self, inputs: &Inputs, release: &Release) -> Result<Next, Failure> {
        let claims = inputs.claims.iter().filter(|claim| release.claims.contains(&claim.name_any()));
        // First it is noted that there is no way back.
        for claim in claims.clone() {
            let noted = json!({annotation::ENGINE: release.engine, annotation::RELEASING: "true"});
            if !claim.annotations().contains_key(annotation::RELEASING) {
                self.writer.hold(&self.world.claims, claim, finalizer::PROVISIONER, &noted).await?;
            }
        }
        let around = self.neighbourhood(&release.namespace, &release.type_, &release.id);
        let answer = match self.engines.get(&release.engine) {
            Some(engine) => in_time(engine.release(release, &around)).await,
            None => Ok(Released::Waiting(format!(
                "The engine `{}`, which made it, is not at hand: the platform team has to bring it back, or remove the finalizer `{}` from this claim.",
                release.engine,
                finalizer::PROVISIONER
            ))),
        };
        let (message, failure) = match answer {
            Ok(Released::Done) => {
                for claim in claims {
                    self.let_go(claim).await?;
                }
                return Ok(Next::AwaitChange);
            }
            Ok(Released::Waiting(message)) => (message, None),
            Err(DriverError::Transient { message, .. } | DriverError::Refused { message, .. }) => {
                (message.clone(), Some(Failure::Transient(message)))
            }
        };
        for claim in claims {
            let before = claim.status.clone().unwrap_or_default();
            let reason = Some(Reason::BindingPending);
            let status = ResourceClaimStatus { reason, message: Some(message.clone()), ..before };
            self.say(claim, &status).await?;
        }
        failure.map_or(Ok(Next::After(LOOK_AGAIN)), Err)
    }

    async fn say(&self, claim: &ResourceClaim, status: &ResourceClaimStatus) -> Result<(), Failure> {
        if claim.status.as_ref() == Some(status) {
            return Ok(());
        }
        self.writer.status(&self.world.claims, claim, status).await.map(drop)
    }

    async fn let_go(&self, claim: &ResourceClaim) -> Result<(), Failure> {
        self.writer.let_go(&self.world.claims, claim).await
    }
}

impl Reconcile for ClaimController {
    type Key = Key;

    const NAME: &'static str = "claim";

    fn namespace(key: &Key) -> &str {
        &key.namespace
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let inputs = self.inputs(key);
        let provision::Decision { take, statuses, work, let_go, external: _ } = provision::decide(&inputs);
        for claim in &inputs.claims {
            let name = claim.name_any();
            if let Some(status) = statuses.get(&name) {
                self.say(claim, status).await?;
            }
            if let Some(engine) = take.get(&name) {
                let noted = json!({annotation::ENGINE: engine});
                self.writer.hold(&self.world.claims, claim, finalizer::PROVISIONER, &noted).await?;
            }
        }
        // Only once those that stay are in our charge: somebody has to take the instance down one day.
        for claim in inputs.claims.iter().filter(|claim| let_go.contains(&claim.name_any())) {
            self.let_go(claim).await?;
        }
        match &work {
            None => Ok(Next::AwaitChange),
            Some(Work::Ensure(instance)) => self.ensure(&inputs, instance).await,
            Some(Work::Release(release)) => self.release(&inputs, release).await,
        }
    }
}
