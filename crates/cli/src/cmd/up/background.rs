//! Background platform of the user: `orchestra serve --background`, found or started.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use http::Request;
use kube::client::Body;
use tokio::time::{Instant, sleep, timeout};

use crate::{cmd::platform::Platform, error::CliError, exit::Exit};

/// Timeout of one request; the platform is local.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a start; usually it takes less than a second.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a shutdown, after which the command ends without it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of polls; users wait for them.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Pause before another attempt while another process holds the data folder.
const START_RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// Size of the log, in bytes, above which a start truncates it.
const MAX_LOG_SIZE: u64 = 1024 * 1024;
/// Log of the background platform, in the data folder.
const LOG_FILE: &str = "serve.log";

/// The platform of a data folder, if it is ready.
async fn find(data: &Path, namespace: Option<&str>) -> Option<Platform> {
    let platform = Platform::of_data_dir(data, namespace).await.ok()?;
    is_ready(&platform).await.then_some(platform)
}

/// Connects to the platform of a data folder. Returns true if it had to be started.
pub(in crate::cmd) async fn connect_or_start(
    data: &Path,
    namespace: Option<&str>,
    trust_users: bool,
) -> Result<(Platform, bool), CliError> {
    if let Some(platform) = find(data, namespace).await {
        return Ok((platform, false));
    }
    let start =
        || start(data, trust_users).map_err(|source| CliError::DataFolder { path: data.to_owned(), source });
    let log = data.join(LOG_FILE);
    let logged_before = fs::metadata(&log).map_or(0, |log| log.len());
    let mut child = start()?;
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        if let Some(platform) = find(data, namespace).await {
            return Ok((platform, true));
        }
        let ended = child.try_wait().ok().flatten();
        let is_late = Instant::now() >= deadline;
        if ended.is_some() || is_late {
            let logged = fs::read(&log).unwrap_or_default();
            let new = logged.get(usize::try_from(logged_before).unwrap_or_default()..).unwrap_or(&logged);
            let logged = String::from_utf8_lossy(new);
            let last = logged.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            // Another process holds the folder: it starts, and will answer, or it shuts down, and releases the lock.
            let in_use = i32::from(Exit::DataFolderInUse.code());
            let is_in_use = ended.is_some_and(|status| status.code() == Some(in_use));
            if !is_in_use || is_late {
                return Err(CliError::Start {
                    last_line: last.trim_start_matches("error: ").to_owned(),
                    log,
                });
            }
            sleep(START_RETRY_INTERVAL).await;
            child = start()?;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Starts a platform that outlives this process.
fn start(data: &Path, trust_users: bool) -> std::io::Result<Child> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    let log = fs::File::options().create(true).append(true).mode(0o600).open(data.join(LOG_FILE))?;
    if log.metadata()?.len() > MAX_LOG_SIZE {
        log.set_len(0)?;
    }
    Command::new(std::env::current_exe()?)
        .args(["serve", "--background", "--data-dir"])
        .arg(data)
        .args(trust_users.then_some("--trust-users"))
        .current_dir("/")
        // One malloc arena for all threads: there is no contention here, and less memory is resident.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

/// Shuts down a background platform that runs nothing, and waits for its end. A foreground `orchestra serve` refuses. After a
/// failed request, the platform shuts down later by itself.
pub(in crate::cmd) async fn shut_down(platform: &Platform, data: &Path) {
    let Ok(request) = Request::post("/orchestra/v1/shutdown").body(Body::empty()) else { return };
    let response = timeout(REQUEST_TIMEOUT, platform.client.send(request)).await;
    if !matches!(response, Ok(Ok(response)) if response.status().is_success()) {
        return;
    }
    let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
    while Instant::now() < deadline && is_in_use(data) {
        sleep(POLL_INTERVAL).await;
    }
}

/// True if a process holds the lock of a data folder.
fn is_in_use(data: &Path) -> bool {
    let lock = fs::File::options().write(true).open(data.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

async fn is_ready(platform: &Platform) -> bool {
    let Ok(request) = Request::get("/orchestra/readyz").body(Vec::new()) else { return false };
    matches!(timeout(REQUEST_TIMEOUT, platform.client.request_text(request)).await, Ok(Ok(_)))
}
