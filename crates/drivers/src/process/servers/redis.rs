//! redis: one server for each instance, in a folder of its own; or one of those that speak the same language.
//!
//! | in the folder | what it is |
//! |---|---|
//! | `server.conf` | how it is set, with its password; for the user alone |
//! | `data` | what it keeps |
//! | `port.json` | where it listens |
//! | `runs` | its last runs, with their logs |

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write as _},
    net::Ipv4Addr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::Command,
    time::timeout,
};

use super::{
    Id, Standing,
    attendant::{Attendant, Program, Stage, Trouble, starting},
    runs::Runs,
};
use crate::{SecretText, news::News, process::Launcher};

const NAME: &str = "redis";
/// The programs, the best first.
const PROGRAMS: [&str; 3] = ["redis-server", "valkey-server", "keydb-server"];
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(2);

/// All caches.
#[derive(Debug)]
pub(super) struct Caches {
    folder: PathBuf,
    launcher: Launcher,
    news: News,
    all: Mutex<BTreeMap<Id, (Cache, Attendant)>>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cache {
    folder: PathBuf,
    version: Option<String>,
    /// None, if it is only to be stopped.
    password: Option<SecretText>,
}

impl Caches {
    pub(super) fn new(folder: PathBuf, launcher: Launcher, news: News) -> Self {
        Self { folder, launcher, news, all: Mutex::default() }
    }

    pub(super) fn ensure(&self, id: &Id, version: Option<&str>, password: &SecretText) -> Standing {
        let cache = Cache {
            folder: self.home(id),
            version: version.map(ToOwned::to_owned),
            password: Some(password.clone()),
        };
        let mut all = self.all();
        let attendant = match all.get(id) {
            Some((known, attendant)) if *known == cache => attendant,
            // One with another password finds the server and starts it anew.
            _ => {
                let attendant = self.attend(id, &cache, true);
                &all.entry(id.clone()).insert_entry((cache, attendant)).into_mut().1
            }
        };
        attendant.want(true);
        match attendant.stage() {
            Stage::Starting(why) => Standing::Starting(why),
            Stage::Up { port } => Standing::Up { port },
            Stage::Down(why) => Standing::Down(why),
            Stage::Lacking(why) => Standing::Lacking(why),
            Stage::Stopped => Standing::Starting(starting(NAME)),
        }
    }

    pub(super) async fn release(&self, id: &Id, data: bool) -> bool {
        let folder = self.home(id);
        {
            let mut all = self.all();
            if !all.contains_key(id) && !folder.exists() {
                return true;
            }
            let (_, attendant) = all.entry(id.clone()).or_insert_with(|| {
                let cache = Cache { folder: folder.clone(), version: None, password: None };
                let attendant = self.attend(id, &cache, false);
                (cache, attendant)
            });
            attendant.want(false);
            if attendant.stage() != Stage::Stopped {
                return false;
            }
            all.remove(id);
        }
        if !data {
            return true;
        }
        let removed = tokio::task::spawn_blocking(move || fs::remove_dir_all(folder)).await;
        match removed.map_err(io::Error::other).flatten() {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => {
                tracing::warn!(%error, "the data of a cache could not be removed");
                self.news.tell(id);
                false
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Id, (Cache, Attendant)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn home(&self, (namespace, instance): &Id) -> PathBuf {
        self.folder.join(namespace).join(instance).join(NAME)
    }

    fn attend(&self, id: &Id, cache: &Cache, wanted: bool) -> Attendant {
        let runs = Runs { folder: cache.folder.join("runs"), launcher: self.launcher.clone() };
        let (news, told) = (self.news.clone(), id.clone());
        let program: Arc<dyn Program> = Arc::new(cache.clone());
        Attendant::begin(program, cache.folder.clone(), runs, wanted, move || news.tell(&told))
    }
}

impl Cache {
    async fn make_ready(&self, port: u16) -> Result<Vec<String>, Trouble> {
        let program = find(self.version.as_deref()).await.map_err(Trouble::Lacking)?;
        fs::create_dir_all(self.folder.join("data"))?;
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o600).open(self.settings_file())?;
        file.write_all(self.settings(port).as_bytes())?;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        Ok(vec![path(&program), path(&self.settings_file())])
    }

    fn settings_file(&self) -> PathBuf {
        self.folder.join("server.conf")
    }

    fn settings(&self, port: u16) -> String {
        let password = self.password.as_ref().map(SecretText::expose).unwrap_or_default();
        format!(
            "bind 127.0.0.1\nport {port}\nprotected-mode yes\nrequirepass {}\nappendonly yes\nsave \"\"\ndir {}\n",
            quoted(password),
            quoted(self.folder.join("data").as_os_str().as_encoded_bytes()),
        )
    }

    /// Whether it lets us in and answers.
    async fn ping(&self, port: u16) -> io::Result<bool> {
        let password = self.password.as_ref().map(SecretText::expose).unwrap_or_default();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.write_all(&[request(&[b"AUTH", password]), request(&[b"PING"])].concat()).await?;
        let mut said = [0; b"+OK\r\n+PONG\r\n".len()];
        stream.read_exact(&mut said).await?;
        Ok(said == *b"+OK\r\n+PONG\r\n")
    }
}

impl Program for Cache {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self, port: u16) -> BoxFuture<'_, Result<Vec<String>, Trouble>> {
        Box::pin(self.make_ready(port))
    }

