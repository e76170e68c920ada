//! Machine that the installer runs on: the programs in `PATH`, its architecture, and a server to download from.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

use crate::release::Release;

/// Programs of every machine.
const TOOLS: &[&str] =
    &["awk", "cat", "chmod", "cp", "cut", "grep", "gzip", "mkdir", "mktemp", "mv", "rm", "sh", "tar"];

/// Downloader for machines without the real one: takes the file from the folder of the release.
const FAKE_DOWNLOADER: &str = "#!/bin/sh
while [ $# -gt 0 ]; do
  case \"$1\" in --output | -O) out=$2; shift ;; http*) url=$1 ;; esac
  shift
done
[ -z \"$url\" ] || cp \"RELEASE/${url##*/}\" \"$out\"
";

pub(crate) struct Machine<'a> {
    release: &'a Release,
    base: String,
    target: Option<&'static str>,
}

impl<'a> Machine<'a> {
    /// x86-64 machine with curl and sha256sum, and the release in a folder.
    pub(crate) fn new(release: &'a Release) -> Self {
        let base = format!("file://{}", release.files().display());
        let machine = Self { release, base, target: None };
        fs::create_dir_all(machine.programs()).unwrap();
        machine.has(&[TOOLS, &["sha256sum", "curl"]].concat());
        machine.is("Linux", "x86_64");
        machine
    }

    fn programs(&self) -> PathBuf {
        self.release.folder().join("programs")
    }

    /// Puts programs of this machine into `PATH`.
    pub(crate) fn has(&self, names: &[&str]) {
        for name in names {
            let place = self.programs().join(name);
            let path = std::env::var_os("PATH").unwrap();
            let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
            match found.find(|path| path.is_file()) {
                Some(path) => symlink(path, place).unwrap(),
                None if ["curl", "wget"].contains(name) => {
                    let files = self.release.files();
                    program(&place, &FAKE_DOWNLOADER.replace("RELEASE", files.to_str().unwrap()));
                }
                None => panic!("this test needs {name}"),
            }
        }
    }

    pub(crate) fn lacks(&self, name: &str) {
        fs::remove_file(self.programs().join(name)).unwrap();
    }

    /// Sets system and architecture.
    pub(crate) fn is(&self, system: &str, architecture: &str) {
        let script = format!("#!/bin/sh\n[ \"$1\" = -s ] && echo {system} || echo {architecture}\n");
        program(&self.programs().join("uname"), &script);
    }

    /// Release that is downloaded from a server.
    pub(crate) fn over_http(self) -> Self {
        let base = format!("http://{}", serve(self.release.files()));
        Self { base, ..self }
    }

    pub(crate) fn with_target(self, target: &'static str) -> Self {
        Self { target: Some(target), ..self }
    }

    pub(crate) fn prefix(&self) -> PathBuf {
        self.release.folder().join("a prefix")
    }

    /// Runs the installer as a user whose files are private.
    pub(crate) fn install(&self) -> Output {
        let mut command = Command::new(self.programs().join("sh"));
        command.args(["-c", "umask 077; sh \"$0/install.sh\""]).arg(self.release.files());
        command.env_clear().env("PATH", self.programs());
        command.env("ORCHESTRA_BASE_URL", &self.base).env("PREFIX", self.prefix());
        command.envs(self.target.map(|target| ("ORCHESTRA_TARGET", target)));
        // Its temporary files.
        let temporary = self.release.folder().join("tmp");
        fs::create_dir_all(&temporary).unwrap();
        let output = command.env("TMPDIR", &temporary).output().unwrap();
        let left: Vec<_> = fs::read_dir(temporary).unwrap().collect();
        assert!(left.is_empty(), "temporary files are left: {left:?}");
        output
    }
}

fn program(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Serves a folder until the end of the process, and returns the address.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let request = lines.next().unwrap_or_default();
            // Up to the end of the header, so that the client does not see a reset.
            let _ = lines.find(String::is_empty);
            let path = request.split(' ').nth(1).unwrap_or_default();
            let answer = match fs::read(folder.join(path.trim_start_matches('/'))) {
                Ok(file) => [b"HTTP/1.0 200 OK\r\n\r\n".as_slice(), &file].concat(),
                Err(_) => b"HTTP/1.0 404 Not Found\r\n\r\n".to_vec(),
            };
            let _ = stream.write_all(&answer);
        }
    });
    address
}
