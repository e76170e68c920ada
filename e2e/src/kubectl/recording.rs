//! Recording of kubectl's output on a server.

use std::{fmt, fs, path::Path};

use super::Error;

/// Commands of a script with their normalised output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// One entry per command, in order.
    pub runs: Vec<Run>,
}

/// Command and its result.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Run {
    /// Shell command.
    pub command: String,
    /// Exit code.
    pub exit: i32,
    /// Stdout and stderr, in whole lines.
    pub output: String,
}

impl Recording {
    /// Reads a stored recording.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let mut runs: Vec<Run> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if let Some(command) = line.strip_prefix("$ ") {
                runs.push(Run { command: command.to_owned(), ..Run::default() });
                continue;
            }
            let run = runs.last_mut().ok_or_else(|| Error::NoCommand(path.to_owned(), number + 1))?;
            let (mark, rest) = line.split_at_checked(1).unwrap_or_default();
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            match mark {
                ">" => {
                    run.command.push('\n');
                    run.command.push_str(rest);
                }
                "?" => run.exit = rest.parse().unwrap_or(-1),
                "|" => {
                    run.output.push_str(rest);
                    run.output.push('\n');
                }
                _ => {}
            }
        }
        Ok(Self { runs })
    }

    /// Stores the recording.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        fs::write(path, self.to_string()).map_err(Error::file(path))
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.runs.iter().try_for_each(|run| writeln!(formatter, "{run}"))
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in self.command.lines().enumerate() {
            marked(formatter, if number == 0 { '$' } else { '>' }, line)?;
        }
        if self.exit != 0 {
            marked(formatter, '?', &self.exit.to_string())?;
        }
        self.output.lines().try_for_each(|line| marked(formatter, '|', line))
    }
}

/// Line with its mark, without a trailing space if it is empty.
fn marked(formatter: &mut fmt::Formatter<'_>, mark: char, line: &str) -> fmt::Result {
    let blank = if line.is_empty() { "" } else { " " };
    writeln!(formatter, "{mark}{blank}{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_round_trip() {
        let run = Run {
            command: "kubectl create -f - <<END\nkind: Teapot\n\nEND".to_owned(),
            exit: 1,
            output: "error: no\n\n  $ teapot\n".to_owned(),
        };
        let recording = Recording { runs: vec![run, Run { command: "true".to_owned(), ..Run::default() }] };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording.txt");
        recording.write(&path).unwrap();
        assert_eq!(Recording::read(&path).unwrap(), recording);
    }
}
