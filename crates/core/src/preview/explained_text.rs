//! Text of an explanation: the causes, the choices, and the next step as the last line.

use std::fmt;

use orchestra_api::plan::Kind;
use orchestra_score::pointer::readable;

use super::{Dependency, Explained, Provider};
use crate::{
    explain::Mistake,
    place::Conclusion,
    policy::{Setting, Source},
    sentence::sentence,
};

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, .. } = self;
        if self.ready && !self.being_deleted {
            writeln!(f, "Workload {namespace}/{name} is ready. {}", self.summary())?;
            self.choices(f)?;
            self.dependencies(f)?;
            return self.audited(f);
        }
        let what = if self.being_deleted { "is being deleted" } else { "is not ready" };
        writeln!(f, "Workload {namespace}/{name} {what}.")?;
        if !self.observed {
            let generation = self.generation;
            writeln!(f, "Generation {generation} has not been reconciled yet; this is the expected result.")?;
        }
        for cause in &self.causes {
            let super::Cause { condition, status, reason, message, because } = cause;
            writeln!(f, "\n{condition} is {status} ({reason}): {message}")?;
            for line in because.iter().filter(|line| *line != message) {
                writeln!(f, "  {line}")?;
            }
        }
        self.choices(f)?;
        self.audited(f)?;
        if let Some(next) = &self.next {
            write!(f, "\nNext: {next}")?;
        }
        Ok(())
    }
}

impl Explained {
    fn summary(&self) -> String {
        let mut sentences = Vec::new();
        if let Some(running) = &self.running {
            let verb = match running.kind {
                Kind::Service => "runs",
                Kind::Job => "ran",
            };
            sentences.push(format!(
                "It {verb} on {} ({}) with the profile {}.",
                running.placement.backend_id, running.placement.runtime_class, running.profile
            ));
        }
        sentences.push(match &self.status.endpoint {
            Some(endpoint) => format!("It is reached at {endpoint}."),
            None => "It has no endpoint.".to_owned(),
        });
        let dependencies: Vec<_> = self.dependencies.iter().map(Dependency::title).collect();
        sentences.push(match &dependencies[..] {
            [] => "No dependencies.".to_owned(),
            all => format!("It depends on {}.", all.join(", ")),
        });
        sentences.join(" ")
    }

    /// Placement and settings, with their sources.
    fn choices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A refused placement is explained with the condition.
        let placement = self.explanation.placement.as_ref();
        let found = placement.filter(|placement| !matches!(placement.conclusion, Conclusion::Refused(_)));
        if let Some(placement) = found {
            writeln!(f, "\nWhere it runs:")?;
            placement.to_string().lines().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        let settings = self.explanation.settings.iter();
        let mut by_policy =
            settings.filter(|setting| matches!(setting.source, Source::Policy(_)) || setting.note.is_some());
        if let Some(first) = by_policy.next() {
            writeln!(f, "\nWhat policies set:\n  {first}")?;
            by_policy.try_for_each(|setting| writeln!(f, "  {setting}"))?;
        }
        if !self.explanation.notes.is_empty() && !self.being_deleted {
            writeln!(f)?;
            self.explanation.notes.iter().try_for_each(|note| writeln!(f, "Note: {note}"))?;
        }
        Ok(())
    }

    /// Dependencies with their providers.
    fn dependencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.dependencies.is_empty() {
            writeln!(f, "\nWhat it depends on:")?;
        }
        self.dependencies.iter().try_for_each(|dependency| writeln!(f, "  {dependency}"))
    }

    fn audited(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.explanation.audited {
            write!(f, "\nNot enforced yet: {}", violation.message)?;
        }
        if self.explanation.audited.is_empty() || self.ready { Ok(()) } else { writeln!(f) }
    }
}

impl Dependency {
    fn title(&self) -> String {
        let id = self.id.as_ref().map(|id| format!(", shared as {id}")).unwrap_or_default();
        format!("{} ({}, {}{id})", self.key, self.type_, self.class)
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let provider = match &self.provider {
            Provider::Engine(engine) => format!("provided by the engine `{engine}`"),
            Provider::Others => "provided by an external controller".to_owned(),
            // Its message has the reason.
            Provider::None(_) => "no provisioner".to_owned(),
        };
        write!(f, "{}, {provider}: {:?}: {}", self.title(), self.phase, self.message)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, pointer, message, hint } = self;
        let place = if pointer.is_empty() { String::new() } else { format!(" at {}", readable(pointer)) };
        f.write_str(&sentence(&format!("{code}{place}: {message}; {hint}"), 0))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", readable(&self.field), self.value)?;
        match &self.source {
            Source::Author => f.write_str(" (the author)")?,
            Source::Existing => f.write_str(" (existing claim)")?,
            Source::Policy(policy) => write!(f, " (policy {policy})")?,
            Source::BuiltIn => f.write_str(" (built in)")?,
        }
        for over in &self.overridden {
            write!(f, ", not {} (policy {})", over.value, over.policy)?;
        }
        self.note.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}
