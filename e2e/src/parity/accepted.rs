//! Accepted differences, each with its reason.

use std::{fs, io, path::Path};

use super::difference::Difference;

/// One line of the file: `topic | step | place | reason`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    topic: String,
    step: String,
    place: String,
    reason: String,
}

impl Accepted {
    /// Reads the file; empty lines and lines that start with `#` are ignored.
    pub fn read(path: &Path) -> io::Result<Vec<Self>> {
        let text = fs::read_to_string(path)?;
        text.lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .map(|line| {
                Self::parse(line)
                    .ok_or_else(|| io::Error::other(format!("not `topic | step | place | reason`: {line}")))
            })
            .collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(4, " | ").map(|part| part.trim().to_owned());
        let line =
            Self { topic: parts.next()?, step: parts.next()?, place: parts.next()?, reason: parts.next()? };
        (!line.reason.is_empty()).then_some(line)
    }

    fn covers(&self, difference: &Difference) -> bool {
        self.topic == difference.topic && self.step == difference.step && self.place == difference.place
    }
}

/// Differences that are not accepted, and lines of the file that match no difference.
pub fn split_accepted(differences: Vec<Difference>, accepted: &[Accepted]) -> (Vec<Difference>, Vec<String>) {
    let stale = accepted
        .iter()
        .filter(|line| !differences.iter().any(|difference| line.covers(difference)))
        .map(|line| format!("{} | {} | {}", line.topic, line.step, line.place))
        .collect();
    let open = differences
        .into_iter()
        .filter(|difference| !accepted.iter().any(|line| line.covers(difference)))
        .collect();
    (open, stale)
}
