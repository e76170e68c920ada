//! Comparison with all recordings, of one in-process server or of a new one for each script.

use std::{io, path::Path};

use tokio::task::JoinSet;

use super::{
    Recording, Script, Target,
    accepted::{self, Accepted},
    difference::{self, Difference, Parity},
    normalise::normalise,
    replay,
    target::TargetError,
};

/// Result of a comparison.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Differences from the recordings that are not accepted.
    pub differences: Vec<Difference>,
    /// Accepted differences that do not occur.
    pub stale: Vec<String>,
    /// Failed steps, which invalidate the comparison: `TOPIC: STEP: CAUSE`.
    pub failures: Vec<String>,
    /// Number of compared steps.
    pub steps: usize,
}

/// Compares a server with the recordings of a parity folder; `server` returns one for each script.
pub async fn compare<S>(folder: &Path, server: S) -> Result<Verdict, TargetError>
where
    S: AsyncFn() -> Result<Target, TargetError>,
{
    let mut verdict = Verdict::default();
    let mut differences = Vec::new();
    let mut replays = JoinSet::new();
    for script in Script::all(folder)? {
        let target = server().await?;
        replays.spawn(async move {
            let replayed = replay::replay(&script, &target).await;
            (script, replayed)
        });
    }
    while let Some(replay) = replays.join_next().await {
        let (script, replayed) = replay?;
        let expected = recording(folder, &script)?;
        differences.extend(difference::compare(
            &script.topic,
            &expected,
            &normalise(&replayed)?,
            Parity::Semantic,
        )?);
        verdict
            .failures
            .extend(replayed.failures.iter().map(|failure| format!("{}: {failure}", script.topic)));
        verdict.steps += script.recorded_steps();
    }
    let lines = Accepted::read(&folder.join("differences.txt"))?;
    (verdict.differences, verdict.stale) = accepted::split_accepted(differences, &lines);
    Ok(verdict)
}

/// Stored recording of a script.
pub fn recording(folder: &Path, script: &Script) -> io::Result<Recording> {
    Recording::read(&folder.join("recorded").join(format!("{}.json", script.topic)))
}
