//! Differences between two recordings.

use std::{borrow::Cow, fmt};

use super::recording::{Recording, Run};
use crate::parity::wording;

/// Command with different results on two servers.
#[derive(Debug)]
pub struct Difference {
    topic: String,
    expected: Option<Run>,
    got: Option<Run>,
}

/// Commands of a topic with different results.
pub fn compare(topic: &str, expected: &Recording, got: &Recording) -> Vec<Difference> {
    let commands = expected.runs.len().max(got.runs.len());
    (0..commands)
        .map(|at| (expected.runs.get(at), got.runs.get(at)))
        .filter(|(expected, got)| expected.map(comparable) != got.map(comparable))
        .map(|(expected, got)| Difference {
            topic: topic.to_owned(),
            expected: expected.cloned(),
            got: got.cloned(),
        })
        .collect()
}

/// Run without wording that no client matches on: errors are compared by reason, and by field and kind of each cause.
fn comparable(run: &Run) -> Run {
    let output = run.output.lines().flat_map(|line| [meaning(line), Cow::Borrowed("\n")]).collect();
    Run { output, ..run.clone() }
}

fn meaning(line: &str) -> Cow<'_, str> {
    const KINDS: &[&str] = &[
        ": Invalid value",
        ": Required value",
        ": Unsupported value",
        ": Duplicate value",
        ": Forbidden",
        ": Too long",
        ": Too many",
        ": Internal error",
    ];
    if wording::is_matched(line) {
        return Cow::Borrowed(line);
    }
    let end = if line.starts_with("Error from server (") {
        line.find("): ")
    } else if line.starts_with("* ") || line.starts_with("The ") {
        KINDS.iter().filter_map(|kind| Some(line.find(kind)? + kind.len())).min()
    } else {
        None
    };
    Cow::Borrowed(&line[..end.unwrap_or(line.len())])
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "--- {}", self.topic)?;
        let text = |run: &Option<Run>| run.as_ref().map(Run::to_string).unwrap_or_default();
        let (expected, got) = (text(&self.expected), text(&self.got));
        for (mark, line) in lines(&expected, &got) {
            writeln!(formatter, "{mark}{line}")?;
        }
        Ok(())
    }
}

/// Diff of two texts: common lines (` `), lines of the first only (`-`), of the second only (`+`).
fn lines<'a>(first: &'a str, second: &'a str) -> Vec<(char, &'a str)> {
    let (first, second): (Vec<_>, Vec<_>) = (first.lines().collect(), second.lines().collect());
    // common[i][j] is the length of the longest common sequence of first[i..] and second[j..].
    let mut common = vec![vec![0_usize; second.len() + 1]; first.len() + 1];
    for i in (0..first.len()).rev() {
        for j in (0..second.len()).rev() {
            common[i][j] = if first[i] == second[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut marked) = (0, 0, Vec::new());
    while i < first.len() || j < second.len() {
        if i < first.len() && j < second.len() && first[i] == second[j] {
            marked.push((' ', first[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == second.len() || (i < first.len() && common[i + 1][j] >= common[i][j + 1]) {
            marked.push(('-', first[i]));
            i += 1;
        } else {
            marked.push(('+', second[j]));
            j += 1;
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_are_shown_once() {
        let marked = lines("a\nb\nc\n", "a\nx\nc\nd\n");
        assert_eq!(marked, [(' ', "a"), ('-', "b"), ('+', "x"), (' ', "c"), ('+', "d")]);
    }

    #[test]
    fn errors_are_compared_by_reason_field_and_kind() {
        let recording = |output: &str| Recording {
            runs: vec![Run { command: "kubectl create".to_owned(), exit: 1, output: output.to_owned() }],
        };
        let differs =
            |first: &str, second: &str| !compare("create", &recording(first), &recording(second)).is_empty();
        assert!(!differs("Error from server (BadRequest): a\n", "Error from server (BadRequest): b\n"));
        assert!(differs("Error from server (BadRequest): a\n", "Error from server (Invalid): a\n"));
        assert!(!differs("* spec.a: Invalid value: 1: no\n", "* spec.a: Invalid value: 1.0: not so\n"));
        assert!(differs("* spec.a: Invalid value: 1: no\n", "* spec.b: Invalid value: 1: no\n"));
        assert!(differs("configmap/a created\n", "configmap/b created\n"));
        assert!(differs("Error from server (NotFound): a not found\n", "Error from server (NotFound): a\n"));
    }

    #[test]
    fn a_missing_command_is_a_difference() {
        let run = Run { command: "kubectl version".to_owned(), ..Run::default() };
        let found = compare("version", &Recording { runs: vec![run] }, &Recording::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "--- version\n-$ kubectl version\n");
    }
}
