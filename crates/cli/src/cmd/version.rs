//! `orchestra version`: the version of this program, what it was built from, and the Score specification it implements.

use serde_json::json;

use super::{Output, print};
use crate::{error::CliError, exit::Exit};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const SCORE: &str = "score.dev/v1b1";

/// Facts of a build, from `build.rs`. Development builds have neither commit nor date.
#[derive(Clone, Copy)]
struct Build {
    commit: &'static str,
    /// Commit date, in seconds since 1970.
    epoch: &'static str,
    target: &'static str,
    rustc: &'static str,
}

const BUILD: Build = Build {
    commit: env!("ORCHESTRA_BUILD_COMMIT"),
    epoch: env!("ORCHESTRA_BUILD_EPOCH"),
    target: env!("ORCHESTRA_BUILD_TARGET"),
    rustc: env!("ORCHESTRA_BUILD_RUSTC"),
};

pub(super) fn version(output: Output) -> Result<Exit, CliError> {
    let spec = orchestra_score::SpecVersion::NEWEST.to_string();
    print(&match output {
        Output::Human => human(BUILD, &spec),
        Output::Json => format!("{:#}\n", machine(BUILD, &spec)),
    })
}

fn human(build: Build, spec: &str) -> String {
    let origin = match (build.commit, build.date()) {
        ("", _) => "development build".to_owned(),
        (commit, None) => commit.to_owned(),
        (commit, Some(date)) => format!("{commit}, {date}"),
    };
    let (features, target) = (features().join(", "), build.target);
    format!(
        "orchestra {VERSION} (Score {SCORE}, specification {spec})\n\
         commit    {origin}\nfeatures  {features}\ntarget    {target}\n"
    )
}

fn machine(build: Build, spec: &str) -> serde_json::Value {
    let known = |text: &str| if text.is_empty() { None } else { Some(text.to_owned()) };
    json!({
        "version": VERSION,
        "commit": known(build.commit),
        "date": build.date(),
        "features": features(),
        "target": build.target,
        "rustc": known(build.rustc),
        "score": {"apiVersion": SCORE, "specification": spec},
    })
}

impl Build {
    /// Commit date in UTC, such as `2026-03-21T09:00:00Z`.
    fn date(&self) -> Option<String> {
        let seconds = self.epoch.parse().ok()?;
        jiff::Timestamp::from_second(seconds).ok().map(|time| time.to_string())
    }
}

/// Cargo features of this build: the API, the runtimes and the engines that it contains.
fn features() -> Vec<&'static str> {
    [
        ("embedded", cfg!(feature = "embedded")),
        ("kubernetes", cfg!(feature = "kubernetes")),
        ("process", cfg!(feature = "process")),
        ("template", cfg!(feature = "template")),
    ]
    .into_iter()
    .filter_map(|(name, contained)| contained.then_some(name))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: Build =
        Build { commit: "43183f8", epoch: "1774083600", target: "a-target", rustc: "rustc 1.95.0" };
    const DEVELOPMENT: Build = Build { commit: "", epoch: "", ..RELEASE };

    #[test]
    fn a_release_names_its_commit_and_the_date_of_it() {
        assert!(human(RELEASE, "0.4.1").contains("commit    43183f8, 2026-03-21T09:00:00Z\n"));
        let json = machine(RELEASE, "0.4.1");
        assert_eq!((&json["commit"], &json["date"]), (&json!("43183f8"), &json!("2026-03-21T09:00:00Z")));
    }

    #[test]
    fn a_development_build_has_no_commit() {
        assert!(human(DEVELOPMENT, "0.4.1").contains("commit    development build\n"));
        let json = machine(DEVELOPMENT, "0.4.1");
        assert!(json["commit"].is_null() && json["date"].is_null(), "{json}");
    }
}
