//! Input files: read errors become diagnostics.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use orchestra_score::{Code, Diagnostic, Location, Pointer, Source, yaml::limits};

const BINARY: &str = "it contains NUL bytes, and is probably a binary file";

/// Reads a file, or standard input for `-`.
pub(super) fn read(path: &Path) -> Result<Source, Box<Diagnostic>> {
    let name = name(path);
    let bytes = match path.to_str() {
        Some("-") => bounded(io::stdin().lock()),
        _ => fs::metadata(path).and_then(|metadata| {
            if metadata.is_dir() {
                Err(io::Error::from(io::ErrorKind::IsADirectory))
            } else {
                fs::File::open(path).and_then(bounded)
            }
        }),
    };
    let bytes = bytes.map_err(|error| Box::new(unreadable(path, &name, &error)))?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Source::new(name, text)),
        Ok(_) => Err(Box::new(not_text(&name, BINARY))),
        Err(error) => {
            let bytes = error.as_bytes();
            let why = if bytes.contains(&0)
                && !bytes.starts_with(&[0xff, 0xfe])
                && !bytes.starts_with(&[0xfe, 0xff])
            {
                BINARY.to_owned()
            } else if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
                "it is UTF-16 encoded".to_owned()
            } else {
                let valid = error.utf8_error().valid_up_to();
                let before = Source::new("", String::from_utf8_lossy(&bytes[..valid]));
                let Location { line, column } = before.location(valid);
                format!("invalid byte on line {line}, column {column}")
            };
            Err(Box::new(not_text(&name, &why)))
        }
    }
}

/// Reads a text file of at most the size of a Score file.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let bytes = fs::File::open(path).and_then(bounded)?;
    if bytes.len() > limits::BYTES {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// File name for messages.
pub(super) fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "<stdin>".to_owned(),
        _ => path.display().to_string(),
    }
}

/// Reads at most one byte more than the limit: a longer file is detected, and an endless one does no harm.
fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limits::BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limits::BYTES {
        // The cut may split a character; only the length matters from here.
        bytes.truncate(limits::BYTES + 1);
        bytes.fill(b' ');
    }
    Ok(bytes)
}

fn unreadable(path: &Path, name: &str, error: &io::Error) -> Diagnostic {
    let (why, hint) = match error.kind() {
        io::ErrorKind::NotFound if path == Path::new("score.yaml") => (
            "file not found: score.yaml (in the current directory)".to_owned(),
            "pass the path of a Score file, or create a sample with `orchestra init`".to_owned(),
        ),
        io::ErrorKind::NotFound => (format!("file not found: {name}"), "check the path".to_owned()),
        io::ErrorKind::IsADirectory => (
            format!("{name} is a directory"),
            format!("pass the file in it, such as {}", path.join("score.yaml").display()),
        ),
        io::ErrorKind::PermissionDenied => {
            (format!("permission denied: {name}"), "check the permissions of the file".to_owned())
        }
        _ => (format!("cannot read {name}: {error}"), "check the file".to_owned()),
    };
    Diagnostic::error(Code::UnreadableFile, Pointer::root(), None, why, hint)
}

fn not_text(name: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        Code::NotText,
        Pointer::root(),
        None,
        format!("{name} is not valid UTF-8: {why}"),
        "save the file as UTF-8; a Score file is YAML or JSON",
    )
}
