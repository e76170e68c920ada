//! Files that a Score file names: read from beside it, and put into the document, since the platform has no folder
//! to look into.

use std::{
    fs,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_score::{
    Code, Diagnostic, Document, Node, Pointer, Workload, model::FileContent, node::Entry, node::Value,
};

/// What cannot be attached to a document, so that it is told with everything else that is wrong with it. `score_file`
/// is where the document was read from.
pub(super) fn check(document: &Node, score_file: &Path, allow_outside: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, container) in document.entries("containers") {
        let at = Pointer::of(["containers", name, "files"]);
        let Some(files) = container.node.get("files") else { continue };
        let files: Vec<(Pointer, &Node)> = match &files.value {
            Value::Map(map) => map.iter().map(|(path, entry)| (at.key(path), &entry.node)).collect(),
            Value::List(list) => list.iter().enumerate().map(|(n, file)| (at.index(n), file)).collect(),
            _ => Vec::new(),
        };
        for (at, file) in files {
            let Some((entry, source)) = file.entry("source").and_then(source) else { continue };
            if let Err(Refused { message, hint }) = read(folder(score_file), source, allow_outside) {
                let (at, span) = (at.key("source"), entry.highlight());
                found.push(Diagnostic::error(Code::UnreadableFile, at, span, message, hint));
            }
        }
    }
    found
}

/// What is not even a path is refused by the language.
fn source(entry: &Entry) -> Option<(&Entry, &str)> {
    entry.node.as_str().filter(|source| !source.is_empty()).map(|source| (entry, source))
}

/// The files that the containers of a Score file name with `source`, as far as it can be read.
pub(super) fn sources(score_file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(score_file).unwrap_or_default();
    let document = Document::parse(orchestra_score::Source::new("score.yaml", text));
    let Some(workload) = document.check().workload else { return Vec::new() };
    let files = workload.containers.values().flat_map(|container| container.files.iter().flatten());
    let sources = files.filter_map(|(_, file)| match &file.content {
        FileContent::Source(source) => Some(folder(score_file).join(source)),
        _ => None,
    });
    sources.collect()
}

/// Puts the files that containers name with `source` into the document.
pub(super) fn attach(workload: &mut Workload, score_file: &Path, allow_outside: bool) -> Result<(), String> {
    for (name, container) in &mut workload.containers {
        for (path, file) in container.files.iter_mut().flatten() {
            let FileContent::Source(source) = &file.content else { continue };
            let bytes =
                read(folder(score_file), source, allow_outside).map_err(|Refused { message, hint }| {
                    let at = Pointer::of(["containers", name, "files", path, "source"]);
                    format!("{}: {message}; {hint}", at.readable())
                })?;
            file.content = match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => FileContent::Content(text),
                Ok(text) => FileContent::BinaryContent(STANDARD.encode(text)),
                Err(error) => FileContent::BinaryContent(STANDARD.encode(error.as_bytes())),
            };
        }
    }
    Ok(())
}

/// Where files are looked for; standard input has none of its own, and so it is the current one.
fn folder(score_file: &Path) -> &Path {
    score_file.parent().unwrap_or(Path::new(""))
}

/// Why a file is not taken, and what to do.
struct Refused {
    message: String,
    hint: String,
}

fn read(folder: &Path, source: &str, allow_outside: bool) -> Result<Vec<u8>, Refused> {
    let refuse = |message: String, hint: &str| Refused { message, hint: hint.to_owned() };
    let path = folder.join(source);
    if !allow_outside && leaves(folder, &path, Path::new(source)) {
        return Err(refuse(
            format!("`{source}` is outside of the Score file's folder"),
            "move it there, or allow it with --allow-outside",
        ));
    }
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => refuse(
            format!("the file `{source}` does not exist"),
            "check the path, which starts at the Score file's folder, or write the text as `content`",
        ),
        ErrorKind::PermissionDenied => {
            refuse(format!("the file `{source}` may not be read"), "check its permissions")
        }
        _ => refuse(format!("the file `{source}` cannot be read: {error}"), "check the file"),
    };
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refuse(format!("`{source}` is not a file"), "name a file, or mount a volume"));
    }
    let size = metadata.len();
    if size > Document::MAX_BYTES as u64 {
        return Err(refuse(
            format!("the file `{source}` has {size} bytes, and at most {} are taken", Document::MAX_BYTES),
            "put it into the image or a volume",
        ));
    }
    fs::read(&path).map_err(unreadable)
}

/// Whether a path leads out of a folder, by its words or by a link.
fn leaves(folder: &Path, path: &Path, source: &Path) -> bool {
    let mut depth = 0_i32;
    for part in source.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
        if depth < 0 {
            return true;
        }
    }
    let real =
        |path: &Path| fs::canonicalize(if path.as_os_str().is_empty() { Path::new(".") } else { path });
    match (real(folder), real(path)) {
        (Ok(folder), Ok(path)) => !path.starts_with(folder as PathBuf),
        // What is not there is told when it is read.
        _ => false,
    }
}
