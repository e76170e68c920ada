//! The platform's document, checked.
//!
//! A [`Config`] can only be made by [`check`] or be the one built in, so that whoever holds one need not ask whether
//! it makes sense: names are unique, ranges and selectors are read, every profile that is named exists and has a
//! backend. Everything that is wrong with a text is said at once; nothing in it is ignored.

pub mod builtin;
mod contained;
mod document;
mod fault;
mod ground;
mod profile;
pub mod provisioner;
mod shape;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use std::collections::BTreeMap;

use orchestra_api::{
    API_VERSION,
    config::{self as api, OrchestratorConfig, Provisioner},
};
use orchestra_score::{Code, Node, Pointer, Source, SourceId, node::Value, yaml};

pub use contained::Contained;
pub use fault::Fault;
pub use ground::Ground;
pub use profile::{Backend, Profile};

use crate::selector::Selector;
use fault::Faults;

/// The kind that a document says it is.
const KIND: &str = "OrchestratorConfig";
/// The profile of Workloads where nobody says otherwise.
const WEB_SERVICE: &str = "web-service";
/// The profile of Workloads that run to an end.
const BATCH_JOB: &str = "batch-job";

/// A document that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    document: OrchestratorConfig,
    profiles: BTreeMap<String, Profile>,
    selectors: Vec<ProfileSelector>,
    default_profile: DefaultProfile,
}

/// The profile of Workloads with certain labels.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileSelector {
    /// The labels.
    pub selector: Selector,
    /// The profile.
    pub profile: String,
}

/// The profile of Workloads that no selector matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultProfile {
    /// As the document says.
    Configured(String),
    /// As it is where the document says nothing.
    BuiltIn(String),
}

impl Config {
    /// What holds on a machine where there is no document: everything runs there.
    pub fn builtin() -> Self {
        Self::builtin_on(Ground::Machine)
    }

    /// What holds where there is no document: everything runs on what the platform stands on.
    pub fn builtin_on(ground: Ground) -> Self {
        let mut document = OrchestratorConfig {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            ..OrchestratorConfig::default()
        };
        "default".clone_into(&mut document.metadata.name);
        // What is built in is right, as a test says.
        Self::of(document, ground, &mut Faults::default())
    }

    /// The document, with what is built in where it has no profiles.
    pub fn document(&self) -> &OrchestratorConfig {
        &self.document
    }

    /// All profiles, by name.
    pub fn profiles(&self) -> &BTreeMap<String, Profile> {
        &self.profiles
    }

    /// Profiles by labels of the Workload, in the order in which they count.
    pub fn selectors(&self) -> &[ProfileSelector] {
        &self.selectors
    }

    /// The profile of Workloads that no selector matches; it exists.
    pub fn default_profile(&self) -> &DefaultProfile {
        &self.default_profile
    }

    /// Who provides what Workloads depend on, as the document says. What is [`builtin`] comes after these.
    pub fn provisioners(&self) -> &[Provisioner] {
        &self.document.spec.provisioners
    }

    /// Takes a document apart. What comes out is a config only if there are no faults.
    fn of(mut document: OrchestratorConfig, ground: Ground, faults: &mut Faults) -> Self {
        if document.spec.profiles.is_empty() {
            document.spec.profiles = ground.profiles();
        }
        check_head(&document, faults);
        let profiles = profile::check(&document.spec.profiles, faults);
        let names = Names::of(&profiles, faults);
        let at = Pointer::of(["spec", "defaults"]);
        let defaults = &document.spec.defaults;
        let selectors = check_selectors(&defaults.selectors, &names, &at.key("selectors"), faults);
        let default_profile = names.default_profile(defaults.profile.as_deref(), at.key("profile"), faults);
        provisioner::check(&document.spec.provisioners, faults);
        Self { document, profiles, selectors, default_profile }
    }
}

/// Reads and checks the document of a platform on a machine. A text with nothing in it means what is built in.
pub fn check(text: &str) -> Result<Config, Vec<Fault>> {
    check_on(Ground::Machine, text)
}

