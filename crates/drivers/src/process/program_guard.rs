//! Guard of the runtime: refuses what may not run, and notices when that changes.
//!
//! A refusal also forgets the folders that were recorded in the namespace: what others wrote there meanwhile runs only after an
//! author with the right has applied it again, even if the others have lost their access since.

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use orchestra_api::WorkloadPlan;

use super::OriginStore;
use crate::{NamespacedName, ProgramAccess};

/// Guard of the runtime. Clones share the answers.
#[derive(Clone)]
pub(super) struct ProgramGuard {
    access: Arc<dyn ProgramAccess>,
    origins: OriginStore,
    /// Last answer about each plan.
    answers: Arc<Mutex<BTreeMap<NamespacedName, Answer>>>,
}

/// Answer about a plan.
#[derive(Debug)]
struct Answer {
    refusal: Option<String>,
    /// Generation of the plan.
    generation: i64,
}

impl fmt::Debug for ProgramGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgramGuard")
    }
}

impl ProgramGuard {
    pub(super) fn new(access: Arc<dyn ProgramAccess>, origins: OriginStore) -> Self {
        Self { access, origins, answers: Arc::default() }
    }

    /// Refusal of a namespace.
    pub(super) fn refusal(&self, namespace: &str) -> Option<String> {
        let refusal = self.access.refusal(namespace);
        if refusal.is_some()
            && let Err(error) = self.origins.forget_namespace(namespace)
        {
            tracing::warn!(namespace, %error, "the folders of workloads could not be forgotten");
        }
        refusal
    }

    /// Refusal of a plan. A plan that exists is remembered, so that a change of the answer is noticed.
    pub(super) fn refusal_of(&self, plan: &WorkloadPlan) -> Option<String> {
        let namespace = plan.metadata.namespace.clone().unwrap_or_default();
        let refusal = self.refusal(&namespace);
        if let (Some(_), Some(name)) = (&plan.metadata.uid, &plan.metadata.name) {
            let generation = plan.metadata.generation.unwrap_or_default();
            let answer = Answer { refusal: refusal.clone(), generation };
            self.answers().insert((namespace, name.clone()), answer);
        }
        refusal
    }

    /// True unless the author applied the recorded origin for a later plan than the one that was asked about.
    pub(super) fn is_applied(&self, id: &NamespacedName) -> io::Result<bool> {
        let first = self.origins.find(&id.0, &id.1)?.and_then(|origin| origin.first_plan);
        let generation = self.answers().get(id).map_or(0, |answer| answer.generation);
        Ok(first.is_none_or(|first| first <= generation))
    }

    /// Forgets a plan.
    pub(super) fn forget(&self, id: &NamespacedName) {
        self.answers().remove(id);
    }

    /// Plans about which the answer changes from now on.
    pub(super) fn changes(&self) -> BoxStream<'static, NamespacedName> {
        let guard = self.clone();
        self.access.changes().flat_map(move |()| stream::iter(guard.changed())).boxed()
    }

    fn changed(&self) -> Vec<NamespacedName> {
        // Also of Workloads that have no plan yet.
        for namespace in self.origins.namespaces().unwrap_or_default() {
            self.refusal(&namespace);
        }
        let mut changed = Vec::new();
        for (id, answer) in self.answers().iter_mut() {
            let now = self.access.refusal(&id.0);
            if answer.refusal != now {
                answer.refusal = now;
                changed.push(id.clone());
            }
        }
        changed
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, BTreeMap<NamespacedName, Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use orchestra_api::plan::WorkloadPlanSpec;
    use tokio::sync::watch;

    use super::*;
    use crate::{WorkloadOrigin, WorkloadOrigins as _};

    /// Namespaces that others can write.
    struct Shared(watch::Sender<Vec<&'static str>>);

    impl ProgramAccess for Shared {
        fn refusal(&self, namespace: &str) -> Option<String> {
            self.0.borrow().contains(&namespace).then(|| "Bob can write here.".to_owned())
        }

        fn changes(&self) -> BoxStream<'static, ()> {
            stream::unfold(self.0.subscribe(), async |mut changes| {
                Some((changes.changed().await.ok()?, changes))
            })
            .boxed()
        }
    }

    fn plan(uid: Option<&str>) -> WorkloadPlan {
        let mut plan = WorkloadPlan::new("web", WorkloadPlanSpec::default());
        plan.metadata.namespace = Some("shop".to_owned());
        plan.metadata.uid = uid.map(ToOwned::to_owned);
        plan
    }

    #[tokio::test]
    async fn a_changed_answer_notifies_and_a_refusal_forgets_the_folders_of_the_namespace() {
        let data = tempfile::tempdir().unwrap();
        let origins = OriginStore::open(data.path());
        let origin = WorkloadOrigin { folder: "/here".into(), ..WorkloadOrigin::default() };
        for namespace in ["shop", "other"] {
            origins.record(namespace, "web", origin.clone()).unwrap();
        }
        let access = Arc::new(Shared(watch::channel(vec![]).0));
        let guard = ProgramGuard::new(access.clone(), origins.clone());
        let mut changes = guard.changes();
        assert_eq!(guard.refusal_of(&plan(Some("1"))), None);
        access.0.send_replace(vec!["shop"]);
        let web = ("shop".to_owned(), "web".to_owned());
        assert_eq!(changes.next().await, Some(web.clone()));
        assert!(guard.refusal_of(&plan(Some("1"))).is_some());
        assert_eq!(origins.find("shop", "web").unwrap(), None);
        assert!(origins.find("other", "web").unwrap().is_some());
        access.0.send_replace(vec![]);
        assert_eq!(changes.next().await, Some(web), "it is asked again");
        access.0.send_replace(vec!["other"]);
        assert_eq!(changes.next().now_or_never(), None, "the answer about it is the same");
        assert_eq!(origins.find("other", "web").unwrap(), None, "also without a plan");
    }

    #[test]
    fn a_plan_that_is_older_than_what_the_author_applied_does_not_run() {
        let data = tempfile::tempdir().unwrap();
        let origins = OriginStore::open(data.path());
        let guard = ProgramGuard::new(Arc::new(Shared(watch::channel(vec![]).0)), origins.clone());
        let web = ("shop".to_owned(), "web".to_owned());
        let mut plan = plan(Some("1"));
        plan.metadata.generation = Some(4);
        guard.refusal_of(&plan);
        for (first_plan, is_applied) in [(None, true), (Some(4), true), (Some(5), false)] {
            let origin = WorkloadOrigin { folder: "/here".into(), first_plan, ..WorkloadOrigin::default() };
            origins.record("shop", "web", origin).unwrap();
            assert_eq!(guard.is_applied(&web).unwrap(), is_applied, "{first_plan:?}");
            assert_eq!(origins.is_recorded("shop", "web").unwrap(), first_plan.is_none());
        }
    }

    #[tokio::test]
    async fn previews_of_plans_that_do_not_exist_are_not_remembered() {
        let data = tempfile::tempdir().unwrap();
        let access = Arc::new(Shared(watch::channel(vec![]).0));
        let guard = ProgramGuard::new(access, OriginStore::open(data.path()));
        assert_eq!(guard.refusal_of(&plan(None)), None);
        assert!(guard.answers().is_empty());
    }
}
