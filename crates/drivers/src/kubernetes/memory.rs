//! What is known of the cluster: of each Workload its objects and its copies, each in a few words.
//!
//! Watches fill it, and so do the answers to our own writes, so that what was written is read from then on. An event
//! that is older than what is known is not taken in.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use orchestra_core::{
    observe::{
        kubernetes::{Cause, Check, Crash, Maker, Pod, Progress, Rollout, SETTLING},
        owned::Mark,
    },
    render::kubernetes::exposure::RouteFact,
};

use super::{
    held::{Facts, Held, Passing},
    kind::Kind,
};

/// The namespace and the name of a Workload.
pub(super) type Id = (String, String);

/// What is known of the cluster. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    workloads: HashMap<Id, Entry>,
    /// The routes of claims, by namespace and instance.
    routes: HashMap<Id, Vec<Noted<Held>>>,
    /// Who publishes the routes of claims.
    publishers: HashMap<Id, BTreeSet<Id>>,
    /// How often each kind was listed anew.
    rounds: HashMap<Kind, u32>,
}

/// What is known of a Workload.
#[derive(Debug, Default)]
struct Entry {
    objects: Vec<Noted<Held>>,
    pods: Vec<Noted<Pod>>,
    /// What was wanted of an object and what the cluster made of it, where it is not the same.
    agreed: Vec<(Kind, Box<str>, Mark, Mark)>,
    /// What its plan was rendered to last.
    rendered: Option<Arc<Rendered>>,
    was_published: bool,
    /// Whether it waits for something of others to go away.
    is_refused: bool,
}

/// What a revision of a plan is rendered to, in a few words.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) revision: Box<str>,
    /// Each object by kind and name, with the mark of what is wanted of it.
    pub(super) objects: Box<[(Kind, Box<str>, Mark)]>,
}

#[derive(Debug)]
struct Noted<T> {
    what: T,
    version: u64,
    round: u32,
}

/// Something that does not run, and nobody knows why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Puzzle {
    pub(super) id: Id,
    pub(super) uid: Box<str>,
}

/// What is known of a Workload, for whoever observes it.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) objects: Vec<Held>,
    pub(super) pods: Vec<Pod>,
    pub(super) was_published: bool,
}

impl Memory {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an object as it passes by. Answers with those about whom that is news.
    pub(super) fn take_in(&self, kind: Kind, passing: &Passing) -> Vec<Id> {
        let mut known = self.known();
        let round = known.rounds.get(&kind).copied().unwrap_or_default();
        if let Some(instance) = &passing.instance {
            // What else was made for a claim is not of the runtime.
            if !matches!(kind, Kind::Ingress | Kind::HttpRoute) {
                return Vec::new();
            }
            let at = (passing.namespace.clone(), instance.clone());
            let held = passing.held(kind);
            let routes = known.routes.entry(at.clone()).or_default();
            let is_news =
                note(routes, held, passing.version, round, |a, b| a.kind == b.kind && a.name == b.name);
            return if is_news { known.publishers_of(&at) } else { Vec::new() };
        }
        let Some(workload) = &passing.workload else { return Vec::new() };
        let id = (passing.namespace.clone(), workload.clone());
        let entry = known.workloads.entry(id.clone()).or_default();
        let is_news = if kind == Kind::Pod {
            let pod = Pod::read(&passing.json["metadata"], &passing.json);
            let pod = entry.with_memories(pod);
            note(&mut entry.pods, pod, passing.version, round, |a, b| a.uid == b.uid)
        } else {
            let mut held = passing.held(kind);
            held.told = entry.told_of(&held);
            note(&mut entry.objects, held, passing.version, round, |a, b| {
                a.kind == b.kind && a.name == b.name
            })
        };
        if is_news { vec![id] } else { Vec::new() }
    }

