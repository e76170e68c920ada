//! File of the audit log: private, appended to, rotated by size.

use std::{
    fs::{self, File, Metadata},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Options of a file.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// Path of the current file; older ones have numbers after it, 1 for the newest.
    pub path: PathBuf,
    /// Bytes after which a new file begins.
    pub max_bytes: u64,
    /// Number of files, with the current one.
    pub max_files: usize,
}

/// Destination of lines.
pub(super) trait Sink: Send + 'static {
    /// Writes lines; or else returns how many bytes of them were written.
    fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)>;
}

/// Rotated file. Another process may rename or remove it at any time; then it is made again.
#[derive(Debug)]
pub(super) struct RotatedFile {
    options: FileOptions,
    open: Option<File>,
    /// The file ends within a line, after a failed write or a kill.
    is_torn: bool,
}

impl RotatedFile {
    /// Opens or creates the file.
    pub(super) fn open(options: FileOptions) -> io::Result<Self> {
        let file = open(&options.path)?;
        let is_torn = ends_within_a_line(&file)?;
        Ok(Self { options, open: Some(file), is_torn })
    }

    /// The file with room for some bytes.
    fn prepare(&mut self, bytes: u64) -> io::Result<&mut File> {
        let found = match fs::symlink_metadata(&self.options.path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let ours = self.open.as_ref().map(File::metadata).transpose()?;
        let mut is_same = matches!((&found, &ours), (Some(found), Some(ours)) if is_same_file(found, ours));
        let size = found.map_or(0, |found| found.len());
        if is_same && size > 0 && size.saturating_add(bytes) > self.options.max_bytes {
            self.rotate()?;
            is_same = false;
        }
        if !is_same {
            self.open = None;
        }
        match &mut self.open {
            Some(file) => Ok(file),
            closed => {
                let file = open(&self.options.path)?;
                self.is_torn = ends_within_a_line(&file)?;
                Ok(closed.insert(file))
            }
        }
    }

    /// Renames the files, the oldest first; it is replaced by the next one. A crash leaves a gap in the numbers at most.
    fn rotate(&mut self) -> io::Result<()> {
        let numbered = |number: usize| -> PathBuf {
            if number == 0 {
                return self.options.path.clone();
            }
            self.options.path.with_added_extension(number.to_string())
        };
        let oldest = self.options.max_files.saturating_sub(1);
        if oldest == 0 {
            return fs::remove_file(&self.options.path);
        }
        for number in (0..oldest).rev() {
            match fs::rename(numbered(number), numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Sink for RotatedFile {
    fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        self.prepare(lines.len() as u64).map_err(|error| (0, error))?;
        let is_torn = self.is_torn;
        let Some(file) = &mut self.open else { return Err((0, io::ErrorKind::NotFound.into())) };
        if is_torn {
            file.write_all(b"\n").map_err(|error| (0, error))?;
            self.is_torn = false;
        }
        let written = write_to(file, lines);
        if let Err((written, _)) = &written {
            self.is_torn = lines[..*written].last().is_some_and(|last| *last != b'\n');
        }
        written
    }
}

impl Drop for RotatedFile {
    fn drop(&mut self) {
        if let Some(file) = &self.open {
            let _ = file.sync_data();
        }
    }
}

/// Standard output.
#[derive(Debug)]
pub(super) struct Stdout;

impl Sink for Stdout {
    fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut out = io::stdout().lock();
        write_to(&mut out, lines)?;
        out.flush().map_err(|error| (lines.len(), error))
    }
}

fn write_to(out: &mut impl Write, lines: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut written = 0;
    while let Some(rest) = lines.get(written..).filter(|rest| !rest.is_empty()) {
        match out.write(rest) {
            Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((written, error)),
        }
    }
    Ok(())
}

/// Opens a file to append to; a new one is private. A link could lead to a file of somebody else.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    // Opening a pipe would wait for its reader.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let opened =
        File::options().read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let file = match opened {
        Err(_) if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) => {
            return Err(io::Error::other("it is a symbolic link; remove it, or choose another file"));
        }
        opened => opened?,
    };
    check(file)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    check(File::options().read(true).append(true).create(true).open(path)?)
}

fn check(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file; choose another one"))
    }
}

fn ends_within_a_line(file: &File) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    let mut file = file;
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests;
