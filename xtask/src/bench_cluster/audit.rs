//! What was written, as the API server itself has logged it.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use serde_json::Value as Json;

use super::Failure;

/// Who writes as well, and is not what is measured: this process, and the parts of Kubernetes.
const OTHERS: [&str; 3] = [super::load::AGENT, "kube-", "kubectl"];

/// The audit log of an API server.
#[derive(Debug)]
pub(super) struct Audit(PathBuf);

/// A place in the log.
#[derive(Debug)]
pub(super) struct Mark(u64);

impl Audit {
    /// The log in a file.
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        if file.exists() {
            Ok(Self(file.to_owned()))
        } else {
            Err(format!("there is no audit log at {}; name it with --audit", file.display()).into())
        }
    }

    /// The end of the log as it is now.
    pub(super) fn mark(&self) -> Result<Mark, Failure> {
        Ok(Mark(self.0.metadata()?.len()))
    }

    /// What the program has written since, by verb and kind, where it succeeded.
    pub(super) fn since(&self, mark: &Mark) -> Result<BTreeMap<String, usize>, Failure> {
        let mut file = File::open(&self.0)?;
        file.seek(SeekFrom::Start(mark.0))?;
        let mut counts = BTreeMap::new();
        let mut line = String::new();
        let mut lines = BufReader::new(file);
        // A line that is being written is the last, and is read next time.
        while lines.read_line(&mut line)? > 0 && line.ends_with('\n') {
            if let Some(what) = ours(&serde_json::from_str(&line)?) {
                *counts.entry(what).or_default() += 1;
            }
            line.clear();
        }
        Ok(counts)
    }
}

/// What an entry tells of a write of the program: `patch workloads/status`.
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
    fn only_what_the_program_has_written_with_success_is_counted() {
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