    /// Takes notice of the version of an object whose contents do not pass by. What is remembered of an older version is
    /// forgotten. Answers with those about whom that is news.
    pub(super) fn notice(&self, kind: Kind, passing: &Passing) -> Vec<Id> {
        let Some(workload) = &passing.workload else { return Vec::new() };
        let id = (passing.namespace.clone(), workload.clone());
        let mut known = self.known();
        let round = known.rounds.get(&kind).copied().unwrap_or_default();
        let objects = known.workloads.get_mut(&id).into_iter().flat_map(|entry| &mut entry.objects);
        let mut noted = objects.filter(|noted| noted.what.kind == kind && &*noted.what.uid == passing.uid());
        let Some(noted) = noted.next() else { return Vec::new() };
        noted.round = round;
        if passing.version <= noted.version {
            return Vec::new();
        }
        known.drop_from(&id, kind, passing.uid());
        vec![id]
    }

    /// Takes in that an object is gone.
    pub(super) fn gone(&self, kind: Kind, passing: &Passing) -> Vec<Id> {
        let mut known = self.known();
        let uid = passing.uid();
        if let Some(instance) = &passing.instance {
            let at = (passing.namespace.clone(), instance.clone());
            if let Some(routes) = known.routes.get_mut(&at) {
                routes.retain(|route| &*route.what.uid != uid);
            }
            return known.publishers_of(&at);
        }
        let Some(workload) = &passing.workload else { return Vec::new() };
        let id = (passing.namespace.clone(), workload.clone());
        known.drop_from(&id, kind, uid);
        vec![id]
    }

    /// Takes note that our own delete was final.
    pub(super) fn deleted(&self, id: &Id, held: &Held) {
        self.known().drop_from(id, held.kind, &held.uid);
    }

    /// A kind is listed anew.
    pub(super) fn begin(&self, kind: Kind) {
        *self.known().rounds.entry(kind).or_default() += 1;
    }

    /// A kind has been listed: what was not in the list is gone.
    pub(super) fn end(&self, kind: Kind) -> Vec<Id> {
        let mut known = self.known();
        let round = known.rounds.get(&kind).copied().unwrap_or_default();
        let mut news = Vec::new();
        for (id, entry) in &mut known.workloads {
            let before = entry.objects.len() + entry.pods.len();
            if kind == Kind::Pod {
                entry.pods.retain(|pod| pod.round == round);
            }
            entry.objects.retain(|object| object.what.kind != kind || object.round == round);
            if entry.objects.len() + entry.pods.len() != before {
                news.push(id.clone());
            }
        }
        for routes in known.routes.values_mut() {
            routes.retain(|route| route.what.kind != kind || route.round == round);
        }
        known.routes.retain(|_, routes| !routes.is_empty());
        known.workloads.retain(|_, entry| !entry.is_empty());
        news
    }

    /// An object that was made for a Workload.
    pub(super) fn held(&self, id: &Id, kind: Kind, name: &str) -> Option<Held> {
        let known = self.known();
        let objects = &known.workloads.get(id)?.objects;
        objects
            .iter()
            .find(|held| held.what.kind == kind && &*held.what.name == name)
            .map(|held| held.what.clone())
    }

    /// Whether an object is as the cluster last made of what is wanted.
    pub(super) fn is_agreed(&self, id: &Id, held: &Held, wanted: Mark) -> bool {
        let known = self.known();
        let agreed = known.workloads.get(id).into_iter().flat_map(|entry| &entry.agreed);
        let mut agreed = agreed.filter(|(kind, name, ..)| *kind == held.kind && *name == held.name);
        agreed.any(|(.., asked, got)| *asked == wanted && Some(*got) == held.mark)
    }

    /// Notes what the cluster made of what was wanted, where it is not the same.
    pub(super) fn agree(&self, id: &Id, held: &Held, wanted: Mark) {
        let mut known = self.known();
        let entry = known.workloads.entry(id.clone()).or_default();
        entry.agreed.retain(|(kind, name, ..)| *kind != held.kind || *name != held.name);
        if let Some(got) = held.mark.filter(|got| *got != wanted) {
            entry.agreed.push((held.kind, held.name.clone(), wanted, got));
        }
    }

    /// What this revision is rendered to, if it was rendered before.
    pub(super) fn rendered(&self, id: &Id, revision: &str) -> Option<Arc<Rendered>> {
        let known = self.known();
        known.workloads.get(id)?.rendered.clone().filter(|rendered| *rendered.revision == *revision)
    }

