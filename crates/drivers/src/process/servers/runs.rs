//! The runs of one server: a folder for each of the last few, by number.

use std::{collections::BTreeMap, fs, io, path::PathBuf, time::Duration};

use crate::process::{self, Launcher, LogLimits, Order, State};

/// How many runs are kept, for their logs.
const KEPT: usize = 3;
/// How long a server may take to stop before it is ended by force.
const GRACE: Duration = Duration::from_secs(20);
/// How soon a supervisor that has not yet said who it is is looked at again.
const AGAIN: Duration = Duration::from_millis(10);

/// The runs of one server.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// Where they are.
    pub(super) folder: PathBuf,
    /// What starts them.
    pub(super) launcher: Launcher,
}

impl Runs {
    /// The run that is going on, whoever started it. What is left of one whose supervisor was killed is ended.
    pub(super) async fn running(&self) -> io::Result<Option<PathBuf>> {
        loop {
            let Some(last) = self.numbers().last().map(|number| self.path(*number)) else { return Ok(None) };
            match process::find(&last)? {
                State::Running(_) => return Ok(Some(last)),
                State::Starting => tokio::time::sleep(AGAIN).await,
                State::Ended(_) => return Ok(None),
                State::Lost(_) => {
                    process::sweep(&last).await?;
                    return Ok(None);
                }
                State::Absent => process::run::take_away(&last)?,
            }
        }
    }

    /// Starts another run.
    pub(super) async fn start(&self, words: Vec<String>) -> Result<PathBuf, String> {
        let folder = self.path(self.numbers().last().copied().unwrap_or_default() + 1);
        let mut words = words.into_iter();
        let order = Order {
            run: folder.display().to_string(),
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            environment: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
            directory: "/".into(),
            files: Vec::new(),
            mounts: Vec::new(),
            groups: Vec::new(),
            grace: GRACE,
            logs: LogLimits::default(),
        };
        fs::create_dir_all(&folder).map_err(|error| format!("its folder could not be made: {error}"))?;
        self.launcher.launch(&folder, &order).await.map_err(|error| error.to_string())?;
        self.prune();
        Ok(folder)
    }

    fn prune(&self) {
        for old in self.numbers().iter().rev().skip(KEPT) {
            if let Err(error) = fs::remove_dir_all(self.path(*old)) {
                tracing::warn!(folder = %self.folder.display(), %error, "an old run could not be removed");
            }
        }
    }

    /// The numbers of the runs that are there, the last one last.
    fn numbers(&self) -> Vec<u64> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut numbers: Vec<_> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(number.to_string())
    }
}
