//! Writes in the audit log of the API server.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Seek, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value as Json;

use super::Failure;

/// User agents that are not measured: this process, and components of Kubernetes.
const OTHERS: [&str; 3] = [super::load::AGENT, "kube-", "kubectl"];

/// Audit log of an API server. The server rotates it: the old file gets a name with the time.
#[derive(Debug)]
pub(super) struct Audit(PathBuf);

/// Position in the log: file, independent of its name, and offset.
#[derive(Debug)]
pub(super) struct Mark {
    file: u64,
    place: u64,
}

impl Audit {
    /// Log in a file.
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        if file.exists() {
            Ok(Self(file.to_owned()))
        } else {
            Err(format!("there is no audit log at {}; name it with --audit", file.display()).into())
        }
    }

    /// Current end of the log.
    pub(super) fn mark(&self) -> Result<Mark, Failure> {
        let log = self.0.metadata()?;
        Ok(Mark { file: log.ino(), place: log.len() })
    }

    /// Successful writes of the program since a position, by verb and kind.
    pub(super) fn since(&self, mark: &Mark) -> Result<BTreeMap<String, usize>, Failure> {
        let mut counts = BTreeMap::new();
        let mut place = mark.place;
        for file in self.files_since(mark)? {
            let mut file = File::open(file)?;
            file.seek(SeekFrom::Start(std::mem::take(&mut place)))?;
            let mut line = String::new();
            let mut lines = BufReader::new(file);
            // An incomplete last line is read next time.
            while lines.read_line(&mut line)? > 0 && line.ends_with('\n') {
                if let Some(what) = ours(&serde_json::from_str(&line)?) {
                    *counts.entry(what).or_default() += 1;
                }
                line.clear();
            }
        }
        Ok(counts)
    }

    /// Files of the log from the one with the mark, the oldest first.
    fn files_since(&self, mark: &Mark) -> Result<Vec<PathBuf>, Failure> {
        let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let (stem, end) = (text(self.0.file_stem()), text(self.0.extension()));
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut files = Vec::new();
        for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
            let file = entry?.path();
            let aside = text(file.file_stem()).strip_prefix(&stem).is_some_and(|rest| rest.starts_with('-'));
            if aside && text(file.extension()) == end {
                files.push(file);
            }
        }
        // Names sort by time.
        files.sort();
        files.push(self.0.clone());
        let from = files.iter().position(|file| file.metadata().is_ok_and(|it| it.ino() == mark.file));
        Ok(files.split_off(from.ok_or("the audit log was deleted")?))
    }
}

/// Write of the program in an entry, such as `patch workloads/status`.
fn ours(entry: &Json) -> Option<String> {
    let text = |pointer: &str| entry.pointer(pointer).and_then(Json::as_str);
    let agent = text("/userAgent").unwrap_or_default();
    let is_done = text("/stage") == Some("ResponseComplete");
    let is_good = entry.pointer("/responseStatus/code").and_then(Json::as_u64).is_some_and(|code| code < 300);
    if !is_done || !is_good || OTHERS.iter().any(|other| agent.starts_with(other)) {
        return None;
    }
    let (verb, kind) = (text("/verb")?, text("/objectRef/resource")?);
    let part = text("/objectRef/subresource").map(|part| format!("/{part}")).unwrap_or_default();
    Some(format!("{verb} {kind}{part}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rotated_log_is_read_to_its_end_and_then_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        let entry = |kind: &str| {
            let entry = json!({
                "stage": "ResponseComplete", "verb": "patch", "objectRef": {"resource": kind},
                "responseStatus": {"code": 200},
            });
            format!("{entry}\n")
        };
        fs::write(folder.path().join("audit-2026-11-17T12-00-00.000.log"), entry("older")).unwrap();
        fs::write(folder.path().join("audit.yaml"), "no log").unwrap();
        fs::write(&log, entry("before")).unwrap();
        let audit = Audit::open(&log).unwrap();
        let mark = audit.mark().unwrap();
        fs::write(&log, entry("before") + &entry("aside")).unwrap();
        fs::rename(&log, folder.path().join("audit-2026-11-17T13-31-32.095.log")).unwrap();
        fs::write(&log, entry("now")).unwrap();
        let since: Vec<_> = audit.since(&mark).unwrap().into_keys().collect();
        assert_eq!(since, ["patch aside", "patch now"]);
    }

    #[test]
    fn only_successful_writes_of_the_program_are_counted() {
        let entry = |agent: &str, code: u16| {
            json!({
                "stage": "ResponseComplete", "verb": "patch", "userAgent": agent,
                "objectRef": {"resource": "workloads", "subresource": "status", "name": "x"},
                "responseStatus": {"code": code},
            })
        };
        assert_eq!(ours(&entry("", 200)).as_deref(), Some("patch workloads/status"));
        assert_eq!(ours(&entry("orchestra/0.1.0", 201)).as_deref(), Some("patch workloads/status"));
        assert_eq!(ours(&entry("", 409)), None);
        for other in ["kube-controller-manager/v1.36", "kubectl/v1.36", super::super::load::AGENT] {
            assert_eq!(ours(&entry(other, 200)), None, "{other}");
        }
    }
}