    /// Notes what a plan is rendered to.
    pub(super) fn render(&self, id: &Id, rendered: Rendered) {
        self.known().workloads.entry(id.clone()).or_default().rendered = Some(Arc::new(rendered));
    }

    /// What is known of a Workload.
    pub(super) fn view(&self, id: &Id) -> View {
        let known = self.known();
        let Some(entry) = known.workloads.get(id) else { return View::default() };
        View {
            objects: entry.objects.iter().map(|held| held.what.clone()).collect(),
            pods: entry.pods.iter().map(|pod| pod.what.clone()).collect(),
            was_published: entry.was_published,
        }
    }

    /// The routes that were made for an instance; whoever asks is told about them from now on.
    pub(super) fn routes(&self, id: &Id, instance: &str) -> Vec<RouteFact> {
        let mut known = self.known();
        let at = (id.0.clone(), instance.to_owned());
        known.publishers.entry(at.clone()).or_default().insert(id.clone());
        let routes = known.routes.get(&at).into_iter().flatten();
        let facts = routes.filter_map(|route| match &route.what.facts {
            Facts::Route(fact) => Some((**fact).clone()),
            _ => None,
        });
        facts.collect()
    }

    /// Notes that addresses of a Workload were published.
    pub(super) fn published(&self, id: &Id, is_published: bool) {
        if let Some(entry) = self.known().workloads.get_mut(id) {
            entry.was_published = is_published;
        }
    }

    /// Notes whether a Workload waits for something of others to go away.
    pub(super) fn refused(&self, id: &Id, is_refused: bool) {
        let mut known = self.known();
        if is_refused {
            known.workloads.entry(id.clone()).or_default().is_refused = true;
        } else if let Some(entry) = known.workloads.get_mut(id) {
            entry.is_refused = false;
        }
    }

    /// Those that wait for something of others to go away.
    pub(super) fn all_refused(&self) -> Vec<Id> {
        let known = self.known();
        known.workloads.iter().filter(|(_, entry)| entry.is_refused).map(|(id, _)| id.clone()).collect()
    }

    /// Nothing is left of a Workload.
    pub(super) fn forget(&self, id: &Id) {
        let mut known = self.known();
        known.workloads.remove(id);
        known.publishers.retain(|_, publishers| {
            publishers.remove(id);
            !publishers.is_empty()
        });
    }

    /// Everything that does not run, and nobody knows why.
    pub(super) fn puzzles(&self, now: Timestamp) -> BTreeSet<Puzzle> {
        let known = self.known();
        let mut puzzles = BTreeSet::new();
        for (id, entry) in &known.workloads {
            let uids = entry.pods.iter().filter(|pod| pod.what.is_puzzling(now)).map(|pod| &pod.what.uid);
            let makers =
                entry.objects.iter().filter(|held| is_puzzling(&held.what)).map(|held| &held.what.uid);
            puzzles.extend(uids.chain(makers).map(|uid| Puzzle { id: id.clone(), uid: uid.clone() }));
        }
        puzzles
    }

    /// Takes in what is told about something that does not run. Answers whether that is news.
    pub(super) fn tell(&self, puzzle: &Puzzle, cause: Option<Cause>) -> bool {
        let mut known = self.known();
        let Some(entry) = known.workloads.get_mut(&puzzle.id) else { return false };
        let of_pods =
            entry.pods.iter_mut().filter(|pod| pod.what.uid == puzzle.uid).map(|pod| &mut pod.what.told);
        let of_makers = entry.objects.iter_mut().filter(|held| held.what.uid == puzzle.uid);
        let of_makers = of_makers.map(|held| &mut held.what.told);
        let Some(told) = of_pods.chain(of_makers).next() else { return false };
        let mut cause = cause.map(Box::new);
        // What a command wrote first stays, too.
        if let (Some(Cause::Check(check)), Some(Cause::Check(known))) =
            (cause.as_deref_mut(), told.as_deref())
            && check.is_like(known)
        {
            check.found.clone_from(&known.found);
        }
        let is_news = *told != cause;
        *told = cause;
        is_news
    }

    /// Notes the last line of a container that crashed.
    pub(super) fn last_line(&self, id: &Id, uid: &str, line: &str) {
        self.crashes(id, uid, |crash| crash.last_line = Some(line.into()));
    }

