//! Plays all scripts against one server in this process, or a fresh one for each script.

use std::{io, path::Path};

use tokio::task::JoinSet;

use super::{
    Recording, Script, Target,
    accepted::{self, Accepted},
    difference::{self, Difference},
    normalise::normalise,
    player,
    target::TargetError,
};

/// What is wrong with a server.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Where it differs from the recordings without anybody having accepted it.
    pub differences: Vec<Difference>,
    /// Accepted differences that do not occur.
    pub stale: Vec<String>,
    /// How many steps were compared.
    pub steps: usize,
}

/// Compares a server with the recordings of a parity folder; `server` gives one for each script.
pub async fn judge<S>(folder: &Path, server: S) -> Result<Verdict, TargetError>
where
    S: AsyncFn() -> Result<Target, TargetError>,
{
    let mut verdict = Verdict::default();
    let mut differences = Vec::new();
    let mut plays = JoinSet::new();
    for script in Script::all(folder)? {
        let target = server().await?;
        plays.spawn(async move {
            let played = player::play(&script, &target).await;
            (script, played)
        });
    }
    while let Some(play) = plays.join_next().await {
        let (script, played) = play?;
        let expected = recording(folder, &script)?;
        differences.extend(difference::compare(&script.topic, &expected, &normalise(&played)?)?);
        verdict.steps += script.recorded_steps();
    }
    let lines = Accepted::read(&folder.join("differences.txt"))?;
    (verdict.differences, verdict.stale) = accepted::judge(differences, &lines);
    Ok(verdict)
}

/// The stored recording of a script.
pub fn recording(folder: &Path, script: &Script) -> io::Result<Recording> {
    Recording::read(&folder.join("recorded").join(format!("{}.json", script.topic)))
}