    fn answers(&self, port: u16) -> BoxFuture<'_, bool> {
        Box::pin(async move { matches!(timeout(ANSWER, self.ping(port)).await, Ok(Ok(true))) })
    }

    fn fits(&self, port: u16) -> bool {
        fs::read_to_string(self.settings_file()).is_ok_and(|settings| settings == self.settings(port))
    }

    fn hasten(&self, _run: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// A request in the language of redis.
fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend(format!("${}\r\n", word.len()).into_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    request
}

/// A value in the settings, whatever is in it.
fn quoted(value: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-_./".contains(byte) {
            quoted.push(char::from(*byte));
        } else {
            // Writing to a text does not fail.
            let _ = write!(quoted, "\\x{byte:02x}");
        }
    }
    quoted.push('"');
    quoted
}

/// The program of a version, or any; otherwise what to do, in a sentence.
async fn find(wanted: Option<&str>) -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let programs: Vec<_> =
        PROGRAMS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).collect();
    let mut found = Vec::new();
    for program in programs {
        if program.is_file()
            && let Some(version) = ask(&program).await
        {
            found.push((program, version));
        }
    }
    choose(found, wanted)
}

fn choose(found: Vec<(PathBuf, u32)>, wanted: Option<&str>) -> Result<PathBuf, String> {
    if found.is_empty() {
        return Err("redis is not installed on this machine: install it (Debian, Ubuntu: `apt install redis-server`; macOS: `brew install redis`), or let the platform team choose another engine for it.".to_owned());
    }
    let there: Vec<_> = found.iter().map(|(_, version)| version.to_string()).collect();
    let major = wanted.map(|wanted| wanted.split('.').next().unwrap_or_default());
    let fits = |(_, version): &(PathBuf, u32)| major.is_none_or(|major| major == version.to_string());
    found.into_iter().find(fits).map(|(program, _)| program).ok_or_else(|| {
        format!(
            "redis {} is not installed on this machine, which has {}: install it, or ask for a version that is there.",
            wanted.unwrap_or_default(),
            there.join(", "),
        )
    })
}

/// Which major version a program is of, by its own word.
async fn ask(program: &Path) -> Option<u32> {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let said = command.output().await.ok()?;
    version(&String::from_utf8_lossy(&said.stdout))
}

/// The major version in what a program says, like `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc`.
fn version(said: &str) -> Option<u32> {
    let number = said.split_ascii_whitespace().find_map(|word| word.strip_prefix("v="))?;
    number.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_password_ends_its_line() {
        assert_eq!(quoted(b"aZ09-_./"), "\"aZ09-_./\"");
        assert_eq!(quoted(b"a\"\n \xff"), r#""a\x22\x0a\x20\xff""#);
    }

    #[test]
    fn requests_are_counted() {
        assert_eq!(request(&[b"AUTH", b"a b"]), b"*2\r\n$4\r\nAUTH\r\n$3\r\na b\r\n");
    }

    #[test]
    fn what_is_missing_is_told_with_the_remedy() {
        assert!(
            choose(Vec::new(), None)
                .unwrap_err()
                .starts_with("redis is not installed on this machine: install it")
        );
        let found = || vec![(PathBuf::from("/a"), 8), (PathBuf::from("/b"), 7)];
        assert_eq!(choose(found(), None), Ok("/a".into()));
        assert_eq!(choose(found(), Some("7.2")), Ok("/b".into()));
        assert_eq!(
            choose(found(), Some("6")).unwrap_err(),
            "redis 6 is not installed on this machine, which has 8, 7: install it, or ask for a version that is there."
        );
    }

    #[test]
    fn versions_are_read_from_what_programs_say() {
        assert_eq!(version("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"), Some(7));
        assert_eq!(version("Valkey server v=8.1.0 sha=0"), Some(8));
        assert_eq!(version("something else"), None);
    }

    #[test]
    fn a_server_whose_password_has_changed_does_not_fit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = |password: &str| Cache {
            folder: folder.path().to_owned(),
            version: None,
            password: Some(SecretText::new(password.into())),
        };
        assert!(!cache("a").fits(1));
        fs::write(cache("a").settings_file(), cache("a").settings(1)).unwrap();
        assert!(cache("a").fits(1));
        assert!(!cache("a").fits(2) && !cache("b").fits(1));
    }
}
