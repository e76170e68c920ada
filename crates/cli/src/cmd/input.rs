//! Reading files that people name: everything that can be wrong with them gets a finding like any other.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use orchestra_score::{Code, Diagnostic, Pointer, Source, yaml::limits};

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
        Ok(_) => Err(Box::new(not_text(&name, "it holds zero bytes"))),
        Err(error) => {
            let bytes = error.as_bytes();
            let why = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
                "it is UTF-16".to_owned()
            } else {
                format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1)
            };
            Err(Box::new(not_text(&name, &why)))
        }
    }
}

/// What to call a file in messages.
pub(super) fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "<stdin>".to_owned(),
        _ => path.display().to_string(),
    }
}

/// One byte more than is taken, so that a file which is too long is seen to be so, and no more, so that one
/// without an end does no harm.
fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limits::BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limits::BYTES {
        // The cut may fall into a character; the length alone is what counts from here.
        bytes.truncate(limits::BYTES + 1);
        bytes.fill(b' ');
    }
    Ok(bytes)
}

fn unreadable(path: &Path, name: &str, error: &io::Error) -> Diagnostic {
    let (why, hint) = match error.kind() {
        io::ErrorKind::NotFound if path == Path::new("score.yaml") => (
            "there is no score.yaml here".to_owned(),
            "name a Score file, or write a sample with `orchestra init`".to_owned(),
        ),
        io::ErrorKind::NotFound => (format!("{name} does not exist"), "check the path".to_owned()),
        io::ErrorKind::IsADirectory => (
            format!("{name} is a directory"),
            format!("name the file in it, such as {}", path.join("score.yaml").display()),
        ),
        io::ErrorKind::PermissionDenied => {
            (format!("{name} may not be read"), "check its permissions".to_owned())
        }
        _ => (format!("{name} cannot be read: {error}"), "check the file".to_owned()),
    };
    Diagnostic::error(Code::UnreadableFile, Pointer::root(), None, why, hint)
}

fn not_text(name: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        Code::NotText,
        Pointer::root(),
        None,
        format!("{name} is not text: {why}"),
        "a Score file is YAML or JSON, saved as UTF-8",
    )
}