    /// Notes the check that had a container ended.
    pub(super) fn ended_by(&self, id: &Id, uid: &str, check: &Check) {
        self.crashes(id, uid, |crash| crash.ended_by = Some(Box::new(check.clone())));
    }

    fn crashes(&self, id: &Id, uid: &str, mut note: impl FnMut(&mut Crash)) {
        let mut known = self.known();
        let Some(entry) = known.workloads.get_mut(id) else { return };
        let pods = entry.pods.iter_mut().filter(|pod| &*pod.what.uid == uid);
        for cause in pods.filter_map(|pod| pod.what.cause.as_deref_mut()) {
            if let Cause::Crash(crash) = cause {
                note(crash);
            }
        }
    }

    /// Those whose containers have crashed, and have now run for long enough to count as mended.
    pub(super) fn mended(&self, since: Timestamp, now: Timestamp) -> Vec<Id> {
        let known = self.known();
        let is_mended = |pod: &Noted<Pod>| {
            let at = pod.what.restarted.and_then(|at| at.checked_add(SETTLING).ok());
            at.is_some_and(|at| at > since && at <= now)
        };
        let mended = known.workloads.iter().filter(|(_, entry)| entry.pods.iter().any(is_mended));
        mended.map(|(id, _)| id.clone()).collect()
    }
}

impl Known {
    fn publishers_of(&self, instance: &Id) -> Vec<Id> {
        self.publishers.get(instance).into_iter().flatten().cloned().collect()
    }

    fn drop_from(&mut self, id: &Id, kind: Kind, uid: &str) {
        let Some(entry) = self.workloads.get_mut(id) else { return };
        if kind == Kind::Pod {
            entry.pods.retain(|pod| &*pod.what.uid != uid);
        } else {
            entry.objects.retain(|held| &*held.what.uid != uid);
        }
        if entry.is_empty() {
            self.workloads.remove(id);
        }
    }
}

impl Entry {
    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.pods.is_empty() && !self.is_refused
    }

    /// What is remembered of a copy, beside what it shows itself.
    fn with_memories(&self, mut pod: Pod) -> Pod {
        let Some(before) = self.pods.iter().find(|before| before.what.uid == pod.uid) else { return pod };
        if !pod.is_ready {
            pod.told = pod.told.or_else(|| before.what.told.clone());
        }
        if let (Some(Cause::Crash(crash)), Some(Cause::Crash(known))) =
            (pod.cause.as_deref_mut(), before.what.cause.as_deref())
            && crash.container == known.container
        {
            // The first line that was told stays: what is told of a crash changes only with how it ends.
            crash.last_line.clone_from(&known.last_line);
            if crash.began == known.began {
                crash.ended_by.clone_from(&known.ended_by);
            }
        }
        pod
    }

    /// What was told of an object stays true until it has made its copies.
    fn told_of(&self, held: &Held) -> Option<Box<Cause>> {
        let before = self.objects.iter().find(|before| before.what.uid == held.uid)?;
        before.what.told.clone().filter(|_| is_puzzling(held))
    }
}

/// Whether what makes copies does not make them, and does not say why.
fn is_puzzling(held: &Held) -> bool {
    match &held.facts {
        Facts::Rollout(rollout) => {
            rollout.kind != Maker::Deployment
                && rollout.total < rollout.desired
                && !is_over(rollout)
                && !held.is_leaving
        }
        _ => false,
    }
}

fn is_over(rollout: &Rollout) -> bool {
    rollout.kind == Maker::Job && rollout.progress != Progress::Going
}

/// Notes something, unless it is older than what is known. Answers whether it is news.
fn note<T: PartialEq>(
    all: &mut Vec<Noted<T>>,
    what: T,
    version: u64,
    round: u32,
    is_same: fn(&T, &T) -> bool,
) -> bool {
    let Some(noted) = all.iter_mut().find(|noted| is_same(&noted.what, &what)) else {
        all.push(Noted { what, version, round });
        return true;
    };
    noted.round = round;
    if version < noted.version {
        return false;
    }
    noted.version = version;
    let is_news = noted.what != what;
    noted.what = what;
    is_news
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
