//! The orchestrator config, checked.
//!
//! A [`Config`] comes from [`check`] or is the built-in one, so it is always valid: names are unique, ranges and selectors
//! are parsed, every referenced profile exists and has a backend. [`check`] reports all faults at once and ignores nothing.

pub mod builtin;
mod capabilities;
mod document;
mod fault;
mod in_force;
pub(crate) mod name_rules;
mod platform_kind;
mod profile;
pub mod provisioner;
mod reload;
pub(crate) mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use orchestra_api::{
    API_VERSION,
    config::{self as api, OrchestratorConfig, Provisioner},
};
use orchestra_score::{Code, Node, Pointer, Source, SourceId, node::Value, yaml};

pub use capabilities::Capabilities;
pub use fault::Fault;
pub use in_force::{InForce, Problem, in_force, last_good, of_maps, text};
pub use platform_kind::PlatformKind;
pub use profile::{Backend, Profile};
pub use reload::{ConfigEvent, Reload, reload};

use crate::selector::Selector;
use fault::Faults;

const KIND: &str = "OrchestratorConfig";
/// Default profile.
const WEB_SERVICE: &str = "web-service";
/// Profile of Workloads that run to completion.
const BATCH_JOB: &str = "batch-job";

/// Valid orchestrator config.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    document: OrchestratorConfig,
    profiles: BTreeMap<String, Profile>,
    selectors: Vec<ProfileSelector>,
    default_profile: DefaultProfile,
}

/// Profile of Workloads with certain labels.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileSelector {
    /// Selector of the labels.
    pub selector: Selector,
    /// The profile.
    pub profile: String,
}

/// Profile of Workloads that no selector matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultProfile {
    /// Set in the config.
    Configured(String),
    /// Used if the config sets none.
    BuiltIn(String),
}

impl Config {
    /// Config of a machine without an orchestrator config: everything runs on it.
    pub fn builtin() -> Self {
        Self::builtin_for(PlatformKind::MACHINE)
    }

    /// Config of a platform without an orchestrator config: everything runs in its default runtime.
    pub fn builtin_for(platform: PlatformKind) -> Self {
        let mut document = OrchestratorConfig {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            ..OrchestratorConfig::default()
        };
        "default".clone_into(&mut document.metadata.name);
        // A test shows that the built-in config is valid.
        Self::of(document, platform, &mut Faults::default())
    }

    /// The `OrchestratorConfig`, with the built-in profiles if it has none.
    pub fn document(&self) -> &OrchestratorConfig {
        &self.document
    }

    /// All profiles, by name.
    pub fn profiles(&self) -> &BTreeMap<String, Profile> {
        &self.profiles
    }

    /// Profiles by labels of the Workload; the first match wins.
    pub fn selectors(&self) -> &[ProfileSelector] {
        &self.selectors
    }

    /// Profile of Workloads that no selector matches; it exists.
    pub fn default_profile(&self) -> &DefaultProfile {
        &self.default_profile
    }

    /// Provisioner entries of the config. The [`builtin`] ones come after these.
    pub fn provisioners(&self) -> &[Provisioner] {
        &self.document.spec.provisioners
    }

    /// Checks an `OrchestratorConfig`. The result is valid only if there are no faults.
    fn of(mut document: OrchestratorConfig, platform: PlatformKind, faults: &mut Faults) -> Self {
        if document.spec.profiles.is_empty() {
            document.spec.profiles = platform.profiles();
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

/// Parses and checks the orchestrator config of a machine. An empty text means the built-in config.
pub fn check(text: &str) -> Result<Config, Vec<Fault>> {
    check_for(PlatformKind::MACHINE, text)
}

/// Parses and checks the orchestrator config of a platform. An empty text means the built-in config of its kind.
pub fn check_for(platform: PlatformKind, text: &str) -> Result<Config, Vec<Fault>> {
    let source = Source::new(api::CONFIG_KEY, text);
    let (root, findings) = yaml::parse(&source, SourceId(0));
    // A second document or an unknown tag is only a warning in Score; here nothing is ignored.
    let found = findings.into_sorted().into_iter().filter(|finding| finding.code != Code::EmptyDocument);
    let mut all: Vec<Fault> = found.map(|finding| Fault::of_yaml(finding, &source)).collect();
    match root {
        None | Some(Node { value: Value::Null, .. }) if all.is_empty() => Ok(Config::builtin_for(platform)),
        None => Err(all),
        Some(root) => {
            let mut faults = Faults::default();
            let document = document::read(&root, &mut faults);
            let config = Config::of(document, platform, &mut faults);
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
                format!("{value:?} is not a valid {key}"),
                format!("write `{key}: {wanted}`"),
            );
        }
    }
    name_rules::check_dns_label(&document.metadata.name, Pointer::of(["metadata", "name"]), faults);
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
        let is_read = ["matchLabels", "matchExpressions"].iter().all(|key| !faults.any_within(&at.key(key)));
        match Selector::read(Some(&selector.selector)) {
            Ok(read) if read.is_empty() && is_read => faults.add(
                at,
                "the selector matches every workload, so later selectors have no effect",
                "add `matchLabels`, or use `defaults.profile`",
            ),
            Ok(read) => checked.push(ProfileSelector { selector: read, profile: selector.profile.clone() }),
            Err(found) => faults.add_selector(&at, found),
        }
    }
    checked
}

/// Names of the profiles.
struct Names<'a> {
    known: Vec<&'a str>,
    /// False if some could not be read, so a missing name may be one of those.
    complete: bool,
}

impl<'a> Names<'a> {
    fn of(profiles: &'a BTreeMap<String, Profile>, faults: &Faults) -> Self {
        let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
        let complete = !known.contains(&"") && !faults.any_enclosing(&Pointer::of(["spec", "profiles"]));
        Self { known, complete }
    }

    /// Rejects an unknown name.
    fn check(&self, name: &str, at: Pointer, faults: &mut Faults) {
        if self.complete && !name.is_empty() && !self.known.contains(&name) {
            let hint = name_rules::did_you_mean(name, self.known.iter().copied())
                .unwrap_or_else(|| format!("write {}", name_rules::alternatives(&self.known)));
            faults.add(at, format!("unknown profile {name:?}"), hint);
        }
    }

    /// The configured default; else the only profile; else `web-service`.
    fn default_profile(&self, configured: Option<&str>, at: Pointer, faults: &mut Faults) -> DefaultProfile {
        if let Some(name) = configured {
            self.check(name, at, faults);
            return DefaultProfile::Configured(name.to_owned());
        }
        if let [only] = self.known[..] {
            return DefaultProfile::BuiltIn(only.to_owned());
        }
        if self.complete && !self.known.contains(&WEB_SERVICE) && !faults.any_enclosing(&at) {
            faults.add(
                at,
                "no default profile: there are several profiles, and none is called `web-service`",
                format!("add `defaults: {{profile: …}}` with {}", name_rules::alternatives(&self.known)),
            );
        }
        DefaultProfile::BuiltIn(WEB_SERVICE.to_owned())
    }
}
