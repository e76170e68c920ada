//! redis: one server for each instance, in a folder of its own; or a compatible server.
//!
//! | in the folder | content |
//! |---|---|
//! | `server.conf` | configuration with the password, readable by the user alone |
//! | `data` | data of the server |
//! | `port.json` | saved port |
//! | `runs` | last runs, with their logs |

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
};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::Command,
    time::timeout,
};

use super::{
    READY_CHECK_TIMEOUT, ServerStatus,
    not_installed::NotInstalled,
    server_supervisor::{ServerProgram, ServerStage, ServerSupervisor, StartError, starting},
};
use crate::{NamespacedName, SecretText, notify::Notifier, process::Launcher};

const NAME: &str = "redis";
/// Programs, the best first.
const PROGRAMS: [&str; 3] = ["redis-server", "valkey-server", "keydb-server"];

/// Commands that users may run: none that change or stop the server, as a user of a cache may be no user of this machine. Those
/// that client libraries run when they connect, and for their metrics, are given back.
const ALLOWED_COMMANDS: &str =
    "+@all -@admin +client +config|get +cluster|info +cluster|nodes +cluster|slots +latency +role +slowlog";

/// All caches.
#[derive(Debug)]
pub(super) struct Caches {
    folder: PathBuf,
    launcher: Launcher,
    notifier: Notifier,
    all: Mutex<BTreeMap<NamespacedName, (Cache, ServerSupervisor)>>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cache {
    folder: PathBuf,
    version: Option<String>,
    /// `None` for a cache that is only stopped.
    password: Option<SecretText>,
}

impl Caches {
    pub(super) fn new(folder: PathBuf, launcher: Launcher, notifier: Notifier) -> Self {
        Self { folder, launcher, notifier, all: Mutex::default() }
    }

    pub(super) fn ensure(
        &self,
        id: &NamespacedName,
        version: Option<&str>,
        password: &SecretText,
    ) -> ServerStatus {
        let cache = Cache {
            folder: self.folder_of(id),
            version: version.map(ToOwned::to_owned),
            password: Some(password.clone()),
        };
        let mut all = self.all();
        let supervisor = match all.get(id) {
            Some((current, supervisor)) if *current == cache => supervisor,
            // A supervisor with another password adopts the server and restarts it.
            _ => {
                let supervisor = self.supervise(id, &cache, true);
                &all.entry(id.clone()).insert_entry((cache, supervisor)).into_mut().1
            }
        };
        supervisor.set_wanted(true);
        match supervisor.stage() {
            ServerStage::Starting(why) => ServerStatus::Starting(why),
            ServerStage::Up { port } => ServerStatus::Up { port },
            ServerStage::Down(why) => ServerStatus::Down(why),
            ServerStage::Unavailable(why) => ServerStatus::Unavailable(why),
            ServerStage::Stopped => ServerStatus::Starting(starting(NAME)),
        }
    }

    pub(super) async fn release(&self, id: &NamespacedName, data: bool) -> bool {
        let folder = self.folder_of(id);
        {
            let mut all = self.all();
            if !all.contains_key(id) && !folder.exists() {
                return true;
            }
            let (_, supervisor) = all.entry(id.clone()).or_insert_with(|| {
                let cache = Cache { folder: folder.clone(), version: None, password: None };
                let supervisor = self.supervise(id, &cache, false);
                (cache, supervisor)
            });
            supervisor.set_wanted(false);
            if supervisor.stage() != ServerStage::Stopped {
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
                self.notifier.notify(id);
                false
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<NamespacedName, (Cache, ServerSupervisor)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder_of(&self, (namespace, instance): &NamespacedName) -> PathBuf {
        self.folder.join(namespace).join(instance).join(NAME)
    }

    fn supervise(&self, id: &NamespacedName, cache: &Cache, wanted: bool) -> ServerSupervisor {
        let (notifier, instance) = (self.notifier.clone(), id.clone());
        let program: Arc<dyn ServerProgram> = Arc::new(cache.clone());
        ServerSupervisor::start(program, cache.folder.clone(), &self.launcher, wanted, move || {
            notifier.notify(&instance);
        })
    }
}

impl Cache {
    async fn make_ready(&self, port: u16) -> Result<Vec<String>, StartError> {
        let program = find(self.version.as_deref()).await?;
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
            "bind 127.0.0.1\nport {port}\nprotected-mode yes\nuser default on {} ~* &* {ALLOWED_COMMANDS}\nappendonly yes\n\
             save \"\"\ndir {}\n",
            // The sign `>` adds a password.
            quoted(&[b">", password].concat()),
            quoted(self.folder.join("data").as_os_str().as_encoded_bytes()),
        )
    }

    /// True if it accepts the password and responds.
    async fn ping(&self, port: u16) -> io::Result<bool> {
        let password = self.password.as_ref().map(SecretText::expose).unwrap_or_default();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.write_all(&[request(&[b"AUTH", password]), request(&[b"PING"])].concat()).await?;
        let mut output = [0; b"+OK\r\n+PONG\r\n".len()];
        stream.read_exact(&mut output).await?;
        Ok(output == *b"+OK\r\n+PONG\r\n")
    }
}

impl ServerProgram for Cache {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self, port: u16) -> BoxFuture<'_, Result<Vec<String>, StartError>> {
        Box::pin(self.make_ready(port))
    }

