//! The platform of this user on this machine: found if it runs, started in the background if not.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use http::Request;
use kube::client::Body;
use orchestra_apiserver::store::{Folder, FolderError};
use tokio::time::{Instant, sleep, timeout};

use crate::cmd::platform::{Platform, Trouble};

/// How long a platform may take to answer that it is there.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a platform may take to start.
const START: Duration = Duration::from_secs(30);
/// How long a platform that ends may take.
const STOP: Duration = Duration::from_secs(10);
/// What a platform says whose folder another one has.
const IN_USE: &str = "is in use by process";
/// From this length on, in bytes, what was said before is forgotten.
const LONGEST_LOG: u64 = 1024 * 1024;
/// How often it is asked meanwhile.
const PACE: Duration = Duration::from_millis(10);
/// What a platform in the background has to say.
pub(super) const LOG: &str = "serve.log";

/// Whether the platform whose data is in a folder answers.
pub(super) async fn find(data: &Path, namespace: Option<&str>) -> Option<Platform> {
    let platform = Platform::at(data, namespace).await.ok()?;
    is_ready(&platform).await.then_some(platform)
}

/// The platform whose data is in a folder. Also answers whether it was started for this.
pub(in crate::cmd) async fn reach(data: &Path, namespace: Option<&str>) -> Result<(Platform, bool), Trouble> {
    if let Some(platform) = find(data, namespace).await {
        return Ok((platform, false));
    }
    let begin = || {
        start(data).map_err(|error| {
                let folder = data.display();
                Trouble::No(format!(
                    "the platform cannot keep its data in {folder}: {error}; choose another folder with --data-dir"
                ))
            })
    };
    let said_before = fs::metadata(data.join(LOG)).map_or(0, |log| log.len());
    let mut child = begin()?;
    let deadline = Instant::now() + START;
    loop {
        if let Some(platform) = find(data, namespace).await {
            return Ok((platform, true));
        }
        let ended = child.try_wait().ok().flatten().is_some();
        let is_late = Instant::now() >= deadline;
        if ended || is_late {
            let said = fs::read(data.join(LOG)).unwrap_or_default();
            let new = said.get(usize::try_from(said_before).unwrap_or_default()..).unwrap_or(&said);
            let said = String::from_utf8_lossy(new);
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            // Another one has the folder: it is starting, and will answer, or it is ending, and makes room.
            if !said.contains(IN_USE) || is_late {
                return Err(Trouble::Unreachable(format!(
                    "the platform did not start: {}; all it said is in {}",
                    last.trim_start_matches("error: "),
                    data.join(LOG).display()
                )));
            }
            sleep(PACE * 5).await;
            child = begin()?;
        }
        sleep(PACE).await;
    }
}

/// Starts a platform that outlives this program.
fn start(data: &Path) -> std::io::Result<Child> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    let log = fs::File::options().create(true).append(true).mode(0o600).open(data.join(LOG))?;
    if log.metadata()?.len() > LONGEST_LOG {
        log.set_len(0)?;
    }
    Command::new(std::env::current_exe()?)
        .args(["serve", "--background", "--data-dir"])
        .arg(data)
        .current_dir("/")
        // One pool of memory for all threads: nobody else waits for it here, and it stays small.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

/// Asks a platform that was started for this to end, if nothing runs on it any more, and waits until it has. One that
/// somebody else has started does not; and one that cannot be asked ends by itself a little later.
pub(in crate::cmd) async fn end(platform: &Platform, data: &Path) {
    let Ok(request) = Request::post("/orchestra/v1/end").body(Body::empty()) else { return };
    let asked = timeout(ANSWER, platform.client.send(request)).await;
    if !matches!(asked, Ok(Ok(answer)) if answer.status().is_success()) {
        return;
    }
    let deadline = Instant::now() + STOP;
    while Instant::now() < deadline && matches!(Folder::hold(data), Err(FolderError::InUse { .. })) {
        sleep(PACE).await;
    }
}

async fn is_ready(platform: &Platform) -> bool {
    let Ok(request) = Request::get("/orchestra/readyz").body(Vec::new()) else { return false };
    matches!(timeout(ANSWER, platform.client.request_text(request)).await, Ok(Ok(_)))
}
