//! Release of a program that is a script.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use tempfile::TempDir;

/// Target of the release, whatever this machine is.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";

pub(crate) fn dist(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["dist", "--allow-dirty"])
        .args(arguments)
        .output()
        .unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// Files of a release, made once. The folder is in the target folder, and a later run replaces it.
static FILES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (program, out) = (folder.join("program"), folder.join("release"));
    fs::write(&program, "#!/bin/sh\necho \"program $*\"\n").unwrap();
    let (program, files) = (program.to_str().unwrap(), out.to_str().unwrap());
    let made = dist(&["--target", TARGET, "--program", program, "--image-program", program, "--out", files]);
    assert!(made.status.success(), "{}", text(&made));
    out
});

/// Copy of the release, which a test may change.
pub(crate) struct Release(TempDir);

impl Release {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("release");
        fs::create_dir(&files).unwrap();
        for entry in fs::read_dir(&*FILES).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), files.join(entry.file_name())).unwrap();
        }
        Self(folder)
    }

    /// Folder of the test.
    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.folder().join("release")
    }

    /// Name of the tarball without its ending, which is the name of the folder in it.
    pub(crate) fn name() -> String {
        format!("orchestra-{}-{TARGET}", env!("CARGO_PKG_VERSION"))
    }

    pub(crate) fn tarball(&self) -> PathBuf {
        self.files().join(format!("{}.tar.gz", Self::name()))
    }

    /// Replaces the tarball, in the installer's checksums, too.
    pub(crate) fn replace_tarball(&self, content: &[u8]) {
        let before = sha256(&self.tarball());
        fs::write(self.tarball(), content).unwrap();
        let script = self.files().join("install.sh");
        let patched = fs::read_to_string(&script).unwrap().replace(&before, &sha256(&self.tarball()));
        fs::write(script, patched).unwrap();
    }

    /// Replaces the program in the tarball.
    pub(crate) fn replace_program(&self, script: &str) {
        let unpacked = self.folder().join("unpacked");
        fs::create_dir(&unpacked).unwrap();
        let tar = |arguments: &[&str]| {
            let status = Command::new("tar").args(arguments).current_dir(&unpacked).status().unwrap();
            assert!(status.success(), "tar {arguments:?}");
        };
        tar(&["-xzf", self.tarball().to_str().unwrap()]);
        fs::write(unpacked.join(Self::name()).join("bin/orchestra"), script).unwrap();
        tar(&["-czf", "../changed.tar.gz", &Self::name()]);
        self.replace_tarball(&fs::read(self.folder().join("changed.tar.gz")).unwrap());
    }
}

fn sha256(file: &Path) -> String {
    let sum = Command::new("sha256sum").arg(file).output().unwrap();
    text(&sum).split(' ').next().unwrap().to_owned()
}