/// Reads and checks the document of a platform on some ground. A text with nothing in it means what is built in there.
pub fn check_on(ground: Ground, text: &str) -> Result<Config, Vec<Fault>> {
    let source = Source::new(api::CONFIG_KEY, text);
    let (root, findings) = yaml::parse(&source, SourceId(0));
    // A second document or a foreign tag is only a warning in Score; here nothing is ignored.
    let found = findings.into_sorted().into_iter().filter(|finding| finding.code != Code::EmptyDocument);
    let mut all: Vec<Fault> = found.map(|finding| Fault::found(finding, &source)).collect();
    match root {
        None | Some(Node { value: Value::Null, .. }) if all.is_empty() => Ok(Config::builtin_on(ground)),
        None => Err(all),
        Some(root) => {
            let mut faults = Faults::default();
            let document = document::read(&root, &mut faults);
            let config = Config::of(document, ground, &mut faults);
            all.extend(faults.located(&root, &source));
            if all.is_empty() { Ok(config) } else { Err(all) }
        }
    }
}

fn check_head(document: &OrchestratorConfig, faults: &mut Faults) {
    for (key, value, wanted) in
        [("apiVersion", &document.api_version, API_VERSION), ("kind", &document.kind, KIND)]
    {
        if !value.is_empty() && value != wanted {
            faults.add(
                Pointer::root().key(key),
                format!("{value:?} is no {key} of the platform's document"),
                format!("write `{key}: {wanted}`"),
            );
        }
    }
    words::check_dns_label(&document.metadata.name, Pointer::of(["metadata", "name"]), faults);
}

fn check_selectors(
    selectors: &[api::ProfileSelector],
    names: &Names<'_>,
    at: &Pointer,
    faults: &mut Faults,
) -> Vec<ProfileSelector> {
    let mut checked = Vec::new();
    for (index, selector) in selectors.iter().enumerate() {
        let at = at.index(index);
        names.check(&selector.profile, at.key("profile"), faults);
        let is_read = ["matchLabels", "matchExpressions"].iter().all(|key| !faults.touch(&at.key(key)));
        match Selector::read(Some(&selector.selector)) {
            Ok(read) if read.is_empty() && is_read => faults.add(
                at,
                "the selector selects everything, so that nothing after it counts",
                "add `matchLabels`, or use `defaults.profile`",
            ),
            Ok(read) => checked.push(ProfileSelector { selector: read, profile: selector.profile.clone() }),
            Err(found) => faults.add_selector(&at, found),
        }
    }
    checked
}

/// The names of the profiles there are.
struct Names<'a> {
    known: Vec<&'a str>,
    /// Whether all of them could be read; if not, nobody can tell which do not exist.
    complete: bool,
}

impl<'a> Names<'a> {
    fn of(profiles: &'a BTreeMap<String, Profile>, faults: &Faults) -> Self {
        let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
        let complete = !known.contains(&"") && !faults.hide(&Pointer::of(["spec", "profiles"]));
        Self { known, complete }
    }

    /// Refuses a name that no profile has.
    fn check(&self, name: &str, at: Pointer, faults: &mut Faults) {
        if self.complete && !name.is_empty() && !self.known.contains(&name) {
            let hint = words::did_you_mean(name, self.known.iter().copied())
                .unwrap_or_else(|| format!("write {}", words::alternatives(&self.known)));
            faults.add(at, format!("there is no profile {name:?}"), hint);
        }
    }

    /// The configured default; else `web-service`; else the only one there is.
    fn default_profile(&self, configured: Option<&str>, at: Pointer, faults: &mut Faults) -> DefaultProfile {
        if let Some(name) = configured {
            self.check(name, at, faults);
            return DefaultProfile::Configured(name.to_owned());
        }
        if let [only] = self.known[..] {
            return DefaultProfile::BuiltIn(only.to_owned());
        }
        if self.complete && !self.known.contains(&WEB_SERVICE) && !faults.hide(&at) {
            faults.add(
                at,
                "there are several profiles, and none of them is the default",
                format!("add `defaults: {{profile: …}}` with {}", words::alternatives(&self.known)),
            );
        }
        DefaultProfile::BuiltIn(WEB_SERVICE.to_owned())
    }
}
