//! Server processes: start-up time, memory and CPU time.

use super::Failure;
use super::client::Client;
use hyper::{Method, StatusCode};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Unit of times in `/proc/PID/stat` on Linux.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// Controllers of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Controllers {
    /// Those of the product.
    All,
    /// The API alone.
    None,
}

/// Running `orchestra serve`, killed on drop.
pub(crate) struct Embedded(Child);

impl Embedded {
    /// Starts it with a data folder, and returns the time from process start to the first response over TLS.
    pub(crate) async fn start(
        program: &Path,
        data: &Path,
        controllers: Controllers,
    ) -> Result<(Self, Duration), Failure> {
        let api_only: &[&str] = match controllers {
            Controllers::All => &[],
            Controllers::None => &["--api-only"],
        };
        let started = Instant::now();
        let child = Command::new(program)
            .arg("serve")
            .args(api_only)
            .args(["--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut server = Self(child);
        let mut greeting = String::new();
        if let Some(output) = server.0.stdout.take() {
            BufReader::new(output).read_line(&mut greeting)?;
        }
        let client = Client::from_kubeconfig(&data.join("kubeconfig"))?;
        let (status, _) = client.connect().await?.call(Method::GET, "/readyz", String::new()).await?;
        match status {
            StatusCode::OK => Ok((server, started.elapsed())),
            _ => Err(format!("/readyz is answered with {status}").into()),
        }
    }

    /// Terminates it, and waits for its exit.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        Command::new("kill").arg(self.0.id().to_string()).status()?;
        match self.0.wait()? {
            status if status.success() => Ok(()),
            status => Err(format!("the server ended with {status}").into()),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes with these names.
pub(crate) fn named(names: &[&str]) -> Result<Vec<u32>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
        let id: Option<u32> = path.file_name().and_then(|id| id.to_str()?.parse().ok());
        found.extend(id.filter(|_| names.contains(&name.trim())));
    }
    Ok(found)
}

/// Total memory of processes, in MiB.
pub(crate) fn memory(ids: &[u32]) -> Result<f64, Failure> {
    let mut kib = 0;
    for id in ids {
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        kib += line.trim().trim_end_matches(" kB").parse::<u32>()?;
    }
    Ok(f64::from(kib) / 1024.0)
}

/// Total user and system CPU time of processes.
pub(crate) fn computed(ids: &[u32]) -> Result<Duration, Failure> {
    let mut ticks = 0;
    for id in ids {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
        // Fields 14 and 15; field 2 is the name in parentheses, which may contain spaces.
        let rest = stat.rsplit_once(") ").ok_or("no name")?.1;
        for field in rest.split(' ').skip(11).take(2) {
            ticks += field.parse::<u32>()?;
        }
    }
    Ok(CLOCK_TICK * ticks)
}