    fn is_ready(&self, port: u16) -> BoxFuture<'_, bool> {
        Box::pin(async move { matches!(timeout(READY_CHECK_TIMEOUT, self.ping(port)).await, Ok(Ok(true))) })
    }

    fn is_current(&self, port: u16) -> bool {
        fs::read_to_string(self.settings_file()).is_ok_and(|settings| settings == self.settings(port))
    }

    fn stop_fast(&self, _run: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// Request in the protocol of redis.
fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend(format!("${}\r\n", word.len()).into_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    request
}

/// Quoted value of the configuration.
fn quoted(value: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-_./".contains(byte) {
            quoted.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(quoted, "\\x{byte:02x}");
        }
    }
    quoted.push('"');
    quoted
}

/// Program of a version, or of any.
async fn find(wanted: Option<&str>) -> Result<PathBuf, NotInstalled> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let programs: Vec<_> =
        PROGRAMS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).collect();
    let mut found = Vec::new();
    for program in programs {
        if program.is_file()
            && let Some(version) = query_version(&program).await
        {
            found.push((program, version));
        }
    }
    choose(found, wanted)
}

fn choose(found: Vec<(PathBuf, u32)>, wanted: Option<&str>) -> Result<PathBuf, NotInstalled> {
    if found.is_empty() {
        return Err(NotInstalled::Absent { server: NAME, apt: "redis-server", brew: "redis" });
    }
    let installed: Vec<_> = found.iter().map(|(_, version)| version.to_string()).collect();
    let major = wanted.map(|wanted| wanted.split('.').next().unwrap_or_default());
    let matches = |(_, version): &(PathBuf, u32)| major.is_none_or(|major| major == version.to_string());
    found.into_iter().find(matches).map(|(program, _)| program).ok_or_else(|| NotInstalled::Version {
        server: NAME,
        wanted: wanted.unwrap_or_default().to_owned(),
        installed: installed.join(", "),
    })
}

/// Major version of a program, from its `--version`.
async fn query_version(program: &Path) -> Option<u32> {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.ok()?;
    version(&String::from_utf8_lossy(&output.stdout))
}

/// Major version in `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc`.
fn version(output: &str) -> Option<u32> {
    let number = output.split_ascii_whitespace().find_map(|word| word.strip_prefix("v="))?;
    number.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_quoted() {
        assert_eq!(quoted(b"aZ09-_./"), "\"aZ09-_./\"");
        assert_eq!(quoted(b"a\"\n \xff"), r#""a\x22\x0a\x20\xff""#);
    }

    #[test]
    fn requests_have_their_length_prefix() {
        assert_eq!(request(&[b"AUTH", b"a b"]), b"*2\r\n$4\r\nAUTH\r\n$3\r\na b\r\n");
    }

    #[test]
    fn a_missing_version_is_named_with_the_remedy() {
        assert!(
            choose(Vec::new(), None)
                .unwrap_err()
                .to_string()
                .starts_with("redis is not installed on this machine: install it")
        );
        let found = || vec![(PathBuf::from("/a"), 8), (PathBuf::from("/b"), 7)];
        assert_eq!(choose(found(), None), Ok("/a".into()));
        assert_eq!(choose(found(), Some("7.2")), Ok("/b".into()));
        assert_eq!(
            choose(found(), Some("6")).unwrap_err().to_string(),
            "redis 6 is not installed on this machine, which has 8, 7: install it, or set the parameter `version` to an installed one."
        );
    }

    #[test]
    fn versions_of_programs_are_parsed() {
        assert_eq!(version("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"), Some(7));
        assert_eq!(version("Valkey server v=8.1.0 sha=0"), Some(8));
        assert_eq!(version("something else"), None);
    }

    #[test]
    fn a_server_with_another_password_is_not_current() {
        let folder = tempfile::tempdir().unwrap();
        let cache = |password: &str| Cache {
            folder: folder.path().to_owned(),
            version: None,
            password: Some(SecretText::new(password.into())),
        };
        assert!(!cache("a").is_current(1));
        fs::write(cache("a").settings_file(), cache("a").settings(1)).unwrap();
        assert!(cache("a").is_current(1));
        assert!(!cache("a").is_current(2) && !cache("b").is_current(1));
    }
}
